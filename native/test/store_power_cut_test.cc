// Power cuts at random moments: what was said to be on the device is there, in every queue; what
// was not may be, as a prefix.
#include "power_cut.h"
#include "store_fixture.h"

namespace lmq {
namespace {

#ifdef __linux__

class PowerCutTest : public StoreTest, public testing::WithParamInterface<int> {
 protected:
  PowerCutTest() : memory_(memoryDirectory()), random_(static_cast<unsigned>(GetParam())) {
    listener_ = watch_.listener();
    options_.defaultConsumeQueueSize = 200;
    forcePositionalWrites(GetParam() % 3 == 2);
  }
  ~PowerCutTest() override { forcePositionalWrites(false); }

  int64_t upTo(int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random_); }

  // What the store was told, in the order of the log.
  struct Sent {
    std::string body;
    int64_t end;
    Texts queues;
  };

  void live(std::unique_ptr<Store>* store) {
    for (int64_t left = upTo(60); left > 0; --left) {
      switch (upTo(12)) {
        case 0:
          (*store)->requestSync();
          break;
        case 1:
          ASSERT_TRUE(succeeded((*store)->flush()));
          break;
        case 2:
          if (upTo(3) > 0) break;
          if (upTo(1) > 0) {
            ASSERT_TRUE(succeeded((*store)->close()));
          }
          acknowledged_ = std::max(acknowledged_, (*store)->syncedPosition());
          reopen(store);
          break;
        default:
          send(**store);
      }
    }
    acknowledged_ = std::max(acknowledged_, (*store)->syncedPosition());
  }
  void send(Store& store) {
    const std::string number = std::to_string(next_++);
    Put message = {number + std::string(static_cast<size_t>(upTo(400)), '.'),
                   {},
                   "",
                   "T" + std::to_string(upTo(2))};
    for (int64_t i = upTo(3); i > 0; --i) message.lmq.push_back("%LMQ%" + std::to_string(upTo(5)));
    const Store::Appended at = put(store, message);
    Sent sent = {message.body, at.physicalOffset + at.size, {message.topic}};
    for (const std::string& name : message.lmq) {
      if (std::find(sent.queues.begin(), sent.queues.end(), name) == sent.queues.end()) {
        sent.queues.push_back(name);
      }
    }
    sent_.push_back(sent);
  }
  // Every queue holds exactly the messages that are left, at the offsets they had.
  void expectLeft(Store& store) {
    while (!sent_.empty() && sent_.back().end > store.logEnd()) sent_.pop_back();
    // Or a file was ended for a record that is lost.
    const int64_t end = sent_.empty() ? 0 : sent_.back().end;
    EXPECT_TRUE(end == store.logEnd() || end + kLogSize - end % kLogSize == store.logEnd());
    std::map<std::string, Texts> expected;
    for (const Sent& one : sent_) {
      for (const std::string& queue : one.queues) {
        Texts& all = expected[queue];
        all.push_back(std::to_string(all.size()) + ":" + one.body);
      }
    }
    for (const char* queue :
         {"T0", "T1", "T2", "%LMQ%0", "%LMQ%1", "%LMQ%2", "%LMQ%3", "%LMQ%4", "%LMQ%5"}) {
      EXPECT_EQ(messages(store, queue), expected[queue]) << queue;
    }
  }

  TempDirectory memory_;
  std::mt19937 random_;
  SyncWatch watch_;
  PowerCut power_;
  std::vector<Sent> sent_;
  int64_t acknowledged_ = 0;
  int64_t next_ = 0;
};

INSTANTIATE_TEST_SUITE_P(, PowerCutTest, testing::Range(0, 12));

TEST_P(PowerCutTest, WhatWasSyncedIsThereAndTheRestIsAPrefix) {
  options_.path = memory_ / "store";
  std::filesystem::create_directories(root());
  power_.begin(root());
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    std::unique_ptr<Store> store = open();
    expectLeft(*store);
    live(&store);
    const int luck[] = {0, 50, 90, 100};
    const std::string left = memory_ / ("left" + std::to_string(round));
    power_.leave(left, random_, luck[upTo(3)]);
    store.reset();
    std::filesystem::remove_all(root());
    options_.path = left;
    power_.begin(root());
    store = open();
    ASSERT_GE(store->logEnd(), acknowledged_);
    expectLeft(*store);
    if (HasFailure()) return;
    acknowledged_ = 0;
  }
}

#endif  // __linux__

}  // namespace
}  // namespace lmq
