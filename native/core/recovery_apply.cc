#include <algorithm>

#include "dispatch.h"
#include "recovery.h"
#include "recovery_keys.h"
#include "recovery_lmq.h"
#include "recovery_rebuild.h"

namespace lmq {

namespace {

constexpr int64_t kProgressBytes = 1024 * 1024;

// Copies what will be cut to cut/<position>, if it holds any byte that is not zero.
Status saveRange(StoreParts& parts, CommitLogScan& log, int64_t position, RecoveryReport* report) {
  const Result<int64_t> last = log.lastByte(position);
  if (!last.ok()) return last.status();
  if (*last == position) return {};
  LMQ_TRY(makeDirectories(parts.dir.cut()));
  const std::string first = parts.dir.cut() + "/" + fileNameOf(static_cast<uint64_t>(position));
  std::string path = first;
  for (int copy = 1;; ++copy) {  // an earlier cut at the same place is kept
    const Result<FileInfo> info = inspect(path);
    if (!info.ok()) return info.status();
    if (!(*info).exists) break;
    path = first + "." + std::to_string(copy);
  }
  const int64_t base = parts.log->baseOf(position);
  Result<File> from = File::open(parts.log->pathOf(position), Access::kReadQuietly);
  if (!from.ok()) return from.takeStatus();
  Result<File> to = File::create(path);
  if (!to.ok()) return to.takeStatus();
  LMQ_TRY(copyRange(*from, static_cast<uint64_t>(position - base),
                    static_cast<uint64_t>(*last - position), *to));
  LMQ_TRY(to->syncData());
  report->cutBytes += *last - position;
  if (report->cutSavedTo.empty()) report->cutSavedTo = path;
  return {};
}

// A broker that is killed while it makes the next file leaves it without a byte, and removes it
// when it starts again (spec 1.3). So do we, but no file of another name (spec Q46).
Status removeHollowFiles(const std::string& directory) {
  const Result<std::vector<DirectoryEntry>> entries = list(directory);
  if (!entries.ok()) return entries.status();
  for (const DirectoryEntry& entry : *entries) {
    if (entry.isDirectory || entry.size > 0 || baseOfFileName(entry.name) < 0) continue;
    LMQ_TRY(removeFile(directory + "/" + entry.name));
  }
  return {};
}

Status cutLog(StoreParts& parts, const RecoveryPlan& plan, RecoveryReport* report) {
  if (plan.logMissing) {
    report->note(Status(Code::kLogMissing, "The log was missing; every queue was removed.")
                     .at(parts.dir.commitLog()));
    return {};
  }
  if (plan.damaged) {
    CommitLogScan log = parts.scanLog();
    report->cutFrom = plan.logEnd;
    report->cutVerdict = record::verdictText(plan.verdict);
    LMQ_TRY(saveRange(parts, log, plan.logEnd, report));
    for (const int64_t position : plan.laterFiles) LMQ_TRY(saveRange(parts, log, position, report));
    if (report->cutBytes > 0) LMQ_TRY(syncDirectory(parts.dir.cut()));
  }
  if (plan.trusted) return {};
  LMQ_TRY(removeHollowFiles(parts.dir.commitLog()));
  MappedFileQueue& files = parts.log->files();
  const uint64_t end = static_cast<uint64_t>(plan.logEnd);
  LMQ_TRY(files.truncate(end));
  // Zeros that an earlier recovery wrote may be in memory only, if it was killed before its sync.
  if (!plan.aborted || files.fileAt(end) == nullptr) return {};
  return files.sync(end, end - end % files.fileSize() + files.fileSize());
}

// Files that an earlier process was making; none of them was ever part of the store.
Status clearWork(const StoreDir& dir) {
  LMQ_TRY(makeDirectories(dir.work()));
  const Result<std::vector<DirectoryEntry>> entries = list(dir.work());
  if (!entries.ok()) return entries.status();
  for (const DirectoryEntry& entry : *entries) {
    if (!entry.isDirectory) LMQ_TRY(removeFile(dir.work() + "/" + entry.name));
  }
  return {};
}

// *from becomes the position from which topic queues must be dispatched again.
Status restoreQueues(StoreParts& parts, const RecoveryPlan& plan, int64_t* from,
                     RecoveryReport* report) {
  const bool ours = !parts.isForeign();
  // Those of a directory of RocketMQ's were loaded to decide where to start.
  if (ours || plan.logMissing) LMQ_TRY(parts.queues->load(plan.trusted, false));
  *from = plan.scanFrom;
  const int64_t units = ours && parts.checkpoint.sequence > 0 ? parts.checkpoint.queueUnits : 0;
  const auto judge = [&]() -> Status {
    if (parts.queues->unitCount() >= units) return {};
    // Anew, and not only what is behind the end of each: a file in the middle may be what is
    // missing.
    *from = parts.log->minPosition();
    for (const auto& queue : parts.queues->all()) LMQ_TRY(queue->truncate(*from));
    report->note(
        Status(Code::kCorruptFile, "Consume queues were missing or short; they were built again.")
            .at(parts.dir.consumeQueue()));
    return {};
  };
  if (plan.trusted) return judge();
  // Units above what our checkpoint covers may be torn by a power cut: they are written again.
  const bool doubtful = ours && parts.checkpoint.sequence > 0 && !parts.checkpoint.clean;
  const int64_t keepBelow =
      doubtful ? std::min(plan.logEnd, parts.checkpoint.derivedSynced) : plan.logEnd;
  for (const auto& queue : parts.queues->all()) {
    LMQ_TRY(plan.logMissing ? queue->removeAll() : queue->truncate(keepBelow));
  }
  return plan.logMissing ? Status() : judge();
}

Status writeMarker(StoreParts& parts, const RecoveryPlan& plan) {
  if (!parts.isForeign()) return {};
  Marker marker;
  marker.mappedFileSizeCommitLog = parts.log->fileSize();
  marker.mappedFileSizeConsumeQueue = static_cast<int64_t>(parts.queueOptions().fileSize);
  marker.maxHashSlotNum = parts.keyShape().slots;
  marker.maxIndexNum = parts.keyShape().entries;
  marker.adoptedAt = plan.fresh || plan.logMissing ? -1 : plan.logEnd;
  LMQ_TRY(parts.dir.writeMarker(marker));
  parts.marker = marker;
  return {};
}

void describe(const StoreParts& parts, const RecoveryPlan& plan, RecoveryReport* report) {
  report->clean = !plan.aborted;
  report->created = plan.fresh;
  report->logMin = parts.log->minPosition();
  report->logEnd = parts.log->endPosition();
  report->scannedFrom = plan.scanFrom;
  report->scannedRecords = plan.scannedRecords;
}

}  // namespace

Status redispatch(StoreParts& parts, int64_t from, int64_t mainFrom, int64_t to,
                  RecoveryReport* report) {
  record::Check check;
  check.bodyCrc = check.propertyCrc = false;  // the scan before has checked what is new
  CommitLogScan log = parts.scanLog(check);
  // A reader cannot add to the writer's index; what it lacks comes with the writer's next entries.
  const bool lmq =
      parts.options.lmq && (!parts.options.readOnly || parts.lmqInMemory || !parts.lmq);
  KeyIndex* const keys = parts.options.readOnly ? nullptr : parts.keys.get();
  Redispatcher dispatcher(*parts.queues, parts.lmq.get(), parts.lmqDirectories.get(), lmq, keys,
                          parts.options.delayLevels,
                          [&](Status note) { report->note(std::move(note)); });
  log.seek(from);
  int64_t told = from;
  while (log.position() < to) {
    if (parts.options.progress && log.position() - told >= kProgressBytes) {
      told = log.position();
      parts.options.progress(told, to);
    }
    Result<CommitLogScan::Step> step = log.step();
    if (!step.ok()) return step.takeStatus();
    if (step->verdict == record::Verdict::kBlank) continue;
    if (step->verdict != record::Verdict::kRecord) {
      // Old damage, below what recovery may cut: reported, passed over, left alone.
      if (log.hasFile(step->position)) {
        report->note(Status(Code::kCorruptRecord, std::string("The log is damaged (") +
                                                      record::verdictText(step->verdict) + ").")
                         .at(parts.dir.commitLog())
                         .offset(step->position));
      }
      LMQ_TRY(log.passDamage(*step));
      continue;
    }
    if (step->position + static_cast<int64_t>(step->view.size) > to) break;
    // A broker's queue of inner batches is read as it is.
    const bool main = step->position >= mainFrom && !parts.isBatchTopic(step->view.topic());
    LMQ_TRY(dispatcher.dispatch(step->view, !main));
    ++report->dispatchedRecords;
  }
  return {};
}

Status applyRecovery(StoreParts& parts, const RecoveryPlan& plan, RecoveryReport* report) {
  LMQ_TRY(parts.dir.createAbort());
  // A new directory is ours before it looks like RocketMQ's, whenever this may be cut short.
  if (plan.fresh) LMQ_TRY(writeMarker(parts, plan));
  for (const std::string& path :
       {parts.dir.commitLog(), parts.dir.consumeQueue(), parts.dir.lmq()}) {
    LMQ_TRY(makeDirectories(path));
  }
  LMQ_TRY(clearWork(parts.dir));
  if (parts.options.rebuild) LMQ_TRY(beginRebuild(parts, plan));
  const bool adopting = parts.isForeign() && !plan.fresh && !plan.logMissing;
  LMQ_TRY(cutLog(parts, plan, report));
  parts.log->setEndPosition(plan.logEnd);
  int64_t mainFrom = plan.scanFrom;
  LMQ_TRY(restoreQueues(parts, plan, &mainFrom, report));
  LMQ_TRY(writeMarker(parts, plan));

  int64_t lmqFrom = plan.scanFrom;
  LMQ_TRY(restoreLmq(parts, plan, adopting, &lmqFrom, report));
  int64_t keysFrom = plan.logEnd;
  LMQ_TRY(restoreKeys(parts, plan, &keysFrom, report));
  Status status =
      redispatch(parts, std::min({lmqFrom, mainFrom, keysFrom}), mainFrom, plan.logEnd, report);
  if (status.code() == Code::kCorruptFile && report->lmqRebuilt.empty()) {
    // An entry that dispatch needed is damaged: the log has it all.
    report->lmqRebuilt = status.facts().message;
    LMQ_TRY(rebuildLmq(parts, plan, adopting, &lmqFrom, report));
    status = redispatch(parts, lmqFrom, mainFrom, plan.logEnd, report);
  }
  LMQ_TRY(std::move(status));
  LMQ_TRY(applyFacts(parts));

  OwnCheckpoint& own = parts.checkpoint;
  own.clean = false;
  own.logEnd = plan.logEnd;
  own.logSynced = std::min(plan.syncedBelow >= 0 ? plan.syncedBelow : own.logSynced, plan.logEnd);
  if (own.derivedSynced > own.logSynced) {  // how much of it lies below is not known
    own.derivedSynced = own.logSynced;
    own.lmqEntries = 0;
    own.queueUnits = 0;
  }
  if (!report->lmqRebuilt.empty()) {  // whatever was said of the one before
    LMQ_TRY(parts.lmq->sync(parts.lmq->entryCount()));
    own.lmqEntries = parts.lmq->entryCount();
  }
  if (parts.keys) {
    LMQ_TRY(parts.keys->sync(parts.keys->unsynced()));
    own.keysSynced = plan.logEnd;
    own.lastKeyed = parts.keys->lastPhysicalOffset();
  }
  own.lastTimestamp = plan.lastTimestamp;
  LMQ_TRY(parts.dir.writeOwnCheckpoint(&own));
  LMQ_TRY(parts.dir.syncOwnCheckpoint());
  LMQ_TRY(syncDirectory(parts.dir.lmq()));
  if (parts.keys) {  // what a retention that was killed left behind; it is in nobody's way
    Status status = parts.keys->detachBefore(parts.log->minPosition());
    if (status.ok()) status = parts.keys->removeDetached();
    if (!status.ok()) report->note(std::move(status));
  }
  report->adopted = adopting;
  describe(parts, plan, report);
  return {};
}

Status applyToReader(StoreParts& parts, const RecoveryPlan& plan, RecoveryReport* report) {
  for (const Status& odd : parts.oddFiles) report->note(odd);
  // Both sides of damage are shown: the log ends behind its last whole record. Without one behind
  // it the damage is a torn tail, or a live one, which is none.
  int64_t end = plan.logEnd;
  int64_t last = std::max(plan.lastPosition, parts.checkpoint.last.physicalOffset);
  CommitLogScan log = parts.scanLog();
  log.seek(plan.logEnd);
  while (plan.damaged && log.position() < static_cast<int64_t>(parts.log->files().endOfFiles())) {
    const Result<CommitLogScan::Step> step = log.step();
    if (!step.ok()) return step.status();
    if ((*step).verdict == record::Verdict::kRecord) {
      last = (*step).position;
      end = log.position();
    } else if ((*step).verdict != record::Verdict::kBlank) {
      LMQ_TRY(log.passDamage(*step));
    }
  }
  if (end > plan.logEnd) {
    report->note(Status(Code::kCorruptLog,
                        std::string("The log is damaged (") + record::verdictText(plan.verdict) +
                            "); what lies behind is shown as far as it is whole.")
                     .at(parts.dir.commitLog())
                     .offset(plan.logEnd));
  }
  parts.log->setEndPosition(end);
  if (last < end) noteLastSeen(parts, last);
  if (parts.isForeign()) {
    if (parts.log->files().empty()) {
      LMQ_TRY(parts.queues->load(false, false));
      LMQ_TRY(parts.lmqDirectories->load(false, true));
    }
  } else {
    LMQ_TRY(parts.queues->load(false, false));
    LMQ_TRY(restoreLmqOfReader(parts, report));
  }
  LMQ_TRY(restoreKeysOfReader(parts, plan, report));
  LMQ_TRY(catchUp(parts, end, report));
  describe(parts, plan, report);
  return {};
}

}  // namespace lmq
