#include "consume_queue.h"

#include <algorithm>
#include <new>

#include "bytes.h"

namespace lmq {

namespace {

// Units read at a time while scanning.
constexpr int64_t kScanUnits = 4096;

Unit decode(const uint8_t* at) {
  Unit unit;
  unit.size = static_cast<int32_t>(loadAcquire32(at + 8));
  unit.physicalOffset = load<int64_t>(at);
  unit.tagsCode = load<int64_t>(at + 12);
  return unit;
}

bool isValid(const Unit& unit) { return unit.physicalOffset >= 0 && unit.size > 0; }
bool isBlank(const Unit& unit) { return unit.size == ConsumeQueue::kBlankSize; }

constexpr Unit kBlank{0, ConsumeQueue::kBlankSize, 0};

}  // namespace

ConsumeQueue::ConsumeQueue(std::string topic, int32_t queueId, MappedFileQueue::Options options)
    : topic_(std::move(topic)),
      queueId_(queueId),
      files_(options),
      readOnly_(options.access != Access::kWrite) {}

int64_t ConsumeQueue::firstOffset() const {
  return files_.empty() ? filesEnd_ : static_cast<int64_t>(files_.firstBase() / kUnitSize);
}

Result<Unit> ConsumeQueue::unitAt(int64_t offset) const {
  if (isAhead(offset)) return ahead_[static_cast<size_t>(offset - filesEnd_)];
  Result<MappedFileQueue::Pinned> bytes =
      files_.read(static_cast<uint64_t>(offset) * kUnitSize, kUnitSize, buffer_);
  if (!bytes.ok()) return bytes.takeStatus();
  return decode(bytes->data);
}

// A reader goes on without files of another length.
Status ConsumeQueue::usable(Status loaded) const {
  return loaded.code() == Code::kFileSize && !files_.isWritable() ? Status() : loaded;
}

Result<int64_t> ConsumeQueue::scan(int64_t from, int64_t to, int64_t logEnd) {
  for (int64_t at = from; at < to;) {
    const int64_t count = std::min(kScanUnits, to - at);
    Result<MappedFileQueue::Pinned> bytes = files_.read(
        static_cast<uint64_t>(at) * kUnitSize, static_cast<size_t>(count) * kUnitSize, buffer_);
    if (!bytes.ok()) return bytes.takeStatus();
    for (int64_t i = 0; i < count; ++i) {
      const Unit unit = decode(bytes->data + i * static_cast<int64_t>(kUnitSize));
      if (!isValid(unit)) return at + i;
      if (logEnd >= 0 && !isBlank(unit) && unit.physicalOffset >= logEnd) return at + i;
    }
    at += count;
  }
  return to;
}

Result<int64_t> ConsumeQueue::searchEnd(int64_t from, int64_t to) const {
  while (from < to) {
    const int64_t middle = from + (to - from) / 2;
    const Result<Unit> unit = unitAt(middle);
    if (!unit.ok()) return unit.status();
    if (isValid(*unit)) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

// Sets what the last unit that is not blank says of the log.
Status ConsumeQueue::noteLast() {
  recordsEnd_ = lastPhysical_ = -1;
  const int64_t first = firstOffset();
  for (int64_t offset = end_ - 1; offset >= first; --offset) {
    const Result<Unit> unit = unitAt(offset);
    if (!unit.ok()) return unit.status();
    if (isBlank(*unit)) continue;
    lastPhysical_ = (*unit).physicalOffset;
    recordsEnd_ = (*unit).recordEnd();
    break;
  }
  return {};
}

std::vector<uint64_t> ConsumeQueue::connectedBases() const {
  std::vector<uint64_t> bases = files_.bases();
  for (size_t i = 1; i < bases.size(); ++i) {
    if (bases[i] != bases[i - 1] + files_.fileSize()) bases.resize(i);
  }
  return bases;
}

Status ConsumeQueue::load(bool dense) {
  LMQ_TRY(usable(files_.load()));
  end_ = synced_ = filesEnd_ = 0;
  ahead_.clear();
  minFor_ = -1;
  const std::vector<uint64_t> bases = connectedBases();
  if (!bases.empty()) {
    const int64_t perFile = unitsPerFile();
    // Every file but the last is full, unless one was made ahead or damaged: go back to the first
    // file, from the third last on, whose start is valid, and find the end from there.
    size_t index = bases.size() > 3 ? bases.size() - 3 : 0;
    int64_t at = static_cast<int64_t>(bases[index] / kUnitSize);
    synced_ = at;  // after a kill the last units may be in memory only
    for (;; ++index) {
      const Result<int64_t> end = dense ? searchEnd(at, at + perFile) : scan(at, at + perFile, -1);
      if (!end.ok()) return end.status();
      end_ = *end;
      if (end_ < at + perFile || index + 1 == bases.size()) break;
      at = end_;
    }
  }
  if (dense) {
    synced_ = end_;
  } else {
    files_.doubtDirectory();
  }
  filesEnd_ = end_;
  return noteLast();
}

Result<bool> ConsumeQueue::refresh() {
  if (!files_.lastIsGone()) {
    Result<bool> more = refreshEnd();
    if (more.status().code() != Code::kNotFound) return more;
  }
  // A writer that recovered has begun the queue anew, or what was the last file has expired.
  LMQ_TRY(load(false));
  return true;
}

Result<bool> ConsumeQueue::refreshEnd() {
  int64_t inFiles = filesEnd_;
  for (int64_t missed = -1;;) {
    const uint64_t position = static_cast<uint64_t>(inFiles) * kUnitSize;
    if (position >= files_.endOfFiles()) {
      const uint64_t known = files_.endOfFiles();
      LMQ_TRY(usable(files_.reload()));
      if (files_.endOfFiles() == known) break;
      inFiles = std::max(inFiles, static_cast<int64_t>(files_.firstBase() / kUnitSize));
      continue;
    }
    const int64_t fileEnd = (inFiles / unitsPerFile() + 1) * unitsPerFile();
    const Result<int64_t> end = scan(inFiles, fileEnd, -1);
    if (end.status().code() == Code::kNotFound) {
      // A listing made beside a writer may have a later file and lack this one.
      LMQ_TRY(usable(files_.reload()));
      if (files_.fileAt(position) == nullptr || missed == inFiles) break;
      missed = inFiles;
      continue;
    }
    if (!end.ok()) return end.status();
    if (*end == inFiles) break;
    inFiles = *end;
    if (inFiles < fileEnd) break;
  }
  if (inFiles == filesEnd_) return false;
  // The files have caught up with some of what was ahead of them, or with all of it.
  const int64_t caughtUp = std::min(inFiles - filesEnd_, static_cast<int64_t>(ahead_.size()));
  ahead_.erase(ahead_.begin(), ahead_.begin() + caughtUp);
  const int64_t before = end_;
  filesEnd_ = inFiles;
  end_ = filesEnd_ + static_cast<int64_t>(ahead_.size());
  LMQ_TRY(noteLast());
  return end_ != before;
}

Result<int64_t> ConsumeQueue::firstNotBlank(int64_t from, int64_t to) const {
  while (from < to) {
    if (isAhead(from)) {
      if (!isBlank(ahead_[static_cast<size_t>(from - filesEnd_)])) return from;
      ++from;
      continue;
    }
    const int64_t end = ahead_.empty() ? to : std::min(to, filesEnd_);
    const int64_t inFile = (from / unitsPerFile() + 1) * unitsPerFile() - from;
    const int64_t count = std::min({kScanUnits, inFile, end - from});
    Result<MappedFileQueue::Pinned> bytes = files_.read(
        static_cast<uint64_t>(from) * kUnitSize, static_cast<size_t>(count) * kUnitSize, buffer_);
    if (!bytes.ok()) return bytes.takeStatus();
    for (int64_t i = 0; i < count; ++i) {
      if (!isBlank(decode(bytes->data + i * static_cast<int64_t>(kUnitSize)))) return from + i;
    }
    from += count;
  }
  return to;
}

Result<int64_t> ConsumeQueue::minOffset(int64_t logMin) {
  if (minFor_ == logMin && min_ < end_) return min_;
  Status status = searchMin(logMin);
  if (status.code() == Code::kNotFound && readOnly_) {  // a writer has removed old files
    LMQ_TRY(usable(files_.reload()));
    status = searchMin(logMin);
  }
  if (!status.ok()) return status;
  return min_;
}

Status ConsumeQueue::searchMin(int64_t logMin) {
  int64_t from = std::min(firstOffset(), end_);
  int64_t to = end_;
  min_ = end_;
  while (from < to) {
    const int64_t middle = from + (to - from) / 2;
    // A blank unit says nothing of the log: the next other one decides.
    const Result<int64_t> at = firstNotBlank(middle, to);
    if (!at.ok()) return at.status();
    if (*at == to) {
      to = middle;
      continue;
    }
    const Result<Unit> unit = unitAt(*at);
    if (!unit.ok()) return unit.status();
    if ((*unit).physicalOffset >= logMin) {
      min_ = *at;
      to = middle;
    } else {
      from = *at + 1;
    }
  }
  minFor_ = min_ < end_ ? logMin : -1;  // units that are yet to come may be below it, too
  return {};
}

Status ConsumeQueue::detachBefore(int64_t logMin) {
  const Result<int64_t> min = minOffset(logMin);
  if (!min.ok()) return min.status();
  files_.detachBefore(static_cast<uint64_t>(*min) * kUnitSize);
  return {};
}

Status ConsumeQueue::reserveMore(int64_t queueOffset) {
  if (queueOffset > kMaxOffset) {
    return Status(Code::kLimit, "The queue has reached its largest offset.")
        .at(files_.directory())
        .offset(queueOffset)
        .limit(kMaxOffset);
  }
  if (files_.empty())
    return files_.reserve(static_cast<uint64_t>(queueOffset) * kUnitSize, kUnitSize);
  if (queueOffset - end_ > kMaxGap) {
    return Status(Code::kLimit, "The queue's numbering has a gap that is too wide.")
        .at(files_.directory())
        .offset(queueOffset)
        .limit(kMaxGap);
  }
  return files_.reserve(static_cast<uint64_t>(end_) * kUnitSize, kUnitSize);
}

Status ConsumeQueue::reserveNext(int64_t count) {
  const int64_t last = end_ + count;
  if (last - 1 > kMaxOffset) return reserve(last - 1);  // refuses
  for (int64_t at = end_; at < last;) {
    const int64_t next = std::min(last, (at / unitsPerFile() + 1) * unitsPerFile());
    LMQ_TRY(files_.reserve(static_cast<uint64_t>(at) * kUnitSize,
                           static_cast<size_t>(next - at) * kUnitSize));
    at = next;
  }
  return {};
}

Status ConsumeQueue::putAhead(const Unit& unit, int64_t queueOffset) try {
  if (end_ == 0 && files_.empty()) filesEnd_ = end_ = queueOffset;
  ahead_.resize(static_cast<size_t>(queueOffset - filesEnd_), kBlank);  // a gap is blank
  ahead_.push_back(unit);
  end_ = queueOffset + 1;
  lastPhysical_ = unit.physicalOffset;
  recordsEnd_ = unit.recordEnd();
  return {};
} catch (const std::bad_alloc&) {
  return Status(Code::kNoMemory, "No memory for the units of a queue.").at(files_.directory());
}

Status ConsumeQueue::put(const Unit& unit, int64_t queueOffset) {
  if (readOnly_) return putAhead(unit, queueOffset);
  if (queueOffset != end_) {
    LMQ_TRY(reserve(queueOffset));
    // An empty queue may start anywhere: its first file is blank up to there. A gap is blank too.
    end_ = std::max(end_, static_cast<int64_t>(files_.firstBase() / kUnitSize));
    while (end_ < queueOffset) LMQ_TRY(put(kBlank, end_));
  }
  const uint64_t position = static_cast<uint64_t>(queueOffset) * kUnitSize;
  LMQ_TRY(files_.reserve(position, kUnitSize));
  uint8_t* at = files_.window(position, kUnitSize);
  if (at == nullptr) {
    return Status(Code::kInternal, "No room was reserved for a unit.").at(files_.directory());
  }
  store<int64_t>(at, unit.physicalOffset);
  store<int64_t>(at + 12, unit.tagsCode);
  storeRelease32(at + 8, static_cast<uint32_t>(unit.size));
  LMQ_TRY(files_.commit(position, kUnitSize, at));
  end_ = queueOffset + 1;
  if (!isBlank(unit)) {
    lastPhysical_ = unit.physicalOffset;
    recordsEnd_ = unit.recordEnd();
  }
  return {};
}

Status ConsumeQueue::units(int64_t from, size_t max, PlacedUnit* out, size_t* count) const {
  *count = 0;
  if (from < 0 || from >= end_) return {};
  const int64_t fileEnd = (from / unitsPerFile() + 1) * unitsPerFile();
  const int64_t end = isAhead(from) || ahead_.empty() ? end_ : filesEnd_;
  const int64_t n = std::min({static_cast<int64_t>(max), end - from, fileEnd - from});
  if (isAhead(from)) {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = {from + i, ahead_[static_cast<size_t>(from - filesEnd_ + i)]};
    }
    *count = static_cast<size_t>(n);
    return {};
  }
  Result<MappedFileQueue::Pinned> bytes = files_.read(static_cast<uint64_t>(from) * kUnitSize,
                                                      static_cast<size_t>(n) * kUnitSize, buffer_);
  if (bytes.status().code() == Code::kNotFound) return {};  // expired since
  if (!bytes.ok()) return bytes.takeStatus();
  for (int64_t i = 0; i < n; ++i) {
    out[i] = {from + i, decode(bytes->data + i * static_cast<int64_t>(kUnitSize))};
    int64_t& tagsCode = out[i].unit.tagsCode;
    if (ConsumeQueueExt::isAddress(tagsCode)) tagsCode = extensions().tagsCode(tagsCode);
  }
  *count = static_cast<size_t>(n);
  return {};
}

ConsumeQueueExt& ConsumeQueue::extensions() const {
  if (!ext_) ext_ = std::make_unique<ConsumeQueueExt>(files_.directory());
  return *ext_;
}

Result<std::optional<ConsumeQueueExt::Unit>> ConsumeQueue::extensionOf(int64_t offset) const {
  const Result<Unit> unit = unitAt(offset);
  if (!unit.ok()) return unit.status();
  if (!ConsumeQueueExt::isAddress((*unit).tagsCode)) return std::optional<ConsumeQueueExt::Unit>();
  return std::optional(extensions().unitAt((*unit).tagsCode));
}

Status ConsumeQueue::truncate(int64_t logEnd) {
  const std::vector<uint64_t> bases = connectedBases();
  const int64_t perFile = unitsPerFile();
  // From the newest file back: drop what starts at or above the log's end, cut inside the first
  // that starts below it. A file that does not even start with a valid unit is dropped too.
  int64_t end = static_cast<int64_t>(files_.firstBase() / kUnitSize);
  for (size_t index = bases.size(); index-- > 0;) {
    const int64_t at = static_cast<int64_t>(bases[index] / kUnitSize);
    const Result<int64_t> kept = scan(at, at + perFile, logEnd);
    if (!kept.ok()) return kept.status();
    if (*kept == at) continue;
    end = *kept;
    break;
  }
  if (end == 0) return removeAll();  // nothing is kept, not even the numbering
  end_ = end;
  synced_ = std::min(synced_, end_);
  minFor_ = -1;
  LMQ_TRY(files_.truncate(static_cast<uint64_t>(end_) * kUnitSize));
  return noteLast();
}

Status ConsumeQueue::removeAll() {
  LMQ_TRY(files_.removeAll());
  end_ = synced_ = 0;
  recordsEnd_ = lastPhysical_ = -1;
  minFor_ = -1;
  return {};
}

Status ConsumeQueue::sync(int64_t to) {
  if (to == synced_) return {};
  LMQ_TRY(files_.sync(static_cast<uint64_t>(synced_) * kUnitSize,
                      static_cast<uint64_t>(to) * kUnitSize));
  synced_ = to;
  return {};
}

}  // namespace lmq
