#include "store_verify.h"

#include <algorithm>

namespace lmq {

namespace {

constexpr int64_t kStepBytes = 16 * 1024 * 1024;
constexpr size_t kStepUnits = 4096;

// Is `name` one of the names of a comma-separated list?
bool listed(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

CommitLogScan scanOf(Store& store) {
  record::Check check;
  check.requireCrc = store.options().requireCrc;
  return store.parts().scanLog(check);
}

bool hasExtensions(Store& store) {
  const Result<FileInfo> info = inspect(store.parts().dir.consumeQueue() + "_ext");
  return info.ok() && (*info).exists;
}

}  // namespace

StoreVerify::StoreVerify(Store& store)
    : store_(store),
      generation_(store.generation()),
      log_(scanOf(store)),
      lookup_(scanOf(store)),
      logMin_(store.logMin()),
      logEnd_(store.logEnd()) {
  log_.seek(logMin_);
  extended_ = hasExtensions(store);
}

Status StoreVerify::step(Progress* progress) {
  LMQ_TRY(store_.checkGeneration(generation_));
  progress->total = logEnd_ - logMin_;
  LMQ_TRY(inLog_ ? stepLog(progress) : stepQueue(progress));
  progress->position = std::min(log_.position(), logEnd_) - logMin_;
  progress->records = records_;
  progress->units = units_;
  return {};
}

Status StoreVerify::stepLog(Progress* progress) {
  const int64_t until = std::min(logEnd_, log_.position() + kStepBytes);
  while (log_.position() < until) {
    Result<CommitLogScan::Step> step = log_.step();
    if (!step.ok()) return step.takeStatus();
    if (step->verdict == record::Verdict::kRecord) {
      ++records_;
      damagedBefore_ = false;
      continue;
    }
    if (step->verdict == record::Verdict::kBlank) continue;
    if (step->position < store_.logMin()) {  // expired meanwhile
      log_.seek(store_.logMin());
      continue;
    }
    if (!damagedBefore_) {
      progress->faults.push_back({Code::kCorruptRecord, record::verdictText(step->verdict),
                                  store_.parts().log->pathOf(step->position), step->position});
    }
    damagedBefore_ = true;
    LMQ_TRY(log_.passDamage(*step));
  }
  if (log_.position() >= logEnd_) inLog_ = false;
  return {};
}

uint64_t StoreVerify::queueCount(bool lmq) const {
  StoreParts& parts = store_.parts();
  if (!lmq) return parts.queues->all().size();
  return parts.lmq != nullptr ? parts.lmq->queueCount() : parts.lmqDirectories->all().size();
}

Status StoreVerify::stepQueue(Progress* progress) {
  StoreParts& parts = store_.parts();
  std::vector<PlacedUnit> units(kStepUnits);
  size_t count = 0;
  std::string name;
  int32_t queueId = 0;
  Store::QueueRef ref;
  {
    const std::lock_guard<std::mutex> guard(store_.lock());
    const auto& batches = parts.batchQueues;
    if (!lmq_ && queue_ >= queueCount(false) && queue_ - queueCount(false) < batches.size()) {
      const BatchConsumeQueue& batch = *batches[queue_++ - queueCount(false)];
      return stepBatchQueue(batch, progress);
    }
    if (queue_ >= queueCount(lmq_)) {
      progress->done = lmq_;
      lmq_ = true;
      queue_ = 0;
      offset_ = -1;
      return {};
    }
    ref = {lmq_, queue_};
    if (lmq_ && parts.lmq != nullptr) {
      name = parts.lmq->nameOf(queue_);
    } else {
      const ConsumeQueue& queue = *(lmq_ ? parts.lmqDirectories : parts.queues)->all()[queue_];
      name = queue.topic();
      queueId = queue.queueId();
    }
    Store::Bounds bounds;
    LMQ_TRY(store_.boundsOf(ref, &bounds));
    if (offset_ < bounds.min) offset_ = bounds.min;
    Status status = store_.unitsAt(ref, offset_, units.size(), units.data(), &count);
    if (!status.ok()) {
      progress->faults.push_back({status.code(), name + ": " + status.facts().message,
                                  status.facts().path, status.facts().offset});
      count = 0;
    }
    extensions_.clear();
    if (extended_ && !lmq_) {
      LMQ_TRY(readExtensions(*parts.queues->all()[queue_], units, count));
    }
  }
  if (count == 0) {
    ++queue_;
    offset_ = -1;
    return {};
  }
  for (size_t i = 0; i < count; ++i) checkUnit(ref, name, queueId, units[i], progress);
  offset_ = units[count - 1].queueOffset + 1;
  units_ += static_cast<int64_t>(count);
  return {};
}

void StoreVerify::checkUnit(Store::QueueRef queue, const std::string& name, int32_t queueId,
                            const PlacedUnit& placed, Progress* progress) {
  const Unit& unit = placed.unit;
  if (unit.size == ConsumeQueue::kBlankSize || unit.physicalOffset >= logEnd_) return;
  if (unit.physicalOffset < store_.logMin()) return;  // expired meanwhile
  const auto fault = [&](const char* what) {
    progress->faults.push_back(
        {Code::kCorruptRecord, name + ": " + what,
         store_.parts().dir.commitLog() + " at " + std::to_string(unit.physicalOffset),
         placed.queueOffset});
  };
  lookup_.seek(unit.physicalOffset);
  const Result<CommitLogScan::Step> step = lookup_.step();
  if (!step.ok()) return fault("the record of this unit cannot be read");
  const record::View& view = (*step).view;
  if ((*step).verdict != record::Verdict::kRecord)
    return fault("this unit leads to no whole record");
  if (static_cast<int32_t>(view.size) != unit.size)
    return fault("this unit states another size than its record");
  if (queue.lmq) {
    if (!listed(record::findProperty(view.properties(), record::kDispatchName), name)) {
      fault("this entry leads to a record that does not name the queue");
    }
  } else if (view.topic() != name || view.queueId != queueId ||
             view.queueOffset != placed.queueOffset) {
    fault("this unit leads to a record of another queue or offset");
  } else {
    checkExtension(name, view, placed.queueOffset, progress);
  }
}

}  // namespace lmq
