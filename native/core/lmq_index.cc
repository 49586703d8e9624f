#include "lmq_index.h"

#include <algorithm>
#include <random>

#include "lmq_index_impl.h"

namespace lmq {

namespace {

constexpr size_t kPrefetched = 16;  // names a step
constexpr uint64_t kListed = 4096;  // rows that one call of list() looks at

uint64_t randomSeed() {
  static int somewhere;
  try {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  } catch (const std::exception&) {  // the system has none: what cannot be seen from outside
    return static_cast<uint64_t>(wallClockMillis()) ^ reinterpret_cast<uintptr_t>(&somewhere);
  }
}

Status noSuchQueue(uint64_t queue) {
  return Status(Code::kInternal, "No light queue has this number")
      .offset(static_cast<int64_t>(queue));
}

MappedFileQueue::Options filesOf(const LmqIndex::Options& options, const char* name,
                                 uint64_t fileSize) {
  MappedFileQueue::Options files;
  files.directory = options.directory + "/" + name;
  files.workDirectory = options.workDirectory;
  files.fileSize = fileSize;
  files.prepareAhead = options.prepareAhead;
  files.access = options.access;
  files.readMode = options.readMode;
  return files;
}

}  // namespace

LmqIndex::Impl::Impl(Options options, Preparer* preparer)
    : names(filesOf(options, "names", kNamesFileSize), options.inMemory, preparer),
      entries(filesOf(options, "entries", LmqEntry::kFileSize), options.inMemory, preparer),
      options_(std::move(options)),
      seed_(randomSeed()) {}

uint64_t LmqIndex::Impl::find(std::string_view name) const {
  const LmqTable::Slot* slot =
      table_.find(lmqNameHash(seed_, name), [&](const LmqTable::Slot& candidate) {
        if (candidate.queue() >= rows.count()) return false;
        __builtin_prefetch(&rows[candidate.queue()], 1);  // wanted next, if this is the name
        return names.at(candidate.name) == name;
      });
  return slot == nullptr ? kNone : slot->queue();
}

// One pass for each kind of memory, so that the misses of all names overlap.
void LmqIndex::Impl::prefetch(const std::string_view* wanted, size_t count) const {
  uint32_t hashes[kPrefetched];
  for (; count > 0; wanted += std::min(count, kPrefetched), count -= std::min(count, kPrefetched)) {
    const size_t step = std::min(count, kPrefetched);
    for (size_t i = 0; i < step; i++) {
      hashes[i] = lmqNameHash(seed_, wanted[i]);
      table_.prefetch(hashes[i]);
    }
    for (size_t i = 0; i < step; i++) {
      const LmqTable::Slot* slot = table_.likely(hashes[i]);
      if (slot == nullptr || slot->queue() >= rows.count()) continue;
      __builtin_prefetch(&rows[slot->queue()], 1);
      names.prefetch(slot->name);
    }
  }
}

std::string_view LmqIndex::Impl::nameOf(uint64_t queue) const {
  return queue < rows.count() ? names.at(rows[queue].name()) : std::string_view();
}

// Where an entry is damaged, the first offset of all: reading there reports the damage.
int64_t LmqIndex::Impl::minOffset(uint64_t queue, int64_t logMin) const {
  if (queue >= rows.count()) return 0;
  const LmqRow& row = rows[queue];
  if (row.tail() == 0) return row.next();
  if (logMin <= 0) return row.minimum();
  LmqEntries::Place place;
  const Status status =
      entries.search(queue, row.tail(), LmqEntries::Key::kPhysicalOffset, logMin, &place);
  if (!status.ok()) return row.minimum();
  return place.reached == 0 ? row.next() : place.entry.placed.queueOffset;
}

Result<int64_t> LmqIndex::Impl::lastPhysicalOffset(uint64_t queue) const {
  if (queue >= rows.count() || rows[queue].tail() == 0) return int64_t{-1};
  LmqEntry last;
  LMQ_TRY(entries.read(queue, rows[queue].tail() - 1, entries.count(), &last));
  return last.placed.unit.physicalOffset;
}

Status LmqIndex::Impl::reserve(size_t newEntries, size_t newNames, size_t nameBytes) {
  LMQ_TRY(entries.reserve(newEntries));
  if (newNames == 0) return {};
  LMQ_TRY(rows.reserve(newNames));
  LMQ_TRY(table_.reserve(newNames));
  return names.reserve(newNames, nameBytes);
}

// The table first: if the name then cannot be written, its slot leads to no row with that name.
Result<uint64_t> LmqIndex::Impl::create(std::string_view name) {
  const uint64_t queue = rows.count();
  const uint32_t hash = lmqNameHash(seed_, name);
  if (!rows.hasRoom()) return Status(Code::kInternal, "A light queue without room");
  const uint64_t place = names.placeFor(name.size());
  if (!table_.insert(hash, queue, place)) {
    return Status(Code::kNoMemory, "No memory for a light queue");
  }
  Result<uint64_t> position = names.append(name);
  if (!position.ok()) return position.takeStatus();
  LmqRow& row = rows.append();
  row.setName(*position);
  return queue;
}

Status LmqIndex::Impl::add(uint64_t queue, const PlacedUnit& placed) {
  if (queue >= rows.count()) return noSuchQueue(queue);
  LmqRow& row = rows[queue];
  if (placed.queueOffset < row.next() || placed.unit.physicalOffset < 0 || placed.unit.size < 0) {
    return Status(Code::kInternal, "An entry of a light queue is out of order")
        .offset(placed.queueOffset);
  }
  if (static_cast<uint64_t>(placed.queueOffset) > LmqRow::kMaxMinimum) {
    return Status(Code::kLimit, "A light queue has reached its largest offset")
        .offset(placed.queueOffset)
        .limit(static_cast<int64_t>(LmqRow::kMaxMinimum));
  }
  LmqEntry entry;
  entry.queue = queue;
  entry.previous = row.tail();
  entry.placed = placed;
  if (skipsNext(row)) {
    entries.linkSkip(row.count() / kSkipEvery, row.skip(), row.jump(), &entry);
  } else {
    entry.skip = row.skip();
  }
  const uint64_t number = entries.count();
  LMQ_TRY(entries.append(entry));
  advance(row, entry, number);
  return {};
}

LmqIndex::LmqIndex(Options options, Preparer* preparer)
    : impl_(std::make_unique<Impl>(std::move(options), preparer)) {}
LmqIndex::~LmqIndex() = default;

Result<LmqIndex::Snapshot> LmqIndex::readSnapshot() const { return impl_->readSnapshot(); }
Status LmqIndex::load(const Snapshot&, int64_t logEnd, uint64_t leastEntries) {
  return impl_->load(logEnd, leastEntries);
}
Status LmqIndex::reset(int64_t logPosition) { return impl_->reset(logPosition); }
Result<bool> LmqIndex::refresh() { return impl_->refresh(); }

uint64_t LmqIndex::queueCount() const { return impl_->rows.count(); }
uint64_t LmqIndex::find(std::string_view name) const { return impl_->find(name); }
void LmqIndex::prefetch(const std::string_view* names, size_t count) const {
  impl_->prefetch(names, count);
}
std::string_view LmqIndex::nameOf(uint64_t queue) const { return impl_->nameOf(queue); }
int64_t LmqIndex::nextOffset(uint64_t queue) const {
  return queue < impl_->rows.count() ? impl_->rows[queue].next() : 0;
}
int64_t LmqIndex::minOffset(uint64_t queue, int64_t logMin) const {
  return impl_->minOffset(queue, logMin);
}
Result<int64_t> LmqIndex::lastPhysicalOffset(uint64_t queue) const {
  return impl_->lastPhysicalOffset(queue);
}

Status LmqIndex::reserve(size_t entries, size_t newNames, size_t nameBytes) {
  return impl_->reserve(entries, newNames, nameBytes);
}
Result<uint64_t> LmqIndex::findOrCreate(std::string_view name) {
  const uint64_t known = impl_->find(name);
  if (known != kNone) return known;
  LMQ_TRY(impl_->reserve(0, 1, name.size()));
  return impl_->create(name);
}
Result<uint64_t> LmqIndex::create(std::string_view name) { return impl_->create(name); }
Status LmqIndex::add(uint64_t queue, const PlacedUnit& placed) { return impl_->add(queue, placed); }
void LmqIndex::setNextOffset(uint64_t queue, int64_t next) {
  if (queue >= impl_->rows.count()) return;
  LmqRow& row = impl_->rows[queue];
  row.setNext(std::max(row.next(), next));
}

Status LmqIndex::units(uint64_t queue, int64_t from, size_t max, PlacedUnit* out,
                       size_t* count) const {
  *count = 0;
  if (queue >= impl_->rows.count()) return noSuchQueue(queue);
  return impl_->entries.units(queue, impl_->rows[queue].tail(), from, max, out, count);
}

void LmqIndex::list(std::string_view prefix, uint64_t* cursor, size_t limit,
                    std::vector<std::string>* out) const {
  const uint64_t all = impl_->rows.count();
  const uint64_t end = all - std::min(all, *cursor) > kListed ? *cursor + kListed : all;
  for (; *cursor < end && limit > 0; ++*cursor) {
    const std::string_view name = impl_->nameOf(*cursor);
    if (name.empty() || !name.starts_with(prefix)) continue;
    out->emplace_back(name);
    limit--;
  }
}

uint64_t LmqIndex::entryCount() const { return impl_->entries.count(); }
uint64_t LmqIndex::entriesSinceSnapshot() const {
  return impl_->entries.count() - impl_->snapshotEntries;
}
Status LmqIndex::sync(uint64_t entries) { return impl_->sync(entries); }
Status LmqIndex::writeSnapshot(int64_t logPosition, const RecordIdentity& last,
                               const std::function<void(const std::function<void()>&)>& withLock) {
  return impl_->writeSnapshot(logPosition, last, withLock);
}

Status LmqIndex::discard() { return impl_->discard(); }

}  // namespace lmq
