// The directory: its names, its lock, the abort marker, the checkpoints and the marker of ours.
// Everything of RocketMQ's keeps RocketMQ's name and bytes (spec 1.1, 5.9); what is ours lies
// beside it: lmq-store.json, lmq/, state, offsets/, cut/, work/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "file.h"
#include "record.h"
#include "status.h"

namespace lmq {

// RocketMQ's `checkpoint`: 4096 bytes, six longs at the start, the rest zero.
struct BrokerCheckpoint {
  static constexpr size_t kFileSize = 4096;
  int64_t physicMsgTimestamp = 0;
  int64_t logicsMsgTimestamp = 0;
  int64_t indexMsgTimestamp = 0;
  int64_t masterFlushedOffset = 0;
  int64_t confirmPhyOffset = 0;
  int64_t logicsPhysicalOffset = 0;
};

// Our checkpoint, lmq/checkpoint. Two slots, at bytes 0 and 4096, written in turn, so that a torn
// write leaves the other; the valid slot with the higher sequence counts.
//
//   at  size  field
//   0   4     checksum: CRC-32 of the rest of the slot
//   4   4     format version
//   8   8     sequence
//   16  8     logSynced: the log below is on the device; decides torn or corrupt
//   24  8     derivedSynced: queues and index of the log below are on the device
//   32  8     entries of the light-queue index on the device
//   40  8     1 after a clean close, else 0
//   48  8     end of the log at a clean close
//   56  24    the last record below derivedSynced: physical offset, size, CRC (RecordIdentity)
//   80  8     store timestamp of the last record
//   88  8     units that the topic queues hold of the log below derivedSynced, over all queues
//   96  8     keysSynced: the key index of the log below is on the device
//   104 8     position of the last record that has an entry there, -1: none
struct OwnCheckpoint {
  // More entries than any index has: one that is being built is never taken for a whole one.
  static constexpr uint64_t kBeingBuilt = uint64_t{1} << 52;
  uint64_t sequence = 0;
  int64_t logSynced = 0;
  int64_t derivedSynced = 0;
  uint64_t lmqEntries = 0;
  bool clean = false;
  int64_t logEnd = 0;
  RecordIdentity last;
  int64_t lastTimestamp = 0;
  int64_t queueUnits = 0;
  int64_t keysSynced = 0;
  int64_t lastKeyed = -1;
};

// lmq-store.json: the directory is ours; its format; the options its files depend on.
struct Marker {
  static constexpr int64_t kFormat = 1;
  int64_t format = kFormat;
  int64_t mappedFileSizeCommitLog = 0;
  int64_t mappedFileSizeConsumeQueue = 0;
  // End of the log when a directory of RocketMQ's was taken over; -1 if it always was ours. Units
  // of consumequeue/%LMQ%… below it decide the numbering of light queues, also in a rebuild.
  int64_t adoptedAt = -1;
  int64_t maxHashSlotNum = 0;  // of key index files; 0: not known
  int64_t maxIndexNum = 0;
};

class StoreDir {
 public:
  // `commitLog`: where a broker keeps its log elsewhere; empty: below the root.
  explicit StoreDir(std::string root, std::string commitLog = {});

  const std::string& root() const { return root_; }
  std::string commitLog() const { return commitLog_.empty() ? root_ + "/commitlog" : commitLog_; }
  std::string consumeQueue() const { return root_ + "/consumequeue"; }
  std::string index() const { return root_ + "/index"; }
  std::string batchConsumeQueue() const { return root_ + "/batchconsumequeue"; }
  std::string lmq() const { return root_ + "/lmq"; }
  std::string state() const { return root_ + "/state"; }
  std::string offsets() const { return root_ + "/offsets"; }
  std::string cut() const { return root_ + "/cut"; }
  std::string work() const { return root_ + "/work"; }  // files under construction
  std::string lockPath() const { return root_ + "/lock"; }
  std::string abortPath() const { return root_ + "/abort"; }
  std::string markerPath() const { return root_ + "/lmq-store.json"; }
  std::string checkpointPath() const { return root_ + "/checkpoint"; }
  std::string ownCheckpointPath() const { return lmq() + "/checkpoint"; }

  // A broker with storeType=defaultRocksDB: consumequeue/ is a RocksDB database.
  Result<bool> hasRocksDbQueues() const;

  // kLocked if another process, or another opener in this one, holds the directory.
  Status lock();

  // Does anyone hold the lock? Asks only; changes nothing.
  Result<bool> isLocked() const;

  Result<bool> aborted() const;      // the previous writer did not close
  Result<int64_t> abortPid() const;  // -1 if there is none to read
  Status createAbort();              // synced, its directory entry too
  Status removeAbort();

  Result<std::optional<Marker>> readMarker() const;
  Status writeMarker(const Marker& marker);

  Result<std::optional<BrokerCheckpoint>> readBrokerCheckpoint() const;
  Status writeBrokerCheckpoint(const BrokerCheckpoint& checkpoint);  // synced

  Result<std::optional<OwnCheckpoint>> readOwnCheckpoint() const;
  // Not synced: an older slot is safe. sync() makes what was written durable.
  Status writeOwnCheckpoint(OwnCheckpoint* checkpoint);
  Status syncOwnCheckpoint();

 private:
  std::string root_;
  std::string commitLog_;
  File lock_;
  File ownCheckpoint_;
};

}  // namespace lmq
