// Reading past gaps and damage, only what is on the device, and single messages.
#include "store_read_fixture.h"

namespace lmq {
namespace {

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
  } lies[] = {{right, size - 1},       {right, size + 1},   {right, 1},
              {right + 1, size},       {right, 90},         {end, size},
              {end + 100000, size},    {right, 0x7FFFFFFE}, {INT64_MAX, size},
              {INT64_MAX, 0x7FFFFFFE}, {-1, size},          {INT64_MIN, size},
              {INT64_MIN, INT32_MIN}};
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
  for (const int64_t position :
       {int64_t{-1}, store->logEnd(), INT64_MAX, INT64_MIN, int64_t{99999}}) {
    EXPECT_EQ(at(position), 0u) << position;
  }
  EXPECT_EQ(at(0, 50), 0u);
  EXPECT_EQ(page.needed, static_cast<size_t>(second));
  flip(logFile(), 100);
  EXPECT_EQ(at(0), 0u);
}

TEST_F(ReadTest, ListsShowQueuesInTheirOrder) {
  std::unique_ptr<Store> store = open();
  for (int i = 0; i < 30; ++i)
    put(*store, {"x", {"%LMQ%" + std::to_string(i), "%LMQ%b" + std::to_string(i)}});
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
