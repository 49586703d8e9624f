#include "key_index.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <limits>
#include <utility>

namespace lmq {

namespace {

constexpr size_t kNameSize = 17;

std::atomic<uint64_t> workFileNumber{0};

bool isName(const std::string& name) {
  return name.size() == kNameSize && name.find_first_not_of("0123456789") == std::string::npos;
}

// yyyyMMddHHmmssSSS in local time, later than every name there is.
std::string nameAfter(const std::string& before) {
  const int64_t now = wallClockMillis();
  const std::time_t seconds = static_cast<std::time_t>(now / 1000);
  std::tm parts = {};
  ::localtime_r(&seconds, &parts);
  const int64_t fields[] = {parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                            parts.tm_hour,        parts.tm_min,     parts.tm_sec};
  int64_t number = 0;
  for (const int64_t field : fields) number = number * 100 + field;
  number = number * 1000 + now % 1000;
  if (!before.empty()) number = std::max<int64_t>(number, std::stoll(before) + 1);
  std::string name = std::to_string(number);
  return std::string(kNameSize - std::min(kNameSize, name.size()), '0') + name;
}

// A key is hashed behind its topic and this; tags, which are one key whatever they hold, have a
// mark of their own.
constexpr std::string_view kBeforeKey = "#";
constexpr std::string_view kBeforeTags = "#T#";

// Java's absolute value of the smallest integer is itself; RocketMQ takes 0 then (spec Q30).
int32_t positive(int32_t hash) {
  return hash == std::numeric_limits<int32_t>::min() ? 0 : hash < 0 ? -hash : hash;
}

}  // namespace

KeyIndex::KeyIndex(Options options, Preparer* preparer)
    : options_(std::move(options)), preparer_(preparer) {}

KeyIndex::~KeyIndex() {
  if (preparer_ != nullptr) preparer_->cancel(this);
  for (const auto& file : ready_) (void)file->remove();
}

int32_t KeyIndex::hashOf(std::string_view topic, std::string_view key) {
  return positive(record::javaHash(key, record::javaHash(kBeforeKey, record::javaHash(topic))));
}

Status KeyIndex::scan(std::vector<Slot>* slots) const {
  const Result<FileInfo> info = inspect(options_.directory);
  if (!info.ok()) return info.status();
  if (!(*info).exists) return {};
  const Result<std::vector<DirectoryEntry>> entries = list(options_.directory);
  if (!entries.ok()) return entries.status();
  for (const DirectoryEntry& entry : *entries) {
    if (entry.isDirectory || !isName(entry.name)) continue;
    Slot slot{entry.name, std::nullopt, entry.size};
    for (const KeyIndexShape& shape : options_.shapes) {
      if (!slot.shape && shape.fileSize() == entry.size) slot.shape = shape;
    }
    slots->push_back(std::move(slot));
  }
  return {};
}

Result<std::optional<KeyIndexShape>> KeyIndex::findShape(const std::string& directory,
                                                         const std::vector<KeyIndexShape>& shapes) {
  Options options;
  options.directory = directory;
  options.shapes = shapes;
  std::vector<Slot> slots;
  LMQ_TRY(KeyIndex(std::move(options), nullptr).scan(&slots));
  std::optional<KeyIndexShape> found;
  for (const Slot& slot : slots) {
    if (slot.shape) found = slot.shape;
  }
  return found;
}

Result<std::shared_ptr<KeyIndexFile>> KeyIndex::open(const Slot& slot) const {
  if (last_ != nullptr && last_->path() == pathOf(slot.name)) return last_;
  return KeyIndexFile::open(pathOf(slot.name), *slot.shape, options_.access, options_.readMode);
}

// The newest file, if it can be continued.
Status KeyIndex::openLast() {
  last_ = nullptr;
  room_ = 0;
  lastOffset_ = -1;
  fullTimestamp_ = 0;
  for (size_t index = slots_.size(); index-- > 0;) {
    if (!slots_[index].shape) continue;
    const Result<std::shared_ptr<KeyIndexFile>> opened = open(slots_[index]);
    if (!opened.ok()) return opened.status();
    const KeyIndexFile::Header& header = (*opened)->header();
    const bool hasEntries = (*opened)->hasEntries();
    if (index + 1 == slots_.size() && *slots_[index].shape == options_.shape) last_ = *opened;
    if (hasEntries) lastOffset_ = std::max(lastOffset_, header.endPhyOffset);
    if ((*opened)->left() <= 0) fullTimestamp_ = std::max(fullTimestamp_, header.endTimestamp);
    // One file without entries may lie behind the last that has some, and one before it that is
    // full.
    if (fullTimestamp_ > 0 || index + 2 < slots_.size()) break;
  }
  return {};
}

Status KeyIndex::load(std::vector<Status>* odd) {
  slots_.clear();
  full_.clear();
  searched_ = nullptr;
  LMQ_TRY(scan(&slots_));
  for (const Slot& slot : slots_) {
    if (slot.shape) continue;
    odd->push_back(Status(Code::kFileSize,
                          "The length of the key index file fits no number of "
                          "slots and entries that is known; it is left alone.")
                       .at(pathOf(slot.name))
                       .offset(static_cast<int64_t>(slot.size)));
  }
  return openLast();
}

Status KeyIndex::restore(int64_t position, const KeyIndexFile::TimeOf& timeOf) {
  for (size_t index = slots_.size(); index-- > 0;) {
    const Slot slot = slots_[index];
    if (!slot.shape) continue;
    Result<std::shared_ptr<KeyIndexFile>> file = open(slot);
    if (!file.ok()) return file.takeStatus();
    LMQ_TRY((*file)->restore(position, timeOf));
    if ((*file)->hasEntries()) break;
    LMQ_TRY((*file)->remove());
    directoryDirty_ = true;
    slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  if (directoryDirty_) LMQ_TRY(syncDirectory(options_.directory));
  directoryDirty_ = !slots_.empty();  // names of files may be in memory only
  return openLast();
}

Status KeyIndex::removeAll() {
  last_ = searched_ = nullptr;
  for (const Slot& slot : slots_) LMQ_TRY(removeFile(pathOf(slot.name)));
  if (!slots_.empty()) LMQ_TRY(syncDirectory(options_.directory));
  slots_.clear();
  return openLast();
}

Result<bool> KeyIndex::refresh() {
  std::vector<Slot> slots;
  LMQ_TRY(scan(&slots));
  const auto same = [](const Slot& a, const Slot& b) {
    return a.name == b.name && a.size == b.size;
  };
  const bool changed = !std::equal(slots.begin(), slots.end(), slots_.begin(), slots_.end(), same);
  slots_ = std::move(slots);
  if (changed) searched_ = nullptr;
  const int64_t before = lastOffset_;
  LMQ_TRY(openLast());
  return changed || lastOffset_ != before;
}

Status KeyIndex::detachBefore(int64_t logMin) {
  size_t count = 0;
  Status status;
  for (; count + 1 < slots_.size() && slots_[count].shape; ++count) {
    const Result<KeyIndexFile::Header> header =
        KeyIndexFile::readHeader(pathOf(slots_[count].name));
    if (!header.ok()) status = header.status();
    if (!header.ok() || (*header).endPhyOffset >= logMin) break;
    detached_.push_back(pathOf(slots_[count].name));
  }
  if (count == 0) return status;
  searched_ = nullptr;
  std::erase_if(full_, [this](const auto& file) {
    return std::find(detached_.begin(), detached_.end(), file->path()) != detached_.end();
  });
  slots_.erase(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(count));
  return status;
}

Status KeyIndex::removeDetached() {
  for (; !detached_.empty(); detached_.pop_front()) {
    LMQ_TRY(removeFile(detached_.front()));
    LMQ_TRY(syncDirectory(options_.directory));
  }
  return {};
}

Result<std::shared_ptr<KeyIndexFile>> KeyIndex::makeFile() const {
  const std::string path = options_.workDirectory + "/index." +
                           std::to_string(workFileNumber.fetch_add(1, std::memory_order_relaxed));
  return KeyIndexFile::make(path, options_.shape, options_.readMode);
}

Status KeyIndex::reserveRoom(int64_t count) {
  int64_t left = last_ == nullptr ? 0 : last_->left();
  if (left > 0) LMQ_TRY(last_->reserve(std::min(count, left)));
  if (left >= count) {
    room_ = last_->room();
    askToPrepare();
    askForNext();
    return {};
  }
  const std::lock_guard<std::mutex> guard(readyLock_);
  for (size_t index = 0; left < count; ++index) {
    if (index == ready_.size()) {
      Result<std::shared_ptr<KeyIndexFile>> made = makeFile();
      if (!made.ok()) return made.takeStatus();
      ready_.push_back(made.take());
    }
    KeyIndexFile& file = *ready_[index];
    if (file.left() <= 0) return Status(Code::kInternal, "A file of the key index has no room.");
    LMQ_TRY(file.reserve(std::min(count - left, file.left())));
    left += file.left();
  }
  room_ = count;
  return {};
}

// Room is made in steps; who asks for the next one when this one begins finds its pages there.
void KeyIndex::askForNext() {
  if (preparer_ == nullptr) return;
  (void)preparer_->post(this, [file = last_] { (void)file->prepareNext(); });
}

void KeyIndex::askToPrepare() {
  if (preparer_ == nullptr || last_->left() > options_.shape.entries / 4) return;
  {
    const std::lock_guard<std::mutex> guard(readyLock_);
    if (preparing_ || !ready_.empty()) return;
    preparing_ = true;
  }
  // What fails here, such as a full disk, the writer meets when it gets there.
  const bool posted = preparer_->post(this, [this] {
    Result<std::shared_ptr<KeyIndexFile>> made = makeFile();
    if (made.ok()) (void)(*made)->prepare();
    const std::lock_guard<std::mutex> guard(readyLock_);
    if (made.ok()) ready_.push_back(made.take());
    preparing_ = false;
  });
  if (posted) return;
  const std::lock_guard<std::mutex> guard(readyLock_);
  preparing_ = false;
}

Status KeyIndex::roll() {
  std::shared_ptr<KeyIndexFile> file;
  {
    const std::lock_guard<std::mutex> guard(readyLock_);
    if (ready_.empty()) {
      return Status(Code::kInternal, "No room was reserved for a key.").at(options_.directory);
    }
    file = ready_.front();
  }
  KeyIndexFile::Header before;
  if (last_ != nullptr) before = last_->header();
  const std::string name = nameAfter(slots_.empty() ? std::string() : slots_.back().name);
  Status status = file->publish(pathOf(name), before);
  if (status.code() == Code::kNotFound) {
    LMQ_TRY(makeDirectories(options_.directory, false));
    status = file->publish(pathOf(name), before);
  }
  LMQ_TRY(std::move(status));
  directoryDirty_ = true;
  if (last_ != nullptr) {
    fullTimestamp_ = before.endTimestamp;
    full_.push_back(last_);
  }
  slots_.push_back({name, options_.shape, options_.shape.fileSize()});
  last_ = file;
  const std::lock_guard<std::mutex> guard(readyLock_);
  ready_.pop_front();
  return {};
}

Status KeyIndex::put(int32_t hash, int64_t physicalOffset, int64_t timestamp) {
  if (last_ == nullptr || last_->left() <= 0) LMQ_TRY(roll());
  LMQ_TRY(last_->put(hash, physicalOffset, timestamp));
  --room_;
  lastOffset_ = physicalOffset;
  return {};
}

Status KeyIndex::add(int32_t topicHash, const Keys& keys, int64_t physicalOffset,
                     int64_t timestamp) {
  if (physicalOffset < lastOffset_) return {};
  size_t known = 0;
  if (physicalOffset == lastOffset_) {
    const Result<size_t> there = entriesOf(physicalOffset);
    if (!there.ok()) return there.status();
    known = *there;
  }
  const auto one = [&](std::string_view key, std::string_view before) -> Status {
    if (known > 0) {
      --known;
      return {};
    }
    const int32_t hash = record::javaHash(key, record::javaHash(before, topicHash));
    return put(positive(hash), physicalOffset, timestamp);
  };
  if (!keys.unique.empty()) LMQ_TRY(one(keys.unique, kBeforeKey));
  std::string_view rest = keys.list;
  while (!rest.empty()) {
    const std::string_view key = record::cutKey(&rest);
    if (!key.empty()) LMQ_TRY(one(key, kBeforeKey));
  }
  return keys.tags.empty() ? Status() : one(keys.tags, kBeforeTags);
}

Result<size_t> KeyIndex::entriesOf(int64_t physicalOffset) const {
  size_t count = 0;
  for (size_t index = slots_.size(); index-- > 0;) {
    if (!slots_[index].shape) continue;
    const Result<std::shared_ptr<KeyIndexFile>> file = open(slots_[index]);
    if (!file.ok()) return file.status();
    for (int64_t number = (*file)->header().next - 1; number >= 1; --number) {
      const Result<KeyIndexFile::Entry> entry = (*file)->entry(number);
      if (!entry.ok()) return entry.status();
      if ((*entry).physicalOffset != physicalOffset) return count;
      ++count;
    }
  }
  return count;
}

KeyIndex::Unsynced KeyIndex::unsynced() {
  const auto synced = [](const auto& file) { return file->syncedNext == file->header().next; };
  std::erase_if(full_, synced);
  Unsynced what;
  what.files = full_;
  if (last_ != nullptr && !synced(last_)) what.files.push_back(last_);
  for (const auto& file : what.files) what.next.push_back(file->header().next);
  what.directory = std::exchange(directoryDirty_, false);
  what.fullTimestamp = fullTimestamp_;
  what.lastOffset = lastOffset_;
  return what;
}

Status KeyIndex::sync(const Unsynced& what) {
  for (size_t i = 0; i < what.files.size(); ++i) {
    LMQ_TRY(what.files[i]->sync());
    what.files[i]->syncedNext = what.next[i];
  }
  if (!what.directory) return {};
  LMQ_TRY(syncDirectory(options_.directory));
  const size_t slash = options_.directory.rfind('/');
  return slash == std::string::npos ? Status() : syncDirectory(options_.directory.substr(0, slash));
}

}  // namespace lmq
