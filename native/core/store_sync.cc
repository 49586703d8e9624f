// What is on the device: the log at once for puts and every flush interval, queues and index every
// minute or 64 MiB of log (design "Files and durability").
#include <algorithm>

#include "recovery.h"
#include "store.h"

namespace lmq {

namespace {

// The light-queue table is written once the entries since its last snapshot pass this, or a quarter
// of its queues.
constexpr uint64_t kSnapshotEntries = 1'000'000;

// There was no room to write down how far syncs have come. What is synced stays so, an older note
// is safe, and the next sync writes it again.
bool isOutOfRoom(const Status& status) { return status.code() == Code::kDiskFull; }

}  // namespace

void Store::fail(const Status& status) {
  const Status::Facts& cause = status.facts();
  Status failure = Status(Code::kSyncFailed, "A sync failed: " + cause.message).at(cause.path);
  {
    const std::lock_guard<std::mutex> guard(lock_);
    if (failed_.load(std::memory_order_relaxed)) return;
    failure_ = failure;
    failed_.store(true, std::memory_order_release);
  }
  if (listener_.syncFailed) listener_.syncFailed(failure);
}

void Store::flushWork(bool requested) {
  const std::lock_guard<std::mutex> guard(syncLock_);
  if (failed_.load(std::memory_order_acquire)) return;
  Status status = logEnd() > syncedPosition() || requested ? syncLog() : Status();
  const bool due = logEnd() - derivedSynced_ >= kDerivedBytes ||
                   wallClockMillis() - derivedSyncedAt_ >= parts_->options.derivedInterval;
  if (status.ok()) status = syncOffsets(requested);
  if (status.ok() && due) status = syncDerived();
  if (status.ok()) {
    const Status expired = expireSurplus();  // tried again next time, and no data is in danger
    if (!expired.ok() && listener_.fault && !failed_) listener_.fault(expired);
  }
  if (!status.ok() && !isOutOfRoom(status)) fail(status);
}

Status Store::syncLog() {
  const int64_t from = syncedPosition();
  const int64_t to = logEnd();
  if (to > from) {
    LMQ_TRY(parts_->log->files().sync(static_cast<uint64_t>(from), static_cast<uint64_t>(to)));
    parts_->checkpoint.logSynced = to;
    Status noted = parts_->dir.writeOwnCheckpoint(&parts_->checkpoint);
    if (!noted.ok() && !isOutOfRoom(noted)) return noted;
    synced_.store(to, std::memory_order_release);
  }
  if (listener_.synced) listener_.synced(to);
  return {};
}

// After the log: an offset leads to messages that are there. Puts that wait do not wait for it.
Status Store::syncOffsets(bool requested) {
  const int64_t now = wallClockMillis();
  if (requested && now - offsetsSyncedAt_ < parts_->options.flushInterval) return {};
  offsetsSyncedAt_ = now;
  return parts_->offsets->isDirty() ? parts_->offsets->sync() : Status();
}

Status Store::syncDerived() {
  struct Dirty {
    ConsumeQueue* queue;
    int64_t to;
  };
  std::vector<Dirty> dirty;
  int64_t position = 0;
  uint64_t entries = 0;
  int64_t timestamp = 0;
  int64_t lastPosition = 0;
  int64_t units = 0;
  bool snapshotIsDue = false;
  KeyIndex::Unsynced keys;
  {
    const std::lock_guard<std::mutex> guard(lock_);
    if (undispatched_ >= 0) return {};  // a record waits for its dispatch: not yet
    position = logEnd();
    entries = parts_->lmq->entryCount();
    timestamp = lastTimestamp_;
    lastPosition = lastPosition_;
    units = parts_->queues->unitCount();
    if (position > derivedSynced_ && parts_->keys) keys = parts_->keys->unsynced();
    snapshotIsDue = parts_->lmq->entriesSinceSnapshot() >
                    std::max(kSnapshotEntries, parts_->lmq->queueCount() / 4);
    for (const auto& queue : parts_->queues->all()) {
      if (queue->isDirty(queue->maxOffset())) dirty.push_back({queue.get(), queue->maxOffset()});
    }
  }
  if (position > derivedSynced_) {
    LMQ_TRY(syncLog());  // queues never get ahead of the log
    for (const Dirty& one : dirty) LMQ_TRY(one.queue->sync(one.to));
    LMQ_TRY(parts_->lmq->sync(entries));
    OwnCheckpoint& own = parts_->checkpoint;
    if (parts_->keys) {
      LMQ_TRY(parts_->keys->sync(keys));
      own.keysSynced = position;
      own.lastKeyed = keys.lastOffset;
    }
    own.derivedSynced = position;
    own.lmqEntries = entries;
    own.lastTimestamp = timestamp;
    own.queueUnits = units;
    Result<RecordIdentity> last = identify(*parts_, lastPosition);
    if (!last.ok()) return last.takeStatus();
    own.last = *last;
    LMQ_TRY(parts_->dir.writeOwnCheckpoint(&own));
    LMQ_TRY(parts_->dir.syncOwnCheckpoint());
    BrokerCheckpoint broker;
    broker.physicMsgTimestamp = broker.logicsMsgTimestamp = timestamp;
    broker.indexMsgTimestamp = keys.fullTimestamp;  // RocketMQ's moves with full files alone
    broker.confirmPhyOffset = broker.logicsPhysicalOffset = std::max<int64_t>(lastPosition, 0);
    LMQ_TRY(parts_->dir.writeBrokerCheckpoint(broker));
    derivedSynced_ = position;
    if (snapshotIsDue) LMQ_TRY(writeLmqSnapshot());
  }
  derivedSyncedAt_ = wallClockMillis();
  return {};
}

Status Store::writeLmqSnapshot() {
  int64_t position = 0;
  int64_t lastPosition = 0;
  {
    const std::lock_guard<std::mutex> guard(lock_);
    position = logEnd();
    lastPosition = lastPosition_;
  }
  Result<RecordIdentity> last = identify(*parts_, lastPosition);
  if (!last.ok()) return last.takeStatus();
  return parts_->lmq->writeSnapshot(position, *last, [this](const std::function<void()>& piece) {
    const std::lock_guard<std::mutex> guard(lock_);
    piece();
  });
}

Status Store::flush() {
  {
    const std::lock_guard<std::mutex> guard(lock_);
    LMQ_TRY(checkWritable());
  }
  const std::lock_guard<std::mutex> guard(syncLock_);
  Status status = syncLog();
  if (status.ok()) status = syncOffsets(false);
  if (status.ok()) status = syncDerived();
  if (status.ok() || isOutOfRoom(status)) return status;
  fail(status);
  return failure_;  // what every later write says, too
}

Status Store::close() {
  {
    const std::lock_guard<std::mutex> guard(lock_);
    if (closed_) return {};
    closed_ = true;
  }
  if (flusher_) flusher_->stop();
  const std::lock_guard<std::mutex> guard(syncLock_);
  if (parts_->options.readOnly) return {};
  if (failed_.load(std::memory_order_acquire)) return failure_;
  const auto finish = [this]() -> Status {
    if (undispatched_ >= 0) LMQ_TRY(retryDispatch());
    LMQ_TRY(syncLog());
    LMQ_TRY(syncOffsets(false));
    LMQ_TRY(syncDerived());
    LMQ_TRY(writeLmqSnapshot());
    OwnCheckpoint& own = parts_->checkpoint;
    own.clean = true;
    own.logEnd = own.logSynced = own.derivedSynced = logEnd();
    own.lmqEntries = parts_->lmq->entryCount();
    own.lastTimestamp = lastTimestamp_;
    own.queueUnits = parts_->queues->unitCount();
    if (parts_->keys) {
      own.keysSynced = logEnd();
      own.lastKeyed = parts_->keys->lastPhysicalOffset();
    }
    Result<RecordIdentity> last = identify(*parts_, lastPosition_);
    if (!last.ok()) return last.takeStatus();
    own.last = *last;
    LMQ_TRY(parts_->dir.writeOwnCheckpoint(&own));
    LMQ_TRY(parts_->dir.syncOwnCheckpoint());
    return parts_->dir.removeAbort();
  };
  Status status = finish();
  if (!status.ok()) fail(status);
  return status;
}

}  // namespace lmq
