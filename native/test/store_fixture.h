// A store of small files in a directory of its own, and ways to look at its files and to harm them.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/bytes.h"
#include "core/crc32.h"
#include "core/store.h"
#include "record_fixture.h"
#include "temp_directory.h"

namespace lmq {

inline constexpr int64_t kLogSize = 4096;
inline constexpr uint64_t kQueueSize = 2000;  // 100 units
inline constexpr int64_t kClock = 1700000000000;
inline constexpr int64_t kNever = 24 * 60 * 60 * 1000;  // ms: no test waits for an interval

using Texts = std::vector<std::string>;
using Record = record::Bytes;

// A directory tree as it stands: any change of a name, a length, a byte or a time shows.
struct Tree {
  std::map<std::string, std::string> files;
  bool operator==(const Tree& other) const { return files == other.files; }
};
inline void PrintTo(const Tree& tree, std::ostream* out) {
  for (const auto& [name, facts] : tree.files) *out << "\n  " << name << " " << facts;
}

inline uint32_t checksumOf(const std::string& path, uint64_t size) {
  Result<File> file = File::open(path, Access::kReadQuietly);
  EXPECT_TRUE(succeeded(file.status()));
  uint32_t sum = 0;
  std::vector<uint8_t> block(256 * 1024);
  for (uint64_t at = 0; at < size;) {  // holes are passed over: index files are large and sparse
    at = *file->findNonZero(at, size);
    if (at == size) break;
    const size_t count = std::min<uint64_t>(block.size(), size - at);
    EXPECT_TRUE(succeeded(file->readAt(at, block.data(), count)));
    uint8_t place[8];
    store<uint64_t>(place, at);
    sum = crc32(crc32(sum, place, sizeof(place)), block.data(), count);
    at += count;
  }
  return sum;
}

inline Tree treeOf(const std::string& root, bool times = true) {
  Tree tree;
  const auto take = [&](const std::filesystem::path& path, bool isDirectory, uint64_t size) {
    tree.files[path.string().substr(root.size())] =
        (times ? std::to_string(modifiedAt(path)) : "") +
        (isDirectory ? " directory"
                     : " " + std::to_string(size) + " bytes " +
                           std::to_string(checksumOf(path.string(), size)));
  };
  take(root, true, 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    take(entry.path(), entry.is_directory(), entry.is_directory() ? 0 : entry.file_size());
  }
  return tree;
}

inline void writeAt(const std::string& path, uint64_t at, const void* data, size_t size) {
  Result<File> file = File::open(path, Access::kWrite);
  ASSERT_TRUE(succeeded(file.status()));
  ASSERT_TRUE(succeeded(file->writeAt(at, data, size)));
}
inline void fill(const std::string& path, uint64_t at, uint64_t size, char byte = '\0') {
  const std::string bytes(size, byte);
  writeAt(path, at, bytes.data(), bytes.size());
}
inline void flip(const std::string& path, uint64_t at) {
  uint8_t byte = 0;
  Result<File> file = File::open(path, Access::kRead);
  ASSERT_TRUE(succeeded(file.status()));
  ASSERT_TRUE(succeeded(file->readAt(at, &byte, 1)));
  byte ^= 0x20;
  writeAt(path, at, &byte, 1);
}

// Everything that is not zero; holes stay holes.
inline void copyFile(const std::string& from, const std::string& to, uint64_t size) {
  Result<File> source = File::open(from, Access::kRead);
  Result<File> target = File::create(to);
  ASSERT_TRUE(succeeded(source.status()));
  ASSERT_TRUE(succeeded(target.status()));
  ASSERT_TRUE(succeeded(target->resize(size)));
  std::vector<uint8_t> block(64 * 1024);
  for (uint64_t at = 0; (at = *source->findNonZero(at, size)) < size;) {
    const size_t count = std::min<uint64_t>(block.size(), size - at);
    ASSERT_TRUE(succeeded(source->readAt(at, block.data(), count)));
    ASSERT_TRUE(succeeded(target->writeAt(at, block.data(), count)));
    at += count;
  }
}
// Makes `to` what `from` is.
inline void copyTree(const std::string& from, const std::string& to) {
  std::filesystem::remove_all(to);
  std::filesystem::create_directories(to);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(from)) {
    const std::string path = to + entry.path().string().substr(from.size());
    if (entry.is_directory()) {
      std::filesystem::create_directories(path);
    } else {
      copyFile(entry.path().string(), path, entry.file_size());
    }
  }
}

// A consume queue's unit, as spec 5.1 has it.
inline std::string unitBytes(int64_t physicalOffset, int32_t size, int64_t tagsCode = 0) {
  uint8_t bytes[20];
  store<int64_t>(bytes, physicalOffset);
  store<int32_t>(bytes + 8, size);
  store<int64_t>(bytes + 12, tagsCode);
  return std::string(reinterpret_cast<const char*>(bytes), sizeof(bytes));
}

inline StoreOptions smallOptions(const std::string& path) {
  StoreOptions options;
  options.path = path;
  options.defaultCommitLogSize = kLogSize;
  options.defaultConsumeQueueSize = kQueueSize;
  options.defaultIndexSlots = 50;
  options.defaultIndexEntries = 1000;
  options.maxMessageSize = record::kMaxMessageSize;
  options.flushInterval = options.derivedInterval = kNever;
  options.checkBufferCap = 64 * 1024;
  options.delayLevels = {1000, 5000};
  options.storeHost = record::ipv4(127, 0, 0, 1, 10911);
  return options;
}

// One message, with what most tests do not care about filled in.
struct Put {
  std::string body;
  Texts lmq = {};
  std::string tags = "";
  std::string topic = "T";
  int32_t queueId = 0;
  int32_t sysFlag = 0;
};

inline std::string joined(const Texts& names) {
  std::string all;
  for (const std::string& name : names) all += (&name == names.data() ? "" : ",") + name;
  return all;
}

inline Result<Store::Appended> append(Store& store, const Put& put) {
  Result<uint32_t> topic = store.topic(put.topic);
  if (!topic.ok()) return topic.takeStatus();
  Message message;
  const std::string tags = put.tags.empty() ? "" : "TAGS\1" + put.tags + "\2";
  message.body = put.body;
  message.propertiesHead = tags;
  message.queueId = put.queueId;
  message.sysFlag = put.sysFlag;
  message.bornTimestamp = kClock;
  message.bornHost = message.storeHost = store.options().storeHost;
  if (!put.lmq.empty()) LMQ_TRY(store.setPlan(0, joined(put.lmq), put.lmq.size(), true));
  Store::Appended appended;
  LMQ_TRY(store.append(*topic, message, put.lmq.empty() ? -1 : 0, &appended));
  return appended;
}

// The body that makes a record of topic T without light queues and properties `size` bytes long.
inline std::string bodyFor(size_t size, bool crc = true) {
  return std::string(size - record::kMinSize - 1 - (crc ? record::kCrcPropertySize : 0), 'b');
}

// A record as another program would write it. With `names`, `offsets` belong to them.
inline Record recordAt(int64_t physicalOffset, int64_t queueOffset, const Put& put,
                       const std::vector<int64_t>& offsets = {}, int64_t timestamp = kClock) {
  Message message;
  const std::string tags = put.tags.empty() ? "" : "TAGS\1" + put.tags + "\2";
  message.topic = put.topic;
  message.body = put.body;
  message.propertiesHead = tags;
  message.queueId = put.queueId;
  message.sysFlag = put.sysFlag;
  message.bornTimestamp = timestamp;
  message.bornHost = message.storeHost = record::ipv4(127, 0, 0, 1, 10911);
  const std::string names = joined(put.lmq);
  const record::DispatchPart part{names, offsets.data(), offsets.size(), !offsets.empty()};
  return record::build(message, true, {queueOffset, physicalOffset, timestamp}, part);
}

class StoreTest : public testing::Test {
 protected:
  StoreTest() : options_(smallOptions(directory_ / "store")) {}

  std::string root() const { return options_.path; }
  std::string operator/(const std::string& name) const { return root() + "/" + name; }
  std::string logFile(int64_t base = 0) const {
    return *this / ("commitlog/" + fileNameOf(static_cast<uint64_t>(base)));
  }
  std::string queueFile(int64_t base = 0, const std::string& queue = "T/0") const {
    return *this / ("consumequeue/" + queue + "/" + fileNameOf(static_cast<uint64_t>(base)));
  }

  void remove(const std::string& name) const { std::filesystem::remove_all(*this / name); }

  std::unique_ptr<Store> tryOpen(Status* status) {
    Result<std::unique_ptr<Store>> opened = Store::open(options_, listener_);
    *status = opened.status();
    if (!opened.ok()) return nullptr;
    (*opened)->setClock(kClock);
    return opened.take();
  }
  std::unique_ptr<Store> open() {
    Status status;
    std::unique_ptr<Store> store = tryOpen(&status);
    EXPECT_TRUE(succeeded(status));
    if (store == nullptr) throw std::runtime_error("no store");  // ends the test, not the program
    return store;
  }
  // After an open: until what recovery accepted is on the device.
  static void settle(Store& store) {
    while (store.syncedPosition() < store.logEnd()) std::this_thread::yield();
  }
  void reopen(std::unique_ptr<Store>* store) {  // as after a kill
    store->reset();
    *store = open();
  }
  std::unique_ptr<Store> openReader() {
    StoreOptions given = options_;
    options_.readOnly = true;
    std::unique_ptr<Store> reader = open();
    options_ = given;
    return reader;
  }
  // The code of a refused open, which must have changed nothing at all; "" if it was not refused.
  std::string refusal(Status* status = nullptr) {
    const Tree before = treeOf(root());
    Status given;
    if (status == nullptr) status = &given;
    if (tryOpen(status) != nullptr) return "";
    EXPECT_EQ(treeOf(root()), before);
    return codeText(status->code());
  }

  static Store::Appended put(Store& store, const Put& message) {
    Result<Store::Appended> appended = append(store, message);
    EXPECT_TRUE(succeeded(appended.status()));
    return appended.ok() ? *appended : Store::Appended{-1, -1, -1, -1};
  }
  static int64_t lmqOffset(Store& store, size_t field = 0) {
    return store.plan(0).fieldOffset(field);
  }

  // One read; the records lie in page_.
  Store::Page read(Store& store, Store::QueueRef queue, int64_t from,
                   const std::function<void(Store::ReadRequest&)>& more = {}) {
    Store::ReadRequest request;
    request.queue = queue;
    request.from = from;
    request.maxBytes = 1 << 20;
    page_.resize(std::max<size_t>(page_.size(), 1 << 20));
    request.page = page_.data();
    request.pageSize = page_.size();
    if (more) more(request);
    Store::Page page;
    EXPECT_TRUE(succeeded(store.read(request, &page)));
    return page;
  }
  static Store::QueueRef queueOf(Store& store, const std::string& topic = "T",
                                 int32_t queueId = 0) {
    const int64_t number = store.findQueue(topic, queueId);
    EXPECT_GE(number, 0) << topic;
    return {false, static_cast<uint64_t>(std::max<int64_t>(number, 0))};
  }
  static Store::QueueRef lmqOf(Store& store, const std::string& name) {
    const int64_t number = store.findLmq(name);
    EXPECT_GE(number, 0) << name;
    return {true, static_cast<uint64_t>(std::max<int64_t>(number, 0))};
  }
  static Store::Bounds boundsOf(Store& store, Store::QueueRef queue) {
    Store::Bounds bounds;
    EXPECT_TRUE(succeeded(store.bounds(queue, &bounds)));
    return bounds;
  }
  // "offset:body" of every message, "offset!" of a damaged one.
  Texts messages(Store& store, Store::QueueRef queue) {
    Texts all;
    const Store::Bounds bounds = boundsOf(store, queue);
    for (int64_t at = bounds.min; at < bounds.max;) {
      const Store::Page page = read(store, queue, at);
      for (const Store::Row& row : page.rows) {
        all.push_back(std::to_string(row.offset) + ":" + std::string(row.view.body()));
      }
      for (const auto& one : page.damaged) all.push_back(std::to_string(one.offset) + "!");
      if (page.nextOffset <= at) break;
      at = page.nextOffset;
    }
    return all;
  }
  Texts messages(Store& store, const std::string& topic = "T", int32_t queueId = 0) {
    const bool lmq = topic.starts_with(kLmqPrefix);
    if (!lmq && store.findQueue(topic, queueId) < 0) return {};
    if (lmq && store.findLmq(topic) < 0) return {};
    return messages(store, lmq ? lmqOf(store, topic) : queueOf(store, topic, queueId));
  }

  TempDirectory directory_;
  StoreOptions options_;
  StoreListener listener_;
  std::vector<uint8_t> page_;
};

// Waits, without a clock, for what the flusher tells.
class SyncWatch {
 public:
  StoreListener listener() {
    StoreListener listener;
    listener.synced = [this](int64_t position) { tell([&] { synced_ = position; }); };
    listener.syncFailed = [this](const Status& status) {
      tell([&] { failures_.push_back(status); });
    };
    return listener;
  }
  void awaitSynced(int64_t position) {
    std::unique_lock<std::mutex> guard(lock_);
    told_.wait(guard, [&] { return synced_ >= position; });
  }
  std::vector<Status> awaitFailure() {
    std::unique_lock<std::mutex> guard(lock_);
    told_.wait(guard, [&] { return !failures_.empty(); });
    return failures_;
  }

 private:
  void tell(const std::function<void()>& change) {
    const std::lock_guard<std::mutex> guard(lock_);
    change();
    told_.notify_all();
  }

  std::mutex lock_;
  std::condition_variable told_;
  int64_t synced_ = -1;
  std::vector<Status> failures_;
};

}  // namespace lmq
