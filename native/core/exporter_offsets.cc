#include "exporter_offsets.h"

#include <algorithm>
#include <tuple>

#include "exporter.h"

namespace lmq {

namespace {

uint64_t keyOf(uint32_t topic, int32_t queueId) {
  return uint64_t{topic} << 32 | static_cast<uint32_t>(queueId);
}

}  // namespace

void ExportedOffsets::endsAt(std::string_view topic, int32_t queueId, int64_t end) {
  const uint32_t number = table_.findName(topic);
  if (number != ConsumerOffsetTable::kNone) ends_[keyOf(number, queueId)] = end;
}

int64_t ExportedOffsets::endOf(uint32_t topic, int32_t queueId) const {
  const auto found = ends_.find(keyOf(topic, queueId));
  return found == ends_.end() ? 0 : found->second;
}

void ExportedOffsets::settle() {
  order_.reserve(table_.livePairs());
  for (size_t i = 0; i < table_.pairCount(); ++i) {
    const ConsumerOffsetTable::Pair pair = table_.pair(i);
    if (pair.group == ConsumerOffsetTable::kNone) continue;
    order_.push_back(static_cast<uint32_t>(i));
    const int64_t end = endOf(pair.topic, pair.queueId);
    if (pair.offset <= end) continue;
    if (lowered_++ == 0) {
      firstLowered_ = std::string(table_.name(pair.group)) + " in queue " +
                      std::to_string(pair.queueId) + " of " + std::string(table_.name(pair.topic));
    }
    table_.set(pair.group, pair.topic, pair.queueId, end);
  }
  ends_ = {};
  std::vector<bool> isLight(table_.nameCount());
  for (uint32_t i = 0; i < table_.nameCount(); ++i) {
    isLight[i] = table_.name(i).starts_with(kLmqPrefix);
  }
  const auto placeOf = [&](uint32_t number) {
    const ConsumerOffsetTable::Pair& pair = table_.pair(number);
    return std::make_tuple(bool{isLight[pair.group]}, pair.topic, pair.group, pair.queueId);
  };
  std::sort(order_.begin(), order_.end(),
            [&](uint32_t a, uint32_t b) { return placeOf(a) < placeOf(b); });
}

bool ExportedOffsets::list(uint64_t* cursor, size_t limit,
                           std::vector<ConsumerOffsets::Offset>* out) const {
  for (; *cursor < order_.size() && out->size() < limit; ++*cursor) {
    const ConsumerOffsetTable::Pair& pair = table_.pair(order_[static_cast<size_t>(*cursor)]);
    out->push_back({std::string(table_.name(pair.group)), std::string(table_.name(pair.topic)),
                    pair.queueId, pair.offset});
  }
  return *cursor < order_.size();
}

// Before the border: no offset passes what lies below it.
Status Exporter::takeOffsets() {
  ConsumerOffsets& offsets = store_.offsets();
  LMQ_TRY(offsets.refresh());
  if (forBroker()) offsets_ = ExportedOffsets(offsets.table());
  return kind_ == Kind::kSnapshot && !parts().isForeign() ? offsets.copyTo(to_.offsets())
                                                          : Status();
}

// Ends of queues that are not written queue by queue.
void Exporter::noteKeptEnds() {
  for (const auto& queue : parts().batchQueues) {
    offsets_.endsAt(queue->topic(), queue->queueId(), queue->maxOffset());
  }
  if (copies()) return;
  for (const auto& queue : parts().queues->all()) {
    offsets_.endsAt(queue->topic(), queue->queueId(), queue->maxOffset());
  }
  progress_.topicQueues = static_cast<int64_t>(parts().queues->all().size());
}

Status Exporter::stepOffsets() {
  offsets_.settle();
  if (offsets_.lowered() > 0) {
    trouble("offsetAhead", offsets_.firstLowered());
    progress_.troubles.back().count = offsets_.lowered();
  }
  phase_ = Phase::kEnd;
  return {};
}

}  // namespace lmq
