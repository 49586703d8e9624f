#ifdef __APPLE__

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "file.h"
#include "file_os.h"

namespace lmq {

Status File::syncData() const {
  // fsync leaves the data in the drive's cache here; some file systems know nothing better.
  if (os::retry([&] { return ::fcntl(descriptor_, F_FULLFSYNC); }) == 0) return {};
  if (os::retry([&] { return ::fsync(descriptor_); }) == 0) return {};
  return os::syncFailed(errno, path_);
}

Result<File::Reserved> File::reserve(uint64_t at, uint64_t length) const {
  // APFS is copy-on-write, and F_PREALLOCATE adds blocks only behind the end of a file, while ours
  // have their full length from the start. So there is no promise to be had.
  (void)at;
  return length == 0 ? Reserved::kGuaranteed : Reserved::kNotGuaranteed;
}

Status File::zero(uint64_t at, uint64_t length) const { return os::writeZeros(*this, at, length); }

Status Mapping::populate(uint64_t at, uint64_t length, const std::string& path) const {
  if (at > size_ || size_ - at < length) {
    return Status(Code::kInternal, "A range to populate passes the end of the map").at(path);
  }
  return {};  // nothing is written by map here
}

void Mapping::expectRandom() const {}

void Mapping::drop(uint64_t, uint64_t) const {}

Status copyRange(const File& from, uint64_t at, uint64_t length, const File& to) {
  Result<uint64_t> size = to.size();
  if (!size.ok()) return size.takeStatus();
  return os::copyThroughMemory(from, at, length, to, *size);
}

Status syncFileSystem(const std::string&) {
  ::sync();
  return {};
}

int64_t wallClockMillis() {
  struct timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

namespace os {

const bool kMapSyncIsDurable = false;

int openQuietly(const char* path) {
  return retry([&] { return ::open(path, O_RDONLY | O_CLOEXEC); });
}

}  // namespace os

}  // namespace lmq

#endif  // __APPLE__
