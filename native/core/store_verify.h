// Verification: every record of the log, then every unit and entry against its record. In steps, so
// that a caller can show progress, stop, and keep using the store.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "commit_log_scan.h"
#include "store.h"

namespace lmq {

class StoreVerify {
 public:
  explicit StoreVerify(Store& store);

  struct Fault {
    Code code;
    std::string message;
    std::string path;
    int64_t offset;
  };
  struct Progress {
    bool done = false;
    int64_t position = 0;  // bytes of log and queues looked at, of `total`
    int64_t total = 0;
    int64_t records = 0;
    int64_t units = 0;
    std::vector<Fault> faults;  // found in this step
  };
  // Looks at some megabytes. A Status is a failure to read at all; damage is a fault.
  Status step(Progress* progress);

 private:
  Status stepLog(Progress* progress);
  Status stepQueue(Progress* progress);
  void checkUnit(Store::QueueRef queue, const std::string& name, int32_t queueId,
                 const PlacedUnit& placed, Progress* progress);
  uint64_t queueCount(bool lmq) const;
  // store_verify_broker.cc: what a broker alone writes.
  Status stepBatchQueue(const BatchConsumeQueue& queue, Progress* progress);
  Status readExtensions(const ConsumeQueue& queue, const std::vector<PlacedUnit>& units,
                        size_t count);
  void checkExtension(const std::string& name, const record::View& view, int64_t offset,
                      Progress* progress) const;

  Store& store_;
  const uint64_t generation_;
  CommitLogScan log_;
  CommitLogScan lookup_;
  int64_t logMin_;
  int64_t logEnd_;
  bool damagedBefore_ = false;  // one fault for a stretch of damage
  bool inLog_ = true;
  bool lmq_ = false;
  uint64_t queue_ = 0;
  int64_t offset_ = -1;
  int64_t records_ = 0;
  int64_t units_ = 0;
  bool extended_;  // there are consume-queue extensions
  std::unordered_map<int64_t, ConsumeQueueExt::Unit> extensions_;  // of a step's units, by offset
};

}  // namespace lmq
