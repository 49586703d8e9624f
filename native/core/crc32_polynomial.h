// Arithmetic on polynomials over GF(2) modulo the CRC-32 polynomial P, for the compiler to run.
//
// Polynomials are held reflected, as the CRC itself is: the highest bit of a word is the
// coefficient of x^0. Multiplying by x is therefore a shift to the right.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lmq {

inline constexpr uint32_t kPolynomial = 0xEDB88320;  // P without its leading x^32
inline constexpr uint32_t kOne = 0x80000000;         // x^0

constexpr uint32_t timesX(uint32_t a) { return (a >> 1) ^ ((a & 1) != 0 ? kPolynomial : 0); }

constexpr uint32_t multiplyModP(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; a != 0; a <<= 1, b = timesX(b)) {
    if ((a & kOne) != 0) product ^= b;
  }
  return product;
}

// x^exponent mod P
constexpr uint32_t powerOfX(uint64_t exponent) {
  uint32_t power = kOne;
  for (uint32_t square = timesX(kOne); exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power = multiplyModP(power, square);
    square = multiplyModP(square, square);
  }
  return power;
}

// Appending n zero bytes multiplies a CRC by x^8n. kZeroBytes[i][d] is that factor for n = d *
// 256^i: the factor of any length is the product of one entry per byte of it that is not zero.
inline constexpr auto kZeroBytes = [] {
  std::array<std::array<uint32_t, 256>, sizeof(size_t)> factors{};
  uint32_t unit = powerOfX(8);
  for (auto& digit : factors) {
    digit[0] = kOne;
    for (size_t d = 1; d < 256; d++) digit[d] = multiplyModP(digit[d - 1], unit);
    unit = multiplyModP(digit[255], unit);
  }
  return factors;
}();

}  // namespace lmq
