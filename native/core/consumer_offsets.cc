#include "consumer_offsets.h"

#include <algorithm>

namespace lmq {

namespace {

// Two names and an offset.
constexpr size_t kMostOfCommit = 3 * OffsetRecord::kMaxSize;

// Sets the pair in a table, where the names may be new.
bool setByName(ConsumerOffsetTable& table, std::string_view group, std::string_view topic,
               int32_t queueId, int64_t offset) {
  const auto numberOf = [&table](std::string_view name) {
    const uint32_t known = table.findName(name);
    if (known != ConsumerOffsetTable::kNone) return known;
    const uint32_t number = table.nextNumber();
    return table.define(number, name) ? number : ConsumerOffsetTable::kNone;
  };
  const uint32_t groupNumber = numberOf(group);
  return table.set(groupNumber, numberOf(topic), queueId, offset);
}

int64_t findByName(const ConsumerOffsetTable& table, std::string_view group, std::string_view topic,
                   int32_t queueId) {
  const uint32_t groupNumber = table.findName(group);
  if (groupNumber == ConsumerOffsetTable::kNone) return -1;
  const uint32_t topicNumber = table.findName(topic);
  if (topicNumber == ConsumerOffsetTable::kNone) return -1;
  return table.find(groupNumber, topicNumber, queueId);
}

bool isName(std::string_view name) {
  return !name.empty() && name.size() <= OffsetRecord::kMaxName;
}

}  // namespace

ConsumerOffsets::ConsumerOffsets(Options options) : options_(std::move(options)) {}

void ConsumerOffsets::forget() {
  table_ = ConsumerOffsetTable();
  own_ = ConsumerOffsetTable();
  std::fill(sources_, sources_ + kSources, 0);
  end_ = 0;
}

bool ConsumerOffsets::apply(const OffsetRecord& record) {
  switch (record.kind) {
    case OffsetRecord::kName:
      return table_.define(record.number, record.name) ||
             table_.redefine(record.number, record.name, end_ / OffsetRecord::kHeaderSize);
    case OffsetRecord::kOffset:
      return table_.set(record.number, record.topic, record.queueId, record.offset);
    case OffsetRecord::kRemoved:
      table_.remove(record.topic, record.queueId);
      return true;
    case OffsetRecord::kSource:
      if (record.number >= kSources) return false;
      sources_[record.number] = record.offset;
      return true;
  }
  return false;
}

Status ConsumerOffsets::scan(bool pastDamage, std::vector<Status>* notes) {
  Result<uint64_t> size = read_.size();
  if (!size.ok()) return size.takeStatus();
  OffsetScan scan(read_, *size);
  scan.seek(end_);
  OffsetRecord record;
  const auto damage = [&](uint64_t at) {
    torn_ = true;
    notes->push_back(Status(Code::kCorruptFile,
                            "The log of consumer offsets is damaged; offsets may be older than "
                            "what was committed.")
                         .at(path())
                         .offset(static_cast<int64_t>(at)));
  };
  bool reported = false;  // one note is enough
  for (;;) {
    Result<bool> found = scan.next(&record);
    if (!found.ok()) return found.takeStatus();
    if (*found) {
      if (!pastDamage) own_ = ConsumerOffsetTable();  // the writer knows better
      const uint64_t at = end_;
      end_ = scan.position();
      if (!apply(record) && pastDamage && !reported) {
        damage(at);
        reported = true;
      }
      continue;
    }
    if (!pastDamage) return {};
    Result<bool> more = scan.passDamage();
    if (!more.ok()) return more.takeStatus();
    if (!*more) break;
    if (!reported) damage(end_);
    reported = true;
  }
  scan.seek(end_);
  Result<bool> clean = scan.endsHere();
  if (!clean.ok()) return clean.takeStatus();
  torn_ = torn_ || !*clean;
  return {};
}

Status ConsumerOffsets::load(std::vector<Status>* notes) {
  const std::unique_lock<std::mutex> guard(lock_);
  Result<FileInfo> info = inspect(path());
  if (!info.ok()) return info.takeStatus();
  if (!info->exists) return {};
  Result<File> file = File::open(path(), Access::kReadQuietly);
  if (!file.ok()) return file.takeStatus();
  read_ = file.take();
  LMQ_TRY(scan(true, notes));
  if (!isWritable()) return {};
  const Result<uint64_t> size = read_.size();
  if (!size.ok()) return size.status();
  read_ = File();
  synced_ = end_;
  // A log that is not in order is written anew before anything is added to it.
  if (torn_ || *size < end_ + OffsetRecord::kMaxSize) {
    torn_ = true;
    return {};
  }
  Result<std::shared_ptr<MappedFile>> opened =
      MappedFile::open(path(), 0, *size, Access::kWrite, ReadMode::kMap);
  if (!opened.ok()) return opened.takeStatus();
  file_ = opened.take();
  synced_ = 0;  // whoever wrote it may not have synced
  return {};
}

Status ConsumerOffsets::refresh() {
  const std::unique_lock<std::mutex> guard(lock_);
  if (isWritable()) return {};
  if (!read_.isOpen() || read_.isUnlinked()) {
    const Result<FileInfo> info = inspect(path());
    if (!info.ok()) return info.status();
    if (!(*info).exists) return {};
    Result<File> file = File::open(path(), Access::kReadQuietly);
    if (!file.ok()) return file.takeStatus();
    read_ = file.take();
    forget();
  }
  return scan(false, nullptr);
}

int64_t ConsumerOffsets::committed(std::string_view group, std::string_view topic,
                                   int32_t queueId) const {
  const std::unique_lock<std::mutex> guard(lock_);
  const int64_t own = own_.pairCount() == 0 ? -1 : findByName(own_, group, topic, queueId);
  return own >= 0 ? own : findByName(table_, group, topic, queueId);
}

Status ConsumerOffsets::commit(std::string_view group, std::string_view topic, int32_t queueId,
                               int64_t offset) {
  if (!isName(group) || !isName(topic) || queueId < 0 || offset < 0) {
    return Status(Code::kInvalidArgument, "An offset needs a group and a queue of 1 to 255 bytes.");
  }
  std::unique_lock<std::mutex> guard(lock_);
  if (!isWritable()) {
    if (setByName(own_, group, topic, queueId, offset)) return {};
    return Status(Code::kLimit, "There are too many consumer offsets.").at(path());
  }
  LMQ_TRY(makeRoom(guard, kMostOfCommit));
  OffsetRecord record;
  LMQ_TRY(nameNumber(group, &record.number));
  LMQ_TRY(nameNumber(topic, &record.topic));
  record.queueId = queueId;
  record.offset = offset;
  return write(record);
}

Status ConsumerOffsets::removeQueue(std::string_view topic, int32_t queueId) {
  std::unique_lock<std::mutex> guard(lock_);
  if (!isWritable()) return Status(Code::kReadOnly, "The offsets are read.").at(path());
  OffsetRecord record;
  record.kind = OffsetRecord::kRemoved;
  record.topic = table_.findName(topic);
  record.queueId = queueId;
  if (record.topic == ConsumerOffsetTable::kNone) return {};
  LMQ_TRY(makeRoom(guard, OffsetRecord::kMaxSize));
  return write(record);
}

std::vector<std::string> ConsumerOffsets::groups() const {
  const std::unique_lock<std::mutex> guard(lock_);
  std::vector<std::string> groups;
  for (const ConsumerOffsetTable* table : {&table_, &own_}) {
    for (uint32_t number = 0; number < table->nameCount(); ++number) {
      if (table->isGroup(number)) groups.emplace_back(table->name(number));
    }
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

bool ConsumerOffsets::list(uint64_t* cursor, size_t limit, std::vector<Offset>* out) const {
  const std::unique_lock<std::mutex> guard(lock_);
  const uint64_t count = own_.pairCount() + table_.pairCount();
  for (; *cursor < count && out->size() < limit; ++*cursor) {
    const bool isOwn = *cursor < own_.pairCount();
    const ConsumerOffsetTable& table = isOwn ? own_ : table_;
    const auto& pair =
        table.pair(static_cast<size_t>(isOwn ? *cursor : *cursor - own_.pairCount()));
    if (pair.group == ConsumerOffsetTable::kNone) continue;
    const std::string_view group = table.name(pair.group);
    const std::string_view topic = table.name(pair.topic);
    if (!isOwn && own_.pairCount() > 0 && findByName(own_, group, topic, pair.queueId) >= 0)
      continue;
    out->push_back({std::string(group), std::string(topic), pair.queueId, pair.offset});
  }
  return *cursor < count;
}

ConsumerOffsetTable ConsumerOffsets::table() const {
  const std::unique_lock<std::mutex> guard(lock_);
  ConsumerOffsetTable table = table_;
  for (size_t i = 0; i < own_.pairCount(); ++i) {
    const ConsumerOffsetTable::Pair& pair = own_.pair(i);
    if (pair.group == ConsumerOffsetTable::kNone) continue;
    setByName(table, own_.name(pair.group), own_.name(pair.topic), pair.queueId, pair.offset);
  }
  return table;
}

int64_t ConsumerOffsets::source(size_t number) const {
  const std::unique_lock<std::mutex> guard(lock_);
  return number < kSources ? sources_[number] : 0;
}

Status ConsumerOffsets::noteSource(size_t number, int64_t stamp) {
  std::unique_lock<std::mutex> guard(lock_);
  if (number >= kSources || stamp < 0) {
    return Status(Code::kInternal, "There is no such file of consumer offsets.");
  }
  if (!isWritable() || sources_[number] == stamp) return {};
  LMQ_TRY(makeRoom(guard, OffsetRecord::kMaxSize));
  OffsetRecord record;
  record.kind = OffsetRecord::kSource;
  record.number = static_cast<uint32_t>(number);
  record.offset = stamp;
  return write(record);
}

Status ConsumerOffsets::nameNumber(std::string_view name, uint32_t* number) {
  *number = table_.findName(name);
  if (*number != ConsumerOffsetTable::kNone) return {};
  OffsetRecord record;
  record.kind = OffsetRecord::kName;
  record.number = *number = table_.nextNumber();
  record.name = name;
  return write(record);
}

}  // namespace lmq
