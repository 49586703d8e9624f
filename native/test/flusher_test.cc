// The flusher thread, what a store tells of its syncs, and what a failed one means.
#include "core/flusher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "store_fixture.h"
#include "system_calls.h"

namespace lmq {
namespace {

// Work that says that it has begun and then stays until it is let go.
class Held {
 public:
  void run(bool requested) {
    std::unique_lock<std::mutex> guard(lock_);
    runs_.push_back(requested);
    changed_.notify_all();
    changed_.wait(guard, [this] { return allowed_ >= runs_.size(); });
  }
  void awaitRun(size_t number) {
    std::unique_lock<std::mutex> guard(lock_);
    changed_.wait(guard, [&] { return runs_.size() >= number; });
  }
  void allow(size_t runs) {
    const std::lock_guard<std::mutex> guard(lock_);
    allowed_ = runs;
    changed_.notify_all();
  }
  std::vector<bool> runs() {
    const std::lock_guard<std::mutex> guard(lock_);
    return runs_;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<bool> runs_;
  size_t allowed_ = 0;
};

TEST(FlusherTest, ARequestRunsTheWorkOnItsOwnThread) {
  std::promise<std::thread::id> ran;
  Flusher flusher(kNever, [&](bool requested) {
    EXPECT_TRUE(requested);
    ran.set_value(std::this_thread::get_id());
  });
  flusher.request();
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

TEST(FlusherTest, RequestsThatComeWhileItRunsShareTheNextRun) {
  Held held;
  Flusher flusher(kNever, [&](bool requested) { held.run(requested); });
  flusher.request();
  held.awaitRun(1);
  for (int i = 0; i < 10; ++i) flusher.request();
  held.allow(2);
  held.awaitRun(2);
  flusher.stop();
  EXPECT_EQ(held.runs(), (std::vector<bool>{true, true}));
}

TEST(FlusherTest, WithoutARequestTheIntervalRunsIt) {
  std::promise<bool> ran;
  std::atomic<int> runs{0};
  Flusher flusher(1, [&](bool requested) {
    if (runs++ == 0) ran.set_value(requested);
  });
  EXPECT_FALSE(ran.get_future().get());
}

TEST(FlusherTest, StoppingWaitsForTheRunningWork) {
  Held held;
  std::atomic<bool> finished{false};
  Flusher flusher(kNever, [&](bool requested) {
    held.run(requested);
    finished = true;
  });
  flusher.request();
  held.awaitRun(1);
  std::thread letGo([&] { held.allow(1); });
  flusher.stop();
  EXPECT_TRUE(finished);
  letGo.join();
  flusher.request();  // nobody runs it any more
  flusher.stop();
  EXPECT_EQ(held.runs().size(), 1u);
}

TEST(FlusherTest, ItEndsWithoutEverHavingRun) {
  Flusher flusher(kNever, [](bool) { FAIL(); });
}

// Syncs of a store --------------------------------------------------------------------------

class SyncTest : public StoreTest {
 protected:
  SyncTest() { listener_ = watch_.listener(); }
  ~SyncTest() override { calls::meetNone(); }

  std::unique_ptr<Store> openWith(int count) {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < count; ++i) put(*store, {std::to_string(i), {"%LMQ%a"}});
    return store;
  }
  void sync(Store& store) {
    store.requestSync();
    watch_.awaitSynced(store.logEnd());
  }
  // The failure is final: nothing is accepted or synced any more, reads go on.
  void expectFailed(Store& store, int64_t synced, size_t readable) {
    EXPECT_EQ(append(store, {"more"}).status().code(), Code::kSyncFailed);
    EXPECT_EQ(store.topic("U").status().code(), Code::kSyncFailed);
    EXPECT_EQ(store.flush().code(), Code::kSyncFailed);
    store.requestSync();
    EXPECT_EQ(store.syncedPosition(), synced);
    EXPECT_EQ(messages(store).size(), readable);
    EXPECT_EQ(store.close().code(), Code::kSyncFailed);
    EXPECT_NE(modifiedAt(*this / "abort"), -1);
    EXPECT_EQ(store.close().code(), Code::kOk);  // it is closed
  }
  OwnCheckpoint checkpoint() const {
    return StoreDir(root()).readOwnCheckpoint()->value_or(OwnCheckpoint{});
  }

  SyncWatch watch_;
};

TEST_F(SyncTest, ASyncIsToldWithItsPosition) {
  std::unique_ptr<Store> store = openWith(3);
  EXPECT_EQ(store->syncedPosition(), 0);
  sync(*store);
  EXPECT_EQ(store->syncedPosition(), store->logEnd());
  EXPECT_EQ(checkpoint().logSynced, store->logEnd());
  EXPECT_EQ(checkpoint().derivedSynced, 0);  // queues and index have time
  ASSERT_TRUE(succeeded(store->flush()));
  EXPECT_EQ(checkpoint().derivedSynced, store->logEnd());
  EXPECT_EQ(checkpoint().lmqEntries, 3u);
  EXPECT_EQ(checkpoint().queueUnits, 3);
  EXPECT_FALSE(checkpoint().clean);
}

TEST_F(SyncTest, QueuesAndIndexAreSyncedWhenTheirIntervalIsOver) {
  options_.derivedInterval = 0;
  std::unique_ptr<Store> store = openWith(3);
  sync(*store);
  store->requestSync();  // told before the queues are: wait for the next
  ASSERT_TRUE(succeeded(store->close()));
  EXPECT_EQ(checkpoint().derivedSynced, store->logEnd());
}

TEST_F(SyncTest, ACloseSyncsEverythingAndSaysSo) {
  std::unique_ptr<Store> store = openWith(3);
  const int64_t end = store->logEnd();
  ASSERT_TRUE(succeeded(store->close()));
  EXPECT_TRUE(checkpoint().clean);
  EXPECT_EQ(checkpoint().logEnd, end);
  EXPECT_EQ(checkpoint().logSynced, end);
  EXPECT_EQ(modifiedAt(*this / "abort"), -1);
  const BrokerCheckpoint broker = **StoreDir(root()).readBrokerCheckpoint();
  EXPECT_EQ(broker.logicsMsgTimestamp, kClock);
  EXPECT_GT(broker.logicsPhysicalOffset, 0);
  EXPECT_LT(broker.logicsPhysicalOffset, end);
}

TEST_F(SyncTest, AStoreIsCleanOnlyWhileItIsClosed) {
  ASSERT_TRUE(succeeded(openWith(2)->close()));
  EXPECT_TRUE(checkpoint().clean);
  std::unique_ptr<Store> store = open();
  EXPECT_FALSE(checkpoint().clean);
  store.reset();
  EXPECT_FALSE(checkpoint().clean);
  ASSERT_TRUE(succeeded(open()->close()));
  EXPECT_TRUE(checkpoint().clean);
}

TEST_F(SyncTest, WithoutACloseTheAbortMarkerStays) {
  openWith(1);
  EXPECT_EQ(contentOf(*this / "abort"), std::to_string(::getpid()));
}

TEST_F(SyncTest, WhatRecoveryAcceptedIsSyncedByItself) {
  openWith(3);
  std::unique_ptr<Store> store = open();
  watch_.awaitSynced(store->logEnd());
  EXPECT_EQ(checkpoint().logSynced, store->logEnd());
}

TEST_F(SyncTest, AppendsReadsAndSyncsRunBesideEachOther) {
  std::unique_ptr<Store> store = open();
  put(*store, {"first", {"%LMQ%a"}});
  constexpr int kEach = 300;
  std::atomic<int> writing{2};
  const auto write = [&](size_t plan) {
    for (int i = 0; i < kEach; ++i) {
      const std::string names = "%LMQ%a,%LMQ%" + std::to_string(plan) + "." + std::to_string(i);
      Message message;
      message.body = "x";
      message.bornHost = message.storeHost = store->options().storeHost;
      Store::Appended at;
      if (!store->setPlan(plan, names, 2, true).ok() ||
          !store->append(0, message, static_cast<int64_t>(plan), &at).ok()) {
        std::abort();
      }
    }
    --writing;
  };
  std::thread others[] = {std::thread(write, 1), std::thread(write, 2), std::thread([&] {
                            while (writing > 0) {
                              if (!store->flush().ok()) std::abort();
                              store->requestSync();
                            }
                          })};
  while (writing > 0) {
    const Store::Page page = read(*store, lmqOf(*store, "%LMQ%a"), 0);
    EXPECT_EQ(page.rows[0].view.body(), "first");
    EXPECT_TRUE(page.damaged.empty());
  }
  for (std::thread& other : others) other.join();
  EXPECT_EQ(messages(*store, "%LMQ%a").size(), 2u * kEach + 1);
  ASSERT_TRUE(succeeded(store->close()));
  reopen(&store);
  EXPECT_EQ(store->recovery().scannedRecords, 0);
  EXPECT_EQ(messages(*store).size(), 2u * kEach + 1);
  EXPECT_EQ(store->lmqCount(), 2u * kEach + 1);
}

#ifdef __linux__

TEST_F(SyncTest, AFailedSyncIsFinal) {  // BR-015
  std::unique_ptr<Store> store = openWith(2);
  sync(*store);
  const int64_t synced = store->syncedPosition();
  put(*store, {"2"});
  calls::Met met(calls::kSync, 1);  // only one, and yet
  store->requestSync();
  const std::vector<Status> failures = watch_.awaitFailure();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].code(), Code::kSyncFailed);
  EXPECT_EQ(checkpoint().logSynced, synced);
  expectFailed(*store, synced, 3);
  store.reset();
  store = open();
  EXPECT_FALSE(store->recovery().clean);
  EXPECT_EQ(messages(*store).size(), 3u);
}

TEST_F(SyncTest, AFlushThatFailsSaysItToEveryone) {
  std::unique_ptr<Store> store = openWith(2);
  calls::Met met(calls::kSync | calls::kHere, 1);
  EXPECT_EQ(store->flush().code(), Code::kSyncFailed);
  EXPECT_EQ(watch_.awaitFailure().size(), 1u);
  expectFailed(*store, 0, 2);
}

TEST_F(SyncTest, EverySyncOfAFlushCounts) {
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    options_.path = directory_ / ("store" + std::to_string(nth));
    std::unique_ptr<Store> store = openWith(40);  // with a roll of the log
    calls::Met met(calls::kSync | calls::kWrite | calls::kHere, nth);
    const Status status = store->flush();
    if (!calls::wasMet()) {
      EXPECT_TRUE(succeeded(status));
      EXPECT_GT(nth, 8);
      break;
    }
    EXPECT_EQ(status.code(), Code::kSyncFailed);
    const OwnCheckpoint said = checkpoint();
    EXPECT_EQ(append(*store, {"x"}).status().code(), Code::kSyncFailed);
    EXPECT_LE(said.derivedSynced, said.logSynced);
    store.reset();
    store = open();
    EXPECT_EQ(messages(*store).size(), 40u);
    EXPECT_EQ(messages(*store, "%LMQ%a").size(), 40u);
  }
}

TEST_F(SyncTest, EveryCallOfACloseCounts) {  // BR-017
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    options_.path = directory_ / ("store" + std::to_string(nth));
    std::unique_ptr<Store> store = openWith(40);
    calls::Met met(calls::kAll | calls::kHere, nth);
    const Status status = store->close();
    if (!calls::wasMet()) {
      EXPECT_TRUE(succeeded(status));
      EXPECT_GT(nth, 12);
      break;
    }
    calls::meetNone();
    EXPECT_FALSE(status.ok());
    store.reset();
    store = open();
    EXPECT_EQ(messages(*store).size(), 40u);
    EXPECT_EQ(messages(*store, "%LMQ%a").size(), 40u);
  }
}

TEST_F(SyncTest, AFailedSyncOfACloseLeavesTheAbortMarker) {  // BR-017
  std::unique_ptr<Store> store = openWith(2);
  calls::Met met(calls::kSync | calls::kHere, 1);
  EXPECT_FALSE(store->close().ok());
  EXPECT_NE(modifiedAt(*this / "abort"), -1);
  EXPECT_FALSE(checkpoint().clean);
}

TEST_F(SyncTest, AFileIsSyncedWithItsDirectory) {  // BR-020
  std::unique_ptr<Store> store = openWith(1);
  sync(*store);
  while (store->logEnd() < kLogSize) put(*store, {bodyFor(500)});
  std::filesystem::rename(*this / "commitlog", *this / "moved");
  store->requestSync();
  EXPECT_EQ(watch_.awaitFailure().size(), 1u);  // its entry could not be synced
  std::filesystem::rename(*this / "moved", *this / "commitlog");
  EXPECT_LT(store->syncedPosition(), store->logEnd());
}

// A write that fails ------------------------------------------------------------------------

TEST_F(SyncTest,
       WhicheverWriteOfAnAppendFailsNothingIsLostAndNothingComesTwice) {  // BR-018, BR-021
  PositionalWrites byPosition;
  std::vector<Status> faults;
  listener_.fault = [&](const Status& status) { faults.push_back(status); };
  size_t repeated = 0;
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    options_.path = directory_ / ("store" + std::to_string(nth));
    std::unique_ptr<Store> store = openWith(15);
    faults.clear();
    Texts expected = messages(*store);
    const Put next = {"next", {"%LMQ%a", "%LMQ%b", "%LMQ%c"}};
    bool accepted = false;
    {
      calls::Met met(calls::kWrite | calls::kHere, nth);
      accepted = append(*store, next).ok();
      if (!calls::wasMet()) break;
    }
    if (accepted) expected.push_back("15:next");
    if (accepted) ++repeated;
    EXPECT_EQ(faults.size(), accepted ? 1u : 0u);
    // Before anything else the dispatch is made good.
    EXPECT_EQ(put(*store, {"last", {"%LMQ%a"}}).queueOffset, accepted ? 16 : 15);
    expected.push_back(std::to_string(expected.size()) + ":last");
    EXPECT_EQ(messages(*store), expected);
    EXPECT_EQ(messages(*store, "%LMQ%a"), expected);
    EXPECT_EQ(messages(*store, "%LMQ%c"), accepted ? Texts{"0:next"} : Texts{});
    reopen(&store);
    EXPECT_EQ(messages(*store), expected);
    EXPECT_EQ(messages(*store, "%LMQ%a"), expected);
    EXPECT_EQ(messages(*store, "%LMQ%b"), accepted ? Texts{"0:next"} : Texts{});
  }
  EXPECT_GE(repeated, 4u);
}

TEST_F(SyncTest, ADispatchThatFailedIsMadeGoodByAClose) {
  PositionalWrites byPosition;
  for (const bool fails : {false, true}) {
    options_.path = directory_ / (fails ? "store1" : "store0");
    std::unique_ptr<Store> store = openWith(2);
    {
      calls::Met met(calls::kWrite | calls::kHere, 3);  // the unit
      put(*store, {"2", {"%LMQ%a"}});
      ASSERT_TRUE(calls::wasMet());
    }
    EXPECT_EQ(messages(*store).size(), 2u);
    if (fails) {
      calls::Met met(calls::kWrite, 1, calls::Action::kFail, calls::kAlways);
      EXPECT_FALSE(store->close().ok());
    } else {
      ASSERT_TRUE(succeeded(store->close()));
    }
    reopen(&store);
    EXPECT_EQ(store->recovery().clean, !fails);
    EXPECT_EQ(messages(*store), (Texts{"0:0", "1:1", "2:2"}));
    EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"0:0", "1:1", "2:2"}));
  }
}

#endif  // __linux__

}  // namespace
}  // namespace lmq
