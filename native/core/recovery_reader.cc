// A reader beside a running writer or broker: takes in what came since, writes nothing.
#include <algorithm>

#include "recovery_lmq.h"
#include "recovery_start.h"

namespace lmq {

namespace {

constexpr int kQuiet = 100;

// The record at which the queues of a broker end. A kill may have come between its units, so that
// some of its light queues lack it.
int64_t lastQueued(const StoreParts& parts) {
  int64_t last = -1;
  for (const auto* table : {parts.queues.get(), parts.lmqDirectories.get()}) {
    for (const auto& queue : table->all()) last = std::max(last, queue->lastPhysicalOffset());
  }
  return last;
}

}  // namespace

Status catchUp(StoreParts& parts, int64_t lmqFrom, RecoveryReport* report) {
  const int64_t queued = parts.lmq == nullptr ? lastQueued(parts) : queuesEnd(parts);
  const int64_t mainFrom = std::max(queued, parts.log->minPosition());
  const int64_t from = parts.lmqInMemory ? std::min(lmqFrom, mainFrom) : mainFrom;
  return redispatch(parts, from, mainFrom, parts.log->endPosition(), report);
}

Result<bool> refreshReader(StoreParts& parts) {
  MappedFileQueue& files = parts.log->files();
  Status reloaded = files.reload();
  if (!reloaded.ok() && reloaded.code() != Code::kFileSize) return reloaded;
  record::Check check;
  check.requireCrc = parts.options.requireCrc;
  CommitLogScan log = parts.scanLog(check);
  // A writer may have removed what was the log's end.
  const int64_t before = std::max(parts.log->endPosition(), parts.log->minPosition());
  int64_t end = before;
  log.seek(before);
  // Anything but a whole record is a tail that is being written: it is looked at again next time.
  for (;;) {
    const Result<CommitLogScan::Step> step = log.step();
    if (!step.ok()) return step.status();
    if ((*step).verdict != record::Verdict::kRecord && (*step).verdict != record::Verdict::kBlank)
      break;
    if ((*step).verdict == record::Verdict::kBlank && !log.hasFile(log.position())) break;
    end = log.position();
  }
  // Units come after their record, from a broker much later; when the log has been quiet for long
  // they are looked for less often.
  parts.quietRefreshes = end == before ? parts.quietRefreshes + 1 : 0;
  if (parts.quietRefreshes > kQuiet && parts.quietRefreshes % kQuiet != 0) return false;
  parts.log->setEndPosition(end);
  Result<bool> queues = parts.queues->refresh(false);
  if (!queues.ok()) return queues;
  Result<bool> batches = parts.refreshBatchQueues();
  if (!batches.ok()) return batches;
  Result<bool> light = false;
  if (parts.lmq == nullptr) {
    light = parts.lmqDirectories->refresh(true);
  } else if (!parts.lmqInMemory) {
    light = parts.lmq->refresh();
  }
  if (!light.ok()) return light;
  RecoveryReport ignored;
  LMQ_TRY(catchUp(parts, before, &ignored));
  if (*queues || *light || *batches) parts.quietRefreshes = 0;
  return end > before || *queues || *light || *batches;
}

}  // namespace lmq
