// The portable kernel: sixteen bytes a step, one table lookup per byte ("slicing by 16").
#include <array>

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

// The share of four bytes which `following` more bytes of the same step come after.
inline uint32_t lookUp(uint32_t word, size_t following) {
  return kTables[following + 3][word & 0xFF] ^ kTables[following + 2][word >> 8 & 0xFF] ^
         kTables[following + 1][word >> 16 & 0xFF] ^ kTables[following][word >> 24];
}

}  // namespace

uint32_t tableCrc32(uint32_t crc, const uint8_t* data, size_t size) {
  crc = ~crc;
  for (; size >= 16; data += 16, size -= 16) {
    crc = lookUp(crc ^ loadLittle32(data), 12) ^ lookUp(loadLittle32(data + 4), 8) ^
          lookUp(loadLittle32(data + 8), 4) ^ lookUp(loadLittle32(data + 12), 0);
  }
  for (; size >= 4; data += 4, size -= 4) crc = lookUp(crc ^ loadLittle32(data), 0);
  for (; size > 0; data++, size--) crc = crc >> 8 ^ kTables[0][(crc ^ *data) & 0xFF];
  return ~crc;
}

uint32_t tableMultiply(uint32_t a, uint32_t b) { return multiplyModP(a, b); }

}  // namespace lmq
