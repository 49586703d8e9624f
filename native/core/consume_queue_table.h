// The topic queues of a store: consumequeue/<topic>/<queue id>/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "consume_queue.h"
#include "status.h"

namespace lmq {

inline constexpr std::string_view kLmqPrefix = "%LMQ%";

// A directory that can be a queue: …/<topic>/<queue id>.
struct QueueDirectory {
  std::string topic;
  int32_t queueId;
  std::string path;
};
// Calls `visit` for each below `directory`.
Status walkQueues(const std::string& directory,
                  const std::function<Status(const QueueDirectory&)>& visit);

class ConsumeQueueTable {
 public:
  // Options of every queue; the directory is completed with topic and queue id.
  explicit ConsumeQueueTable(MappedFileQueue::Options options) : options_(std::move(options)) {}

  // Removes the files of those topics' queues that have one whose length is not `size`.
  static Status removeOdd(const std::string& directory, uint64_t size);
  // The length of the queue files below `directory`; 0 if there is none. kFileSize if two differ.
  // With `topicsOnly` directories of light queues are passed over.
  static Result<uint64_t> findFileSize(const std::string& directory, bool topicsOnly = false);

  // Loads every queue that lies in the directory. `lmqDirectories`: the %LMQ%… ones, else the
  // others. Names that are no queue are passed over.
  Status load(bool dense, bool lmqDirectories);
  // A reader looks for new queues and new units. True if anything came.
  Result<bool> refresh(bool lmqDirectories);

  // A number for a topic, for as long as the store is open. Creates no queue.
  uint32_t topic(std::string_view name);
  const std::string& topicName(uint32_t topic) const { return topics_[topic].name; }
  // Java's hash of the name, with which those of its keys begin.
  int32_t topicHash(uint32_t topic) const { return topics_[topic].hash; }
  uint32_t topicCount() const { return static_cast<uint32_t>(topics_.size()); }

  ConsumeQueue* find(uint32_t topic, int32_t queueId) const {
    const Topic& row = topics_[topic];
    if (static_cast<uint32_t>(queueId) < row.low.size())
      return row.low[static_cast<size_t>(queueId)];
    return findHigh(row, queueId);
  }
  int64_t find(std::string_view topic, int32_t queueId) const;  // its index in all(), or -1
  // find() or create(); kNoMemory if memory is refused.
  Result<ConsumeQueue*> findOrCreate(uint32_t topic, int32_t queueId);
  // Makes the object; its directory comes with its first unit. nullptr if memory is refused.
  ConsumeQueue* create(uint32_t topic, int32_t queueId);

  // One past the last offset, over all queues.
  int64_t unitCount() const;

  const std::vector<std::unique_ptr<ConsumeQueue>>& all() const { return queues_; }

 private:
  // Queues with low ids are found by index, others in a map.
  static constexpr int32_t kLowIds = 64;
  struct Topic {
    std::string name;
    int32_t hash;
    std::vector<ConsumeQueue*> low;
    std::unordered_map<int32_t, ConsumeQueue*> high;
  };
  static ConsumeQueue* findHigh(const Topic& row, int32_t queueId);

  struct NameHash {
    using is_transparent = void;  // a lookup by string_view makes no string
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };

  MappedFileQueue::Options options_;
  std::vector<Topic> topics_;
  std::unordered_map<std::string, uint32_t, NameHash, std::equal_to<>> byName_;
  std::vector<std::unique_ptr<ConsumeQueue>> queues_;
  std::unordered_map<const ConsumeQueue*, int64_t> indexes_;
};

}  // namespace lmq
