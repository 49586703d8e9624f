#include "commit_log.h"

#include <algorithm>

namespace lmq {

CommitLog::CommitLog(MappedFileQueue::Options options, Preparer* preparer)
    : files_(std::move(options), preparer) {}

Status CommitLog::reserve(size_t size, int64_t* position) {
  const int64_t end = endPosition();
  const int64_t needed = static_cast<int64_t>(size + record::kBlankSize);
  if (needed > fileSize()) {
    return Status(Code::kRecordTooLarge, "The record does not fit into a commit log file.")
        .offset(static_cast<int64_t>(size))
        .limit(fileSize() - static_cast<int64_t>(record::kBlankSize));
  }
  const int64_t used = end % fileSize();
  if (used + needed <= fileSize()) {
    *position = end;
    if (used == 0) LMQ_TRY(checkMaxBytes(end));
    return files_.reserve(static_cast<uint64_t>(end), size + record::kBlankSize);
  }
  *position = end - used + fileSize();
  LMQ_TRY(checkMaxBytes(*position));
  LMQ_TRY(files_.reserve(static_cast<uint64_t>(end), record::kBlankSize));
  return files_.reserve(static_cast<uint64_t>(*position), size + record::kBlankSize);
}

Status CommitLog::checkMaxBytes(int64_t position) const {
  if (maxBytes_ == 0 || static_cast<uint64_t>(position) < files_.endOfFiles()) return {};
  const uint64_t needed = files_.endOfFiles() - files_.firstBase() + files_.fileSize();
  if (needed <= maxBytes_) return {};
  return Status(Code::kDiskFull, "One more commit log file would pass maxStoreBytes.")
      .at(files_.directory())
      .offset(static_cast<int64_t>(needed))
      .limit(static_cast<int64_t>(maxBytes_));
}

Status CommitLog::place(int64_t position, size_t size, uint8_t** window) {
  const int64_t end = endPosition();
  if (position != end) {
    const uint64_t at = static_cast<uint64_t>(end);
    uint8_t* blank = files_.window(at, record::kBlankSize);
    if (blank == nullptr) {
      return Status(Code::kInternal, "No room was reserved for a blank record.")
          .at(files_.directory());
    }
    record::encodeBlank(blank);
    LMQ_TRY(files_.commit(at, record::kBlankSize, blank, static_cast<uint32_t>(position - end)));
    setEndPosition(position);
  }
  *window = files_.window(static_cast<uint64_t>(position), size);
  if (*window == nullptr) {
    return Status(Code::kInternal, "No room was reserved for a record.").at(files_.directory());
  }
  return {};
}

Status CommitLog::commit(int64_t position, size_t size, uint8_t* window, uint32_t firstWord) {
  LMQ_TRY(files_.commit(static_cast<uint64_t>(position), size, window, firstWord));
  const int64_t end = position + static_cast<int64_t>(size);
  setEndPosition(end);
  // Most records are about as long as the one before. Its lines else come one by one, each when the
  // first store to it waits in the processor's queue, and whatever stores come next wait behind.
  files_.expect(static_cast<uint64_t>(end), size);
  return {};
}

int64_t CommitLog::readableBehind(int64_t position) const {
  const int64_t end = endPosition();
  if (position < minPosition() || position >= end) return 0;
  return std::min(end - position, fileSize() - position % fileSize());
}

}  // namespace lmq
