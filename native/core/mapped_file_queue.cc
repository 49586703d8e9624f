#include "mapped_file_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lmq {

namespace {

constexpr size_t kNameDigits = 20;

}  // namespace

std::string fileNameOf(uint64_t base) {
  std::string digits = std::to_string(base);
  return std::string(kNameDigits - digits.size(), '0') + digits;
}

int64_t baseOfFileName(const std::string& name) {
  if (name.size() != kNameDigits) return -1;
  uint64_t base = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return -1;
    const uint64_t digit = static_cast<uint64_t>(c - '0');
    if (base > (static_cast<uint64_t>(INT64_MAX) - digit) / 10) return -1;
    base = base * 10 + digit;
  }
  return static_cast<int64_t>(base);
}

Result<uint64_t> findFileSize(const std::string& directory) {
  const Result<FileInfo> info = inspect(directory);
  if (!info.ok()) return info.status();
  if (!(*info).exists) return uint64_t{0};
  const Result<std::vector<DirectoryEntry>> files = list(directory);
  if (!files.ok()) return files.status();
  for (const DirectoryEntry& file : *files) {
    if (!file.isDirectory && file.size > 0 && baseOfFileName(file.name) >= 0) return file.size;
  }
  return uint64_t{0};
}

MappedFileQueue::MappedFileQueue(Options options, Preparer* preparer)
    : options_(std::move(options)), preparer_(preparer) {
  if (preparer_ == nullptr || options_.access != Access::kWrite) options_.prepareAhead = 0;
  // Then what is prepared lies in two files at most.
  options_.prepareAhead = std::min(options_.prepareAhead, options_.fileSize);
  options_.reserveStep = std::max<uint64_t>(options_.reserveStep, 1);
}

MappedFileQueue::~MappedFileQueue() { stopPreparing(); }

std::string MappedFileQueue::pathOf(uint64_t base) const {
  return options_.directory + "/" + fileNameOf(base);
}

Status MappedFileQueue::notFound(uint64_t position) const {
  return Status(Code::kNotFound, "No file holds this position")
      .at(options_.directory)
      .offset(static_cast<int64_t>(position));
}

Status MappedFileQueue::scan(std::vector<Slot>* slots) const {
  if (options_.fileSize == 0) {
    return Status(Code::kInternal, "A queue of files needs a file size").at(options_.directory);
  }
  Result<std::vector<DirectoryEntry>> entries = list(options_.directory);
  if (!entries.ok()) {
    return entries.status().code() == Code::kNotFound ? Status() : entries.takeStatus();
  }
  Status odd;                              // the first file that does not fit
  const DirectoryEntry* hollow = nullptr;  // the first empty one that no full one has followed yet
  const auto misfit = [&](const DirectoryEntry& entry, const std::string& what) {
    if (odd.ok()) odd = Status(Code::kFileSize, what).at(options_.directory + "/" + entry.name);
  };
  for (const DirectoryEntry& entry : *entries) {
    const int64_t base = baseOfFileName(entry.name);
    if (base < 0 || entry.isDirectory) continue;
    if (entry.size == 0) {
      if (hollow == nullptr) hollow = &entry;
      continue;
    }
    if (hollow != nullptr) misfit(*hollow, "The file is empty although later files are not");
    hollow = nullptr;
    if (entry.size != options_.fileSize) {
      misfit(entry, "The file has " + std::to_string(entry.size) + " bytes instead of " +
                        std::to_string(options_.fileSize));
    } else if (static_cast<uint64_t>(base) % options_.fileSize != 0) {
      misfit(entry, "The file's name is not a multiple of its length, " +
                        std::to_string(options_.fileSize));
    } else {
      slots->push_back({static_cast<uint64_t>(base), nullptr, 0});
    }
  }
  return odd;
}

Status MappedFileQueue::load() {
  stopPreparing();
  forgetWriting();
  std::vector<Slot> slots;
  Status status = scan(&slots);
  const std::lock_guard<std::mutex> lock(lock_);
  slots_.swap(slots);
  directoryDirty_ = !slots_.empty();  // a process that was killed may not have synced their names
  return status;
}

void MappedFileQueue::doubtDirectory() {
  const std::lock_guard<std::mutex> lock(lock_);
  parentsDirty_ = directoryDirty_;
}

Status MappedFileQueue::reload() {
  std::vector<Slot> slots;
  Status status = scan(&slots);
  if (!status.ok() && status.code() != Code::kFileSize) return status;
  const std::lock_guard<std::mutex> lock(lock_);
  auto known = slots_.begin();
  for (Slot& slot : slots) {
    while (known != slots_.end() && known->base < slot.base) ++known;
    if (known == slots_.end() || known->base != slot.base || !known->file) continue;
    if (known->file->isUnlinked()) continue;  // the name leads to another file now
    slot.file = std::move(known->file);
    slot.lastUse = known->lastUse;
  }
  slots_.swap(slots);
  return status;
}

bool MappedFileQueue::lastIsGone() const {
  const std::lock_guard<std::mutex> lock(lock_);
  return !slots_.empty() && slots_.back().file && slots_.back().file->isUnlinked();
}

bool MappedFileQueue::empty() const {
  const std::lock_guard<std::mutex> lock(lock_);
  return slots_.empty();
}

std::vector<uint64_t> MappedFileQueue::bases() const {
  const std::lock_guard<std::mutex> lock(lock_);
  std::vector<uint64_t> bases;
  bases.reserve(slots_.size());
  for (const Slot& slot : slots_) bases.push_back(slot.base);
  return bases;
}

uint64_t MappedFileQueue::firstBase() const {
  const std::lock_guard<std::mutex> lock(lock_);
  return slots_.empty() ? 0 : slots_.front().base;
}

uint64_t MappedFileQueue::endOfFiles() const {
  const std::lock_guard<std::mutex> lock(lock_);
  return endOfSlots();
}

uint64_t MappedFileQueue::endOfSlots() const {
  return slots_.empty() ? 0 : slots_.back().base + options_.fileSize;
}

const MappedFileQueue::Slot* MappedFileQueue::slotAt(uint64_t position) const {
  auto after = std::upper_bound(slots_.begin(), slots_.end(), position,
                                [](uint64_t at, const Slot& slot) { return at < slot.base; });
  if (after == slots_.begin()) return nullptr;
  const Slot& slot = *std::prev(after);
  return position - slot.base < options_.fileSize ? &slot : nullptr;
}

Result<MappedFileQueue::FilePointer> MappedFileQueue::openSlot(const Slot& slot,
                                                               FilePointer* evicted) const {
  slot.lastUse = ++useClock_;
  if (slot.file) return slot.file;
  Result<FilePointer> opened = MappedFile::open(pathOf(slot.base), slot.base, options_.fileSize,
                                                options_.access, options_.readMode);
  if (!opened.ok()) return opened;
  slot.file = *opened;
  if (options_.singlePages) slot.file->expectRandom();
  *evicted = evict();
  return opened;
}

MappedFileQueue::FilePointer MappedFileQueue::evict() const {
  size_t open = 0;
  const Slot* oldest = nullptr;
  for (const Slot& slot : slots_) {
    if (!slot.file || &slot == &slots_.back() || slot.file == writing_) continue;
    ++open;
    if (oldest == nullptr || slot.lastUse < oldest->lastUse) oldest = &slot;
  }
  return open > options_.maxOpenFiles ? std::move(oldest->file) : nullptr;
}

Result<MappedFileQueue::Pinned> MappedFileQueue::read(uint64_t position, size_t length,
                                                      ReadBuffer& buffer) const {
  Pinned pinned;
  FilePointer evicted;
  {
    const std::lock_guard<std::mutex> lock(lock_);
    const Slot* slot = slotAt(position);
    if (slot == nullptr) return notFound(position);
    Result<FilePointer> file = openSlot(*slot, &evicted);
    if (!file.ok()) return file.takeStatus();
    pinned.file = file.take();
  }
  Result<const uint8_t*> data = pinned.file->read(position - pinned.file->base(), length, buffer);
  if (!data.ok()) return data.takeStatus();
  pinned.data = *data;
  return pinned;
}

std::shared_ptr<MappedFile> MappedFileQueue::fileAt(uint64_t position) const {
  FilePointer evicted;
  const std::lock_guard<std::mutex> lock(lock_);
  const Slot* slot = slotAt(position);
  if (slot == nullptr) return nullptr;
  Result<FilePointer> file = openSlot(*slot, &evicted);
  return file.ok() ? file.take() : nullptr;
}

Status MappedFileQueue::sync(uint64_t from, uint64_t to) {
  for (uint64_t at = from; at < to;) {
    FilePointer file;
    FilePointer evicted;
    {
      const std::lock_guard<std::mutex> lock(lock_);
      auto slot = std::find_if(slots_.rbegin(), slots_.rend(), [&](const Slot& candidate) {
                    return candidate.base <= at;
                  }).base();  // the first behind `at`
      if (slot != slots_.begin() && at - std::prev(slot)->base < options_.fileSize) --slot;
      if (slot == slots_.end() || slot->base >= to) break;
      Result<FilePointer> opened = openSlot(*slot, &evicted);
      if (!opened.ok()) return opened.takeStatus();
      file = opened.take();
    }
    const uint64_t end = std::min(to - file->base(), file->size());
    LMQ_TRY(file->sync(std::max(at, file->base()) - file->base(), end));
    at = file->base() + end;
  }
  bool parents = false;
  {
    const std::lock_guard<std::mutex> lock(lock_);
    if (!directoryDirty_) return {};
    directoryDirty_ = false;  // a file that is made from here on counts for the next call
    parents = std::exchange(parentsDirty_, false);
  }
  Status status = syncDirectory(options_.directory);
  // A queue's directory is made with that of its topic.
  if (status.ok() && parents) status = syncDirectory(options_.directory + "/..");
  if (status.ok() && parents) status = syncDirectory(options_.directory + "/../..");
  if (!status.ok()) {
    const std::lock_guard<std::mutex> lock(lock_);
    directoryDirty_ = true;
    parentsDirty_ = parentsDirty_ || parents;
  }
  return status;
}

Status MappedFileQueue::removeLast() {
  FilePointer dropped;  // unmapped after the lock
  const std::lock_guard<std::mutex> lock(lock_);
  LMQ_TRY(removeFile(pathOf(slots_.back().base)));
  dropped = std::move(slots_.back().file);
  slots_.pop_back();
  return {};
}

Status MappedFileQueue::truncate(uint64_t position) {
  stopPreparing();
  forgetWriting();
  bool removed = false;
  while (!empty() && endOfFiles() - options_.fileSize > position) {
    LMQ_TRY(removeLast());
    removed = true;
  }
  // Before the zeros: a power cut in between then leaves a torn tail, the other way round it would
  // leave whole files behind an empty stretch.
  if (removed) LMQ_TRY(syncDirectory(options_.directory));
  FilePointer file;
  FilePointer evicted;
  {
    const std::lock_guard<std::mutex> lock(lock_);
    const Slot* slot = slotAt(position);
    if (slot == nullptr) return {};
    Result<FilePointer> opened = openSlot(*slot, &evicted);
    if (!opened.ok()) return opened.takeStatus();
    file = opened.take();
  }
  return file->zero(position - file->base(), file->size());
}

void MappedFileQueue::detachBefore(uint64_t position) {
  const std::lock_guard<std::mutex> lock(lock_);
  auto end = slots_.begin();
  while (slots_.end() - end > 1 && end->base + options_.fileSize <= position) ++end;
  if (end == slots_.begin()) return;
  if (other_ && other_->base() < end->base) other_.reset();
  detached_.insert(detached_.end(), std::make_move_iterator(slots_.begin()),
                   std::make_move_iterator(end));
  slots_.erase(slots_.begin(), end);
}

Status MappedFileQueue::removeDetached() {
  for (;;) {
    std::string path;
    {
      const std::lock_guard<std::mutex> lock(lock_);
      if (detached_.empty()) return {};
      path = pathOf(detached_.front().base);
    }
    LMQ_TRY(removeFile(path));  // may take long; readers that have it open keep it
    LMQ_TRY(syncDirectory(options_.directory));
    FilePointer dropped;  // unmapped after the lock
    const std::lock_guard<std::mutex> lock(lock_);
    dropped = std::move(detached_.front().file);
    detached_.erase(detached_.begin());
  }
}

Status MappedFileQueue::removeAll() {
  stopPreparing();
  forgetWriting();
  if (empty()) return {};
  while (!empty()) LMQ_TRY(removeLast());
  return syncDirectory(options_.directory);
}

}  // namespace lmq
