#include "recovery_keys.h"

#include <algorithm>

namespace lmq {

namespace {

Status loadKeys(KeyIndex& keys, RecoveryReport* report) {
  std::vector<Status> odd;
  LMQ_TRY(keys.load(&odd));
  for (Status& one : odd) report->note(std::move(one));
  return {};
}

}  // namespace

Status restoreKeys(StoreParts& parts, const RecoveryPlan& plan, int64_t* from,
                   RecoveryReport* report) {
  if (parts.keys == nullptr) return {};
  KeyIndex& keys = *parts.keys;
  LMQ_TRY(loadKeys(keys, report));
  if (plan.logMissing) return keys.removeAll();
  if (plan.fresh) return {};
  const int64_t logMin = parts.log->minPosition();
  if (parts.options.rebuild) {
    *from = logMin;
    return keys.removeAll();
  }
  const OwnCheckpoint& own = parts.checkpoint;
  const bool known = own.sequence > 0;
  const int64_t synced = std::min(own.keysSynced, plan.logEnd);
  const bool whole =
      plan.trusted && keys.isPlausible() && keys.lastPhysicalOffset() == own.lastKeyed;
  if (!whole) {
    CommitLogScan log = parts.scanLog();
    LMQ_TRY(keys.restore(known && !plan.trusted ? synced : plan.logEnd,
                         [&log](int64_t position) { return log.storeTimestampAt(position); }));
  }
  const int64_t last = keys.lastPhysicalOffset();
  *from = known ? synced : last;
  // Entries that had been synced are gone: with their files, or torn.
  if (known && last < own.lastKeyed && own.lastKeyed >= logMin && own.lastKeyed < plan.logEnd) {
    report->note(Status(Code::kCorruptFile,
                        "Key index files were missing or damaged; they were built again.")
                     .at(parts.dir.index()));
    *from = std::min(*from, last);
  }
  *from = std::max(*from, logMin);
  return {};
}

Status restoreKeysOfReader(StoreParts& parts, const RecoveryPlan& plan, RecoveryReport* report) {
  if (parts.keys == nullptr) return {};
  LMQ_TRY(loadKeys(*parts.keys, report));
  const OwnCheckpoint& own = parts.checkpoint;
  const int64_t last = parts.keys->lastPhysicalOffset();
  if (!parts.isForeign() && own.sequence > 0) {
    parts.keysCovered = last < own.lastKeyed ? last : own.keysSynced;
  } else {
    // After a clean stop RocketMQ had dispatched everything.
    parts.keysCovered = last >= 0 && !plan.aborted ? plan.logEnd : last;
  }
  return {};
}

}  // namespace lmq
