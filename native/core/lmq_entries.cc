#include "lmq_entries.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "bytes.h"

namespace lmq {

namespace {

constexpr uint64_t kSize = LmqEntry::kSize;
constexpr uint64_t kEntriesPerChunk = 16 * 1024;

// Of the skew-binary form.
uint64_t smallestTerm(uint64_t value) {
  uint64_t term = 0;
  while (value > 0) {
    term = std::bit_floor(value + 1) - 1;
    value -= term;
  }
  return term;
}

}  // namespace

LmqEntries::LmqEntries(MappedFileQueue::Options files, bool inMemory, Preparer* preparer)
    : inMemory_(inMemory),
      maps_(!inMemory && files.readMode == ReadMode::kMap),
      files_(std::move(files), inMemory ? nullptr : preparer) {}

Status LmqEntries::load() {
  count_ = 0;
  forgetFiles();
  chunks_.clear();
  return inMemory_ ? Status() : files_.load();
}

Status LmqEntries::reload() {
  forgetFiles();
  return inMemory_ ? Status() : files_.reload();
}

Status LmqEntries::truncate() {
  forgetFiles();
  return inMemory_ ? Status() : files_.truncate(count_ * kSize);
}

Status LmqEntries::removeAll() {
  count_ = 0;
  forgetFiles();
  chunks_.clear();
  return inMemory_ ? Status() : files_.removeAll();
}

Status LmqEntries::sync(uint64_t from, uint64_t to) {
  return inMemory_ ? Status() : files_.sync(from * kSize, to * kSize);
}

Status LmqEntries::reserve(uint64_t more) {
  if (more == 0) return {};
  if (more > LmqEntry::kMaxNumber - count_) {
    return Status(Code::kLimit, "The light-queue index has reached its number of entries")
        .at(files_.directory())
        .limit(static_cast<int64_t>(LmqEntry::kMaxNumber));
  }
  if (inMemory_) {
    try {
      while (chunks_.size() * kEntriesPerChunk < count_ + more) {
        chunks_.emplace_back(new uint8_t[kEntriesPerChunk * kSize]);
      }
    } catch (const std::bad_alloc&) {
      return Status(Code::kNoMemory, "No memory for entries of light queues");
    }
    return {};
  }
  uint64_t at = count_ * kSize;
  const uint64_t end = at + more * kSize;
  while (at < end) {
    const uint64_t part = std::min(end - at, LmqEntry::kFileSize - at % LmqEntry::kFileSize);
    LMQ_TRY(files_.reserve(at, part));
    at += part;
  }
  return {};
}

Status LmqEntries::append(const LmqEntry& entry) {
  uint32_t checksum;
  if (inMemory_) {
    if (count_ / kEntriesPerChunk >= chunks_.size()) {
      return Status(Code::kInternal, "An entry of a light queue without room");
    }
    uint8_t* at = &chunks_[count_ / kEntriesPerChunk][count_ % kEntriesPerChunk * kSize];
    entry.encode(at, &checksum);
    store<uint32_t>(at, checksum);
  } else {
    const uint64_t at = count_ * kSize;
    uint8_t* window = files_.window(at, kSize);
    if (window == nullptr) {
      return Status(Code::kInternal, "An entry of a light queue without room")
          .at(files_.directory())
          .offset(static_cast<int64_t>(at));
    }
    entry.encode(window, &checksum);
    LMQ_TRY(files_.commit(at, kSize, window, checksum));
  }
  count_++;
  return {};
}

// A target that cannot be read is reported when it is read for its own sake; until then a link to
// the skip entry before keeps the list whole.
void LmqEntries::linkSkip(uint64_t before, uint64_t newest, uint64_t jump, LmqEntry* entry) const {
  entry->kind = LmqEntry::kSkip;
  entry->skip = newest;
  if (smallestTerm(before) <= 1 || jump == 0) return;
  LmqEntry target;
  if (read(entry->queue, jump - 1, newest - 1, &target).ok()) entry->skip = target.skip;
}

void LmqEntries::forgetFiles() const {
  for (Cached& cached : cached_) cached = Cached();
}

// Within one file.
Result<const uint8_t*> LmqEntries::readFile(uint64_t at, size_t length) const {
  const uint64_t base = at - at % LmqEntry::kFileSize;
  Cached& cached = cached_[base / LmqEntry::kFileSize % kCached];
  if (cached.file == nullptr || cached.base != base) {
    cached = {files_.fileAt(base), base, nullptr};
    if (cached.file == nullptr) {
      return Status(Code::kCorruptFile, "A file of light-queue entries is missing")
          .at(files_.directory())
          .offset(static_cast<int64_t>(base));
    }
    if (maps_) {
      Result<const uint8_t*> all = cached.file->read(0, LmqEntry::kFileSize, buffer_);
      if (!all.ok()) return all;
      cached.mapped = *all;
    }
  }
  if (cached.mapped != nullptr) return cached.mapped + (at - base);
  return cached.file->read(at - base, length, buffer_);
}

Result<const uint8_t*> LmqEntries::bytesOf(uint64_t number) const {
  if (!inMemory_) return readFile(number * kSize, kSize);
  return static_cast<const uint8_t*>(
      &chunks_[number / kEntriesPerChunk][number % kEntriesPerChunk * kSize]);
}

Result<const uint8_t*> LmqEntries::run(uint64_t number, size_t* count) const {
  const uint64_t at = number * kSize;
  const uint64_t inFile = at % LmqEntry::kFileSize;
  const size_t wanted = *count;
  *count = 0;
  if (inMemory_ || number > LmqEntry::kMaxNumber || at - inFile >= files_.endOfFiles()) {
    return static_cast<const uint8_t*>(nullptr);
  }
  const size_t found = std::min<uint64_t>(wanted, (LmqEntry::kFileSize - inFile) / kSize);
  Result<const uint8_t*> bytes = readFile(at, found * kSize);
  if (bytes.ok()) *count = found;
  return bytes;
}

Status LmqEntries::lastChecksum(uint32_t* checksum) const {
  *checksum = 0;
  if (count_ == 0) return {};
  Result<const uint8_t*> bytes = bytesOf(count_ - 1);
  if (bytes.ok()) *checksum = lmq::load<uint32_t>(*bytes);
  return bytes.takeStatus();
}

Status LmqEntries::damaged(uint64_t number, const char* what) const {
  const uint64_t at = number * kSize;
  const uint64_t base = at - at % LmqEntry::kFileSize;
  return Status(Code::kCorruptFile, std::string("An entry of a light queue ") + what)
      .at(files_.directory() + "/" + fileNameOf(base))
      .offset(static_cast<int64_t>(at - base));
}

Status LmqEntries::read(uint64_t queue, uint64_t number, uint64_t before, LmqEntry* entry) const {
  readCount_++;
  if (number >= before || number >= count_)
    return damaged(number, "stands behind one that follows it");
  Result<const uint8_t*> bytes = bytesOf(number);
  if (!bytes.ok()) return bytes.takeStatus();
  if (!entry->decode(*bytes)) return damaged(number, "is damaged");
  if (entry->queue != queue) return damaged(number, "belongs to another queue");
  // Links are numbers + 1: those of entry 0 are 0.
  if (entry->previous > number || entry->skip > number) return damaged(number, "links forward");
  return {};
}

}  // namespace lmq
