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
  uint32_t (*join)(const CrcPart* parts, size_t count);
};

constexpr bool always() { return true; }

// Indexed by CrcKernel; the last one supported is the fastest.
constexpr Kernel kKernels[] = {
    {"table", always, tableCrc32, tableCrc32Copy, tableJoin},
#if defined(__x86_64__)
    {"clmul128", supportsClmul128, clmul128Crc32, clmul128Crc32Copy, clmulJoin},
    {"clmul256", supportsClmul256, clmul256Crc32, clmul256Crc32Copy, clmulJoin},
    {"clmul512", supportsClmul512, clmul512Crc32, clmul512Crc32Copy, clmulJoin},
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
    [](const CrcPart* parts, size_t count) { return resolveKernel().join(parts, count); }};
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

uint32_t crc32Join(std::initializer_list<CrcPart> parts) {
  return activeKernel.load(std::memory_order_relaxed)->join(parts.begin(), parts.size());
}

uint32_t crc32Combine(uint32_t crcA, uint32_t crcB, size_t lengthB) {
  return crc32Join({{crcA, lengthB}, {crcB, 0}});
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
