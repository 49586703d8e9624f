// Integers as bytes. Every file of the store is big-endian, RocketMQ's and ours.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lmq {

template <typename T>
inline T bigEndian(T value) {
  if constexpr (std::endian::native == std::endian::big) return value;
  if constexpr (sizeof(T) == 2)
    return static_cast<T>(__builtin_bswap16(static_cast<uint16_t>(value)));
  if constexpr (sizeof(T) == 4)
    return static_cast<T>(__builtin_bswap32(static_cast<uint32_t>(value)));
  if constexpr (sizeof(T) == 8)
    return static_cast<T>(__builtin_bswap64(static_cast<uint64_t>(value)));
  return value;
}

template <typename T>
inline T load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return bigEndian(value);
}

template <typename T>
inline void store(uint8_t* at, T value) {
  value = bigEndian(value);
  std::memcpy(at, &value, sizeof(T));
}

// 40 bits: what a position or a number of the light-queue index takes.
inline uint64_t load40(const uint8_t* at) {
  return static_cast<uint64_t>(at[0]) << 32 | load<uint32_t>(at + 1);
}

inline void store40(uint8_t* at, uint64_t value) {
  at[0] = static_cast<uint8_t>(value >> 32);
  store<uint32_t>(at + 1, static_cast<uint32_t>(value));
}

// A word that another thread or process may be storing at this moment; `at` is 4-aligned or the
// processor makes unaligned 4-byte accesses within a cache line atomic (x86_64, arm64 do).
inline uint32_t loadAcquire32(const uint8_t* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof(value));
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return bigEndian(value);
}

inline void storeRelease32(uint8_t* at, uint32_t value) {
  value = bigEndian(value);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  std::memcpy(at, &value, sizeof(value));
}

// Asks for the cache lines of [at, at + length), which will be stored to. Where nothing is mapped
// the processor does nothing.
inline void prefetchForStore(const uint8_t* at, size_t length) {
  constexpr size_t kLine = 64;
  for (size_t done = 0; done < length; done += kLine) {
#if defined(__x86_64__)
    // Known or harmless to every x86_64; the builtin is a prefetch for loads unless a newer one is
    // compiled for.
    asm volatile("prefetchw %0" : : "m"(at[done]));
#else
    __builtin_prefetch(at + done, 1);
#endif
  }
}

}  // namespace lmq
