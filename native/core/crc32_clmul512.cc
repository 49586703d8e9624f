#include <bit>

#include "crc32_clmul.h"

#if defined(__x86_64__)

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns of the deliberately undefined vectors in its own intrinsics (its bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define LMQ_TARGET_CLMUL512 \
  __attribute__((target("avx512f,avx512vl,avx512bw,avx2,vpclmulqdq,pclmul")))
#define LMQ_INLINE_CLMUL512 LMQ_TARGET_CLMUL512 __attribute__((always_inline)) inline

namespace lmq {
namespace {

template <unsigned kBits>
LMQ_INLINE_CLMUL512 __m512i foldAllBy() {
  return _mm512_broadcast_i32x4(foldBy<kBits>());
}

LMQ_INLINE_CLMUL512 __m512i fold512(__m512i remainder, __m512i factors, __m512i next) {
  const __m512i low = _mm512_clmulepi64_epi128(remainder, factors, 0x00);
  const __m512i high = _mm512_clmulepi64_epi128(remainder, factors, 0x11);
  constexpr int kXorOfThree = 0x96;
  return _mm512_ternarylogic_epi64(low, high, next, kXorOfThree);
}

LMQ_INLINE_CLMUL512 __m512i load512(const uint8_t* p) { return _mm512_loadu_si512(p); }

// The first 64 - zeros bytes of the data, behind zeros. What is masked out is not accessed.
LMQ_INLINE_CLMUL512 __m512i loadBehindZeros(const uint8_t* data, size_t zeros) {
  const auto address = reinterpret_cast<uintptr_t>(data) - zeros;
  return _mm512_maskz_loadu_epi8(~uint64_t{0} << zeros, reinterpret_cast<const void*>(address));
}

// Masking out what lies in a page that is not there costs over a hundred nanoseconds.
inline bool reachesPageBefore(const uint8_t* data, size_t bytesBefore) {
  constexpr size_t kSmallestPage = 4096;
  return reinterpret_cast<uintptr_t>(data) % kSmallestPage < bytesBefore;
}

// The CRC so far, in the place of the first four bytes behind the zeros.
LMQ_INLINE_CLMUL512 __m512i initial512(uint32_t crc, size_t zeros) {
  const uint32_t rotated = std::rotl(~crc, static_cast<int>(zeros % 4 * 8));
  return _mm512_maskz_mov_epi8(uint64_t{0xF} << zeros,
                               _mm512_set1_epi32(static_cast<int>(rotated)));
}

// The four lanes, each folded by its own distance to the end of the vector, in one.
LMQ_INLINE_CLMUL512 __m128i foldLanes(__m512i v) {
  const __m512i factors =
      _mm512_set_epi64(0, 0, FoldBy<128>::kHigh, FoldBy<128>::kLow, FoldBy<256>::kHigh,
                       FoldBy<256>::kLow, FoldBy<384>::kHigh, FoldBy<384>::kLow);
  constexpr __mmask8 kLastLane = 0xC0;
  const __m512i folded = fold512(v, factors, _mm512_maskz_mov_epi64(kLastLane, v));
  const __m256i two =
      _mm256_xor_si256(_mm512_castsi512_si256(folded), _mm512_extracti64x4_epi64(folded, 1));
  return _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
}

}  // namespace

bool supportsClmul512() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && supportsClmul256();
}

// Zeros before the data change nothing, so the vector that is not full comes first, its bytes moved
// to its end. All that follows is whole vectors, and there is no tail to finish.
LMQ_TARGET_CLMUL512 uint32_t clmul512Crc32(uint32_t crc, const uint8_t* data, size_t size) {
  if (size < 64) return clmul128Crc32(crc, data, size);

  // The CRC so far is added to the first four bytes, which must therefore share a vector.
  size_t zeros = -size % 64;
  if (zeros > 60 || reachesPageBefore(data, zeros)) {
    const size_t odd = 64 - zeros;
    crc = clmul128Crc32(crc, data, odd);
    data += odd;
    size -= odd;
    zeros = 0;
  }
  __m512i d = _mm512_xor_si512(loadBehindZeros(data, zeros), initial512(crc, zeros));
  data += 64 - zeros;
  size -= 64 - zeros;

  const __m512i by512 = foldAllBy<512>();
  if (size >= 192) {
    __m512i a = d;
    __m512i b = load512(data);
    __m512i c = load512(data + 64);
    d = load512(data + 128);
    const __m512i by2048 = foldAllBy<2048>();
    for (data += 192, size -= 192; size >= 256; data += 256, size -= 256) {
      a = fold512(a, by2048, load512(data));
      b = fold512(b, by2048, load512(data + 64));
      c = fold512(c, by2048, load512(data + 128));
      d = fold512(d, by2048, load512(data + 192));
    }
    b = fold512(a, by512, b);
    d = fold512(c, by512, d);
    d = fold512(b, foldAllBy<1024>(), d);
  }
  for (; size >= 64; data += 64, size -= 64) d = fold512(d, by512, load512(data));
  return ~reduce128(foldLanes(d));
}

}  // namespace lmq

#endif
