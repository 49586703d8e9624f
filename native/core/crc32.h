// CRC-32 with the zlib polynomial, run on the fastest kernel the processor has.
//
// All functions are safe from any thread. The kernel is chosen at the first use: the widest one
// supported, or the one named by the environment variable LMQ_STORE_CRC_KERNEL (see
// crc32KernelName) if the processor has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace lmq {

enum class CrcKernel : uint8_t {
  kTable,     // portable, sixteen lookup tables
  kClmul128,  // carry-less multiplication on 128-bit vectors (PCLMULQDQ, AVX encoding)
  kClmul256,  // on 256-bit vectors (VPCLMULQDQ, AVX2)
  kClmul512,  // on 512-bit vectors (VPCLMULQDQ, AVX-512)
};

// Extends `crc`, the CRC of everything before, by `size` bytes. Start with 0.
uint32_t crc32(uint32_t crc, const uint8_t* data, size_t size);

// Copies the data to `to`, which must not overlap it, and gives the CRC of the copy: of the bytes
// as they were stored, even if another thread is changing the data. Does not read `to`.
uint32_t crc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t size);

// The CRC of A followed by B, from the CRC of each and the length of B.
uint32_t crc32Combine(uint32_t crcA, uint32_t crcB, size_t lengthB);

// The CRC of several parts that follow one another, from the CRC of each. They may be given in any
// order, all but the last in the data having been started with 0. What is 4 bytes long may be taken
// for zeros in its part's CRC and added later: as its value in the order of the lowest byte first,
// with those 4 bytes counted as behind it.
struct CrcPart {
  uint32_t crc;
  size_t behind;  // bytes from the end of the part to the end of all
};
uint32_t crc32Join(std::initializer_list<CrcPart> parts);

CrcKernel crc32Kernel();
bool crc32Supports(CrcKernel kernel);
const char* crc32KernelName(CrcKernel kernel);  // "table", "clmul128", "clmul256", "clmul512"

// For tests and benchmarks. Forcing refuses a kernel the processor lacks and changes nothing then;
// crc32With must not be given one.
bool forceCrc32Kernel(CrcKernel kernel);
uint32_t crc32With(CrcKernel kernel, uint32_t crc, const uint8_t* data, size_t size);

}  // namespace lmq
