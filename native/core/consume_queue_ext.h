// RocketMQ's consume-queue extensions (spec 5.5), read only: where a broker keeps them, a unit's
// tags code is an address in consumequeue_ext/<topic>/<queue id>/.
//
//   at  size  field
//   0   2     size of the unit, 20 to 32767; -1 ends the file
//   2   8     tags code
//   10  8     store timestamp
//   18  2     length of the bitmap, which follows
#pragma once

#include <cstdint>
#include <string>

#include "mapped_file_queue.h"
#include "status.h"

namespace lmq {

class ConsumeQueueExt {
 public:
  static constexpr size_t kLeastUnit = 20;
  // Hashes of tags have 32 bits.
  static bool isAddress(int64_t tagsCode) { return tagsCode < INT32_MIN; }

  // The extensions of the queue whose files lie in `queueDirectory`.
  explicit ConsumeQueueExt(const std::string& queueDirectory);

  // The tags code at an address, or the address where nothing is found: it may be any.
  int64_t tagsCode(int64_t address);

  struct Unit {
    bool found = false;
    int64_t tagsCode = 0;
    int64_t storeTimestamp = 0;
    std::string path;  // where it lies, or should lie
    int64_t offset = 0;
  };
  Unit unitAt(int64_t address);

 private:
  bool read(int64_t position, Unit* unit);
  Status open();

  std::string directory_;
  std::unique_ptr<MappedFileQueue> files_;
  ReadBuffer buffer_;
};

}  // namespace lmq
