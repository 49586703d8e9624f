// One file of fixed length, written through a map or, where blocks cannot be reserved, by position.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "bytes.h"
#include "file.h"

namespace lmq {

// Scratch for bytes that are not mapped. Grow-only up to `cap`; a larger request gets memory that
// the next request frees again, so that no hostile length is retained (upstream PR 10640).
class ReadBuffer {
 public:
  static constexpr size_t kDefaultCap = 4 * 1024 * 1024 + 64 * 1024;
  explicit ReadBuffer(size_t cap = kDefaultCap) : cap_(cap) {}
  // At least `length` bytes, valid until the next call; nullptr if memory is refused.
  uint8_t* atLeast(size_t length);
  size_t retained() const { return size_; }

 private:
  size_t cap_;
  size_t size_ = 0;
  std::unique_ptr<uint8_t[]> kept_;
  std::unique_ptr<uint8_t[]> transient_;
};

enum class ReadMode : uint8_t { kMap, kPositional };

class MappedFile {
 public:
  // Creates `workPath` with its full length, reserves [0, reserve) and renames it to `path`. The
  // caller syncs the directory. `base` is the file's first byte in its queue. On failure nothing
  // is left at `workPath`.
  static Result<std::shared_ptr<MappedFile>> create(const std::string& workPath,
                                                    const std::string& path, uint64_t base,
                                                    uint64_t size, uint64_t reserve,
                                                    ReadMode mode = ReadMode::kMap);
  // The first part of create(): the file stays at `workPath`, replacing a left-over of that name,
  // with nothing reserved, until moveTo() names it.
  static Result<std::shared_ptr<MappedFile>> make(const std::string& workPath, uint64_t base,
                                                  uint64_t size, ReadMode mode = ReadMode::kMap);
  Status moveTo(const std::string& path);
  // An existing file of exactly `size` bytes. With kPositional it is never mapped.
  static Result<std::shared_ptr<MappedFile>> open(const std::string& path, uint64_t base,
                                                  uint64_t size, Access access, ReadMode mode);

  uint64_t base() const { return base_; }
  uint64_t size() const { return size_; }
  const std::string& path() const { return file_.path(); }
  bool writesByMap() const { return byMap_.load(std::memory_order_relaxed); }
  bool isUnlinked() const { return file_.isUnlinked(); }

  // Writing: one thread at a time (the store's append lock); positions are within the file.
  // Makes sure that [0, end) is reserved. Cheap when it is. Safe beside prepare().
  Status reserve(uint64_t end) { return end <= reserved() ? Status() : reserveMore(end); }
  uint64_t reserved() const { return reserved_.load(std::memory_order_acquire); }
  // Where to write [at, at + length): into the map, or into `scratch`, which commit() writes out,
  // so every byte has to be written. nullptr beyond the reserved range or the file, or if memory
  // for the scratch is refused. EVERY store into a map goes through here.
  uint8_t* window(uint64_t at, size_t length, ReadBuffer& scratch) {
    const uint64_t end = reserved();
    if (at > end || end - at < length) return nullptr;
    return writesByMap() ? mapping_.data() + at : scratch.atLeast(length);
  }
  // A window will be opened there soon: the cache lines may come from memory meanwhile.
  void expect(uint64_t at, size_t length) const {
    if (writesByMap() && at < size_ && length <= size_ - at) {
      prefetchForStore(mapping_.data() + at, length);
    }
  }
  // Ends a window. With `firstWord`, bytes [at, at + 4) are stored last with release order (by
  // position: bytes from the fifth on first, then the first four). `length` is then 4 or more. A
  // write that fails leaves zeros where that is possible.
  Status commit(uint64_t at, size_t length, const uint8_t* window) {
    return isInMap(at, window) ? Status() : writeOut(at, length, window);
  }
  Status commit(uint64_t at, size_t length, uint8_t* window, uint32_t firstWord) {
    if (!isInMap(at, window)) return writeOut(at, length, window, firstWord);
    storeRelease32(window, firstWord);
    return {};
  }

  void expectRandom() const { mapping_.expectRandom(); }
  // Background: reserves and, when mapped, populates [from, to). Safe beside the writer.
  Status prepare(uint64_t from, uint64_t to);

  // Reading: any thread. Points into the map, or into `buffer` (positional mode).
  Result<const uint8_t*> read(uint64_t at, size_t length, ReadBuffer& buffer) const {
    if (!mapping_.isMapped() || at > size_ || length > size_ - at) {
      return readByPosition(at, length, buffer);
    }
    return static_cast<const uint8_t*>(mapping_.data() + at);
  }
  // The bytes copied to `out`.
  Status copy(uint64_t at, size_t length, uint8_t* out) const;

  Status sync(uint64_t from, uint64_t to);
  Status zero(uint64_t from, uint64_t to);  // and syncs it; skips ranges that already are zero
  Status remove();                          // unlinks; maps live until the last reference goes

 private:
  MappedFile(File file, uint64_t base, uint64_t size)
      : file_(std::move(file)), base_(base), size_(size) {}
  Status map(bool writable);
  Status reserveMore(uint64_t end);
  Status checkRange(uint64_t at, uint64_t length) const;
  Result<const uint8_t*> readByPosition(uint64_t at, size_t length, ReadBuffer& buffer) const;
  Status writeOut(uint64_t at, size_t length, const uint8_t* window);
  Status writeOut(uint64_t at, size_t length, uint8_t* window, uint32_t firstWord);
  // Asks the window itself: the way of writing may have changed since it was opened.
  bool isInMap(uint64_t at, const uint8_t* window) const {
    return mapping_.isMapped() && window == mapping_.data() + at;
  }

  File file_;
  uint64_t base_;
  uint64_t size_;
  Mapping mapping_;
  std::atomic<bool> byMap_{false};  // writes go through the map
  std::atomic<uint64_t> reserved_{0};
  std::mutex reserveLock_;  // the writer beside prepare(); also held when the path changes
};

}  // namespace lmq
