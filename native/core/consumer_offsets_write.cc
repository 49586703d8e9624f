// Writing the log of consumer offsets, writing it anew, and syncing it.
#include <algorithm>

#include "consumer_offsets.h"

namespace lmq {

namespace {

constexpr uint64_t kLeastSize = 1024 * 1024;
constexpr uint64_t kReserveStep = 64 * 1024;
// Of a new log's length to what it holds.
constexpr uint64_t kGrowth = 4;

// A log under construction.
struct Aside {
  std::shared_ptr<MappedFile> file;
  uint64_t end = 0;
  ReadBuffer scratch;

  ~Aside() {
    if (file != nullptr) (void)file->remove();
  }

  Status make(const std::string& path, uint64_t size) {
    Result<std::shared_ptr<MappedFile>> made = MappedFile::make(
        path, 0, (size + kReserveStep - 1) / kReserveStep * kReserveStep, ReadMode::kMap);
    if (!made.ok()) return made.takeStatus();
    file = made.take();
    return {};
  }

  Status put(const OffsetRecord& record) {
    const size_t size = record.size();
    if (end + size > file->reserved()) {
      LMQ_TRY(file->reserve(std::min(file->size(), end + size + kLeastSize)));
    }
    uint8_t* window = file->window(end, size, scratch);
    if (window == nullptr) {
      return Status(Code::kNoMemory, "No memory for consumer offsets.").at(file->path());
    }
    const uint32_t checksum = record.encode(window);
    LMQ_TRY(file->commit(end, size, window, checksum));
    end += size;
    return {};
  }
};

uint64_t sizeOf(const ConsumerOffsetTable& table) {
  return table.nameCount() * (OffsetRecord::kHeaderSize + 3) + table.liveNameBytes() +
         (table.livePairs() + ConsumerOffsets::kSources) * OffsetRecord::kHeaderSize;
}

Status putTable(const ConsumerOffsetTable& table, Aside& aside) {
  OffsetRecord record;
  record.kind = OffsetRecord::kName;
  for (uint32_t number = 0; number < table.nameCount(); ++number) {
    record.number = number;
    record.name = table.name(number);
    LMQ_TRY(aside.put(record));
  }
  for (size_t i = 0; i < table.pairCount(); ++i) {
    const ConsumerOffsetTable::Pair& pair = table.pair(i);
    if (pair.group == ConsumerOffsetTable::kNone) continue;
    record = {OffsetRecord::kOffset, pair.group, pair.topic, pair.queueId, pair.offset, {}};
    LMQ_TRY(aside.put(record));
  }
  return {};
}

// A whole log at `path`, synced.
Status writeLog(const std::string& path, uint64_t size, const ConsumerOffsetTable& table,
                const int64_t (&sources)[ConsumerOffsets::kSources], Aside& aside) {
  LMQ_TRY(aside.make(path, size));
  LMQ_TRY(putTable(table, aside));
  for (uint32_t number = 0; number < ConsumerOffsets::kSources; ++number) {
    LMQ_TRY(aside.put({OffsetRecord::kSource, number, 0, 0, sources[number], {}}));
  }
  return aside.file->sync(0, aside.end);
}

// Records [from, to) of one log, to the end of another.
Status putRecords(const MappedFile& log, uint64_t from, uint64_t to, Aside& aside) {
  ReadBuffer buffer;
  while (from < to) {
    const size_t most = static_cast<size_t>(std::min<uint64_t>(OffsetRecord::kMaxSize, to - from));
    Result<const uint8_t*> bytes = log.read(from, most, buffer);
    if (!bytes.ok()) return bytes.takeStatus();
    OffsetRecord record;
    if (!record.decode(*bytes, most)) {
      return Status(Code::kCorruptFile, "The log of consumer offsets changed while it was copied.")
          .at(log.path())
          .offset(static_cast<int64_t>(from));
    }
    LMQ_TRY(aside.put(record));
    from += record.size();
  }
  return {};
}

}  // namespace

Status ConsumerOffsets::write(const OffsetRecord& record) {
  const size_t size = record.size();
  uint8_t* window = file_->window(end_, size, scratch_);
  if (window == nullptr) return Status(Code::kNoMemory, "No memory for an offset.").at(path());
  const uint32_t checksum = record.encode(window);
  LMQ_TRY(file_->commit(end_, size, window, checksum));
  end_ += size;
  if (apply(record)) return {};
  return Status(Code::kLimit, "There are too many consumer offsets.").at(path());
}

Status ConsumerOffsets::makeRoom(std::unique_lock<std::mutex>& guard, size_t bytes) {
  while (file_ == nullptr || torn_ || file_->size() - end_ < bytes) LMQ_TRY(rewrite(guard));
  if (end_ + bytes <= file_->reserved()) return {};
  return file_->reserve(std::min(file_->size(), end_ + bytes + kReserveStep));
}

// What holds is copied under the lock and written without it; what was committed meanwhile is
// copied from log to log.
Status ConsumerOffsets::rewrite(std::unique_lock<std::mutex>& guard) {
  const std::shared_ptr<MappedFile> before = file_;
  guard.unlock();
  const std::unique_lock<std::mutex> alone(rewriteLock_);
  guard.lock();
  if (file_ != before) return {};  // another call has done it
  const ConsumerOffsetTable table = table_;
  const uint64_t from = end_;
  const uint64_t left = before == nullptr ? 0 : before->size() - end_;
  const uint64_t live = sizeOf(table);
  int64_t sources[kSources];
  std::copy(sources_, sources_ + kSources, sources);
  guard.unlock();

  Aside aside;
  const auto writeAside = [&]() -> Status {
    LMQ_TRY(makeDirectories(options_.directory));
    LMQ_TRY(makeDirectories(options_.workDirectory));
    return writeLog(options_.workDirectory + "/offsets",
                    std::max(kGrowth * live, live + left) + kLeastSize, table, sources, aside);
  };
  Status status = writeAside();
  guard.lock();
  LMQ_TRY(std::move(status));
  if (end_ > from) {
    const uint64_t done = aside.end;
    LMQ_TRY(putRecords(*before, from, end_, aside));
    LMQ_TRY(aside.file->sync(done, aside.end));
  }
  LMQ_TRY(aside.file->moveTo(path()));
  file_ = std::move(aside.file);
  end_ = synced_ = aside.end;
  torn_ = false;
  return syncDirectory(options_.directory);
}

Status ConsumerOffsets::copyTo(const std::string& directory) const {
  std::unique_lock<std::mutex> guard(lock_);
  const ConsumerOffsetTable table = table_;
  int64_t sources[kSources];
  std::copy(sources_, sources_ + kSources, sources);
  const bool empty = end_ == 0;
  guard.unlock();
  if (empty) return {};
  LMQ_TRY(makeDirectories(directory));
  Aside aside;
  LMQ_TRY(writeLog(directory + "/log", sizeOf(table) + kLeastSize, table, sources, aside));
  aside.file.reset();  // it stays
  return syncDirectory(directory);
}

bool ConsumerOffsets::isDirty() const {
  const std::unique_lock<std::mutex> guard(lock_);
  return isWritable() && (torn_ || synced_ < end_);
}

Status ConsumerOffsets::sync() {
  std::unique_lock<std::mutex> guard(lock_);
  if (!isWritable()) return {};
  // Most of the log is used: written anew here, no commit has to wait for it.
  const bool fills = file_ != nullptr && end_ > file_->size() / 4 * 3;
  if (torn_ || fills) return rewrite(guard);
  if (file_ == nullptr || synced_ == end_) return {};
  const std::shared_ptr<MappedFile> file = file_;
  const uint64_t from = synced_;
  const uint64_t to = end_;
  guard.unlock();
  LMQ_TRY(file->sync(from, to));
  if (from == 0) LMQ_TRY(syncDirectory(options_.directory));  // whoever made it may not have
  guard.lock();
  if (file_ == file) synced_ = std::max(synced_, to);
  return {};
}

}  // namespace lmq
