// RocketMQ's batch consume queue (spec 5.6), read only: the queue of a topic whose records are
// inner batches, in batchconsumequeue/<topic>/<queue id>/. One unit for the messages of one record:
//
//   at  size  field
//   0   8     physical offset of the record
//   8   4     size of the record
//   12  8     tags code
//   20  8     store timestamp
//   28  8     queue offset of the first message
//   36  2     how many messages
//   38  8     reserved
//
// Units are kept in memory: what they are found by is not their number.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lmq_entry.h"
#include "mapped_file_queue.h"
#include "status.h"

namespace lmq {

class BatchConsumeQueue {
 public:
  static constexpr uint64_t kUnitSize = 46;

  BatchConsumeQueue(std::string topic, int32_t queueId, std::string directory);

  const std::string& topic() const { return topic_; }
  int32_t queueId() const { return queueId_; }

  // Takes in what the files have, up to the first unit that is none. True if anything came.
  Result<bool> refresh();

  int64_t minOffset(int64_t logMin) const;  // of the first record at or above `logMin`
  int64_t maxOffset() const { return units_.empty() ? 0 : units_.back().end(); }
  // The first offset of the batch that holds `offset`, and the first behind it. The offset itself
  // where no batch holds it.
  int64_t startOf(int64_t offset) const;
  int64_t endOf(int64_t offset) const;

  // A unit as its file has it.
  struct Found {
    PlacedUnit placed;
    int64_t storeTimestamp = 0;
    int32_t messages = 0;
    bool valid = false;  // it follows those before it
    std::string path;
    int64_t offset = 0;  // in the file
  };
  // Calls `visit` for every unit in the files that is not all zero, also behind those that units()
  // gives. kFileSize where files are of another length.
  Status visitAll(const std::function<void(const Found&)>& visit) const;

  // Up to `max` units from the first that starts at `from` or behind it.
  void units(int64_t from, size_t max, PlacedUnit* out, size_t* count) const;

 private:
  struct BatchUnit {
    PlacedUnit placed;
    int32_t messages = 0;
    int64_t end() const { return placed.queueOffset + messages; }
  };
  using Place = std::vector<BatchUnit>::const_iterator;

  Result<std::unique_ptr<MappedFileQueue>> open() const;
  static bool decode(const uint8_t* bytes, int64_t from, BatchUnit* out);
  bool take(const uint8_t* bytes);
  Place startingAt(int64_t offset) const;          // the first unit that starts there or behind
  const BatchUnit* holding(int64_t offset) const;  // nullptr: none

  std::string topic_;
  int32_t queueId_;
  std::string directory_;
  std::unique_ptr<MappedFileQueue> files_;
  ReadBuffer buffer_;
  std::vector<BatchUnit> units_;
  uint64_t readUpTo_ = 0;
};

}  // namespace lmq
