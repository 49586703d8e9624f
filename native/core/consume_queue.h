// RocketMQ's file consume queue: the units of one topic queue (spec 5.1 to 5.4).
//
// Unit, 20 bytes; the unit of queue offset n lies at byte 20 n of the queue's files:
//
//   at  size  field
//   0   8     physical offset of the record
//   8   4     size of the record; stored last, so that a reader sees nothing or a whole unit
//   12  8     tags code
//
// A blank unit (0, 7FFFFFFF, 0) stands where a queue has no message: before its first, or in a gap.
//
// A reader puts units that the files do not have yet behind theirs, in memory: of records that a
// broker has not dispatched, or of a directory without queues.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consume_queue_ext.h"
#include "lmq_entry.h"
#include "mapped_file_queue.h"
#include "status.h"

namespace lmq {

class ConsumeQueue {
 public:
  static constexpr uint64_t kUnitSize = 20;
  static constexpr int32_t kBlankSize = 0x7FFFFFFF;
  // Gaps up to this many units are filled with blank units; a larger one is not dispatched.
  static constexpr int64_t kMaxGap = 1 << 20;
  // JavaScript's largest exact integer; the unit's position fits into 64 bits, too.
  static constexpr int64_t kMaxOffset = (int64_t{1} << 53) - 1;

  ConsumeQueue(std::string topic, int32_t queueId, MappedFileQueue::Options options);

  const std::string& topic() const { return topic_; }
  int32_t queueId() const { return queueId_; }
  const std::string& directory() const { return files_.directory(); }
  int64_t unitsPerFile() const { return static_cast<int64_t>(files_.fileSize() / kUnitSize); }

  // Finds the end: the first unit that is not valid. After a clean close units are dense and the
  // end is searched; else the last three files are read unit by unit, as RocketMQ does (spec 5.4).
  Status load(bool dense);
  // A reader looks for units that a writer has added. True if anything came.
  Result<bool> refresh();

  int64_t maxOffset() const { return end_; }  // one past the last unit
  // The first unit that is not blank and points at or above `logMin`; maxOffset() if none does.
  Result<int64_t> minOffset(int64_t logMin);
  // Leaves out the files in which nothing points at or above `logMin`, but not the last, which
  // keeps the numbering. On the append side; then removeDetached() on any thread.
  Status detachBefore(int64_t logMin);
  Status removeDetached() { return files_.removeDetached(); }
  // End of the last record that has a unit; -1 if none has.
  int64_t recordsEnd() const { return recordsEnd_; }
  // Position of the last record that has a unit; -1 if none has.
  int64_t lastPhysicalOffset() const { return lastPhysical_; }

  // Append side. Room first; then put() of the same offset cannot fail for lack of room.
  Status reserve(int64_t queueOffset) {
    const uint64_t position = static_cast<uint64_t>(end_) * kUnitSize;
    const bool easy =
        queueOffset == end_ && end_ <= kMaxOffset && files_.hasRoom(position, kUnitSize);
    if (!easy) LMQ_TRY(reserveMore(queueOffset));
    files_.expect(position, kUnitSize);
    return {};
  }
  Status reserveNext(int64_t count);  // the same for `count` units from maxOffset() on
  Status put(const Unit& unit, int64_t queueOffset);  // queueOffset >= maxOffset()

  // Up to `max` units from `from` on, none behind the file that holds `from`.
  Status units(int64_t from, size_t max, PlacedUnit* out, size_t* count) const;

  // What a unit has in the extensions; none where it has no address there.
  Result<std::optional<ConsumeQueueExt::Unit>> extensionOf(int64_t offset) const;

  // Removes every unit of a record at or above `logEnd` and what follows it, zeroed and synced.
  Status truncate(int64_t logEnd);
  // Blocks until the units below `to` are on the device. The flusher's, beside put(): `to` is
  // maxOffset() as it was under the append lock.
  Status sync(int64_t to);
  bool isDirty(int64_t to) const { return to != synced_; }
  Status removeAll();

 private:
  Status reserveMore(int64_t queueOffset);
  Status usable(Status loaded) const;
  int64_t firstOffset() const;
  bool isAhead(int64_t offset) const { return !ahead_.empty() && offset >= filesEnd_; }
  Status putAhead(const Unit& unit, int64_t queueOffset);
  Result<Unit> unitAt(int64_t offset) const;
  ConsumeQueueExt& extensions() const;
  // First offset in [from, to) whose unit is not valid or, with `logEnd`, at or above it.
  Result<int64_t> scan(int64_t from, int64_t to, int64_t logEnd);
  Result<int64_t> searchEnd(int64_t from, int64_t to) const;
  Result<int64_t> firstNotBlank(int64_t from, int64_t to) const;  // `to` if all are blank
  Status searchMin(int64_t logMin);
  Result<bool> refreshEnd();
  Status noteLast();
  std::vector<uint64_t> connectedBases() const;  // of the files before the first missing one

  std::string topic_;
  int32_t queueId_;
  MappedFileQueue files_;
  bool readOnly_;
  int64_t end_ = 0;
  int64_t filesEnd_ = 0;     // a reader's: the files have the units below
  std::vector<Unit> ahead_;  // and this the ones from there on
  int64_t synced_ = 0;
  int64_t recordsEnd_ = -1;
  int64_t lastPhysical_ = -1;
  int64_t minFor_ = -1;  // the log minimum that min_ was computed for
  int64_t min_ = 0;
  mutable ReadBuffer buffer_;
  mutable std::unique_ptr<ConsumeQueueExt> ext_;  // once a unit leads there
};

}  // namespace lmq
