// The store: appends under one lock, reads, follows the device with its flusher. One object for a
// writer and, with readOnly, for a reader beside a writer or a broker.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch.h"
#include "flusher.h"
#include "record.h"
#include "retention.h"
#include "store_options.h"
#include "store_parts.h"

namespace lmq {

// Called on the flusher thread, or where it says so.
struct StoreListener {
  std::function<void(int64_t position)> synced;   // the log below is on the device
  std::function<void(const Status&)> syncFailed;  // final: the store refuses writes from now on
  std::function<void(const Status&)> fault;       // a background fault that may pass
  std::function<void(const Expired&)> expired;    // on the thread that deleted, whichever it is
};

// RocketMQ's GetMessageStatus.
enum class ReadStatus : uint8_t {
  kFound,
  kNoMatchedMessage,
  kMessageWasRemoving,
  kOffsetFoundNull,
  kOffsetOverflowBadly,
  kOffsetOverflowOne,
  kOffsetTooSmall,
  kNoMatchedLogicQueue,
  kNoMessageInQueue,
  kOffsetReset,
};
inline constexpr const char* kReadStatusNames[] = {"FOUND",
                                                   "NO_MATCHED_MESSAGE",
                                                   "MESSAGE_WAS_REMOVING",
                                                   "OFFSET_FOUND_NULL",
                                                   "OFFSET_OVERFLOW_BADLY",
                                                   "OFFSET_OVERFLOW_ONE",
                                                   "OFFSET_TOO_SMALL",
                                                   "NO_MATCHED_LOGIC_QUEUE",
                                                   "NO_MESSAGE_IN_QUEUE",
                                                   "OFFSET_RESET"};

class Store {
 public:
  static Result<std::unique_ptr<Store>> open(StoreOptions options, StoreListener listener);
  // Without close(): threads stop, the lock goes, the abort marker stays.
  ~Store();

  const RecoveryReport& recovery() const { return report_; }
  const StoreOptions& options() const { return parts_->options; }
  // Syncs everything, notes a clean end, removes the abort marker. If any of it fails, the marker
  // stays and the status says why; the store is closed all the same.
  Status close();

  // Writing ------------------------------------------------------------------------------------
  static constexpr size_t kPlanSlots = 4096;
  struct Appended {
    int64_t physicalOffset = 0;
    int64_t queueOffset = 0;
    int64_t size = 0;
    int64_t storeTimestamp = 0;
  };
  // A number for a checked topic. Creates no queue.
  Result<uint32_t> topic(std::string_view name);
  Status setPlan(size_t slot, std::string_view names, size_t count, bool writeNames);
  // `plan` -1: no light queues. `message.topic` is filled in from `topic`. On failure nothing has
  // changed. Afterwards plan(slot) holds the offsets.
  Status append(uint32_t topic, Message& message, int64_t plan, Appended* out);
  // A message of a batch. `plan`, if any, is its own: no other message's. Afterwards it holds the
  // offsets.
  struct BatchMessage {
    Message message;
    std::unique_ptr<DispatchPlan> plan;
    Appended stored;
  };
  static constexpr size_t kMaxBatch = 32767;  // a broker counts with 16 bits
  // Messages of one topic and queue in one commit-log file, with consecutive offsets and one store
  // timestamp (spec 6.2). On failure nothing has changed; readers and recovery see all or none.
  Status appendBatch(uint32_t topic, int32_t queueId, std::vector<BatchMessage>& batch);
  const DispatchPlan& plan(size_t slot) const { return *plans_[slot]; }
  // Store timestamps of the following appends; negative: the system's clock.
  void setClock(int64_t millis) { clock_ = millis; }

  void requestSync() {
    if (flusher_) flusher_->request();
  }
  int64_t syncedPosition() const { return synced_.load(std::memory_order_acquire); }
  Status flush();  // blocks until all that was appended, queues and index included, is synced

  // Retention ----------------------------------------------------------------------------------
  struct Retained {
    Expired expired;
    int usedPercent = -1;  // of the device; -1: nobody asked
  };
  // Deletes what the request says; with a percentage also measures the device, and refuses appends
  // from now on, or no longer. Blocks; on any thread.
  Status retain(const RetentionRequest& request, Retained* out);

  // Reading ------------------------------------------------------------------------------------
  struct QueueRef {
    bool lmq = false;
    // Of the light queue, or of the consume queue in queues().all(); from kBatch on, of the queue
    // of inner batches.
    uint64_t number = 0;
    static constexpr uint64_t kBatch = uint64_t{1} << 40;
    bool isBatch() const { return !lmq && number >= kBatch; }
  };
  struct Bounds {
    int64_t min = 0;
    int64_t max = 0;
  };
  struct Damaged {
    int64_t offset;
    int64_t physicalOffset;
  };
  struct ReadRequest {
    QueueRef queue;
    int64_t from = 0;
    size_t maxMessages = 32;
    size_t maxBytes = 0;
    std::string_view tags;  // exact tags joined by byte 01; empty: all
    bool verify = true;
    bool durable = false;     // only what is on the device
    uint8_t* page = nullptr;  // records are copied here, one behind the other
    size_t pageSize = 0;
  };
  struct Row {          // one message of a page
    int64_t offset;     // in the queue that was read
    size_t start;       // in the page
    record::View view;  // of the page's bytes
  };
  struct Page {
    ReadStatus status = ReadStatus::kNoMessageInQueue;
    int64_t nextOffset = 0;
    Bounds bounds;
    size_t bytes = 0;
    size_t needed = 0;  // > 0: the page is too small, give this many bytes
    std::vector<Row> rows;
    std::vector<Damaged> damaged;

    std::vector<PlacedUnit> units;  // scratch
    ReadBuffer buffer;
  };
  Page makePage() const {
    Page page;
    page.buffer = ReadBuffer(parts_->options.checkBufferCap);
    return page;
  }
  // RocketMQ's getMessage (spec 7.1). `page` is reused from call to call. Any thread, each with a
  // page of its own; the lock is held for the bounds and some units at a time, not for records.
  Status read(const ReadRequest& request, Page* page);
  // The record at a physical offset, if a whole one starts there: rows is empty otherwise. 0 is the
  // first record of the log, wherever it lies.
  Status readAt(int64_t physicalOffset, bool verify, uint8_t* bytes, size_t size, Page* page);
  Status bounds(QueueRef queue, Bounds* out);
  // By store time (spec 7.3), which rises along a queue. Any thread; the lock is held for a few
  // units at a time.
  enum class Bound : uint8_t { kLower, kUpper };
  // kLower: the first message stored at or after `millis`, the queue's end if there is none.
  // kUpper: the last one stored at or before it, the queue's minimum if there is none.
  Status offsetAt(QueueRef queue, int64_t millis, Bound bound, int64_t* offset);
  // Store times of the first and of the last message of a queue, and of the first of the log; kNone
  // where there is no message.
  struct Times {
    static constexpr int64_t kNone = INT64_MIN;
    int64_t earliest = kNone;
    int64_t latest = kNone;
  };
  Status timesOf(QueueRef queue, Times* out);
  Status earliestTime(int64_t* millis);
  int64_t findQueue(std::string_view topic, int32_t queueId);  // -1: unknown
  int64_t findLmq(std::string_view name);
  // One step of a search by key (store_find.cc): positions of records that may have the key.
  // Without a key index it finds none.
  Status findByKey(KeyIndex::Search* search, std::vector<int64_t>* out);
  // Of a reader: records with the key that the index files do not cover, oldest first, again in
  // steps. *from: -1 at first, then as it was left; -1 again when there are no more.
  Status findInLog(int32_t hash, int64_t* from, std::vector<int64_t>* out);
  int64_t logMin() const { return parts_->log->minPosition(); }
  int64_t logEnd() const { return parts_->log->endPosition(); }

  struct QueueInfo {
    std::string topic;
    int32_t queueId;
    Bounds bounds;
  };
  Status listQueues(std::vector<QueueInfo>* out);
  void listLmqs(std::string_view prefix, uint64_t* cursor, size_t limit,
                std::vector<std::string>* out);
  uint64_t lmqCount();
  // A reader takes in what the writer has added. True if anything came.
  Result<bool> refresh();
  // Of a reader: the writer has begun anew what was taken in before. Until reload() the reader
  // shows what it had.
  bool isOutdated();
  // Takes in everything anew; queues get other numbers, and generation() rises. Nobody else may be
  // using the store. On failure it stays as it was.
  Status reload();
  uint64_t generation() const { return generation_; }
  // kBusy if it is not that any more: what goes on from call to call has to begin again.
  Status checkGeneration(uint64_t generation);

  // Consumer offsets (store_offsets.cc) ----------------------------------------------------------
  // Refused beyond the queue's maximum: kOffsetTooLarge.
  Status commitOffset(std::string_view group, std::string_view topic, int32_t queueId,
                      int64_t offset);
  // One that RocketMQ kept. A writer lowers it to the queue's maximum; `*kept` is what it took.
  Status restoreOffset(std::string_view group, std::string_view topic, int32_t queueId,
                       int64_t offset, int64_t* kept);
  ConsumerOffsets& offsets() { return *parts_->offsets; }

  // For verification and copies, which hold lock() around these three.
  StoreParts& parts() { return *parts_; }
  std::mutex& lock() { return lock_; }
  // Nothing in the log waits for its dispatch after it.
  Status settleDispatch() { return undispatched_ >= 0 ? retryDispatch() : Status(); }
  Status boundsOf(QueueRef queue, Bounds* out);
  Status unitsAt(QueueRef queue, int64_t from, size_t max, PlacedUnit* out, size_t* count);

 private:
  explicit Store(StoreOptions options, StoreListener listener);
  Status start();

  Status checkWritable() const;
  Status retryDispatch();
  // store_batch.cc
  struct BatchRoom;
  Status measureBatch(uint32_t topic, int32_t queueId, std::vector<BatchMessage>& batch,
                      BatchRoom* room);
  Status dispatchBatch(ConsumeQueue& queue, std::vector<BatchMessage>& batch);
  // store_offsets.cc
  Status loadOffsets();
  Status lowerOffsets();
  Result<int64_t> maxOffsetOf(std::string_view topic, int32_t queueId);
  // store_read.cc
  struct Scan;
  bool lmqIsDirectory() const { return parts_->lmq == nullptr; }
  Status scanUnits(const ReadRequest& request, Scan& scan, Page* page);
  const BatchConsumeQueue* batchOf(QueueRef queue) const;
  // `width`: offsets that the unit stands for.
  Status take(const ReadRequest& request, const PlacedUnit& placed, int64_t width, Scan& scan,
              Page* page);
  // store_time.cc
  struct Timed;
  Status timedFrom(QueueRef queue, int64_t from, int64_t to, Timed* out);
  Status storeTimeAt(int64_t physicalOffset, int64_t size, bool* found, int64_t* millis);
  // store_sync.cc
  void flushWork(bool requested);
  Status syncLog();
  Status syncDerived();
  Status writeLmqSnapshot();
  // store_retention.cc
  Status expireBefore(int64_t position, Expired* expired);
  Status expireSurplus();
  Status checkRoom() const;
  void makeRoomBehind(int64_t position) {  // a file that has begun may be followed by another
    if (parts_->options.deleteOldest && position % parts_->log->fileSize() == 0) requestSync();
  }
  Status syncOffsets(bool requested);
  void fail(const Status& status);

  std::unique_ptr<StoreParts> parts_;
  StoreListener listener_;
  RecoveryReport report_;
  std::mutex lock_;  // everything that an append changes
  std::vector<std::unique_ptr<DispatchPlan>> plans_;
  int64_t clock_ = -1;
  int64_t lastTimestamp_ = 0;
  int64_t lastPosition_ = -1;  // of the last record; -1: there is none
  int64_t undispatched_ = -1;  // a record whose dispatch failed; -1: none
  bool closed_ = false;
  uint64_t generation_ = 0;
  int usedPercent_ = 0;  // of the device, as last measured
  int fullPercent_ = 0;  // 0: appends do not care

  std::mutex syncLock_;  // one sync at a time
  std::atomic<int64_t> synced_{0};
  std::atomic<bool> failed_{false};
  Status failure_;
  int64_t derivedSynced_ = 0;
  int64_t derivedSyncedAt_ = 0;  // ms
  int64_t offsetsSyncedAt_ = 0;  // ms
  uint64_t physicalMemory_ = 0;
  std::unique_ptr<Flusher> flusher_;
};

}  // namespace lmq
