// Queues of inner batches: how offsets find their batch, and files in any state.
#include "core/consume_queue_batch.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/bytes.h"
#include "temp_directory.h"

namespace lmq {
namespace {

constexpr uint64_t kUnit = BatchConsumeQueue::kUnitSize;
constexpr uint64_t kUnitsPerFile = 4;

std::string unit(int64_t position, int64_t offset, int16_t messages, int32_t size = 200) {
  uint8_t bytes[kUnit] = {};
  store<int64_t>(bytes, position);
  store<int32_t>(bytes + 8, size);
  store<int64_t>(bytes + 12, ~position);
  store<int64_t>(bytes + 20, 1700000000000);
  store<int64_t>(bytes + 28, offset);
  store<uint16_t>(bytes + 36, static_cast<uint16_t>(messages));
  return std::string(reinterpret_cast<const char*>(bytes), sizeof(bytes));
}

class BatchConsumeQueueTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder()); }
  std::string folder() const { return directory_ / "batchconsumequeue/T/0"; }
  std::string file(uint64_t index) const {
    return folder() + "/" + fileNameOf(index * kUnitsPerFile * kUnit);
  }
  void write(uint64_t index, std::string bytes) {
    bytes.resize(kUnitsPerFile * kUnit, '\0');
    writeFile(file(index), bytes);
  }
  BatchConsumeQueue open() { return BatchConsumeQueue("T", 0, folder()); }
  static bool refreshed(BatchConsumeQueue& queue) {
    Result<bool> came = queue.refresh();
    EXPECT_TRUE(succeeded(came.status()));
    return came.ok() && *came;
  }
  // "first offset@position" of every unit from `from` on.
  static std::vector<std::string> units(const BatchConsumeQueue& queue, int64_t from = 0,
                                        size_t max = 100) {
    std::vector<PlacedUnit> out(max);
    size_t count = 0;
    queue.units(from, max, out.data(), &count);
    EXPECT_LE(count, max);
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i) {
      texts.push_back(std::to_string(out[i].queueOffset) + "@" +
                      std::to_string(out[i].unit.physicalOffset));
    }
    return texts;
  }
  // Whatever was taken in is in order, and every offset has a place.
  static void expectSane(const BatchConsumeQueue& queue) {
    std::vector<PlacedUnit> out(100);
    size_t count = 0;
    queue.units(0, out.size(), out.data(), &count);
    int64_t end = 0;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_GE(out[i].queueOffset, end);
      EXPECT_GT(out[i].unit.size, 0);
      end = queue.endOf(out[i].queueOffset);
      EXPECT_GT(end, out[i].queueOffset);
    }
    EXPECT_EQ(queue.maxOffset(), end);
    EXPECT_LE(queue.minOffset(0), queue.maxOffset());
    EXPECT_EQ(queue.minOffset(INT64_MAX), queue.maxOffset());
  }

  TempDirectory directory_{memoryDirectory()};
};

using Texts = std::vector<std::string>;

TEST_F(BatchConsumeQueueTest, OffsetsFindTheBatchThatHoldsThem) {
  // 3 messages from 0, 1 from 3, a gap, 2 from 6.
  write(0, unit(0, 0, 3) + unit(200, 3, 1) + unit(400, 6, 2));
  BatchConsumeQueue queue = open();
  EXPECT_TRUE(refreshed(queue));
  EXPECT_FALSE(refreshed(queue));
  EXPECT_EQ(queue.maxOffset(), 8);
  const std::pair<int64_t, int64_t> bounds[] = {{0, 3}, {0, 3}, {0, 3}, {3, 4}, {4, 4},
                                                {5, 5}, {6, 8}, {6, 8}, {8, 8}};
  for (int64_t offset = 0; offset <= 8; ++offset) {
    EXPECT_EQ(queue.startOf(offset), bounds[offset].first) << offset;
    EXPECT_EQ(queue.endOf(offset), bounds[offset].second) << offset;
  }
  EXPECT_EQ(queue.startOf(-1), -1);
  EXPECT_EQ(queue.endOf(INT64_MAX), INT64_MAX);
  EXPECT_EQ(units(queue), (Texts{"0@0", "3@200", "6@400"}));
  EXPECT_EQ(units(queue, 1), (Texts{"3@200", "6@400"}));
  EXPECT_EQ(units(queue, 3, 1), (Texts{"3@200"}));
  EXPECT_EQ(units(queue, 7), Texts{});
  EXPECT_EQ(units(queue, 0, 0), Texts{});
  EXPECT_EQ(units(queue, INT64_MIN), (Texts{"0@0", "3@200", "6@400"}));
}

TEST_F(BatchConsumeQueueTest, TheMinimumFollowsTheLog) {
  write(0, unit(0, 0, 3) + unit(200, 3, 1) + unit(400, 6, 2));
  BatchConsumeQueue queue = open();
  refreshed(queue);
  EXPECT_EQ(queue.minOffset(0), 0);
  EXPECT_EQ(queue.minOffset(1), 3);
  EXPECT_EQ(queue.minOffset(200), 3);
  EXPECT_EQ(queue.minOffset(400), 6);
  EXPECT_EQ(queue.minOffset(401), 8);
}

TEST_F(BatchConsumeQueueTest, WhatABrokerAddsComesAlsoOverFiles) {
  BatchConsumeQueue queue = open();
  EXPECT_FALSE(refreshed(queue));
  EXPECT_EQ(queue.maxOffset(), 0);
  write(0, unit(0, 0, 1));
  EXPECT_TRUE(refreshed(queue));
  write(0, unit(0, 0, 1) + unit(1, 1, 1) + unit(2, 2, 1) + unit(3, 3, 1));
  EXPECT_TRUE(refreshed(queue));
  write(1, "");
  EXPECT_FALSE(refreshed(queue));
  write(1, unit(4, 4, 5));
  EXPECT_TRUE(refreshed(queue));
  EXPECT_EQ(queue.maxOffset(), 9);
  EXPECT_EQ(units(queue).size(), 5u);
}

TEST_F(BatchConsumeQueueTest, MoreUnitsThanAreReadAtOnce) {
  std::string bytes;
  for (int64_t i = 0; i < 2500; ++i) bytes += unit(i * 200, 2 * i, 2);
  writeFile(file(0), bytes);
  BatchConsumeQueue queue = open();
  EXPECT_TRUE(refreshed(queue));
  EXPECT_EQ(queue.maxOffset(), 5000);
  EXPECT_EQ(queue.startOf(4999), 4998);
}

TEST_F(BatchConsumeQueueTest, AQueueMayBeginLater) {
  write(2, unit(900, 50, 2));
  BatchConsumeQueue queue = open();
  EXPECT_TRUE(refreshed(queue));
  EXPECT_EQ(queue.minOffset(0), 50);
  EXPECT_EQ(queue.maxOffset(), 52);
}

TEST_F(BatchConsumeQueueTest, NumbersThatCannotBeEndTheQueue) {
  constexpr int64_t kMost = (int64_t{1} << 53) - 1;
  const std::string lies[] = {
      unit(-1, 3, 1),
      unit(INT64_MIN, 3, 1),
      unit(200, 3, 0),
      unit(200, 3, -1),
      unit(200, 3, INT16_MIN),
      unit(200, 2, 1),  // behind the end of the one before
      unit(200, -1, 1),
      unit(200, INT64_MIN, 1),
      unit(200, INT64_MAX, 1),
      unit(200, kMost, 1),
      unit(200, 3, 1, 0),
      unit(200, 3, 1, -1),
      unit(200, 3, 1, INT32_MIN),
      std::string(kUnit, '\0'),
      std::string(kUnit, '\xff'),
  };
  for (size_t i = 0; i < std::size(lies); ++i) {
    write(0, unit(0, 0, 3) + lies[i] + unit(400, 9, 1));
    BatchConsumeQueue queue = open();
    EXPECT_TRUE(refreshed(queue)) << i;
    EXPECT_EQ(units(queue), Texts{"0@0"}) << i;
    expectSane(queue);
  }
  // The largest that can be.
  write(0, unit(INT64_MAX - 1, kMost - INT16_MAX, INT16_MAX, INT32_MAX));
  BatchConsumeQueue queue = open();
  EXPECT_TRUE(refreshed(queue));
  EXPECT_EQ(queue.maxOffset(), kMost);
  expectSane(queue);
}

TEST_F(BatchConsumeQueueTest, AFileOfAnyLengthIsSurvived) {
  const std::string whole = unit(0, 0, 3) + unit(200, 3, 1) + unit(400, 6, 2);
  for (size_t length = 0; length <= whole.size(); ++length) {
    writeFile(file(0), whole.substr(0, length));
    BatchConsumeQueue queue = open();
    const Result<bool> came = queue.refresh();
    if (length % kUnit == 0) {
      EXPECT_TRUE(succeeded(came.status())) << length;
      EXPECT_EQ(units(queue).size(), length / kUnit) << length;
    } else {
      EXPECT_EQ(came.status().code(), Code::kFileSize) << length;
      EXPECT_EQ(came.status().facts().path, folder()) << length;
      EXPECT_EQ(queue.maxOffset(), 0) << length;
    }
    expectSane(queue);
  }
}

TEST_F(BatchConsumeQueueTest, AnyByteMayBeAnyOther) {
  const std::string whole = unit(0, 0, 3) + unit(200, 3, 1) + unit(400, 6, 2);
  for (size_t damaged = 0; damaged < whole.size(); ++damaged) {
    for (const char byte : {'\0', '\xff', '\x7f', '\x80'}) {
      std::string bytes = whole;
      bytes[damaged] = byte;
      write(0, bytes);
      BatchConsumeQueue queue = open();
      refreshed(queue);
      expectSane(queue);
      if (damaged >= kUnit) {
        EXPECT_EQ(queue.endOf(0), 3) << damaged;
      }
    }
  }
}

TEST_F(BatchConsumeQueueTest, FilesMayBeDirectoriesOfTwoLengthsOrMissing) {
  std::filesystem::create_directories(file(0));
  BatchConsumeQueue queue = open();
  EXPECT_FALSE(refreshed(queue));
  std::filesystem::remove(file(0));

  write(0, unit(0, 0, 1) + unit(1, 1, 1) + unit(2, 2, 1) + unit(3, 3, 1));
  writeFile(file(1), std::string(kUnit, 'x'));  // of another length: left out
  BatchConsumeQueue other = open();
  EXPECT_TRUE(refreshed(other));
  EXPECT_EQ(other.maxOffset(), 4);

  // A hole between its files ends what can be read, and hides nothing before it.
  std::filesystem::remove(file(1));
  write(2, unit(8, 8, 1));
  BatchConsumeQueue holed = open();
  EXPECT_TRUE(refreshed(holed));
  EXPECT_EQ(holed.maxOffset(), 4);
  EXPECT_FALSE(refreshed(holed));
  write(1, unit(4, 4, 1) + unit(5, 5, 1) + unit(6, 6, 1) + unit(7, 7, 1));
  EXPECT_TRUE(refreshed(holed));
  EXPECT_EQ(holed.maxOffset(), 9);

  // And what a broker removed at the front does no harm to what was taken in.
  std::filesystem::remove(file(0));
  write(2, unit(8, 8, 1) + unit(9, 9, 1));
  EXPECT_TRUE(refreshed(holed));
  EXPECT_EQ(holed.maxOffset(), 10);
  writeFile(file(2), "cut under an open reader");
  (void)holed.refresh();
  EXPECT_EQ(holed.maxOffset(), 10);
}

}  // namespace
}  // namespace lmq
