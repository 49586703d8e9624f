// Appending: what a message becomes, and that a refused one leaves no trace.
#include <thread>

#include "store_fixture.h"

namespace lmq {
namespace {

class AppendTest : public StoreTest, public testing::WithParamInterface<bool> {
 protected:
  AppendTest() : before_(forcePositionalWrites(GetParam())) {}
  ~AppendTest() override { forcePositionalWrites(before_); }

  // Everything that an append could change: files, positions, offsets.
  struct State {
    Tree files;
    Texts facts;
    bool operator==(const State& other) const {
      return files == other.files && facts == other.facts;
    }
  };
  State stateOf(Store& store) {
    State state;
    state.files = treeOf(root(), false);  // room ahead is made at any time
    state.facts = {std::to_string(store.logEnd()), std::to_string(store.lmqCount())};
    std::vector<Store::QueueInfo> queues;
    EXPECT_TRUE(succeeded(store.listQueues(&queues)));
    for (const Store::QueueInfo& queue : queues) {
      state.facts.push_back(queue.topic + "/" + std::to_string(queue.queueId) + " " +
                            std::to_string(queue.bounds.max));
    }
    for (uint64_t i = 0; i < store.lmqCount(); ++i) {
      state.facts.push_back("lmq " + std::to_string(boundsOf(store, {true, i}).max));
    }
    return state;
  }
  // The code of a refused append, which must have changed nothing; "" if it was accepted.
  std::string refusal(Store& store, const Put& put) {
    const State before = stateOf(store);
    const Result<Store::Appended> appended = append(store, put);
    if (appended.ok()) return "";
    const State after = stateOf(store);
    EXPECT_EQ(after.facts, before.facts);
    EXPECT_EQ(after.files, before.files);
    return codeText(appended.status().code());
  }
  std::string recordBytes(const Store::Appended& at) {
    return contentOf(logFile(at.physicalOffset - at.physicalOffset % kLogSize))
        .substr(static_cast<size_t>(at.physicalOffset % kLogSize), static_cast<size_t>(at.size));
  }

 private:
  bool before_;
};

INSTANTIATE_TEST_SUITE_P(, AppendTest, testing::Values(false, true), [](const auto& info) {
  return info.param ? "ByPosition" : "WherePossibleByMap";
});

TEST_P(AppendTest, ARecordHasExactlyTheBytesThatRecordMakes) {
  std::unique_ptr<Store> store = open();
  const Put message = {"Hello", {"%LMQ%a", "%LMQ%b"}, "TagA", "Topic", 3};
  for (int64_t i = 0; i < 3; ++i) {
    const Store::Appended at = put(*store, message);
    EXPECT_EQ(at.queueOffset, i);
    EXPECT_EQ(at.storeTimestamp, kClock);
    const Record expected = recordAt(at.physicalOffset, i, message, {i, i});
    EXPECT_EQ(recordBytes(at), std::string(expected.begin(), expected.end()));
  }
  EXPECT_EQ(contentOf(queueFile(0, "Topic/3")).substr(0, 20),
            unitBytes(0, static_cast<int32_t>(recordAt(0, 0, message, {0, 0}).size()), 2598919));
}

TEST_P(AppendTest, WithoutCrcTheRecordIsShorter) {
  options_.crcProperty = false;
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(put(*store, {bodyFor(116, false)}).size, 116);
  EXPECT_EQ(messages(*store).size(), 1u);
}

TEST_P(AppendTest, AnEmptyBodyIsAMessage) {  // BR-028
  std::unique_ptr<Store> store = open();
  put(*store, {"", {"%LMQ%a"}});
  reopen(&store);
  EXPECT_EQ(messages(*store), Texts{"0:"});
  EXPECT_EQ(messages(*store, "%LMQ%a"), Texts{"0:"});
}

TEST_P(AppendTest, ARollLeavesABlankRecordAndRaisesEveryOffsetOnce) {  // BR-043
  std::unique_ptr<Store> store = open();
  const Put message = {std::string(700, 'x'), {"%LMQ%a", "%LMQ%b", "%LMQ%a"}};
  for (int64_t i = 0; i < 20; ++i) {
    const Store::Appended at = put(*store, message);
    EXPECT_EQ(at.queueOffset, i);
    for (size_t field = 0; field < 3; ++field) EXPECT_EQ(lmqOffset(*store, field), i);
    EXPECT_LE(at.physicalOffset % kLogSize + at.size + 8, kLogSize);
  }
  EXPECT_GT(store->logEnd(), 3 * kLogSize);
  EXPECT_EQ(messages(*store, "%LMQ%a").size(), 20u);
  EXPECT_EQ(messages(*store, "%LMQ%b").size(), 20u);
  reopen(&store);
  EXPECT_EQ(messages(*store, "%LMQ%a").size(), 20u);
  put(*store, message);
  EXPECT_EQ(lmqOffset(*store), 20);
}

TEST_P(AppendTest, QueuesRollToTheirNextFile) {
  std::unique_ptr<Store> store = open();
  for (int i = 0; i < 101; ++i) put(*store, {std::to_string(i)});
  EXPECT_EQ(TempDirectory::namesIn(*this / "consumequeue/T/0").size(), 2u);
  const Texts all = messages(*store);
  EXPECT_EQ(all.size(), 101u);
  EXPECT_EQ(all.back(), "100:100");
}

TEST_P(AppendTest, PreparedAndRolledBackMessagesTakeNoOffset) {  // spec 6.1, Q19
  std::unique_ptr<Store> store = open();
  const int32_t kinds[] = {0, sys_flag::kPrepared, sys_flag::kCommit, sys_flag::kRollback, 0};
  const int64_t offsets[] = {0, 0, 1, 0, 2};
  for (int i = 0; i < 5; ++i) {
    Put message = {std::to_string(i), {"%LMQ%a"}};
    message.sysFlag = kinds[i];
    const Store::Appended at = put(*store, message);
    EXPECT_EQ(at.queueOffset, offsets[i]) << i;
    const bool given = recordBytes(at).find("INNER_MULTI_QUEUE_OFFSET") != std::string::npos;
    EXPECT_EQ(given, sys_flag::isQueued(kinds[i])) << i;
  }
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(messages(*store), (Texts{"0:0", "1:2", "2:4"}));
    EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"0:0", "1:2", "2:4"}));
    reopen(&store);
  }
}

TEST_P(AppendTest, APreparedMessageMakesNoQueue) {
  std::unique_ptr<Store> store = open();
  put(*store, {"x", {"%LMQ%a"}, "", "T", 0, sys_flag::kPrepared});
  EXPECT_EQ(store->lmqCount(), 0u);
  std::vector<Store::QueueInfo> queues;
  ASSERT_TRUE(succeeded(store->listQueues(&queues)));
  EXPECT_TRUE(queues.empty());
}

TEST_P(AppendTest, TimeNeverGoesBack) {  // spec Q52
  std::unique_ptr<Store> store = open();
  const int64_t clocks[] = {kClock + 50, kClock, 0, kClock + 51};
  const int64_t stamps[] = {kClock + 50, kClock + 50, kClock + 50, kClock + 51};
  for (int i = 0; i < 4; ++i) {
    store->setClock(clocks[i]);
    EXPECT_EQ(put(*store, {"x"}).storeTimestamp, stamps[i]);
  }
  ASSERT_TRUE(succeeded(store->close()));
  for (const bool close : {true, false}) {
    reopen(&store);
    store->setClock(0);
    EXPECT_EQ(put(*store, {"x"}).storeTimestamp, kClock + 51);
    if (close) {
      ASSERT_TRUE(succeeded(store->close()));
    }
  }
}

TEST_P(AppendTest, ThreadsThatShareALightQueueGetEveryOffsetOnce) {  // BR-038
  options_.defaultCommitLogSize = 64 * 1024;
  std::unique_ptr<Store> store = open();
  constexpr int kEach = 400;
  const Result<uint32_t> topic = store->topic("T");
  ASSERT_TRUE(succeeded(store->setPlan(1, "%LMQ%x", 1, true)));
  const auto work = [&](int32_t queueId) {
    for (int i = 0; i < kEach; ++i) {
      Message message;
      message.body = "x";
      message.queueId = queueId;
      message.bornHost = message.storeHost = store->options().storeHost;
      Store::Appended at;
      if (!store->append(*topic, message, 1, &at).ok()) std::abort();
    }
  };
  std::thread others[] = {std::thread(work, 0), std::thread(work, 1), std::thread(work, 2)};
  for (std::thread& other : others) other.join();
  const Texts all = messages(*store, "%LMQ%x");
  ASSERT_EQ(all.size(), 3u * kEach);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], std::to_string(i) + ":x");
  for (int32_t id = 0; id < 3; ++id) EXPECT_EQ(messages(*store, "T", id).size(), size_t{kEach});
}

// Refusals ----------------------------------------------------------------------------------

TEST_P(AppendTest, EveryLimitRefusesAndChangesNothing) {
  options_.maxMessageSize = 2000;
  options_.maxLmqQueues = 3;
  std::unique_ptr<Store> store = open();
  put(*store, {std::string(1500, 'x'), {"%LMQ%a", "%LMQ%b"}});
  const std::string longName = "%LMQ%" + std::string(240, 'x');
  const struct {
    const char* code;
    Put put;
  } cases[] = {
      {"STORE_BODY_TOO_LARGE", {std::string(2001, 'x'), {"%LMQ%a", "%LMQ%new"}}},
      {"STORE_PROPERTIES_TOO_LARGE", {"x", {"%LMQ%a"}, std::string(32768, 't')}},
      {"STORE_PROPERTIES_TOO_LARGE", {"x", Texts(140, longName)}},
      {"STORE_LMQ_LIMIT", {"x", {"%LMQ%a", "%LMQ%c", "%LMQ%d"}}},
      {"STORE_RECORD_TOO_LARGE", {"x", {"%LMQ%new"}, std::string(4000, 't')}},
      {"STORE_INTERNAL", {"x", {"%LMQ%a"}, "", "T", -1}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.code);
    EXPECT_EQ(refusal(*store, one.put), one.code);
  }
  EXPECT_EQ(refusal(*store, {"x", {"%LMQ%a", "%LMQ%c"}}), "");  // as many as allowed
  EXPECT_EQ(lmqOffset(*store, 0), 1);
  EXPECT_EQ(refusal(*store, {"x", {"%LMQ%d"}}), "STORE_LMQ_LIMIT");
  EXPECT_EQ(refusal(*store, {"x", {"%LMQ%c"}}), "");
  EXPECT_EQ(lmqOffset(*store, 0), 1);
}

TEST_P(AppendTest, ARecordThatNoFileCanHoldIsRefusedAndMakesNoFile) {  // BR-027
  std::unique_ptr<Store> store = open();
  const size_t most = kLogSize - record::kBlankSize;
  EXPECT_EQ(refusal(*store, {bodyFor(most + 1)}), "STORE_RECORD_TOO_LARGE");
  EXPECT_EQ(TempDirectory::namesIn(*this / "commitlog"), Texts{});
  EXPECT_EQ(put(*store, {bodyFor(most)}).size, static_cast<int64_t>(most));
  EXPECT_EQ(refusal(*store, {bodyFor(most + 1)}), "STORE_RECORD_TOO_LARGE");
  EXPECT_EQ(put(*store, {bodyFor(most)}).physicalOffset, kLogSize);
  EXPECT_EQ(messages(*store).size(), 2u);
}

TEST_P(AppendTest, WhereNoRoomCanBeMadeNothingChangesAndLaterItGoesOn) {  // BR-021
  std::unique_ptr<Store> store = open();
  put(*store, {"one", {"%LMQ%a"}});
  writeFile(*this / "consumequeue/U", "in the way");  // of the topic's directory
  const int64_t end = store->logEnd();
  const Put blocked = {"two", {"%LMQ%a", "%LMQ%b"}, "", "U"};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(refusal(*store, blocked), "STORE_NOT_FOUND");
  EXPECT_EQ(store->logEnd(), end);
  remove("consumequeue/U");
  EXPECT_EQ(put(*store, blocked).queueOffset, 0);
  EXPECT_EQ(lmqOffset(*store, 0), 1);
  EXPECT_EQ(lmqOffset(*store, 1), 0);
  reopen(&store);
  EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"0:one", "1:two"}));
}

TEST_P(AppendTest, ARefusalAtARollLeavesTheOldFileInUse) {
  std::unique_ptr<Store> store = open();
  put(*store, {bodyFor(3500)});
  writeFile(*this / "consumequeue/U", "in the way");
  const int64_t end = store->logEnd();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(append(*store, {bodyFor(1000), {"%LMQ%a"}, "", "U"}).ok());
    EXPECT_EQ(store->logEnd(), end);
  }
  EXPECT_EQ(put(*store, {bodyFor(200)}).physicalOffset, 3500);
  EXPECT_EQ(put(*store, {bodyFor(1000)}).physicalOffset, kLogSize);
  reopen(&store);
  EXPECT_EQ(messages(*store).size(), 3u);
  EXPECT_EQ(store->lmqCount(), 0u);
}

TEST_P(AppendTest, ACleanCloseAfterARefusalAtARollLosesNothing) {
  {
    std::unique_ptr<Store> store = open();
    put(*store, {bodyFor(3500)});
    writeFile(*this / "consumequeue/U", "in the way");
    EXPECT_FALSE(append(*store, {bodyFor(1000), {}, "", "U"}).ok());
    remove("consumequeue/U");
    ASSERT_TRUE(succeeded(store->close()));
  }
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(put(*store, {bodyFor(200)}).physicalOffset, 3500);
  EXPECT_EQ(messages(*store).size(), 2u);
}

TEST_P(AppendTest, TopicsThatCannotNameAQueueAreRefused) {
  std::unique_ptr<Store> store = open();
  const Tree before = treeOf(root());
  for (const std::string& topic :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"),
        std::string("a\0b", 3), std::string(256, 'a'), std::string("%LMQ%a")}) {
    EXPECT_EQ(store->topic(topic).status().code(), Code::kInvalidTopic) << topic;
  }
  EXPECT_EQ(treeOf(root()), before);
  EXPECT_EQ(put(*store, {"x", {}, "", std::string(255, 'a')}).queueOffset, 0);
}

TEST_P(AppendTest, NumbersThatNothingBelongsToAreRefused) {
  std::unique_ptr<Store> store = open();
  Message message;
  message.body = "x";
  Store::Appended at;
  EXPECT_EQ(store->append(0, message, -1, &at).code(), Code::kInternal);
  ASSERT_TRUE(store->topic("T").ok());
  EXPECT_EQ(store->append(1, message, -1, &at).code(), Code::kInternal);
  EXPECT_EQ(store->append(0, message, 7, &at).code(), Code::kInternal);
  EXPECT_EQ(store->append(0, message, Store::kPlanSlots, &at).code(), Code::kInternal);
  EXPECT_EQ(store->setPlan(Store::kPlanSlots, "%LMQ%a", 1, true).code(), Code::kInternal);
  EXPECT_EQ(store->logEnd(), 0);
}

TEST_P(AppendTest, AClosedStoreRefuses) {
  std::unique_ptr<Store> store = open();
  put(*store, {"x"});
  ASSERT_TRUE(succeeded(store->close()));
  ASSERT_TRUE(succeeded(store->close()));
  EXPECT_EQ(append(*store, {"x"}).status().code(), Code::kClosed);
  EXPECT_EQ(store->flush().code(), Code::kClosed);
  Store::Bounds bounds;
  EXPECT_EQ(store->bounds({false, 0}, &bounds).code(), Code::kClosed);
  store->requestSync();
}

TEST_P(AppendTest, AFullDiskRefusesAndFreedSpaceIsUsedAgain) {  // BR-019, BR-073
  SmallDisk disk("size=56m");  // the index takes its place sparsely
  if (!disk.isMounted()) GTEST_SKIP() << "needs the right to mount";
  options_.path = disk / "store";
  options_.defaultCommitLogSize = 1 << 20;
  std::unique_ptr<Store> store = open();
  Result<File> ballast = File::create(disk / "ballast");
  ASSERT_TRUE(ballast.ok());
  for (uint64_t at = 0, step = 1 << 20; step >= 4096;) {  // all but nothing is left
    if (ballast->writeAt(at, std::string(step, 'x').data(), step).ok())
      at += step;
    else
      step /= 2;
  }
  std::string code;
  int64_t kept = 0;
  while ((code = refusal(*store, {std::string(3000, 'x'), {"%LMQ%a"}})) == "") ++kept;
  EXPECT_EQ(code, "STORE_DISK_FULL");
  ASSERT_TRUE(succeeded(removeFile(disk / "ballast")));
  { File closed = ballast.take(); }
  EXPECT_EQ(put(*store, {"next", {"%LMQ%a"}}).queueOffset, kept);
  EXPECT_EQ(lmqOffset(*store), kept);
  reopen(&store);
  EXPECT_EQ(messages(*store).size(), static_cast<size_t>(kept + 1));
}

}  // namespace
}  // namespace lmq
