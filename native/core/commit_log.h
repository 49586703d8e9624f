// The commit log: records one behind the other in files of one length, each file ended by a blank
// record (spec 2.5). Knows where the log ends; knows nothing of queues.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "mapped_file_queue.h"
#include "record.h"
#include "status.h"

namespace lmq {

class CommitLog {
 public:
  CommitLog(MappedFileQueue::Options options, Preparer* preparer);

  Status load() { return files_.load(); }
  MappedFileQueue& files() { return files_; }
  const MappedFileQueue& files() const { return files_; }
  int64_t fileSize() const { return static_cast<int64_t>(files_.fileSize()); }
  // Appends that need a file which does not fit into it any more are refused; 0: no limit.
  void setMaxBytes(uint64_t bytes) { maxBytes_ = bytes; }
  int64_t baseOf(int64_t position) const { return position - position % fileSize(); }
  std::string pathOf(int64_t position) const {  // of the file that holds it
    return files_.directory() + "/" + fileNameOf(static_cast<uint64_t>(baseOf(position)));
  }

  // First byte of the log; where the first record would go while it is empty.
  int64_t minPosition() const { return static_cast<int64_t>(files_.firstBase()); }
  // One past the last byte written: where the next record, or the blank record before it, goes.
  int64_t endPosition() const { return end_.load(std::memory_order_acquire); }
  void setEndPosition(int64_t position) { end_.store(position, std::memory_order_release); }

  // Append side, under the append lock: reserve(), then place() and commit().
  // Room first: finds where a record of `size` bytes goes and makes sure that it, and the blank
  // record that ends a file before it, can be stored. Changes nothing that is visible.
  Status reserve(size_t size, int64_t* position);
  // Ends the current file with its blank record if `position` lies in the next; a window to encode
  // the record into follows.
  Status place(int64_t position, size_t size, uint8_t** window);
  // Publishes the record: its first four bytes are stored last, then the end moves.
  Status commit(int64_t position, size_t size, uint8_t* window, uint32_t firstWord);

  // `size` bytes at `position`, which must lie in one file; any thread.
  Result<MappedFileQueue::Pinned> read(int64_t position, size_t size, ReadBuffer& buffer) const {
    return files_.read(static_cast<uint64_t>(position), size, buffer);
  }
  // Bytes from `position` to the end of its file, or to the log's end where that comes first.
  int64_t readableBehind(int64_t position) const;

 private:
  Status checkMaxBytes(int64_t position) const;

  MappedFileQueue files_;
  uint64_t maxBytes_ = 0;
  std::atomic<int64_t> end_{0};
};

}  // namespace lmq
