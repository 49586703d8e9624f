// A reader beside a running writer or broker: takes in what came since, writes nothing.
#include <algorithm>
#include <cstring>

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

void note(LastSeen& seen, int64_t position, const uint8_t* record) {
  seen.position = position;
  std::memcpy(seen.head.data(), record, seen.head.size());
}

// What a reader has taken in holds no longer: its directory was taken over, its log cut and written
// on, or its light-queue index begun anew.
Result<bool> wasRewritten(const StoreParts& parts, ReadBuffer& buffer) {
  if (parts.isForeign()) {
    const Result<FileInfo> marker = inspect(parts.dir.markerPath());
    if (!marker.ok()) return marker.status();
    if ((*marker).exists) return true;
  }
  const LastSeen& seen = parts.lastSeen;
  if (seen.position < parts.log->minPosition()) return false;  // none, or expired
  const Result<MappedFileQueue::Pinned> bytes =
      parts.log->files().read(static_cast<uint64_t>(seen.position), seen.head.size(), buffer);
  if (bytes.status().code() == Code::kNotFound) return true;
  if (!bytes.ok()) return bytes.status();
  return std::memcmp((*bytes).data, seen.head.data(), seen.head.size()) != 0;
}

// Whether the light-queue index can be loaded again. While a writer builds it, there is nothing
// better than what this reader has.
Result<bool> isWhole(const StoreParts& parts) {
  const Result<std::optional<OwnCheckpoint>> own = parts.dir.readOwnCheckpoint();
  if (!own.ok()) return own.status();
  const Result<std::optional<Marker>> marker = parts.dir.readMarker();
  if (!marker.ok()) return marker.status();
  return !lmqIsUnfinished((*own).value_or(OwnCheckpoint{}), *marker);
}

}  // namespace

void noteLastSeen(StoreParts& parts, int64_t position) {
  if (position < parts.log->minPosition()) return;
  ReadBuffer buffer;
  const Result<MappedFileQueue::Pinned> bytes =
      parts.log->files().read(static_cast<uint64_t>(position), LastSeen().head.size(), buffer);
  if (bytes.ok()) note(parts.lastSeen, position, (*bytes).data);
}

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
  ReadBuffer buffer;
  const Result<bool> rewritten = wasRewritten(parts, buffer);
  if (!rewritten.ok()) return rewritten;
  if (*rewritten) {
    const Result<bool> whole = isWhole(parts);
    if (!whole.ok()) return whole;
    parts.outdated = *whole;
    return *whole;
  }
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
    if ((*step).verdict == record::Verdict::kRecord)
      note(parts.lastSeen, (*step).position, (*step).view.data);
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
    if (light.status().code() == Code::kCorruptFile) {
      const Result<bool> whole = isWhole(parts);
      if (!whole.ok()) return whole;
      parts.outdated = *whole;
      light = *whole;
    }
  }
  if (!light.ok()) return light;
  RecoveryReport ignored;
  LMQ_TRY(catchUp(parts, before, &ignored));
  if (*queues || *light || *batches) parts.quietRefreshes = 0;
  return end > before || *queues || *light || *batches;
}

}  // namespace lmq
