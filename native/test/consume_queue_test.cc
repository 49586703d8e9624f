// One consume queue with five units a file.
#include "core/consume_queue.h"

#include <gtest/gtest.h>

#include "store_fixture.h"

namespace lmq {
namespace {

constexpr int64_t kPerFile = 5;
constexpr uint64_t kFile = kPerFile * ConsumeQueue::kUnitSize;

class ConsumeQueueTest : public testing::Test {
 protected:
  MappedFileQueue::Options options(const std::string& name = "cq") const {
    MappedFileQueue::Options options;
    options.directory = directory_ / name;
    options.workDirectory = directory_ / "work";
    options.fileSize = kFile;
    options.reserveStep = kFile;
    options.maxOpenFiles = 2;
    return options;
  }
  std::unique_ptr<ConsumeQueue> load(bool dense = false) {
    auto queue = std::make_unique<ConsumeQueue>("T", 0, options());
    EXPECT_TRUE(succeeded(queue->load(dense)));
    return queue;
  }
  // Units of records of 100 bytes, one behind the other: unit n lies at 100 n.
  static void putTo(ConsumeQueue& queue, int64_t end) {
    while (queue.maxOffset() < end) {
      const int64_t offset = queue.maxOffset();
      ASSERT_TRUE(succeeded(queue.put({offset * 100, 100, offset}, offset)));
    }
  }
  // A queue that begins at `first` and ends at `end`.
  std::unique_ptr<ConsumeQueue> make(int64_t end, int64_t first = 0) {
    std::unique_ptr<ConsumeQueue> queue = load();
    EXPECT_TRUE(succeeded(queue->put({first * 100, 100, first}, first)));
    putTo(*queue, end);
    return queue;
  }
  static std::vector<int64_t> offsets(ConsumeQueue& queue, int64_t from, size_t max = 100) {
    std::vector<PlacedUnit> units(max);
    size_t count = 0;
    EXPECT_TRUE(succeeded(queue.units(from, max, units.data(), &count)));
    std::vector<int64_t> all;
    for (size_t i = 0; i < count; ++i) all.push_back(units[i].unit.physicalOffset / 100);
    return all;
  }
  std::string file(int64_t firstUnit) const {
    return directory_ / ("cq/" + fileNameOf(static_cast<uint64_t>(firstUnit * 20)));
  }
  Texts files() const { return TempDirectory::namesIn(directory_ / "cq"); }

  TempDirectory directory_;
};

using Offsets = std::vector<int64_t>;

TEST_F(ConsumeQueueTest, AUnitHasRocketMqsBytes) {  // spec 5.1
  std::unique_ptr<ConsumeQueue> queue = load();
  ASSERT_TRUE(succeeded(queue->put({0, 0x7b, 0x27a807}, 0)));
  ASSERT_TRUE(succeeded(queue->put({0x123456789a, 0x7b, -392709271}, 1)));
  const std::string bytes = contentOf(file(0));
  EXPECT_EQ(record::toHex(reinterpret_cast<const uint8_t*>(bytes.data()), 40),
            "00000000000000000000007b000000000027a807"
            "000000123456789a0000007bffffffffe897bb69");
  EXPECT_EQ(queue->recordsEnd(), 0x123456789a + 0x7b);
  EXPECT_EQ(queue->lastPhysicalOffset(), 0x123456789a);
}

TEST_F(ConsumeQueueTest, ReadsEndWithTheirFile) {  // BR-057
  std::unique_ptr<ConsumeQueue> queue = make(12);
  EXPECT_EQ(offsets(*queue, 0), (Offsets{0, 1, 2, 3, 4}));
  EXPECT_EQ(offsets(*queue, 4), Offsets{4});
  EXPECT_EQ(offsets(*queue, 5, 2), (Offsets{5, 6}));
  EXPECT_EQ(offsets(*queue, 10), (Offsets{10, 11}));
  EXPECT_EQ(offsets(*queue, 12), Offsets{});
  EXPECT_EQ(offsets(*queue, -1), Offsets{});
  EXPECT_EQ(offsets(*queue, int64_t{1} << 60), Offsets{});
}

TEST_F(ConsumeQueueTest, AnEndAtAFileBorderIsFound) {  // BR-057
  for (const bool dense : {false, true}) {
    std::unique_ptr<ConsumeQueue> queue = load(dense);
    const int64_t end = queue->maxOffset() + kPerFile;
    putTo(*queue, end);
    ASSERT_TRUE(succeeded(queue->sync(end)));
    queue = load(dense);
    EXPECT_EQ(queue->maxOffset(), end);
    EXPECT_EQ(offsets(*queue, end - 1), Offsets{end - 1});
    EXPECT_EQ(files().size(), static_cast<size_t>(end / kPerFile));
  }
}

TEST_F(ConsumeQueueTest, TheEndIsFoundAtEveryLength) {
  for (int64_t end = 1; end <= 27; ++end) {
    putTo(*load(end % 2 == 0), end);
    for (const bool dense : {false, true}) {
      std::unique_ptr<ConsumeQueue> queue = load(dense);
      EXPECT_EQ(queue->maxOffset(), end);
      EXPECT_EQ(queue->recordsEnd(), end * 100);
      EXPECT_EQ(*queue->minOffset(0), 0);
    }
  }
}

TEST_F(ConsumeQueueTest, AnEmptyOrTornLastFileIsFine) {  // BR-053
  make(10);
  writeFile(file(10), std::string(kFile, '\0'));
  EXPECT_EQ(load()->maxOffset(), 10);
  EXPECT_EQ(load(true)->maxOffset(), 10);
  fill(file(10), 0, 7, 'x');  // a part of a unit
  EXPECT_EQ(load()->maxOffset(), 10);
  std::unique_ptr<ConsumeQueue> queue = load();
  ASSERT_TRUE(succeeded(queue->truncate(1000)));
  EXPECT_EQ(contentOf(file(10)), std::string(kFile, '\0'));
  putTo(*queue, 11);
  EXPECT_EQ(offsets(*queue, 10), Offsets{10});
}

TEST_F(ConsumeQueueTest, UnitsThatAreNoneEndTheQueue) {  // spec 5.4, Q56
  make(4);
  for (const std::string& unit :
       {std::string(20, '\0'), unitBytes(-1, 100), unitBytes(100, -5), unitBytes(100, 0)}) {
    writeAt(file(0), 20, unit.data(), unit.size());
    EXPECT_EQ(load()->maxOffset(), 1);
  }
}

TEST_F(ConsumeQueueTest, UnitsBehindAMissingFileDoNotCount) {
  make(23);
  std::filesystem::remove(file(5));
  for (const bool dense : {false, true}) {
    std::unique_ptr<ConsumeQueue> queue = load(dense);
    EXPECT_EQ(queue->maxOffset(), 5);
    EXPECT_EQ(*queue->minOffset(0), 0);
    EXPECT_EQ(queue->recordsEnd(), 500);
  }
  std::unique_ptr<ConsumeQueue> queue = load();
  ASSERT_TRUE(succeeded(queue->truncate(100000)));
  EXPECT_EQ(files(), Texts{fileNameOf(0)});
  putTo(*queue, 12);
  EXPECT_EQ(offsets(*queue, 10), (Offsets{10, 11}));
}

TEST_F(ConsumeQueueTest, FilesOfAnotherLengthAreRefused) {
  make(7);
  std::filesystem::resize_file(file(5), 60);
  ConsumeQueue queue("T", 0, options());
  EXPECT_EQ(queue.load(false).code(), Code::kFileSize);
}

// Starting late, and gaps --------------------------------------------------------------------

TEST_F(ConsumeQueueTest, AnEmptyQueueMayStartAnywhereAndIsBlankBefore) {  // spec 5.2
  std::unique_ptr<ConsumeQueue> queue = make(14, 13);
  EXPECT_EQ(files(), Texts{fileNameOf(200)});
  EXPECT_EQ(contentOf(file(10)), unitBytes(0, 0x7FFFFFFF) + unitBytes(0, 0x7FFFFFFF) +
                                     unitBytes(0, 0x7FFFFFFF) + unitBytes(1300, 100, 13) +
                                     std::string(20, '\0'));
  for (const bool dense : {false, true}) {
    queue = load(dense);
    EXPECT_EQ(*queue->minOffset(0), 13);  // BR-058, spec Q9
    EXPECT_EQ(queue->maxOffset(), 14);
    EXPECT_EQ(queue->recordsEnd(), 1400);
  }
}

TEST_F(ConsumeQueueTest, AGapIsFilledWithBlankUnits) {  // spec Q12
  std::unique_ptr<ConsumeQueue> queue = make(3);
  ASSERT_TRUE(succeeded(queue->put({900, 100, 0}, 9)));
  EXPECT_EQ(queue->maxOffset(), 10);
  EXPECT_EQ(contentOf(file(0)).substr(60), unitBytes(0, 0x7FFFFFFF) + unitBytes(0, 0x7FFFFFFF));
  EXPECT_EQ(offsets(*queue, 9), Offsets{9});
  EXPECT_EQ(load()->maxOffset(), 10);
  EXPECT_EQ(load(true)->recordsEnd(), 1000);
}

TEST_F(ConsumeQueueTest, AGapThatIsTooWideIsRefusedAndChangesNothing) {
  std::unique_ptr<ConsumeQueue> queue = make(3);
  const std::string before = contentOf(file(0));
  EXPECT_EQ(queue->put({900, 100, 0}, 4 + ConsumeQueue::kMaxGap).code(), Code::kLimit);
  EXPECT_EQ(queue->maxOffset(), 3);
  EXPECT_EQ(contentOf(file(0)), before);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(ConsumeQueueTest, AnOffsetBeyondAllNumbersIsRefused) {
  std::unique_ptr<ConsumeQueue> queue = load();
  for (const int64_t offset : {ConsumeQueue::kMaxOffset + 1, int64_t{1} << 62, INT64_MAX}) {
    EXPECT_EQ(queue->put({0, 100, 0}, offset).code(), Code::kLimit);
  }
  EXPECT_EQ(files(), Texts{});
  EXPECT_EQ(queue->maxOffset(), 0);
  ASSERT_TRUE(succeeded(queue->put({0, 100, 0}, ConsumeQueue::kMaxOffset)));
  EXPECT_EQ(load()->maxOffset(), ConsumeQueue::kMaxOffset + 1);
}

TEST_F(ConsumeQueueTest, TheMinimumIsSearchedInAllFiles) {  // BR-055, spec Q58
  std::unique_ptr<ConsumeQueue> queue = make(23);
  for (int64_t min = 0; min <= 23; ++min) {
    EXPECT_EQ(*queue->minOffset(min * 100), min);
    EXPECT_EQ(*queue->minOffset(min * 100 - 50), min);
  }
  EXPECT_EQ(*queue->minOffset(5000), 23);
  putTo(*queue, 60);
  EXPECT_EQ(*queue->minOffset(5000), 50);
}

TEST_F(ConsumeQueueTest, BlankUnitsInBetweenHideNoMessage) {
  for (int holes = 0; holes < 64; ++holes) {  // any of units 1 to 6 may be blank
    std::filesystem::remove_all(directory_ / "cq");
    std::unique_ptr<ConsumeQueue> queue = load();
    for (int64_t i = 0; i < 7; ++i) {
      if (i == 0 || (holes >> (i - 1) & 1) == 0) {
        ASSERT_TRUE(succeeded(queue->put({i * 100, 100, 0}, i)));
      }
    }
    for (int64_t min = 0; min < 7; ++min) {
      int64_t expected = min;
      while (expected > 0 && expected < queue->maxOffset() && (holes >> (expected - 1) & 1) != 0)
        ++expected;
      EXPECT_EQ(*queue->minOffset(min * 100), std::min(expected, queue->maxOffset())) << holes;
    }
  }
}

TEST_F(ConsumeQueueTest, RoomAloneMovesNothing) {
  std::unique_ptr<ConsumeQueue> queue = make(5);
  ASSERT_TRUE(succeeded(queue->reserve(5)));
  EXPECT_EQ(queue->maxOffset(), 5);
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(load()->maxOffset(), 5);
  EXPECT_EQ(load(true)->maxOffset(), 5);
}

// Cutting -----------------------------------------------------------------------------------

TEST_F(ConsumeQueueTest, ACutRemovesUnitsFromThereOnAndNothingElse) {
  for (const int64_t first : {0, 13}) {
    for (int64_t cut = first; cut <= 23; ++cut) {
      SCOPED_TRACE(cut);
      std::filesystem::remove_all(directory_ / "cq");
      std::unique_ptr<ConsumeQueue> queue = make(23, first);
      ASSERT_TRUE(succeeded(queue->truncate(cut * 100)));
      EXPECT_EQ(queue->maxOffset(), cut);  // numbering goes on, also when nothing is left
      EXPECT_EQ(queue->recordsEnd(), cut == first ? -1 : cut * 100);
      EXPECT_EQ(*queue->minOffset(0), first);
      std::string all;
      for (const std::string& name : files()) all += contentOf(directory_ / ("cq/" + name));
      const size_t kept = static_cast<size_t>(cut - first / kPerFile * kPerFile) * 20;
      EXPECT_EQ(all.find_first_not_of('\0', kept), std::string::npos);
      putTo(*queue, 26);
      EXPECT_EQ(offsets(*queue, 25), Offsets{25});
      EXPECT_EQ(load()->maxOffset(), 26);
    }
  }
}

TEST_F(ConsumeQueueTest, BlankUnitsAloneKeepTheNumberAndKnowNoRecord) {  // spec Q10
  std::unique_ptr<ConsumeQueue> queue = make(14, 13);
  ASSERT_TRUE(succeeded(queue->truncate(0)));
  EXPECT_EQ(queue->maxOffset(), 13);
  EXPECT_EQ(queue->recordsEnd(), -1);
  EXPECT_EQ(queue->lastPhysicalOffset(), -1);
  EXPECT_EQ(*queue->minOffset(0), 13);  // BR-054: never above the maximum
}

TEST_F(ConsumeQueueTest, ACutSkipsFilesMadeAhead) {
  make(7);
  writeFile(file(10), std::string(kFile, '\0'));
  writeFile(file(15), std::string(kFile, '\0'));
  std::unique_ptr<ConsumeQueue> queue = load();
  ASSERT_TRUE(succeeded(queue->truncate(600)));
  EXPECT_EQ(queue->maxOffset(), 6);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(ConsumeQueueTest, ACutOfNothingTouchesNoFile) {
  make(7);
  ageFile(file(0));
  ageFile(file(5));
  ASSERT_TRUE(succeeded(load()->truncate(700)));
  EXPECT_EQ(modifiedAt(file(0)), int64_t{1000000000} * 1000000000);
  EXPECT_EQ(modifiedAt(file(5)), int64_t{1000000000} * 1000000000);
}

TEST_F(ConsumeQueueTest, WithoutFilesTheQueueIsEmptyAgain) {
  std::unique_ptr<ConsumeQueue> queue = make(7);
  ASSERT_TRUE(succeeded(queue->removeAll()));
  EXPECT_EQ(queue->maxOffset(), 0);
  EXPECT_EQ(files(), Texts{});
  EXPECT_EQ(load()->maxOffset(), 0);
}

TEST_F(ConsumeQueueTest, OnlyWhatIsNotSyncedIsDirty) {
  std::unique_ptr<ConsumeQueue> queue = make(7);
  EXPECT_TRUE(queue->isDirty(7));
  ASSERT_TRUE(succeeded(queue->sync(7)));
  EXPECT_FALSE(queue->isDirty(queue->maxOffset()));
  putTo(*queue, 8);
  EXPECT_TRUE(queue->isDirty(8));
  EXPECT_FALSE(load(true)->isDirty(8));
  // After a kill nobody knows what the device has.
  EXPECT_TRUE(load(false)->isDirty(8));
}

// A reader ----------------------------------------------------------------------------------

TEST_F(ConsumeQueueTest, AReaderSeesWhatComes) {
  MappedFileQueue::Options given = options();
  given.access = Access::kReadQuietly;
  ConsumeQueue reader("T", 0, given);
  ASSERT_TRUE(succeeded(reader.load(false)));
  EXPECT_FALSE(*reader.refresh());
  std::unique_ptr<ConsumeQueue> queue = load();
  for (int64_t end = 1; end <= 23; ++end) {
    putTo(*queue, end);
    EXPECT_TRUE(*reader.refresh());
    EXPECT_FALSE(*reader.refresh());
    EXPECT_EQ(reader.maxOffset(), end);
    EXPECT_EQ(offsets(reader, end - 1), Offsets{end - 1});
  }
  // What the files do not have yet it may add in memory.
  const std::string before = contentOf(file(20));
  ASSERT_TRUE(succeeded(reader.put({2300, 100, 0}, 23)));
  EXPECT_EQ(reader.maxOffset(), 24);
  EXPECT_EQ(offsets(reader, 23), Offsets{23});
  EXPECT_EQ(contentOf(file(20)), before);
  putTo(*queue, 25);
  EXPECT_TRUE(*reader.refresh());
  EXPECT_EQ(offsets(reader, 20), (Offsets{20, 21, 22, 23, 24}));
}

TEST_F(ConsumeQueueTest, AReaderSeesAQueueThatStartsLate) {
  MappedFileQueue::Options given = options();
  given.access = Access::kReadQuietly;
  ConsumeQueue reader("T", 0, given);
  ASSERT_TRUE(succeeded(reader.load(false)));
  make(19, 13);  // two files at once
  EXPECT_TRUE(*reader.refresh());
  EXPECT_EQ(reader.maxOffset(), 19);
  EXPECT_EQ(*reader.minOffset(0), 13);
}

}  // namespace
}  // namespace lmq
