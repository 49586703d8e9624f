#include "mapped_file.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "file_os.h"

namespace lmq {

namespace {

constexpr size_t kSmallestBuffer = 4096;
constexpr uint64_t kZeroStep = 1024 * 1024;
constexpr size_t kFirstWord = sizeof(uint32_t);

}  // namespace

uint8_t* ReadBuffer::atLeast(size_t length) {
  transient_.reset();
  if (length <= size_ && kept_) return kept_.get();
  if (length > cap_) {
    transient_.reset(new (std::nothrow) uint8_t[length]);
    return transient_.get();
  }
  const size_t size = std::min(cap_, std::max({length, 2 * size_, kSmallestBuffer}));
  kept_.reset();  // first, so that both are never held at once
  kept_.reset(new (std::nothrow) uint8_t[std::max<size_t>(size, 1)]);
  size_ = kept_ ? size : 0;
  return kept_.get();
}

Result<std::shared_ptr<MappedFile>> MappedFile::create(const std::string& workPath,
                                                       const std::string& path, uint64_t base,
                                                       uint64_t size, uint64_t reserve,
                                                       ReadMode mode) {
  Result<std::shared_ptr<MappedFile>> made = make(workPath, base, size, mode);
  if (!made.ok()) return made;
  Status status = (*made)->reserve(std::min(reserve, size));
  if (status.ok()) status = (*made)->moveTo(path);
  if (!status.ok()) {
    (void)(*made)->remove();
    return status;
  }
  return made;
}

Result<std::shared_ptr<MappedFile>> MappedFile::make(const std::string& workPath, uint64_t base,
                                                     uint64_t size, ReadMode mode) {
  if (size == 0) return Status(Code::kInternal, "A file needs a length").at(workPath);
  LMQ_TRY(removeFile(workPath));
  Result<File> file = File::create(workPath);
  if (!file.ok()) return file.takeStatus();
  std::shared_ptr<MappedFile> made(new MappedFile(file.take(), base, size));
  Status status = made->file_.resize(size);
  if (status.ok() && mode == ReadMode::kMap) status = made->map(true);
  if (!status.ok()) {
    (void)made->remove();
    return status;
  }
  return made;
}

Status MappedFile::moveTo(const std::string& path) {
  const std::lock_guard<std::mutex> lock(reserveLock_);
  LMQ_TRY(renameFile(file_.path(), path));
  file_.rename(path);
  return {};
}

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string& path, uint64_t base,
                                                     uint64_t size, Access access, ReadMode mode) {
  Result<File> file = File::open(path, access);
  if (!file.ok()) return file.takeStatus();
  Result<uint64_t> found = file->size();
  if (!found.ok()) return found.takeStatus();
  if (*found != size || size == 0) {
    return Status(Code::kFileSize, "The file has " + std::to_string(*found) + " bytes instead of " +
                                       std::to_string(size))
        .at(path);
  }
  std::shared_ptr<MappedFile> opened(new MappedFile(file.take(), base, size));
  if (mode == ReadMode::kMap) LMQ_TRY(opened->map(access == Access::kWrite));
  return opened;
}

Status MappedFile::map(bool writable) {
  Result<Mapping> mapping = Mapping::map(file_, size_, writable);
  if (!mapping.ok()) return mapping.takeStatus();
  mapping_ = mapping.take();
  byMap_.store(writable, std::memory_order_relaxed);
  return {};
}

Status MappedFile::reserveMore(uint64_t end) {
  if (end > size_) return checkRange(0, end);
  const std::lock_guard<std::mutex> lock(reserveLock_);
  const uint64_t from = reserved();
  if (end <= from) return {};
  const uint64_t page = pageSize();
  const uint64_t to = std::min(size_, end + (page - end % page) % page);
  Result<File::Reserved> result = file_.reserve(from, to - from);
  if (!result.ok()) return result.takeStatus();
  if (*result == File::Reserved::kNotGuaranteed) byMap_.store(false, std::memory_order_relaxed);
  reserved_.store(to, std::memory_order_release);
  return {};
}

Status MappedFile::checkRange(uint64_t at, uint64_t length) const {
  if (at <= size_ && size_ - at >= length) return {};
  return Status(Code::kNotFound, "The range passes the end of its file")
      .at(file_.path())
      .offset(static_cast<int64_t>(base_ + at));
}

Status MappedFile::writeOut(uint64_t at, size_t length, const uint8_t* window) {
  LMQ_TRY(checkRange(at, length));
  Status status = file_.writeAt(at, window, length);
  // A part of it would lie in the way of a shorter successor, whose end must be followed by zeros.
  if (!status.ok()) (void)os::writeZeros(file_, at, length);
  return status;
}

Status MappedFile::writeOut(uint64_t at, size_t length, uint8_t* window, uint32_t firstWord) {
  if (length < kFirstWord)
    return Status(Code::kInternal, "A window is shorter than its first word");
  LMQ_TRY(writeOut(at + kFirstWord, length - kFirstWord, window + kFirstWord));
  store(window, firstWord);
  Status status = file_.writeAt(at, window, kFirstWord);
  if (!status.ok()) (void)os::writeZeros(file_, at, length);
  return status;
}

Status MappedFile::prepare(uint64_t from, uint64_t to) {
  to = std::min(to, size_);
  if (from >= to) return {};
  LMQ_TRY(reserve(to));
  if (!writesByMap()) return {};
  Status status = mapping_.populate(from, to - from, std::string());
  if (status.ok()) return {};
  const std::lock_guard<std::mutex> lock(reserveLock_);  // moveTo() may be changing the path
  return std::move(status).at(file_.path());
}

Result<const uint8_t*> MappedFile::readByPosition(uint64_t at, size_t length,
                                                  ReadBuffer& buffer) const {
  LMQ_TRY(checkRange(at, length));
  uint8_t* out = buffer.atLeast(length);
  if (out == nullptr) return Status(Code::kNoMemory, "No memory to read into").at(file_.path());
  LMQ_TRY(file_.readAt(at, out, length));
  return static_cast<const uint8_t*>(out);
}

Status MappedFile::copy(uint64_t at, size_t length, uint8_t* out) const {
  LMQ_TRY(checkRange(at, length));
  if (!mapping_.isMapped()) return file_.readAt(at, out, length);
  std::memcpy(out, mapping_.data() + at, length);
  return {};
}

Status MappedFile::sync(uint64_t from, uint64_t to) {
  if (from >= to) return {};
  LMQ_TRY(checkRange(from, to - from));
  if (!writesByMap()) return file_.syncData();
  // Only this range: pages that were populated ahead are dirty too, and need not be written.
  mapping_.drop(from, to - from);
  LMQ_TRY(mapping_.sync(from, to - from, file_.path()));
  return os::kMapSyncIsDurable ? Status() : file_.syncData();
}

Status MappedFile::zero(uint64_t from, uint64_t to) {
  if (from >= to) return {};
  LMQ_TRY(checkRange(from, to - from));
  bool changed = false;
  for (uint64_t at = from; at < to;) {
    Result<uint64_t> found = file_.findNonZero(at, to);
    if (!found.ok()) return found.takeStatus();
    if (*found == to) break;
    at = std::min(to, *found + kZeroStep);
    LMQ_TRY(file_.zero(*found, at - *found));
    changed = true;
  }
  return changed ? file_.syncData() : Status();
}

Status MappedFile::remove() { return removeFile(file_.path()); }

}  // namespace lmq
