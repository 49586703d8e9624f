#include "recovery.h"

#include <algorithm>

#include "crc32.h"
#include "recovery_start.h"

namespace lmq {

namespace {

record::Check checkOf(const StoreOptions& options) {
  record::Check check;
  check.bodyCrc = check.propertyCrc = options.checkCrcOnRecover;
  check.requireCrc = options.requireCrc;
  return check;
}

Result<bool> hasUnits(StoreParts& parts) {
  // What is left of a broker's light queues says nothing once the directory is ours.
  const bool topicsOnly = !parts.isForeign();
  const Result<uint64_t> size =
      ConsumeQueueTable::findFileSize(parts.dir.consumeQueue(), topicsOnly);
  if (size.status().code() == Code::kFileSize) return true;  // a reader's
  if (!size.ok()) return size.status();
  return *size != 0;
}

// Walks records from plan->scanFrom to where they end.
Status scan(CommitLogScan& log, RecoveryPlan* plan) {
  log.seek(plan->scanFrom);
  int64_t blankAt = -1;  // a blank record that ended the last file seen
  for (;;) {
    Result<CommitLogScan::Step> step = log.step();
    if (!step.ok()) return step.takeStatus();
    if (step->verdict == record::Verdict::kRecord) {
      ++plan->scannedRecords;
      plan->lastTimestamp = std::max(plan->lastTimestamp, step->view.storeTimestamp);
      plan->lastPosition = step->position;
      blankAt = -1;
      continue;
    }
    if (step->verdict == record::Verdict::kBlank) {
      blankAt = step->position;
      continue;
    }
    plan->logEnd = log.position();
    plan->verdict = step->verdict;
    break;
  }
  // A blank record in the last file ends the log at the blank record: the next append writes there.
  if (!log.hasFile(plan->logEnd) && blankAt >= 0) plan->logEnd = blankAt;
  return {};
}

// Is there anything but zeros behind the end of the log?
Status judgeTail(StoreParts& parts, CommitLogScan& log, RecoveryPlan* plan) {
  bool wholeRecordLater = false;
  for (const uint64_t base : log.bases()) {
    const int64_t position = static_cast<int64_t>(base);
    if (position <= plan->logEnd) continue;
    plan->laterFiles.push_back(position);
    const Result<int64_t> last = log.lastByte(position);
    if (!last.ok()) return last.status();
    if (*last == position) continue;
    plan->damaged = true;
    log.seek(position);
    const Result<CommitLogScan::Step> step = log.step();
    if (!step.ok()) return step.status();
    wholeRecordLater = wholeRecordLater || (*step).verdict == record::Verdict::kRecord;
  }
  const Result<int64_t> last = log.lastByte(plan->logEnd);
  if (!last.ok()) return last.status();
  log.seek(plan->logEnd);
  const Result<CommitLogScan::Step> step = log.step();
  if (!step.ok()) return step.status();
  // The blank record that the log may end at is no damage if nothing follows it.
  const int64_t harmless =
      (*step).verdict == record::Verdict::kBlank ? static_cast<int64_t>(record::kBlankSize) : 0;
  if (*last > plan->logEnd + harmless) plan->damaged = true;
  const bool synced = plan->logEnd + harmless >= plan->syncedBelow;
  if (!synced) plan->damaged = true;

  const bool corrupt = plan->damaged && (plan->syncedBelow >= 0 ? !synced : wholeRecordLater);
  if (!corrupt || parts.options.repair || parts.options.readOnly) return {};
  return Status(Code::kCorruptLog, std::string("The commit log is damaged (") +
                                       record::verdictText(plan->verdict) +
                                       ") below data that was synced.")
      .at(parts.log->pathOf(plan->logEnd))
      .offset(plan->logEnd)
      .limit(plan->syncedBelow);
}

// Closed by us, and the log still ends with exactly that record?
Result<bool> isUntouched(StoreParts& parts, CommitLogScan& log) {
  const OwnCheckpoint& own = parts.checkpoint;
  if (own.sequence == 0 || !own.clean) return false;
  if (own.last.physicalOffset >= 0) {
    const Result<RecordIdentity> found = identify(parts, own.last.physicalOffset);
    if (!found.ok()) return found.status();
    if ((*found).size != own.last.size || (*found).crc != own.last.crc) return false;
  }
  // Nothing may follow: no record at the end, no file behind it.
  for (const uint64_t base : log.bases()) {
    if (static_cast<int64_t>(base) > own.logEnd) return false;
  }
  if (!log.hasFile(own.logEnd))
    return log.bases().empty() || own.logEnd % parts.log->fileSize() == 0;
  log.seek(own.logEnd);
  const Result<CommitLogScan::Step> step = log.step();
  if (!step.ok()) return step.status();
  return (*step).verdict == record::Verdict::kEnd;
}

}  // namespace

Result<RecordIdentity> identify(const StoreParts& parts, int64_t position) {
  CommitLogScan log = parts.scanLog();
  log.seek(position);
  Result<CommitLogScan::Step> step = log.step();
  if (!step.ok()) return step.takeStatus();
  RecordIdentity identity;
  if (step->verdict != record::Verdict::kRecord) return identity;
  return RecordIdentity{position, step->view.size, crc32(0, step->view.data, step->view.size)};
}

Status planRecovery(StoreParts& parts, RecoveryPlan* plan) {
  const Result<bool> aborted = parts.dir.aborted();
  if (!aborted.ok()) return aborted.status();
  plan->aborted = *aborted;
  CommitLogScan log = parts.scanLog(checkOf(parts.options));
  if (log.bases().empty()) {
    const Result<bool> units = hasUnits(parts);
    if (!units.ok()) return units.status();
    // Units alone mean nothing where our checkpoint knows that no record was on the device yet.
    const bool known = !parts.isForeign() && parts.checkpoint.sequence > 0;
    const bool hadLog =
        (*units && !known) || parts.checkpoint.logEnd > 0 || parts.checkpoint.logSynced > 0;
    plan->fresh = parts.isForeign() && !hadLog;
    if (hadLog && !parts.options.repair && !parts.options.readOnly) {
      return Status(Code::kLogMissing, "There are queues but no commit log.")
          .at(parts.dir.commitLog());
    }
    plan->logMissing = hadLog;
    return {};
  }
  if (!parts.isForeign() && !plan->aborted && !parts.options.rebuildQueues) {
    const Result<bool> untouched = isUntouched(parts, log);
    if (!untouched.ok()) return untouched.status();
    if (*untouched) {
      plan->trusted = true;
      plan->scanFrom = plan->logEnd = plan->syncedBelow = parts.checkpoint.logEnd;
      plan->lastPosition = parts.checkpoint.last.physicalOffset;
      plan->lastTimestamp = parts.checkpoint.lastTimestamp;
      return {};
    }
  }
  LMQ_TRY(decideStart(parts, log, plan));
  LMQ_TRY(scan(log, plan));
  return judgeTail(parts, log, plan);
}

}  // namespace lmq
