#include "crc32_clmul.h"

#if defined(__x86_64__)

namespace lmq {
namespace {

template <bool kCopy>
LMQ_INLINE_CLMUL128 uint32_t clmul128(uint32_t crc, CrcData<kCopy> data) {
  if (data.size < 16) return shortCrc128(crc, data);

  __m128i taken = take128(data, 0);
  __m128i a = _mm_xor_si128(taken, initial128(crc));
  if (data.size < 64) {
    data.pass(16);
    return finish128(a, taken, data);
  }

  // Four remainders, so that a multiplication need not wait for the one before.
  __m128i b = take128(data, 16);
  __m128i c = take128(data, 32);
  __m128i d = taken = take128(data, 48);
  const __m128i by512 = foldBy<512>();
  for (data.pass(64); data.size >= 64; data.pass(64)) {
    a = fold128(a, by512, take128(data, 0));
    b = fold128(b, by512, take128(data, 16));
    c = fold128(c, by512, take128(data, 32));
    d = fold128(d, by512, taken = take128(data, 48));
  }
  b = fold128(a, foldBy<128>(), b);
  d = fold128(c, foldBy<128>(), d);
  return finish128(fold128(b, foldBy<256>(), d), taken, data);
}

// a * b * x^64, not reduced
LMQ_INLINE_CLMUL128 __m128i multiply(uint32_t a, uint32_t b) {
  return _mm_clmulepi64_si128(_mm_cvtsi64_si128(a), _mm_cvtsi64_si128(int64_t{b} << 1), 0x00);
}

LMQ_INLINE_CLMUL128 uint32_t reduceProduct(__m128i product) {
  return reduce96(_mm_slli_si128(product, 4));
}

LMQ_TARGET_CLMUL128 uint32_t multiplyModulo(uint32_t a, uint32_t b) {
  return reduceProduct(multiply(a, b));
}

}  // namespace

bool supportsClmul128() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx") && __builtin_cpu_supports("pclmul");
}

LMQ_TARGET_CLMUL128 uint32_t clmul128Crc32(uint32_t crc, const uint8_t* data, size_t size) {
  return clmul128<false>(crc, {nullptr, data, size});
}

LMQ_TARGET_CLMUL128 uint32_t clmul128Crc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from,
                                               size_t size) {
  return clmul128<true>(crc, {to, from, size});
}

LMQ_TARGET_CLMUL128 uint32_t clmulJoin(const CrcPart* parts, size_t count) {
  __m128i sum = _mm_setzero_si128();
  for (size_t i = 0; i < count; i++) {
    sum = _mm_xor_si128(sum, multiply(parts[i].crc, shiftOf(parts[i].behind, multiplyModulo)));
  }
  return reduceProduct(sum);
}

}  // namespace lmq

#endif
