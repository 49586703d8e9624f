// A record of the log of consumer offsets. Names of groups and topics are numbered by the order in
// which they came, so that a commit is small.
//
//   at  size  field
//   0   4     checksum: CRC-32 of the rest, top bit set; stored last
//   4   1     kind
//   5   1     zero
//   6   2     length of the name; 0 without one
//   8   4     number: of the group (kOffset), the name (kName) or the file (kSource)
//   12  4     number of the topic, or of the light queue's full name (kOffset, kRemoved)
//   16  4     queue id (kOffset, kRemoved)
//   20  8     offset (kOffset), stamp of the file's content (kSource)
//   28  n     name (kName), zeros up to a multiple of 4
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "file.h"
#include "status.h"

namespace lmq {

struct OffsetRecord {
  enum Kind : uint8_t {
    kName = 1,     // this number is this name; without a name, the number is free
    kOffset = 2,   // the group is there in the queue
    kRemoved = 3,  // no group has an offset in the queue any more
    kSource = 4,   // offsets were taken from a file with this content
  };
  static constexpr size_t kHeaderSize = 28;
  static constexpr size_t kMaxName = 255;
  static constexpr size_t kMaxSize = kHeaderSize + kMaxName + 1;

  Kind kind = kOffset;
  uint32_t number = 0;
  uint32_t topic = 0;
  int32_t queueId = 0;
  int64_t offset = 0;
  std::string_view name;

  size_t size() const { return kHeaderSize + (name.size() + 3) / 4 * 4; }
  // All bytes but the first four, which are the answer.
  uint32_t encode(uint8_t* out) const;
  // The record at the start of `size` bytes, its name inside them. False if there is no whole one.
  bool decode(const uint8_t* bytes, size_t size);
};

// Reads records front to back, by position.
class OffsetScan {
 public:
  OffsetScan(const File& file, uint64_t size);
  ~OffsetScan();

  void seek(uint64_t at) { position_ = at; }
  uint64_t position() const { return position_; }  // behind the last record
  // False if no whole record begins at the position, which then stays.
  Result<bool> next(OffsetRecord* record);
  // Goes to the next whole record behind something else. False if there is none.
  Result<bool> passDamage();
  // Only zeros follow.
  Result<bool> endsHere() const;

 private:
  Status fill();

  const File& file_;
  const uint64_t size_;
  uint64_t position_ = 0;
  uint8_t* bytes_;  // [begin_, begin_ + count_) of the file
  uint64_t begin_ = 0;
  size_t count_ = 0;
};

}  // namespace lmq
