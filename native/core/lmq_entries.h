// The log of entries (layout: lmq_entry.h) in files, or the same bytes in memory, and the search in
// the chains that its links form.
//
// Skip entries of a queue form a skew-binary jump-pointer list (Myers, 1983). Written as the
// shortest sum of numbers 2^r - 1, the number of skip entries before one ends with a smallest term:
// the link leads so many skip entries back. If that is 1, it leads to the skip entry before; else
// that one's link and its target's are of equal length, and it leads as far as these two together.
// Any skip entry is at most about 2 log2 n links away.
//
// Numbers and physical offsets fall along every link, and a link is only followed if its number
// does, so that no damage makes a loop.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lmq_entry.h"
#include "mapped_file_queue.h"
#include "status.h"

namespace lmq {

class LmqEntries {
 public:
  enum class Key : uint8_t { kQueueOffset, kPhysicalOffset };

  // `files` is only used where `inMemory` is false.
  LmqEntries(MappedFileQueue::Options files, bool inMemory, Preparer* preparer);

  Status load();      // lists the files; count() is 0 until setCount()
  Status reload();    // a reader looks for files added since
  Status truncate();  // zeros what lies behind count()
  Status removeAll();
  Status sync(uint64_t from, uint64_t to);  // of entries

  uint64_t count() const { return count_; }
  void setCount(uint64_t count) { count_ = count; }
  Status reserve(uint64_t more);
  Status append(const LmqEntry& entry);  // after reserve()
  // Makes `entry` its queue's next skip entry behind `before` others, of which `newest` is the last
  // and leads to `jump`; both + 1.
  void linkSkip(uint64_t before, uint64_t newest, uint64_t jump, LmqEntry* entry) const;

  // A sequential pass: where entry `number` lies and up to *count entries follow it; fewer, 0 in
  // the end, where files end. Valid until the next read.
  Result<const uint8_t*> run(uint64_t number, size_t* count) const;

  Status lastChecksum(uint32_t* checksum) const;  // as it stands in the last entry; 0: no entry

  // An entry of a queue, checked; `before` is a number that its own is below.
  Status read(uint64_t queue, uint64_t number, uint64_t before, LmqEntry* entry) const;

  // Searches back from `tail`. All numbers + 1.
  struct Place {
    uint64_t reached = 0;   // the first entry with key >= target; 0 if none has
    uint64_t previous = 0;  // the last entry with key < target; 0 if none has
    LmqEntry entry;         // the one reached
  };
  // On failure `place` holds how far the search came.
  Status search(uint64_t queue, uint64_t tail, Key key, int64_t target, Place* place) const;

  // See LmqIndex::units().
  Status units(uint64_t queue, uint64_t tail, int64_t from, size_t max, PlacedUnit* out,
               size_t* count) const;

  uint64_t readCount() const { return readCount_; }  // entries read by read(), ever

 private:
  static constexpr size_t kCached = 16;
  using Chunk = std::unique_ptr<uint8_t[]>;

  Status damaged(uint64_t number, const char* what) const;
  Result<const uint8_t*> bytesOf(uint64_t number) const;
  Result<const uint8_t*> readFile(uint64_t at, size_t length) const;
  void forgetFiles() const;

  const bool inMemory_;
  const bool maps_;
  MappedFileQueue files_;
  std::vector<Chunk> chunks_;  // in memory: kEntriesPerChunk entries each
  uint64_t count_ = 0;
  // Files of the last reads, by base, so that following a chain takes no lock.
  struct Cached {
    std::shared_ptr<const MappedFile> file;
    uint64_t base = 0;
    const uint8_t* mapped = nullptr;  // null where files are read by position
  };
  mutable Cached cached_[kCached];
  mutable ReadBuffer buffer_;
  mutable uint64_t readCount_ = 0;
};

}  // namespace lmq
