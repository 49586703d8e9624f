// The rooms of an open store, and how they are made from its directory.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "commit_log.h"
#include "commit_log_scan.h"
#include "consume_queue_batch.h"
#include "consume_queue_table.h"
#include "consumer_offsets.h"
#include "key_index.h"
#include "lmq_index.h"
#include "lmq_state.h"
#include "preparer.h"
#include "store_dir.h"
#include "store_options.h"

namespace lmq {

// How the last record begins that a reader has seen.
struct LastSeen {
  int64_t position = -1;              // -1: none
  std::array<uint8_t, 64> head = {};  // with its checksum, its position and its times
};

struct StoreParts {
  StoreOptions options;
  StoreDir dir;
  std::optional<Marker> marker;
  Preparer preparer;  // outlives the files that use it
  std::unique_ptr<CommitLog> log;
  std::unique_ptr<ConsumeQueueTable> queues;
  // Light queues as RocketMQ keeps them, consumequeue/%LMQ%…/0: read by a reader of a foreign
  // directory, and imported when a directory is adopted.
  std::unique_ptr<ConsumeQueueTable> lmqDirectories;
  // Queues of inner batches, as a broker keeps them. They are read, and nothing is stored there.
  std::vector<std::unique_ptr<BatchConsumeQueue>> batchQueues;
  std::unique_ptr<LmqIndex> lmq;   // null in a reader of a foreign directory
  bool lmqInMemory = false;        // a reader had to build the index by itself
  std::unique_ptr<KeyIndex> keys;  // null if there is none
  int64_t keysCovered = -1;        // a reader's: records below need no look into the log
  int quietRefreshes = 0;          // a reader's, since the log last grew
  bool outdated = false;           // a reader's: see wasRewritten()
  LastSeen lastSeen;               // a reader's
  LmqState state;
  std::unique_ptr<ConsumerOffsets> offsets;
  OwnCheckpoint checkpoint;
  std::vector<Status> oddFiles;  // of another length; a reader leaves them out

  explicit StoreParts(StoreOptions given)
      : options(std::move(given)), dir(options.path, options.commitLogPath) {}

  bool isForeign() const { return !marker.has_value(); }

  // Looks at the directory, takes the lock (a writer), decides sizes, lists the files. Changes
  // nothing but an empty or missing root directory. Refusals: kNotFound, kForeignDirectory,
  // kLocked, kVersion, kConfigMismatch, kFileSize.
  Status prepare();
  MappedFileQueue::Options queueOptions() const;
  // Over the files that the log has now.
  CommitLogScan scanLog(const record::Check& check = {}) const;
  const KeyIndexShape& keyShape() const { return keyShape_; }
  // Takes in what a broker has added to them. True if anything came.
  Result<bool> refreshBatchQueues();
  bool isBatchTopic(std::string_view topic) const;
  int64_t unitsPerFile() const {
    return static_cast<int64_t>(consumeQueueSize_ / ConsumeQueue::kUnitSize);
  }

 private:
  Status decideSizes();
  Status decideKeyShape(std::vector<KeyIndexShape>* shapes);
  uint64_t commitLogSize_ = 0;
  uint64_t consumeQueueSize_ = 0;
  KeyIndexShape keyShape_;
};

}  // namespace lmq
