#include "key_index_file.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "bytes.h"

namespace lmq {

namespace {

constexpr uint64_t kReserveStep = 64 * 1024;
constexpr int64_t kMillis = 1000;

KeyIndexFile::Entry decode(const uint8_t* at) {
  return {load<int32_t>(at), load<int64_t>(at + 4), load<int32_t>(at + 12), load<int32_t>(at + 16)};
}

KeyIndexFile::Header decodeHeader(const uint8_t* at) {
  return {load<int64_t>(at),      load<int64_t>(at + 8),  load<int64_t>(at + 16),
          load<int64_t>(at + 24), load<int32_t>(at + 32), std::max(load<int32_t>(at + 36), 1)};
}

}  // namespace

Result<std::shared_ptr<KeyIndexFile>> KeyIndexFile::make(const std::string& workPath,
                                                         KeyIndexShape shape, ReadMode mode) {
  Result<std::shared_ptr<MappedFile>> made = MappedFile::make(workPath, 0, shape.fileSize(), mode);
  if (!made.ok()) return made.takeStatus();
  (*made)->expectRandom();
  return std::shared_ptr<KeyIndexFile>(new KeyIndexFile(made.take(), shape));
}

Result<std::shared_ptr<KeyIndexFile>> KeyIndexFile::open(const std::string& path,
                                                         KeyIndexShape shape, Access access,
                                                         ReadMode mode) {
  Result<std::shared_ptr<MappedFile>> opened =
      MappedFile::open(path, 0, shape.fileSize(), access, mode);
  if (!opened.ok()) return opened.takeStatus();
  (*opened)->expectRandom();
  std::shared_ptr<KeyIndexFile> file(new KeyIndexFile(opened.take(), shape));
  LMQ_TRY(file->readHeader());
  file->syncedNext = file->header_.next;
  return file;
}

Status KeyIndexFile::readHeader() {
  const Result<const uint8_t*> bytes = file_->read(0, kHeaderSize, read_);
  if (!bytes.ok()) return bytes.status();
  header_ = decodeHeader(*bytes);
  return {};
}

Result<KeyIndexFile::Header> KeyIndexFile::readHeader(const std::string& path) {
  const Result<File> file = File::open(path, Access::kReadQuietly);
  if (!file.ok()) return file.status();
  uint8_t bytes[kHeaderSize] = {};
  const Result<size_t> count = (*file).readSome(0, bytes, sizeof(bytes));
  if (!count.ok()) return count.status();
  return decodeHeader(bytes);
}

bool KeyIndexFile::isPlausible() const {
  const Header& h = header_;
  return h.next <= shape_.entries && h.usedSlots >= 0 && h.usedSlots <= shape_.slots &&
         h.usedSlots < h.next && h.beginPhyOffset >= 0 && h.beginPhyOffset <= h.endPhyOffset;
}

Status KeyIndexFile::reserve(int64_t count) {
  const uint64_t size = shape_.fileSize();
  const uint64_t end = shape_.entryAt(header_.next + count);
  if (end <= file_->reserved()) return {};
  const uint64_t stepped = std::min(size, (end + kReserveStep - 1) / kReserveStep * kReserveStep);
  Status status = file_->reserve(stepped);
  // The last blocks of a disk may be too few for a step and enough for this.
  if (status.code() == Code::kDiskFull && end < stepped) return file_->reserve(end);
  return status;
}

int64_t KeyIndexFile::room() const {
  const uint64_t next = shape_.entryAt(header_.next);
  const uint64_t reserved = std::min(file_->reserved(), shape_.fileSize());
  return reserved <= next ? 0 : static_cast<int64_t>((reserved - next) / kEntrySize);
}

Status KeyIndexFile::prepare() {
  return file_->prepare(0, std::min(shape_.fileSize(), shape_.entryAt(0) + kReserveStep));
}

Status KeyIndexFile::prepareNext() {
  const uint64_t from = file_->reserved();
  return file_->prepare(from, std::min(shape_.fileSize(), from + kReserveStep));
}

Status KeyIndexFile::publish(const std::string& path, const Header& before) {
  header_ = {
      before.endTimestamp, before.endTimestamp, before.endPhyOffset, before.endPhyOffset, 0, 1};
  LMQ_TRY(writeHeader());
  return file_->moveTo(path);
}

Status KeyIndexFile::notReserved() const {
  return Status(Code::kInternal, "No room was reserved for a key.").at(path());
}

Status KeyIndexFile::writeEntry(int64_t number, const Entry& entry) {
  const uint64_t at = shape_.entryAt(number);
  uint8_t* bytes = file_->window(at, kEntrySize, scratch_);
  if (bytes == nullptr) return notReserved();
  store<int32_t>(bytes, entry.hash);
  store<int64_t>(bytes + 4, entry.physicalOffset);
  store<int32_t>(bytes + 12, entry.seconds);
  store<int32_t>(bytes + 16, entry.previous);
  return file_->commit(at, kEntrySize, bytes);
}

Status KeyIndexFile::writeSlot(uint64_t at, int32_t number) {
  uint8_t* bytes = file_->window(at, kSlotSize, scratch_);
  if (bytes == nullptr) return notReserved();
  storeRelease32(bytes, static_cast<uint32_t>(number));
  return file_->commit(at, kSlotSize, bytes);
}

Status KeyIndexFile::writeHeader() {
  uint8_t* bytes = file_->window(0, kHeaderSize, scratch_);
  if (bytes == nullptr) return notReserved();
  store<int64_t>(bytes, header_.beginTimestamp);
  store<int64_t>(bytes + 8, header_.endTimestamp);
  store<int64_t>(bytes + 16, header_.beginPhyOffset);
  store<int64_t>(bytes + 24, header_.endPhyOffset);
  store<int32_t>(bytes + 32, header_.usedSlots);
  // A file without entries has no count yet, as RocketMQ leaves it.
  storeRelease32(bytes + 36, header_.next > 1 ? static_cast<uint32_t>(header_.next) : 0);
  return file_->commit(0, kHeaderSize, bytes);
}

Status KeyIndexFile::put(int32_t hash, int64_t physicalOffset, int64_t timestamp) {
  const int32_t number = header_.next;
  if (number >= shape_.entries) return notReserved();
  const uint64_t slotPosition = slotAt(hash);
  const Result<int32_t> found = slot(hash);
  if (!found.ok()) return found.status();
  int32_t previous = *found > number ? 0 : *found;
  if (previous == number) {  // a put of this entry was cut short behind its slot
    const Result<Entry> before = entry(number);
    if (!before.ok()) return before.status();
    previous = (*before).previous < number ? std::max((*before).previous, 0) : 0;
  }
  int64_t seconds = 0;
  if (header_.beginTimestamp > 0 && timestamp > header_.beginTimestamp) {
    seconds = std::min<int64_t>((timestamp - header_.beginTimestamp) / kMillis,
                                std::numeric_limits<int32_t>::max());
  }
  // In this order: what a slot leads to is there, and what the header counts is in its chain.
  LMQ_TRY(writeEntry(number, {hash, physicalOffset, static_cast<int32_t>(seconds), previous}));
  LMQ_TRY(writeSlot(slotPosition, number));
  Header before = header_;
  if (number == 1) {
    header_.beginTimestamp = timestamp;
    header_.beginPhyOffset = physicalOffset;
  }
  if (previous == 0) ++header_.usedSlots;
  ++header_.next;
  header_.endPhyOffset = physicalOffset;
  header_.endTimestamp = timestamp;
  Status status = writeHeader();
  if (!status.ok()) header_ = before;
  return status;
}

Status KeyIndexFile::sync() { return file_->sync(0, shape_.fileSize()); }

Result<KeyIndexFile::Entry> KeyIndexFile::entry(int64_t number) const {
  if (number < 1 || number >= shape_.entries) return Entry{};
  const Result<const uint8_t*> bytes = file_->read(shape_.entryAt(number), kEntrySize, read_);
  if (!bytes.ok()) return bytes.status();
  return decode(*bytes);
}

Result<int32_t> KeyIndexFile::slot(int32_t hash) const {
  const Result<const uint8_t*> bytes = file_->read(slotAt(hash), kSlotSize, read_);
  if (!bytes.ok()) return bytes.status();
  const int32_t number = load<int32_t>(*bytes);
  return number > 0 && number < shape_.entries ? number : 0;
}

KeyIndexFile::Times KeyIndexFile::timesOf(const Entry& entry, int64_t number) const {
  constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMost = kForever / 2;  // a header may say anything
  // The first entry counts from the file before, one of a clock that went back counts as 0, and
  // what does not fit is the largest number.
  const int64_t first = std::clamp(header_.beginTimestamp, -kMost, kMost);
  const int64_t begin = number == 1 ? first : first + entry.seconds * kMillis;
  const bool atLeast = number != 1 && entry.seconds == 0;
  const bool capped = entry.seconds == std::numeric_limits<int32_t>::max();
  return {atLeast ? 0 : begin, capped ? kForever : number == 1 ? begin : begin + kMillis - 1};
}

}  // namespace lmq
