// From a name's hash to queues: open addressing in small segments (extendible hashing).
//
// The top bits of a hash choose the segment through a directory, the bits below them the slot where
// linear probing begins. A segment that is three quarters full is split in two by one more bit, so
// that growing never moves more than kSegment slots at once, at any size of the whole. A segment
// that splitting cannot help (equal hashes) doubles instead.
//
// A slot also says where the name is, so that the row and the name are fetched at the same time.
// Nothing is ever removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "status.h"

namespace lmq {

// Of a name. The seed is random, so that nobody can choose names that collide.
uint32_t lmqNameHash(uint64_t seed, std::string_view name);

class LmqTable {
 public:
  static constexpr size_t kSegment = 4096;  // slots at which a segment splits
  static constexpr size_t kFirst = 64;      // slots of the first segment
  static constexpr uint8_t kMaxDepth = 18;  // bits that choose a segment: enough for 800 M queues

  LmqTable();

  struct Slot {
    uint32_t hash = 0;
    uint32_t number = 0;  // of the queue, + 1; 0: the slot is free
    uint64_t name = 0;    // position
    uint64_t queue() const { return uint64_t{number} - 1; }
  };

  // Empty, with segments for `expected` queues.
  Status reset(uint64_t expected);
  // Makes up for growth that memory was refused for, and room for `more` queues. kNoMemory.
  Status reserve(uint64_t more);
  // After reserve(). False, with nothing changed, only if memory is refused and a segment has no
  // slot left, which takes a thousand queues of one segment since reserve().
  bool insert(uint32_t hash, uint64_t queue, uint64_t name);

  // The slot with this hash of which `isIt` is true; nullptr if there is none.
  template <typename IsIt>
  const Slot* find(uint32_t hash, IsIt isIt) const {
    const Segment& segment = segmentOf(hash);
    for (size_t at = startOf(hash, segment);; at = (at + 1) & segment.mask) {
      const Slot& slot = segment.slots[at];
      if (slot.number == 0) return nullptr;
      if (slot.hash == hash && isIt(slot)) return &slot;
    }
  }
  // The first with this hash, whatever its name.
  const Slot* likely(uint32_t hash) const {
    return find(hash, [](const Slot&) { return true; });
  }
  void prefetch(uint32_t hash) const {
    const Segment& segment = segmentOf(hash);
    __builtin_prefetch(&segment.slots[startOf(hash, segment)]);
  }

  uint64_t count() const { return count_; }
  size_t slotCount() const { return slotCount_; }

 private:
  struct Segment {
    std::unique_ptr<Slot[]> slots;
    size_t mask = 0;
    size_t used = 0;
    uint8_t depth = 0;  // leading bits that all its hashes share
  };

  Segment& segmentOf(uint32_t hash) const {
    return *directory_[static_cast<size_t>(uint64_t{hash} << depth_ >> 32)];
  }
  static size_t startOf(uint32_t hash, const Segment& segment) { return hash & segment.mask; }
  static bool isFull(const Segment& segment) { return segment.used > segment.mask / 4 * 3; }
  static void place(Segment& segment, const Slot& slot);

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
