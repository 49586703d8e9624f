// Processes that end at any moment: at every system call of an open, a flush and a close, and by
// SIGKILL while they append.
#include <signal.h>
#include <sys/wait.h>

#include <functional>
#include <random>

#include "foreign_directory.h"
#include "system_calls.h"

namespace lmq {
namespace {

#ifdef __linux__

class CrashTest : public StoreTest {
 protected:
  CrashTest() : memory_(memoryDirectory()) { options_.path = memory_ / "store"; }

  // Runs `life` in a child that ends at its n-th call. False if it came to its end.
  static bool endsAt(int nth, const std::function<void()>& life) {
    const pid_t child = ::fork();
    if (child == 0) {
      calls::meet(calls::kAll | calls::kHere, nth, calls::Action::kExit);
      life();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == calls::kExitCode);
    return WEXITSTATUS(status) == calls::kExitCode;
  }
  // In a child: as far as it comes.
  std::unique_ptr<Store> openQuietly() {
    Result<std::unique_ptr<Store>> opened = Store::open(options_, {});
    if (!opened.ok()) ::_exit(1);
    (*opened)->setClock(kClock);
    return opened.take();
  }
  // What is there but the marker and the lock, without times.
  static Tree contents(const std::string& root) {
    Tree tree = treeOf(root, false);
    for (const char* name : {"/abort", "/abort.tmp", "/lock"}) tree.files.erase(name);
    return tree;
  }
  // Ends `life` at each of its calls, from the same start; `check` looks at what is left.
  void endEverywhere(const std::function<void()>& life, const std::function<void()>& check) {
    const std::string start = memory_ / "start";
    copyTree(root(), start);
    const Tree before = contents(root());
    const bool aborted = modifiedAt(*this / "abort") >= 0;
    int nth = 1;
    for (; endsAt(nth, life); ++nth) {
      SCOPED_TRACE("ended at call " + std::to_string(nth));
      // Not one byte is changed before the marker is there.
      if (!aborted && modifiedAt(*this / "abort") < 0 && !(contents(root()) == before)) {
        EXPECT_TRUE(StoreDir(root()).readOwnCheckpoint()->value_or(OwnCheckpoint{}).clean)
            << "changed without a marker";
      }
      check();
      if (HasFailure()) return;
      copyTree(start, root());
    }
    EXPECT_GT(nth, 10);
    check();
  }

  static int64_t messagesIn(Store& store) {
    if (store.findQueue("T", 0) < 0) return 0;
    return boundsOf(store, queueOf(store)).max;
  }
  // Message i is number i of T and of %LMQ%all, and number i / 17 of %LMQ%<i % 17>.
  void expectNumbered(Store& store, int64_t count) {
    const auto expect = [&](Store::QueueRef queue, int64_t first, int64_t step) {
      int64_t offset = 0;
      for (int64_t i = first; i < count; i += step, ++offset) {
        const Store::Page page = read(store, queue, offset, [](auto& one) { one.maxMessages = 1; });
        ASSERT_EQ(page.rows.size(), 1u) << offset;
        const std::string_view body = page.rows[0].view.body();
        ASSERT_EQ(body.substr(0, body.find('.')), std::to_string(i));
      }
      ASSERT_EQ(boundsOf(store, queue).max, offset);
    };
    expect(queueOf(store), 0, 1);
    expect(lmqOf(store, "%LMQ%all"), 0, 1);
    for (int64_t i = 0; i < std::min<int64_t>(17, count); ++i) {
      expect(lmqOf(store, "%LMQ%" + std::to_string(i)), i, 17);
    }
  }

  TempDirectory memory_;
};

const Texts kAll = {"0:0", "1:1", "2:2", "3:3", "4:4", "5:5"};
Texts firstOf(size_t count) {
  return Texts(kAll.begin(), kAll.begin() + static_cast<int64_t>(count));
}

TEST_F(CrashTest, TheFirstOpenMayEndAnywhere) {
  std::filesystem::create_directories(root());
  endEverywhere([this] { openQuietly(); },
                [this] {
                  std::unique_ptr<Store> store = open();
                  put(*store, {"0", {"%LMQ%a"}});
                  reopen(&store);
                  EXPECT_EQ(messages(*store), firstOf(1));
                  EXPECT_EQ(messages(*store, "%LMQ%a"), firstOf(1));
                });
}

TEST_F(CrashTest, ARecoveryMayEndAnywhere) {
  {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < 6; ++i) put(*store, {std::to_string(i), {"%LMQ%a"}});
    flip(logFile(), static_cast<uint64_t>(store->logEnd() - 30));  // a torn tail
  }
  endEverywhere([this] { openQuietly(); },
                [this] {
                  std::unique_ptr<Store> store = open();
                  EXPECT_EQ(messages(*store), firstOf(5));
                  EXPECT_EQ(messages(*store, "%LMQ%a"), firstOf(5));
                  EXPECT_EQ(put(*store, {"5", {"%LMQ%a"}}).queueOffset, 5);
                  reopen(&store);
                  EXPECT_EQ(messages(*store, "%LMQ%a"), kAll);
                  const Texts cuts = TempDirectory::namesIn(*this / "cut");
                  EXPECT_FALSE(cuts.empty());  // what was cut is kept
                });
}

TEST_F(CrashTest, ARecoveryThatBuildsTheIndexAgainMayEndAnywhere) {
  {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < 6; ++i)
      put(*store, {std::to_string(i), {"%LMQ%a", "%LMQ%" + std::to_string(i)}});
    ASSERT_TRUE(succeeded(store->close()));
  }
  flip(*this / ("lmq/names/" + fileNameOf(0)), 8);
  remove("consumequeue");
  endEverywhere([this] { openQuietly(); },
                [this] {
                  std::unique_ptr<Store> store = open();
                  EXPECT_EQ(messages(*store), kAll);
                  EXPECT_EQ(messages(*store, "%LMQ%a"), kAll);
                  EXPECT_EQ(store->lmqCount(), 7u);
                });
}

TEST_F(CrashTest, ARebuildThatWasAskedForMayEndAnywhere) {
  {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < 6; ++i)
      put(*store, {std::to_string(i), {"%LMQ%a", "%LMQ%" + std::to_string(i)}});
    ASSERT_TRUE(succeeded(store->close()));
  }
  for (const bool queues : {false, true}) {
    SCOPED_TRACE(queues);
    const auto rebuild = [this, queues] {
      options_.rebuild = true;
      options_.rebuildQueues = queues;
      std::unique_ptr<Store> store = openQuietly();
      if (!store->close().ok()) ::_exit(1);
    };
    endEverywhere(rebuild, [this] {
      std::unique_ptr<Store> store = open();
      EXPECT_EQ(messages(*store), kAll);
      EXPECT_EQ(messages(*store, "%LMQ%a"), kAll);
      EXPECT_EQ(store->lmqCount(), 7u);
      EXPECT_TRUE(succeeded(store->close()));
    });
  }
}

TEST_F(CrashTest, ALifeMayEndAnywhere) {
  {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < 3; ++i) put(*store, {std::to_string(i), {"%LMQ%a"}});
    ASSERT_TRUE(succeeded(store->close()));
  }
  endEverywhere(
      [this] {
        std::unique_ptr<Store> store = openQuietly();
        for (int i = 3; i < 6; ++i) {
          if (!append(*store, {std::to_string(i), {"%LMQ%a"}}).ok()) ::_exit(1);
          if (!store->flush().ok()) ::_exit(1);
        }
        if (!store->close().ok()) ::_exit(1);
      },
      [this] {
        std::unique_ptr<Store> store = open();
        const Texts all = messages(*store);
        EXPECT_GE(all.size(), 3u);
        EXPECT_EQ(all, firstOf(all.size()));
        EXPECT_EQ(messages(*store, "%LMQ%a"), all);
      });
}

TEST_F(CrashTest, AnAdoptionMayEndAnywhere) {
  ForeignDirectory directory(root());
  std::vector<int64_t> at;
  for (int64_t i = 0; i < 6; ++i)
    at.push_back(directory.add({std::to_string(i), {"%LMQ%a"}}, i, {i + 7}));
  for (int64_t i = 0; i < 6; ++i) directory.addUnit("%LMQ%a/0", i, at[static_cast<size_t>(i)]);
  options_.adopt = true;
  endEverywhere([this] { openQuietly(); },
                [this] {
                  std::unique_ptr<Store> store = open();
                  EXPECT_EQ(messages(*store), kAll);
                  EXPECT_EQ(messages(*store, "%LMQ%a"), kAll);  // the units' numbers
                });
}

// Appends in a loop and tells every append that returned. Killed at a random count.
TEST_F(CrashTest, WhatWasAcknowledgedSurvivesAKillAtAnyCount) {
  std::mt19937 random(4711);
  int64_t known = 0;  // acknowledged so far, over all rounds
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    const int64_t until = known + std::uniform_int_distribution<int64_t>(1, 150)(random);
    const bool positional = round % 3 == 2;
    int acknowledged[2];
    ASSERT_EQ(::pipe(acknowledged), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      forcePositionalWrites(positional);
      std::unique_ptr<Store> store = openQuietly();
      for (int64_t i = messagesIn(*store);; ++i) {
        const std::string own = "%LMQ%" + std::to_string(i % 17);
        const Put next = {std::to_string(i) + std::string(static_cast<size_t>(i * 37 % 300), '.'),
                          {"%LMQ%all", own, own}};
        if (!append(*store, next).ok()) ::_exit(1);
        if (i % 23 == 0 && !store->flush().ok()) ::_exit(1);
        if (i % 7 == 0) store->requestSync();
        if (::write(acknowledged[1], &i, sizeof(i)) != sizeof(i)) ::_exit(1);
      }
    }
    ::close(acknowledged[1]);
    int64_t last = known - 1;
    while (last + 1 < until) ASSERT_EQ(::read(acknowledged[0], &last, sizeof(last)), 8);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    while (::read(acknowledged[0], &last, sizeof(last)) == 8) {
    }
    ::close(acknowledged[0]);

    std::unique_ptr<Store> store = open();
    const int64_t found = messagesIn(*store);
    ASSERT_GE(found, last + 1);
    ASSERT_LE(found, last + 2);  // the one whose acknowledgement was not sent any more
    expectNumbered(*store, found);
    known = found;
    if (round % 10 == 9) {
      ASSERT_TRUE(succeeded(store->close()));
    }
    if (HasFailure()) return;
  }
}

#endif  // __linux__

}  // namespace
}  // namespace lmq
