#include "consumer_offsets_record.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "bytes.h"
#include "crc32.h"

namespace lmq {

namespace {

constexpr size_t kChecksumSize = 4;
constexpr size_t kBuffer = 1024 * 1024;
constexpr uint32_t kTopBit = 0x80000000u;
constexpr uint32_t kMaxQueueId = 0x7fffffffu;

}  // namespace

uint32_t OffsetRecord::encode(uint8_t* out) const {
  const size_t all = size();
  out[4] = kind;
  out[5] = 0;
  store<uint16_t>(out + 6, static_cast<uint16_t>(name.size()));
  store<uint32_t>(out + 8, number);
  store<uint32_t>(out + 12, topic);
  store<int32_t>(out + 16, queueId);
  store<int64_t>(out + 20, offset);
  if (!name.empty()) {
    std::memset(out + all - 4, 0, 4);
    std::memcpy(out + kHeaderSize, name.data(), name.size());
  }
  return crc32(0, out + kChecksumSize, all - kChecksumSize) | kTopBit;
}

bool OffsetRecord::decode(const uint8_t* bytes, size_t size) {
  if (size < kHeaderSize || (bytes[0] & 0x80) == 0) return false;
  const size_t length = load<uint16_t>(bytes + 6);
  if (bytes[4] < kName || bytes[4] > kSource || length > kMaxName) return false;
  name = {reinterpret_cast<const char*>(bytes) + kHeaderSize, length};
  const size_t all = this->size();
  if (all > size || load<uint32_t>(bytes + 16) > kMaxQueueId) return false;
  if (load<uint32_t>(bytes) != (crc32(0, bytes + kChecksumSize, all - kChecksumSize) | kTopBit)) {
    return false;
  }
  kind = static_cast<Kind>(bytes[4]);
  number = load<uint32_t>(bytes + 8);
  topic = load<uint32_t>(bytes + 12);
  queueId = load<int32_t>(bytes + 16);
  offset = load<int64_t>(bytes + 20);
  return offset >= 0;
}

OffsetScan::OffsetScan(const File& file, uint64_t size)
    : file_(file), size_(size), bytes_(new (std::nothrow) uint8_t[kBuffer]) {}

OffsetScan::~OffsetScan() { delete[] bytes_; }

Status OffsetScan::fill() {
  const bool inside = position_ >= begin_ && position_ - begin_ <= count_;
  if (inside && count_ - (position_ - begin_) >= OffsetRecord::kMaxSize) return {};
  if (inside && begin_ + count_ >= size_) return {};
  if (bytes_ == nullptr) return Status(Code::kNoMemory, "No memory to read the consumer offsets.");
  const uint64_t most = position_ < size_ ? size_ - position_ : 0;
  Result<size_t> count =
      file_.readSome(position_, bytes_, static_cast<size_t>(std::min<uint64_t>(kBuffer, most)));
  if (!count.ok()) return count.takeStatus();
  begin_ = position_;
  count_ = *count;
  return {};
}

Result<bool> OffsetScan::next(OffsetRecord* record) {
  LMQ_TRY(fill());
  const size_t at = static_cast<size_t>(position_ - begin_);
  if (at >= count_ || !record->decode(bytes_ + at, count_ - at)) return false;
  position_ += record->size();
  return true;
}

Result<bool> OffsetScan::passDamage() {
  OffsetRecord record;
  for (uint64_t at = position_;;) {
    // Zeros are skipped at once, also where the file has none of its blocks.
    const Result<uint64_t> data = file_.findNonZero(at, size_);
    if (!data.ok()) return data.status();
    if (*data >= size_) return false;
    const uint64_t end = std::min<uint64_t>(size_, *data + kBuffer);
    for (position_ = std::max(*data / 4 * 4, at); position_ < end; position_ += 4) {
      LMQ_TRY(fill());
      const size_t here = static_cast<size_t>(position_ - begin_);
      if (here >= count_) return false;
      if (record.decode(bytes_ + here, count_ - here)) return true;
    }
    at = position_;
  }
}

Result<bool> OffsetScan::endsHere() const {
  const Result<uint64_t> data = file_.findNonZero(std::min(position_, size_), size_);
  if (!data.ok()) return data.status();
  return *data >= size_;
}

}  // namespace lmq
