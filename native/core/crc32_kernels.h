// The kernels behind crc32.h. Each needs the processor its `supports` function asks for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lmq {

uint32_t tableCrc32(uint32_t crc, const uint8_t* data, size_t size);
uint32_t tableMultiply(uint32_t a, uint32_t b);  // a * b mod P, see crc32_polynomial.h

#if defined(__x86_64__)
bool supportsClmul128();
uint32_t clmul128Crc32(uint32_t crc, const uint8_t* data, size_t size);
uint32_t clmulMultiply(uint32_t a, uint32_t b);

bool supportsClmul256();
uint32_t clmul256Crc32(uint32_t crc, const uint8_t* data, size_t size);

bool supportsClmul512();
uint32_t clmul512Crc32(uint32_t crc, const uint8_t* data, size_t size);
#endif

}  // namespace lmq
