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

template <bool kCopy>
LMQ_INLINE_CLMUL512 __m512i take512(const CrcData<kCopy>& data, size_t at) {
  const __m512i v = _mm512_loadu_si512(data.from + at);
  if constexpr (kCopy) _mm512_storeu_si512(data.to + at, v);
  return v;
}

// The first 64 - zeros bytes of the data, behind zeros. What is masked out is not accessed.
template <bool kCopy>
LMQ_INLINE_CLMUL512 __m512i takeBehindZeros(const CrcData<kCopy>& data, size_t zeros) {
  const uint64_t mask = ~uint64_t{0} << zeros;
  const auto from = reinterpret_cast<uintptr_t>(data.from) - zeros;
  const __m512i v = _mm512_maskz_loadu_epi8(mask, reinterpret_cast<const void*>(from));
  if constexpr (kCopy) {
    const auto to = reinterpret_cast<uintptr_t>(data.to) - zeros;
    _mm512_mask_storeu_epi8(reinterpret_cast<void*>(to), mask, v);
  }
  return v;
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

// Zeros before the data change nothing, so the vector that is not full comes first, its bytes moved
// to its end. All that follows is whole vectors, and there is no tail to finish.
template <bool kCopy>
LMQ_INLINE_CLMUL512 uint32_t clmul512(uint32_t crc, CrcData<kCopy> data) {
  if (data.size < 64) return clmul128Crc32(crc, data, data.size);

  // The CRC so far is added to the first four bytes, which must therefore share a vector.
  size_t zeros = -data.size % 64;
  if (zeros > 60 || reachesPageBefore(data.from, zeros) ||
      (kCopy && reachesPageBefore(data.to, zeros))) {
    const size_t odd = 64 - zeros;
    crc = clmul128Crc32(crc, data, odd);
    data.pass(odd);
    zeros = 0;
  }
  __m512i d = _mm512_xor_si512(takeBehindZeros(data, zeros), initial512(crc, zeros));
  data.pass(64 - zeros);

  const __m512i by512 = foldAllBy<512>();
  if (data.size >= 192) {
    __m512i a = d;
    __m512i b = take512(data, 0);
    __m512i c = take512(data, 64);
    d = take512(data, 128);
    const __m512i by2048 = foldAllBy<2048>();
    for (data.pass(192); data.size >= 256; data.pass(256)) {
      a = fold512(a, by2048, take512(data, 0));
      b = fold512(b, by2048, take512(data, 64));
      c = fold512(c, by2048, take512(data, 128));
      d = fold512(d, by2048, take512(data, 192));
    }
    b = fold512(a, by512, b);
    d = fold512(c, by512, d);
    d = fold512(b, foldAllBy<1024>(), d);
  }
  for (; data.size >= 64; data.pass(64)) d = fold512(d, by512, take512(data, 0));
  return ~reduce128(foldLanes(d));
}

}  // namespace

bool supportsClmul512() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && supportsClmul256();
}

LMQ_TARGET_CLMUL512 uint32_t clmul512Crc32(uint32_t crc, const uint8_t* data, size_t size) {
  return clmul512<false>(crc, {nullptr, data, size});
}

LMQ_TARGET_CLMUL512 uint32_t clmul512Crc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from,
                                               size_t size) {
  return clmul512<true>(crc, {to, from, size});
}

}  // namespace lmq

#endif
