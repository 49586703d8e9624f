// All threads that a store may meet at once, for the thread sanitizer above all: one appends,
// others read, search, commit, verify and delete, while the flusher syncs without a pause.
#include <atomic>
#include <thread>

#include "core/store_verify.h"
#include "store_fixture.h"

namespace lmq {
namespace {

constexpr int kMessages = 3000;

class ThreadsTest : public StoreTest {
 protected:
  ThreadsTest() : memory_(memoryDirectory()) {
    options_.path = memory_ / "store";
    options_.defaultConsumeQueueSize = 400;
    options_.defaultIndexSlots = 50;
    options_.defaultIndexEntries = 200;
    options_.flushInterval = options_.derivedInterval = 1;
    options_.prepareAhead = 1024;
  }

  void start(const std::function<void(int turn)>& work) {
    threads_.emplace_back([this, work] {
      for (int turn = 0; !done_; ++turn) work(turn);
    });
  }
  void join() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  static Result<Store::Appended> appendOne(Store& store, int number) {
    const std::string keys = "KEYS\1k" + std::to_string(number % 10) + "\2";
    Message message;
    const std::string body = std::to_string(number);
    message.body = body;
    message.propertiesHead = keys;
    message.bornTimestamp = kClock;
    message.bornHost = message.storeHost = store.options().storeHost;
    const std::string names = "%LMQ%a,%LMQ%" + std::to_string(number % 50);
    LMQ_TRY(store.setPlan(0, names, 2, true));
    Result<uint32_t> topic = store.topic("T");
    if (!topic.ok()) return topic.takeStatus();
    Store::Appended appended;
    LMQ_TRY(store.append(*topic, message, 0, &appended));
    return appended;
  }
  // Every message that it gives has the number of its offset.
  static void readSome(Store& store, Store::QueueRef queue, int64_t* from,
                       std::vector<uint8_t>& bytes) {
    Store::Page page;
    Store::ReadRequest request;
    request.queue = queue;
    request.from = *from;
    request.maxBytes = bytes.size();
    request.page = bytes.data();
    request.pageSize = bytes.size();
    ASSERT_TRUE(succeeded(store.read(request, &page)));
    for (const Store::Row& row : page.rows) {
      ASSERT_EQ(row.view.body(), std::to_string(row.offset));
    }
    ASSERT_TRUE(page.damaged.empty());
    *from = page.nextOffset;
  }

  const TempDirectory memory_;
  std::atomic<bool> done_{false};
  std::vector<std::thread> threads_;
};

TEST_F(ThreadsTest, AllAtOnce) {
  std::atomic<int64_t> told{0};
  listener_.expired = [&](const Expired& expired) { told += expired.bytes; };
  listener_.synced = [&](int64_t) {};
  std::unique_ptr<Store> store = open();
  ASSERT_TRUE(succeeded(appendOne(*store, 0).status()));
  const Store::QueueRef topic = queueOf(*store);
  const Store::QueueRef light = lmqOf(*store, "%LMQ%a");
  for (const Store::QueueRef queue : {topic, light}) {
    auto from = std::make_shared<int64_t>(0);
    auto bytes = std::make_shared<std::vector<uint8_t>>(1 << 16);
    start([&store, queue, from, bytes](int) { readSome(*store, queue, from.get(), *bytes); });
  }
  start([&](int turn) {
    int64_t offset = 0;
    EXPECT_TRUE(succeeded(store->offsetAt(topic, kClock, Store::Bound::kLower, &offset)));
    Store::Times times;
    EXPECT_TRUE(succeeded(store->timesOf(light, &times)));
    EXPECT_TRUE(succeeded(store->earliestTime(&offset)));
    KeyIndex::Search search;
    search.hash = KeyIndex::hashOf("T", "k" + std::to_string(turn % 10));
    search.end = INT64_MAX;
    std::vector<int64_t> found;
    while (!search.done) ASSERT_TRUE(succeeded(store->findByKey(&search, &found)));
    std::vector<std::string> names;
    uint64_t cursor = 0;
    store->listLmqs("", &cursor, 100, &names);
    std::vector<Store::QueueInfo> queues;
    EXPECT_TRUE(succeeded(store->listQueues(&queues)));
  });
  start([&](int turn) {
    Store::Bounds bounds;
    ASSERT_TRUE(succeeded(store->bounds(topic, &bounds)));
    EXPECT_LE(bounds.min, bounds.max);
    const std::string group = "g" + std::to_string(turn % 5);
    EXPECT_TRUE(succeeded(store->commitOffset(group, "T", 0, bounds.max)));
    EXPECT_EQ(store->offsets().committed(group, "T", 0), bounds.max);
    EXPECT_FALSE(store->offsets().groups().empty());
  });
  start([&](int turn) {
    RetentionRequest request;
    request.fullPercent = 101;
    if (turn % 2 == 0) request.beforeOffset = store->logEnd() - 6 * kLogSize;
    Store::Retained out;
    EXPECT_TRUE(succeeded(store->retain(request, &out)));
  });
  start([&](int) {
    StoreVerify verify(*store);
    StoreVerify::Progress progress;
    while (!progress.done) ASSERT_TRUE(succeeded(verify.step(&progress)));
  });
  start([&](int turn) {
    if (turn % 3 == 0) {
      EXPECT_TRUE(succeeded(store->flush()));
    }
    store->requestSync();
  });
  for (int i = 1; i < kMessages; ++i) ASSERT_TRUE(succeeded(appendOne(*store, i).status())) << i;
  join();
  EXPECT_EQ(told, store->logMin());
  EXPECT_EQ(boundsOf(*store, topic).max, kMessages);
  reopen(&store);
  int64_t from = boundsOf(*store, queueOf(*store)).min;
  std::vector<uint8_t> bytes(1 << 16);
  while (from < kMessages) readSome(*store, queueOf(*store), &from, bytes);
  EXPECT_EQ(from, kMessages);
  // No group is ahead, and those that committed are known.
  for (int group = 0; group < 5; ++group) {
    EXPECT_LE(store->offsets().committed("g" + std::to_string(group), "T", 0), kMessages);
  }
}

// A reader of its own beside the writer, its files expiring under it.
TEST_F(ThreadsTest, AReaderBesideAWriterThatDeletes) {
  options_.maxStoreBytes = 4 * kLogSize;
  options_.deleteOldest = true;
  std::unique_ptr<Store> store = open();
  ASSERT_TRUE(succeeded(appendOne(*store, 0).status()));
  ASSERT_TRUE(succeeded(store->flush()));
  std::unique_ptr<Store> reader = openReader();
  std::vector<uint8_t> bytes(1 << 16);
  int64_t from = 0;
  start([&](int) {
    ASSERT_TRUE(succeeded(reader->refresh().status()));
    readSome(*reader, queueOf(*reader), &from, bytes);
  });
  for (int i = 1; i < kMessages; ++i) ASSERT_TRUE(succeeded(appendOne(*store, i).status())) << i;
  join();
  ASSERT_TRUE(succeeded(store->flush()));
  ASSERT_TRUE(succeeded(reader->refresh().status()));
  while (from < kMessages) {
    const int64_t before = from;
    readSome(*reader, queueOf(*reader), &from, bytes);
    ASSERT_GT(from, before);
  }
}

}  // namespace
}  // namespace lmq
