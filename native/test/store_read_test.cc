// Reading: every status and next offset of RocketMQ's getMessage (spec 7.1), filters, limits, damage.
#include "store_fixture.h"

namespace lmq {
namespace {

class ReadTest : public StoreTest {
 protected:
  // Messages 0 … count-1 into T/0 and %LMQ%a.
  std::unique_ptr<Store> openWith(int count, const Texts& tags = {}) {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < count; ++i) {
      const std::string tag = tags.empty() ? "" : tags[static_cast<size_t>(i) % tags.size()];
      put(*store, {std::to_string(i), {"%LMQ%a"}, tag});
    }
    return store;
  }
  // "STATUS first..last next": what a read gives.
  std::string answer(Store& store, Store::QueueRef queue, int64_t from,
                     const std::function<void(Store::ReadRequest&)>& more = {}) {
    last_ = read(store, queue, from, more);
    std::string text = kReadStatusNames[static_cast<int>(last_.status)];
    for (const Store::Row& row : last_.rows) text += " " + std::to_string(row.offset);
    for (const auto& one : last_.damaged) text += " !" + std::to_string(one.offset);
    return text + " next " + std::to_string(last_.nextOffset);
  }
  static std::function<void(Store::ReadRequest&)> tagged(const std::string& tags) {
    return [tags](Store::ReadRequest& request) { request.tags = tags; };
  }
  static std::function<void(Store::ReadRequest&)> atMost(size_t messages) {
    return [messages](Store::ReadRequest& request) { request.maxMessages = messages; };
  }

  Store::Page last_;
};

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
  EXPECT_EQ(answer(*store, queue, 2, [](auto& request) { request.maxBytes = 1; }), "FOUND 2 next 3");
  EXPECT_EQ(answer(*store, queue, 2, [](auto& request) { request.maxBytes = 0; }), "FOUND 2 next 3");
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
                     [](auto& request) { request.tags = "b"; request.maxMessages = 3; }),
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
                     [](auto& request) { request.tags = "b"; request.maxMessages = 1; }),
              "NO_MATCHED_MESSAGE next " + std::string(next));
    EXPECT_EQ(answer(*store, queueOf(*store), 0,
                     [](auto& request) { request.tags = "b"; request.maxMessages = 20; }),
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

// Gaps and damage ---------------------------------------------------------------------------

TEST_F(ReadTest, BlankUnitsArePassed) {  // BR-058, spec Q9
  std::unique_ptr<Store> store = openWith(6);
  ASSERT_TRUE(succeeded(store->close()));
  store.reset();
  const std::string blank = unitBytes(0, 0x7FFFFFFF);
  for (const uint64_t offset : {0, 1, 3}) writeAt(queueFile(), offset * 20, blank.data(), 20);
  store = open();
  const Store::QueueRef queue = queueOf(*store);
  EXPECT_EQ(boundsOf(*store, queue).min, 2);
  EXPECT_EQ(answer(*store, queue, 0), "OFFSET_TOO_SMALL next 2");
  EXPECT_EQ(answer(*store, queue, 3), "FOUND 4 5 next 6");
  EXPECT_EQ(messages(*store), (Texts{"2:2", "4:4", "5:5"}));
}

TEST_F(ReadTest, ADamagedRecordIsNamedAndPassed) {
  std::unique_ptr<Store> store = openWith(5);
  for (const int64_t damaged : {1, 2}) {
    const Store::Page page = read(*store, queueOf(*store), damaged, atMost(1));
    flip(logFile(), static_cast<uint64_t>(page.rows[0].view.physicalOffset + 100));
  }
  for (const Store::QueueRef queue : {queueOf(*store), lmqOf(*store, "%LMQ%a")}) {
    EXPECT_EQ(answer(*store, queue, 0), "FOUND 0 3 4 !1 !2 next 5");
    EXPECT_GT(last_.damaged[0].physicalOffset, 0);
    EXPECT_EQ(answer(*store, queue, 1, [](auto& request) { request.maxMessages = 1; }),
              "FOUND 3 !1 !2 next 4");
  }
}

TEST_F(ReadTest, APageOfDamagedRecordsAloneHasNoMessage) {
  std::unique_ptr<Store> store = openWith(2);
  for (const int64_t damaged : {0, 1}) {
    const Store::Page page = read(*store, queueOf(*store), damaged, atMost(1));
    flip(logFile(), static_cast<uint64_t>(page.rows[0].view.physicalOffset + 100));
  }
  EXPECT_EQ(answer(*store, queueOf(*store), 0), "MESSAGE_WAS_REMOVING !0 !1 next 2");
}

TEST_F(ReadTest, WithoutVerificationBytesAreGivenAsTheyAre) {
  std::unique_ptr<Store> store = openWith(3);
  const Store::Page page = read(*store, queueOf(*store), 1, atMost(1));
  const uint64_t at = static_cast<uint64_t>(page.rows[0].view.physicalOffset);
  flip(logFile(), at + 88);  // the body
  const auto unverified = [](Store::ReadRequest& request) { request.verify = false; };
  EXPECT_EQ(answer(*store, queueOf(*store), 0, unverified), "FOUND 0 1 2 next 3");
  EXPECT_EQ(answer(*store, queueOf(*store), 0), "FOUND 0 2 !1 next 3");
  flip(logFile(), at + 4);  // the magic number: nothing can be given
  EXPECT_EQ(answer(*store, queueOf(*store), 0, unverified), "FOUND 0 2 !1 next 3");
}

TEST_F(ReadTest, AUnitThatLiesIsNamedAndPassed) {  // spec Q56
  std::unique_ptr<Store> store = openWith(4);
  const int64_t end = store->logEnd();
  const Store::Page page = read(*store, queueOf(*store), 1, atMost(1));
  const int64_t right = page.rows[0].view.physicalOffset;
  const int32_t size = static_cast<int32_t>(page.rows[0].view.size);
  ASSERT_TRUE(succeeded(store->close()));
  const struct {
    int64_t at;
    int32_t size;
  } lies[] = {{right, size - 1}, {right, size + 1}, {right, 1}, {right + 1, size}, {right, 90},
              {end, size}, {end + 100000, size}, {right, 0x7FFFFFFE}, {INT64_MAX, size},
              {INT64_MAX, 0x7FFFFFFE}, {-1, size}, {INT64_MIN, size}, {INT64_MIN, INT32_MIN}};
  for (const auto& lie : lies) {
    SCOPED_TRACE(std::to_string(lie.at) + " " + std::to_string(lie.size));
    const std::string unit = unitBytes(lie.at, lie.size);
    writeAt(queueFile(), 20, unit.data(), unit.size());
    store.reset();
    store = openReader();
    const Store::Page found = read(*store, queueOf(*store), 0);
    EXPECT_EQ(found.status, ReadStatus::kFound);
    for (const Store::Row& row : found.rows) EXPECT_EQ(row.view.body(), std::to_string(row.offset));
    EXPECT_GE(found.nextOffset, 1);
    read(*store, queueOf(*store), 1, tagged("a"));
    read(*store, queueOf(*store), 1, [](auto& request) { request.verify = false; });
    store.reset();
    store = open();  // a writer that trusts its queues
    read(*store, queueOf(*store), 0);
    ASSERT_TRUE(succeeded(store->close()));
  }
}

TEST_F(ReadTest, AMissingLogFileIsPassedToTheNextOne) {
  std::unique_ptr<Store> store = open();
  for (int i = 0; i < 20; ++i) put(*store, {bodyFor(500), {"%LMQ%a"}});
  ASSERT_TRUE(succeeded(store->close()));
  store.reset();
  remove("commitlog/" + fileNameOf(kLogSize));
  store = open();
  for (const Store::QueueRef queue : {queueOf(*store), lmqOf(*store, "%LMQ%a")}) {
    const Store::Page page = read(*store, queue, 4);
    ASSERT_FALSE(page.rows.empty());
    EXPECT_EQ(page.rows.front().offset, 4);
    EXPECT_EQ(page.rows.back().offset, 19);
    EXPECT_EQ(answer(*store, queue, 8, atMost(1)).substr(0, 5), "FOUND");
    EXPECT_GE(last_.rows[0].view.physicalOffset, 2 * kLogSize);
  }
}

// Durable reads -----------------------------------------------------------------------------

TEST_F(ReadTest, ADurableReadShowsOnlyWhatIsOnTheDevice) {
  std::unique_ptr<Store> store = openWith(2);
  const Store::QueueRef queue = queueOf(*store);
  const auto durable = [](Store::ReadRequest& request) { request.durable = true; };
  EXPECT_EQ(answer(*store, queue, 0, durable), "OFFSET_OVERFLOW_ONE next 0");
  ASSERT_TRUE(succeeded(store->flush()));
  EXPECT_EQ(answer(*store, queue, 0, durable), "FOUND 0 1 next 2");
  put(*store, {"2"});
  EXPECT_EQ(answer(*store, queue, 0, durable), "FOUND 0 1 next 2");
  EXPECT_EQ(answer(*store, queue, 2, durable), "OFFSET_OVERFLOW_ONE next 2");
  EXPECT_EQ(answer(*store, queue, 0), "FOUND 0 1 2 next 3");
}

TEST_F(ReadTest, WithSyncFlushEveryReadIsDurable) {
  options_.syncFlush = true;
  std::unique_ptr<Store> store = openWith(2);
  EXPECT_EQ(answer(*store, queueOf(*store), 0), "OFFSET_OVERFLOW_ONE next 0");
  ASSERT_TRUE(succeeded(store->flush()));
  EXPECT_EQ(answer(*store, queueOf(*store), 0), "FOUND 0 1 next 2");
}

// Single messages ---------------------------------------------------------------------------

TEST_F(ReadTest, ARecordIsFoundAtItsStartAndNowhereElse) {
  std::unique_ptr<Store> store = openWith(3);
  std::vector<uint8_t> bytes(4096);
  Store::Page page;
  const auto at = [&](int64_t position, size_t size = 4096) {
    EXPECT_TRUE(succeeded(store->readAt(position, true, bytes.data(), size, &page)));
    return page.rows.size();
  };
  EXPECT_EQ(at(0), 1u);
  const int64_t second = static_cast<int64_t>(page.bytes);
  EXPECT_EQ(at(second), 1u);
  EXPECT_EQ(page.rows[0].view.body(), "1");
  EXPECT_EQ(page.rows[0].offset, 1);
  for (int64_t position = 1; position < second; ++position) EXPECT_EQ(at(position), 0u);
  for (const int64_t position : {int64_t{-1}, store->logEnd(), INT64_MAX, INT64_MIN, int64_t{99999}}) {
    EXPECT_EQ(at(position), 0u) << position;
  }
  EXPECT_EQ(at(0, 50), 0u);
  EXPECT_EQ(page.needed, static_cast<size_t>(second));
  flip(logFile(), 100);
  EXPECT_EQ(at(0), 0u);
}

TEST_F(ReadTest, ListsShowQueuesInTheirOrder) {
  std::unique_ptr<Store> store = open();
  for (int i = 0; i < 30; ++i) put(*store, {"x", {"%LMQ%" + std::to_string(i), "%LMQ%b" + std::to_string(i)}});
  uint64_t cursor = 0;
  Texts all;
  store->listLmqs("%LMQ%b", &cursor, 7, &all);
  EXPECT_EQ(all.size(), 7u);
  put(*store, {"x", {"%LMQ%bnew"}});  // a cursor stays valid
  while (cursor < store->lmqCount()) store->listLmqs("%LMQ%b", &cursor, 7, &all);
  ASSERT_EQ(all.size(), 31u);
  EXPECT_EQ(all[29], "%LMQ%b29");
  EXPECT_EQ(all.back(), "%LMQ%bnew");
}

}  // namespace
}  // namespace lmq
