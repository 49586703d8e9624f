// What a store is opened with. TypeScript owns every default and bound; values here are complete.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "message.h"
#include "status.h"

namespace lmq {

struct StoreOptions {
  std::string path;
  std::string commitLogPath;  // where it is not `commitlog` below path; else empty
  bool readOnly = false;
  bool adopt = false;  // open a directory of RocketMQ's for writing
  // Derived files are made anew: the light-queue index, and with the second, which asks for the
  // first too, the consume queues. Only of a store that is there, and ours.
  bool rebuild = false;
  bool rebuildQueues = false;
  std::function<void(int64_t position, int64_t end)> progress;  // of a dispatch of the log
  bool repair = false;         // cut the log at damage, also below what was synced
  uint64_t commitLogSize = 0;  // bytes a file; 0: the directory's own, else the default
  uint64_t consumeQueueSize = 0;
  bool keyIndex = true;      // messageIndexEnable
  int64_t indexSlots = 0;    // maxHashSlotNum; 0: the directory's own, else the default
  int64_t indexEntries = 0;  // maxIndexNum
  int64_t defaultIndexSlots = 0;
  int64_t defaultIndexEntries = 0;
  uint64_t defaultCommitLogSize = 0;
  uint64_t defaultConsumeQueueSize = 0;
  size_t maxMessageSize = 0;
  bool crcProperty = true;
  bool requireCrc = false;  // forceVerifyPropCRC
  bool checkCrcOnRecover = true;
  size_t recoverMaxFiles = 0;       // commitLogRecoverMaxNum; 0: no limit
  bool lmq = true;                  // enableLmq and enableMultiDispatch
  bool syncFlush = false;           // readers see what is on the device
  int64_t flushInterval = 500;      // ms
  int64_t derivedInterval = 60000;  // ms between syncs of queues and index
  uint64_t prepareAhead = 0;
  size_t checkBufferCap = 0;
  uint64_t maxLmqQueues = 0;   // 0: no limit
  uint64_t maxStoreBytes = 0;  // of the files of the commit log; 0: no limit
  bool deleteOldest = false;   // at that limit, in place of refusing
  size_t maxFilterBytes = 16000;
  size_t travelFiles = 1;
  size_t hotBytes = 262144;
  size_t hotCount = 32;
  size_t coldBytes = 65536;
  size_t coldCount = 8;
  int hotMemoryPercent = 40;
  bool positionalReads = false;
  std::vector<int64_t> delayLevels;  // ms, level 1 first
  Host storeHost;
};

// Bytes of log after which queues and index are synced before the interval is over.
inline constexpr int64_t kDerivedBytes = 64 * 1024 * 1024;

// Cut bytes, faults, unreadable names: what an open found or did, for the caller to see.
struct RecoveryReport {
  bool clean = true;
  bool created = false;
  bool adopted = false;
  int64_t logMin = 0;
  int64_t logEnd = 0;
  int64_t scannedFrom = 0;
  int64_t scannedRecords = 0;
  int64_t dispatchedRecords = 0;
  int64_t cutFrom = -1;  // -1: nothing was cut
  int64_t cutBytes = 0;
  std::string cutVerdict;
  std::string cutSavedTo;
  std::string lmqRebuilt;  // why; empty: it was not
  int64_t lmqImported = 0;
  std::vector<Status> notes;  // at most kMaxNotes

  static constexpr size_t kMaxNotes = 100;
  void note(Status status) {
    if (notes.size() < kMaxNotes) notes.push_back(std::move(status));
  }
};

}  // namespace lmq
