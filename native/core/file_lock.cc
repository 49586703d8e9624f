// The lock on a file's first byte, which RocketMQ takes as well.
#include <fcntl.h>

#include <cerrno>

#include "file.h"
#include "file_os.h"

namespace lmq {

namespace {

#ifdef F_OFD_SETLK
constexpr int kSetLock = F_OFD_SETLK;
constexpr int kGetLock = F_OFD_GETLK;
#else  // of the process: dropped when any descriptor of the file closes
constexpr int kSetLock = F_SETLK;
constexpr int kGetLock = F_GETLK;
#endif

struct flock firstByte() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<bool> File::firstByteIsLocked() const {
  struct flock lock = firstByte();
  if (os::retry([&] { return ::fcntl(descriptor_, kGetLock, &lock); }) != 0) {
    return Status::system(errno, "Asking for a lock", path_);
  }
  return lock.l_type != F_UNLCK;
}

Result<bool> File::lockFirstByte() const {
  struct flock lock = firstByte();
  if (os::retry([&] { return ::fcntl(descriptor_, kSetLock, &lock); }) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return Status::system(errno, "Locking", path_);
}

}  // namespace lmq
