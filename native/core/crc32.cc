#include "crc32.h"

#include <atomic>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "crc32_kernels.h"
#include "crc32_polynomial.h"

namespace lmq {
namespace {

struct Kernel {
  const char* name;
  bool (*supported)();
  uint32_t (*crc32)(uint32_t crc, const uint8_t* data, size_t size);
  uint32_t (*crc32Copy)(uint32_t crc, uint8_t* to, const uint8_t* from, size_t size);
  uint32_t (*multiply)(uint32_t a, uint32_t b);
};

constexpr bool always() { return true; }

// Indexed by CrcKernel; the last one supported is the fastest.
constexpr Kernel kKernels[] = {
    {"table", always, tableCrc32, tableCrc32Copy, tableMultiply},
#if defined(__x86_64__)
    {"clmul128", supportsClmul128, clmul128Crc32, clmul128Crc32Copy, clmulMultiply},
    {"clmul256", supportsClmul256, clmul256Crc32, clmul256Crc32Copy, clmulMultiply},
    {"clmul512", supportsClmul512, clmul512Crc32, clmul512Crc32Copy, clmulMultiply},
#else
    {"clmul128", [] { return false; }, nullptr, nullptr, nullptr},
    {"clmul256", [] { return false; }, nullptr, nullptr, nullptr},
    {"clmul512", [] { return false; }, nullptr, nullptr, nullptr},
#endif
};

const Kernel& kernelOf(CrcKernel kernel) { return kKernels[static_cast<size_t>(kernel)]; }

const Kernel& chooseKernel() {
  const char* forced = std::getenv("LMQ_STORE_CRC_KERNEL");
  const Kernel* best = nullptr;
  for (const Kernel& kernel : kKernels) {
    if (!kernel.supported()) continue;
    if (forced != nullptr && std::strcmp(forced, kernel.name) == 0) return kernel;
    best = &kernel;
  }
  return *best;
}

// Until the first call the active kernel is one that chooses. The pointer is a constant before any
// code runs, so a CRC may be computed even while static objects are being built.
const Kernel& resolveKernel();
constexpr Kernel kUnresolved = {
    "", always,
    [](uint32_t crc, const uint8_t* data, size_t size) {
      return resolveKernel().crc32(crc, data, size);
    },
    [](uint32_t crc, uint8_t* to, const uint8_t* from, size_t size) {
      return resolveKernel().crc32Copy(crc, to, from, size);
    },
    [](uint32_t a, uint32_t b) { return resolveKernel().multiply(a, b); }};
constinit std::atomic<const Kernel*> activeKernel{&kUnresolved};

// Never undoes a kernel forced meanwhile by another thread.
const Kernel& resolveKernel() {
  const Kernel* active = &kUnresolved;
  const Kernel& chosen = chooseKernel();
  return activeKernel.compare_exchange_strong(active, &chosen) ? chosen : *active;
}

}  // namespace

uint32_t crc32(uint32_t crc, const uint8_t* data, size_t size) {
  return activeKernel.load(std::memory_order_relaxed)->crc32(crc, data, size);
}

uint32_t crc32Copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t size) {
  return activeKernel.load(std::memory_order_relaxed)->crc32Copy(crc, to, from, size);
}

uint32_t crc32Combine(uint32_t crcA, uint32_t crcB, size_t lengthB) {
  return crc32Multiply(crcA, crc32Shift(lengthB)) ^ crcB;
}

uint32_t crc32Shift(size_t length) {
  const Kernel& kernel = *activeKernel.load(std::memory_order_relaxed);
  uint32_t shift = kZeroBytes[0][length & 15];
  for (size_t digit = 1; (length >>= 4) != 0; digit++) {
    if ((length & 15) == 0) continue;
    const uint32_t factor = kZeroBytes[digit][length & 15];
    shift = shift == kOne ? factor : kernel.multiply(shift, factor);
  }
  return shift;
}

uint32_t crc32Multiply(uint32_t crc, uint32_t shift) {
  return activeKernel.load(std::memory_order_relaxed)->multiply(crc, shift);
}

CrcKernel crc32Kernel() {
  const Kernel* active = activeKernel.load(std::memory_order_relaxed);
  if (active == &kUnresolved) active = &resolveKernel();
  return static_cast<CrcKernel>(active - kKernels);
}

bool crc32Supports(CrcKernel kernel) { return kernelOf(kernel).supported(); }

const char* crc32KernelName(CrcKernel kernel) { return kernelOf(kernel).name; }

bool forceCrc32Kernel(CrcKernel kernel) {
  if (!crc32Supports(kernel)) return false;
  activeKernel.store(&kernelOf(kernel), std::memory_order_relaxed);
  return true;
}

uint32_t crc32With(CrcKernel kernel, uint32_t crc, const uint8_t* data, size_t size) {
  assert(crc32Supports(kernel));
  return kernelOf(kernel).crc32(crc, data, size);
}

}  // namespace lmq
