// RocketMQ's getMessage (spec 7.1) over topic queues and light queues alike.
#include <algorithm>
#include <cstring>

#include "store.h"

namespace lmq {

namespace {

constexpr size_t kMaxReadBytes = 128 * 1024 * 1024;  // RocketMQ's cap of one getMessage
constexpr size_t kMinReadBytes = 100;
constexpr size_t kUnitsAtOnce = 128;

// Is `tag` one of the tags joined by byte 01?
bool hasTag(std::string_view tags, std::string_view tag) {
  while (!tags.empty()) {
    const size_t end = tags.find('\1');
    if (tags.substr(0, end) == tag) return true;
    if (end == std::string_view::npos) break;
    tags.remove_prefix(end + 1);
  }
  return false;
}

// An extension that is not found says nothing of the tags: the record does.
bool hasHash(std::string_view tags, int64_t tagsCode) {
  if (ConsumeQueueExt::isAddress(tagsCode)) return true;
  while (!tags.empty()) {
    const size_t end = tags.find('\1');
    if (record::javaHash(tags.substr(0, end)) == static_cast<int32_t>(tagsCode)) return true;
    if (end == std::string_view::npos) break;
    tags.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

// Where one read stands.
struct Store::Scan {
  std::unique_lock<std::mutex> lock;  // held while units are looked up
  size_t byteLimit = 0;
  int64_t end = 0;        // records end at or below it
  int64_t skipBelow = 0;  // after an unreadable record: the start of the next log file
  bool stop = false;
  int64_t messages = 0;         // in the rows; more than rows where those are inner batches
  std::vector<int64_t> widths;  // offsets that each unit of an inner batch stands for
};

const BatchConsumeQueue* Store::batchOf(QueueRef queue) const {
  return queue.isBatch() ? parts_->batchQueues[queue.number - QueueRef::kBatch].get() : nullptr;
}

Status Store::unitsAt(QueueRef queue, int64_t from, size_t max, PlacedUnit* out, size_t* count) {
  if (queue.lmq && !lmqIsDirectory()) {
    Status status = parts_->lmq->units(queue.number, from, max, out, count);
    // The log has what a damaged entry said: the next open builds the index again.
    if (status.code() == Code::kCorruptFile) LMQ_TRY(parts_->lmq->discard());
    return status;
  }
  if (queue.isBatch()) {
    batchOf(queue)->units(from, max, out, count);
    return {};
  }
  const auto& table = queue.lmq ? parts_->lmqDirectories : parts_->queues;
  return table->all()[queue.number]->units(from, max, out, count);
}

Status Store::boundsOf(QueueRef queue, Bounds* out) {
  const int64_t logMin = parts_->log->minPosition();
  if (queue.lmq && !lmqIsDirectory()) {
    if (queue.number >= parts_->lmq->queueCount())
      return Status(Code::kInternal, "There is no such light queue.");
    out->max = parts_->lmq->nextOffset(queue.number);
    out->min = parts_->lmq->minOffset(queue.number, logMin);
    return {};
  }
  if (queue.isBatch()) {
    if (queue.number - QueueRef::kBatch >= parts_->batchQueues.size())
      return Status(Code::kInternal, "There is no such queue.");
    out->max = batchOf(queue)->maxOffset();
    out->min = batchOf(queue)->minOffset(logMin);
    return {};
  }
  const auto& table = queue.lmq ? parts_->lmqDirectories : parts_->queues;
  if (queue.number >= table->all().size())
    return Status(Code::kInternal, "There is no such queue.");
  ConsumeQueue& found = *table->all()[queue.number];
  Result<int64_t> min = found.minOffset(logMin);
  if (!min.ok()) return min.takeStatus();
  out->max = found.maxOffset();
  out->min = *min;
  return {};
}

Status Store::bounds(QueueRef queue, Bounds* out) {
  const std::lock_guard<std::mutex> guard(lock_);
  if (closed_) return Status(Code::kClosed, "The store is closed.").at(parts_->dir.root());
  return boundsOf(queue, out);
}

Status Store::read(const ReadRequest& request, Page* page) {
  Scan scan;
  scan.lock = std::unique_lock<std::mutex>(lock_);
  page->rows.clear();
  page->damaged.clear();
  page->bytes = page->needed = 0;
  page->nextOffset = 0;
  if (closed_) return Status(Code::kClosed, "The store is closed.").at(parts_->dir.root());
  LMQ_TRY(boundsOf(request.queue, &page->bounds));
  const auto [min, max] = page->bounds;
  const int64_t from = request.from;
  const auto answer = [page](ReadStatus status, int64_t next) {
    page->status = status;
    page->nextOffset = next;
    return Status();
  };
  if (max == 0) return answer(ReadStatus::kNoMessageInQueue, 0);
  if (from < min) return answer(ReadStatus::kOffsetTooSmall, min);
  if (from == max) return answer(ReadStatus::kOffsetOverflowOne, from);
  if (from > max) return answer(ReadStatus::kOffsetOverflowBadly, max);

  page->status = ReadStatus::kNoMatchedMessage;
  const BatchConsumeQueue* batch = batchOf(request.queue);
  const int64_t start = batch != nullptr ? batch->startOf(from) : from;
  page->nextOffset = start;
  scan.byteLimit = std::clamp(request.maxBytes, kMinReadBytes, kMaxReadBytes);
  const bool onDevice = request.durable || parts_->options.syncFlush;
  scan.end = onDevice ? std::min(syncedPosition(), logEnd()) : logEnd();
  LMQ_TRY(scanUnits(request, scan, page));
  // Nothing was examined: the next unit is there, but its record is not to be seen yet.
  if (scan.stop && page->nextOffset == start && page->rows.empty() && page->needed == 0) {
    page->status = ReadStatus::kOffsetOverflowOne;
  }
  return {};
}

Status Store::scanUnits(const ReadRequest& request, Scan& scan, Page* page) {
  const StoreOptions& options = parts_->options;
  const int64_t perFile = parts_->unitsPerFile();
  const int64_t scanLimit = std::max<int64_t>(
      static_cast<int64_t>((options.maxFilterBytes + ConsumeQueue::kUnitSize - 1) /
                           ConsumeQueue::kUnitSize),
      static_cast<int64_t>(request.maxMessages));
  page->units.resize(kUnitsAtOnce);
  // Without a filter no more units than messages can be used.
  const size_t atOnce = request.tags.empty()
                            ? std::clamp<size_t>(request.maxMessages, 1, kUnitsAtOnce)
                            : kUnitsAtOnce;
  // One queue file after the other, more than one only while nothing was found. Light queues have
  // the same borders, so that an exported directory answers alike.
  for (size_t file = 0; file < options.travelFiles && page->rows.empty() && !scan.stop; ++file) {
    const int64_t fileEnd = std::min((page->nextOffset / perFile + 1) * perFile, page->bounds.max);
    while (page->nextOffset < fileEnd && !scan.stop) {
      const size_t wanted =
          std::min<size_t>(atOnce, static_cast<size_t>(fileEnd - page->nextOffset));
      size_t count = 0;
      if (!scan.lock.owns_lock()) scan.lock.lock();
      LMQ_TRY(unitsAt(request.queue, page->nextOffset, wanted, page->units.data(), &count));
      if (const BatchConsumeQueue* batch = batchOf(request.queue)) {
        scan.widths.clear();
        for (size_t i = 0; i < count; ++i) {
          const int64_t offset = page->units[i].queueOffset;
          scan.widths.push_back(batch->endOf(offset) - offset);
        }
      }
      scan.lock.unlock();
      if (count == 0) {
        if (page->rows.empty()) page->status = ReadStatus::kOffsetFoundNull;
        page->nextOffset = fileEnd;
        return {};
      }
      for (size_t i = 0; i < count && !scan.stop; ++i) {
        const PlacedUnit& placed = page->units[i];
        if (placed.queueOffset - request.from >= scanLimit) {
          scan.stop = page->nextOffset > request.from;
          if (scan.stop) break;
        }
        if (placed.queueOffset >= fileEnd && !page->rows.empty()) return {};
        LMQ_TRY(take(request, placed, scan.widths.empty() ? 1 : scan.widths[i], scan, page));
      }
    }
    if (page->nextOffset >= page->bounds.max) break;
  }
  return {};
}

Status Store::take(const ReadRequest& request, const PlacedUnit& placed, int64_t width, Scan& scan,
                   Page* page) {
  const StoreOptions& options = parts_->options;
  const Unit& unit = placed.unit;
  const int64_t recordEnd = unit.recordEnd();
  const bool blank = unit.size == ConsumeQueue::kBlankSize;
  // Not on the device yet or, for a reader, a live tail whose record is not whole yet.
  if (!blank && recordEnd > scan.end && (recordEnd <= logEnd() || parts_->options.readOnly)) {
    scan.stop = true;
    return {};
  }
  const size_t size = static_cast<size_t>(std::max(unit.size, 0));
  if (!page->rows.empty() && unit.physicalOffset >= 0) {
    const bool hot = logEnd() - unit.physicalOffset <=
                     static_cast<int64_t>(physicalMemory_ / 100) * options.hotMemoryPercent;
    const int64_t count = scan.messages;
    if (count + width > static_cast<int64_t>(request.maxMessages) ||
        page->bytes + size > scan.byteLimit ||
        page->bytes + size > (hot ? options.hotBytes : options.coldBytes) ||
        count + 1 > static_cast<int64_t>(hot ? options.hotCount : options.coldCount)) {
      scan.stop = true;
      return {};
    }
  }
  const auto pass = [&](ReadStatus status) {
    page->nextOffset = placed.queueOffset + width;
    if (page->rows.empty()) page->status = status;
    return Status();
  };
  if (blank) return pass(ReadStatus::kNoMatchedMessage);
  if (unit.physicalOffset < scan.skipBelow) return pass(page->status);
  if (!request.tags.empty() && !hasHash(request.tags, unit.tagsCode)) {
    return pass(ReadStatus::kNoMatchedMessage);
  }
  const auto removing = [&](bool damaged) {
    if (damaged) page->damaged.push_back({placed.queueOffset, unit.physicalOffset});
    if (!damaged && recordEnd < INT64_MAX) {
      scan.skipBelow = parts_->log->baseOf(unit.physicalOffset) + parts_->log->fileSize();
    }
    return pass(ReadStatus::kMessageWasRemoving);
  };
  const int64_t readable = parts_->log->readableBehind(unit.physicalOffset);
  if (size < record::kMinSize || static_cast<int64_t>(size) > readable) {
    return removing(size < record::kMinSize);
  }
  if (page->bytes + size > request.pageSize) {
    page->needed = page->bytes + size;  // no limit of the read's: with room it goes on
    scan.stop = true;
    return {};
  }
  Result<MappedFileQueue::Pinned> bytes =
      parts_->log->read(unit.physicalOffset, size, page->buffer);
  if (!bytes.ok()) {
    if (bytes.status().code() != Code::kNotFound) return bytes.takeStatus();
    return removing(false);
  }
  uint8_t* copy = request.page + page->bytes;
  std::memcpy(copy, bytes->data, size);
  Row row{placed.queueOffset, page->bytes, {}};
  record::Check check;
  check.bodyCrc = check.propertyCrc = request.verify;
  check.physicalOffset = request.verify ? unit.physicalOffset : -1;
  if (record::check(copy, size, check, &row.view) != record::Verdict::kRecord ||
      row.view.size != size) {
    return removing(true);
  }
  // Tags with the hash that was asked for, but another text.
  if (!request.tags.empty() &&
      !hasTag(request.tags, record::findProperty(row.view.properties(), record::kTagsName))) {
    return pass(ReadStatus::kNoMatchedMessage);
  }
  page->rows.push_back(row);
  page->bytes += size;
  page->status = ReadStatus::kFound;
  scan.messages += width;
  page->nextOffset = placed.queueOffset + width;
  return {};
}

Status Store::readAt(int64_t physicalOffset, bool verify, uint8_t* out, size_t size, Page* page) {
  std::unique_lock<std::mutex> lock(lock_);
  page->rows.clear();
  page->damaged.clear();
  page->bytes = page->needed = 0;
  if (closed_) return Status(Code::kClosed, "The store is closed.").at(parts_->dir.root());
  lock.unlock();
  // Once the first file is gone, 0 is the first record that is left (spec 7.4).
  if (physicalOffset == 0) physicalOffset = logMin();
  const int64_t readable = parts_->log->readableBehind(physicalOffset);
  if (readable < static_cast<int64_t>(record::kMinSize)) return {};
  Result<MappedFileQueue::Pinned> head =
      parts_->log->read(physicalOffset, record::kBlankSize, page->buffer);
  if (!head.ok()) return head.status().code() == Code::kNotFound ? Status() : head.takeStatus();
  bool blank = false;
  const int64_t claimed = record::claimedSize(head->data, &blank);
  if (blank || claimed < static_cast<int64_t>(record::kMinSize) || claimed > readable) return {};
  if (static_cast<size_t>(claimed) > size) {
    page->needed = static_cast<size_t>(claimed);
    return {};
  }
  Result<MappedFileQueue::Pinned> bytes =
      parts_->log->read(physicalOffset, static_cast<size_t>(claimed), page->buffer);
  if (!bytes.ok()) return bytes.status().code() == Code::kNotFound ? Status() : bytes.takeStatus();
  std::memcpy(out, bytes->data, static_cast<size_t>(claimed));
  Row row{0, 0, {}};
  record::Check check;
  check.physicalOffset = physicalOffset;
  check.bodyCrc = check.propertyCrc = verify;
  if (record::check(out, static_cast<size_t>(claimed), check, &row.view) !=
      record::Verdict::kRecord)
    return {};
  row.offset = row.view.queueOffset;
  page->rows.push_back(row);
  page->bytes = static_cast<size_t>(claimed);
  return {};
}

int64_t Store::findQueue(std::string_view topic, int32_t queueId) {
  const std::lock_guard<std::mutex> guard(lock_);
  const int64_t queue = parts_->queues->find(topic, queueId);
  if (queue >= 0) return queue;
  const auto& batches = parts_->batchQueues;
  for (size_t i = 0; i < batches.size(); ++i) {
    if (batches[i]->topic() == topic && batches[i]->queueId() == queueId)
      return static_cast<int64_t>(QueueRef::kBatch + i);
  }
  return -1;
}

int64_t Store::findLmq(std::string_view name) {
  const std::lock_guard<std::mutex> guard(lock_);
  if (lmqIsDirectory()) return parts_->lmqDirectories->find(name, 0);
  const uint64_t queue = parts_->lmq->find(name);
  return queue == LmqIndex::kNone ? -1 : static_cast<int64_t>(queue);
}

Status Store::listQueues(std::vector<QueueInfo>* out) {
  const std::lock_guard<std::mutex> guard(lock_);
  const auto& all = parts_->queues->all();
  for (size_t i = 0; i < all.size(); ++i) {
    Bounds found;
    LMQ_TRY(boundsOf({false, i}, &found));
    if (found.max > 0) out->push_back({all[i]->topic(), all[i]->queueId(), found});
  }
  const auto& batches = parts_->batchQueues;
  for (size_t i = 0; i < batches.size(); ++i) {
    Bounds found;
    LMQ_TRY(boundsOf({false, QueueRef::kBatch + i}, &found));
    if (found.max > 0) out->push_back({batches[i]->topic(), batches[i]->queueId(), found});
  }
  return {};
}

void Store::listLmqs(std::string_view prefix, uint64_t* cursor, size_t limit,
                     std::vector<std::string>* out) {
  const std::lock_guard<std::mutex> guard(lock_);
  if (!lmqIsDirectory()) return parts_->lmq->list(prefix, cursor, limit, out);
  const auto& all = parts_->lmqDirectories->all();
  while (*cursor < all.size() && out->size() < limit) {
    const ConsumeQueue& queue = *all[*cursor];
    if (queue.queueId() == 0 && queue.topic().starts_with(prefix)) out->push_back(queue.topic());
    ++*cursor;
  }
}

uint64_t Store::lmqCount() {
  const std::lock_guard<std::mutex> guard(lock_);
  return lmqIsDirectory() ? parts_->lmqDirectories->all().size() : parts_->lmq->queueCount();
}

}  // namespace lmq
