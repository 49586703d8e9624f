#include "lmq_table.h"

#include <algorithm>
#include <new>

#include "bytes.h"

namespace lmq {

namespace {

// Multiplies to 128 bits and folds the halves: every bit of the input reaches every bit.
uint64_t mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

constexpr uint64_t kOddA = 0x9E3779B97F4A7C15;
constexpr uint64_t kOddB = 0xC2B2AE3D27D4EB4F;

// Up to eight bytes; the length is mixed in elsewhere.
uint64_t loadUpTo8(const uint8_t* at, size_t size) {
  if (size >= 4) return uint64_t{load<uint32_t>(at)} << 32 | load<uint32_t>(at + size - 4);
  if (size == 0) return 0;
  return uint64_t{at[0]} << 16 | uint64_t{at[size / 2]} << 8 | at[size - 1];
}

Status noMemory() { return Status(Code::kNoMemory, "No memory for the table of light queues"); }

}  // namespace

// Both factors of every product hold a secret, so that no text makes one of them zero on purpose,
// and the length is none that the text could make up for.
uint32_t lmqNameHash(uint64_t seed, std::string_view name) {
  const uint8_t* at = reinterpret_cast<const uint8_t*>(name.data());
  size_t left = name.size();
  const uint64_t secretA = mix(seed ^ kOddA, kOddB);
  const uint64_t secretB = mix(seed ^ kOddB, kOddA);
  uint64_t hash = secretA;
  for (; left > 16; at += 16, left -= 16) {
    hash = mix(load<uint64_t>(at) ^ hash, load<uint64_t>(at + 8) ^ secretB);
  }
  const uint64_t first = left > 8 ? load<uint64_t>(at) : loadUpTo8(at, left);
  const uint64_t second = left > 8 ? load<uint64_t>(at + left - 8) : 0;
  hash = mix(mix(first ^ hash, second ^ secretB), secretA ^ name.size());
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

LmqTable::LmqTable() {
  addSegment(kFirst, 0);
  directory_.assign(1, segments_[0].get());
}

void LmqTable::addSegment(size_t slots, uint8_t depth) {
  auto segment = std::make_unique<Segment>();
  segment->slots.reset(new Slot[slots]());
  segment->mask = slots - 1;
  segment->depth = depth;
  segments_.push_back(std::move(segment));
  slotCount_ += slots;
}

Status LmqTable::reset(uint64_t expected) {
  try {
    LmqTable fresh;
    uint8_t depth = 0;
    size_t slots = kFirst;
    while (slots < kSegment && expected > slots / 8 * 5) slots *= 2;
    while (depth < kMaxDepth && expected >> depth > kSegment / 8 * 5) depth++;
    if (slots > kFirst) {
      fresh.segments_.clear();
      fresh.directory_.clear();
      fresh.slotCount_ = 0;
      fresh.depth_ = depth;
      for (size_t i = 0; i < size_t{1} << depth; i++) {
        fresh.addSegment(slots, depth);
        fresh.directory_.push_back(fresh.segments_.back().get());
      }
    }
    *this = std::move(fresh);
  } catch (const std::bad_alloc&) {
    return noMemory();
  }
  return {};
}

Status LmqTable::reserve(uint64_t more) {
  if (owesGrowth_) {
    owesGrowth_ = false;
    for (size_t i = 0; i < segments_.size(); i++) {
      const Segment& segment = *segments_[i];
      if (!isFull(segment)) continue;
      const Slot* used = segment.slots.get();
      while (used->number == 0) used++;
      if (!grow(used->hash)) owesGrowth_ = true;
    }
    if (owesGrowth_) return noMemory();
  }
  // A larger table has a thousand free slots in every segment.
  Segment& first = *segments_[0];
  while (segments_.size() == 1 && first.mask + 1 < kSegment &&
         first.used + more > first.mask / 4 * 3) {
    if (!enlarge(first)) return noMemory();
  }
  return {};
}

bool LmqTable::insert(uint32_t hash, uint64_t queue, uint64_t name) {
  Segment& segment = segmentOf(hash);
  if (segment.used >= segment.mask && !grow(hash)) return false;  // one slot always stays free
  place(segmentOf(hash), {hash, static_cast<uint32_t>(queue + 1), name});
  count_++;
  if (isFull(segmentOf(hash)) && !grow(hash)) owesGrowth_ = true;
  return true;
}

void LmqTable::place(Segment& segment, const Slot& slot) {
  size_t at = startOf(slot.hash, segment);
  while (segment.slots[at].number != 0) at = (at + 1) & segment.mask;
  segment.slots[at] = slot;
  segment.used++;
}

bool LmqTable::grow(uint32_t hash) {
  try {
    while (isFull(segmentOf(hash))) {
      Segment& segment = segmentOf(hash);
      const bool splits = segment.mask + 1 >= kSegment && segment.depth < kMaxDepth;
      if (!(splits ? split(hash) : enlarge(segment))) return false;
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

bool LmqTable::enlarge(Segment& segment) {
  const size_t slots = 2 * (segment.mask + 1);
  std::unique_ptr<Slot[]> old(new (std::nothrow) Slot[slots]());
  if (old == nullptr) return false;
  old.swap(segment.slots);
  const size_t oldSlots = segment.mask + 1;
  segment.mask = slots - 1;
  segment.used = 0;
  for (size_t i = 0; i < oldSlots; i++) {
    if (old[i].number != 0) place(segment, old[i]);
  }
  slotCount_ += oldSlots;
  return true;
}

// Allocates everything before it changes anything.
bool LmqTable::split(uint32_t hash) {
  Segment& segment = segmentOf(hash);
  const size_t slots = segment.mask + 1;
  if (segment.depth == depth_) {
    std::vector<Segment*> doubled(2 * directory_.size());
    for (size_t i = 0; i < doubled.size(); i++) doubled[i] = directory_[i / 2];
    directory_.swap(doubled);
    depth_++;
  }
  std::unique_ptr<Slot[]> old(new (std::nothrow) Slot[slots]());
  if (old == nullptr) return false;
  addSegment(slots, segment.depth + 1);
  Segment& upper = *segments_.back();
  old.swap(segment.slots);
  segment.used = 0;
  segment.depth++;

  const size_t entries = size_t{1} << (depth_ - segment.depth);  // of each half
  const size_t shared = static_cast<size_t>(uint64_t{hash} << (segment.depth - 1) >> 32);
  std::fill_n(directory_.begin() + static_cast<ptrdiff_t>((2 * shared + 1) * entries), entries,
              &upper);
  for (size_t i = 0; i < slots; i++) {
    if (old[i].number != 0) place(segmentOf(old[i].hash), old[i]);
  }
  return true;
}

}  // namespace lmq
