#include "core/key_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/bytes.h"
#include "temp_directory.h"

namespace lmq {
namespace {

constexpr KeyIndexShape kSmall{10, 6};  // five entries a file
constexpr int64_t kTime = 1700000000000;
constexpr int64_t kForever = INT64_MAX;

using Positions = std::vector<int64_t>;

class KeyIndexTest : public testing::Test {
 protected:
  KeyIndex::Options options(KeyIndexShape shape = kSmall) const {
    KeyIndex::Options options;
    options.directory = directory_ / "index";
    options.workDirectory = directory_ / "work";
    options.shape = shape;
    options.shapes = {shape, KeyIndex::kBrokerShape};
    return options;
  }
  void SetUp() override { ASSERT_TRUE(succeeded(makeDirectories(directory_ / "work"))); }

  std::unique_ptr<KeyIndex> open(KeyIndexShape shape = kSmall, std::vector<Status>* odd = nullptr) {
    auto index = std::make_unique<KeyIndex>(options(shape), nullptr);
    std::vector<Status> ignored;
    EXPECT_TRUE(succeeded(index->load(odd != nullptr ? odd : &ignored)));
    return index;
  }
  static void add(KeyIndex& index, const std::string& list, int64_t position,
                  int64_t timestamp = kTime, const std::string& unique = "") {
    const Keys keys{unique, list, {}};
    ASSERT_TRUE(succeeded(index.reserve(keys.count())));
    ASSERT_TRUE(succeeded(index.add(record::javaHash("T"), keys, position, timestamp)));
  }
  static Positions find(KeyIndex& index, const std::string& key, int64_t begin = 0,
                        int64_t end = kForever) {
    KeyIndex::Search search;
    search.hash = KeyIndex::hashOf("T", key);
    search.begin = begin;
    search.end = end;
    Positions found;
    while (!search.done) EXPECT_TRUE(succeeded(index.search(&search, &found)));
    return found;
  }
  // Restores with entries of records below `position`; their times are their positions.
  static void restore(KeyIndex& index, int64_t position) {
    ASSERT_TRUE(succeeded(index.restore(position, [](int64_t offset) { return kTime + offset; })));
  }
  std::vector<std::string> names() const { return TempDirectory::namesIn(directory_ / "index"); }
  std::string pathOf(size_t file) const { return directory_ / ("index/" + names()[file]); }
  std::string bytes(size_t file) const {
    Result<std::string> read = readWhole(pathOf(file), 1 << 20);
    EXPECT_TRUE(succeeded(read.status()));
    return *read;
  }
  int64_t number(size_t file, size_t at, size_t size) const {
    const std::string all = bytes(file);
    const auto* from = reinterpret_cast<const uint8_t*>(all.data()) + at;
    return size == 8 ? load<int64_t>(from) : load<int32_t>(from);
  }
  void overwrite(size_t file, uint64_t at, const std::string& with) const {
    Result<File> opened = File::open(pathOf(file), Access::kWrite);
    ASSERT_TRUE(succeeded(opened.status()));
    ASSERT_TRUE(succeeded(opened->writeAt(at, with.data(), with.size())));
  }

  TempDirectory directory_;
};

TEST_F(KeyIndexTest, HashesAreJavas) {
  EXPECT_EQ(KeyIndex::hashOf("TopicTest", "k1"), 2746024);
  EXPECT_EQ(KeyIndex::hashOf("TopicTest", "7F000001ABCD"), 889455372);
  EXPECT_EQ(KeyIndex::hashOf("AaTopic", "Aa"), KeyIndex::hashOf("BBTopic", "BB"));
  // "polygenelubricants" has Java's smallest hash; made the key of no topic it stays so.
  EXPECT_EQ(record::javaHash("polygenelubricants"), INT32_MIN);
}

TEST_F(KeyIndexTest, FilesHaveRocketMqsLayout) {
  auto index = open();
  add(*index, "a b", 100, kTime, "u");
  add(*index, "a  c", 250, kTime + 2500, "v");  // the sixth key goes to the second file
  ASSERT_EQ(names().size(), 2u);
  EXPECT_EQ(names()[0].size(), 17u);
  EXPECT_EQ(bytes(0).size(), kSmall.fileSize());
  EXPECT_EQ(number(0, 0, 8), kTime);
  EXPECT_EQ(number(0, 8, 8), kTime + 2500);
  EXPECT_EQ(number(0, 16, 8), 100);
  EXPECT_EQ(number(0, 24, 8), 250);
  EXPECT_EQ(number(0, 36, 4), 6);
  // Entry 5 is the second "a", whose chain leads to entry 2.
  const size_t fifth = 40 + 4 * 10 + 20 * 5;
  EXPECT_EQ(number(0, fifth, 4), KeyIndex::hashOf("T", "a"));
  EXPECT_EQ(number(0, fifth + 4, 8), 250);
  EXPECT_EQ(number(0, fifth + 12, 4), 2);
  EXPECT_EQ(number(0, fifth + 16, 4), 2);
  EXPECT_EQ(number(0, 40 + 4 * static_cast<size_t>(KeyIndex::hashOf("T", "a") % 10), 4), 5);
  // The first entry of the next file counts from the end of the file before.
  EXPECT_EQ(number(1, 0, 8), kTime + 2500);
  EXPECT_EQ(number(1, 36, 4), 2);
  EXPECT_EQ(number(1, 40 + 4 * 10 + 20 + 12, 4), 0);
}

TEST_F(KeyIndexTest, SearchGivesTheNewestFirstOverFilesAndWithinTimes) {
  auto index = open();
  for (int64_t i = 0; i < 23; ++i)
    add(*index, i % 2 == 0 ? "even" : "odd", i * 10, kTime + i * 1000);
  EXPECT_EQ(find(*index, "even"),
            (Positions{220, 200, 180, 160, 140, 120, 100, 80, 60, 40, 20, 0}));
  EXPECT_EQ(find(*index, "none"), Positions{});
  EXPECT_EQ(find(*index, "odd", kTime + 7000, kTime + 11000), (Positions{110, 90, 70}));
  EXPECT_EQ(find(*index, "odd", kTime + 30000, kForever), Positions{});
  EXPECT_EQ(find(*index, "odd", 0, kTime - 1), Positions{});
}

// Whole seconds: what may lie in the time is a candidate (BR-064).
TEST_F(KeyIndexTest, ATimeWithinASecondIsNotMissed) {
  auto index = open();
  add(*index, "k", 0, kTime);
  add(*index, "k", 10, kTime + 999);
  EXPECT_EQ(find(*index, "k", kTime + 999, kTime + 999), Positions{10});
}

TEST_F(KeyIndexTest, AddingAgainChangesNothing) {
  auto index = open();
  add(*index, "a b c", 100, kTime, "u");
  add(*index, "a b c", 200, kTime, "v");
  const std::string before = bytes(0) + bytes(1);
  add(*index, "a b c", 100, kTime, "u");
  add(*index, "a b c", 200, kTime, "v");
  EXPECT_EQ(bytes(0) + bytes(1), before);
  // Of a record that is there in part, the rest follows.
  add(*index, "a b c d", 200, kTime, "v");
  EXPECT_EQ(find(*index, "d"), Positions{200});
  EXPECT_EQ(number(1, 36, 4), 5);
}

TEST_F(KeyIndexTest, AMessageMayHaveMoreKeysThanAFile) {
  auto index = open();
  std::string list;
  for (int i = 0; i < 17; ++i) list += "k" + std::to_string(i) + " ";
  add(*index, list, 0);
  EXPECT_EQ(names().size(), 4u);
  for (int i = 0; i < 17; ++i) EXPECT_EQ(find(*index, "k" + std::to_string(i)), Positions{0}) << i;
}

TEST_F(KeyIndexTest, ReopeningGoesOnWhereItWas) {
  auto index = open();
  std::string expected;
  for (const bool again : {false, true}) {
    index = nullptr;
    std::filesystem::remove_all(directory_ / "index");
    index = open();
    for (int64_t i = 0; i < 12; ++i) {
      if (again) index = open();
      EXPECT_EQ(index->lastPhysicalOffset(), i == 0 ? -1 : (i - 1) * 10);
      add(*index, "a", i * 10, kTime + i * 1500, i % 3 == 0 ? "u" : "");
    }
    std::string all;
    for (size_t file = 0; file < names().size(); ++file) all += bytes(file);
    if (again) {
      EXPECT_EQ(all, expected);
    }
    expected = all;
  }
}

TEST_F(KeyIndexTest, RestoringIsAsIfLaterRecordsHadNeverBeen) {
  for (int64_t kept = 0; kept <= 9; ++kept) {
    std::filesystem::remove_all(directory_ / "index");
    auto index = open();
    for (int64_t i = 0; i < kept; ++i) add(*index, "a b", i * 10, kTime + i * 10);
    std::string expected;
    const size_t files = names().size();
    for (size_t file = 0; file < files; ++file) expected += bytes(file);
    for (int64_t i = kept; i < 9; ++i) add(*index, "a c", i * 10, kTime + i * 10);
    restore(*index, kept * 10);
    ASSERT_EQ(names().size(), files) << kept;
    std::string found;
    for (size_t file = 0; file < files; ++file) found += bytes(file);
    EXPECT_EQ(found, expected) << kept;
    EXPECT_EQ(index->lastPhysicalOffset(), kept == 0 ? -1 : kept * 10 - 10);
  }
}

// Slots and header may be of any age after a power cut; entries that were synced are what counts.
TEST_F(KeyIndexTest, RestoringNeedsEntriesAlone) {
  auto index = open({10, 40});
  for (int64_t i = 0; i < 15; ++i) add(*index, "a b", i * 10, kTime + i * 10);
  const std::string expected = bytes(0);
  for (const char fill : {'\0', '\xff', '\x11'}) {
    index = nullptr;
    overwrite(0, 0, std::string(40 + 4 * 10, fill));
    index = open({10, 40});
    restore(*index, kForever);
    // Where the header says otherwise, the last record's entries may be a part.
    EXPECT_EQ(index->lastPhysicalOffset(), 130) << static_cast<int>(fill);
    add(*index, "a b", 140, kTime + 140);
    EXPECT_EQ(bytes(0), expected) << static_cast<int>(fill);
  }
}

TEST_F(KeyIndexTest, RestoringEndsWhereEntriesBreakOff) {
  auto index = open({10, 40});
  for (int64_t i = 0; i < 15; ++i) add(*index, "a b", i * 10, kTime + i * 10);
  const std::string expected = bytes(0);
  for (int64_t broken = 1; broken <= 30; ++broken) {
    index = nullptr;
    overwrite(0, 40 + 4 * 10 + 20 * static_cast<uint64_t>(broken), std::string(20, '\0'));
    index = open({10, 40});
    restore(*index, kForever);
    const int64_t kept = std::max<int64_t>((broken - 1) / 2 - (broken % 2 == 0 ? 0 : 1), 0);
    ASSERT_LE(index->lastPhysicalOffset(), (broken - 1) / 2 * 10) << broken;
    ASSERT_GE(index->lastPhysicalOffset(), (kept - 1) * 10) << broken;
    for (int64_t i = 0; i < 15; ++i) add(*index, "a b", i * 10, kTime + i * 10);
    EXPECT_EQ(bytes(0), expected) << broken;
  }
}

TEST_F(KeyIndexTest, ADamagedFileIsNeverReadBeyond) {
  auto index = open();
  for (int64_t i = 0; i < 5; ++i) add(*index, "a", i * 10);
  for (const char fill : {'\xff', '\x7f', '\x01'}) {
    overwrite(0, 40, std::string(kSmall.fileSize() - 40, fill));
    const Positions found = find(*index, "a");
    EXPECT_LE(found.size(), 6u);
  }
  // An entry that names itself as the one before ends its chain.
  overwrite(0, 40, std::string(kSmall.fileSize() - 40, '\0'));
  uint8_t entry[20] = {};
  store<int32_t>(entry, KeyIndex::hashOf("T", "a"));
  store<int32_t>(entry + 16, 3);
  overwrite(0, 40 + 40 + 60, std::string(reinterpret_cast<char*>(entry), 20));
  uint8_t slots[40];
  for (int i = 0; i < 10; ++i) store<int32_t>(slots + 4 * i, 3);
  overwrite(0, 40, std::string(reinterpret_cast<char*>(slots), 40));
  EXPECT_EQ(find(*index, "a"), Positions{0});
}

TEST_F(KeyIndexTest, AFileOfAnUnknownLengthIsLeftAloneAndNamed) {
  auto index = open();
  add(*index, "a", 0);
  add(*index, "a", 10, kTime + 5000);
  index = nullptr;
  const std::string before = bytes(0);
  std::vector<Status> odd;
  index = open({20, 6}, &odd);
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].code(), Code::kFileSize);
  add(*index, "a", 20, kTime + 20000);
  EXPECT_EQ(names().size(), 2u);
  EXPECT_EQ(bytes(0), before);
  // A time that only the new file has is searched; one of the other's is refused by its name.
  EXPECT_EQ(find(*index, "a", kTime + 20000, kForever), Positions{20});
  KeyIndex::Search search;
  search.hash = KeyIndex::hashOf("T", "a");
  search.end = kForever;
  // What the new file has comes first; the step after it fails.
  Positions found;
  EXPECT_TRUE(index->search(&search, &found).ok());
  EXPECT_EQ(found, Positions{20});
  EXPECT_FALSE(search.done);
  found.clear();
  const Status status = index->search(&search, &found);
  EXPECT_EQ(status.code(), Code::kFileSize);
  EXPECT_EQ(status.facts().path, pathOf(0));
  EXPECT_TRUE(found.empty());
}

TEST_F(KeyIndexTest, FilesBelowTheLogAreRemovedButNeverTheNewest) {
  auto index = open();
  for (int64_t i = 0; i < 15; ++i) add(*index, "a", i * 10);
  ASSERT_EQ(names().size(), 3u);
  ASSERT_TRUE(succeeded(index->detachBefore(40)));
  ASSERT_TRUE(succeeded(index->removeDetached()));
  EXPECT_EQ(names().size(), 3u);
  ASSERT_TRUE(succeeded(index->detachBefore(41)));
  ASSERT_TRUE(succeeded(index->removeDetached()));
  EXPECT_EQ(names().size(), 2u);
  ASSERT_TRUE(succeeded(index->detachBefore(1000)));
  ASSERT_TRUE(succeeded(index->removeDetached()));
  EXPECT_EQ(names().size(), 1u);
  EXPECT_EQ(find(*index, "a").front(), 140);
}

TEST_F(KeyIndexTest, WhereNoBlocksArePromisedFilesAreWrittenByPosition) {
  auto index = open();
  for (int64_t i = 0; i < 12; ++i) add(*index, "a b", i * 10, kTime + i * 700);
  std::string expected;
  for (size_t file = 0; file < names().size(); ++file) expected += bytes(file);
  index = nullptr;
  std::filesystem::remove_all(directory_ / "index");
  const bool before = forcePositionalWrites(true);
  index = open();
  for (int64_t i = 0; i < 12; ++i) add(*index, "a b", i * 10, kTime + i * 700);
  forcePositionalWrites(before);
  std::string found;
  for (size_t file = 0; file < names().size(); ++file) found += bytes(file);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace lmq
