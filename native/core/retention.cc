#include "retention.h"

#include <algorithm>

namespace lmq {

namespace {

constexpr uint64_t kQueuesAtOnce = 1024;  // looked at while appends wait

// Light queues of which no record is left go on counting, also in an index built from the log.
Status keepNextOffsets(StoreParts& parts, int64_t position, const WithAppendLock& withLock) {
  const LmqIndex& index = *parts.lmq;
  std::vector<LmqState::Fact> facts;
  uint64_t queue = 0;
  for (bool more = true; more;) {
    withLock([&] {
      const uint64_t end = std::min(index.queueCount(), queue + kQueuesAtOnce);
      more = queue < end;
      for (; queue < end; ++queue) {
        const int64_t next = index.nextOffset(queue);
        const std::string_view name = index.nameOf(queue);
        if (name.empty() || next <= parts.state.nextOffset(name)) continue;
        const Result<int64_t> last = index.lastPhysicalOffset(queue);
        if (last.ok() && *last >= position) continue;  // a damaged entry may be of any record
        LmqState::Fact fact;
        fact.name = name;
        fact.queueOffset = next;
        fact.logEnd = parts.log->endPosition();
        facts.push_back(std::move(fact));
      }
    });
  }
  return parts.state.record(facts);
}

}  // namespace

Result<int64_t> endOfOlder(const StoreParts& parts, int64_t beforeTime) {
  int64_t end = parts.log->minPosition();
  CommitLogScan log = parts.scanLog();
  const std::vector<uint64_t> bases = log.bases();
  for (size_t i = 1; i < bases.size(); ++i) {
    const int64_t base = static_cast<int64_t>(bases[i]);
    log.seek(base);
    const Result<CommitLogScan::Step> first = log.step();
    if (!first.ok()) return first.status();
    if ((*first).verdict != record::Verdict::kRecord) continue;  // the next file may tell
    if ((*first).view.storeTimestamp >= beforeTime) break;
    end = base;
  }
  return end;
}

int64_t endOfBelow(const StoreParts& parts, int64_t beforeOffset) {
  const int64_t min = parts.log->minPosition();
  const int64_t end = std::min(beforeOffset, parts.log->endPosition());
  return end <= min ? min : parts.log->baseOf(end);
}

int64_t endOfSurplus(const StoreParts& parts, uint64_t maxBytes) {
  const int64_t kept = std::max(static_cast<int64_t>(maxBytes), parts.log->fileSize());
  const int64_t end = static_cast<int64_t>(parts.log->files().endOfFiles());
  const int64_t surplus = end - parts.log->minPosition() - kept;
  const int64_t files = (surplus + parts.log->fileSize() - 1) / parts.log->fileSize();
  return endOfBelow(parts,
                    parts.log->minPosition() + std::max<int64_t>(files, 0) * parts.log->fileSize());
}

Status deleteLogBefore(StoreParts& parts, int64_t position, const WithAppendLock& withLock,
                       Expired* expired) {
  LMQ_TRY(keepNextOffsets(parts, position, withLock));
  MappedFileQueue& files = parts.log->files();
  for (const uint64_t base : files.bases()) {
    if (static_cast<int64_t>(base) >= position) break;
    expired->files.push_back(parts.log->pathOf(static_cast<int64_t>(base)));
    expired->bytes += parts.log->fileSize();
  }
  // Minimums follow at once; the files themselves are removed while appends go on.
  std::vector<ConsumeQueue*> queues;
  Status status;
  withLock([&] {
    files.detachBefore(static_cast<uint64_t>(position));
    for (const auto& queue : parts.queues->all()) {
      if (status.ok()) status = queue->detachBefore(position);
      queues.push_back(queue.get());
    }
    if (status.ok() && parts.keys) status = parts.keys->detachBefore(position);
  });
  expired->logMin = parts.log->minPosition();
  LMQ_TRY(files.removeDetached());
  LMQ_TRY(std::move(status));
  for (ConsumeQueue* queue : queues) LMQ_TRY(queue->removeDetached());
  if (parts.keys) LMQ_TRY(parts.keys->removeDetached());
  withLock([&] { parts.state.forgetDeletions(parts.log->minPosition()); });
  return {};
}

}  // namespace lmq
