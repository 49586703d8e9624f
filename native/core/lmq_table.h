// From a name's hash to queue numbers: open addressing in small segments (extendible hashing).
//
// The top bits of a hash choose the segment through a directory, the bits below them the slot where
// linear probing begins. A segment that is three quarters full is split in two by one more bit, so
// that growing never moves more than kSegment slots at once, at any size of the whole. A segment
// that splitting cannot help (equal hashes) doubles instead.
//
// Slot: hash in the upper half, queue number + 1 in the lower; 0 is free. Nothing is ever removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "status.h"

namespace lmq {

// Of a name. Seeded by the directory's own random number, so that names which collide in one store
// do not in another, and nobody can choose names that do.
uint32_t lmqNameHash(uint64_t seed, std::string_view name);

class LmqTable {
 public:
  static constexpr uint64_t kNone = ~uint64_t{0};
  static constexpr size_t kSegment = 4096;  // slots at which a segment splits
  static constexpr size_t kFirst = 64;      // slots of the first segment
  static constexpr uint8_t kMaxDepth = 18;  // bits that choose a segment: enough for 800 M queues

  LmqTable();

  // Empty, with segments for `expected` numbers.
  Status reset(uint64_t expected);
  // Makes up for growth that memory was refused for, and room for `more` numbers. kNoMemory.
  Status reserve(uint64_t more);
  // After reserve(). False, with nothing changed, only if memory is refused and a segment has no
  // slot left, which takes a thousand numbers of one segment since reserve().
  bool insert(uint32_t hash, uint64_t queue);

  // The number with this hash of which `isIt` is true.
  template <typename IsIt>
  uint64_t find(uint32_t hash, IsIt isIt) const {
    const Segment& segment = segmentOf(hash);
    for (size_t at = startOf(hash, segment);; at = (at + 1) & segment.mask) {
      const uint64_t slot = segment.slots[at];
      if (slot == 0) return kNone;
      if (slot >> 32 == hash && isIt((slot & kLow) - 1)) return (slot & kLow) - 1;
    }
  }
  // The first number with this hash, whatever its name.
  uint64_t likely(uint32_t hash) const {
    return find(hash, [](uint64_t) { return true; });
  }
  void prefetch(uint32_t hash) const {
    const Segment& segment = segmentOf(hash);
    __builtin_prefetch(&segment.slots[startOf(hash, segment)]);
  }

  uint64_t count() const { return count_; }
  size_t slotCount() const { return slotCount_; }

 private:
  static constexpr uint64_t kLow = 0xFFFFFFFF;

  struct Segment {
    std::unique_ptr<uint64_t[]> slots;
    size_t mask = 0;
    size_t used = 0;
    uint8_t depth = 0;  // leading bits that all its hashes share
  };

  Segment& segmentOf(uint32_t hash) const {
    return *directory_[static_cast<size_t>(uint64_t{hash} << depth_ >> 32)];
  }
  static size_t startOf(uint32_t hash, const Segment& segment) { return hash & segment.mask; }
  static bool isFull(const Segment& segment) { return segment.used > segment.mask / 4 * 3; }
  static void place(Segment& segment, uint64_t slot);

  bool grow(uint32_t hash);  // the hash's segment, until it is not full; false: no memory
  bool split(uint32_t hash);
  bool enlarge(Segment& segment);
  void addSegment(size_t slots, uint8_t depth);

  std::vector<Segment*> directory_;                 // 2^depth_ of them
  std::vector<std::unique_ptr<Segment>> segments_;  // owned
  uint8_t depth_ = 0;
  uint64_t count_ = 0;
  size_t slotCount_ = 0;
  bool owesGrowth_ = false;  // memory was refused to a full segment
};

}  // namespace lmq
