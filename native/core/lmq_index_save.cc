// How the index begins, and how it gets to the device.
#include <algorithm>

#include "lmq_index_impl.h"

namespace lmq {

namespace {

// Also files of odd lengths, which no queue of files would load.
Status removeContent(const std::string& directory) {
  Result<std::vector<DirectoryEntry>> found = list(directory);
  if (!found.ok()) {
    return found.status().code() == Code::kNotFound ? Status() : found.takeStatus();
  }
  if (found->empty()) return {};
  for (const DirectoryEntry& entry : *found) {
    if (!entry.isDirectory) LMQ_TRY(removeFile(directory + "/" + entry.name));
  }
  return syncDirectory(directory);
}

}  // namespace

Status LmqIndex::Impl::reset(int64_t logPosition) {
  if (!writes() && !options_.inMemory) {
    return Status(Code::kReadOnly, "The index of light queues is open for reading")
        .at(options_.directory);
  }
  forget();
  LMQ_TRY(table_.reset(0));
  if (options_.inMemory) {
    LMQ_TRY(names.load());
    return entries.load();
  }
  LMQ_TRY(removeFiles());
  discarded_ = false;
  const auto atOnce = [](const std::function<void()>& run) { run(); };
  return writeSnapshot(logPosition, RecordIdentity(), atOnce);
}

// The table first: without it nothing that is left would be taken for an index.
Status LmqIndex::Impl::removeFiles() {
  LMQ_TRY(makeDirectories(options_.directory));
  LMQ_TRY(makeDirectories(options_.workDirectory));
  LMQ_TRY(removeFile(tablePath()));
  LMQ_TRY(syncDirectory(options_.directory));
  LMQ_TRY(names.removeAll());
  LMQ_TRY(entries.removeAll());
  for (const char* directory : {"/names", "/entries"}) {
    LMQ_TRY(removeContent(options_.directory + directory));
    LMQ_TRY(makeDirectories(options_.directory + directory));
  }
  LMQ_TRY(names.load());
  return entries.load();
}

// Names first: an entry on the device whose name is not there could not be replayed.
Status LmqIndex::Impl::sync(uint64_t wanted) {
  if (!writes()) return {};
  const std::lock_guard<std::mutex> lock(syncLock_);
  const uint64_t namesEnd = names.end();
  LMQ_TRY(names.sync(syncedNames_, namesEnd));
  syncedNames_ = namesEnd;
  LMQ_TRY(entries.sync(syncedEntries_, wanted));
  syncedEntries_ = std::max(syncedEntries_, wanted);
  return {};
}

Status LmqIndex::Impl::writeSnapshot(
    int64_t logPosition, const RecordIdentity& last,
    const std::function<void(const std::function<void()>&)>& withLock) {
  if (options_.inMemory) return {};
  if (!writes()) {
    return Status(Code::kReadOnly, "The index of light queues is open for reading")
        .at(options_.directory);
  }
  LmqSnapshotHeader header;
  header.covers.logPosition = logPosition;
  header.covers.last = last;
  Status status;
  withLock([&] {
    header.covers.entries = entries.count();
    header.covers.names = names.end();
    header.namesDigest = names.digest();
    header.covers.queues = rows.count();
    status = entries.lastChecksum(&header.lastEntryChecksum);
  });
  LMQ_TRY(std::move(status));

  const std::string aside = options_.workDirectory + "/table";
  Result<LmqSnapshotWriter> writer = LmqSnapshotWriter::create(aside, header);
  if (!writer.ok()) return writer.takeStatus();
  std::vector<LmqRow> block(kRowsPerBlock);
  for (uint64_t first = 0; first < header.covers.queues; first += kRowsPerBlock) {
    const size_t count = std::min(kRowsPerBlock, header.covers.queues - first);
    withLock([&] {
      for (size_t i = 0; i < count; i++) block[i] = rows[first + i];
    });
    LMQ_TRY(writer->add(block.data(), count));
  }
  LMQ_TRY(writer->finish());

  // Rows may lead to entries added since: those must not be lost behind this table.
  uint64_t reached = 0;
  withLock([&] { reached = entries.count(); });
  LMQ_TRY(sync(reached));
  {
    const std::lock_guard<std::mutex> lock(tableLock_);
    if (discarded_) return removeFile(aside);
    LMQ_TRY(renameFile(aside, tablePath()));
    LMQ_TRY(syncDirectory(options_.directory));
  }
  withLock([&] { snapshotEntries = header.covers.entries; });
  return {};
}

Status LmqIndex::Impl::discard() {
  if (!writes()) return {};
  const std::lock_guard<std::mutex> lock(tableLock_);
  if (discarded_) return {};
  discarded_ = true;
  LMQ_TRY(removeFile(tablePath()));
  return syncDirectory(options_.directory);
}

}  // namespace lmq
