// Opening: a scan that changes nothing, a verdict, and only then the changes (design "Files and
// durability", spec section 8). A refused open leaves every byte as it was.
#pragma once

#include <cstdint>

#include "commit_log_scan.h"
#include "store_parts.h"

namespace lmq {

// What the scan found and what will be done about it.
struct RecoveryPlan {
  bool fresh = false;       // nothing was there
  bool aborted = false;     // the previous writer did not close
  bool logMissing = false;  // queues without a commit log
  bool trusted = false;     // closed by us and untouched since: nothing to scan
  int64_t scanFrom = 0;
  int64_t logEnd = 0;
  int64_t syncedBelow = -1;  // everything below was on the device; -1: not known
  int64_t scannedRecords = 0;
  int64_t lastTimestamp = 0;
  int64_t lastPosition = -1;  // of the last record before logEnd, as far as the scan saw one
  bool damaged = false;
  record::Verdict verdict = record::Verdict::kEnd;
  // Positions to save and clear: [logEnd, …) of its file and all of the files behind it.
  std::vector<int64_t> laterFiles;
};

// Decides; changes nothing. Refusals: kCorruptLog, kLogMissing, kIo.
Status planRecovery(StoreParts& parts, RecoveryPlan* plan);
// A writer: abort marker first, then cut, index and dispatch. Fills the report.
Status applyRecovery(StoreParts& parts, const RecoveryPlan& plan, RecoveryReport* report);
// A reader: the same view in memory, nothing written.
Status applyToReader(StoreParts& parts, const RecoveryPlan& plan, RecoveryReport* report);

// A reader takes in what the writer has added since. True if anything came.
// parts.outdated: what it had taken in before holds no longer; it must be opened anew.
Result<bool> refreshReader(StoreParts& parts);
// Of a reader: notes the record at `position`, to notice when the log is written anew there.
void noteLastSeen(StoreParts& parts, int64_t position);

// The identity of the record at a position; physicalOffset -1 if there is no whole record.
Result<RecordIdentity> identify(const StoreParts& parts, int64_t position);

}  // namespace lmq
