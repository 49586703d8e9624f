// Consumer offsets beside the queues that they are in: none runs ahead of its queue.
#include <algorithm>

#include "store.h"

namespace lmq {

namespace {

constexpr size_t kPage = 1000;
constexpr size_t kMaxLowered = 20;  // that are noted one by one

Status lowered(const ConsumerOffsets::Offset& was, int64_t max) {
  return Status(Code::kOffsetTooLarge,
                "Group " + was.group + " was at " + std::to_string(was.offset) + " of queue " +
                    std::to_string(was.queueId) + " of " + was.topic + ", which ends at " +
                    std::to_string(max) + ": set back to the end.")
      .offset(was.offset)
      .limit(max);
}

}  // namespace

Result<int64_t> Store::maxOffsetOf(std::string_view topic, int32_t queueId) {
  QueueRef queue;
  int64_t number = -1;
  if (topic.starts_with(kLmqPrefix) && queueId == 0) {
    queue.lmq = true;
    if (lmqIsDirectory()) {
      number = parts_->lmqDirectories->find(topic, 0);
    } else {
      const uint64_t found = parts_->lmq->find(topic);
      number = found == LmqIndex::kNone ? -1 : static_cast<int64_t>(found);
    }
  } else {
    number = parts_->queues->find(topic, queueId);
  }
  if (number < 0) return int64_t{0};
  queue.number = static_cast<uint64_t>(number);
  Bounds bounds;
  LMQ_TRY(boundsOf(queue, &bounds));
  return bounds.max;
}

Status Store::loadOffsets() {
  StoreParts& parts = *parts_;
  ConsumerOffsets::Options options{parts.dir.offsets(), parts.dir.work(),
                                   parts.options.readOnly ? Access::kReadQuietly : Access::kWrite};
  parts.offsets = std::make_unique<ConsumerOffsets>(options);
  std::vector<Status> notes;
  LMQ_TRY(parts.offsets->load(&notes));
  for (Status& note : notes) report_.note(std::move(note));
  if (report_.clean) return {};
  if (parts.options.readOnly) {
    // A reader may see a commit before the messages that it passes.
    const Result<bool> written = parts.dir.isLocked();
    if (!written.ok()) return written.status();
    if (*written) return {};
  }
  return lowerOffsets();
}

Status Store::lowerOffsets() {
  ConsumerOffsets& offsets = *parts_->offsets;
  std::vector<ConsumerOffsets::Offset> ahead;
  std::vector<ConsumerOffsets::Offset> page;
  uint64_t cursor = 0;
  for (bool more = true; more; page.clear()) {
    more = offsets.list(&cursor, kPage, &page);
    for (ConsumerOffsets::Offset& one : page) {
      const Result<int64_t> max = maxOffsetOf(one.topic, one.queueId);
      if (!max.ok()) return max.status();
      if (one.offset > *max) ahead.push_back(std::move(one));
    }
  }
  for (size_t i = 0; i < ahead.size(); ++i) {
    const ConsumerOffsets::Offset& one = ahead[i];
    const Result<int64_t> max = maxOffsetOf(one.topic, one.queueId);
    if (!max.ok()) return max.status();
    LMQ_TRY(offsets.commit(one.group, one.topic, one.queueId, *max));
    if (i < kMaxLowered) report_.note(lowered(one, *max));
  }
  if (ahead.size() > kMaxLowered) {
    report_.note(Status(Code::kOffsetTooLarge, std::to_string(ahead.size() - kMaxLowered) +
                                                   " more offsets were set back to the end."));
  }
  return {};
}

Status Store::commitOffset(std::string_view group, std::string_view topic, int32_t queueId,
                           int64_t offset) {
  {
    const std::lock_guard<std::mutex> guard(lock_);
    LMQ_TRY(checkWritable());
    const Result<int64_t> max = maxOffsetOf(topic, queueId);
    if (!max.ok()) return max.status();
    if (offset > *max) {
      return Status(Code::kOffsetTooLarge, "Offset " + std::to_string(offset) +
                                               " lies beyond the end of its queue, " +
                                               std::to_string(*max) + ".")
          .offset(offset)
          .limit(*max);
    }
  }
  return parts_->offsets->commit(group, topic, queueId, offset);  // may have to sync: without lock_
}

Status Store::restoreOffset(std::string_view group, std::string_view topic, int32_t queueId,
                            int64_t offset, int64_t* kept) {
  *kept = offset;
  if (!parts_->options.readOnly) {
    const std::lock_guard<std::mutex> guard(lock_);
    LMQ_TRY(checkWritable());
    const Result<int64_t> max = maxOffsetOf(topic, queueId);
    if (!max.ok()) return max.status();
    *kept = std::min(offset, *max);
  }
  return parts_->offsets->commit(group, topic, queueId, *kept);
}

}  // namespace lmq
