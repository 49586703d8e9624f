#include "store_parts.h"

#include <algorithm>

namespace lmq {

namespace {

constexpr uint64_t kQueueReserveStep = 64 * 1024;
constexpr uint64_t kMaxPosition = uint64_t{1} << 53;  // a double holds positions up to here exactly

Status decide(const char* option, uint64_t found, uint64_t given, uint64_t fallback,
              const std::string& directory, uint64_t* size) {
  if (found != 0 && given != 0 && found != given) {
    return Status(Code::kConfigMismatch, std::string("The directory's files decide ") + option +
                                             ": they have " + std::to_string(found) +
                                             " bytes, not " + std::to_string(given) + ".")
        .at(directory)
        .offset(static_cast<int64_t>(given))
        .limit(static_cast<int64_t>(found));
  }
  *size = found != 0 ? found : given != 0 ? given : fallback;
  return {};
}

}  // namespace

Status StoreParts::decideSizes() {
  Result<uint64_t> log = findFileSize(dir.commitLog());
  if (!log.ok()) return log.takeStatus();
  Result<uint64_t> queue = ConsumeQueueTable::findFileSize(dir.consumeQueue());
  if (!queue.ok()) {
    const bool tolerated = options.readOnly || options.rebuildQueues;
    if (!tolerated || queue.status().code() != Code::kFileSize) return queue.takeStatus();
    oddFiles.push_back(queue.takeStatus());
    queue = static_cast<uint64_t>(std::max<int64_t>(oddFiles.back().facts().limit, 0));
  }
  if (marker) {  // whichever file has another length, it is the odd one
    log = static_cast<uint64_t>(marker->mappedFileSizeCommitLog);
    queue = static_cast<uint64_t>(marker->mappedFileSizeConsumeQueue);
    if (*queue % ConsumeQueue::kUnitSize != 0) {
      return Status(Code::kCorruptFile,
                    "The directory's marker says that consume queue files do not hold whole units.")
          .at(dir.markerPath())
          .offset(marker->mappedFileSizeConsumeQueue);
    }
  }
  LMQ_TRY(decide("mappedFileSizeCommitLog", *log, options.commitLogSize,
                 options.defaultCommitLogSize, dir.commitLog(), &commitLogSize_));
  return decide("mappedFileSizeConsumeQueue", *queue, options.consumeQueueSize,
                options.defaultConsumeQueueSize, dir.consumeQueue(), &consumeQueueSize_);
}

// Slots and entries are not in the files (design 6): the marker knows them, else the options, else
// the length of the newest file. *shapes: all that a file may have.
Status StoreParts::decideKeyShape(std::vector<KeyIndexShape>* shapes) {
  const KeyIndexShape own{marker ? marker->maxHashSlotNum : 0, marker ? marker->maxIndexNum : 0};
  const KeyIndexShape fallback{options.defaultIndexSlots, options.defaultIndexEntries};
  const bool known = own.slots > 0 && own.entries > 1;
  const auto given = [&](const char* name, int64_t found, int64_t value, int64_t otherwise,
                         int64_t* out) {
    uint64_t decided = 0;
    LMQ_TRY(decide(name, known ? static_cast<uint64_t>(found) : 0, static_cast<uint64_t>(value),
                   static_cast<uint64_t>(otherwise), dir.index(), &decided));
    *out = static_cast<int64_t>(decided);
    return Status();
  };
  LMQ_TRY(given("maxHashSlotNum", own.slots, options.indexSlots, fallback.slots, &keyShape_.slots));
  LMQ_TRY(given("maxIndexNum", own.entries, options.indexEntries, fallback.entries,
                &keyShape_.entries));
  *shapes = {keyShape_, KeyIndex::kBrokerShape, fallback};
  if (known || options.indexSlots > 0 || options.indexEntries > 0) return {};
  const Result<std::optional<KeyIndexShape>> newest = KeyIndex::findShape(dir.index(), *shapes);
  if (!newest.ok()) return newest.status();
  keyShape_ = (*newest).value_or(keyShape_);
  return {};
}

MappedFileQueue::Options StoreParts::queueOptions() const {
  MappedFileQueue::Options queue;
  queue.directory = dir.consumeQueue();
  queue.workDirectory = dir.work();
  queue.fileSize = consumeQueueSize_;
  queue.reserveStep = std::min(kQueueReserveStep, consumeQueueSize_);
  queue.access = options.readOnly ? Access::kReadQuietly : Access::kWrite;
  const bool positional = options.positionalReads || (options.readOnly && isForeign());
  queue.readMode = positional ? ReadMode::kPositional : ReadMode::kMap;
  queue.singlePages = true;
  queue.maxOpenFiles = 2;
  return queue;
}

CommitLogScan StoreParts::scanLog(const record::Check& check) const {
  return CommitLogScan(dir.commitLog(), static_cast<uint64_t>(log->fileSize()),
                       log->files().bases(), check);
}

Status StoreParts::prepare() {
  Result<FileInfo> root = inspect(dir.root());
  if (!root.ok()) return root.takeStatus();
  if ((options.readOnly || options.rebuild) && !root->exists) {
    return Status(Code::kNotFound, "There is no such directory.").at(dir.root());
  }
  if (root->exists && !root->isDirectory) {
    return Status(Code::kNotFound, "The path is not a directory.").at(dir.root());
  }
  const auto readMarker = [this]() -> Status {
    Result<std::optional<Marker>> found = dir.readMarker();
    if (!found.ok()) return found.takeStatus();
    marker = found.take();
    return {};
  };
  const auto isRocketMq = [this]() -> Result<bool> {
    for (const std::string& path : {dir.commitLog(), dir.consumeQueue(), dir.checkpointPath()}) {
      const Result<FileInfo> info = inspect(path);
      if (!info.ok()) return info.status();
      if ((*info).exists) return true;
    }
    return false;
  };
  LMQ_TRY(readMarker());
  const Result<bool> rocksDb = dir.hasRocksDbQueues();
  if (!rocksDb.ok()) return rocksDb.status();
  if (*rocksDb) {
    Status unread(
        Code::kUnsupported,
        "The consume queues are a RocksDB database, which is not read; a reader shows the "
        "queues as the commit log tells them.");
    unread = std::move(unread).at(dir.consumeQueue());
    if (!options.readOnly) return unread;
    oddFiles.push_back(std::move(unread));
  }
  if (!options.readOnly) {
    const Result<bool> foreign = isRocketMq();
    if (!foreign.ok()) return foreign.status();
    if (isForeign() && *foreign && (!options.adopt || options.rebuild)) {
      return Status(Code::kForeignDirectory, "lmq-store did not make this directory.")
          .at(dir.root());
    }
    if (isForeign() && options.rebuild) {
      return Status(Code::kNotFound, "There is no store in the directory.").at(dir.root());
    }
    LMQ_TRY(makeDirectories(dir.root()));
    LMQ_TRY(dir.lock());
    LMQ_TRY(readMarker());  // another writer may have finished between
  }
  LMQ_TRY(decideSizes());

  MappedFileQueue::Options files;
  files.directory = dir.commitLog();
  files.workDirectory = dir.work();
  files.fileSize = commitLogSize_;
  files.prepareAhead = options.readOnly ? 0 : options.prepareAhead;
  files.reserveStep =
      std::min<uint64_t>(std::max<uint64_t>(options.prepareAhead, 1 << 20), commitLogSize_);
  files.access = options.readOnly ? Access::kReadQuietly : Access::kWrite;
  files.readMode = queueOptions().readMode;
  log = std::make_unique<CommitLog>(files, &preparer);
  Status loaded = log->load();
  if (!loaded.ok()) {
    if (!options.readOnly || loaded.code() != Code::kFileSize) return loaded;
    oddFiles.push_back(std::move(loaded));
  }
  if (log->files().endOfFiles() > kMaxPosition) {
    return Status(Code::kLimit, "The commit log passes 2^53 bytes.").at(dir.commitLog());
  }
  queues = std::make_unique<ConsumeQueueTable>(queueOptions());
  MappedFileQueue::Options readOnly = queueOptions();
  readOnly.access = Access::kReadQuietly;
  readOnly.readMode = ReadMode::kPositional;
  lmqDirectories = std::make_unique<ConsumeQueueTable>(readOnly);
  if (!(options.readOnly && isForeign())) {
    LmqIndex::Options index;
    index.directory = dir.lmq();
    index.workDirectory = dir.work();
    index.access = files.access;
    index.readMode = files.readMode;
    lmq = std::make_unique<LmqIndex>(index, &preparer);
  }
  KeyIndex::Options index;
  LMQ_TRY(decideKeyShape(&index.shapes));
  if (options.keyIndex) {
    index.directory = dir.index();
    index.workDirectory = dir.work();
    index.shape = keyShape_;
    index.access = files.access;
    index.readMode = files.readMode;
    keys = std::make_unique<KeyIndex>(std::move(index), &preparer);
  }
  Result<LmqState> facts = LmqState::load(dir.state(), files.access);
  if (!facts.ok()) return facts.takeStatus();
  state = facts.take();
  Result<std::optional<OwnCheckpoint>> own = dir.readOwnCheckpoint();
  if (!own.ok()) return own.takeStatus();
  checkpoint = own->value_or(OwnCheckpoint{});
  return refreshBatchQueues().status();
}

Result<bool> StoreParts::refreshBatchQueues() {
  bool came = false;
  Status status = walkQueues(dir.batchConsumeQueue(), [&](const QueueDirectory& found) -> Status {
    const auto same = std::find_if(batchQueues.begin(), batchQueues.end(), [&](const auto& queue) {
      return queue->topic() == found.topic && queue->queueId() == found.queueId;
    });
    const size_t index = static_cast<size_t>(same - batchQueues.begin());
    if (same == batchQueues.end()) {
      batchQueues.push_back(
          std::make_unique<BatchConsumeQueue>(found.topic, found.queueId, found.path));
    }
    Result<bool> more = batchQueues[index]->refresh();
    if (!more.ok() && more.status().code() != Code::kFileSize) return more.takeStatus();
    came = came || (more.ok() && *more);
    return {};
  });
  if (!status.ok()) return status;
  return came;
}

bool StoreParts::isBatchTopic(std::string_view topic) const {
  return std::any_of(batchQueues.begin(), batchQueues.end(),
                     [topic](const auto& queue) { return queue->topic() == topic; });
}

}  // namespace lmq
