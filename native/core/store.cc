#include "store.h"

#include "recovery_lmq.h"

namespace lmq {

Store::Store(StoreOptions options, StoreListener listener)
    : parts_(std::make_unique<StoreParts>(std::move(options))),
      listener_(std::move(listener)),
      plans_(kPlanSlots) {}

Result<std::unique_ptr<Store>> Store::open(StoreOptions options, StoreListener listener) {
  std::unique_ptr<Store> store(new Store(std::move(options), std::move(listener)));
  LMQ_TRY(store->start());
  return store;
}

Status Store::start() {
  StoreParts& parts = *parts_;
  LMQ_TRY(parts.prepare());
  RecoveryPlan plan;
  LMQ_TRY(planRecovery(parts, &plan));
  const Result<uint64_t> memory = physicalMemory();
  physicalMemory_ = memory.ok() ? *memory : 0;
  if (parts.options.readOnly) {
    LMQ_TRY(applyToReader(parts, plan, &report_));
    synced_ = parts.log->endPosition();
    return loadOffsets();
  }
  LMQ_TRY(applyRecovery(parts, plan, &report_));
  synced_ = parts.checkpoint.logSynced;
  derivedSynced_ = parts.checkpoint.derivedSynced;
  derivedSyncedAt_ = wallClockMillis();
  lastTimestamp_ = plan.lastTimestamp;
  lastPosition_ = plan.lastPosition;
  if (!parts.options.deleteOldest) parts.log->setMaxBytes(parts.options.maxStoreBytes);
  LMQ_TRY(loadOffsets());
  // What recovery accepted may only be in memory yet; a SYNC_FLUSH store would not show it.
  if (parts.options.syncFlush) LMQ_TRY(syncLog());
  flusher_ = std::make_unique<Flusher>(parts.options.flushInterval,
                                       [this](bool requested) { flushWork(requested); });
  if (plan.logEnd > synced_) flusher_->request();
  return {};
}

Store::~Store() {
  if (flusher_) flusher_->stop();
}

Status Store::checkWritable() const {
  if (closed_) return Status(Code::kClosed, "The store is closed.").at(parts_->dir.root());
  if (parts_->options.readOnly) {
    return Status(Code::kReadOnly, "The store was opened for reading.").at(parts_->dir.root());
  }
  if (failed_.load(std::memory_order_acquire)) return failure_;
  return {};
}

Result<uint32_t> Store::topic(std::string_view name) {
  const std::lock_guard<std::mutex> guard(lock_);
  LMQ_TRY(checkWritable());
  if (!isSafeName(name) || name.starts_with(kLmqPrefix)) {
    return Status(Code::kInvalidTopic, "The topic cannot name a queue.");
  }
  if (parts_->isBatchTopic(name)) {
    return Status(Code::kUnsupported,
                  "The topic has a queue of inner batches, which are only read.")
        .at(parts_->dir.batchConsumeQueue() + "/" + std::string(name));
  }
  return parts_->queues->topic(name);
}

Status Store::setPlan(size_t slot, std::string_view names, size_t count, bool writeNames) {
  const std::lock_guard<std::mutex> guard(lock_);
  if (slot >= kPlanSlots) {
    return Status(Code::kInternal, "There is no such plan.").offset(static_cast<int64_t>(slot));
  }
  if (!plans_[slot]) plans_[slot] = std::make_unique<DispatchPlan>();
  plans_[slot]->parse(names, count, writeNames);
  return {};
}

Status Store::append(uint32_t topic, Message& message, int64_t planSlot, Appended* out) {
  const std::lock_guard<std::mutex> guard(lock_);
  LMQ_TRY(checkWritable());
  LMQ_TRY(checkRoom());
  if (undispatched_ >= 0) LMQ_TRY(retryDispatch());
  StoreParts& parts = *parts_;
  CommitLog& log = *parts.log;
  LmqIndex& index = *parts.lmq;
  if (topic >= parts.queues->topicCount() || message.queueId < 0) {
    return Status(Code::kInternal, "There is no such topic or queue.");
  }
  message.topic = parts.queues->topicName(topic);
  const bool queued = sys_flag::isQueued(message.sysFlag);

  DispatchPlan* plan = nullptr;
  size_t newNames = 0;
  size_t newNameBytes = 0;
  record::DispatchPart part;
  if (planSlot >= 0) {
    if (static_cast<size_t>(planSlot) >= kPlanSlots || !plans_[static_cast<size_t>(planSlot)]) {
      return Status(Code::kInternal, "There is no such plan.").offset(planSlot);
    }
    plan = plans_[static_cast<size_t>(planSlot)].get();
    if (queued) plan->assign(index, &newNames, &newNameBytes);
    part = plan->part();
    part.present = queued;  // prepared and rolled-back messages take no offset (spec Q19)
    const uint64_t most = parts.options.maxLmqQueues;
    if (newNames > 0 && most > 0 && index.queueCount() + newNames > most) {
      return Status(Code::kLmqLimit, "The message would create more light queues than allowed.")
          .offset(static_cast<int64_t>(index.queueCount()))
          .limit(static_cast<int64_t>(most));
    }
  }
  record::Measure measure;
  LMQ_TRY(record::measure(message, part, parts.options.crcProperty, parts.options.maxMessageSize,
                          &measure));

  // Room first: a refusal from here to place() leaves everything as it was.
  record::Stamp stamp;
  LMQ_TRY(log.reserve(measure.totalSize, &stamp.physicalOffset));
  ConsumeQueue* queue = nullptr;
  if (queued) {
    queue = parts.queues->find(topic, message.queueId);
    if (queue == nullptr) queue = parts.queues->create(topic, message.queueId);
    if (queue == nullptr) return Status(Code::kNoMemory, "No memory for a queue.");
    stamp.queueOffset = queue->maxOffset();
    LMQ_TRY(queue->reserve(stamp.queueOffset));
  }
  const Keys keys = record::findKeys(message);
  const bool indexed =
      parts.keys != nullptr && sys_flag::isIndexed(message.sysFlag) && !keys.empty();
  if (indexed) LMQ_TRY(parts.keys->reserve(keys.count()));
  if (plan != nullptr && queued)
    LMQ_TRY(index.reserve(plan->targets().size(), newNames, newNameBytes));

  const int64_t now = clock_ >= 0 ? clock_ : wallClockMillis();
  stamp.storeTimestamp = now > lastTimestamp_ ? now : lastTimestamp_;  // never back (spec Q52)
  if (message.bornTimestamp == Message::kAtStore) message.bornTimestamp = stamp.storeTimestamp;
  uint8_t* window = nullptr;
  LMQ_TRY(log.place(stamp.physicalOffset, measure.totalSize, &window));
  record::encode(message, part, measure, stamp, window);
  LMQ_TRY(log.commit(stamp.physicalOffset, measure.totalSize, window, record::firstWord(measure)));

  // The record is in the log: only now offsets rise.
  lastTimestamp_ = stamp.storeTimestamp;
  lastPosition_ = stamp.physicalOffset;
  out->physicalOffset = stamp.physicalOffset;
  out->queueOffset = stamp.queueOffset;
  out->size = static_cast<int64_t>(measure.totalSize);
  out->storeTimestamp = stamp.storeTimestamp;
  makeRoomBehind(stamp.physicalOffset);
  Status status;
  if (queued) {
    const std::vector<int64_t>& levels = parts.options.delayLevels;
    const Unit unit{
        stamp.physicalOffset, static_cast<int32_t>(measure.totalSize),
        record::tagsCode(message, keys, stamp.storeTimestamp, levels.data(), levels.size())};
    status = queue->put(unit, stamp.queueOffset);
    if (status.ok() && plan != nullptr) status = plan->dispatch(index, unit);
  }
  if (status.ok() && indexed) {
    status = parts.keys->add(parts.queues->topicHash(topic), keys, stamp.physicalOffset,
                             stamp.storeTimestamp);
  }
  // Room was reserved, so only a write by position can have failed here. The record is in the log:
  // it is dispatched before anything is appended behind it.
  if (!status.ok()) {
    undispatched_ = stamp.physicalOffset;
    if (listener_.fault) listener_.fault(status);
  }
  return {};
}

Status Store::retryDispatch() {
  LMQ_TRY(redispatch(*parts_, undispatched_, undispatched_, parts_->log->endPosition(), &report_));
  undispatched_ = -1;
  return {};
}

Result<bool> Store::refresh() {
  const std::lock_guard<std::mutex> guard(lock_);
  if (closed_) return Status(Code::kClosed, "The store is closed.").at(parts_->dir.root());
  if (!parts_->options.readOnly) return false;
  const Result<bool> more = refreshReader(*parts_);
  if (more.ok() && *more) synced_ = parts_->log->endPosition();
  return more;
}

bool Store::isOutdated() {
  const std::lock_guard<std::mutex> guard(lock_);
  return parts_->outdated;
}

Status Store::checkGeneration(uint64_t generation) {
  if (generation == generation_ && !isOutdated()) return {};
  return Status(Code::kBusy, "The writer has begun log or light queues anew meanwhile.")
      .at(parts_->dir.root());
}

Status Store::reload() {
  const std::lock_guard<std::mutex> guard(lock_);
  auto parts = std::make_unique<StoreParts>(parts_->options);
  LMQ_TRY(parts->prepare());
  RecoveryPlan plan;
  LMQ_TRY(planRecovery(*parts, &plan));
  RecoveryReport report;
  LMQ_TRY(applyToReader(*parts, plan, &report));
  parts->offsets = std::move(parts_->offsets);
  parts_ = std::move(parts);
  synced_ = parts_->log->endPosition();
  ++generation_;
  return {};
}

}  // namespace lmq
