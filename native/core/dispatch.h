// Dispatch: one record in; a unit in its topic queue, an entry in each of its light queues. The
// append path and recovery share these rules, and repeating a dispatch changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "consume_queue_table.h"
#include "key_index.h"
#include "lmq_index.h"
#include "record.h"
#include "status.h"

namespace lmq {

// Topics whose messages take no part in light queues: retries and dead letters (a copy must not be
// delivered twice), system topics, half messages (spec 4.2, Q20).
bool topicAllowsLmq(std::string_view topic);
// What a directory of that name could hold: 1 to 255 bytes, no '/' or NUL, not '.' or '..'.
bool isSafeName(std::string_view name);

// A light-queue list, parsed once and used for every message that carries it (issue 10813): its
// fields in order, each distinct queue once.
class DispatchPlan {
 public:
  DispatchPlan() = default;
  DispatchPlan(const DispatchPlan&) = delete;  // targets point into names_
  DispatchPlan& operator=(const DispatchPlan&) = delete;

  // `names` joined by ',', `count` of them (Java's split has been applied). With `writeNames` a
  // record gets the INNER_MULTI_DISPATCH property from this plan.
  void parse(std::string_view names, size_t count, bool writeNames);

  struct Target {
    std::string_view name;             // in names_
    uint64_t queue = LmqIndex::kNone;  // once it exists
  };
  std::vector<Target>& targets() { return targets_; }
  size_t fieldCount() const { return fields_.size(); }

  // Looks up what is not known yet and fills the offsets that the next message would get. Returns
  // how many names (and bytes of names) are new.
  void assign(const LmqIndex& index, size_t* newNames, size_t* newNameBytes);
  record::DispatchPart part() const {
    return {writeNames_ ? std::string_view(names_) : std::string_view(), offsets_.data(),
            fields_.size(), true};
  }
  int64_t fieldOffset(size_t field) const { return offsets_[field]; }
  // How many more messages of a batch go to a light queue before this one. Moves this plan's
  // offsets behind them and counts it in.
  using Ahead = std::unordered_map<std::string_view, int64_t>;
  void assignBehind(Ahead* ahead);
  // After the record is in the log and room was reserved: raises every queue once.
  Status dispatch(LmqIndex& index, const Unit& unit);

 private:
  std::string names_;
  bool writeNames_ = false;
  std::vector<Target> targets_;
  std::vector<int32_t> fields_;           // index into targets_, -1: no light queue
  std::vector<int64_t> offsets_;          // of each field
  std::vector<std::string_view> lookup_;  // scratch of assign()
};

// Repeats the dispatch of a stored record.
class Redispatcher {
 public:
  using Note = std::function<void(Status)>;
  // Light queues go to `index`; without one, a reader's, to queues of `directories`, in memory.
  // Keys go to `keys`, unless it is null.
  Redispatcher(ConsumeQueueTable& queues, LmqIndex* index, ConsumeQueueTable* directories, bool lmq,
               KeyIndex* keys, const std::vector<int64_t>& delayLevels, Note note)
      : queues_(queues),
        index_(index),
        directories_(directories),
        lmq_(lmq),
        keys_(keys),
        delayLevels_(delayLevels),
        note_(std::move(note)) {}

  // Idempotent. A record that cannot be dispatched (unsafe topic) is noted, never an error; a
  // Status is about files. With `lmqOnly` topic queues are left alone.
  Status dispatch(const record::View& view, bool lmqOnly);

 private:
  Status dispatchMain(const record::View& view, int64_t tagsCode);
  Status dispatchKeys(const record::View& view, const Keys& keys);
  Status dispatchLmq(const record::View& view, int64_t tagsCode);
  Status addToIndex(std::string_view name, int64_t offset, const Unit& unit);
  Status addToDirectory(std::string_view name, int64_t offset, const Unit& unit);
  // Where a unit goes that should have `offset`; noted if another has that already.
  int64_t placeOf(std::string_view name, int64_t offset, int64_t next, const Unit& unit);

  ConsumeQueueTable& queues_;
  LmqIndex* index_;
  ConsumeQueueTable* directories_;
  bool lmq_;
  KeyIndex* keys_;
  const std::vector<int64_t>& delayLevels_;
  Note note_;
};

}  // namespace lmq
