// Numbers as digits in a record's properties: light-queue offsets as usual, the CRC backwards.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "record_layout.h"

namespace lmq::record {

inline constexpr auto kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

inline constexpr auto kPowersOf10 = [] {
  std::array<uint64_t, 20> powers{};
  uint64_t power = 1;
  for (auto& entry : powers) {
    entry = power;
    power *= 10;
  }
  return powers;
}();

inline size_t digitCount(uint64_t value) {
  value |= 1;  // changes no count, except that 0 has a digit too
  // 1233 / 4096 is a little more than log10(2): `fewer` is the count, or the count less one.
  const size_t fewer = static_cast<size_t>(std::bit_width(value)) * 1233 >> 12;
  return fewer + (value >= kPowersOf10[fewer] ? 1 : 0);
}

inline constexpr size_t kMostDigits = 20;  // of 64 bits

inline uint8_t* putDecimal(uint8_t* at, uint64_t value) {
  uint8_t* const end = at + digitCount(value);
  uint8_t* digit = end;
  while (value >= 100) {
    digit -= 2;
    std::memcpy(digit, &kDigitPairs[value % 100 * 2], 2);
    value /= 100;
  }
  if (value >= 10) {
    std::memcpy(digit - 2, &kDigitPairs[value * 2], 2);
  } else {
    digit[-1] = static_cast<uint8_t>('0' + value);
  }
  return end;
}

// Ten digits, the least significant first.
inline void putCrcDigits(uint8_t* at, uint32_t value) {
  for (size_t i = 0; i < kCrcDigits; i += 2) {
    const char* pair = &kDigitPairs[value % 100 * 2];
    at[i] = static_cast<uint8_t>(pair[1]);
    at[i + 1] = static_cast<uint8_t>(pair[0]);
    value /= 100;
  }
}

// The number that ten digits, the least significant first, stand for; -1 if they are not digits or
// it is no CRC.
inline int64_t parseCrcDigits(const uint8_t* at) {
  int64_t value = 0;
  for (size_t i = kCrcDigits; i-- > 0;) {
    if (at[i] < '0' || at[i] > '9') return -1;
    value = value * 10 + (at[i] - '0');
  }
  return value <= int64_t{kCrcMask} ? value : -1;
}

}  // namespace lmq::record
