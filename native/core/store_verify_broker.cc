// Verification of what a broker alone writes: queues of inner batches and consume-queue extensions.
#include <charconv>

#include "store_verify.h"

namespace lmq {

namespace {

constexpr std::string_view kScheduleTopic = "SCHEDULE_TOPIC_XXXX";

int32_t messagesIn(const record::View& view) {
  if ((view.sysFlag & sys_flag::kInnerBatch) == 0) return 1;
  const std::string_view text = record::findProperty(view.properties(), "INNER_NUM");
  int32_t count = -1;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

int64_t tagsCodeOf(const record::View& view) {
  return record::tagsCode(view, record::findKeys(view.properties()), nullptr, 0);
}

}  // namespace

Status StoreVerify::stepBatchQueue(const BatchConsumeQueue& queue, Progress* progress) {
  bool broken = false;  // behind a unit that is none, everything is
  const Status status = queue.visitAll([&](const BatchConsumeQueue::Found& found) {
    const auto fault = [&](const char* what) {
      progress->faults.push_back(
          {Code::kCorruptFile, queue.topic() + ": " + what, found.path, found.offset});
    };
    ++units_;
    if (!found.valid) {
      if (!broken) fault("this unit does not follow the one before; a read ends here");
      broken = true;
      return;
    }
    const Unit& unit = found.placed.unit;
    if (unit.physicalOffset < store_.logMin() || unit.physicalOffset >= logEnd_) return;
    lookup_.seek(unit.physicalOffset);
    const Result<CommitLogScan::Step> step = lookup_.step();
    if (!step.ok()) return fault("the record of this unit cannot be read");
    const record::View& view = (*step).view;
    if ((*step).verdict != record::Verdict::kRecord) {
      fault("this unit leads to no whole record");
    } else if (static_cast<int32_t>(view.size) != unit.size) {
      fault("this unit states another size than its record");
    } else if (view.topic() != queue.topic() || view.queueId != queue.queueId() ||
               view.queueOffset != found.placed.queueOffset) {
      fault("this unit leads to a record of another queue or offset");
    } else if (found.messages != messagesIn(view)) {
      fault("this unit states another number of messages than its record");
    } else if (found.storeTimestamp != view.storeTimestamp) {
      fault("this unit states another store time than its record");
    } else if (unit.tagsCode != tagsCodeOf(view)) {
      fault("this unit has another tags code than its record");
    }
  });
  if (status.code() != Code::kFileSize) return status;
  progress->faults.push_back({status.code(), queue.topic() + ": " + status.facts().message,
                              status.facts().path, status.facts().offset});
  return {};
}

// Under the store's lock: the queue's files are read.
Status StoreVerify::readExtensions(const ConsumeQueue& queue, const std::vector<PlacedUnit>& units,
                                   size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Result<std::optional<ConsumeQueueExt::Unit>> unit = queue.extensionOf(units[i].queueOffset);
    if (!unit.ok()) return unit.takeStatus();
    if (*unit) extensions_.emplace(units[i].queueOffset, **unit);
  }
  return {};
}

void StoreVerify::checkExtension(const std::string& name, const record::View& view, int64_t offset,
                                 Progress* progress) const {
  const auto extension = extensions_.find(offset);
  if (extension == extensions_.end()) return;
  const ConsumeQueueExt::Unit& unit = extension->second;
  const char* what = nullptr;
  if (!unit.found) {
    what = "the extension of this queue's unit is missing or damaged";
  } else if (unit.storeTimestamp != view.storeTimestamp) {
    what = "this extension states another store time than its record";
  } else if (view.topic() != kScheduleTopic && unit.tagsCode != tagsCodeOf(view)) {
    what = "this extension has another tags code than its record";
  }
  if (what == nullptr) return;
  progress->faults.push_back({Code::kCorruptFile, name + " " + std::to_string(offset) + ": " + what,
                              unit.path, unit.offset});
}

}  // namespace lmq
