// Reads a commit log record by record, by position and in large pieces, without mapping anything:
// an I/O error or a file that another program shortens is a Status, never a signal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "file.h"
#include "mapped_file_queue.h"
#include "record.h"

namespace lmq {

class CommitLogScan {
 public:
  CommitLogScan(std::string directory, uint64_t fileSize, std::vector<uint64_t> bases,
                record::Check check);

  // Where the next step() looks.
  void seek(int64_t position) {
    position_ = position;
    nextPiece_ = kFirstPiece;
  }
  int64_t position() const { return position_; }

  struct Step {
    int64_t position = 0;
    record::Verdict verdict = record::Verdict::kEnd;
    record::View view;  // of a record, valid until the next step
  };
  // The record at position(), which then moves behind it. A blank record moves it to the next file.
  // At damage, at zeros and where no file is (kEnd) it stays.
  Result<Step> step();
  // Of the record at `position`, -1 if no whole one is there; moves as seek() and step() do.
  int64_t storeTimestampAt(int64_t position);

  // Moves behind damage that step() met: behind the record where its lengths are right, else to the
  // next place in its file at which a whole record knows its own position, else to the next file.
  Status passDamage(const Step& step);

  // End of the last byte that is not zero in the file that holds `position`, from there on;
  // `position` itself if only zeros follow.
  Result<int64_t> lastByte(int64_t position);
  bool hasFile(int64_t position) const;
  int64_t endOfFile(int64_t position) const {
    return position - position % static_cast<int64_t>(fileSize_) + static_cast<int64_t>(fileSize_);
  }
  const std::vector<uint64_t>& bases() const { return bases_; }

 private:
  Status openFileOf(int64_t position);
  bool isGone(const Status& status, int64_t position);
  // At least `size` bytes at `position` (fewer only at the file's end) in the buffer.
  Result<const uint8_t*> bytesAt(int64_t position, size_t size, size_t* available);

  // A look at one record reads little; pieces grow as a scan goes on.
  static constexpr size_t kFirstPiece = 16 * 1024;
  static constexpr size_t kPiece = 1 << 20;

  std::string directory_;
  uint64_t fileSize_;
  std::vector<uint64_t> bases_;
  record::Check check_;
  int64_t position_ = 0;
  File file_;
  int64_t fileBase_ = -1;
  ReadBuffer buffer_;
  const uint8_t* piece_ = nullptr;
  int64_t pieceAt_ = -1;
  size_t pieceSize_ = 0;
  size_t nextPiece_ = kFirstPiece;
};

}  // namespace lmq
