// The light-queue index: one row in memory for each queue, one sequential 48-byte entry on disk for
// each dispatch (layout: lmq_entry.h). Derived from the commit log, it can be rebuilt from it.
//
// Entries of a queue are linked back to front. Every kSkipEvery-th entry of a queue is a skip entry
// whose link leads to an earlier skip entry (a jump-pointer list: logarithmic); the other entries'
// skip links lead to the queue's newest skip entry before them. So any offset of a queue of n
// entries is found in O(kSkipEvery + log n) steps, and a dispatch reads nothing but its row, except
// for one in 2 * kSkipEvery.
//
// The caller serialises every call (the store's append lock).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lmq_entry.h"
#include "mapped_file_queue.h"
#include "record.h"
#include "status.h"

namespace lmq {

class LmqIndex {
 public:
  static constexpr uint64_t kNone = ~uint64_t{0};
  static constexpr uint64_t kSkipEvery = 16;
  static constexpr int64_t kMaxOffset = (int64_t{1} << 53) - 1;  // JavaScript's largest exact one

  struct Options {
    std::string directory;  // …/lmq
    std::string workDirectory;
    Access access = Access::kWrite;
    ReadMode readMode = ReadMode::kMap;
    bool inMemory = false;  // entries and names live in memory only (a reader's rebuild)
    uint64_t prepareAhead = 1024 * 1024;
  };

  explicit LmqIndex(Options options, Preparer* preparer = nullptr);
  ~LmqIndex();

  // Reads the newest table snapshot's header. kCorruptFile or kNotFound: rebuild.
  struct Snapshot {
    uint64_t entries = 0;  // entries it covers: replay starts there
    uint64_t names = 0;    // bytes of names it covers
    uint64_t queues = 0;
    int64_t logPosition = 0;  // everything below is covered
    RecordIdentity last;      // the last record below logPosition, as the log had it
  };
  Result<Snapshot> readSnapshot() const;

  // Loads the snapshot and replays the entries behind it, as far as they are whole and their
  // records end at or below `logEnd`. Entries behind that are cut (a reader leaves them). Fails
  // with kCorruptFile if less than `leastEntries` entries could be used, or if the files do not
  // belong together: then rebuild. A failed load changes nothing on disk and leaves this empty.
  Status load(const Snapshot& snapshot, int64_t logEnd, uint64_t leastEntries);
  // Starts empty: removes the files (not for a reader) and writes an empty snapshot at
  // `logPosition`.
  Status reset(int64_t logPosition);
  // A reader takes in what the writer has added. True if anything came. kCorruptFile if the writer
  // has cut or rebuilt what was read before: then load again.
  Result<bool> refresh();

  // Queues -------------------------------------------------------------------------------------
  uint64_t queueCount() const;                 // numbers are 0 … queueCount() - 1
  uint64_t find(std::string_view name) const;  // kNone if unknown
  // Hashes and prefetches; find() of the same names soon after is cheap. For many names at once.
  void prefetch(const std::string_view* names, size_t count) const;
  std::string_view nameOf(uint64_t queue) const;  // valid until the next call that adds names
  int64_t nextOffset(uint64_t queue) const;       // one past the last
  // First offset whose record starts at or above `logMin`; nextOffset() if there is none. Behind a
  // damaged entry it is the first offset of all, so that a read from there reports the damage.
  int64_t minOffset(uint64_t queue, int64_t logMin) const;
  // -1 without an entry; kCorruptFile if it is damaged.
  Result<int64_t> lastPhysicalOffset(uint64_t queue) const;

  // Room first: makes sure that `entries` entries and `newNames` names of `nameBytes` bytes in all
  // can be added. Nothing visible changes. kDiskFull, kLimit, kNoMemory, …
  Status reserve(size_t entries, size_t newNames, size_t nameBytes);
  // find(), or room and create().
  Result<uint64_t> findOrCreate(std::string_view name);
  // After reserve(), cannot fail for lack of room; a failing write (positional mode) is a Status.
  Result<uint64_t> create(std::string_view name);        // of an unknown name, next offset 0
  Status add(uint64_t queue, const PlacedUnit& placed);  // queueOffset >= nextOffset()
  void setNextOffset(uint64_t queue, int64_t next);      // raised only; from the state file

  // Up to `max` units of a queue from the first with offset >= `from` on, all with offsets below
  // from + max (a gap is skipped), or just the next one if there is none of these. Every entry is
  // checked (checksum, queue); a damaged one ends with kCorruptFile.
  Status units(uint64_t queue, int64_t from, size_t max, PlacedUnit* out, size_t* count) const;

  // Names with a prefix in creation order. `cursor` is the queue number to go on from; the end is
  // reached when it is queueCount(). One call looks at some thousands of names at most.
  void list(std::string_view prefix, uint64_t* cursor, size_t limit,
            std::vector<std::string>* out) const;

  // Durability ---------------------------------------------------------------------------------
  uint64_t entryCount() const;  // entries added so far
  uint64_t entriesSinceSnapshot() const;
  // Blocks until the first `entries` entries and all names are on the device. May run beside add().
  Status sync(uint64_t entries);
  // Writes the table aside, synced, and renames it in. Takes the rows in pieces through `withLock`
  // (which runs its argument under the append lock), so that appends are held up for microseconds
  // only; an entry added meanwhile is replayed, which changes nothing twice.
  Status writeSnapshot(int64_t logPosition, const RecordIdentity& last,
                       const std::function<void(const std::function<void()>&)>& withLock);
  // Damage was met: removes the snapshot and writes no other, so that the next open rebuilds.
  Status discard();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lmq
