#include "core/preparer.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace lmq {
namespace {

// A task that says that it has begun and then stays until it is let go.
struct Held {
  std::promise<void> begun;
  std::promise<void> let;
  std::function<void()> task() {
    return [this] {
      begun.set_value();
      let.get_future().wait();
    };
  }
};

TEST(PreparerTest, TasksRunInTheirOrderOnOneThread) {
  std::vector<int> order;
  std::promise<void> done;
  Preparer preparer;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(preparer.post(&order, [&order, i] { order.push_back(i); }));
  }
  preparer.post(&order, [&done] { done.set_value(); });
  done.get_future().wait();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(PreparerTest, CancelDropsTheTasksOfItsOwnerOnly) {
  Held held;
  const int kept = 0;
  const int dropped = 0;
  std::atomic<int> ran{0};
  std::promise<void> done;
  Preparer preparer;  // last, so that it ends before what its tasks use
  preparer.post(&kept, held.task());
  held.begun.get_future().wait();
  preparer.post(&dropped, [&ran] { ran += 100; });
  preparer.post(&kept, [&ran] { ran += 1; });
  preparer.cancel(&dropped);
  held.let.set_value();
  preparer.post(&kept, [&done] { done.set_value(); });
  done.get_future().wait();
  EXPECT_EQ(ran, 1);
}

TEST(PreparerTest, CancelWaitsForTheRunningTask) {
  Held held;
  const int owner = 0;
  std::atomic<bool> finished{false};
  Preparer preparer;  // last, so that it ends before what its tasks use
  preparer.post(&owner, [&] {
    held.task()();
    finished = true;
  });
  held.begun.get_future().wait();
  std::thread letGo([&held] { held.let.set_value(); });
  preparer.cancel(&owner);
  EXPECT_TRUE(finished);
  letGo.join();
}

TEST(PreparerTest, CancelDoesNotWaitForTheTaskOfAnother) {
  Held held;
  const int running = 0;
  const int other = 0;
  Preparer preparer;  // last, so that it ends before what its tasks use
  preparer.post(&running, held.task());
  held.begun.get_future().wait();
  preparer.cancel(&other);  // would wait for ever
  held.let.set_value();
}

TEST(PreparerTest, WhatACancelledTaskHeldIsReleased) {
  Preparer preparer;
  const int owner = 0;
  const auto held = std::make_shared<int>(1);
  preparer.post(&owner, [held] {});
  preparer.cancel(&owner);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(PreparerTest, TheEndWaitsForTheRunningTaskAndDropsTheOthers) {
  Held held;
  std::atomic<int> ran{0};
  std::thread letGo;
  {
    Preparer preparer;
    const int owner = 0;
    preparer.post(&owner, [&] {
      held.task()();
      ran += 1;
    });
    held.begun.get_future().wait();
    letGo = std::thread([&held] { held.let.set_value(); });
  }
  letGo.join();
  EXPECT_EQ(ran, 1);
}

TEST(PreparerTest, CancelWithoutAnyTaskReturns) {
  Preparer preparer;
  preparer.cancel(&preparer);
}

TEST(PreparerTest, SignalsAreLeftToTheApplication) {
  Preparer preparer;
  std::promise<bool> blocked;
  preparer.post(&preparer, [&blocked] {
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked.set_value(::sigismember(&mask, SIGTERM) == 1);
  });
  EXPECT_TRUE(blocked.get_future().get());
}

}  // namespace
}  // namespace lmq
