// What a file of the key index holds after a crash, made from its entries alone.
#include <algorithm>
#include <new>
#include <vector>

#include "bytes.h"
#include "key_index_file.h"

namespace lmq {

namespace {

constexpr int64_t kMillis = 1000;

}  // namespace

Status KeyIndexFile::restore(int64_t position, const TimeOf& timeOf) {
  // Entries follow the log. Those below `position` were synced, whatever slots and header say; the
  // first that is out of order or all zero is none.
  const Header had = header_;
  int64_t end = 1;
  int64_t last = 0;
  bool broken = false;
  Entry first;
  Entry newest;
  for (; end < shape_.entries; ++end) {
    const Result<Entry> found = entry(end);
    if (!found.ok()) return found.status();
    const Entry& one = *found;
    const bool zero = one.hash == 0 && one.physicalOffset == 0 && one.seconds == 0;
    broken = zero ? end != had.next : one.hash < 0 || one.seconds < 0 || one.physicalOffset < last;
    if (zero || broken || one.physicalOffset >= position) break;
    if (end == 1) first = one;
    newest = one;
    last = one.physicalOffset;
  }
  // Where entries break off, the keys of a record may: its dispatch is repeated as a whole.
  while (broken && end > 1) {
    const Result<Entry> before = entry(end - 1);
    if (!before.ok()) return before.status();
    newest = *before;
    if (newest.physicalOffset != last) break;
    --end;
  }
  LMQ_TRY(file_->reserve(shape_.entryAt(end)));
  LMQ_TRY(rechain(end));
  LMQ_TRY(file_->zero(shape_.entryAt(end), shape_.fileSize()));
  header_.next = static_cast<int32_t>(end);
  if (end > 1) {
    const auto timeAt = [&](int64_t offset, int64_t fallback) {
      const int64_t time = timeOf(offset);
      return time >= 0 ? time : fallback;
    };
    header_.beginPhyOffset = first.physicalOffset;
    header_.beginTimestamp = timeAt(first.physicalOffset, had.beginTimestamp);
    header_.endPhyOffset = newest.physicalOffset;
    const bool kept = had.endPhyOffset == newest.physicalOffset && had.endTimestamp > 0;
    // A header may say anything.
    const int64_t begin = std::clamp(header_.beginTimestamp, int64_t{0}, INT64_MAX / 2);
    header_.endTimestamp =
        timeAt(newest.physicalOffset, kept ? had.endTimestamp : begin + newest.seconds * kMillis);
  }
  LMQ_TRY(writeHeader());
  LMQ_TRY(sync());
  syncedNext = header_.next;
  return {};
}

// Slots, and the numbers that entries have of those before them, as putting the entries below `end`
// makes them. Only what differs is written.
Status KeyIndexFile::rechain(int64_t end) try {
  std::vector<int32_t> slots(static_cast<size_t>(shape_.slots), 0);
  header_.usedSlots = 0;
  for (int64_t number = 1; number < end; ++number) {
    const Result<Entry> found = entry(number);
    if (!found.ok()) return found.status();
    Entry one = *found;
    int32_t& newest = slots[static_cast<size_t>(one.hash % shape_.slots)];
    if (newest == 0) ++header_.usedSlots;
    if (one.previous != newest) {
      one.previous = newest;
      LMQ_TRY(writeEntry(number, one));
    }
    newest = static_cast<int32_t>(number);
  }
  for (int64_t index = 0; index < shape_.slots; ++index) {
    const int32_t hash = static_cast<int32_t>(index);
    const Result<const uint8_t*> bytes = file_->read(slotAt(hash), kSlotSize, read_);
    if (!bytes.ok()) return bytes.status();
    const int32_t wanted = slots[static_cast<size_t>(index)];
    if (load<int32_t>(*bytes) != wanted) LMQ_TRY(writeSlot(slotAt(hash), wanted));
  }
  return {};
} catch (const std::bad_alloc&) {
  return Status(Code::kNoMemory, "No memory to restore a file of the key index.").at(path());
}

}  // namespace lmq
