// Batches: many records with one lock, one place in the log and one first word that makes them
// visible. Apart from append(), which stays as short as it is.
#include <new>

#include "bytes.h"
#include "store.h"

namespace lmq {

struct Store::BatchRoom {
  std::vector<record::Measure> measures;
  size_t totalSize = 0;
  size_t entries = 0;  // in light queues
  size_t newNames = 0;
  size_t newNameBytes = 0;
  size_t keys = 0;
};

namespace {

record::DispatchPart partOf(const Store::BatchMessage& one) {
  return one.plan ? one.plan->part() : record::DispatchPart();
}

}  // namespace

// Everything of a batch that may refuse it or take memory.
Status Store::measureBatch(uint32_t topic, int32_t queueId, std::vector<BatchMessage>& batch,
                           BatchRoom* room) try {
  const StoreOptions& options = parts_->options;
  DispatchPlan::Ahead ahead;
  size_t bodies = 0;
  room->measures.resize(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    Message& message = batch[i].message;
    message.topic = parts_->queues->topicName(topic);
    message.queueId = queueId;
    if (!sys_flag::isQueued(message.sysFlag)) {
      return Status(Code::kInvalidMessage, "A message of a batch is part of a transaction.");
    }
    if (batch[i].plan) {
      DispatchPlan& plan = *batch[i].plan;
      size_t ignored = 0;
      plan.assign(*parts_->lmq, &ignored, &ignored);
      for (const DispatchPlan::Target& target : plan.targets()) {
        if (target.queue != LmqIndex::kNone || ahead.contains(target.name)) continue;
        ++room->newNames;
        room->newNameBytes += target.name.size();
      }
      plan.assignBehind(&ahead);
      room->entries += plan.targets().size();
    }
    record::Measure& measure = room->measures[i];
    LMQ_TRY(record::measure(message, partOf(batch[i]), options.crcProperty, options.maxMessageSize,
                            &measure));
    if (parts_->keys) room->keys += record::findKeys(message).count();
    bodies += message.body.size();
    room->totalSize += measure.totalSize;
  }
  if (bodies > options.maxMessageSize) {
    return Status(Code::kBodyTooLarge, "The bodies of the batch are larger than one may be.")
        .offset(static_cast<int64_t>(bodies))
        .limit(static_cast<int64_t>(options.maxMessageSize));
  }
  const uint64_t most = options.maxLmqQueues;
  if (room->newNames > 0 && most > 0 && parts_->lmq->queueCount() + room->newNames > most) {
    return Status(Code::kLmqLimit, "The batch would create more light queues than allowed.")
        .offset(static_cast<int64_t>(parts_->lmq->queueCount()))
        .limit(static_cast<int64_t>(most));
  }
  return {};
} catch (const std::bad_alloc&) {
  return Status(Code::kNoMemory, "No memory for a batch.");
}

Status Store::appendBatch(uint32_t topic, int32_t queueId, std::vector<BatchMessage>& batch) {
  const std::lock_guard<std::mutex> guard(lock_);
  LMQ_TRY(checkWritable());
  LMQ_TRY(checkRoom());
  if (undispatched_ >= 0) LMQ_TRY(retryDispatch());
  CommitLog& log = *parts_->log;
  ConsumeQueueTable& queues = *parts_->queues;
  if (topic >= queues.topicCount() || queueId < 0 || batch.empty() || batch.size() > kMaxBatch) {
    return Status(Code::kInternal, "There is no such topic, queue or batch.");
  }
  BatchRoom room;
  LMQ_TRY(measureBatch(topic, queueId, batch, &room));

  // Room first: a refusal from here to place() leaves everything as it was.
  record::Stamp stamp;
  LMQ_TRY(log.reserve(room.totalSize, &stamp.physicalOffset));
  ConsumeQueue* queue = queues.find(topic, queueId);
  if (queue == nullptr) queue = queues.create(topic, queueId);
  if (queue == nullptr) return Status(Code::kNoMemory, "No memory for a queue.");
  stamp.queueOffset = queue->maxOffset();
  LMQ_TRY(queue->reserveNext(static_cast<int64_t>(batch.size())));
  if (room.entries > 0) {
    LMQ_TRY(parts_->lmq->reserve(room.entries, room.newNames, room.newNameBytes));
  }

  if (room.keys > 0) LMQ_TRY(parts_->keys->reserve(room.keys));

  const int64_t now = clock_ >= 0 ? clock_ : wallClockMillis();
  stamp.storeTimestamp = now > lastTimestamp_ ? now : lastTimestamp_;
  const int64_t start = stamp.physicalOffset;
  uint8_t* window = nullptr;
  LMQ_TRY(log.place(start, room.totalSize, &window));
  for (size_t i = 0; i < batch.size(); ++i) {
    Message& message = batch[i].message;
    const record::Measure& measure = room.measures[i];
    if (message.bornTimestamp == Message::kAtStore) message.bornTimestamp = stamp.storeTimestamp;
    uint8_t* const at = window + (stamp.physicalOffset - start);
    record::encode(message, partOf(batch[i]), measure, stamp, at);
    // Nobody gets here before the first word of the first record is there.
    if (i > 0) store<uint32_t>(at, record::firstWord(measure));
    batch[i].stored = {stamp.physicalOffset, stamp.queueOffset,
                       static_cast<int64_t>(measure.totalSize), stamp.storeTimestamp};
    stamp.physicalOffset += static_cast<int64_t>(measure.totalSize);
    ++stamp.queueOffset;
  }
  LMQ_TRY(log.commit(start, room.totalSize, window, record::firstWord(room.measures[0])));

  lastTimestamp_ = stamp.storeTimestamp;
  lastPosition_ = batch.back().stored.physicalOffset;
  makeRoomBehind(start);
  Status status = dispatchBatch(*queue, batch);
  if (!status.ok() && listener_.fault) listener_.fault(status);
  return {};
}

// If it fails, what is left is dispatched before anything is appended behind it.
Status Store::dispatchBatch(ConsumeQueue& queue, std::vector<BatchMessage>& batch) {
  const std::vector<int64_t>& levels = parts_->options.delayLevels;
  for (BatchMessage& one : batch) {
    const Appended& stored = one.stored;
    const Keys keys = record::findKeys(one.message);
    const Unit unit{
        stored.physicalOffset, static_cast<int32_t>(stored.size),
        record::tagsCode(one.message, keys, stored.storeTimestamp, levels.data(), levels.size())};
    Status status = queue.put(unit, stored.queueOffset);
    if (status.ok() && one.plan) {
      // Queues may have come into being with a message before it; its offsets stay what they are.
      size_t ignored = 0;
      one.plan->assign(*parts_->lmq, &ignored, &ignored);
      status = one.plan->dispatch(*parts_->lmq, unit);
    }
    if (status.ok() && parts_->keys) {
      status = parts_->keys->add(record::javaHash(one.message.topic), keys, stored.physicalOffset,
                                 stored.storeTimestamp);
    }
    if (!status.ok()) {
      undispatched_ = stored.physicalOffset;
      return status;
    }
  }
  return {};
}

}  // namespace lmq
