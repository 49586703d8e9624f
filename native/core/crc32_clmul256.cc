#include "crc32_clmul.h"

#if defined(__x86_64__)

#define LMQ_TARGET_CLMUL256 __attribute__((target("avx2,vpclmulqdq,pclmul")))
#define LMQ_INLINE_CLMUL256 LMQ_TARGET_CLMUL256 __attribute__((always_inline)) inline

namespace lmq {
namespace {

template <unsigned kBits>
LMQ_INLINE_CLMUL256 __m256i foldBothBy() {
  return _mm256_broadcastsi128_si256(foldBy<kBits>());
}

template <bool kCopy>
LMQ_INLINE_CLMUL256 __m256i take256(const CrcData<kCopy>& data, size_t at) {
  const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data.from + at));
  if constexpr (kCopy) _mm256_storeu_si256(reinterpret_cast<__m256i*>(data.to + at), v);
  return v;
}

LMQ_INLINE_CLMUL256 __m256i fold256(__m256i remainder, __m256i factors, __m256i next) {
  const __m256i low = _mm256_clmulepi64_epi128(remainder, factors, 0x00);
  const __m256i high = _mm256_clmulepi64_epi128(remainder, factors, 0x11);
  return _mm256_xor_si256(_mm256_xor_si256(low, high), next);
}

template <bool kCopy>
LMQ_INLINE_CLMUL256 uint32_t clmul256(uint32_t crc, CrcData<kCopy> data) {
  if (data.size < 128) return clmul128Crc32(crc, data, data.size);

  __m256i a = _mm256_xor_si256(take256(data, 0), _mm256_zextsi128_si256(initial128(crc)));
  __m256i b = take256(data, 32);
  __m256i c = take256(data, 64);
  __m256i taken = take256(data, 96);
  __m256i d = taken;
  const __m256i by1024 = foldBothBy<1024>();
  for (data.pass(128); data.size >= 128; data.pass(128)) {
    a = fold256(a, by1024, take256(data, 0));
    b = fold256(b, by1024, take256(data, 32));
    c = fold256(c, by1024, take256(data, 64));
    d = fold256(d, by1024, taken = take256(data, 96));
  }
  const __m256i by256 = foldBothBy<256>();
  b = fold256(a, by256, b);
  d = fold256(c, by256, d);
  d = fold256(b, foldBothBy<512>(), d);
  for (; data.size >= 32; data.pass(32)) d = fold256(d, by256, taken = take256(data, 0));
  const __m128i both =
      fold128(_mm256_castsi256_si128(d), foldBy<128>(), _mm256_extracti128_si256(d, 1));
  return finish128(both, _mm256_extracti128_si256(taken, 1), data);
}

}  // namespace

bool supportsClmul256() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq") &&
         supportsClmul128();
}

LMQ_TARGET_CLMUL256 uint32_t clmul256Crc32(uint32_t crc, const uint8_t* data, size_t size) {
  return clmul256<false>(crc, {nullptr, data, size});
}

LMQ_TARGET_CLMUL256 uint32_t clmul256Crc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from,
                                               size_t size) {
  return clmul256<true>(crc, {to, from, size});
}

}  // namespace lmq

#endif
