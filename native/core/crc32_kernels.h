// The kernels behind crc32.h. Each needs the processor its `supports` function asks for.
//
// One body serves a kernel's two functions: with kCopy the data is also stored. What is folded is
// what is stored, byte for byte: another thread may be changing the data, and the copy must not
// differ from its CRC. So no byte is loaded a second time for it to count. (Nor is `to` ever read:
// its cache lines may still be on their way from memory.)
#pragma once

#include <cstddef>
#include <cstdint>

namespace lmq {

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
uint32_t tableMultiply(uint32_t a, uint32_t b);  // a * b mod P, see crc32_polynomial.h

#if defined(__x86_64__)
bool supportsClmul128();
uint32_t clmul128Crc32(uint32_t crc, const uint8_t* data, size_t size);
uint32_t clmul128Crc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t size);
template <bool kCopy>
inline uint32_t clmul128Crc32(uint32_t crc, const CrcData<kCopy>& data, size_t size) {
  if constexpr (kCopy) return clmul128Crc32Copy(crc, data.to, data.from, size);
  return clmul128Crc32(crc, data.from, size);
}
uint32_t clmulMultiply(uint32_t a, uint32_t b);

bool supportsClmul256();
uint32_t clmul256Crc32(uint32_t crc, const uint8_t* data, size_t size);
uint32_t clmul256Crc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t size);

bool supportsClmul512();
uint32_t clmul512Crc32(uint32_t crc, const uint8_t* data, size_t size);
uint32_t clmul512Crc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t size);
#endif

}  // namespace lmq
