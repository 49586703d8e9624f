// Queues as a broker has them: exactly what the store has below the border, a directory for each.
#include <algorithm>

#include "dispatch.h"
#include "exporter.h"

namespace lmq {

namespace {

constexpr size_t kUnitsAtOnce = 4096;
constexpr int64_t kStepUnits = 1 << 20;
constexpr int kStepQueues = 128;
constexpr uint64_t kReserveStep = 4096;  // a light queue may have one unit

bool same(const PlacedUnit& a, const PlacedUnit& b) {
  return a.queueOffset == b.queueOffset && a.unit.physicalOffset == b.unit.physicalOffset &&
         a.unit.size == b.unit.size && a.unit.tagsCode == b.unit.tagsCode;
}

}  // namespace

// A record is in the log before its light-queue entries are in the index, and a reader cannot ask
// the writer to wait.
Status Exporter::readTail() {
  StoreParts& from = parts();
  if (!from.options.readOnly || !from.lmq || from.lmqInMemory || !from.options.lmq) return {};
  LmqIndex::Options memory;
  memory.inMemory = true;
  tail_ = std::make_unique<LmqIndex>(memory);
  if (progress_.logEnd <= progress_.logMin) return tail_->reset(0);
  // One append is under way at a time, in one file.
  const int64_t begin = std::max(progress_.logMin, from.log->baseOf(progress_.logEnd - 1));
  LMQ_TRY(tail_->reset(begin));
  Redispatcher dispatcher(*from.queues, tail_.get(), nullptr, true, nullptr,
                          from.options.delayLevels, [](const Status&) {});
  CommitLogScan log = from.scanLog();
  log.seek(begin);
  while (log.position() < progress_.logEnd) {
    const Result<CommitLogScan::Step> step = log.step();
    if (!step.ok()) return step.status();
    if ((*step).verdict == record::Verdict::kRecord) {
      LMQ_TRY(dispatcher.dispatch((*step).view, true));
    } else if ((*step).verdict != record::Verdict::kBlank) {
      LMQ_TRY(log.passDamage(*step));
    }
  }
  return {};
}

MappedFileQueue::Options Exporter::filesOf(const std::string& name, int32_t queueId) {
  MappedFileQueue::Options files = parts().queueOptions();
  files.directory = to_.consumeQueue() + "/" + name + "/" + std::to_string(queueId);
  files.workDirectory = to_.work();
  files.access = Access::kWrite;
  files.readMode = ReadMode::kMap;
  files.reserveStep = std::min(kReserveStep, files.fileSize);
  return files;
}

Status Exporter::stepQueues(bool lmq) {
  if (lmq && queue_ == 0 && kind_ == Kind::kInPlace) {
    const Result<std::vector<DirectoryEntry>> found = list(to_.consumeQueue());
    if (!found.ok()) return found.status();
    for (const DirectoryEntry& entry : *found) {
      if (entry.isDirectory && entry.name.starts_with(kLmqPrefix)) strangers_.insert(entry.name);
    }
  }
  StoreParts& from = parts();
  const int64_t enough = progress_.units + kStepUnits;
  for (int i = 0; i < kStepQueues && progress_.units < enough; ++i, ++queue_) {
    std::string name;
    int32_t queueId = 0;
    {
      const std::lock_guard<std::mutex> guard(store_.lock());
      const auto& table = lmq ? from.lmqDirectories : from.queues;
      const bool indexed = lmq && from.lmq != nullptr;
      if (queue_ >= (indexed ? from.lmq->queueCount() : table->all().size())) {
        queue_ = 0;
        phase_ = lmq ? Phase::kTail : Phase::kLights;
        return {};
      }
      if (indexed) {
        name = from.lmq->nameOf(queue_);
      } else {
        name = table->all()[queue_]->topic();
        queueId = table->all()[queue_]->queueId();
      }
    }
    LMQ_TRY(writeQueue({lmq, queue_}, name, queueId, lmq));
  }
  return {};
}

// Queues that only records of the tail name; and in place, what is no light queue of ours.
Status Exporter::stepTail() {
  for (uint64_t i = 0; tail_ != nullptr && i < tail_->queueCount(); ++i) {
    const std::string name(tail_->nameOf(i));
    {
      const std::lock_guard<std::mutex> guard(store_.lock());
      if (parts().lmq->find(name) != LmqIndex::kNone) continue;
    }
    if (!isSafeName(name)) continue;
    ConsumeQueue out(name, 0, filesOf(name, 0));
    LMQ_TRY(addTail(name, -1, out));
    if (out.maxOffset() > 0) ++progress_.lightQueues;
    offsets_.endsAt(name, 0, out.maxOffset());
  }
  for (const std::string& name : strangers_) {
    LMQ_TRY(removeTree(to_.consumeQueue() + "/" + name));
  }
  phase_ = Phase::kOffsets;
  return {};
}

Status Exporter::nextUnits(Store::QueueRef queue, int64_t from, size_t* count) {
  units_.resize(kUnitsAtOnce);
  const std::lock_guard<std::mutex> guard(store_.lock());
  return store_.unitsAt(queue, from, units_.size(), units_.data(), count);
}

// In place: a queue that the directory already has in part is gone on with; *from is where. One
// that says anything else is written anew.
Status Exporter::startOf(Store::QueueRef queue, ConsumeQueue& out, int64_t min, int64_t* from) {
  *from = min;
  if (kind_ != Kind::kInPlace) return {};
  LMQ_TRY(out.load(false));
  const int64_t known = out.maxOffset();
  if (known == 0) return out.removeAll();
  std::vector<PlacedUnit> theirs(kUnitsAtOnce);
  const Result<int64_t> first = out.minOffset(progress_.logMin);
  bool fits = first.ok() && *first == min;
  for (int64_t at = min; fits && at < known;) {
    size_t ours = 0;
    LMQ_TRY(nextUnits(queue, at, &ours));
    fits = ours > 0;
    for (size_t i = 0; fits && i < ours && units_[i].queueOffset < known; ++i) {
      const PlacedUnit& unit = units_[i];
      size_t count = 0;
      LMQ_TRY(out.units(unit.queueOffset, 1, theirs.data(), &count));
      fits = count == 1 && same(theirs[0], unit) && unit.unit.physicalOffset < progress_.logEnd;
    }
    if (fits) at = units_[ours - 1].queueOffset + 1;
  }
  if (!fits) return out.removeAll();
  *from = known;
  return {};
}

Status Exporter::writeQueue(Store::QueueRef queue, const std::string& name, int32_t queueId,
                            bool lmq) {
  if (!isSafeName(name)) {
    trouble("unsafeName", name);
    return {};
  }
  Store::Bounds bounds;
  {
    const std::lock_guard<std::mutex> guard(store_.lock());
    LMQ_TRY(store_.boundsOf(queue, &bounds));
  }
  ConsumeQueue out(name, queueId, filesOf(name, queueId));
  int64_t from = 0;
  LMQ_TRY(startOf(queue, out, bounds.min, &from));
  int64_t lastPhysical = -1;
  progress_.units += from - bounds.min;
  for (bool ends = false; !ends;) {
    size_t count = 0;
    LMQ_TRY(nextUnits(queue, from, &count));
    ends = count == 0;
    for (size_t i = 0; i < count && !ends; ++i) {
      const auto& [offset, unit] = units_[i];
      ends = unit.physicalOffset >= progress_.logEnd && unit.size != ConsumeQueue::kBlankSize;
      if (ends || unit.size == ConsumeQueue::kBlankSize || unit.physicalOffset < progress_.logMin)
        continue;
      if (offset != from + static_cast<int64_t>(i) && out.maxOffset() > 0) trouble("gap", name);
      LMQ_TRY(out.put(unit, offset));
      lastPhysical = unit.physicalOffset;
      ++progress_.units;
    }
    if (count > 0) from = units_[count - 1].queueOffset + 1;
  }
  if (lmq && tail_ != nullptr) LMQ_TRY(addTail(name, lastPhysical, out));
  offsets_.endsAt(name, queueId, out.maxOffset());
  if (out.maxOffset() == 0) {  // no directory: a broker takes blank units alone for messages (Q10)
    if (bounds.max > 0) trouble("emptied", name);
    return {};
  }
  // A broker takes blank units at the start of such a log for messages (spec Q9).
  if (progress_.logMin == 0 && bounds.min % out.unitsPerFile() > 0) {
    trouble("blankStart", name);
  }
  ++(lmq ? progress_.lightQueues : progress_.topicQueues);
  strangers_.erase(name);
  return {};
}

Status Exporter::addTail(const std::string& name, int64_t lastPhysical, ConsumeQueue& out) {
  const uint64_t queue = tail_->find(name);
  if (queue == LmqIndex::kNone) return {};
  std::vector<PlacedUnit> units(kUnitsAtOnce);
  for (int64_t from = 0;;) {
    size_t count = 0;
    LMQ_TRY(tail_->units(queue, from, units.size(), units.data(), &count));
    if (count == 0) return {};
    for (size_t i = 0; i < count; ++i) {
      const auto& [offset, unit] = units[i];
      if (unit.physicalOffset <= lastPhysical || offset < out.maxOffset()) continue;
      LMQ_TRY(out.put(unit, offset));
      ++progress_.units;
    }
    from = units[count - 1].queueOffset + 1;
  }
}

}  // namespace lmq
