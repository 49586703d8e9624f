// Finding messages by their store time (spec 7.3).
#include <algorithm>

#include "store.h"

namespace lmq {

namespace {

constexpr size_t kUnitsAtOnce = 128;

}  // namespace

// A message and when it was stored.
struct Store::Timed {
  int64_t offset = 0;
  int64_t millis = 0;
};

// `size` as a unit says, or negative: as the record itself says. Reads the record's head alone.
Status Store::storeTimeAt(int64_t physicalOffset, int64_t size, bool* found, int64_t* millis) {
  *found = false;
  constexpr auto kHead = static_cast<int64_t>(record::kMinSize);
  const int64_t readable = parts_->log->readableBehind(physicalOffset);
  if (readable < kHead) return {};
  ReadBuffer buffer(record::kMinSize);
  Result<MappedFileQueue::Pinned> head =
      parts_->log->read(physicalOffset, record::kMinSize, buffer);
  if (!head.ok()) return head.status().code() == Code::kNotFound ? Status() : head.takeStatus();
  bool blank = false;
  if (size < 0) size = std::max<int64_t>(record::claimedSize(head->data, &blank), 0);
  *found = size <= readable &&
           record::storeTimestampOf(head->data, static_cast<size_t>(size), physicalOffset, millis);
  return {};
}

// The first message in [from, to) whose store time can be told; offset `to` if there is none. Blank
// units, expired and damaged records tell none.
Status Store::timedFrom(QueueRef queue, int64_t from, int64_t to, Timed* out) {
  PlacedUnit units[kUnitsAtOnce];
  // The first unit nearly always tells.
  for (size_t atOnce = 1; from < to; atOnce = kUnitsAtOnce) {
    size_t count = 0;
    {
      const std::lock_guard<std::mutex> guard(lock_);
      if (closed_) return Status(Code::kClosed, "The store is closed.").at(parts_->dir.root());
      LMQ_TRY(
          unitsAt(queue, from, std::min(atOnce, static_cast<size_t>(to - from)), units, &count));
    }
    if (count == 0) break;
    for (size_t i = 0; i < count && units[i].queueOffset < to; ++i) {
      const Unit& unit = units[i].unit;
      if (unit.size == ConsumeQueue::kBlankSize) continue;
      bool found = false;
      LMQ_TRY(storeTimeAt(unit.physicalOffset, std::max(unit.size, 0), &found, &out->millis));
      if (!found) continue;
      out->offset = units[i].queueOffset;
      return {};
    }
    from = std::max(from + 1, units[count - 1].queueOffset + 1);
  }
  out->offset = to;
  return {};
}

Status Store::offsetAt(QueueRef queue, int64_t millis, Bound bound, int64_t* offset) {
  Bounds found;
  LMQ_TRY(bounds(queue, &found));
  int64_t from = found.min;  // whatever lies below was stored before
  int64_t to = found.max;    // whatever is known from here on was not
  int64_t last = found.min;
  int64_t first = found.max;
  while (from < to) {
    const int64_t middle = from + (to - from) / 2;
    Timed at;
    LMQ_TRY(timedFrom(queue, middle, to, &at));
    const bool before = bound == Bound::kLower ? at.millis < millis : at.millis <= millis;
    if (at.offset < to && before) {
      last = at.offset;
      from = at.offset + 1;
    } else {
      if (at.offset < to) first = at.offset;
      to = middle;
    }
  }
  *offset = bound == Bound::kLower ? first : last;
  return {};
}

Status Store::timesOf(QueueRef queue, Times* out) {
  Bounds found;
  LMQ_TRY(bounds(queue, &found));
  Timed at;
  LMQ_TRY(timedFrom(queue, found.min, found.max, &at));
  if (at.offset == found.max) return {};
  out->earliest = at.millis;
  // Nearly always the one before the end.
  LMQ_TRY(timedFrom(queue, found.max - 1, found.max, &at));
  if (at.offset == found.max) {
    int64_t last = 0;
    LMQ_TRY(offsetAt(queue, INT64_MAX, Bound::kUpper, &last));
    LMQ_TRY(timedFrom(queue, last, found.max, &at));
  }
  out->latest = at.millis;
  return {};
}

// A file may begin with a blank record: its first message did not fit.
Status Store::earliestTime(int64_t* millis) {
  *millis = Times::kNone;
  bool found = false;
  for (int64_t at = logMin(); !found && at < logEnd(); at += parts_->log->fileSize()) {
    LMQ_TRY(storeTimeAt(at, -1, &found, millis));
  }
  if (!found) *millis = Times::kNone;
  return {};
}

}  // namespace lmq
