#include "dispatch.h"

#include <algorithm>
#include <charconv>

namespace lmq {

namespace {

// The part of a comma-separated list that starts at *at; moves *at behind it, past its end after
// the last one. Trailing empty parts are parts here.
std::string_view nextPart(std::string_view list, size_t* at) {
  const size_t comma = list.find(',', *at);
  const size_t end = comma == std::string_view::npos ? list.size() : comma;
  const std::string_view part = list.substr(*at, end - *at);
  *at = comma == std::string_view::npos ? list.size() + 1 : comma + 1;
  return part;
}

int64_t offsetOf(std::string_view text) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 ? value : -1;
}

}  // namespace

bool topicAllowsLmq(std::string_view topic) {
  return !topic.starts_with("%RETRY%") && !topic.starts_with("%DLQ%") &&
         !topic.starts_with("rmq_sys_") && topic != "SCHEDULE_TOPIC_XXXX" &&
         topic != "RMQ_SYS_TRANS_HALF_TOPIC";
}

bool isSafeName(std::string_view name) {
  return !name.empty() && name.size() <= record::kMaxTopic && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

void DispatchPlan::parse(std::string_view names, size_t count, bool writeNames) {
  names_.assign(names);
  writeNames_ = writeNames;
  targets_.clear();
  fields_.clear();
  // Short lists are compared name by name, which is faster and needs no memory.
  constexpr size_t kShort = 24;
  std::unordered_map<std::string_view, int32_t> known;
  const auto targetOf = [&](std::string_view name) {
    const int32_t next = static_cast<int32_t>(targets_.size());
    if (count > kShort) return known.try_emplace(name, next).first->second;
    const auto same = std::find_if(targets_.begin(), targets_.end(),
                                   [&](const Target& target) { return target.name == name; });
    return static_cast<int32_t>(same - targets_.begin());
  };
  size_t at = 0;
  for (size_t i = 0; i < count && at <= names_.size(); ++i) {
    const std::string_view name = nextPart(names_, &at);
    int32_t target = -1;
    if (name.starts_with(kLmqPrefix)) {
      target = targetOf(name);
      if (target == static_cast<int32_t>(targets_.size()))
        targets_.push_back({name, LmqIndex::kNone});
    }
    fields_.push_back(target);
  }
  offsets_.assign(fields_.size(), -1);
  lookup_.clear();
  lookup_.reserve(targets_.size());
}

void DispatchPlan::assign(const LmqIndex& index, size_t* newNames, size_t* newNameBytes) {
  *newNames = *newNameBytes = 0;
  lookup_.clear();
  for (const Target& target : targets_) {
    if (target.queue == LmqIndex::kNone) lookup_.push_back(target.name);
  }
  if (!lookup_.empty()) {
    index.prefetch(lookup_.data(), lookup_.size());
    for (Target& target : targets_) {
      if (target.queue != LmqIndex::kNone) continue;
      target.queue = index.find(target.name);
      if (target.queue != LmqIndex::kNone) continue;
      ++*newNames;
      *newNameBytes += target.name.size();
    }
  }
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i] < 0) continue;
    const uint64_t queue = targets_[static_cast<size_t>(fields_[i])].queue;
    offsets_[i] = queue == LmqIndex::kNone ? 0 : index.nextOffset(queue);
  }
}

void DispatchPlan::assignBehind(Ahead* ahead) {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i] < 0) continue;
    const auto known = ahead->find(targets_[static_cast<size_t>(fields_[i])].name);
    if (known != ahead->end()) offsets_[i] += known->second;
  }
  for (const Target& target : targets_) ++(*ahead)[target.name];
}

Status DispatchPlan::dispatch(LmqIndex& index, const Unit& unit) {
  for (Target& target : targets_) {
    if (target.queue == LmqIndex::kNone) {
      const Result<uint64_t> queue = index.create(target.name);
      if (!queue.ok()) return queue.status();
      target.queue = *queue;
    }
    LMQ_TRY(index.add(target.queue, {index.nextOffset(target.queue), unit}));
  }
  return {};
}

Status Redispatcher::dispatch(const record::View& view, bool lmqOnly) {
  const Keys keys = record::findKeys(view.properties());
  LMQ_TRY(dispatchKeys(view, keys));
  if (!sys_flag::isQueued(view.sysFlag)) return {};
  const int64_t tagsCode = record::tagsCode(view, keys, delayLevels_.data(), delayLevels_.size());
  if (!lmqOnly) LMQ_TRY(dispatchMain(view, tagsCode));
  return dispatchLmq(view, tagsCode);
}

Status Redispatcher::dispatchKeys(const record::View& view, const Keys& keys) {
  if (keys_ == nullptr || !sys_flag::isIndexed(view.sysFlag) || keys.empty()) return {};
  LMQ_TRY(keys_->reserve(keys.count()));
  return keys_->add(record::javaHash(view.topic()), keys, view.physicalOffset, view.storeTimestamp);
}

Status Redispatcher::dispatchMain(const record::View& view, int64_t tagsCode) {
  const std::string_view topic = view.topic();
  if (!isSafeName(topic) || topic.starts_with(kLmqPrefix) || view.queueId < 0 ||
      view.queueOffset < 0 || view.queueOffset > ConsumeQueue::kMaxOffset) {
    note_(Status(Code::kInvalidTopic, "The record's topic or queue cannot be dispatched.")
              .offset(view.physicalOffset));
    return {};
  }
  const Result<ConsumeQueue*> found = queues_.findOrCreate(queues_.topic(topic), view.queueId);
  if (!found.ok()) return found.status();
  ConsumeQueue* queue = *found;
  if (view.physicalOffset <= queue->lastPhysicalOffset()) return {};  // already there
  const int64_t offset = view.queueOffset;
  if (offset < queue->maxOffset() && queue->lastPhysicalOffset() >= 0) {
    note_(Status(Code::kCorruptRecord, "Another record holds this record's queue offset.")
              .at(queue->directory())
              .offset(view.physicalOffset));
    return {};
  }
  if (offset - queue->maxOffset() > ConsumeQueue::kMaxGap && queue->maxOffset() > 0) {
    note_(Status(Code::kCorruptRecord, "The queue's numbering has a gap that is too wide.")
              .at(queue->directory())
              .offset(view.physicalOffset)
              .limit(ConsumeQueue::kMaxGap));
    return {};
  }
  return queue->put({view.physicalOffset, static_cast<int32_t>(view.size), tagsCode},
                    std::max(offset, queue->maxOffset()));
}

Status Redispatcher::dispatchLmq(const record::View& view, int64_t tagsCode) {
  if (!lmq_ || !topicAllowsLmq(view.topic())) return {};
  const std::string_view names = record::findProperty(view.properties(), record::kDispatchName);
  if (names.empty()) return {};
  const std::string_view offsets =
      record::findProperty(view.properties(), record::kDispatchOffsetsName);
  // Name and offset belong together by position. A field without a number (a plain name, Q1) and a
  // name that no queue can have are passed over.
  size_t nameAt = 0;
  size_t offsetAt = 0;
  while (nameAt <= names.size() && offsetAt <= offsets.size()) {
    const std::string_view name = nextPart(names, &nameAt);
    const int64_t offset = offsetOf(nextPart(offsets, &offsetAt));
    if (offset < 0 || !name.starts_with(kLmqPrefix)) continue;
    if (!isSafeName(name)) {
      note_(Status(Code::kInvalidLmqName, "The record names a light queue that cannot be.")
                .offset(view.physicalOffset));
      continue;
    }
    const Unit unit{view.physicalOffset, static_cast<int32_t>(view.size), tagsCode};
    LMQ_TRY(index_ != nullptr ? addToIndex(name, offset, unit)
                              : addToDirectory(name, offset, unit));
  }
  return {};
}

int64_t Redispatcher::placeOf(std::string_view name, int64_t offset, int64_t next,
                              const Unit& unit) {
  if (offset >= next && offset <= LmqIndex::kMaxOffset) return offset;
  note_(Status(Code::kCorruptRecord, "Another record holds this record's offset in " +
                                         std::string(name) + "; it takes the next free one.")
            .offset(unit.physicalOffset)
            .limit(next));
  return next;
}

Status Redispatcher::addToIndex(std::string_view name, int64_t offset, const Unit& unit) {
  const Result<uint64_t> queue = index_->findOrCreate(name);
  if (!queue.ok()) return queue.status();
  const Result<int64_t> last = index_->lastPhysicalOffset(*queue);
  if (!last.ok()) return last.status();
  if (unit.physicalOffset <= *last) return {};  // already there
  LMQ_TRY(index_->reserve(1, 0, 0));
  return index_->add(*queue, {placeOf(name, offset, index_->nextOffset(*queue), unit), unit});
}

Status Redispatcher::addToDirectory(std::string_view name, int64_t offset, const Unit& unit) {
  const Result<ConsumeQueue*> found = directories_->findOrCreate(directories_->topic(name), 0);
  if (!found.ok()) return found.status();
  ConsumeQueue* queue = *found;
  if (unit.physicalOffset <= queue->lastPhysicalOffset()) return {};  // already there
  const int64_t next = queue->maxOffset();
  const bool tooFar = next > 0 && offset - next > ConsumeQueue::kMaxGap;
  return queue->put(unit, placeOf(name, tooFar ? -1 : offset, next, unit));
}

}  // namespace lmq
