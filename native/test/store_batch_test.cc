// Batches: the records of single appends, one behind the other, and all of them or none.
#include <algorithm>
#include <thread>

#include "store_fixture.h"

namespace lmq {
namespace {

class BatchTest : public StoreTest, public testing::WithParamInterface<bool> {
 protected:
  BatchTest() : before_(forcePositionalWrites(GetParam())) {}
  ~BatchTest() override { forcePositionalWrites(before_); }

  // Where each went; the code of a refusal, which must have changed nothing, in `refused`.
  std::vector<Store::Appended> putBatch(Store& store, const std::vector<Put>& puts,
                                        std::string* refused = nullptr) {
    std::vector<Store::BatchMessage> batch(puts.size());
    for (size_t i = 0; i < puts.size(); ++i) {
      Message& message = batch[i].message;
      message.body = puts[i].body;
      message.sysFlag = puts[i].sysFlag;
      message.bornTimestamp = kClock;
      message.bornHost = message.storeHost = store.options().storeHost;
      if (puts[i].lmq.empty()) continue;
      batch[i].plan = std::make_unique<DispatchPlan>();
      batch[i].plan->parse(joined(puts[i].lmq), puts[i].lmq.size(), true);
    }
    const int64_t end = store.logEnd();
    const uint64_t queues = store.lmqCount();
    const Texts before = messages(store);
    const Status status = store.appendBatch(*store.topic("T"), 0, batch);
    std::vector<Store::Appended> stored;
    if (status.ok()) {
      for (const Store::BatchMessage& one : batch) stored.push_back(one.stored);
    } else {
      EXPECT_EQ(store.logEnd(), end);
      EXPECT_EQ(store.lmqCount(), queues);
      EXPECT_EQ(messages(store), before);
    }
    if (refused != nullptr)
      *refused = codeText(status.code());
    else
      EXPECT_TRUE(succeeded(status));
    return stored;
  }
  std::string refusal(Store& store, const std::vector<Put>& puts) {
    std::string refused;
    putBatch(store, puts, &refused);
    return refused;
  }
  std::string logBytes(int64_t from, size_t size) {
    return contentOf(logFile()).substr(static_cast<size_t>(from), size);
  }

 private:
  bool before_;
};

INSTANTIATE_TEST_SUITE_P(, BatchTest, testing::Values(false, true), [](const auto& info) {
  return info.param ? "ByPosition" : "WherePossibleByMap";
});

TEST_P(BatchTest, ItsRecordsAreThoseOfSingleMessages) {
  std::unique_ptr<Store> store = open();
  put(*store, {"before", {"%LMQ%a"}});
  const std::vector<Put> puts = {
      {"one", {"%LMQ%a", "%LMQ%b"}}, {""}, {"three", {"%LMQ%b", "%LMQ%c", "%LMQ%b"}}};
  const std::vector<std::vector<int64_t>> offsets = {{1, 0}, {}, {1, 0, 1}};
  const std::vector<Store::Appended> stored = putBatch(*store, puts);
  ASSERT_EQ(stored.size(), 3u);
  int64_t at = stored[0].physicalOffset;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(stored[i].physicalOffset, at);
    EXPECT_EQ(stored[i].queueOffset, static_cast<int64_t>(i) + 1);
    const Record expected = recordAt(at, stored[i].queueOffset, puts[i], offsets[i]);
    EXPECT_EQ(logBytes(at, expected.size()), std::string(expected.begin(), expected.end())) << i;
    at += static_cast<int64_t>(expected.size());
  }
  EXPECT_EQ(store->logEnd(), at);
  put(*store, {"after", {"%LMQ%b"}});
  for (int opened = 0; opened < 2; ++opened) {
    EXPECT_EQ(messages(*store), (Texts{"0:before", "1:one", "2:", "3:three", "4:after"}));
    EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"0:before", "1:one"}));
    EXPECT_EQ(messages(*store, "%LMQ%b"), (Texts{"0:one", "1:three", "2:after"}));
    EXPECT_EQ(messages(*store, "%LMQ%c"), (Texts{"0:three"}));
    reopen(&store);
  }
}

TEST_P(BatchTest, OneThatDoesNotFitTheRestOfAFileGoesToTheNext) {
  std::unique_ptr<Store> store = open();
  put(*store, {std::string(3000, 'x')});
  const std::vector<Put> puts(3, {std::string(400, 'y')});
  EXPECT_EQ(putBatch(*store, puts)[0].physicalOffset, kLogSize);
  reopen(&store);
  EXPECT_EQ(messages(*store).size(), 4u);
}

TEST_P(BatchTest, ItsUnitsGoOverSeveralFilesOfAQueue) {
  options_.defaultCommitLogSize = 1 << 20;
  std::unique_ptr<Store> store = open();
  put(*store, {"0"});
  std::vector<Put> puts;
  for (int i = 1; i <= 350; ++i) puts.push_back({std::to_string(i)});
  putBatch(*store, puts);
  put(*store, {"351"});
  EXPECT_EQ(TempDirectory::namesIn(*this / "consumequeue/T/0").size(), 4u);
  reopen(&store);
  const Texts all = messages(*store);
  ASSERT_EQ(all.size(), 352u);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i], std::to_string(i) + ":" + std::to_string(i));
}

TEST_P(BatchTest, WithoutItsFirstWordNothingOfItIsThere) {
  std::unique_ptr<Store> store = open();
  put(*store, {"before"});
  const int64_t start =
      putBatch(*store, {{"one", {"%LMQ%a"}}, {"two"}, {"three"}})[0].physicalOffset;
  store.reset();
  fill(logFile(), static_cast<uint64_t>(start), 4);  // as killed just before that was stored
  store = open();
  EXPECT_EQ(store->logEnd(), start);
  EXPECT_EQ(messages(*store), Texts{"0:before"});
  EXPECT_EQ(messages(*store, "%LMQ%a"), Texts{});
  EXPECT_EQ(put(*store, {"after", {"%LMQ%a"}}).queueOffset, 1);
  EXPECT_EQ(messages(*store, "%LMQ%a"), Texts{"0:after"});
}

TEST_P(BatchTest, AnyMessageMayRefuseItAndNothingChanges) {
  options_.maxMessageSize = 2000;
  options_.maxLmqQueues = 2;
  std::unique_ptr<Store> store = open();
  put(*store, {"before", {"%LMQ%a"}});
  const std::string half(1000, 'x');
  EXPECT_EQ(refusal(*store, {{half}, {std::string(2001, 'x')}}), "STORE_BODY_TOO_LARGE");
  EXPECT_EQ(refusal(*store, {{half}, {half}, {"x"}}), "STORE_BODY_TOO_LARGE");
  EXPECT_EQ(refusal(*store, {{half}, {half}}), "");
  EXPECT_EQ(refusal(*store, std::vector<Put>(40, {"x"})), "STORE_RECORD_TOO_LARGE");
  EXPECT_EQ(refusal(*store, {{"x", {"%LMQ%b"}}, {"y", {"%LMQ%c"}}}), "STORE_LMQ_LIMIT");
  EXPECT_EQ(refusal(*store, {{"x"}, {"y", {}, "", "T", 0, sys_flag::kPrepared}}),
            "STORE_INVALID_MESSAGE");
  EXPECT_EQ(refusal(*store, {{"x", {"%LMQ%b"}}, {"y", {"%LMQ%b"}}}), "");
  reopen(&store);
  EXPECT_EQ(messages(*store, "%LMQ%b"), (Texts{"0:x", "1:y"}));
}

TEST_P(BatchTest, NoMessagesAndTooManyAreRefused) {
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(refusal(*store, {}), "STORE_INTERNAL");
  EXPECT_EQ(refusal(*store, std::vector<Put>(Store::kMaxBatch + 1)), "STORE_INTERNAL");
  store->close().ok();
  EXPECT_EQ(
      codeText(
          store->appendBatch(0, 0, *std::make_unique<std::vector<Store::BatchMessage>>(1)).code()),
      std::string("STORE_CLOSED"));
}

// Offsets are given under the lock, one for each message of a batch (BR-044).
TEST_P(BatchTest, ThreadsThatMixBatchesAndSingleMessagesGetEachOffsetOnce) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 60;
  std::unique_ptr<Store> store = open();
  const uint32_t topic = *store->topic("T");
  ASSERT_TRUE(succeeded(store->setPlan(0, "%LMQ%a", 1, true)));
  std::vector<std::vector<int64_t>> offsets(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < kRounds; ++round) {
        if ((thread + round) % 2 == 0) {
          Message message;
          message.body = "single";
          message.bornHost = message.storeHost = store->options().storeHost;
          Store::Appended at;
          EXPECT_TRUE(succeeded(store->append(topic, message, 0, &at)));
          offsets[static_cast<size_t>(thread)].push_back(at.queueOffset);
          continue;
        }
        std::vector<Store::BatchMessage> batch(3);
        for (Store::BatchMessage& one : batch) {
          one.message.body = "batch";
          one.message.bornHost = one.message.storeHost = store->options().storeHost;
          one.plan = std::make_unique<DispatchPlan>();
          one.plan->parse("%LMQ%a", 1, true);
        }
        EXPECT_TRUE(succeeded(store->appendBatch(topic, 0, batch)));
        for (size_t i = 0; i < batch.size(); ++i) {
          EXPECT_EQ(batch[i].stored.queueOffset,
                    batch[0].stored.queueOffset + static_cast<int64_t>(i));
          offsets[static_cast<size_t>(thread)].push_back(batch[i].stored.queueOffset);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int64_t> all;
  for (const auto& some : offsets) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), static_cast<size_t>(kThreads * kRounds * 2));
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int64_t>(i));
  for (const Store::QueueRef queue : {queueOf(*store), lmqOf(*store, "%LMQ%a")}) {
    for (int64_t at = 0; at < static_cast<int64_t>(all.size()); ++at) {
      const Store::Page page = read(*store, queue, at);
      ASSERT_FALSE(page.rows.empty());
      ASSERT_EQ(page.rows[0].offset, at);
      ASSERT_EQ(page.rows[0].view.queueOffset, at);
    }
  }
}

}  // namespace
}  // namespace lmq
