// The light-queue index at rest: what one dispatch into one light queue writes, and the names.
//
// Entry, 48 bytes, in lmq/entries (files of kEntriesPerFile entries; entry n lies at byte 48 n):
//
//   at  size  field
//   0   4     checksum: CRC-32 of bytes 4..47, top bit set, so that it is never 0; stored last
//   4   1     kind: kUnit, or kSkip where the skip link leads far back
//   5   5     queue number
//   10  5     number of the queue's previous entry + 1; 0 if there is none
//   15  5     skip link, an entry number + 1; 0 if there is none. A unit's leads to the queue's
//   newest
//             skip entry before it, a skip entry's to one further back (see LmqEntries)
//   20  8     queue offset
//   28  8     physical offset of the record
//   36  4     size of the record
//   40  8     tags code
//
// Name, in lmq/names (files of kNamesFileSize bytes; a name never crosses two files):
//
//   0   4     checksum: CRC-32 of the rest, top bit set; stored last; 0 ends the file
//   4   2     length
//   6   n     UTF-8, with the %LMQ% prefix
//
// The n-th name belongs to queue number n. Numbers are big-endian.
#pragma once

#include <cstdint>

namespace lmq {

// What a queue knows of a record (RocketMQ's consume-queue unit).
struct Unit {
  int64_t physicalOffset = 0;
  int32_t size = 0;
  int64_t tagsCode = 0;

  // The record's; numbers that no log can have make no overflow.
  int64_t recordEnd() const {
    return physicalOffset > INT64_MAX - INT32_MAX ? INT64_MAX : physicalOffset + size;
  }
};

// A unit and the offset it has in its queue.
struct PlacedUnit {
  int64_t queueOffset = 0;
  Unit unit;
};

struct LmqEntry {
  static constexpr uint64_t kSize = 48;
  static constexpr uint64_t kEntriesPerFile = 1 << 20;
  static constexpr uint64_t kFileSize = kSize * kEntriesPerFile;
  static constexpr uint64_t kMaxNumber = (uint64_t{1} << 40) - 2;  // 40 bits, one value is "none"
  enum Kind : uint8_t { kUnit = 1, kSkip = 2 };

  Kind kind = kUnit;
  uint64_t queue = 0;
  uint64_t previous = 0;  // number + 1
  uint64_t skip = 0;      // number + 1
  PlacedUnit placed;

  int64_t recordEnd() const { return placed.unit.recordEnd(); }

  void encode(uint8_t* out, uint32_t* checksum) const;  // bytes 4..47; the checksum goes in last
  bool decode(const uint8_t* in);                       // false: zero or damaged
};

inline constexpr uint64_t kNamesFileSize = 4 * 1024 * 1024;

}  // namespace lmq
