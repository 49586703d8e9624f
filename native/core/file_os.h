// What file.cc shares with the file of each system. For these alone.
#pragma once

#include <cerrno>
#include <cstdint>

#include "file.h"

namespace lmq::os {

// Repeats a system call that a signal interrupted.
template <typename Call>
auto retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// With O_CLOEXEC.
Result<int> openDescriptor(const std::string& path, int flags);
bool positionalWritesForced();
Status writeZeros(const File& file, uint64_t at, uint64_t length);
// Writes zeros where there are holes, so that the blocks are used. Leaves data alone.
Status fillHoles(const File& file, uint64_t at, uint64_t length);
Status copyThroughMemory(const File& from, uint64_t at, uint64_t length, const File& to,
                         uint64_t toAt);

// The failure of a sync. A full disk is no better reason than any other: data may be gone.
Status syncFailed(int error, const std::string& path);

// One per system.
int openQuietly(const char* path);  // for reading, without touching the access time if allowed
// msync alone reaches the device; where it does not, a descriptor has to be synced as well.
extern const bool kMapSyncIsDurable;

}  // namespace lmq::os
