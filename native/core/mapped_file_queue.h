// Files of equal length, named by the position of their first byte, that act as one byte range.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mapped_file.h"
#include "preparer.h"
#include "status.h"

namespace lmq {

// 20 decimal digits; nullopt-like -1 for any other name (RocketMQ's file names, ASCII digits only).
std::string fileNameOf(uint64_t base);
int64_t baseOfFileName(const std::string& name);
// The length of the files of such names in a directory; 0 if there is none with a byte.
Result<uint64_t> findFileSize(const std::string& directory);

class MappedFileQueue {
 public:
  struct Options {
    std::string directory;
    std::string workDirectory;  // same file system; files are made here and renamed in
    uint64_t fileSize = 0;
    uint64_t reserveStep = 64 * 1024;  // blocks are reserved in steps of this
    uint64_t prepareAhead = 0;  // bytes reserved and populated ahead in the background; 0: none
    Access access = Access::kWrite;
    ReadMode readMode = ReadMode::kMap;
    bool singlePages = false;  // little is written at a time: see Mapping::expectRandom()
    size_t maxOpenFiles = 64;  // files kept open for reading besides the last one
  };

  explicit MappedFileQueue(Options options, Preparer* preparer = nullptr);
  ~MappedFileQueue();
  MappedFileQueue(const MappedFileQueue&) = delete;
  MappedFileQueue& operator=(const MappedFileQueue&) = delete;

  // Lists the directory (a missing one is empty). Names that are not 20 digits and empty files
  // behind the last full one are ignored and left alone. A file of another length, an empty one
  // among full ones, or one whose name is not a multiple of the length, is kFileSize; the others
  // are loaded all the same, so that a reader may go on. Gaps show in bases(). Opens nothing yet.
  Status load();
  // Of a directory that was loaded, and may have been made by a process that was killed: its own
  // name and its parent's are synced with the next sync, too.
  void doubtDirectory();
  // A reader looks for files that a writer has added or removed since.
  Status reload();
  // The last file that a reader knows was removed, or replaced by another of its name.
  bool lastIsGone() const;

  bool empty() const;
  uint64_t fileSize() const { return options_.fileSize; }
  const std::string& directory() const { return options_.directory; }
  bool isWritable() const { return options_.access == Access::kWrite; }
  std::vector<uint64_t> bases() const;  // ascending
  uint64_t firstBase() const;           // 0 when empty
  uint64_t endOfFiles() const;          // base of the last file + fileSize; 0 when empty

  // Append side: one thread at a time. Positions are in the whole range; no window crosses a file.
  // Room first: makes sure that the file of `position` exists (only the next one in order, or the
  // first of an empty queue, is ever created; an empty or all-zero file of its name is replaced)
  // and that [.., position + length) of it is reserved.
  // On failure nothing has changed that a later call would not repeat.
  Status reserve(uint64_t position, size_t length) {
    return hasRoom(position, length) ? Status() : reserveRoom(position, length);
  }
  // Whether reserve() has nothing to do.
  bool hasRoom(uint64_t position, size_t length) const {
    const uint64_t end = position + length;
    return position >= currentBase_ && end >= position && end <= easyEnd_;
  }
  // After reserve() of the range, also of one in an earlier file; then it never fails, except that
  // memory may be refused where nothing is mapped. Every byte of it has to be written; one window
  // at a time is open. nullptr if the range was not reserved.
  uint8_t* window(uint64_t position, size_t length) {
    MappedFile* file = fileOfWindow(position);
    return file ? file->window(position - file->base(), length, scratch_) : nullptr;
  }
  // A window will be opened there soon, if it is in the current file.
  void expect(uint64_t position, size_t length) const {
    if (current_ != nullptr) current_->expect(position - currentBase_, length);
  }
  Status commit(uint64_t position, size_t length, const uint8_t* window) {
    MappedFile* file = fileOfWindow(position);
    return file ? file->commit(position - file->base(), length, window) : notFound(position);
  }
  Status commit(uint64_t position, size_t length, uint8_t* window, uint32_t firstWord) {
    MappedFile* file = fileOfWindow(position);
    return file ? file->commit(position - file->base(), length, window, firstWord)
                : notFound(position);
  }

  // Reading: any thread, at most to the end of the file that holds `position`. `pin` keeps the file
  // (and its map) alive for as long as the pointer is used. kNotFound where there is no file.
  struct Pinned {
    std::shared_ptr<const MappedFile> file;
    const uint8_t* data = nullptr;
  };
  Result<Pinned> read(uint64_t position, size_t length, ReadBuffer& buffer) const;
  std::shared_ptr<MappedFile> fileAt(uint64_t position) const;  // nullptr if there is none

  // Blocks until [from, to) is on the device, and the entries of files made since the last call.
  // Any thread.
  Status sync(uint64_t from, uint64_t to);
  // Zeros everything from `position` on in its file (synced), removes later files, syncs the
  // directory. `position` may be the end of the last file. On the append side, as is removeAll().
  Status truncate(uint64_t position);
  // Whole files that end at or before it, except the last one, which says where the range ends, are
  // no part of the range any more. On the append side. They go with removeDetached().
  void detachBefore(uint64_t position);
  // Any thread, one at a time. Oldest first; each is durably gone before the next, so that a power
  // cut leaves no gap. What could not be removed is tried again by the next call.
  Status removeDetached();
  Status removeAll();

 private:
  struct Slot {
    uint64_t base;
    mutable std::shared_ptr<MappedFile> file;  // opened when first used
    mutable uint64_t lastUse = 0;
  };
  using FilePointer = std::shared_ptr<MappedFile>;

  std::string pathOf(uint64_t base) const;
  Status notFound(uint64_t position) const;
  Status scan(std::vector<Slot>* slots) const;

  // Under lock_. What eviction drops goes to `evicted`, to be released (unmapped) after the lock.
  const Slot* slotAt(uint64_t position) const;
  Result<FilePointer> openSlot(const Slot& slot, FilePointer* evicted) const;
  FilePointer evict() const;
  uint64_t endOfSlots() const;

  Status removeLast();

  // Append side, in mapped_file_queue_write.cc.
  MappedFile* fileOfWindow(uint64_t position) {
    if (current_ != nullptr && position - currentBase_ < options_.fileSize) return current_;
    return fileOfOtherWindow(position);
  }
  MappedFile* fileOfOtherWindow(uint64_t position);
  Status reserveRoom(uint64_t position, size_t length);
  Status reserveIn(MappedFile& file, uint64_t end) const;
  Status switchTo(uint64_t base, uint64_t end);
  Result<FilePointer> makeFile(uint64_t base, uint64_t end);
  Result<FilePointer> makeWorkFile(uint64_t base) const;
  Status checkReplaceable(const std::string& path) const;
  Status moveIn(MappedFile& file, const std::string& path);
  void forgetWriting();

  // Preparing ahead: the append side asks, the preparer's thread runs prepareRange().
  void askToPrepare(uint64_t position);
  void prepareRange(const FilePointer& file, uint64_t from, uint64_t to);
  void prepareIn(MappedFile& file, uint64_t from, uint64_t to);
  FilePointer nextFile(uint64_t base);
  void stopPreparing();

  Options options_;
  Preparer* preparer_;

  mutable std::mutex lock_;
  std::vector<Slot> slots_;      // ascending by base
  std::vector<Slot> detached_;   // still in the directory
  FilePointer writing_;          // the file of the last reserve()
  FilePointer next_;             // made in advance, still in the work directory
  bool directoryDirty_ = false;  // files were made since the last sync
  bool parentsDirty_ = false;    // the directory itself was made since the last sync
  mutable uint64_t useClock_ = 0;

  // Of the append side alone.
  MappedFile* current_ = nullptr;  // writing_, to use without the lock
  uint64_t currentBase_ = 0;
  uint64_t easyEnd_ = 0;      // up to here reserve() has nothing to do, nor is there to prepare
  FilePointer other_;         // the file of a window outside the current file
  ReadBuffer scratch_;        // windows of files that are not written by map
  uint64_t prepareAt_ = 0;    // ask again when the write position gets here
  uint64_t preparedEnd_ = 0;  // asked for so far

  std::atomic<bool> preparing_{false};  // a task is posted or running
  std::atomic<bool> stopping_{false};   // it ends early
};

}  // namespace lmq
