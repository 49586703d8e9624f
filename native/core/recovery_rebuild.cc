#include "recovery_rebuild.h"

#include <algorithm>

namespace lmq {

Status beginRebuild(StoreParts& parts, const RecoveryPlan& plan) {
  OwnCheckpoint none = parts.checkpoint;
  none.clean = false;
  none.logEnd = plan.logEnd;
  none.logSynced = std::min(std::max(plan.syncedBelow, none.logSynced), plan.logEnd);
  // Units of records that have expired stay: they alone know where their queue goes on.
  none.derivedSynced = std::max<int64_t>(parts.log->minPosition(), 0);
  none.queueUnits = 0;
  none.lmqEntries = OwnCheckpoint::kBeingBuilt;
  none.last = RecordIdentity();
  LMQ_TRY(parts.dir.writeOwnCheckpoint(&none));
  LMQ_TRY(parts.dir.syncOwnCheckpoint());
  LMQ_TRY(syncDirectory(parts.dir.lmq()));
  parts.checkpoint.sequence = none.sequence;
  if (!parts.options.rebuildQueues) return {};
  parts.checkpoint = none;
  // A queue with a file of another length cannot be loaded, to be cut.
  return ConsumeQueueTable::removeOdd(parts.dir.consumeQueue(), parts.queueOptions().fileSize);
}

Status beginRebuildOfLmq(StoreParts& parts, const RecoveryPlan& plan) {
  OwnCheckpoint part = parts.checkpoint;
  part.clean = false;
  part.logEnd = plan.logEnd;
  part.logSynced = std::min(std::max(plan.syncedBelow, part.logSynced), plan.logEnd);
  part.derivedSynced = std::min(part.derivedSynced, part.logSynced);
  part.lmqEntries = OwnCheckpoint::kBeingBuilt;
  LMQ_TRY(parts.dir.writeOwnCheckpoint(&part));
  LMQ_TRY(parts.dir.syncOwnCheckpoint());
  parts.checkpoint.sequence = part.sequence;
  return syncDirectory(parts.dir.lmq());
}

}  // namespace lmq
