// Consumer offsets of one moment for a broker: lowered to where the exported queues end, and in an
// order in which its files can be written front to back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "consumer_offsets.h"

namespace lmq {

class ExportedOffsets {
 public:
  ExportedOffsets() = default;
  explicit ExportedOffsets(ConsumerOffsetTable table) : table_(std::move(table)) {}

  // An exported queue's end; a queue of which this is not said has nothing there.
  void endsAt(std::string_view topic, int32_t queueId, int64_t end);
  // Once all ends are said: lowers and sorts.
  void settle();

  // A page: groups that are no light queues first, the pairs of a topic and group together.
  // `cursor` is 0 at first; false: no more.
  bool list(uint64_t* cursor, size_t limit, std::vector<ConsumerOffsets::Offset>* out) const;
  int64_t lowered() const { return lowered_; }
  const std::string& firstLowered() const { return firstLowered_; }

 private:
  int64_t endOf(uint32_t topic, int32_t queueId) const;

  ConsumerOffsetTable table_;
  std::unordered_map<uint64_t, int64_t> ends_;  // of queues that a pair is in
  std::vector<uint32_t> order_;                 // numbers of pairs
  int64_t lowered_ = 0;
  std::string firstLowered_;
};

}  // namespace lmq
