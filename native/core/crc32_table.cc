// The portable kernel: sixteen bytes a step, one table lookup per byte ("slicing by 16").
#include <array>
#include <cstring>

#include "crc32_kernels.h"
#include "crc32_polynomial.h"

namespace lmq {
namespace {

using Table = std::array<uint32_t, 256>;

// kTables[n][b]: the CRC register after the byte b and then n zero bytes.
constexpr size_t kStep = 16;
alignas(64) constexpr auto kTables = [] {
  std::array<Table, kStep> tables{};
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = timesX(crc);
    tables[0][byte] = crc;
  }
  for (size_t n = 1; n < kStep; n++) {
    for (size_t byte = 0; byte < 256; byte++) {
      const uint32_t crc = tables[n - 1][byte];
      tables[n][byte] = (crc >> 8) ^ tables[0][crc & 0xFF];
    }
  }
  return tables;
}();

// A byte order of its own, so that every machine computes the same; compilers make it one load.
inline uint32_t loadLittle32(const uint8_t* p) {
  return p[0] | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
}

template <bool kCopy>
inline uint32_t takeLittle32(const CrcData<kCopy>& data, size_t at) {
  uint8_t bytes[4];
  std::memcpy(bytes, data.from + at, 4);
  if constexpr (kCopy) std::memcpy(data.to + at, bytes, 4);
  return loadLittle32(bytes);
}

// The share of four bytes which `following` more bytes of the same step come after.
inline uint32_t lookUp(uint32_t word, size_t following) {
  return kTables[following + 3][word & 0xFF] ^ kTables[following + 2][word >> 8 & 0xFF] ^
         kTables[following + 1][word >> 16 & 0xFF] ^ kTables[following][word >> 24];
}

template <bool kCopy>
inline uint32_t table(uint32_t crc, CrcData<kCopy> data) {
  crc = ~crc;
  for (; data.size >= 16; data.pass(16)) {
    crc = lookUp(crc ^ takeLittle32(data, 0), 12) ^ lookUp(takeLittle32(data, 4), 8) ^
          lookUp(takeLittle32(data, 8), 4) ^ lookUp(takeLittle32(data, 12), 0);
  }
  for (; data.size >= 4; data.pass(4)) crc = lookUp(crc ^ takeLittle32(data, 0), 0);
  for (; data.size > 0; data.pass(1)) {
    const uint8_t byte = *data.from;
    if constexpr (kCopy) *data.to = byte;
    crc = crc >> 8 ^ kTables[0][(crc ^ byte) & 0xFF];
  }
  return ~crc;
}

// a * b mod P
uint32_t multiply(uint32_t a, uint32_t b) {
  // What four coefficients of `a` contribute, the highest bit being the least power of x.
  uint32_t products[16];
  products[0] = 0;
  for (uint32_t unit = 8, multiple = b; unit > 0; unit >>= 1, multiple = timesX(multiple)) {
    products[unit] = multiple;
  }
  for (size_t sum : {3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15}) {
    products[sum] = products[sum & (sum - 1)] ^ products[sum & -sum];
  }
  uint32_t product = products[a & 15];
  for (int bits = 4; bits < 32; bits += 4) {
    // times x^4: a byte whose lower half is zero goes through the table half way
    product = (product >> 4) ^ kTables[0][product << 4 & 0xF0] ^ products[a >> bits & 15];
  }
  return product;
}

}  // namespace

uint32_t tableCrc32(uint32_t crc, const uint8_t* data, size_t size) {
  return table<false>(crc, {nullptr, data, size});
}

uint32_t tableCrc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t size) {
  return table<true>(crc, {to, from, size});
}

uint32_t tableJoin(const CrcPart* parts, size_t count) {
  uint32_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    const auto& [crc, behind] = parts[i];
    sum ^= behind == 0 ? crc : multiply(crc, shiftOf(behind, multiply));
  }
  return sum;
}

}  // namespace lmq
