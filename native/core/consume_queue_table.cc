#include "consume_queue_table.h"

#include <algorithm>
#include <charconv>
#include <new>

#include "record.h"

namespace lmq {

namespace {

// A queue id as a directory name: decimal, without a sign.
int32_t queueIdOf(const std::string& name) {
  int32_t id = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  return error == std::errc() && end == name.data() + name.size() && id >= 0 ? id : -1;
}

bool isLmqDirectory(const std::string& topic) { return topic.starts_with(kLmqPrefix); }

}  // namespace

Status walkQueues(const std::string& directory,
                  const std::function<Status(const QueueDirectory&)>& visit) {
  const Result<FileInfo> info = inspect(directory);
  if (!info.ok()) return info.status();
  if (!(*info).exists) return {};
  const Result<std::vector<DirectoryEntry>> topics = list(directory);
  if (!topics.ok()) return topics.status();
  for (const DirectoryEntry& topic : *topics) {
    if (!topic.isDirectory) continue;
    const std::string path = directory + "/" + topic.name;
    const Result<std::vector<DirectoryEntry>> queues = list(path);
    if (!queues.ok()) return queues.status();
    for (const DirectoryEntry& queue : *queues) {
      const int32_t id = queue.isDirectory ? queueIdOf(queue.name) : -1;
      if (id >= 0) LMQ_TRY(visit({topic.name, id, path + "/" + queue.name}));
    }
  }
  return {};
}

Result<uint64_t> ConsumeQueueTable::findFileSize(const std::string& directory, bool topicsOnly) {
  uint64_t size = 0;
  Status broken;  // a file that cannot be one, whatever the others are
  Status status = walkQueues(directory, [&](const QueueDirectory& found) -> Status {
    if (topicsOnly && isLmqDirectory(found.topic)) return {};
    const Result<std::vector<DirectoryEntry>> files = list(found.path);
    if (!files.ok()) return files.status();
    for (const DirectoryEntry& file : *files) {
      if (file.isDirectory || file.size == 0 || baseOfFileName(file.name) < 0) continue;
      const auto odd = [&](const char* what) {
        return Status(Code::kFileSize, what)
            .at(found.path + "/" + file.name)
            .offset(static_cast<int64_t>(file.size));
      };
      if (file.size % ConsumeQueue::kUnitSize != 0) {
        if (broken.ok()) broken = odd("A consume queue file does not hold whole units.");
        continue;
      }
      if (size == 0) size = file.size;
      if (file.size == size) continue;
      return odd("Two consume queue files differ in length.").limit(static_cast<int64_t>(size));
    }
    return {};
  });
  if (!status.ok()) return status;
  if (broken.ok()) return size;
  return size == 0 ? std::move(broken) : std::move(broken).limit(static_cast<int64_t>(size));
}

Status ConsumeQueueTable::removeOdd(const std::string& directory, uint64_t size) {
  return walkQueues(directory, [&](const QueueDirectory& found) -> Status {
    if (isLmqDirectory(found.topic)) return {};
    Result<std::vector<DirectoryEntry>> files = list(found.path);
    if (!files.ok()) return files.takeStatus();
    std::erase_if(*files, [](const DirectoryEntry& file) {
      return file.isDirectory || baseOfFileName(file.name) < 0;
    });
    const auto odd = [&](const DirectoryEntry& file) { return file.size != size; };
    if (std::none_of(files->begin(), files->end(), odd)) return {};
    for (const DirectoryEntry& file : *files) LMQ_TRY(removeFile(found.path + "/" + file.name));
    return syncDirectory(found.path);
  });
}

Status ConsumeQueueTable::load(bool dense, bool lmqDirectories) {
  return walkQueues(options_.directory, [&](const QueueDirectory& found) -> Status {
    if (isLmqDirectory(found.topic) != lmqDirectories) return {};
    const Result<ConsumeQueue*> queue = findOrCreate(topic(found.topic), found.queueId);
    return queue.ok() ? (*queue)->load(dense) : queue.status();
  });
}

Result<bool> ConsumeQueueTable::refresh(bool lmqDirectories) {
  bool came = false;
  Status status = walkQueues(options_.directory, [&](const QueueDirectory& found) -> Status {
    if (isLmqDirectory(found.topic) != lmqDirectories) return {};
    const size_t known = queues_.size();
    const Result<ConsumeQueue*> queue = findOrCreate(topic(found.topic), found.queueId);
    if (!queue.ok()) return queue.status();
    const Result<bool> more = (*queue)->refresh();
    if (!more.ok()) return more.status();
    came = came || *more || queues_.size() > known;
    return {};
  });
  if (!status.ok()) return status;
  return came;
}

uint32_t ConsumeQueueTable::topic(std::string_view name) {
  const auto known = byName_.find(name);
  if (known != byName_.end()) return known->second;
  const uint32_t number = topicCount();
  topics_.push_back({std::string(name), record::javaHash(name), {}, {}});
  byName_.emplace(name, number);
  return number;
}

ConsumeQueue* ConsumeQueueTable::findHigh(const Topic& row, int32_t queueId) {
  const auto found = row.high.find(queueId);
  return found == row.high.end() ? nullptr : found->second;
}

int64_t ConsumeQueueTable::find(std::string_view topic, int32_t queueId) const {
  const auto row = byName_.find(topic);
  if (row == byName_.end()) return -1;
  const ConsumeQueue* queue = find(row->second, queueId);
  return queue == nullptr ? -1 : indexes_.at(queue);
}

Result<ConsumeQueue*> ConsumeQueueTable::findOrCreate(uint32_t topic, int32_t queueId) {
  ConsumeQueue* queue = find(topic, queueId);
  if (queue == nullptr) queue = create(topic, queueId);
  if (queue != nullptr) return queue;
  return Status(Code::kNoMemory, "No memory for a queue.")
      .at(options_.directory + "/" + topicName(topic) + "/" + std::to_string(queueId));
}

ConsumeQueue* ConsumeQueueTable::create(uint32_t topic, int32_t queueId) try {
  Topic& row = topics_[topic];
  MappedFileQueue::Options options = options_;
  options.directory += "/" + row.name + "/" + std::to_string(queueId);
  auto queue = std::make_unique<ConsumeQueue>(row.name, queueId, std::move(options));
  ConsumeQueue* raw = queue.get();
  queues_.push_back(std::move(queue));
  indexes_[raw] = static_cast<int64_t>(queues_.size()) - 1;
  if (queueId < kLowIds) {
    if (row.low.size() <= static_cast<size_t>(queueId))
      row.low.resize(static_cast<size_t>(queueId) + 1);
    row.low[static_cast<size_t>(queueId)] = raw;
  } else {
    row.high[queueId] = raw;
  }
  return raw;
} catch (const std::bad_alloc&) {
  return nullptr;
}

int64_t ConsumeQueueTable::unitCount() const {
  int64_t count = 0;
  for (const auto& queue : queues_) count += queue->maxOffset();
  return count;
}

}  // namespace lmq
