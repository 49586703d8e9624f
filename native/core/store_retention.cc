// When something may go, what has to be safe before, and who is told.
#include <algorithm>

#include "store.h"

namespace lmq {

Status Store::retain(const RetentionRequest& request, Retained* out) {
  {
    const std::lock_guard<std::mutex> guard(lock_);
    LMQ_TRY(checkWritable());
  }
  const std::lock_guard<std::mutex> guard(syncLock_);
  int64_t position = endOfBelow(*parts_, request.beforeOffset);
  if (request.beforeTime >= 0) {
    const Result<int64_t> older = endOfOlder(*parts_, request.beforeTime);
    if (!older.ok()) return older.status();
    position = std::max(position, endOfBelow(*parts_, *older));
  }
  LMQ_TRY(expireBefore(position, &out->expired));
  if (request.cleanPercent == 0 && request.fullPercent == 0) return {};
  for (;;) {
    const Result<int> used = usedPercent(parts_->dir.root());
    if (!used.ok()) return used.status();  // never a reason to delete
    out->usedPercent = *used;
    if (request.cleanPercent == 0 || *used <= request.cleanPercent) break;
    const int64_t before = logMin();
    LMQ_TRY(expireBefore(endOfBelow(*parts_, before + parts_->log->fileSize()), &out->expired));
    if (logMin() == before) break;  // the last file stays
  }
  const std::lock_guard<std::mutex> appends(lock_);
  usedPercent_ = out->usedPercent;
  fullPercent_ = request.fullPercent;
  return {};
}

// Under syncLock_.
Status Store::expireBefore(int64_t position, Expired* expired) {
  expired->logMin = logMin();
  if (position <= logMin()) return {};
  // Dispatch is repeated from derivedSynced_ on, so what lies below is what can be spared.
  if (derivedSynced_ < position) {
    Status status = syncLog();
    if (status.ok()) status = syncDerived();
    if (!status.ok() && status.code() != Code::kDiskFull) {
      fail(status);
      return failure_;
    }
    LMQ_TRY(std::move(status));
    if (derivedSynced_ < position) return {};  // a record waits for its dispatch: later
  }
  Expired more;
  Status status = deleteLogBefore(
      *parts_, position,
      [this](const std::function<void()>& piece) {
        const std::lock_guard<std::mutex> guard(lock_);
        piece();
      },
      &more);
  if (more.bytes > 0 && listener_.expired) listener_.expired(more);
  expired->files.insert(expired->files.end(), more.files.begin(), more.files.end());
  expired->bytes += more.bytes;
  expired->logMin = logMin();
  return status;
}

// Of the flusher: room for the file that comes next.
Status Store::expireSurplus() {
  const StoreOptions& options = parts_->options;
  if (options.maxStoreBytes == 0 || !options.deleteOldest) return {};
  const uint64_t next = static_cast<uint64_t>(parts_->log->fileSize());
  const uint64_t kept = options.maxStoreBytes > next ? options.maxStoreBytes - next : 0;
  Expired expired;
  return expireBefore(endOfSurplus(*parts_, kept), &expired);
}

Status Store::checkRoom() const {
  if (fullPercent_ == 0 || usedPercent_ <= fullPercent_) return {};
  return Status(Code::kDiskFull, "The device is used to " + std::to_string(usedPercent_) +
                                     " %, more than diskSpaceWarningLevelRatio allows.")
      .at(parts_->dir.root())
      .limit(fullPercent_);
}

}  // namespace lmq
