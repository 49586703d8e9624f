#include "lmq_entry.h"

#include <cstring>
#include <limits>

#include "bytes.h"
#include "crc32.h"

namespace lmq {

namespace {

constexpr uint32_t kTopBit = 0x80000000u;
constexpr size_t kChecksumSize = 4;

uint32_t checksumOf(const uint8_t* entry) {
  return crc32(0, entry + kChecksumSize, LmqEntry::kSize - kChecksumSize) | kTopBit;
}

uint64_t low(uint64_t value, int bits) { return value & ((uint64_t{1} << bits) - 1); }

}  // namespace

// Whole words are put together in registers: the checksum then reads back few, wide stores.
void LmqEntry::encode(uint8_t* out, uint32_t* checksum) const {
  const uint64_t offset = static_cast<uint64_t>(placed.queueOffset);
  const uint64_t physical = static_cast<uint64_t>(placed.unit.physicalOffset);
  uint8_t bytes[kSize];
  store<uint64_t>(bytes, uint64_t{kind} << 24 | queue >> 16);
  store<uint64_t>(bytes + 8, low(queue, 16) << 48 | previous << 8 | skip >> 32);
  store<uint64_t>(bytes + 16, skip << 32 | offset >> 32);
  store<uint64_t>(bytes + 24, offset << 32 | physical >> 32);
  store<uint64_t>(bytes + 32, physical << 32 | static_cast<uint32_t>(placed.unit.size));
  store<uint64_t>(bytes + 40, static_cast<uint64_t>(placed.unit.tagsCode));
  std::memcpy(out + kChecksumSize, bytes + kChecksumSize, kSize - kChecksumSize);
  *checksum = checksumOf(bytes);
}

bool LmqEntry::decode(const uint8_t* in) {
  const uint32_t checksum = loadAcquire32(in);
  if (checksum == 0 || checksum != checksumOf(in)) return false;
  if (in[4] != kUnit && in[4] != kSkip) return false;
  kind = static_cast<Kind>(in[4]);
  queue = load40(in + 5);
  previous = load40(in + 10);
  skip = load40(in + 15);
  placed.queueOffset = load<int64_t>(in + 20);
  placed.unit.physicalOffset = load<int64_t>(in + 28);
  placed.unit.size = load<int32_t>(in + 36);
  placed.unit.tagsCode = load<int64_t>(in + 40);
  // What follows, an offset or a position one past the record, must be a number too.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Unit& unit = placed.unit;
  return placed.queueOffset >= 0 && placed.queueOffset < kMost && unit.size >= 0 &&
         unit.physicalOffset >= 0 && unit.physicalOffset <= kMost - unit.size;
}

}  // namespace lmq
