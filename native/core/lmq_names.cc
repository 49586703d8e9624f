#include "lmq_names.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "bytes.h"
#include "crc32.h"

namespace lmq {

namespace {

constexpr uint32_t kTopBit = 0x80000000u;
constexpr size_t kChecksumSize = 4;
constexpr uint64_t kRefillStep = 64 * 1024;

uint32_t checksumOf(const uint8_t* name, size_t size) {
  return crc32(0, name + kChecksumSize, size - kChecksumSize) | kTopBit;
}

uint64_t fileEndOf(uint64_t position) { return (position / kNamesFileSize + 1) * kNamesFileSize; }

}  // namespace

LmqNames::LmqNames(MappedFileQueue::Options files, bool inMemory, Preparer* preparer)
    : inMemory_(inMemory),
      copies_(inMemory || files.readMode == ReadMode::kPositional),
      files_(std::move(files), inMemory ? nullptr : preparer) {}

Status LmqNames::load() {
  chunks_.clear();
  forget();
  if (inMemory_) return {};
  LMQ_TRY(files_.load());
  return openChunks();
}

void LmqNames::forget() {
  end_.store(0, std::memory_order_release);
  digest_ = 0;
}

void LmqNames::setEnd(const Found& last) {
  end_.store(last.end, std::memory_order_release);
  uint8_t checksum[kChecksumSize];
  store<uint32_t>(checksum, last.checksum);
  digest_ = crc32(digest_, checksum, kChecksumSize);
}

Status LmqNames::reload() {
  if (inMemory_) return {};
  LMQ_TRY(files_.reload());
  return openChunks();
}

Status LmqNames::openChunks() {
  for (const uint64_t base : files_.bases()) {
    if (base < chunks_.size() * kNamesFileSize) continue;
    if (base != chunks_.size() * kNamesFileSize) {
      return Status(Code::kCorruptFile, "A file of light-queue names is missing")
          .at(files_.directory())
          .offset(static_cast<int64_t>(chunks_.size() * kNamesFileSize));
    }
    LMQ_TRY(openChunk(base));
  }
  return {};
}

// Copied chunks start as zeros that take no memory yet; next() and append() fill them.
Status LmqNames::openChunk(uint64_t base) {
  Chunk chunk;
  if (!inMemory_) {
    chunk.file = files_.fileAt(base);
    if (chunk.file == nullptr) {
      return Status(Code::kNotFound, "A file of light-queue names cannot be opened")
          .at(files_.directory())
          .offset(static_cast<int64_t>(base));
    }
  }
  if (copies_) {
    chunk.copied = std::unique_ptr<uint8_t, void (*)(void*)>(
        static_cast<uint8_t*>(std::calloc(1, kNamesFileSize)), std::free);
    if (chunk.copied == nullptr) return Status(Code::kNoMemory, "No memory for light-queue names");
    chunk.data = chunk.copied.get();
  } else {
    ReadBuffer unused;
    Result<const uint8_t*> data = chunk.file->read(0, kNamesFileSize, unused);
    if (!data.ok()) return data.takeStatus();
    chunk.data = *data;
  }
  try {
    chunks_.push_back(std::move(chunk));
  } catch (const std::bad_alloc&) {
    return Status(Code::kNoMemory, "No memory for light-queue names");
  }
  return {};
}

Status LmqNames::refill(uint64_t at) {
  const Chunk& chunk = chunks_[at / kNamesFileSize];
  const uint64_t inFile = at % kNamesFileSize;
  const uint64_t length = std::min(kRefillStep, kNamesFileSize - inFile);
  return chunk.file->copy(inFile, length, chunk.copied.get() + inFile);
}

bool LmqNames::parse(uint64_t at, Found* found) const {
  const uint8_t* bytes = chunks_[at / kNamesFileSize].data + at % kNamesFileSize;
  const uint64_t room = fileEndOf(at) - at;
  if (room <= kHeaderSize) return false;
  const uint32_t checksum = loadAcquire32(bytes);
  const size_t length = lmq::load<uint16_t>(bytes + kChecksumSize);
  if (checksum == 0 || length == 0 || length > std::min<uint64_t>(kMaxName, room - kHeaderSize)) {
    return false;
  }
  if (checksum != checksumOf(bytes, kHeaderSize + length)) return false;
  found->position = at;
  found->end = at + kHeaderSize + length;
  found->checksum = checksum;
  found->name = {reinterpret_cast<const char*>(bytes + kHeaderSize), length};
  return true;
}

// A name stands right at `at`, or begins the next file because this one had no room for it.
Result<bool> LmqNames::next(uint64_t at, Found* found) {
  const uint64_t places[] = {at, fileEndOf(at)};
  for (const uint64_t place : places) {
    if (place / kNamesFileSize >= chunks_.size()) return false;
    bool whole = parse(place, found);
    if (!whole && copies_ && !inMemory_) {
      LMQ_TRY(refill(place));
      whole = parse(place, found);
    }
    // Behind a hole that would have had room for it, a name is one whose forerunners were lost.
    if (whole && place != at && fileEndOf(at) - at >= found->end - found->position) return false;
    if (whole) return true;
  }
  return false;
}

bool LmqNames::awaitsFile() const {
  const uint64_t atMost = end() + kHeaderSize + kMaxName;
  return atMost / kNamesFileSize >= chunks_.size();
}

std::string_view LmqNames::at(uint64_t position) const {
  if (position / kNamesFileSize >= chunks_.size()) return {};
  const uint64_t room = fileEndOf(position) - position;
  if (room <= kHeaderSize) return {};
  const uint8_t* bytes = chunks_[position / kNamesFileSize].data + position % kNamesFileSize;
  const size_t length = lmq::load<uint16_t>(bytes + kChecksumSize);
  if (length > room - kHeaderSize) return {};
  return {reinterpret_cast<const char*>(bytes + kHeaderSize), length};
}

void LmqNames::prefetch(uint64_t position) const {
  if (position / kNamesFileSize >= chunks_.size()) return;
  __builtin_prefetch(chunks_[position / kNamesFileSize].data + position % kNamesFileSize);
}

uint64_t LmqNames::placeFor(size_t length) const {
  const uint64_t at = end();
  return fileEndOf(at) - at >= kHeaderSize + length ? at : fileEndOf(at);
}

Status LmqNames::reserve(size_t count, size_t bytes) {
  if (count == 0) return {};
  uint64_t at = end();
  uint64_t left = bytes + count * kHeaderSize;
  if (kMaxEnd - at < 2 * left + kNamesFileSize) {
    return Status(Code::kLimit, "The light-queue names have reached their limit")
        .at(files_.directory())
        .limit(static_cast<int64_t>(kMaxEnd));
  }
  for (;;) {
    const uint64_t room = fileEndOf(at) - at;
    const uint64_t part = std::min(room, left);
    if (!inMemory_) LMQ_TRY(files_.reserve(at, part));
    if (at / kNamesFileSize >= chunks_.size()) LMQ_TRY(openChunk(at - at % kNamesFileSize));
    if (left <= room) return {};
    // The last bytes of this file stay unused if the name that reaches them does not fit.
    constexpr uint64_t kMostUnused = kHeaderSize + kMaxName;
    if (room > kMostUnused) left -= room - kMostUnused;
    at += room;
  }
}

Result<uint64_t> LmqNames::append(std::string_view name) {
  const size_t size = kHeaderSize + name.size();
  const uint64_t at = placeFor(name.size());
  if (name.empty() || name.size() > kMaxName || at / kNamesFileSize >= chunks_.size()) {
    return Status(Code::kInternal, "A light-queue name without room")
        .offset(static_cast<int64_t>(at));
  }
  uint8_t bytes[kHeaderSize + kMaxName];
  store<uint16_t>(bytes + kChecksumSize, static_cast<uint16_t>(name.size()));
  std::memcpy(bytes + kHeaderSize, name.data(), name.size());
  const uint32_t checksum = checksumOf(bytes, size);
  store<uint32_t>(bytes, checksum);
  if (!inMemory_) {
    LMQ_TRY(files_.reserve(at, size));  // done before; makes its file the one that is written
    uint8_t* window = files_.window(at, size);
    if (window == nullptr) return Status(Code::kInternal, "A light-queue name without room");
    std::memcpy(window + kChecksumSize, bytes + kChecksumSize, size - kChecksumSize);
    LMQ_TRY(files_.commit(at, size, window, checksum));
  }
  if (copies_) {
    std::memcpy(chunks_[at / kNamesFileSize].copied.get() + at % kNamesFileSize, bytes, size);
  }
  setEnd({at, at + size, checksum, name});
  return at;
}

Status LmqNames::truncate() {
  if (inMemory_) return {};
  const uint64_t end = this->end();
  const size_t kept = (end + kNamesFileSize - 1) / kNamesFileSize;
  if (chunks_.size() > kept) chunks_.resize(kept);
  if (copies_ && end % kNamesFileSize != 0) {
    std::memset(chunks_.back().copied.get() + end % kNamesFileSize, 0, fileEndOf(end) - end);
  }
  LMQ_TRY(files_.truncate(end));
  return openChunks();  // the file that begins at end(), if it is there
}

Status LmqNames::removeAll() {
  chunks_.clear();
  forget();
  return inMemory_ ? Status() : files_.removeAll();
}

}  // namespace lmq
