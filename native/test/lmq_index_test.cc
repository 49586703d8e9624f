#include "core/lmq_index.h"

#include "lmq_fixture.h"

namespace lmq {
namespace {

struct Mode {
  const char* name;
  bool inMemory;
  bool positionalWrites;
  ReadMode readMode;
};

// The same facts hold however entries are kept.
class LmqModesTest : public LmqIndexTest, public testing::WithParamInterface<Mode> {
 protected:
  LmqModesTest() {
    if (GetParam().positionalWrites) positional_ = std::make_unique<PositionalWrites>();
  }
  LmqIndex::Options modeOptions() const {
    LmqIndex::Options result = options(GetParam().inMemory ? Access::kRead : Access::kWrite);
    result.inMemory = GetParam().inMemory;
    result.readMode = GetParam().readMode;
    return result;
  }

 private:
  std::unique_ptr<PositionalWrites> positional_;
};

INSTANTIATE_TEST_SUITE_P(All, LmqModesTest,
                         testing::Values(Mode{"mapped", false, false, ReadMode::kMap},
                                         Mode{"writtenByPosition", false, true, ReadMode::kMap},
                                         Mode{"readByPosition", false, false,
                                              ReadMode::kPositional},
                                         Mode{"inMemory", true, false, ReadMode::kMap}),
                         [](const testing::TestParamInfo<Mode>& info) { return info.param.name; });

TEST_P(LmqModesTest, AnEmptyIndexKnowsNothing) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  EXPECT_EQ(index.queueCount(), 0u);
  EXPECT_EQ(index.entryCount(), 0u);
  EXPECT_EQ(index.find("%LMQ%a"), LmqIndex::kNone);
  EXPECT_EQ(index.nameOf(0), "");
  EXPECT_EQ(index.nextOffset(0), 0);
  EXPECT_EQ(index.minOffset(0, 0), 0);
  EXPECT_EQ(*index.lastPhysicalOffset(0), -1);
}

TEST_P(LmqModesTest, ManyQueuesWithGapsAnswerAsPlainVectorsDo) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  model.grow(index, 30000, 300);
  ASSERT_NO_FATAL_FAILURE(model.expectSame(index, 20));
}

TEST_P(LmqModesTest, OneLongQueueAnswersAsAPlainVectorDoes) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  model.grow(index, 20000, 1);
  ASSERT_NO_FATAL_FAILURE(model.expectSame(index, 300));
}

TEST_P(LmqModesTest, AQueueMayStartAboveZeroAndHaveWideGaps) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  model.create(index, "%LMQ%imported");
  model.add(index, 0, 1000);
  model.add(index, 0, 1000000);
  model.add(index, 0, 0);
  EXPECT_EQ(index.minOffset(0, 0), 1000);
  ASSERT_NO_FATAL_FAILURE(model.expectSame(index));
  for (const int64_t from : {0, 999, 1000, 1001, 500000, 1001001, 1001002, 1001003}) {
    for (const size_t max : {1, 2, 3, 1000, 2000000}) model.expectUnits(index, 0, from, max);
  }
}

TEST_P(LmqModesTest, PagesReadOneAfterAnotherGiveEveryUnitOnce) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  model.grow(index, 3000, 3);
  for (uint64_t queue = 0; queue < 3; queue++) {
    Units all;
    int64_t from = 0;
    for (;;) {
      PlacedUnit page[32];
      size_t count = 0;
      ASSERT_TRUE(succeeded(index.units(queue, from, 32, page, &count)));
      if (count == 0) break;
      all.insert(all.end(), page, page + count);
      from = page[count - 1].queueOffset + 1;
    }
    EXPECT_EQ(all, model.queues[queue].units);
  }
}

TEST_P(LmqModesTest, TheMinimumRisesWithTheLogUpToTheNextOffset) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  model.grow(index, 2000, 5);
  for (uint64_t queue = 0; queue < 5; queue++) {
    for (int64_t logMin = 0; logMin < model.logEnd + 2000; logMin += 997) {
      ASSERT_NO_FATAL_FAILURE(model.expectMinimum(index, queue, logMin));
    }
    EXPECT_EQ(index.minOffset(queue, INT64_MAX), index.nextOffset(queue));
  }
}

TEST_P(LmqModesTest, ExtremeArgumentsOfAReadAreAnswered) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  model.grow(index, 100, 1);
  PlacedUnit one;
  size_t count = 7;
  ASSERT_TRUE(succeeded(index.units(0, 0, 0, nullptr, &count)));
  EXPECT_EQ(count, 0u);
  ASSERT_TRUE(succeeded(index.units(0, INT64_MAX, 1, &one, &count)));
  EXPECT_EQ(count, 0u);
  ASSERT_TRUE(succeeded(index.units(0, INT64_MIN, 1, &one, &count)));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(index.units(1, 0, 1, &one, &count).code(), Code::kInternal);
  EXPECT_EQ(index.units(LmqIndex::kNone, 0, 1, &one, &count).code(), Code::kInternal);
}

TEST_P(LmqModesTest, AnEntryOutOfOrderIsRefusedAndChangesNothing) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  model.grow(index, 10, 1);
  const int64_t next = index.nextOffset(0);
  ASSERT_TRUE(succeeded(index.reserve(4, 0, 0)));
  EXPECT_EQ(index.add(0, {next - 1, {1 << 20, 10, 0}}).code(), Code::kInternal);
  EXPECT_EQ(index.add(0, {next, {-1, 10, 0}}).code(), Code::kInternal);
  EXPECT_EQ(index.add(0, {next, {1 << 20, -1, 0}}).code(), Code::kInternal);
  EXPECT_EQ(index.add(1, {next, {1 << 20, 10, 0}}).code(), Code::kInternal);
  EXPECT_EQ(index.add(0, {int64_t{1} << 56, {1 << 20, 10, 0}}).code(), Code::kLimit);
  ASSERT_NO_FATAL_FAILURE(model.expectSame(index));
}

TEST_P(LmqModesTest, WithoutRoomNothingIsAdded) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  EXPECT_EQ(index.create("%LMQ%a").status().code(), Code::kInternal);
  EXPECT_EQ(index.queueCount(), 0u);
  EXPECT_EQ(index.find("%LMQ%a"), LmqIndex::kNone);
  ASSERT_TRUE(succeeded(index.reserve(0, 1, 6)));
  ASSERT_TRUE(succeeded(index.create("%LMQ%a").status()));
  EXPECT_EQ(index.add(0, {0, {0, 10, 0}}).code(), Code::kInternal);
  EXPECT_EQ(index.entryCount(), 0u);
  EXPECT_EQ(index.nextOffset(0), 0);
}

TEST_P(LmqModesTest, TheNextOffsetIsOnlyRaised) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  model.create(index, "%LMQ%a");
  index.setNextOffset(0, 500);
  index.setNextOffset(0, 400);
  EXPECT_EQ(index.nextOffset(0), 500);
  EXPECT_EQ(index.minOffset(0, 0), 500) << "an empty queue begins where it ends";
  model.queues[0].next = 500;
  model.add(index, 0);
  EXPECT_EQ(index.minOffset(0, 0), 500);
  ASSERT_NO_FATAL_FAILURE(model.expectSame(index));
}

TEST_P(LmqModesTest, NamesOfAllLengthsCrossFilesWhole) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  // With 131 bytes on average they reach into the second file.
  for (size_t i = 0; model.queues.size() < 36000; i++) {
    std::string name = "%LMQ%" + std::to_string(i);
    name.resize(std::max(name.size(), i % 250 + 6), '.');
    ASSERT_NO_FATAL_FAILURE(model.create(index, name));
  }
  ASSERT_NO_FATAL_FAILURE(model.expectSame(index, 0));
  EXPECT_EQ(index.find("%LMQ%36001"), LmqIndex::kNone);
}

TEST_P(LmqModesTest, ListPagesThroughAPrefixInTheOrderOfCreation) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  std::vector<std::string> expected;
  for (int i = 0; i < 10000; i++) {
    const std::string name = (i % 3 == 0 ? "%LMQ%a" : "%LMQ%b") + std::to_string(i);
    model.create(index, name);
    if (i % 3 == 0) expected.push_back(name);
  }
  std::vector<std::string> found;
  for (uint64_t cursor = 0; cursor < index.queueCount();) {
    const size_t before = found.size();
    index.list("%LMQ%a", &cursor, 7, &found);
    ASSERT_LE(found.size() - before, 7u);
  }
  EXPECT_EQ(found, expected);
  uint64_t cursor = LmqIndex::kNone;
  index.list("", &cursor, 7, &found);
  EXPECT_EQ(found.size(), expected.size());
}

TEST_P(LmqModesTest, AQueueIsListedAsSoonAsItIsCreated) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  model.create(index, "%LMQ%a");
  uint64_t cursor = 0;
  std::vector<std::string> found;
  index.list("%LMQ%", &cursor, 10, &found);
  model.create(index, "%LMQ%b");
  index.list("%LMQ%", &cursor, 10, &found);
  EXPECT_EQ(found, (std::vector<std::string>{"%LMQ%a", "%LMQ%b"}));
}

TEST_P(LmqModesTest, PrefetchingUnknownAndRepeatedNamesIsHarmless) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  model.grow(index, 100, 40);
  std::vector<std::string_view> names(100, "%LMQ%unknown");
  for (size_t i = 0; i < 40; i++) names[i] = model.queues[i % model.queues.size()].name;
  index.prefetch(names.data(), names.size());
  index.prefetch(nullptr, 0);
  ASSERT_NO_FATAL_FAILURE(model.expectSame(index));
}

TEST_P(LmqModesTest, ResetForgetsEverything) {
  LmqIndex index(modeOptions());
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel before;
  before.grow(index, 500, 20);
  ASSERT_TRUE(succeeded(index.reset(77)));
  EXPECT_EQ(index.queueCount(), 0u);
  EXPECT_EQ(index.find(before.queues[0].name), LmqIndex::kNone);
  LmqModel model(2);
  model.grow(index, 500, 20);
  ASSERT_NO_FATAL_FAILURE(model.expectSame(index));
}

TEST_F(LmqIndexTest, RoomForManyEntriesCrossesFiles) {
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(index.reset(0)));
  ASSERT_TRUE(succeeded(index.reserve(LmqEntry::kEntriesPerFile + 10, 1, 6)));
  ASSERT_TRUE(succeeded(index.create("%LMQ%a").status()));
  const int64_t count = LmqEntry::kEntriesPerFile + 10;
  for (int64_t i = 0; i < count; i++) {
    ASSERT_TRUE(succeeded(index.add(0, {i, {100 * i, 100, i}})));
  }
  PlacedUnit page[64];
  size_t found = 0;
  ASSERT_TRUE(succeeded(index.units(0, count - 40, 64, page, &found)));
  ASSERT_EQ(found, 40u);
  EXPECT_EQ(page[0], (PlacedUnit{count - 40, {100 * (count - 40), 100, count - 40}}));
  ASSERT_TRUE(succeeded(index.sync(index.entryCount())));
  EXPECT_TRUE(inspect(entriesFile(1))->exists);
}

TEST_F(LmqIndexTest, ADiskThatIsFullIsAnErrorBeforeAnythingIsAdded) {
  SmallDisk disk("size=256k");
  if (!disk.isMounted()) GTEST_SKIP() << "cannot mount a file system here";
  LmqIndex::Options small = options();
  small.directory = disk / "lmq";
  small.workDirectory = disk / "work";
  LmqIndex index(small);
  ASSERT_TRUE(succeeded(index.reset(0)));
  LmqModel model;
  Status status;
  for (int i = 0; i < 10000 && status.ok(); i++) {
    status = index.reserve(1, 1, 12);
    if (!status.ok()) break;
    ASSERT_NO_FATAL_FAILURE(model.create(index, "%LMQ%" + std::to_string(1000000 + i)));
    ASSERT_NO_FATAL_FAILURE(model.add(index, model.queues.size() - 1));
  }
  EXPECT_EQ(status.code(), Code::kDiskFull);
  EXPECT_GT(model.entries, 100u);
  ASSERT_NO_FATAL_FAILURE(model.expectSame(index));
}

}  // namespace
}  // namespace lmq
