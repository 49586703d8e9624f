// A copy of a store while it is written: a snapshot for ourselves, a directory for a broker of
// RocketMQ, or our own directory made ready for one. In steps, off the JavaScript thread; appends
// and reads go on.
//
// The copy ends at one border between records, taken once at the start. The log is copied from its
// newest file back, so that retention, which takes the oldest, can only end it early.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "exporter_offsets.h"
#include "key_index_file.h"
#include "store.h"

namespace lmq {

class Exporter {
 public:
  enum class Kind : uint8_t {
    kSnapshot,  // `target` opens as ours; what recovery repeats after a kill, it repeats there
    kBroker,    // `target` is RocketMQ's: exact queues, one directory for each light queue
    kInPlace,   // light queues into consumequeue/ of the store itself, which nobody appends to
  };
  // What a broker would trip over (spec section 9), and how often.
  struct Trouble {
    const char* kind;
    int64_t count;
    std::string example;
  };
  struct Progress {
    bool done = false;
    int64_t position = 0;  // bytes of the log, copied and checked
    int64_t total = 0;
    int64_t logMin = 0;  // of the copy, as the rest
    int64_t logEnd = 0;
    int64_t logFiles = 0;
    int64_t records = 0;
    int64_t topicQueues = 0;
    int64_t lightQueues = 0;
    int64_t units = 0;
    int64_t logFileSize = 0;
    int64_t queueFileSize = 0;
    KeyIndexShape indexShape;
    std::vector<Trouble> troubles;
  };

  // `target` is an empty directory; for kInPlace it is not looked at.
  Exporter(Store& store, Kind kind, std::string target);

  Status step(Progress* progress);
  // Of an export that is done.
  const ExportedOffsets& offsets() const { return offsets_; }

 private:
  enum class Phase : uint8_t {
    kBegin,
    kLog,
    kScan,
    kFiles,
    kTopics,
    kLights,
    kTail,
    kOffsets,
    kEnd
  };
  struct CopyJob {
    std::string from;
    std::string to;
  };

  bool copies() const { return kind_ != Kind::kInPlace; }
  bool forBroker() const { return kind_ != Kind::kSnapshot; }
  StoreParts& parts() { return store_.parts(); }

  // exporter.cc
  Status begin();
  Status beginSnapshot();
  Status stepLog();
  Status openLogFile(bool* gone);
  Status closeLogFile();
  Status stepScan();
  Status listFiles();
  Status addTree(const std::string& from, const std::string& to, int depth);
  Status stepFiles();
  Status end();
  Status endSnapshot();
  Status endKeys();
  Status writeBrokerCheckpoint();
  void trouble(const char* kind, std::string_view example);
  void judgeList(std::string_view list, std::string_view topic, int64_t position);

  // exporter_offsets.cc
  Status takeOffsets();
  void noteKeptEnds();
  Status stepOffsets();

  // exporter_queues.cc
  Status stepQueues(bool lmq);
  Status stepTail();
  Status readTail();
  Status writeQueue(Store::QueueRef queue, const std::string& name, int32_t queueId, bool lmq);
  Status nextUnits(Store::QueueRef queue, int64_t from, size_t* count);
  Status startOf(Store::QueueRef queue, ConsumeQueue& out, int64_t min, int64_t* from);
  Status addTail(const std::string& name, int64_t lastPhysical, ConsumeQueue& out);
  MappedFileQueue::Options filesOf(const std::string& name, int32_t queueId);

  Store& store_;
  const uint64_t generation_;
  const Kind kind_;
  const std::string root_;  // where it is written
  StoreDir to_;
  Phase phase_ = Phase::kBegin;
  Progress progress_;

  OwnCheckpoint own_;            // the source's, from before the border was taken
  std::vector<uint64_t> bases_;  // files of the log that are still to be copied
  File in_;
  File out_;
  uint64_t at_ = 0;  // in in_
  std::unique_ptr<CommitLogScan> scan_;
  std::vector<CopyJob> jobs_;
  size_t job_ = 0;
  uint64_t queue_ = 0;  // the next one
  std::vector<PlacedUnit> units_;
  // Entries of light queues that a writer beside us had not made yet when the border was taken.
  std::unique_ptr<LmqIndex> tail_;
  ExportedOffsets offsets_;
  std::set<std::string> strangers_;  // directories that are none of our light queues
};

}  // namespace lmq
