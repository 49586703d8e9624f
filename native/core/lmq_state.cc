#include "lmq_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "bytes.h"
#include "crc32.h"

namespace lmq {

namespace {

constexpr size_t kHeaderSize = 23;
constexpr size_t kChecksumSize = 4;
constexpr size_t kMaxName = 255;
constexpr uint8_t kSyncedBefore = 0x80;
constexpr uint32_t kTopBit = 0x80000000u;
constexpr size_t kMaxFile = size_t{4} << 30;
constexpr uint64_t kSmall = 64 * 1024;  // not worth rewriting

uint64_t sizeOf(const LmqState::Fact& fact) { return kHeaderSize + fact.name.size(); }

void encode(const LmqState::Fact& fact, bool syncedBefore, std::string* out) {
  const size_t at = out->size();
  out->resize(at + kHeaderSize);
  *out += fact.name;
  uint8_t* bytes = reinterpret_cast<uint8_t*>(out->data()) + at;
  bytes[4] = static_cast<uint8_t>(fact.kind | (syncedBefore ? kSyncedBefore : 0));
  store<uint16_t>(bytes + 5, static_cast<uint16_t>(fact.name.size()));
  store<int64_t>(bytes + 7, fact.queueOffset);
  store<int64_t>(bytes + 15, fact.logEnd);
  const size_t rest = sizeOf(fact) - kChecksumSize;
  store<uint32_t>(bytes, crc32(0, bytes + kChecksumSize, rest) | kTopBit);
}

// The size of a whole fact at the start of `size` bytes; 0 if there is none.
size_t decode(const uint8_t* bytes, size_t size, LmqState::Fact* fact, bool* syncedBefore) {
  if (size <= kHeaderSize || (bytes[0] & 0x80) == 0) return 0;
  const uint8_t kind = bytes[4] & static_cast<uint8_t>(~kSyncedBefore);
  const size_t length = load<uint16_t>(bytes + 5);
  if (kind != LmqState::kNextOffset && kind != LmqState::kDeleted) return 0;
  if (length == 0 || length > kMaxName || length > size - kHeaderSize) return 0;
  const size_t all = kHeaderSize + length;
  if (load<uint32_t>(bytes) != (crc32(0, bytes + kChecksumSize, all - kChecksumSize) | kTopBit)) {
    return 0;
  }
  *syncedBefore = (bytes[4] & kSyncedBefore) != 0;
  fact->kind = static_cast<LmqState::Kind>(kind);
  fact->queueOffset = load<int64_t>(bytes + 7);
  fact->logEnd = load<int64_t>(bytes + 15);
  fact->name.assign(reinterpret_cast<const char*>(bytes) + kHeaderSize, length);
  if (fact->queueOffset < 0 || fact->logEnd < 0) return 0;
  return all;
}

std::string parentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<LmqState> LmqState::load(const std::string& path, Access access) {
  LmqState state;
  state.path_ = path;
  state.writable_ = access == Access::kWrite;
  Result<FileInfo> info = inspect(path);
  if (!info.ok()) return info.takeStatus();
  if (!info->exists) return state;
  Result<std::string> content = readWhole(path, kMaxFile);
  if (!content.ok()) return content.takeStatus();
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(content->data());
  const size_t size = content->size();

  Fact fact;
  bool syncedBefore = false;
  size_t at = 0;
  while (const size_t length = decode(bytes + at, size - at, &fact, &syncedBefore)) {
    state.take(fact);
    at += length;
  }
  state.validSize_ = at;
  // Lengths are not to be trusted from here on: a later write may begin at any byte.
  for (size_t behind = at + 1; behind < size; behind++) {
    if (decode(bytes + behind, size - behind, &fact, &syncedBefore) == 0 || !syncedBefore) continue;
    return Status(Code::kCorruptFile, "The state of light queues is damaged")
        .at(path)
        .offset(static_cast<int64_t>(at));
  }
  return state;
}

int64_t LmqState::nextOffset(std::string_view name) const {
  const auto known = known_.find(std::string(name));
  return known == known_.end() ? 0 : std::max<int64_t>(known->second.next, 0);
}

int64_t LmqState::deletedAt(std::string_view name) const {
  const auto known = known_.find(std::string(name));
  return known == known_.end() ? -1 : known->second.deleted;
}

std::vector<LmqState::Fact> LmqState::facts() const {
  std::vector<Fact> facts;
  for (const auto& [name, known] : known_) {
    if (known.deleted >= 0) facts.push_back({kDeleted, name, 0, known.deleted});
  }
  for (const auto& [name, known] : known_) {
    if (known.next >= 0) facts.push_back({kNextOffset, name, known.next, known.nextLogEnd});
  }
  return facts;
}

void LmqState::take(const Fact& fact) {
  Known& known = known_[fact.name];
  const int held = (known.next >= 0) + (known.deleted >= 0);
  if (fact.kind == kDeleted) {
    known.next = -1;
    known.deleted = fact.logEnd;
  } else if (fact.queueOffset >= known.next) {
    known.next = fact.queueOffset;
    known.nextLogEnd = fact.logEnd;
  }
  const int now = (known.next >= 0) + (known.deleted >= 0);
  liveSize_ +=
      static_cast<uint64_t>(now) * sizeOf(fact) - static_cast<uint64_t>(held) * sizeOf(fact);
}

void LmqState::forgetDeletions(int64_t logMin) {
  for (auto at = known_.begin(); at != known_.end();) {
    Known& known = at->second;
    if (known.deleted >= 0 && known.deleted <= logMin) {
      known.deleted = -1;
      liveSize_ -= kHeaderSize + at->first.size();
    }
    at = known.next < 0 && known.deleted < 0 ? known_.erase(at) : std::next(at);
  }
}

Status LmqState::record(const std::vector<Fact>& facts) {
  if (facts.empty()) return {};
  if (!writable_) return Status(Code::kReadOnly, "The state is open for reading").at(path_);
  std::string bytes;
  for (const Fact& fact : facts) {
    if (fact.name.empty() || fact.name.size() > kMaxName) {
      return Status(Code::kInvalidLmqName, "A light queue's name has 1 to 255 bytes");
    }
    if (fact.queueOffset < 0 || fact.logEnd < 0) {
      return Status(Code::kInternal, "A fact about a light queue is negative").at(path_);
    }
    encode(fact, bytes.empty(), &bytes);
  }
  const uint64_t size = validSize_ + bytes.size();
  if (size > kSmall && size > 2 * (liveSize_ + bytes.size())) return rewrite(facts);

  Result<File> file = File::openOrCreate(path_);
  if (!file.ok()) return file.takeStatus();
  Result<uint64_t> found = file->size();
  if (!found.ok()) return found.takeStatus();
  if (*found > validSize_) LMQ_TRY(file->resize(validSize_));
  LMQ_TRY(file->writeAt(validSize_, bytes.data(), bytes.size()));
  LMQ_TRY(file->syncData());
  if (validSize_ == 0) LMQ_TRY(syncDirectory(parentOf(path_)));
  validSize_ = size;
  for (const Fact& fact : facts) take(fact);
  return {};
}

Status LmqState::rewrite(const std::vector<Fact>& added) {
  LmqState next = *this;
  for (const Fact& fact : added) next.take(fact);
  std::string bytes;
  for (const Fact& fact : next.facts()) encode(fact, true, &bytes);
  LMQ_TRY(replaceFile(path_, bytes.data(), bytes.size()));
  next.validSize_ = bytes.size();
  *this = std::move(next);
  return {};
}

}  // namespace lmq
