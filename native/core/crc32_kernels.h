// The kernels behind crc32.h. Each needs the processor its `supports` function asks for.
//
// One body serves a kernel's two functions: with kCopy the data is also stored. What is folded is
// what is stored, byte for byte: another thread may be changing the data, and the copy must not
// differ from its CRC. So no byte is loaded a second time for it to count. (Nor is `to` ever read:
// its cache lines may still be on their way from memory.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "crc32.h"
#include "crc32_polynomial.h"

namespace lmq {

// The factor that so many bytes behind a part multiply its CRC by.
template <typename Multiply>
inline uint32_t shiftOf(size_t bytes, Multiply multiply) {
  uint32_t shift = kZeroBytes[0][bytes & 255];
  for (size_t digit = 1; (bytes >>= 8) != 0; digit++) {
    shift = multiply(shift, kZeroBytes[digit][bytes & 255]);
  }
  return shift;
}

// What a kernel has still to go through. Without kCopy there is no `to`.
template <bool kCopy>
struct CrcData {
  uint8_t* to;
  const uint8_t* from;
  size_t size;

  void pass(size_t bytes) {
    if constexpr (kCopy) to += bytes;
    from += bytes;
    size -= bytes;
  }
};

uint32_t tableCrc32(uint32_t crc, const uint8_t* data, size_t size);
uint32_t tableCrc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t size);
// The first `size` bytes of the data. So the kernels leave to another what is too short for them.
template <bool kCopy>
inline uint32_t tableCrc32(uint32_t crc, const CrcData<kCopy>& data, size_t size) {
  if constexpr (kCopy) return tableCrc32Copy(crc, data.to, data.from, size);
  return tableCrc32(crc, data.from, size);
}
uint32_t tableJoin(const CrcPart* parts, size_t count);

#if defined(__x86_64__)
bool supportsClmul128();
uint32_t clmul128Crc32(uint32_t crc, const uint8_t* data, size_t size);
uint32_t clmul128Crc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t size);
template <bool kCopy>
inline uint32_t clmul128Crc32(uint32_t crc, const CrcData<kCopy>& data, size_t size) {
  if constexpr (kCopy) return clmul128Crc32Copy(crc, data.to, data.from, size);
  return clmul128Crc32(crc, data.from, size);
}
uint32_t clmulJoin(const CrcPart* parts, size_t count);

bool supportsClmul256();
uint32_t clmul256Crc32(uint32_t crc, const uint8_t* data, size_t size);
uint32_t clmul256Crc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t size);

bool supportsClmul512();
uint32_t clmul512Crc32(uint32_t crc, const uint8_t* data, size_t size);
uint32_t clmul512Crc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t size);
#endif

}  // namespace lmq
