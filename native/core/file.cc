#include "file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "file_os.h"

namespace lmq {

namespace {

constexpr mode_t kFileMode = 0644;
constexpr size_t kTransfer = size_t{1} << 30;  // systems refuse or shorten larger transfers
constexpr size_t kBlock = 256 * 1024;          // of scans, copies and zeroing

// Not const, so that it lies in .bss and not in the binary.
alignas(64) uint8_t zeros[kBlock];

std::atomic<bool>& positionalFlag() {
  static std::atomic<bool> forced = []() {
    const char* mode = std::getenv("LMQ_STORE_WRITE_MODE");
    return mode != nullptr && std::strcmp(mode, "positional") == 0;
  }();
  return forced;
}

Status endsEarly(const std::string& path, uint64_t at) {
  return Status(Code::kIo, "The file ends before the bytes that were asked for")
      .at(path)
      .offset(static_cast<int64_t>(at));
}

bool isAllZero(const uint8_t* data, size_t length) {
  return length == 0 || (data[0] == 0 && std::memcmp(data, data + 1, length - 1) == 0);
}

}  // namespace

bool forcePositionalWrites(bool forced) { return positionalFlag().exchange(forced); }

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = std::exchange(other.descriptor_, -1);
    path_ = std::move(other.path_);
  }
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);  // nothing is left to report: syncs came before
}

Result<File> File::open(const std::string& path, Access access) {
  if (access == Access::kReadQuietly) {
    const int descriptor = os::openQuietly(path.c_str());
    if (descriptor < 0) return Status::system(errno, "Opening", path);
    return File(descriptor, path);
  }
  Result<int> opened = os::openDescriptor(path, access == Access::kWrite ? O_RDWR : O_RDONLY);
  if (!opened.ok()) return opened.takeStatus();
  return File(*opened, path);
}

Result<File> File::create(const std::string& path) {
  Result<int> opened = os::openDescriptor(path, O_RDWR | O_CREAT | O_EXCL);
  if (!opened.ok()) return opened.takeStatus();
  return File(*opened, path);
}

Result<File> File::openOrCreate(const std::string& path) {
  Result<int> opened = os::openDescriptor(path, O_RDWR | O_CREAT);
  if (!opened.ok()) return opened.takeStatus();
  return File(*opened, path);
}

Result<uint64_t> File::size() const {
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) return Status::system(errno, "Measuring", path_);
  return static_cast<uint64_t>(status.st_size);
}

bool File::isUnlinked() const {
  struct stat status;
  return ::fstat(descriptor_, &status) == 0 && status.st_nlink == 0;
}

Result<size_t> File::readSome(uint64_t at, void* out, size_t length) const {
  size_t done = 0;
  while (done < length) {
    const ssize_t count = os::retry([&] {
      return ::pread(descriptor_, static_cast<uint8_t*>(out) + done,
                     std::min(length - done, kTransfer), static_cast<off_t>(at + done));
    });
    if (count < 0) {
      return Status::system(errno, "Reading", path_).offset(static_cast<int64_t>(at + done));
    }
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

Status File::readAt(uint64_t at, void* out, size_t length) const {
  Result<size_t> count = readSome(at, out, length);
  if (!count.ok()) return count.takeStatus();
  return *count == length ? Status() : endsEarly(path_, at + *count);
}

Status File::writeAt(uint64_t at, const void* data, size_t length) const {
  size_t done = 0;
  while (done < length) {
    const ssize_t count = os::retry([&] {
      return ::pwrite(descriptor_, static_cast<const uint8_t*>(data) + done,
                      std::min(length - done, kTransfer), static_cast<off_t>(at + done));
    });
    if (count <= 0) {  // a write of nothing would repeat for ever
      return Status::system(count < 0 ? errno : EIO, "Writing", path_)
          .offset(static_cast<int64_t>(at + done));
    }
    done += static_cast<size_t>(count);
  }
  return {};
}

Status File::resize(uint64_t size) const {
  if (os::retry([&] { return ::ftruncate(descriptor_, static_cast<off_t>(size)); }) != 0) {
    return Status::system(errno, "Resizing", path_);
  }
  return {};
}

Result<uint64_t> File::seekData(uint64_t at, uint64_t size) const {
  if (at >= size) return size;
#ifdef SEEK_DATA
  const off_t found = ::lseek(descriptor_, static_cast<off_t>(at), SEEK_DATA);
  if (found >= 0) return std::min(static_cast<uint64_t>(found), size);
  if (errno == ENXIO) return size;
#endif
  return at;  // only a hint: whoever gets it reads the bytes and meets real errors there
}

Result<uint64_t> File::findNonZero(uint64_t at, uint64_t end) const {
  std::unique_ptr<uint8_t[]> block;
  while (at < end) {
    Result<uint64_t> data = seekData(at, end);
    if (!data.ok()) return data;
    at = *data;
    if (at >= end) break;
    if (!block) block.reset(new (std::nothrow) uint8_t[kBlock]);
    if (!block) return Status(Code::kNoMemory, "No memory to scan the file").at(path_);
    const size_t length = static_cast<size_t>(std::min<uint64_t>(kBlock, end - at));
    LMQ_TRY(readAt(at, block.get(), length));
    if (!isAllZero(block.get(), length)) {
      const uint8_t* byte =
          std::find_if(block.get(), block.get() + length, [](uint8_t b) { return b != 0; });
      return at + static_cast<uint64_t>(byte - block.get());
    }
    at += length;
  }
  return end;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    if (data_ != nullptr) ::munmap(data_, size_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Result<Mapping> Mapping::map(const File& file, uint64_t size, bool writable) {
  // Never MAP_POPULATE: on a shared map it faults for reading only, and every page faults again.
  void* data = ::mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                      file.descriptor(), 0);
  if (data == MAP_FAILED) return Status::system(errno, "Mapping", file.path());
  Mapping mapping;
  mapping.data_ = static_cast<uint8_t*>(data);
  mapping.size_ = size;
  return mapping;
}

Status Mapping::sync(uint64_t at, uint64_t length, const std::string& path) const {
  if (at > size_ || size_ - at < length) {
    return Status(Code::kInternal, "A sync passes the end of the map").at(path);
  }
  if (length == 0) return {};
  const uint64_t lead = at % pageSize();
  if (::msync(data_ + (at - lead), length + lead, MS_SYNC) != 0) {
    return os::syncFailed(errno, path).offset(static_cast<int64_t>(at));
  }
  return {};
}

Result<uint64_t> physicalMemory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);  // NOLINT(google-runtime-int): its type
  if (pages <= 0) return Status(Code::kUnsupported, "The system does not tell its memory");
  return static_cast<uint64_t>(pages) * pageSize();
}

uint64_t pageSize() {
  static const uint64_t size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

namespace os {

Result<int> openDescriptor(const std::string& path, int flags) {
  const int descriptor =
      os::retry([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kFileMode); });
  if (descriptor < 0) return Status::system(errno, "Opening", path);
  return descriptor;
}

Status syncFailed(int error, const std::string& path) {
  return Status::system(error == ENOSPC || error == EDQUOT ? EIO : error, "Syncing", path);
}

bool positionalWritesForced() { return positionalFlag().load(std::memory_order_relaxed); }

Status writeZeros(const File& file, uint64_t at, uint64_t length) {
  while (length > 0) {
    const size_t part = static_cast<size_t>(std::min<uint64_t>(length, kBlock));
    LMQ_TRY(file.writeAt(at, zeros, part));
    at += part;
    length -= part;
  }
  return {};
}

Status fillHoles(const File& file, uint64_t at, uint64_t length) {
  const uint64_t end = at + length;
  while (at < end) {
    Result<uint64_t> data = file.seekData(at, end);
    if (!data.ok()) return data.takeStatus();
    LMQ_TRY(writeZeros(file, at, *data - at));
    at = *data;
#ifdef SEEK_HOLE
    if (at >= end) break;
    const off_t hole = ::lseek(file.descriptor(), static_cast<off_t>(at), SEEK_HOLE);
    if (hole < 0 || static_cast<uint64_t>(hole) <= at) break;  // not told: all counts as data
    at = static_cast<uint64_t>(hole);
#else
    break;
#endif
  }
  return {};
}

Status copyThroughMemory(const File& from, uint64_t at, uint64_t length, const File& to,
                         uint64_t toAt) {
  const std::unique_ptr<uint8_t[]> block(new (std::nothrow) uint8_t[kBlock]);
  if (!block) return Status(Code::kNoMemory, "No memory to copy the file").at(from.path());
  while (length > 0) {
    const size_t part = static_cast<size_t>(std::min<uint64_t>(length, kBlock));
    LMQ_TRY(from.readAt(at, block.get(), part));
    LMQ_TRY(to.writeAt(toAt, block.get(), part));
    at += part;
    toAt += part;
    length -= part;
  }
  return {};
}

}  // namespace os

}  // namespace lmq
