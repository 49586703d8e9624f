// A reader's queue: units in memory, ahead of what the files have.
#include <gtest/gtest.h>

#include "core/consume_queue.h"
#include "store_fixture.h"

namespace lmq {
namespace {

constexpr int64_t kPerFile = 5;

class ConsumeQueueAheadTest : public testing::Test {
 protected:
  ConsumeQueue queueFor(Access access) const {
    MappedFileQueue::Options options;
    options.directory = directory_ / "cq";
    options.workDirectory = directory_ / "work";
    options.fileSize = kPerFile * ConsumeQueue::kUnitSize;
    options.reserveStep = options.fileSize;
    options.access = access;
    options.readMode = access == Access::kWrite ? ReadMode::kMap : ReadMode::kPositional;
    return ConsumeQueue("T", 0, options);
  }
  // Units of records of 100 bytes: unit n lies at 100 n.
  static void put(ConsumeQueue& queue, int64_t from, int64_t to) {
    for (int64_t at = from; at < to; ++at)
      ASSERT_TRUE(succeeded(queue.put({at * 100, 100, 0}, at)));
  }
  // Physical offsets from a queue offset on, a page at a time.
  static std::vector<int64_t> all(const ConsumeQueue& queue, int64_t from) {
    std::vector<int64_t> found;
    for (PlacedUnit page[3]; from < queue.maxOffset();) {
      size_t count = 0;
      EXPECT_TRUE(succeeded(queue.units(from, 3, page, &count)));
      if (count == 0) break;
      for (size_t i = 0; i < count; ++i) found.push_back(page[i].unit.physicalOffset);
      from += static_cast<int64_t>(count);
    }
    return found;
  }
  static std::vector<int64_t> expected(int64_t from, int64_t to) {
    std::vector<int64_t> list;
    for (int64_t at = from; at < to; ++at) list.push_back(at * 100);
    return list;
  }

  TempDirectory directory_;
};

TEST_F(ConsumeQueueAheadTest, WithoutFilesTheUnitsAreInMemoryAndNothingIsWritten) {
  ConsumeQueue reader = queueFor(Access::kReadQuietly);
  ASSERT_TRUE(succeeded(reader.load(false)));
  put(reader, 3, 14);
  EXPECT_EQ(reader.maxOffset(), 14);
  EXPECT_EQ(*reader.minOffset(0), 3);
  EXPECT_EQ(*reader.minOffset(650), 7);
  EXPECT_EQ(all(reader, 3), expected(3, 14));
  EXPECT_EQ(reader.lastPhysicalOffset(), 1300);
  EXPECT_TRUE(TempDirectory::namesIn(directory_ / "").empty());
}

TEST_F(ConsumeQueueAheadTest, UnitsAheadFollowThoseOfTheFiles) {
  ConsumeQueue writer = queueFor(Access::kWrite);
  ASSERT_TRUE(succeeded(writer.load(false)));
  put(writer, 0, 7);
  ConsumeQueue reader = queueFor(Access::kReadQuietly);
  ASSERT_TRUE(succeeded(reader.load(false)));
  put(reader, 7, 12);
  EXPECT_EQ(all(reader, 0), expected(0, 12));
  EXPECT_EQ(*reader.minOffset(930), 10);
}

TEST_F(ConsumeQueueAheadTest, WhatTheFilesCatchUpWithIsNotSeenTwice) {
  ConsumeQueue writer = queueFor(Access::kWrite);
  ASSERT_TRUE(succeeded(writer.load(false)));
  ConsumeQueue reader = queueFor(Access::kReadQuietly);
  ASSERT_TRUE(succeeded(reader.load(false)));
  put(reader, 0, 8);
  for (const int64_t caughtUp : {1, 5, 8}) {
    put(writer, writer.maxOffset(), caughtUp);
    Result<bool> came = reader.refresh();
    ASSERT_TRUE(succeeded(came.status()));
    EXPECT_FALSE(*came) << "nothing new for a reader that had it already";
    EXPECT_EQ(all(reader, 0), expected(0, 8));
  }
  put(writer, 8, 13);
  EXPECT_TRUE(*reader.refresh());
  EXPECT_EQ(all(reader, 0), expected(0, 13));
}

TEST_F(ConsumeQueueAheadTest, AGapAheadIsBlank) {
  ConsumeQueue reader = queueFor(Access::kReadQuietly);
  ASSERT_TRUE(succeeded(reader.load(false)));
  put(reader, 0, 1);
  ASSERT_TRUE(succeeded(reader.put({500, 100, 0}, 4)));
  PlacedUnit units[5];
  size_t count = 0;
  ASSERT_TRUE(succeeded(reader.units(0, 5, units, &count)));
  ASSERT_EQ(count, 5u);
  EXPECT_EQ(units[2].unit.size, ConsumeQueue::kBlankSize);
  EXPECT_EQ(units[4].unit.physicalOffset, 500);
  EXPECT_EQ(*reader.minOffset(100), 4);
}

}  // namespace
}  // namespace lmq
