// The names of the light queues: an append-only range of files (layout: lmq_entry.h), or the same
// bytes in memory. The n-th name is queue number n's; a name is known by the position of its bytes.
//
// All names stay at hand, since every lookup ends with comparing one: mapped, or copied where files
// are read by position.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lmq_entry.h"
#include "mapped_file_queue.h"
#include "status.h"

namespace lmq {

class LmqNames {
 public:
  static constexpr size_t kHeaderSize = 6;
  static constexpr size_t kMaxName = 255;
  static constexpr uint64_t kMaxEnd = uint64_t{1} << 40;  // rows keep positions in 40 bits

  // `files` is only used where `inMemory` is false.
  LmqNames(MappedFileQueue::Options files, bool inMemory, Preparer* preparer);

  Status load();    // lists the files and forgets what was scanned
  Status reload();  // a reader looks for files added since

  // Scanning, front to back: finds the first name at or behind `at`. False if none is whole there.
  struct Found {
    uint64_t position = 0;
    uint64_t end = 0;
    uint32_t checksum = 0;
    std::string_view name;
  };
  Result<bool> next(uint64_t at, Found* found);

  // Whether the next name may be in a file that is not known yet.
  bool awaitsFile() const;

  // The name at a position that next() or append() gave; empty if it has been damaged since.
  std::string_view at(uint64_t position) const;
  void prefetch(uint64_t position) const;

  uint64_t end() const { return end_.load(std::memory_order_acquire); }
  // Of all names up to the end, in order.
  uint32_t digest() const { return digest_; }
  void setEnd(const Found& last);  // the next of what was scanned
  void forget();                   // begins to scan anew

  uint64_t placeFor(size_t length) const;  // where a name of this length comes

  // Room for `count` names of `bytes` bytes in all.
  Status reserve(size_t count, size_t bytes);
  Result<uint64_t> append(std::string_view name);  // after reserve(); the position

  Status truncate();  // zeros what lies behind end()
  Status removeAll();
  Status sync(uint64_t from, uint64_t to) { return inMemory_ ? Status() : files_.sync(from, to); }

 private:
  // The bytes of one file. `copied` is null where they are mapped.
  struct Chunk {
    std::shared_ptr<const MappedFile> file;
    std::unique_ptr<uint8_t, void (*)(void*)> copied{nullptr, nullptr};
    const uint8_t* data = nullptr;
  };

  Status openChunks();
  Status openChunk(uint64_t base);
  Status refill(uint64_t at);
  bool parse(uint64_t at, Found* found) const;

  const bool inMemory_;
  const bool copies_;
  MappedFileQueue files_;
  std::vector<Chunk> chunks_;  // by base / kNamesFileSize
  std::atomic<uint64_t> end_{0};
  uint32_t digest_ = 0;
};

}  // namespace lmq
