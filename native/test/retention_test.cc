// Retention: which files go and which stay, what is kept of them first, and processes and disks
// that end in the middle of it.
#include <sys/wait.h>

#include "store_fixture.h"
#include "system_calls.h"

namespace lmq {
namespace {

class RetentionTest : public StoreTest {
 protected:
  // `count` messages of 1 KiB, three a file, stored at 1000, 1001, …; every tenth also in
  // %LMQ%<i / 10>, all in %LMQ%a.
  std::unique_ptr<Store> openWith(int count) {
    std::unique_ptr<Store> store = open();
    fill(*store, 0, count);
    return store;
  }
  static void fill(Store& store, int from, int to) {
    for (int i = from; i < to; ++i) {
      store.setClock(1000 + i);
      Put message{std::to_string(i) + std::string(1000, '.'), {"%LMQ%a"}};
      if (i % 10 == 0) message.lmq.push_back("%LMQ%" + std::to_string(i / 10));
      put(store, message);
    }
  }
  Store::Retained retained(Store& store, const RetentionRequest& request, Code code = Code::kOk) {
    Store::Retained out;
    EXPECT_EQ(store.retain(request, &out).code(), code);
    return out;
  }
  int64_t below(Store& store, int64_t offset) {
    RetentionRequest request;
    request.beforeOffset = offset;
    return retained(store, request).expired.logMin;
  }
  int64_t older(Store& store, int64_t time) {
    RetentionRequest request;
    request.beforeTime = time;
    return retained(store, request).expired.logMin;
  }
  std::vector<std::string> logFiles() const { return TempDirectory::namesIn(*this / "commitlog"); }
  std::vector<std::string> queueFiles() const {
    return TempDirectory::namesIn(*this / "consumequeue/T/0");
  }
  // Messages [first, count) and nothing else, with the offsets that they always had.
  void expectFrom(Store& store, int first, int count) {
    for (const std::string queue : {"T", "%LMQ%a"}) {
      const Texts all = messages(store, queue);
      ASSERT_EQ(all.size(), static_cast<size_t>(count - first)) << queue;
      for (int i = first; i < count; ++i) {
        const std::string start = std::to_string(i) + ":" + std::to_string(i) + ".";
        ASSERT_EQ(all[static_cast<size_t>(i - first)].substr(0, start.size()), start) << queue;
      }
    }
    for (int i = 0; i < count; i += 10) {
      const Store::Bounds bounds = boundsOf(store, lmqOf(store, "%LMQ%" + std::to_string(i / 10)));
      ASSERT_EQ(bounds.max, 1) << i;
      ASSERT_EQ(bounds.min, i < first ? 1 : 0) << i;
    }
  }
};

TEST_F(RetentionTest, FilesThatEndAtOrBelowAnOffsetGo) {
  std::unique_ptr<Store> store = openWith(12);
  const std::pair<int64_t, int64_t> steps[] = {{INT64_MIN, 0},
                                               {-1, 0},
                                               {0, 0},
                                               {kLogSize - 1, 0},
                                               {kLogSize, kLogSize},
                                               {kLogSize - 1, kLogSize},
                                               {2 * kLogSize - 1, kLogSize},
                                               {2 * kLogSize + 1, 2 * kLogSize},
                                               {INT64_MAX, 3 * kLogSize}};
  for (const auto& [asked, left] : steps) {
    EXPECT_EQ(below(*store, asked), left) << asked;
    EXPECT_EQ(store->logMin(), left) << asked;
    // Queues and index of what is gone are on the device.
    const OwnCheckpoint own = StoreDir(root()).readOwnCheckpoint()->value_or(OwnCheckpoint{});
    EXPECT_GE(own.derivedSynced, left) << asked;
    expectFrom(*store, static_cast<int>(left / kLogSize) * 3, 12);
  }
  EXPECT_EQ(logFiles(), std::vector<std::string>{fileNameOf(3 * kLogSize)});
  reopen(&store);
  expectFrom(*store, 9, 12);
}

TEST_F(RetentionTest, AFileGoesWhenAllOfItIsOlder) {
  std::unique_ptr<Store> store = openWith(12);
  const std::pair<int64_t, int64_t> steps[] = {{0, 0},    {1002, 0}, {1003, 0},     {1004, 1},
                                               {1006, 1}, {1007, 2}, {INT64_MAX, 3}};
  for (const auto& [time, files] : steps) {
    EXPECT_EQ(older(*store, time), files * kLogSize) << time;
  }
  RetentionRequest nothing;
  EXPECT_TRUE(retained(*store, nothing).expired.files.empty());
}

TEST_F(RetentionTest, AFileWhoseFirstRecordIsDamagedTellsNoTime) {
  std::unique_ptr<Store> store = openWith(12);
  ASSERT_TRUE(succeeded(store->flush()));
  lmq::fill(logFile(kLogSize), 4, 4);
  // Of file 0 only the third tells that all of it is older.
  EXPECT_EQ(older(*store, 1004), 0);
  EXPECT_EQ(older(*store, 1007), 2 * kLogSize);
}

TEST_F(RetentionTest, QueueFilesFollowAndTheLastStays) {
  options_.defaultConsumeQueueSize = 100;  // five units
  std::unique_ptr<Store> store = openWith(24);
  EXPECT_EQ(queueFiles().size(), 5u);
  below(*store, 3 * kLogSize);  // 9 is the first
  EXPECT_EQ(queueFiles().front(), fileNameOf(100));
  below(*store, 4 * kLogSize);  // 12
  EXPECT_EQ(queueFiles().front(), fileNameOf(200));
  below(*store, INT64_MAX);
  EXPECT_EQ(queueFiles().size(), 1u);
  expectFrom(*store, 21, 24);
  fill(*store, 24, 30);
  reopen(&store);
  expectFrom(*store, 21, 30);
}

TEST_F(RetentionTest, AQueueWithoutMessagesGoesOnCounting) {
  std::unique_ptr<Store> store = open();
  put(*store, {std::string(1000, 'x'), {"%LMQ%gone"}, "", "Gone"});
  fill(*store, 0, 6);
  EXPECT_EQ(below(*store, kLogSize), kLogSize);
  const auto check = [&] {
    EXPECT_EQ(boundsOf(*store, queueOf(*store, "Gone")).min, 1);
    EXPECT_EQ(boundsOf(*store, queueOf(*store, "Gone")).max, 1);
    EXPECT_EQ(boundsOf(*store, lmqOf(*store, "%LMQ%gone")).max, 1);
  };
  check();
  store.reset();
  remove("lmq");
  store = open();
  check();
  put(*store, {"again", {"%LMQ%gone"}, "", "Gone"});
  EXPECT_EQ(lmqOffset(*store), 1);
}

TEST_F(RetentionTest, ASizeDeletesTheOldestAndNeverMoreThanItMust) {
  options_.maxStoreBytes = 4 * kLogSize;
  options_.deleteOldest = true;
  SyncWatch watch;
  listener_ = watch.listener();
  std::unique_ptr<Store> store = openWith(3 * 20);
  for (int tries = 0; tries < 100; ++tries) ASSERT_TRUE(succeeded(store->flush()));
  EXPECT_LE(logFiles().size(), 5u);
  EXPECT_GE(logFiles().size(), 3u);
  expectFrom(*store, static_cast<int>(store->logMin() / kLogSize) * 3, 60);
}

TEST_F(RetentionTest, EndsAreWholeFiles) {
  std::unique_ptr<Store> store = openWith(12);
  const StoreParts& parts = store->parts();
  const std::pair<uint64_t, int64_t> sizes[] = {{0, 3},
                                                {1, 3},
                                                {kLogSize, 3},
                                                {kLogSize + 1, 3},
                                                {2 * kLogSize - 1, 3},
                                                {2 * kLogSize, 2},
                                                {3 * kLogSize, 1},
                                                {4 * kLogSize - 1, 1},
                                                {4 * kLogSize, 0},
                                                {uint64_t{1} << 62, 0}};
  for (const auto& [kept, files] : sizes) {
    EXPECT_EQ(endOfSurplus(parts, kept), files * kLogSize) << kept;
  }
  EXPECT_EQ(endOfBelow(parts, INT64_MAX), 3 * kLogSize);
  EXPECT_EQ(endOfBelow(parts, INT64_MIN), 0);
}

TEST_F(RetentionTest, ADeviceThatIsTooFullRefusesEveryWriteUntilItIsNot) {
  std::unique_ptr<Store> store = openWith(12);
  RetentionRequest request;
  request.fullPercent = 101;  // never
  EXPECT_GE(retained(*store, request).usedPercent, 0);
  put(*store, {"fits"});
  // As if: the device is used, but for what nobody uses.
  request.fullPercent = 1;
  if (retained(*store, request).usedPercent <= 1) GTEST_SKIP() << "the device is empty";
  EXPECT_EQ(append(*store, {"x"}).status().code(), Code::kDiskFull);
  std::vector<Store::BatchMessage> batch(1);
  EXPECT_EQ(store->appendBatch(*store->topic("T"), 0, batch).code(), Code::kDiskFull);
  EXPECT_EQ(logFiles().size(), 4u);  // full is no reason to delete
  request.fullPercent = 0;
  request.cleanPercent = 1;
  EXPECT_EQ(retained(*store, request).expired.logMin, 3 * kLogSize);
  put(*store, {"fits"});
}

TEST_F(RetentionTest, AMissingFileInTheMiddleIsNoObstacle) {
  std::unique_ptr<Store> store = openWith(15);
  ASSERT_TRUE(succeeded(store->close()));
  store.reset();
  remove("commitlog/" + fileNameOf(kLogSize));
  Status status;
  store = tryOpen(&status);
  if (store == nullptr) return;  // it says so, and nothing is lost
  below(*store, 3 * kLogSize);
  EXPECT_GE(store->logMin(), 3 * kLogSize);
}

TEST_F(RetentionTest, AClosedStoreAndAReaderKeepTheirFiles) {
  std::unique_ptr<Store> store = openWith(12);
  std::unique_ptr<Store> reader = openReader();
  RetentionRequest request;
  request.beforeOffset = INT64_MAX;
  Store::Retained out;
  EXPECT_EQ(reader->retain(request, &out).code(), Code::kReadOnly);
  ASSERT_TRUE(succeeded(store->close()));
  EXPECT_EQ(store->retain(request, &out).code(), Code::kClosed);
  EXPECT_EQ(logFiles().size(), 4u);
}

#ifdef __linux__

// The process ends at each call of a deletion; whoever opens next has every message that is left
// in the log, and every offset goes on.
TEST_F(RetentionTest, AnyMomentMayBeTheLast) {
  const TempDirectory memory(memoryDirectory());
  options_.path = memory / "store";
  options_.defaultConsumeQueueSize = 100;
  openWith(24).reset();
  const std::string start = memory / "start";
  copyTree(root(), start);
  int ended = 0;
  for (int nth = 1;; ++nth) {
    const pid_t child = ::fork();
    if (child == 0) {
      Result<std::unique_ptr<Store>> opened = Store::open(options_, {});
      if (!opened.ok()) ::_exit(1);
      calls::meet(calls::kAll | calls::kHere, nth, calls::Action::kExit);
      RetentionRequest request;
      request.beforeOffset = 4 * kLogSize;
      Store::Retained out;
      ::_exit((*opened)->retain(request, &out).ok() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_NE(WEXITSTATUS(status), 1);
    SCOPED_TRACE("ended at call " + std::to_string(nth));
    for (const bool indexIsLost : {false, true}) {
      if (indexIsLost) remove("lmq");
      std::unique_ptr<Store> store = open();
      EXPECT_EQ(store->logMin() % kLogSize, 0);
      expectFrom(*store, static_cast<int>(store->logMin() / kLogSize) * 3, 24);
      if (HasFatalFailure()) return;
    }
    if (WEXITSTATUS(status) == 0) break;
    ++ended;
    copyTree(start, root());
  }
  EXPECT_GT(ended, 10);
  EXPECT_EQ(logFiles().size(), 4u);
}

TEST_F(RetentionTest, ACallThatFailsLosesNothingAndIsMadeUpFor) {
  for (int nth = 1;; ++nth) {
    remove("");
    std::unique_ptr<Store> store = openWith(12);
    RetentionRequest request;
    request.beforeOffset = 2 * kLogSize;
    Store::Retained out;
    bool met = false;
    {
      const calls::Met fails(calls::kAll | calls::kHere, nth);
      const Status status = store->retain(request, &out);
      met = calls::wasMet();
      if (!met) {
        EXPECT_TRUE(succeeded(status));
      }
    }
    SCOPED_TRACE("failed at call " + std::to_string(nth));
    EXPECT_TRUE(store->logMin() == 0 || store->logMin() == 2 * kLogSize);
    expectFrom(*store, static_cast<int>(store->logMin() / kLogSize) * 3, 12);
    reopen(&store);
    expectFrom(*store, static_cast<int>(store->logMin() / kLogSize) * 3, 12);
    below(*store, 3 * kLogSize);
    EXPECT_EQ(logFiles().size(), 1u);
    expectFrom(*store, 9, 12);
    if (HasFatalFailure() || !met) return;
  }
}

#endif  // __linux__

}  // namespace
}  // namespace lmq
