// How the index comes from its files, at once or, for a reader, piece by piece.
#include <algorithm>
#include <limits>

#include "bytes.h"
#include "lmq_index_impl.h"

namespace lmq {

namespace {

constexpr size_t kRun = 4096;      // entries of a replay read at once
constexpr size_t kLookAhead = 16;  // entries whose rows are prefetched
constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();

Status noMemory() { return Status(Code::kNoMemory, "No memory for a light queue"); }

// The index is derived: whatever is wrong with the lengths of its files, rebuilding helps.
Status asCorrupt(Status status) {
  if (status.code() != Code::kFileSize) return status;
  return Status(Code::kCorruptFile, status.facts().message).at(status.facts().path);
}

}  // namespace

Status LmqIndex::Impl::noteGeneration() {
  if (writes() || options_.inMemory || firstNames_.isOpen()) return {};
  Result<File> file =
      File::open(options_.directory + "/names/" + fileNameOf(0), Access::kReadQuietly);
  if (file.ok()) firstNames_ = file.take();
  return file.status().code() == Code::kNotFound ? Status() : file.takeStatus();
}

Status LmqIndex::Impl::checkGeneration() const {
  if (!firstNames_.isOpen() || !firstNames_.isUnlinked()) return {};
  return Status(Code::kCorruptFile, "The light queues were rebuilt meanwhile; load them again")
      .at(options_.directory);
}

void LmqIndex::Impl::forget() {
  rows.clear();
  entries.setCount(0);
  names.forget();
  snapshotEntries = 0;
  lastChecksum_ = 0;
  syncedEntries_ = 0;
  syncedNames_ = 0;
}

Result<LmqIndex::Snapshot> LmqIndex::Impl::readSnapshot() const {
  if (options_.inMemory) return Status(Code::kNotFound, "An index in memory has no snapshot");
  Result<LmqSnapshotReader> reader = LmqSnapshotReader::open(tablePath(), options_.access);
  if (!reader.ok()) return reader.takeStatus();
  return reader->header().covers;
}

Status LmqIndex::Impl::load(int64_t logEnd, uint64_t leastEntries) {
  forget();
  firstNames_ = File();
  Status status = noteGeneration();
  if (status.ok()) status = loadAll(logEnd, leastEntries);
  if (status.ok()) status = checkGeneration();
  if (!status.ok()) forget();
  return status;
}

// Changes nothing on disk before everything has been found usable.
Status LmqIndex::Impl::loadAll(int64_t logEnd, uint64_t leastEntries) {
  if (options_.inMemory) return Status(Code::kNotFound, "An index in memory has no files");
  Result<LmqSnapshotReader> reader = LmqSnapshotReader::open(tablePath(), options_.access);
  if (!reader.ok()) return reader.takeStatus();
  const LmqSnapshotHeader header = reader->header();
  LMQ_TRY(asCorrupt(names.load()));
  LMQ_TRY(asCorrupt(entries.load()));
  LMQ_TRY(loadRows(*reader));
  Result<bool> more = scanNames();
  if (!more.ok()) return more.takeStatus();
  LMQ_TRY(checkLastEntry(header));
  entries.setCount(LmqEntry::kMaxNumber);  // what is read is known to be there, or checked
  LMQ_TRY(takeBack(header.covers.entries));
  LMQ_TRY(replay(header.covers.entries, logEnd));
  if (entries.count() < leastEntries) {
    return Status(Code::kCorruptFile, "Entries of light queues that were synced are missing")
        .at(options_.directory)
        .offset(static_cast<int64_t>(entries.count() * LmqEntry::kSize));
  }
  snapshotEntries = header.covers.entries;
  if (!writes()) return entries.lastChecksum(&lastChecksum_);
  syncedEntries_ = header.covers.entries;
  syncedNames_ = header.covers.names;
  LMQ_TRY(names.truncate());
  return entries.truncate();
}

// Every name is read with its row, so that a damaged one is noticed before its queue is missed.
Status LmqIndex::Impl::loadRows(LmqSnapshotReader& reader) {
  const Snapshot& covers = reader.header().covers;
  LMQ_TRY(rows.reserve(covers.queues));
  LMQ_TRY(table_.reset(covers.queues));
  const auto wrong = [&](const char* what) {
    return Status(Code::kCorruptFile, what)
        .at(tablePath())
        .offset(static_cast<int64_t>(rows.count()));
  };
  LmqNames::Found found;
  std::vector<LmqRow> block;
  while (rows.count() < covers.queues) {
    LMQ_TRY(reader.next(&block));
    for (const LmqRow& row : block) {
      Result<bool> whole = names.next(names.end(), &found);
      if (!whole.ok()) return whole.takeStatus();
      if (!*whole) return wrong("A light queue's name is damaged or missing");
      if (!enter(found)) return noMemory();
      LmqRow& added = rows.append();
      added = row;
      added.setName(found.position);
      names.setEnd(found);
    }
  }
  if (names.end() == covers.names && names.digest() == reader.header().namesDigest) return {};
  return wrong("The table of light queues covers other names");
}

Status LmqIndex::Impl::checkLastEntry(const LmqSnapshotHeader& header) {
  uint32_t last;
  entries.setCount(header.covers.entries);
  LMQ_TRY(entries.lastChecksum(&last));
  if (last == header.lastEntryChecksum) return {};
  return Status(Code::kCorruptFile, "The table of light queues covers other entries")
      .at(tablePath());
}

bool LmqIndex::Impl::enter(const LmqNames::Found& found) {
  return table_.insert(lmqNameHash(seed_, found.name), rows.count(), found.position);
}

Result<bool> LmqIndex::Impl::scanNames() {
  LmqNames::Found found;
  const uint64_t before = rows.count();
  for (;;) {
    Result<bool> whole = names.next(names.end(), &found);
    if (whole.ok() && !*whole && !writes() && names.awaitsFile()) {
      LMQ_TRY(asCorrupt(names.reload()));
      whole = names.next(names.end(), &found);
    }
    if (!whole.ok()) return whole.takeStatus();
    if (!*whole) return rows.count() > before;
    LMQ_TRY(rows.reserve(1));
    LMQ_TRY(table_.reserve(1));
    if (!enter(found)) return noMemory();
    rows.append().setName(found.position);
    names.setEnd(found);
  }
}

// Rows were taken while appending went on: their later entries are taken back, so that replay finds
// every row as it was when the snapshot began. (A next offset that was raised is in the state
// file.)
Status LmqIndex::Impl::takeBack(uint64_t covered) {
  for (uint64_t queue = 0; queue < rows.count(); queue++) {
    LmqRow& row = rows[queue];
    if (row.tail() <= covered) continue;
    LmqEntry entry;
    while (row.tail() > covered) {
      LMQ_TRY(entries.read(queue, row.tail() - 1, row.tail(), &entry));
      row.setTail(entry.previous);
      row.setCount(row.count() - 1);
    }
    row.setNext(0);
    row.setSkip(0);
    row.setJump(0);
    if (row.tail() == 0) continue;
    LMQ_TRY(entries.read(queue, row.tail() - 1, row.tail(), &entry));
    row.setNext(entry.placed.queueOffset + 1);
    row.setSkip(entry.kind == LmqEntry::kSkip ? row.tail() : entry.skip);
    if (row.skip() == 0) continue;
    LMQ_TRY(entries.read(queue, row.skip() - 1, row.tail(), &entry));
    row.setJump(entry.skip);
  }
  return {};
}

// Up to the first entry that cannot be used; the count is then that of those that were, also on
// failure.
Status LmqIndex::Impl::replay(uint64_t from, int64_t logEnd) {
  LmqEntry entry;
  for (entries.setCount(from);;) {
    size_t count = kRun;
    Result<const uint8_t*> bytes = entries.run(entries.count(), &count);
    if (bytes.ok() && count == 0 && !writes()) {  // the writer may have begun another file
      LMQ_TRY(asCorrupt(entries.reload()));
      count = kRun;
      bytes = entries.run(entries.count(), &count);
    }
    if (!bytes.ok()) return bytes.takeStatus();
    if (count == 0) return {};
    for (size_t i = 0; i < count; i++) {
      const uint8_t* at = *bytes + i * LmqEntry::kSize;
      if (i + kLookAhead < count) {
        const uint64_t ahead = load40(at + kLookAhead * LmqEntry::kSize + 5);
        if (ahead < rows.count()) __builtin_prefetch(&rows[ahead], 1);
      }
      if (!entry.decode(at) || !apply(entry, entries.count(), logEnd)) return {};
      entries.setCount(entries.count() + 1);
    }
  }
}

// Only an entry that is its queue's next one: anything else was left by another log.
bool LmqIndex::Impl::apply(const LmqEntry& entry, uint64_t number, int64_t logEnd) {
  if (entry.queue >= rows.count() || entry.recordEnd() > logEnd) return false;
  LmqRow& row = rows[entry.queue];
  const bool isSkip = skipsNext(row);
  if (entry.previous != row.tail()) return false;
  if ((entry.kind == LmqEntry::kSkip) != isSkip) return false;
  if (isSkip ? entry.skip > row.skip() : entry.skip != row.skip()) return false;
  advance(row, entry, number);
  return true;
}

Result<bool> LmqIndex::Impl::refresh() {
  if (options_.access == Access::kWrite || options_.inMemory) return false;
  LMQ_TRY(noteGeneration());
  LMQ_TRY(checkGeneration());
  uint32_t last;
  LMQ_TRY(entries.lastChecksum(&last));
  if (last != lastChecksum_) {
    return Status(Code::kCorruptFile,
                  "The light queues were cut or rebuilt meanwhile; load them again")
        .at(options_.directory);
  }
  Result<bool> newNames = scanNames();
  if (!newNames.ok()) return newNames;
  const uint64_t before = entries.count();
  Status status = replay(before, kNoEnd);
  LMQ_TRY(entries.lastChecksum(&lastChecksum_));
  LMQ_TRY(std::move(status));
  LMQ_TRY(checkGeneration());
  return *newNames || entries.count() > before;
}

}  // namespace lmq
