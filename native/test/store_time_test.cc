// Searching by store time: against a look at every message, and over units and records that lie.
#include <random>

#include "store_read_fixture.h"

namespace lmq {
namespace {

class TimeTest : public ReadTest {
 protected:
  // A message of T/0 and %LMQ%a for each time.
  std::unique_ptr<Store> openWith(const std::vector<int64_t>& times) {
    std::unique_ptr<Store> store = open();
    for (const int64_t time : times) {
      store->setClock(time);
      stored_.push_back(put(*store, {std::to_string(time), {"%LMQ%a"}}));
    }
    times_ = times;
    return store;
  }
  static int64_t at(Store& store, Store::QueueRef queue, int64_t millis, Store::Bound bound) {
    int64_t offset = -1;
    EXPECT_TRUE(succeeded(store.offsetAt(queue, millis, bound, &offset)));
    return offset;
  }
  // By hand, of the messages from `min` on whose time can be told.
  int64_t expected(int64_t millis, Store::Bound bound, const std::vector<int64_t>& left,
                   int64_t min = 0) const {
    int64_t upper = min;
    for (const int64_t offset : left) {
      const int64_t time = times_[static_cast<size_t>(offset)];
      if (time >= millis && bound == Store::Bound::kLower) return offset;
      if (time <= millis) upper = offset;
    }
    return bound == Store::Bound::kLower ? static_cast<int64_t>(times_.size()) : upper;
  }
  void expectAll(Store& store, Store::QueueRef queue, const std::vector<int64_t>& left) {
    std::vector<int64_t> asked = {INT64_MIN, -1, 0, INT64_MAX};
    for (const int64_t time : times_) asked.insert(asked.end(), {time - 1, time, time + 1});
    const int64_t min = boundsOf(store, queue).min;
    for (const int64_t millis : asked) {
      for (const Store::Bound bound : {Store::Bound::kLower, Store::Bound::kUpper}) {
        ASSERT_EQ(at(store, queue, millis, bound), expected(millis, bound, left, min))
            << millis << (bound == Store::Bound::kLower ? " lower" : " upper");
      }
    }
    Store::Times times;
    ASSERT_TRUE(succeeded(store.timesOf(queue, &times)));
    const bool any = !left.empty();
    ASSERT_EQ(times.earliest,
              any ? times_[static_cast<size_t>(left.front())] : Store::Times::kNone);
    ASSERT_EQ(times.latest, any ? times_[static_cast<size_t>(left.back())] : Store::Times::kNone);
  }
  std::vector<int64_t> all() const {
    std::vector<int64_t> offsets(times_.size());
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<int64_t>(i);
    return offsets;
  }

  std::vector<int64_t> times_;
  std::vector<Store::Appended> stored_;
};

TEST_F(TimeTest, EveryTimeOfManyIsRightAlsoOverFilesAndEqualTimes) {
  std::mt19937 random(3);
  std::vector<int64_t> times;
  int64_t time = 1000;
  for (int i = 0; i < 450; ++i) {  // several files of the log and of the queue
    if (random() % 3 == 0) time += random() % 5;
    times.push_back(time);
  }
  std::unique_ptr<Store> store = openWith(times);
  expectAll(*store, queueOf(*store), all());
  expectAll(*store, lmqOf(*store, "%LMQ%a"), all());
  std::unique_ptr<Store> reader = openReader();
  expectAll(*reader, queueOf(*reader), all());
  int64_t earliest = 0;
  ASSERT_TRUE(succeeded(reader->earliestTime(&earliest)));
  EXPECT_EQ(earliest, 1000);
}

TEST_F(TimeTest, FewMessagesAreSearchedToo) {
  for (size_t count = 1; count <= 4; ++count) {
    std::filesystem::remove_all(root());
    std::unique_ptr<Store> store = openWith(std::vector<int64_t>(count, 50));
    expectAll(*store, queueOf(*store), all());
  }
}

TEST_F(TimeTest, AnEmptyStoreHasNoTimesAndNoSuchQueueIsAnError) {
  std::unique_ptr<Store> store = open();
  int64_t earliest = 0;
  ASSERT_TRUE(succeeded(store->earliestTime(&earliest)));
  EXPECT_EQ(earliest, Store::Times::kNone);
  for (const bool lmq : {false, true}) {
    int64_t offset = 0;
    Store::Times times;
    for (const uint64_t number : {uint64_t{0}, uint64_t{7}, Store::QueueRef::kBatch}) {
      const Store::QueueRef queue{lmq, number};
      EXPECT_EQ(store->offsetAt(queue, 1, Store::Bound::kLower, &offset).code(), Code::kInternal);
      EXPECT_EQ(store->timesOf(queue, &times).code(), Code::kInternal);
    }
  }
  put(*store, {"x"});
  const Store::QueueRef queue = queueOf(*store);
  ASSERT_TRUE(succeeded(store->close()));
  int64_t offset = 0;
  EXPECT_EQ(store->offsetAt(queue, 1, Store::Bound::kLower, &offset).code(), Code::kClosed);
}

// More blank and lying units in a row than are looked at at once, in each place of a queue.
TEST_F(TimeTest, UnitsThatTellNoTimeArePassed) {
  std::vector<int64_t> times;
  for (int64_t i = 0; i < 300; ++i) times.push_back(1000 + 10 * i);
  openWith(times).reset();
  const auto path = [this](int64_t offset) {
    return queueFile(offset * 20 / static_cast<int64_t>(kQueueSize) *
                     static_cast<int64_t>(kQueueSize));
  };
  const auto lie = [&](int64_t offset, const std::string& unit) {
    writeAt(path(offset), static_cast<uint64_t>(offset) * 20 % kQueueSize, unit.data(), 20);
  };
  std::unique_ptr<Store> store = open();
  const int64_t first = stored_[0].physicalOffset;
  const int32_t size = static_cast<int32_t>(stored_[0].size);
  const std::string lies[] = {unitBytes(0, 0x7FFFFFFF),         unitBytes(INT64_MAX, size),
                              unitBytes(INT64_MAX, INT32_MAX),  unitBytes(first + 1, size),
                              unitBytes(first, INT32_MAX - 1),  unitBytes(store->logEnd(), size),
                              unitBytes(store->logEnd() - 1, 1)};
  const std::pair<int64_t, int64_t> stretches[] = {{1, 2},     {0, 140},  {150, 290},
                                                   {299, 300}, {10, 299}, {0, 299}};
  for (const auto& [from, to] : stretches) {
    std::vector<int64_t> left;
    for (int64_t i = 0; i < 300; ++i) {
      const Store::Appended& one = stored_[static_cast<size_t>(i)];
      const bool told = i < from || i >= to;
      if (told) left.push_back(i);
      lie(i, told ? unitBytes(one.physicalOffset, static_cast<int32_t>(one.size))
                  : lies[static_cast<size_t>(i) % std::size(lies)]);
    }
    SCOPED_TRACE(std::to_string(from));
    expectAll(*store, queueOf(*store), left);
  }
}

TEST_F(TimeTest, TheFirstTimeOfTheLogPassesBlankAndDamagedFiles) {
  std::unique_ptr<Store> store = open();
  store->setClock(500);
  put(*store, {std::string(3000, 'x')});
  store->setClock(600);
  put(*store, {std::string(3000, 'y')});
  int64_t earliest = 0;
  ASSERT_TRUE(succeeded(store->earliestTime(&earliest)));
  EXPECT_EQ(earliest, 500);
  fill(logFile(), 4, 4);  // the magic of the first record
  ASSERT_TRUE(succeeded(store->earliestTime(&earliest)));
  EXPECT_EQ(earliest, 600);
  fill(logFile(kLogSize), 4, 4, '\xff');
  ASSERT_TRUE(succeeded(store->earliestTime(&earliest)));
  EXPECT_EQ(earliest, Store::Times::kNone);
}

TEST_F(TimeTest, SizesOfARecordMayBeAny) {
  std::unique_ptr<Store> store = openWith({100, 200, 300});
  const uint64_t second = static_cast<uint64_t>(stored_[1].physicalOffset);
  for (const int32_t size : {0, 1, -1, 90, INT32_MAX, INT32_MIN}) {
    uint8_t bytes[4];
    lmq::store<int32_t>(bytes, size);
    writeAt(logFile(), second, bytes, sizeof(bytes));
    expectAll(*store, queueOf(*store), {0, 2});
    writeAt(logFile(), 0, bytes, sizeof(bytes));
    int64_t earliest = 0;
    ASSERT_TRUE(succeeded(store->earliestTime(&earliest)));
    EXPECT_EQ(earliest, Store::Times::kNone) << size;
    lmq::store<int32_t>(bytes, static_cast<int32_t>(stored_[0].size));
    writeAt(logFile(), 0, bytes, sizeof(bytes));
  }
}

}  // namespace
}  // namespace lmq
