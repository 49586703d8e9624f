#include "commit_log_scan.h"

#include <algorithm>

namespace lmq {

CommitLogScan::CommitLogScan(std::string directory, uint64_t fileSize, std::vector<uint64_t> bases,
                             record::Check check)
    : directory_(std::move(directory)),
      fileSize_(fileSize),
      bases_(std::move(bases)),
      check_(check) {}

bool CommitLogScan::hasFile(int64_t position) const {
  if (position < 0 || fileSize_ == 0) return false;
  const uint64_t base =
      static_cast<uint64_t>(position) - static_cast<uint64_t>(position) % fileSize_;
  return std::binary_search(bases_.begin(), bases_.end(), base);
}

Status CommitLogScan::openFileOf(int64_t position) {
  const int64_t base = position - position % static_cast<int64_t>(fileSize_);
  if (base == fileBase_ && file_.isOpen()) return {};
  Result<File> file =
      File::open(directory_ + "/" + fileNameOf(static_cast<uint64_t>(base)), Access::kReadQuietly);
  if (!file.ok()) return file.takeStatus();
  file_ = file.take();
  fileBase_ = base;
  pieceAt_ = -1;
  return {};
}

// A writer has removed the file since: then there is none, nor any before it.
bool CommitLogScan::isGone(const Status& status, int64_t position) {
  if (status.code() != Code::kNotFound) return false;
  bases_.erase(bases_.begin(),
               std::upper_bound(bases_.begin(), bases_.end(), static_cast<uint64_t>(position)));
  return true;
}

Result<const uint8_t*> CommitLogScan::bytesAt(int64_t position, size_t size, size_t* available) {
  LMQ_TRY(openFileOf(position));
  const int64_t rest = endOfFile(position) - position;
  const size_t wanted = static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(size), rest));
  const bool inPiece =
      pieceAt_ >= 0 && position >= pieceAt_ &&
      position + static_cast<int64_t>(wanted) <= pieceAt_ + static_cast<int64_t>(pieceSize_);
  if (!inPiece) {
    const size_t length = static_cast<size_t>(
        std::min<int64_t>(rest, static_cast<int64_t>(std::max(size, nextPiece_))));
    nextPiece_ = std::min(2 * nextPiece_, kPiece);
    uint8_t* out = buffer_.atLeast(length);
    if (out == nullptr)
      return Status(Code::kNoMemory, "No memory to read the log.").at(file_.path());
    pieceAt_ = -1;
    LMQ_TRY(file_.readAt(static_cast<uint64_t>(position - fileBase_), out, length));
    piece_ = out;
    pieceAt_ = position;
    pieceSize_ = length;
  }
  *available = pieceSize_ - static_cast<size_t>(position - pieceAt_);
  return piece_ + (position - pieceAt_);
}

int64_t CommitLogScan::storeTimestampAt(int64_t position) {
  seek(position);
  const Result<Step> found = step();
  const bool record = found.ok() && (*found).verdict == record::Verdict::kRecord;
  return record ? (*found).view.storeTimestamp : -1;
}

Result<CommitLogScan::Step> CommitLogScan::step() {
  Step step;
  step.position = position_;
  if (!hasFile(position_)) return step;
  size_t available = 0;
  Result<const uint8_t*> bytes = bytesAt(position_, record::kBlankSize, &available);
  if (isGone(bytes.status(), position_)) return step;
  if (!bytes.ok()) return bytes.takeStatus();
  const int64_t rest = endOfFile(position_) - position_;
  bool blank = false;
  const int64_t size = available < record::kBlankSize ? -1 : record::claimedSize(*bytes, &blank);
  if (!blank && size > static_cast<int64_t>(available) && size <= rest) {
    bytes = bytesAt(position_, static_cast<size_t>(size), &available);
    if (!bytes.ok()) return bytes.takeStatus();
  }
  record::Check check = check_;
  check.physicalOffset = position_;
  step.verdict = record::check(*bytes, available, check, &step.view);
  if (step.verdict == record::Verdict::kBlank) {
    // A blank record says how much of its file is left; any other number is damage.
    if (step.view.size != rest) {
      step.verdict = record::Verdict::kBadLength;
      step.view = {};
    } else {
      position_ += rest;
    }
  } else if (step.verdict == record::Verdict::kRecord) {
    position_ += step.view.size;
  }
  return step;
}

Status CommitLogScan::passDamage(const Step& damage) {
  const auto toNextFile = [&] {
    const auto next =
        std::upper_bound(bases_.begin(), bases_.end(), static_cast<uint64_t>(damage.position));
    position_ = next == bases_.end() ? endOfFile(damage.position) : static_cast<int64_t>(*next);
    return Status();
  };
  if (!hasFile(damage.position)) return toNextFile();
  if (damage.view.size > 0) {
    position_ = damage.position + static_cast<int64_t>(damage.view.size);
    return {};
  }
  const Result<int64_t> last = lastByte(damage.position);
  if (!last.ok()) return last.status();
  for (int64_t at = damage.position + 1; at + static_cast<int64_t>(record::kMinSize) <= *last;
       ++at) {
    size_t available = 0;
    const Result<const uint8_t*> bytes = bytesAt(at, record::kBlankSize, &available);
    if (!bytes.ok()) return bytes.status();
    bool blank = false;
    if (record::claimedSize(*bytes, &blank) <= 0 || blank) continue;
    position_ = at;
    const Result<Step> found = step();
    if (!found.ok()) return found.status();
    if ((*found).verdict != record::Verdict::kRecord) continue;
    position_ = at;
    return {};
  }
  return toNextFile();
}

Result<int64_t> CommitLogScan::lastByte(int64_t position) {
  if (!hasFile(position)) return position;
  Status opened = openFileOf(position);
  if (isGone(opened, position)) return position;
  LMQ_TRY(std::move(opened));
  const int64_t end = endOfFile(position);
  int64_t last = position;
  for (int64_t at = position; at < end;) {
    const Result<uint64_t> data = file_.seekData(static_cast<uint64_t>(at - fileBase_), fileSize_);
    if (!data.ok()) return data.status();
    at = fileBase_ + static_cast<int64_t>(*data);
    if (at >= end) break;
    size_t available = 0;
    pieceAt_ = -1;
    const Result<const uint8_t*> bytes = bytesAt(at, kPiece, &available);
    if (!bytes.ok()) return bytes.status();
    size_t i = available;
    while (i > 0 && (*bytes)[i - 1] == 0) --i;
    if (i > 0) last = at + static_cast<int64_t>(i);
    at += static_cast<int64_t>(available);
  }
  return last;
}

}  // namespace lmq
