// Reading: every status and next offset of RocketMQ's getMessage (spec 7.1), limits and filters.
#include "store_read_fixture.h"

namespace lmq {
namespace {

TEST_F(ReadTest, EveryPlaceHasItsStatusAndNextOffset) {  // spec 7.1
  options_.hotBytes = 1 << 20;
  std::unique_ptr<Store> store = openWith(40);
  for (const Store::QueueRef queue : {queueOf(*store), lmqOf(*store, "%LMQ%a")}) {
    EXPECT_EQ(answer(*store, queue, -1), "OFFSET_TOO_SMALL next 0");
    EXPECT_EQ(answer(*store, queue, 0, atMost(3)), "FOUND 0 1 2 next 3");
    EXPECT_EQ(answer(*store, queue, 38), "FOUND 38 39 next 40");
    EXPECT_EQ(answer(*store, queue, 40), "OFFSET_OVERFLOW_ONE next 40");
    EXPECT_EQ(answer(*store, queue, 41), "OFFSET_OVERFLOW_BADLY next 40");
    EXPECT_EQ(answer(*store, queue, INT64_MAX), "OFFSET_OVERFLOW_BADLY next 40");
    EXPECT_EQ(answer(*store, queue, INT64_MIN), "OFFSET_TOO_SMALL next 0");
    answer(*store, queue, 0);
    EXPECT_EQ(last_.rows.size(), 32u);
    answer(*store, queue, 0, atMost(100));
    EXPECT_EQ(last_.rows.size(), 32u);  // hotCount
    EXPECT_EQ(last_.bounds.min, 0);
    EXPECT_EQ(last_.bounds.max, 40);
  }
}

TEST_F(ReadTest, UnknownQueuesAreUnknownAndNotMade) {  // spec Q51
  std::unique_ptr<Store> store = openWith(1);
  const Tree before = treeOf(root(), false);
  EXPECT_EQ(store->findQueue("T", 1), -1);
  EXPECT_EQ(store->findQueue("U", 0), -1);
  EXPECT_EQ(store->findLmq("%LMQ%b"), -1);
  EXPECT_EQ(store->findLmq("a"), -1);
  Store::Bounds bounds;
  EXPECT_EQ(store->bounds({false, 1}, &bounds).code(), Code::kInternal);
  EXPECT_EQ(store->bounds({true, 1}, &bounds).code(), Code::kInternal);
  EXPECT_EQ(treeOf(root(), false), before);
}

TEST_F(ReadTest, AQueueWithoutMessagesSaysSo) {
  std::unique_ptr<Store> store = openWith(0);
  put(*store, {"x", {}, "", "T", 0, sys_flag::kPrepared});
  writeFile(*this / "consumequeue/T", "in the way");
  EXPECT_FALSE(append(*store, {"x"}).ok());  // the queue's object exists now
  EXPECT_EQ(answer(*store, queueOf(*store), 0), "NO_MESSAGE_IN_QUEUE next 0");
  EXPECT_EQ(answer(*store, queueOf(*store), 5), "NO_MESSAGE_IN_QUEUE next 0");
}

TEST_F(ReadTest, TheRecordsOfAPageLieOneBehindTheOther) {
  std::unique_ptr<Store> store = openWith(5);
  const Store::Page page = read(*store, queueOf(*store), 1);
  size_t at = 0;
  for (const Store::Row& row : page.rows) {
    EXPECT_EQ(row.start, at);
    EXPECT_EQ(row.view.data, page_.data() + at);
    EXPECT_EQ(row.view.body(), std::to_string(row.offset));
    EXPECT_EQ(row.view.queueOffset, row.offset);
    at += row.view.size;
  }
  EXPECT_EQ(page.bytes, at);
}

// Limits ------------------------------------------------------------------------------------

TEST_F(ReadTest, TheFirstMessageIsAlwaysGiven) {  // spec Q53
  std::unique_ptr<Store> store = openWith(5);
  const Store::QueueRef queue = queueOf(*store);
  EXPECT_EQ(answer(*store, queue, 2, atMost(0)), "FOUND 2 next 3");
  EXPECT_EQ(answer(*store, queue, 2, [](auto& request) { request.maxBytes = 1; }),
            "FOUND 2 next 3");
  EXPECT_EQ(answer(*store, queue, 2, [](auto& request) { request.maxBytes = 0; }),
            "FOUND 2 next 3");
}

TEST_F(ReadTest, BytesLimitAPage) {
  std::unique_ptr<Store> store = open();
  for (int i = 0; i < 10; ++i) put(*store, {bodyFor(200)});
  const Store::QueueRef queue = queueOf(*store);
  for (const size_t bytes : {size_t{599}, size_t{600}, size_t{601}}) {
    answer(*store, queue, 0, [&](auto& request) { request.maxBytes = bytes; });
    EXPECT_EQ(last_.rows.size(), bytes / 200);
  }
}

TEST_F(ReadTest, HotAndColdPagesHaveLimitsOfTheirOwn) {
  options_.hotCount = 5;
  options_.hotBytes = 100000;
  options_.coldCount = 2;
  options_.coldBytes = 100000;
  std::unique_ptr<Store> store = openWith(10);
  answer(*store, queueOf(*store), 0);
  EXPECT_EQ(last_.rows.size(), 5u);
  store.reset();
  options_.hotMemoryPercent = 0;
  store = open();
  answer(*store, queueOf(*store), 0);
  EXPECT_EQ(last_.rows.size(), 2u);
  store.reset();
  options_.coldCount = 8;
  options_.coldBytes = 400;
  store = open();
  answer(*store, queueOf(*store), 0);
  EXPECT_LE(last_.bytes, 400u);
  EXPECT_GE(last_.rows.size(), 2u);
}

TEST_F(ReadTest, APageEndsWithItsQueueFile) {
  options_.defaultConsumeQueueSize = 100;
  std::unique_ptr<Store> store = openWith(12);
  for (const Store::QueueRef queue : {queueOf(*store), lmqOf(*store, "%LMQ%a")}) {
    EXPECT_EQ(answer(*store, queue, 3), "FOUND 3 4 next 5");
    EXPECT_EQ(answer(*store, queue, 5), "FOUND 5 6 7 8 9 next 10");
    EXPECT_EQ(answer(*store, queue, 10), "FOUND 10 11 next 12");
  }
}

TEST_F(ReadTest, APageThatIsTooSmallSaysWhatItNeeds) {
  std::unique_ptr<Store> store = openWith(3);
  const Store::QueueRef queue = queueOf(*store);
  const auto small = [](size_t size) {
    return [size](Store::ReadRequest& request) { request.pageSize = size; };
  };
  answer(*store, queue, 1, small(10));
  const size_t needed = last_.needed;
  EXPECT_GT(needed, 100u);
  EXPECT_EQ(last_.nextOffset, 1);
  EXPECT_TRUE(last_.rows.empty());
  EXPECT_NE(last_.status, ReadStatus::kOffsetOverflowOne);
  answer(*store, queue, 1, small(needed - 1));
  EXPECT_EQ(last_.needed, needed);
  EXPECT_EQ(answer(*store, queue, 1, small(needed)), "FOUND 1 next 2");
  EXPECT_EQ(last_.needed, 2 * needed);  // the limits would allow the next message, too
  EXPECT_EQ(answer(*store, queue, 1, small(2 * needed - 1)), "FOUND 1 next 2");
  EXPECT_EQ(answer(*store, queue, 1, small(2 * needed)), "FOUND 1 2 next 3");
  EXPECT_EQ(last_.needed, 0u);
}

// Filters -----------------------------------------------------------------------------------

TEST_F(ReadTest, TagsFilterExactly) {
  std::unique_ptr<Store> store = openWith(8, {"a", "b"});
  for (const Store::QueueRef queue : {queueOf(*store), lmqOf(*store, "%LMQ%a")}) {
    EXPECT_EQ(answer(*store, queue, 0, tagged("a")), "FOUND 0 2 4 6 next 8");
    EXPECT_EQ(answer(*store, queue, 0, tagged("c")), "NO_MATCHED_MESSAGE next 8");
    EXPECT_EQ(answer(*store, queue, 0, tagged("x\1b")), "FOUND 1 3 5 7 next 8");
    answer(*store, queue, 0, tagged("b\1a"));
    EXPECT_EQ(last_.rows.size(), 8u);
    EXPECT_EQ(answer(*store, queue, 0,
                     [](auto& request) {
                       request.tags = "b";
                       request.maxMessages = 3;
                     }),
              "FOUND 1 3 5 next 6");  // the verified answer of spec 7.1
    EXPECT_EQ(answer(*store, queue, 7, tagged("a")), "NO_MATCHED_MESSAGE next 8");
    EXPECT_EQ(answer(*store, queue, 8, tagged("a")), "OFFSET_OVERFLOW_ONE next 8");
  }
}

TEST_F(ReadTest, TagsThatOnlyShareAHashDoNotMatch) {
  std::unique_ptr<Store> store = openWith(6, {"Aa", "BB", "AaBB", "BBAa", "BBBB", "AaAa"});
  const Store::QueueRef queue = queueOf(*store);
  EXPECT_EQ(answer(*store, queue, 0, tagged("Aa")), "FOUND 0 next 6");
  EXPECT_EQ(answer(*store, queue, 0, tagged("BB")), "FOUND 1 next 6");
  EXPECT_EQ(answer(*store, queue, 0, tagged("AaBB\1BBBB")), "FOUND 2 4 next 6");
}

TEST_F(ReadTest, AMessageWithoutTagsMatchesNoTag) {
  std::unique_ptr<Store> store = openWith(2);
  EXPECT_EQ(answer(*store, queueOf(*store), 0, tagged("a")), "NO_MATCHED_MESSAGE next 2");
}

TEST_F(ReadTest, AFilterLooksAtSoManyUnitsOnly) {
  const struct {
    size_t bytes;
    const char* next;
  } limits[] = {{100, "5"}, {110, "6"}, {120, "6"}, {1, "1"}};  // RocketMQ's comparison
  for (const auto& [bytes, next] : limits) {
    options_.maxFilterBytes = bytes;
    options_.path = directory_ / ("filter" + std::to_string(bytes));
    std::unique_ptr<Store> store = openWith(40, {"a"});
    EXPECT_EQ(answer(*store, queueOf(*store), 0,
                     [](auto& request) {
                       request.tags = "b";
                       request.maxMessages = 1;
                     }),
              "NO_MATCHED_MESSAGE next " + std::string(next));
    EXPECT_EQ(answer(*store, queueOf(*store), 0,
                     [](auto& request) {
                       request.tags = "b";
                       request.maxMessages = 20;
                     }),
              "NO_MATCHED_MESSAGE next 20");
  }
}

TEST_F(ReadTest, AFilterTravelsOnlySoManyFiles) {
  options_.defaultConsumeQueueSize = 100;
  std::unique_ptr<Store> store = openWith(23, {"a"});
  EXPECT_EQ(answer(*store, queueOf(*store), 2, tagged("b")), "NO_MATCHED_MESSAGE next 5");
  store.reset();
  options_.travelFiles = 3;
  store = open();
  for (const Store::QueueRef queue : {queueOf(*store), lmqOf(*store, "%LMQ%a")}) {
    EXPECT_EQ(answer(*store, queue, 2, tagged("b")), "NO_MATCHED_MESSAGE next 15");
    EXPECT_EQ(answer(*store, queue, 18, tagged("b")), "NO_MATCHED_MESSAGE next 23");
    EXPECT_EQ(answer(*store, queue, 3, tagged("a")), "FOUND 3 4 next 5");
  }
}

}  // namespace
}  // namespace lmq
