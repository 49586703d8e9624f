// Consumer offsets in memory: numbered names, and (group, topic, queue id) -> offset. About 50
// bytes a pair beside the names; setting a pair that exists allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lmq {

// From a hash to numbers, by open addressing; the numbers' owner compares and hashes.
class NumberIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  template <typename IsIt>
  uint32_t find(size_t hash, IsIt isIt) const {
    if (slots_.empty()) return kNone;
    for (size_t at = hash & mask();; at = (at + 1) & mask()) {
      if (slots_[at] == kNone || isIt(slots_[at])) return slots_[at];
    }
  }
  // `hashOf` tells the hash of a number that is in.
  template <typename HashOf>
  void insert(uint32_t number, HashOf hashOf) {
    if (2 * (used_ + 1) > slots_.size()) grow(hashOf);
    place(number, hashOf(number));
    used_++;
  }
  template <typename HashOf>
  void remove(uint32_t number, HashOf hashOf) {
    size_t hole = hashOf(number) & mask();
    while (slots_[hole] != number) hole = (hole + 1) & mask();
    // Whatever was pushed behind its place by this one moves up.
    for (size_t at = (hole + 1) & mask(); slots_[at] != kNone; at = (at + 1) & mask()) {
      const size_t home = hashOf(slots_[at]) & mask();
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = kNone;
    used_--;
  }

 private:
  size_t mask() const { return slots_.size() - 1; }
  void place(uint32_t number, size_t hash) {
    size_t at = hash & mask();
    while (slots_[at] != kNone) at = (at + 1) & mask();
    slots_[at] = number;
  }
  template <typename HashOf>
  void grow(HashOf hashOf) {
    std::vector<uint32_t> old = std::move(slots_);
    slots_.assign(old.empty() ? 16 : 2 * old.size(), kNone);
    for (const uint32_t number : old) {
      if (number != kNone) place(number, hashOf(number));
    }
  }

  std::vector<uint32_t> slots_;  // a power of 2, at most half of it used
  size_t used_ = 0;
};

class ConsumerOffsetTable {
 public:
  static constexpr uint32_t kNone = NumberIndex::kNone;
  struct Pair {
    uint32_t group = kNone;  // kNone: free
    uint32_t topic = 0;
    int32_t queueId = 0;
    uint32_t next = kNone;  // the next pair of the topic, or the next that is free
    int64_t offset = 0;
  };

  // Names -----------------------------------------------------------------------------------------
  uint32_t findName(std::string_view name) const;  // kNone: it has no number
  uint32_t nextNumber();                           // the one that a new name takes
  // Gives a free number, or the first that was never given, its name; an empty name leaves it free.
  // False if that cannot be: the number is taken or too high, or the name has one.
  bool define(uint32_t number, std::string_view name);
  // The same of a log that has lost records: whatever had the number or the name before goes, with
  // its queues, since only their removal can have freed it. False if the number is not below `end`,
  // or too many before it would have been lost.
  bool redefine(uint32_t number, std::string_view name, uint64_t end);
  size_t nameCount() const { return names_.size(); }
  std::string_view name(uint32_t number) const;  // empty: the number is free
  bool isGroup(uint32_t number) const { return names_[number].asGroup > 0; }

  // Pairs -----------------------------------------------------------------------------------------
  int64_t find(uint32_t group, uint32_t topic, int32_t queueId) const;  // -1: none
  // False if either number has no name.
  bool set(uint32_t group, uint32_t topic, int32_t queueId, int64_t offset);
  // Drops the pairs of a queue, and names that no pair has any more.
  void remove(uint32_t topic, int32_t queueId);
  size_t pairCount() const { return pairs_.size(); }  // free ones included
  size_t livePairs() const { return livePairs_; }
  size_t liveNameBytes() const { return liveNameBytes_; }
  const Pair& pair(size_t number) const { return pairs_[number]; }

 private:
  struct Name {
    uint64_t at = 0;  // in text_
    uint32_t size = 0;
    uint32_t asGroup = 0;    // pairs that have it so
    uint32_t pairs = kNone;  // the first of this topic
  };

  static size_t hashOf(std::string_view name);
  static size_t hashOf(uint32_t group, uint32_t topic, int32_t queueId);
  size_t hashOfPair(uint32_t number) const;
  uint32_t findPair(uint32_t group, uint32_t topic, int32_t queueId) const;
  void forget(uint32_t number);   // removes every queue that it is in
  void release(uint32_t number);  // a name that no pair has
  void packText();
  bool hasName(uint32_t number) const { return number < names_.size() && names_[number].size > 0; }

  std::string text_;
  std::vector<Name> names_;
  std::vector<uint32_t> freeNames_;  // and some that have been taken since
  NumberIndex nameIndex_;
  std::vector<Pair> pairs_;
  uint32_t freePair_ = kNone;
  NumberIndex pairIndex_;
  size_t livePairs_ = 0;
  size_t liveNameBytes_ = 0;
};

}  // namespace lmq
