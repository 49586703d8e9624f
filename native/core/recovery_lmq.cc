#include "recovery_lmq.h"

#include <algorithm>
#include <limits>

#include "recovery_rebuild.h"

namespace lmq {

namespace {

constexpr int64_t kEverything = std::numeric_limits<int64_t>::max();
constexpr size_t kImportUnits = 1024;

// The units of one %LMQ%… directory, as they stand, for records in [from, below).
Status importQueue(StoreParts& parts, ConsumeQueue& source, int64_t from, int64_t below,
                   std::vector<LmqState::Fact>* facts, RecoveryReport* report) {
  LmqIndex& index = *parts.lmq;
  Result<int64_t> min = source.minOffset(parts.log->minPosition());
  if (!min.ok()) return min.takeStatus();
  const std::string& name = source.topic();
  const Result<uint64_t> found = index.findOrCreate(name);
  if (!found.ok()) return found.status();
  const uint64_t queue = *found;
  Result<int64_t> known = index.lastPhysicalOffset(queue);
  if (!known.ok()) return known.takeStatus();
  int64_t last = *known;
  std::vector<PlacedUnit> units(kImportUnits);
  int64_t imported = 0;
  int64_t end = source.maxOffset();  // units of what was cut from the log do not count
  for (int64_t at = *min; at < end;) {
    size_t count = 0;
    LMQ_TRY(source.units(at, units.size(), units.data(), &count));
    if (count == 0) break;
    for (size_t i = 0; i < count; ++i) {
      const PlacedUnit& placed = units[i];
      if (placed.unit.size == ConsumeQueue::kBlankSize || placed.unit.physicalOffset < from ||
          placed.unit.physicalOffset <= last) {
        continue;
      }
      if (placed.unit.physicalOffset >= below) {
        end = placed.queueOffset;
        break;
      }
      if (placed.queueOffset < index.nextOffset(queue)) continue;
      LMQ_TRY(index.reserve(1, 0, 0));
      LMQ_TRY(index.add(queue, placed));
      last = placed.unit.physicalOffset;
      ++imported;
    }
    at += static_cast<int64_t>(count);
  }
  report->lmqImported += imported;
  // A queue whose records have all expired goes on counting; the log cannot tell from where.
  if (last < 0 && end > parts.state.nextOffset(name)) {
    LmqState::Fact fact;
    fact.kind = LmqState::kNextOffset;
    fact.name = name;
    fact.queueOffset = end;
    fact.logEnd = below;
    facts->push_back(std::move(fact));
  }
  return {};
}

Status importDirectories(StoreParts& parts, int64_t from, int64_t below, RecoveryReport* report) {
  if (parts.lmqDirectories->all().empty()) LMQ_TRY(parts.lmqDirectories->load(false, true));
  std::vector<LmqState::Fact> facts;
  for (const auto& queue : parts.lmqDirectories->all()) {
    if (queue->queueId() == 0) LMQ_TRY(importQueue(parts, *queue, from, below, &facts, report));
  }
  return facts.empty() || parts.options.readOnly ? Status() : parts.state.record(facts);
}

// Does the log hold exactly the record that the snapshot covers last?
Result<bool> fits(const StoreParts& parts, const LmqIndex::Snapshot& snapshot, int64_t logEnd) {
  if (snapshot.logPosition > logEnd) return false;
  if (snapshot.last.physicalOffset < parts.log->minPosition()) return true;  // none, or expired
  const Result<RecordIdentity> found = identify(parts, snapshot.last.physicalOffset);
  if (!found.ok()) return found.status();
  return (*found).size == snapshot.last.size && (*found).crc == snapshot.last.crc;
}

// Empty if the index could be loaded, else why not.
Result<std::string> tryLoad(StoreParts& parts, int64_t logEnd, uint64_t leastEntries) {
  const Result<LmqIndex::Snapshot> snapshot = parts.lmq->readSnapshot();
  if (!snapshot.ok()) return std::string(snapshot.status().facts().message);
  const Result<bool> fit = fits(parts, *snapshot, logEnd);
  if (!fit.ok()) return fit.status();
  if (!*fit) return std::string("It does not belong to this commit log.");
  Status status = parts.lmq->load(*snapshot, logEnd, leastEntries);
  if (status.ok()) return std::string();
  if (status.code() != Code::kCorruptFile && status.code() != Code::kNotFound) return status;
  return std::string(status.facts().message);
}

}  // namespace

bool lmqIsUnfinished(const OwnCheckpoint& own, const std::optional<Marker>& marker) {
  return own.lmqEntries == OwnCheckpoint::kBeingBuilt ||
         (own.sequence == 0 && marker && marker->adoptedAt >= 0);
}

Status restoreLmq(StoreParts& parts, const RecoveryPlan& plan, bool adopting, int64_t* from,
                  RecoveryReport* report) {
  const OwnCheckpoint& own = parts.checkpoint;
  if (plan.fresh || plan.logMissing) return parts.lmq->reset(0);
  if (!adopting) {
    const uint64_t least = plan.logEnd >= own.derivedSynced ? own.lmqEntries : 0;
    Result<std::string> why = parts.options.rebuild ? std::string("It was asked for.")
                              : lmqIsUnfinished(own, parts.marker)
                                  ? std::string("Building it did not come to its end.")
                                  : tryLoad(parts, plan.logEnd, least);
    if (!why.ok()) return why.takeStatus();
    if (why->empty()) {
      *from = plan.trusted ? plan.logEnd : plan.scanFrom;
      // Closed by us, then written by a broker: its units decide what came after.
      if (!plan.trusted && own.sequence > 0 && own.clean) {
        return importDirectories(parts, own.logEnd, plan.logEnd, report);
      }
      return {};
    }
    report->lmqRebuilt = why.take();
  }
  return rebuildLmq(parts, plan, adopting, from, report);
}

Status rebuildLmq(StoreParts& parts, const RecoveryPlan& plan, bool adopting, int64_t* from,
                  RecoveryReport* report) {
  *from = parts.log->minPosition();
  // Without a checkpoint a directory that is being adopted says the same.
  if (!adopting && !parts.options.rebuild) LMQ_TRY(beginRebuildOfLmq(parts, plan));
  LMQ_TRY(parts.lmq->reset(*from));
  const int64_t adoptedAt = adopting ? plan.logEnd : parts.marker ? parts.marker->adoptedAt : -1;
  if (adoptedAt < 0) return {};
  return importDirectories(parts, 0, std::min(adoptedAt, plan.logEnd), report);
}

Status restoreLmqOfReader(StoreParts& parts, RecoveryReport* report) {
  Result<std::string> why = lmqIsUnfinished(parts.checkpoint, parts.marker)
                                ? std::string("Building it has not come to its end.")
                                : tryLoad(parts, kEverything, 0);
  if (!why.ok()) return why.takeStatus();
  if (!why->empty()) {
    report->lmqRebuilt = why.take();
    LmqIndex::Options memory;
    memory.inMemory = true;
    parts.lmq = std::make_unique<LmqIndex>(memory);
    parts.lmqInMemory = true;
    LMQ_TRY(parts.lmq->reset(parts.log->minPosition()));
    if (parts.marker && parts.marker->adoptedAt >= 0) {
      LMQ_TRY(importDirectories(parts, 0, parts.marker->adoptedAt, report));
    }
    LMQ_TRY(
        redispatch(parts, parts.log->minPosition(), kEverything, parts.log->endPosition(), report));
  }
  return applyFacts(parts);
}

Status applyFacts(StoreParts& parts) {
  for (const LmqState::Fact& fact : parts.state.facts()) {
    if (fact.kind != LmqState::kNextOffset) continue;
    const bool creates = !parts.options.readOnly || parts.lmqInMemory;
    if (!creates && parts.lmq->find(fact.name) == LmqIndex::kNone) continue;  // the writer will
    const Result<uint64_t> queue = parts.lmq->findOrCreate(fact.name);
    if (!queue.ok()) return queue.status();
    parts.lmq->setNextOffset(*queue, fact.queueOffset);
  }
  return {};
}

}  // namespace lmq
