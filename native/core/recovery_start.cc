#include "recovery_start.h"

#include <algorithm>

namespace lmq {

int64_t queuesEnd(const StoreParts& parts) {
  int64_t end = -1;
  for (const auto* table : {parts.queues.get(), parts.lmqDirectories.get()}) {
    for (const auto& queue : table->all()) end = std::max(end, queue->recordsEnd());
  }
  return end;
}

namespace {

// `position`, or the end of the file before where its own file is missing, so that the scan stops
// there instead of taking the log to end at `position`.
int64_t startAt(const CommitLogScan& log, int64_t position) {
  if (log.hasFile(position)) return position;
  const auto after =
      std::upper_bound(log.bases().begin(), log.bases().end(), static_cast<uint64_t>(position));
  if (after == log.bases().begin()) return position;
  return std::min(position, log.endOfFile(static_cast<int64_t>(*std::prev(after))));
}

// The base of RocketMQ's recovery start.
Result<int64_t> brokerStart(StoreParts& parts, CommitLogScan& log, bool aborted) {
  Result<std::optional<BrokerCheckpoint>> read = parts.dir.readBrokerCheckpoint();
  if (!read.ok()) return read.takeStatus();
  const BrokerCheckpoint checkpoint = read->value_or(BrokerCheckpoint{});
  const int64_t queued = queuesEnd(parts);
  const auto matches = [&](const record::View& first) {
    if (first.storeTimestamp == 0) return false;
    if (!aborted) return first.physicalOffset <= queued;
    if (checkpoint.logicsPhysicalOffset > 0) {
      return first.physicalOffset <= checkpoint.logicsPhysicalOffset;
    }
    return first.storeTimestamp <= checkpoint.logicsMsgTimestamp;
  };
  const std::vector<uint64_t>& bases = log.bases();
  size_t tried = 0;
  for (size_t index = bases.size(); index-- > 0;) {
    const int64_t base = static_cast<int64_t>(bases[index]);
    if (index == 0 || ++tried == parts.options.recoverMaxFiles) return base;
    log.seek(base);
    const Result<CommitLogScan::Step> step = log.step();
    if (!step.ok()) return step.status();
    if ((*step).verdict == record::Verdict::kRecord && matches((*step).view)) return base;
  }
  return int64_t{0};
}

}  // namespace

Status decideStart(StoreParts& parts, CommitLogScan& log, RecoveryPlan* plan) {
  const int64_t first = static_cast<int64_t>(log.bases().front());
  const OwnCheckpoint& own = parts.checkpoint;
  if (!parts.isForeign() && own.sequence > 0) {
    // Closed by us, but something was appended since: another program closed it cleanly, or `abort`
    // is its. Below our end nothing is in doubt, unless our last record is another now.
    const bool closed = own.clean;
    const int64_t ourEnd = own.last.physicalOffset >= 0 ? own.last.physicalOffset : own.logEnd;
    const int64_t whole = parts.options.rebuildQueues ? first : own.derivedSynced;
    const bool skips = closed && !parts.options.rebuildQueues;
    plan->scanFrom = startAt(log, std::max(first, skips ? ourEnd : whole));
    plan->syncedBelow = closed ? own.logEnd : own.logSynced;
    plan->lastPosition = own.last.physicalOffset;
    plan->lastTimestamp = own.lastTimestamp;
    return {};
  }
  if (!parts.isForeign()) {  // our checkpoint is lost: nothing is known
    plan->scanFrom = first;
    plan->syncedBelow = -1;
    return {};
  }
  LMQ_TRY(parts.queues->load(false, false));
  LMQ_TRY(parts.lmqDirectories->load(false, true));
  const Result<int64_t> start = brokerStart(parts, log, plan->aborted);
  if (!start.ok()) return start.status();
  plan->scanFrom = *start;
  // After a clean stop RocketMQ had synced everything, to the end of the last file that holds a
  // byte.
  plan->syncedBelow = *start;
  if (!plan->aborted) {
    for (size_t index = log.bases().size(); index-- > 0;) {
      const int64_t base = static_cast<int64_t>(log.bases()[index]);
      const Result<int64_t> last = log.lastByte(base);
      if (!last.ok()) return last.status();
      if (*last == base) continue;
      plan->syncedBelow = std::max(plan->syncedBelow, *last);
      break;
    }
  }
  return {};
}

}  // namespace lmq
