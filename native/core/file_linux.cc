#ifdef __linux__

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "file.h"
#include "file_os.h"

namespace lmq {

namespace {

#ifndef MADV_POPULATE_WRITE  // Linux 5.14; older headers lack it
constexpr int MADV_POPULATE_WRITE = 23;
#endif

// On these a block that is overwritten moves, so a reservation does not cover the write.
constexpr uint32_t kCopyOnWriteSystems[] = {
    0x9123683E,  // btrfs
    0x2FC12FC1,  // zfs
    0xCA451A4E,  // bcachefs
};

bool isCopyOnWrite(int descriptor) {
  struct statfs status;
  if (os::retry([&] { return ::fstatfs(descriptor, &status); }) != 0) return false;
  return std::find(std::begin(kCopyOnWriteSystems), std::end(kCopyOnWriteSystems),
                   static_cast<uint32_t>(status.f_type)) != std::end(kCopyOnWriteSystems);
}

// The file system does not know the request, as opposed to: it tried and failed.
bool isUnsupported(int error) {
  return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL || error == ENOTTY;
}

}  // namespace

Status File::syncData() const {
  if (os::retry([&] { return ::fdatasync(descriptor_); }) != 0) {
    return os::syncFailed(errno, path_);
  }
  return {};
}

Result<File::Reserved> File::reserve(uint64_t at, uint64_t length) const {
  if (length == 0) return Reserved::kGuaranteed;
  if (isCopyOnWrite(descriptor_)) return Reserved::kNotGuaranteed;
  if (!os::positionalWritesForced()) {
    const int result = os::retry([&] {
      return ::fallocate(descriptor_, 0, static_cast<off_t>(at), static_cast<off_t>(length));
    });
    if (result == 0) return Reserved::kGuaranteed;
    if (!isUnsupported(errno)) {
      return Status::system(errno, "Reserving space", path_).offset(static_cast<int64_t>(at));
    }
  }
  LMQ_TRY(os::fillHoles(*this, at, length));
  return Reserved::kNotGuaranteed;
}

Status File::zero(uint64_t at, uint64_t length) const {
  if (length == 0) return {};
  const int result = os::retry([&] {
    return ::fallocate(descriptor_, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(at), static_cast<off_t>(length));
  });
  if (result == 0) return {};
  if (!isUnsupported(errno)) {
    return Status::system(errno, "Zeroing", path_).offset(static_cast<int64_t>(at));
  }
  return os::writeZeros(*this, at, length);
}

Status Mapping::populate(uint64_t at, uint64_t length, const std::string& path) const {
  if (at > size_ || size_ - at < length) {
    return Status(Code::kInternal, "A range to populate passes the end of the map").at(path);
  }
  if (length == 0) return {};
  const uint64_t lead = at % pageSize();
  const int result =
      os::retry([&] { return ::madvise(data_ + (at - lead), length + lead, MADV_POPULATE_WRITE); });
  if (result == 0 || errno == EINVAL) return {};  // EINVAL: a kernel that does not know it
  // EFAULT stands for what would be a bus error on a store, also a full disk.
  return Status::system(errno, "Populating", path).offset(static_cast<int64_t>(at));
}

void Mapping::expectRandom() const {
  if (data_ != nullptr) (void)::madvise(data_, size_, MADV_RANDOM);
}

void Mapping::drop(uint64_t at, uint64_t length) const {
  const uint64_t page = pageSize();
  const uint64_t from = (at + page - 1) / page * page;
  const uint64_t to = (at + length) / page * page;
  if (from < to && to <= size_) (void)::madvise(data_ + from, to - from, MADV_DONTNEED);
}

Status copyRange(const File& from, uint64_t at, uint64_t length, const File& to) {
  Result<uint64_t> size = to.size();
  if (!size.ok()) return size.takeStatus();
  off_t source = static_cast<off_t>(at);
  off_t target = static_cast<off_t>(*size);
  while (length > 0) {  // shares blocks where the file system can
    const ssize_t count = os::retry([&] {
      return ::copy_file_range(from.descriptor(), &source, to.descriptor(), &target,
                               std::min<uint64_t>(length, 1 << 30), 0);
    });
    if (count < 0 && !isUnsupported(errno) && errno != EXDEV && errno != EPERM) {
      return Status::system(errno, "Copying", from.path()).offset(source);
    }
    if (count <= 0) break;  // not here, or nothing there: the copy below finds out
    length -= static_cast<uint64_t>(count);
  }
  return os::copyThroughMemory(from, static_cast<uint64_t>(source), length, to,
                               static_cast<uint64_t>(target));
}

Status syncFileSystem(const std::string& path) {
  Result<int> opened = os::openDescriptor(path, O_RDONLY);
  if (!opened.ok()) return opened.takeStatus();
  const int result = os::retry([&] { return ::syncfs(*opened); });
  const int error = errno;
  ::close(*opened);
  return result == 0 ? Status() : os::syncFailed(error, path);
}

int64_t wallClockMillis() {
  struct timespec now;
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

namespace os {

const bool kMapSyncIsDurable = true;

int openQuietly(const char* path) {
  const int flags = O_RDONLY | O_CLOEXEC;
  const int descriptor = retry([&] { return ::open(path, flags | O_NOATIME); });
  if (descriptor >= 0 || errno != EPERM) return descriptor;
  return retry([&] { return ::open(path, flags); });  // only the owner may ask for O_NOATIME
}

}  // namespace os

}  // namespace lmq

#endif  // __linux__
