#include "recovery_rebuild.h"

#include <algorithm>

namespace lmq {

namespace {

// More entries than any index has: one that was being made is never taken for a whole one.
constexpr uint64_t kMoreThanAny = uint64_t{1} << 52;

}  // namespace

Status beginRebuild(StoreParts& parts, const RecoveryPlan& plan) {
  OwnCheckpoint none = parts.checkpoint;
  none.clean = false;
  none.logEnd = plan.logEnd;
  none.logSynced = std::min(std::max(plan.syncedBelow, none.logSynced), plan.logEnd);
  // Units of records that have expired stay: they alone know where their queue goes on.
  none.derivedSynced = std::max<int64_t>(parts.log->minPosition(), 0);
  none.queueUnits = 0;
  none.lmqEntries = kMoreThanAny;
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

}  // namespace lmq
