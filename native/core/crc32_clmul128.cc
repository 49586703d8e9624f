#include "crc32_clmul.h"

#if defined(__x86_64__)

namespace lmq {

bool supportsClmul128() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx") && __builtin_cpu_supports("pclmul");
}

LMQ_TARGET_CLMUL128 uint32_t clmul128Crc32(uint32_t crc, const uint8_t* data, size_t size) {
  if (size < 16) return shortCrc128(crc, data, size);

  __m128i a = _mm_xor_si128(load128(data), initial128(crc));
  if (size < 64) return finish128(a, data + 16, size - 16);

  // Four remainders, so that a multiplication need not wait for the one before.
  __m128i b = load128(data + 16);
  __m128i c = load128(data + 32);
  __m128i d = load128(data + 48);
  const __m128i by512 = foldBy<512>();
  for (data += 64, size -= 64; size >= 64; data += 64, size -= 64) {
    a = fold128(a, by512, load128(data));
    b = fold128(b, by512, load128(data + 16));
    c = fold128(c, by512, load128(data + 32));
    d = fold128(d, by512, load128(data + 48));
  }
  b = fold128(a, foldBy<128>(), b);
  d = fold128(c, foldBy<128>(), d);
  return finish128(fold128(b, foldBy<256>(), d), data, size);
}

LMQ_TARGET_CLMUL128 uint32_t clmulMultiply(uint32_t a, uint32_t b) {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(a),
                                               _mm_cvtsi64_si128(int64_t{b} << 1), 0x00);  // * x^64
  return reduce96(_mm_slli_si128(product, 4));
}

}  // namespace lmq

#endif
