// What the carry-less multiplication kernels share: folding and reducing 128-bit vectors.
//
// A vector holds a polynomial reflected: bit k is the coefficient of x^(127-k), so the first byte
// of the data is the most significant and the vector is congruent, modulo P, to the bytes so far.
// To fold is to multiply such a remainder by x^n, n being the distance in bits to the data it is
// then added to. The product of 64-bit operands comes out one place short of this order, that is,
// multiplied by x; and a 32-bit constant in the low half of its operand counts as multiplied by
// x^32. Hence the 33 in the exponents below.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstring>

#include "crc32_kernels.h"
#include "crc32_polynomial.h"

// The AVX encoding matters: legacy SSE instructions stall after the wide moves of memcpy.
#define LMQ_TARGET_CLMUL128 __attribute__((target("avx,pclmul,sse4.1")))
#define LMQ_INLINE_CLMUL128 LMQ_TARGET_CLMUL128 __attribute__((always_inline)) inline

namespace lmq {

// The pair of factors that fold the low (more significant) and the high half by so many bits.
template <unsigned kBits>
struct FoldBy {
  static constexpr int64_t kLow = powerOfX(kBits + 64 - 33);
  static constexpr int64_t kHigh = powerOfX(kBits - 33);
};

template <unsigned kBits>
LMQ_INLINE_CLMUL128 __m128i foldBy() {
  return _mm_set_epi64x(FoldBy<kBits>::kHigh, FoldBy<kBits>::kLow);
}

LMQ_INLINE_CLMUL128 __m128i load128(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

LMQ_INLINE_CLMUL128 void store128(uint8_t* p, __m128i v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
}

// Loads sixteen bytes and, if so asked, stores them.
template <bool kCopy>
LMQ_INLINE_CLMUL128 __m128i take128(const CrcData<kCopy>& data, size_t at) {
  const __m128i v = load128(data.from + at);
  if constexpr (kCopy) store128(data.to + at, v);
  return v;
}

LMQ_INLINE_CLMUL128 __m128i fold128(__m128i remainder, __m128i factors, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(remainder, factors, 0x00);
  const __m128i high = _mm_clmulepi64_si128(remainder, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// floor(x^96 / P) from x^64 down to x^1, by long division. (Its x^0 cannot reach a quotient.)
inline constexpr int64_t kBarrett = [] {
  uint32_t remainder = powerOfX(32 - 1);
  uint64_t quotient = 0;
  for (int bit = 0; bit < 64; bit++, remainder = timesX(remainder)) {
    quotient |= uint64_t{remainder & 1} << bit;
  }
  return static_cast<int64_t>(quotient);
}();

// The remainder modulo P of 96 bits: the low 64 of the vector and the 32 above them.
LMQ_INLINE_CLMUL128 uint32_t reduce96(__m128i v) {
  const __m128i constants = _mm_set_epi64x(int64_t{kPolynomial} << 1, kBarrett);
  const __m128i quotient = _mm_clmulepi64_si128(v, constants, 0x00);
  const __m128i multiple = _mm_clmulepi64_si128(quotient, constants, 0x10);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(v, multiple), 2));
}

// The CRC register: the remainder of the vector times x^32.
LMQ_INLINE_CLMUL128 uint32_t reduce128(__m128i v) {
  const __m128i factor = _mm_cvtsi64_si128(FoldBy<64>::kLow);
  return reduce96(_mm_xor_si128(_mm_clmulepi64_si128(v, factor, 0x00), _mm_srli_si128(v, 8)));
}

// Byte shuffles. Read at n: bytes 0 to n-1 move to the end, behind zeros. Read at 16 + n: bytes n
// to 15 move to the front, before zeros.
inline constexpr auto kByteShifts = [] {
  std::array<uint8_t, 48> shifts{};
  for (size_t i = 0; i < 48; i++) shifts[i] = static_cast<uint8_t>(i / 16 == 1 ? i - 16 : 0x80);
  return shifts;
}();

// The CRC of the bytes in `remainder` and all of the data, behind sixteen or more already taken,
// the last of which are in `taken`.
template <bool kCopy>
LMQ_INLINE_CLMUL128 uint32_t finish128(__m128i remainder, __m128i taken, CrcData<kCopy> data) {
  const __m128i by128 = foldBy<128>();
  for (; data.size >= 16; data.pass(16)) {
    taken = take128(data, 0);
    remainder = fold128(remainder, by128, taken);
  }
  if (const size_t size = data.size; size > 0) {
    // Sixteen bytes that end with the data, their first ones not from there but those taken before:
    // stored as they were, folded as they are in the remainder's last.
    const __m128i toFront = load128(&kByteShifts[16 + size]);
    const __m128i bytes = load128(data.from + size - 16);
    if constexpr (kCopy) {
      store128(data.to + size - 16,
               _mm_blendv_epi8(_mm_shuffle_epi8(taken, toFront), bytes, toFront));
    }
    const __m128i last = _mm_blendv_epi8(_mm_shuffle_epi8(remainder, toFront), bytes, toFront);
    const __m128i first = _mm_shuffle_epi8(remainder, load128(&kByteShifts[size]));
    remainder = fold128(first, by128, last);
  }
  return ~reduce128(remainder);
}

LMQ_INLINE_CLMUL128 __m128i initial128(uint32_t crc) {
  return _mm_cvtsi32_si128(static_cast<int>(~crc));
}

// The CRC of fewer than sixteen bytes. The two loads overlap instead of reaching past the data, and
// so do the stores; what both loads hold is taken from the first.
template <bool kCopy>
LMQ_INLINE_CLMUL128 uint32_t shortCrc128(uint32_t crc, const CrcData<kCopy>& data) {
  const size_t size = data.size;
  if (size < 8) return tableCrc32(crc, data, size);
  uint64_t head;
  uint64_t tail;
  std::memcpy(&head, data.from, 8);
  std::memcpy(&tail, data.from + size - 8, 8);
  tail = tail >> 8 * (15 - size) >> 8;  // one shift by 64 would be undefined
  if constexpr (kCopy) {
    const auto whole = static_cast<unsigned __int128>(tail) << 64 | head;
    const auto last = static_cast<uint64_t>(whole >> 8 * (size - 8));
    std::memcpy(data.to, &head, 8);
    std::memcpy(data.to + size - 8, &last, 8);
  }
  const __m128i bytes = _mm_set_epi64x(static_cast<int64_t>(tail), static_cast<int64_t>(head));
  const __m128i toEnd = load128(&kByteShifts[size]);
  return ~reduce128(_mm_shuffle_epi8(_mm_xor_si128(bytes, initial128(crc)), toEnd));
}

}  // namespace lmq

#endif
