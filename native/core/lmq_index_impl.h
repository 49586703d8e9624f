// What LmqIndex is made of: names, entries, a row for each queue, and the table from names to rows.
#pragma once

#include <algorithm>
#include <mutex>

#include "lmq_entries.h"
#include "lmq_index.h"
#include "lmq_names.h"
#include "lmq_rows.h"
#include "lmq_snapshot.h"
#include "lmq_table.h"

namespace lmq {

class LmqIndex::Impl {
 public:
  Impl(Options options, Preparer* preparer);

  // lmq_index_load.cc
  Result<Snapshot> readSnapshot() const;
  Status load(int64_t logEnd, uint64_t leastEntries);
  Result<bool> refresh();

  // lmq_index_save.cc
  Status reset(int64_t logPosition);
  Status sync(uint64_t entries);
  Status writeSnapshot(int64_t logPosition, const RecordIdentity& last,
                       const std::function<void(const std::function<void()>&)>& withLock);
  Status discard();

  // lmq_index.cc
  uint64_t find(std::string_view name) const;
  void prefetch(const std::string_view* names, size_t count) const;
  std::string_view nameOf(uint64_t queue) const;
  int64_t minOffset(uint64_t queue, int64_t logMin) const;
  Result<int64_t> lastPhysicalOffset(uint64_t queue) const;
  Status reserve(size_t entries, size_t newNames, size_t nameBytes);
  Result<uint64_t> create(std::string_view name);
  Status add(uint64_t queue, const PlacedUnit& placed);

  LmqNames names;
  LmqEntries entries;
  LmqRows rows;
  uint64_t snapshotEntries = 0;

 private:
  bool writes() const { return options_.access == Access::kWrite && !options_.inMemory; }
  std::string tablePath() const { return options_.directory + "/table"; }
  void forget();

  // Loading, in this order.
  Status loadAll(int64_t logEnd, uint64_t leastEntries);
  Status loadRows(LmqSnapshotReader& reader);
  Status checkLastEntry(const LmqSnapshotHeader& header);
  bool enter(const LmqNames::Found& found);  // as the next row's
  Result<bool> scanNames();
  Status takeBack(uint64_t covered);
  Status replay(uint64_t from, int64_t logEnd);
  bool apply(const LmqEntry& entry, uint64_t number, int64_t logEnd);
  Status removeFiles();

  Status noteGeneration();
  Status checkGeneration() const;

  static bool skipsNext(const LmqRow& row) { return row.count() % kSkipEvery == kSkipEvery - 1; }
  static void advance(LmqRow& row, const LmqEntry& entry, uint64_t number);

  const Options options_;
  LmqTable table_;
  const uint64_t seed_;        // of the hashes of names, which only this table knows
  uint32_t lastChecksum_ = 0;  // of the last entry when a reader looked; notices another log
  File firstNames_;            // a reader's: a rebuild begins by removing it

  std::mutex tableLock_;    // of the file: a snapshot that is being written beside discard()
  bool discarded_ = false;  // no table is to be there again
  std::mutex syncLock_;
  uint64_t syncedEntries_ = 0;
  uint64_t syncedNames_ = 0;
};

// The row after its queue's next entry.
inline void LmqIndex::Impl::advance(LmqRow& row, const LmqEntry& entry, uint64_t number) {
  if (row.tail() == 0) row.setMinimum(entry.placed.queueOffset);
  row.setNext(std::max(row.next(), entry.placed.queueOffset + 1));
  row.setTail(number + 1);
  row.setCount(row.count() + 1);
  if (entry.kind != LmqEntry::kSkip) return;
  row.setSkip(number + 1);
  row.setJump(entry.skip);
}

}  // namespace lmq
