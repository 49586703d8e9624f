#include "consume_queue_batch.h"

#include <algorithm>
#include <new>

#include "bytes.h"

namespace lmq {

namespace {

constexpr uint64_t kUnitsAtOnce = 1024;
constexpr int64_t kMaxOffset = (int64_t{1} << 53) - 1;  // JavaScript's largest exact integer

}  // namespace

BatchConsumeQueue::BatchConsumeQueue(std::string topic, int32_t queueId, std::string directory)
    : topic_(std::move(topic)), queueId_(queueId), directory_(std::move(directory)) {}

// Null without a file.
Result<std::unique_ptr<MappedFileQueue>> BatchConsumeQueue::open() const {
  const Result<uint64_t> size = findFileSize(directory_);
  if (!size.ok()) return size.status();
  if (*size == 0) return std::unique_ptr<MappedFileQueue>();
  if (*size % kUnitSize != 0) {
    return Status(Code::kFileSize, "Batch consume queue files do not hold whole units.")
        .at(directory_)
        .offset(static_cast<int64_t>(*size));
  }
  MappedFileQueue::Options options;
  options.directory = directory_;
  options.fileSize = *size;
  options.access = Access::kReadQuietly;
  options.readMode = ReadMode::kPositional;
  options.maxOpenFiles = 2;
  return std::make_unique<MappedFileQueue>(options);
}

Result<bool> BatchConsumeQueue::refresh() try {
  if (!files_) {
    Result<std::unique_ptr<MappedFileQueue>> files = open();
    if (!files.ok()) return files.takeStatus();
    files_ = files.take();
  }
  if (!files_) return false;
  Status loaded = files_->reload();
  if (!loaded.ok() && loaded.code() != Code::kFileSize) return loaded;
  if (files_->empty()) return false;
  readUpTo_ = std::max(readUpTo_, files_->firstBase());
  const size_t known = units_.size();
  while (readUpTo_ < files_->endOfFiles()) {
    const uint64_t inFile = files_->fileSize() - readUpTo_ % files_->fileSize();
    const uint64_t length = std::min(inFile, kUnitsAtOnce * kUnitSize);
    Result<MappedFileQueue::Pinned> bytes =
        files_->read(readUpTo_, static_cast<size_t>(length), buffer_);
    if (bytes.status().code() == Code::kNotFound) break;  // a file is missing: its end, for now
    if (!bytes.ok()) return bytes.takeStatus();
    for (uint64_t at = 0; at < length; at += kUnitSize, readUpTo_ += kUnitSize) {
      if (!take(bytes->data + at)) return units_.size() > known;
    }
  }
  return units_.size() > known;
} catch (const std::bad_alloc&) {
  return Status(Code::kNoMemory, "No memory for the units of a queue.").at(directory_);
}

// False if it cannot follow offsets up to `from`.
bool BatchConsumeQueue::decode(const uint8_t* bytes, int64_t from, BatchUnit* out) {
  BatchUnit& one = *out;
  one.placed.unit.physicalOffset = load<int64_t>(bytes);
  one.placed.unit.size = load<int32_t>(bytes + 8);
  one.placed.unit.tagsCode = load<int64_t>(bytes + 12);
  one.placed.queueOffset = load<int64_t>(bytes + 28);
  one.messages = load<int16_t>(bytes + 36);
  return one.placed.unit.physicalOffset >= 0 && one.placed.unit.size > 0 && one.messages > 0 &&
         one.placed.queueOffset >= from && one.placed.queueOffset <= kMaxOffset - one.messages;
}

bool BatchConsumeQueue::take(const uint8_t* bytes) {
  BatchUnit one;
  if (!decode(bytes, maxOffset(), &one)) return false;
  units_.push_back(one);
  return true;
}

Status BatchConsumeQueue::visitAll(const std::function<void(const Found&)>& visit) const {
  const Result<std::unique_ptr<MappedFileQueue>> opened = open();
  if (!opened.ok()) return opened.status();
  if (!*opened) return {};
  MappedFileQueue& files = **opened;
  Status loaded = files.load();
  int64_t end = 0;
  bool follows = true;  // no unit is missing so far
  ReadBuffer buffer;
  for (const uint64_t base : files.bases()) {
    for (uint64_t at = 0; at < files.fileSize(); at += kUnitSize) {
      const Result<MappedFileQueue::Pinned> bytes = files.read(base + at, kUnitSize, buffer);
      if (!bytes.ok()) return bytes.status();
      const uint8_t* unit = (*bytes).data;
      if (std::all_of(unit, unit + kUnitSize, [](uint8_t byte) { return byte == 0; })) {
        follows = false;
        continue;
      }
      BatchUnit one;
      Found found;
      found.valid = decode(unit, end, &one) && follows;
      found.placed = one.placed;
      found.messages = one.messages;
      found.storeTimestamp = load<int64_t>(unit + 20);
      found.path = directory_ + "/" + fileNameOf(base);
      found.offset = static_cast<int64_t>(at);
      if (found.valid) end = one.end();
      visit(found);
    }
  }
  return loaded;
}

int64_t BatchConsumeQueue::minOffset(int64_t logMin) const {
  const Place first = std::find_if(units_.begin(), units_.end(), [logMin](const BatchUnit& one) {
    return one.placed.unit.physicalOffset >= logMin;
  });
  return first == units_.end() ? maxOffset() : first->placed.queueOffset;
}

BatchConsumeQueue::Place BatchConsumeQueue::startingAt(int64_t offset) const {
  return std::lower_bound(
      units_.begin(), units_.end(), offset,
      [](const BatchUnit& one, int64_t at) { return one.placed.queueOffset < at; });
}

const BatchConsumeQueue::BatchUnit* BatchConsumeQueue::holding(int64_t offset) const {
  Place place = startingAt(offset);
  if (place == units_.end() || place->placed.queueOffset > offset) {
    if (place == units_.begin()) return nullptr;
    --place;
  }
  return offset < place->end() ? &*place : nullptr;
}

int64_t BatchConsumeQueue::startOf(int64_t offset) const {
  const BatchUnit* unit = holding(offset);
  return unit == nullptr ? offset : unit->placed.queueOffset;
}

int64_t BatchConsumeQueue::endOf(int64_t offset) const {
  const BatchUnit* unit = holding(offset);
  return unit == nullptr ? offset : unit->end();
}

void BatchConsumeQueue::units(int64_t from, size_t max, PlacedUnit* out, size_t* count) const {
  *count = 0;
  for (Place at = startingAt(from); at != units_.end() && *count < max; ++at) {
    out[(*count)++] = at->placed;
  }
}

}  // namespace lmq
