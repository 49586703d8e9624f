// What memory holds of each light queue: 40 bytes in chunks that never move, by queue number.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "status.h"

namespace lmq {

// Numbers of entries are kept + 1, so that 0 is none. 40-bit fields are split, so that nothing is
// padding, and what every dispatch changes stands in the first 28 bytes: it seldom crosses a line.
class LmqRow {
 public:
  static constexpr uint64_t kMaxMinimum = (uint64_t{1} << 56) - 1;

  int64_t next() const { return next_; }  // one past the last offset
  void setNext(int64_t offset) { next_ = offset; }
  int64_t minimum() const { return static_cast<int64_t>(minimum_); }  // of the first entry, if any
  void setMinimum(int64_t offset) { minimum_ = static_cast<uint64_t>(offset) & kMaxMinimum; }
  uint64_t count() const { return join(countHigh_, countLow_); }  // entries ever added
  void setCount(uint64_t count) { split(count, &countHigh_, &countLow_); }
  uint64_t tail() const { return join(tailHigh_, tailLow_); }  // the last entry
  void setTail(uint64_t entry) { split(entry, &tailHigh_, &tailLow_); }
  uint64_t skip() const { return join(skipHigh_, skipLow_); }  // the newest skip entry
  void setSkip(uint64_t entry) { split(entry, &skipHigh_, &skipLow_); }
  uint64_t jump() const { return join(jumpHigh_, jumpLow_); }  // where that one leads
  void setJump(uint64_t entry) {
    jumpHigh_ = entry >> 32;
    jumpLow_ = static_cast<uint32_t>(entry);
  }
  uint64_t name() const { return join(nameHigh_, nameLow_); }  // its position in the names
  void setName(uint64_t position) { split(position, &nameHigh_, &nameLow_); }

 private:
  static uint64_t join(uint64_t high, uint32_t low) { return high << 32 | low; }
  static void split(uint64_t value, uint8_t* high, uint32_t* low) {
    *high = static_cast<uint8_t>(value >> 32);
    *low = static_cast<uint32_t>(value);
  }

  int64_t next_;
  uint32_t tailLow_;
  uint32_t skipLow_;
  uint32_t jumpLow_;
  uint32_t countLow_;
  uint8_t tailHigh_;
  uint8_t skipHigh_;
  uint8_t countHigh_;
  uint8_t nameHigh_;
  uint32_t nameLow_;
  uint64_t minimum_ : 56;
  uint64_t jumpHigh_ : 8;
};

class LmqRows {
 public:
  static constexpr uint64_t kChunk = 64 * 1024;
  static constexpr uint64_t kMax = (uint64_t{1} << 32) - 2;  // the table keeps numbers in 32 bits

  uint64_t count() const { return count_; }
  LmqRow& operator[](uint64_t queue) { return chunks_[queue / kChunk][queue % kChunk]; }
  const LmqRow& operator[](uint64_t queue) const { return chunks_[queue / kChunk][queue % kChunk]; }

  Status reserve(uint64_t more);  // room for so many more: kLimit, kNoMemory
  bool hasRoom() const { return count_ < chunks_.size() * kChunk; }
  LmqRow& append() {  // after reserve(); all zero
    LmqRow& row = (*this)[count_++];
    row = LmqRow();
    return row;
  }
  void clear();

 private:
  std::vector<std::unique_ptr<LmqRow[]>> chunks_;
  uint64_t count_ = 0;
};

}  // namespace lmq
