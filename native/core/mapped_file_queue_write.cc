// The append side of a MappedFileQueue: room, roll-over, and preparing both ahead.
#include <algorithm>
#include <atomic>
#include <utility>

#include "mapped_file_queue.h"

namespace lmq {

namespace {

constexpr uint64_t kReserveAtOnce = 16 * 1024 * 1024;  // a call; cheap, but the writer may wait
constexpr uint64_t kPopulateAtOnce = 2 * 1024 * 1024;

// Of every queue: many share a work directory, and their files have the same names.
std::atomic<uint64_t> workFileNumber{0};

}  // namespace

MappedFile* MappedFileQueue::fileOfOtherWindow(uint64_t position) {
  if (other_ && position - other_->base() < options_.fileSize) return other_.get();
  FilePointer file;
  {
    const std::lock_guard<std::mutex> lock(lock_);
    const Slot* slot = slotAt(position);
    if (slot == nullptr || !slot->file) return nullptr;  // never opened: nothing was reserved
    file = slot->file;
  }
  other_ = std::move(file);
  return other_.get();
}

Status MappedFileQueue::reserveRoom(uint64_t position, size_t length) {
  if (options_.access != Access::kWrite) {
    return Status(Code::kReadOnly, "The files are open for reading").at(options_.directory);
  }
  if (options_.fileSize == 0 || position > INT64_MAX) return notFound(position);
  const uint64_t base = position - position % options_.fileSize;
  if (length > options_.fileSize - (position - base)) {
    return Status(Code::kInternal, "A range passes the end of its file")
        .at(options_.directory)
        .offset(static_cast<int64_t>(position))
        .limit(static_cast<int64_t>(options_.fileSize));
  }
  const uint64_t end = position - base + length;
  if (current_ == nullptr || base != currentBase_) LMQ_TRY(switchTo(base, end));
  LMQ_TRY(reserveIn(*current_, end));
  if (options_.prepareAhead > 0) askToPrepare(position + length);
  const uint64_t reserved = currentBase_ + current_->reserved();
  easyEnd_ = options_.prepareAhead > 0 ? std::min(reserved, prepareAt_) : reserved;
  return {};
}

Status MappedFileQueue::reserveIn(MappedFile& file, uint64_t end) const {
  if (end <= file.reserved()) return {};
  const uint64_t size = options_.fileSize;
  const uint64_t step = std::min(options_.reserveStep, size);
  const uint64_t stepped = std::min(size, (end + step - 1) / step * step);
  Status status = file.reserve(stepped);
  // The last blocks of a disk may be too few for a step and enough for this.
  if (status.code() == Code::kDiskFull && end < stepped) return file.reserve(end);
  return status;
}

Status MappedFileQueue::switchTo(uint64_t base, uint64_t end) {
  FilePointer file;
  FilePointer evicted;
  {
    const std::lock_guard<std::mutex> lock(lock_);
    if (const Slot* slot = slotAt(base)) {
      Result<FilePointer> opened = openSlot(*slot, &evicted);
      if (!opened.ok()) return opened.takeStatus();
      file = opened.take();
    } else if (!slots_.empty() && base != endOfSlots()) {
      return notFound(base);
    }
  }
  if (!file) {
    Result<FilePointer> made = makeFile(base, end);
    if (!made.ok()) return made.takeStatus();
    file = made.take();
  }
  if (current_ == nullptr || base != currentBase_ + options_.fileSize) {
    prepareAt_ = preparedEnd_ = 0;  // what was prepared lies elsewhere
  }
  current_ = file.get();
  currentBase_ = base;
  easyEnd_ = 0;
  {
    const std::lock_guard<std::mutex> lock(lock_);
    writing_.swap(file);
  }
  other_ = std::move(file);  // what is reserved in the file before must not be evicted yet
  return {};
}

Result<MappedFileQueue::FilePointer> MappedFileQueue::makeFile(uint64_t base, uint64_t end) {
  const std::string path = pathOf(base);
  LMQ_TRY(checkReplaceable(path));
  FilePointer file;
  {
    const std::lock_guard<std::mutex> lock(lock_);
    if (next_ && next_->base() == base) file = next_;
  }
  const bool prepared = file != nullptr;
  if (!prepared) {
    Result<FilePointer> made = makeWorkFile(base);
    if (!made.ok()) return made;
    file = made.take();
  }
  Status status = reserveIn(*file, end);
  if (!status.ok()) {  // a file made in advance stays, with the blocks that it has
    if (!prepared) (void)file->remove();
    return status;
  }
  FilePointer unused;
  status = moveIn(*file, path);
  if (!status.ok()) {
    (void)file->remove();
    const std::lock_guard<std::mutex> lock(lock_);
    if (prepared) unused.swap(next_);
    return status;
  }
  FilePointer evicted;
  {
    const std::lock_guard<std::mutex> lock(lock_);
    unused = std::move(next_);
    slots_.push_back({base, file, ++useClock_});
    directoryDirty_ = true;
    evicted = evict();
  }
  if (unused && unused != file) (void)unused->remove();  // made while this one was
  return file;
}

Result<MappedFileQueue::FilePointer> MappedFileQueue::makeWorkFile(uint64_t base) const {
  if (options_.workDirectory.empty()) {
    return Status(Code::kInternal, "A queue of files needs a work directory")
        .at(options_.directory);
  }
  const std::string path = options_.workDirectory + "/" + fileNameOf(base) + "." +
                           std::to_string(workFileNumber.fetch_add(1, std::memory_order_relaxed));
  Result<FilePointer> made = MappedFile::make(path, base, options_.fileSize, options_.readMode);
  if (!made.ok() && made.status().code() == Code::kNotFound) {
    LMQ_TRY(makeDirectories(options_.workDirectory));
    made = MappedFile::make(path, base, options_.fileSize, options_.readMode);
  }
  if (made.ok() && options_.singlePages) (*made)->expectRandom();
  return made;
}

// A crash may have left a file without content under the name of the next one. Anything else that
// has appeared there since load() is not ours to overwrite.
Status MappedFileQueue::checkReplaceable(const std::string& path) const {
  Result<FileInfo> info = inspect(path);
  if (!info.ok()) return info.takeStatus();
  if (!info->exists || (info->size == 0 && !info->isDirectory)) return {};
  if (!info->isDirectory) {
    Result<File> file = File::open(path, Access::kRead);
    if (!file.ok()) return file.takeStatus();
    Result<uint64_t> data = file->findNonZero(0, info->size);
    if (!data.ok()) return data.takeStatus();
    if (*data == info->size) return {};
  }
  return Status(Code::kCorruptFile, "The name of the next file is taken by something with content")
      .at(path);
}

Status MappedFileQueue::moveIn(MappedFile& file, const std::string& path) {
  Status status = file.moveTo(path);
  if (status.code() != Code::kNotFound) return status;
  // Made durable by sync(), off the append lock.
  LMQ_TRY(makeDirectories(options_.directory, false));
  {
    const std::lock_guard<std::mutex> lock(lock_);
    parentsDirty_ = true;
  }
  return file.moveTo(path);
}

void MappedFileQueue::forgetWriting() {
  FilePointer dropped;
  current_ = nullptr;
  currentBase_ = easyEnd_ = prepareAt_ = preparedEnd_ = 0;
  other_.reset();
  const std::lock_guard<std::mutex> lock(lock_);
  dropped.swap(writing_);
}

void MappedFileQueue::askToPrepare(uint64_t position) {
  if (position < prepareAt_) return;
  const uint64_t ahead = options_.prepareAhead;
  if (preparing_.load(std::memory_order_acquire)) {
    prepareAt_ = position + std::max<uint64_t>(ahead / 16, 1);  // one task at a time: look again
    return;
  }
  const uint64_t from = std::max(position, preparedEnd_);
  const uint64_t to = position + ahead;
  preparing_.store(true, std::memory_order_relaxed);
  const bool posted =
      preparer_->post(this, [this, file = writing_, from, to] { prepareRange(file, from, to); });
  if (!posted) preparing_.store(false, std::memory_order_relaxed);
  preparedEnd_ = to;
  prepareAt_ = position + ahead / 2;
}

// A failure, such as a full disk, is not told: the writer meets it when it gets there, if at all.
void MappedFileQueue::prepareRange(const FilePointer& file, uint64_t from, uint64_t to) {
  const uint64_t base = file->base();
  const uint64_t end = base + file->size();
  if (from < end) prepareIn(*file, from - base, std::min(to, end) - base);
  if (to > end && !stopping_.load(std::memory_order_relaxed)) {
    if (const FilePointer next = nextFile(end)) {
      prepareIn(*next, std::max(from, end) - end, to - end);
    }
  }
  preparing_.store(false, std::memory_order_release);
}

void MappedFileQueue::prepareIn(MappedFile& file, uint64_t from, uint64_t to) {
  const auto stopped = [this] { return stopping_.load(std::memory_order_relaxed); };
  while (file.reserved() < to && !stopped()) {
    if (!file.reserve(std::min(to, file.reserved() + kReserveAtOnce)).ok()) return;
  }
  for (uint64_t at = from; at < to && !stopped(); at += kPopulateAtOnce) {
    if (!file.prepare(at, std::min(to, at + kPopulateAtOnce)).ok()) return;
  }
}

MappedFileQueue::FilePointer MappedFileQueue::nextFile(uint64_t base) {
  const auto known = [&](FilePointer* file, FilePointer* evicted) {  // under lock_
    if (const Slot* slot = slotAt(base)) {
      Result<FilePointer> opened = openSlot(*slot, evicted);
      if (opened.ok()) *file = opened.take();
      return true;
    }
    *file = next_;  // always the one behind the last
    return next_ != nullptr || base != endOfSlots();
  };
  FilePointer file;
  FilePointer evicted;
  {
    const std::lock_guard<std::mutex> lock(lock_);
    if (known(&file, &evicted)) return file;
  }
  Result<FilePointer> made = makeWorkFile(base);
  if (!made.ok()) return nullptr;
  {
    const std::lock_guard<std::mutex> lock(lock_);
    if (!known(&file, &evicted)) return next_ = made.take();
  }
  (void)(*made)->remove();  // the writer was here first
  return file;
}

void MappedFileQueue::stopPreparing() {
  if (preparer_ == nullptr) return;
  stopping_.store(true, std::memory_order_relaxed);
  preparer_->cancel(this);
  stopping_.store(false, std::memory_order_relaxed);
  preparing_.store(false, std::memory_order_relaxed);
  FilePointer unused;
  {
    const std::lock_guard<std::mutex> lock(lock_);
    unused.swap(next_);
  }
  if (unused) (void)unused->remove();
}

}  // namespace lmq
