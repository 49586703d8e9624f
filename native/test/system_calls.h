// The system calls that change files, replaced in the test's program by ones that count, fail, or
// end the process. Stores into maps are no calls: they are not seen here.
#pragma once

#ifdef __linux__

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

namespace lmq::calls {

// kHere: those of the thread that asks alone.
enum Kind : int { kSync = 1, kWrite = 2, kName = 4, kAll = 7, kHere = 8 };
enum class Action { kFail, kExit };

struct Plan {
  std::atomic<int> kinds{0};
  std::atomic<int> left{0};   // calls of these kinds until the first one that is met
  std::atomic<int> times{0};  // how many are met
  std::atomic<int> met{0};
  std::atomic<Action> action{Action::kFail};
};
inline Plan plan;
inline thread_local bool here = false;

// Told of every sync that succeeded, on its thread.
inline std::atomic<void (*)(int file)> fileSynced{nullptr};
inline std::atomic<void (*)(const void* at, size_t length)> mapSynced{nullptr};

inline constexpr int kExitCode = 77;
inline constexpr int kAlways = 1 << 30;

// The n-th call from now on (1 is the next) and `times - 1` behind it.
inline void meet(int kinds, int n, Action action = Action::kFail, int times = 1) {
  plan.kinds = 0;
  plan.left = n;
  plan.times = times;
  plan.met = 0;
  plan.action = action;
  here = true;
  plan.kinds = kinds;
}
inline void meetNone() {
  plan.kinds = 0;
  here = false;
}
inline bool wasMet() { return plan.met > 0; }

// True: the call fails.
inline bool meets(Kind kind) {
  const int kinds = plan.kinds;
  if ((kinds & kind) == 0 || ((kinds & kHere) != 0 && !here)) return false;
  if (plan.left.fetch_sub(1) > 1 || plan.times.fetch_sub(1) <= 0) return false;
  ++plan.met;
  if (plan.action == Action::kExit) ::_exit(kExitCode);
  errno = EIO;
  return true;
}

template <typename... Arguments>
long pass(Kind kind, long number, Arguments... arguments) {  // NOLINT(google-runtime-int)
  return meets(kind) ? -1 : ::syscall(number, arguments...);
}

inline int syncFile(long number, int file) {  // NOLINT(google-runtime-int)
  const int result = static_cast<int>(pass(kSync, number, file));
  const auto told = fileSynced.load();
  if (result == 0 && told != nullptr) told(file);
  return result;
}

// While it lives, calls are met; then none is.
struct Met {
  Met(int kinds, int n, Action action = Action::kFail, int times = 1) {
    meet(kinds, n, action, times);
  }
  ~Met() { meetNone(); }
};

}  // namespace lmq::calls

// One program includes this once, so these are its definitions. The linker prefers them.
extern "C" {
int fsync(int file) { return lmq::calls::syncFile(SYS_fsync, file); }
int fdatasync(int file) { return lmq::calls::syncFile(SYS_fdatasync, file); }
int msync(void* at, size_t length, int flags) {
  const int result =
      static_cast<int>(lmq::calls::pass(lmq::calls::kSync, SYS_msync, at, length, flags));
  const auto told = lmq::calls::mapSynced.load();
  if (result == 0 && told != nullptr) told(at, length);
  return result;
}
ssize_t pwrite(int file, const void* data, size_t length, off_t at) {
  return lmq::calls::pass(lmq::calls::kWrite, SYS_pwrite64, file, data, length, at);
}
int ftruncate(int file, off_t length) noexcept {
  return static_cast<int>(lmq::calls::pass(lmq::calls::kWrite, SYS_ftruncate, file, length));
}
int fallocate(int file, int mode, off_t at, off_t length) {
  return static_cast<int>(
      lmq::calls::pass(lmq::calls::kWrite, SYS_fallocate, file, mode, at, length));
}
int rename(const char* from, const char* to) noexcept {
  return static_cast<int>(
      lmq::calls::pass(lmq::calls::kName, SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int unlink(const char* path) noexcept {
  return static_cast<int>(lmq::calls::pass(lmq::calls::kName, SYS_unlinkat, AT_FDCWD, path, 0));
}
int mkdir(const char* path, mode_t mode) noexcept {
  return static_cast<int>(lmq::calls::pass(lmq::calls::kName, SYS_mkdirat, AT_FDCWD, path, mode));
}
}

#endif  // __linux__
