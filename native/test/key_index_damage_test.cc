// Index files of any content and length: searched, restored and written to without reading beyond
// them, and without an end that never comes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/key_index.h"
#include "temp_directory.h"

namespace lmq {
namespace {

constexpr KeyIndexShape kShape{7, 9};  // eight entries a file
constexpr int64_t kTime = 1700000000000;
constexpr int64_t kForever = INT64_MAX;

using Positions = std::vector<int64_t>;

class KeyIndexDamageTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(succeeded(makeDirectories(directory_ / "work")));
    auto index = open();
    for (int64_t i = 0; i < 7; ++i) add(*index, i % 2 == 0 ? "a" : "b", 100 * i);
    index = nullptr;
    path_ = directory_ / ("index/" + TempDirectory::namesIn(directory_ / "index")[0]);
    whole_ = contentOf(path_);
    ASSERT_EQ(whole_.size(), kShape.fileSize());
  }

  std::unique_ptr<KeyIndex> open(Access access = Access::kWrite, size_t odd = 0) {
    KeyIndex::Options options;
    options.directory = directory_ / "index";
    options.workDirectory = directory_ / "work";
    options.shape = kShape;
    options.shapes = {kShape, KeyIndex::kBrokerShape};
    options.access = access;
    options.readMode = access == Access::kWrite ? ReadMode::kMap : ReadMode::kPositional;
    auto index = std::make_unique<KeyIndex>(options, nullptr);
    std::vector<Status> notes;
    EXPECT_TRUE(succeeded(index->load(&notes)));
    EXPECT_EQ(notes.size(), odd);
    return index;
  }
  static void add(KeyIndex& index, const std::string& key, int64_t position) {
    const Keys keys{"", key, {}};
    ASSERT_TRUE(succeeded(index.reserve(1)));
    ASSERT_TRUE(succeeded(index.add(record::javaHash("T"), keys, position, kTime + position)));
  }
  static Status search(KeyIndex& index, const std::string& key, Positions* found, int64_t begin = 0,
                       int64_t end = kForever) {
    KeyIndex::Search search;
    search.hash = KeyIndex::hashOf("T", key);
    search.begin = begin;
    search.end = end;
    for (int step = 0; !search.done; ++step) {
      if (step > 100) return Status(Code::kInternal, "it does not end");
      LMQ_TRY(index.search(&search, found));
    }
    return {};
  }
  static Positions find(KeyIndex& index, const std::string& key, int64_t begin = 0,
                        int64_t end = kForever) {
    Positions found;
    EXPECT_TRUE(succeeded(search(index, key, &found, begin, end)));
    return found;
  }
  void write(size_t at, const std::string& bytes) {
    std::filesystem::remove_all(directory_ / "index");
    std::filesystem::create_directories(directory_ / "index");
    std::string changed = whole_;
    writeFile(path_, changed.replace(at, bytes.size(), bytes));
  }
  static std::string number(int64_t value, size_t size) {
    uint8_t bytes[8];
    if (size == 8) store<int64_t>(bytes, value);
    if (size == 4) store<int32_t>(bytes, static_cast<int32_t>(value));
    return std::string(reinterpret_cast<const char*>(bytes), size);
  }

  // What must hold whatever the file says. With `entriesAreWhole`, that nothing is lost either.
  void expectSurvived(const std::string& what, bool entriesAreWhole) {
    {
      auto reader = open(Access::kReadQuietly);
      for (const int64_t begin : {int64_t{0}, kTime + 300, INT64_MIN, INT64_MAX}) {
        for (const int64_t end : {int64_t{0}, kTime + 300, INT64_MIN, INT64_MAX}) {
          EXPECT_LE(find(*reader, "a", begin, end).size(), 8u) << what;
        }
      }
      EXPECT_TRUE(succeeded(reader->refresh().status()));
      (void)reader->isPlausible();
    }
    auto index = open();
    for (const char* key : {"a", "b", "none"}) EXPECT_LE(find(*index, key).size(), 8u) << what;
    ASSERT_TRUE(succeeded(index->restore(700, [](int64_t offset) {
      return offset <= 700 ? kTime + offset : int64_t{-1};
    }))) << what;
    EXPECT_TRUE(index->isPlausible()) << what;
    const int64_t last = index->lastPhysicalOffset();
    EXPECT_LT(last, 700) << what;
    // Dispatched again, everything is there, once.
    for (int64_t i = 0; i < 7; ++i) add(*index, i % 2 == 0 ? "a" : "b", 100 * i);
    for (int64_t i = 7; i < 20; ++i) add(*index, i % 2 == 0 ? "a" : "b", 100 * i);
    if (!entriesAreWhole) return;
    EXPECT_GE(last, 500) << what;
    index = open();
    Positions expected;
    for (int64_t i = 18; i >= 0; i -= 2) expected.push_back(100 * i);
    EXPECT_EQ(find(*index, "a"), expected) << what;
  }

  TempDirectory directory_{memoryDirectory()};
  std::string path_;
  std::string whole_;
};

TEST_F(KeyIndexDamageTest, NumbersOfTheHeaderMayBeAny) {
  for (const auto& [at, size] :
       std::vector<std::pair<size_t, size_t>>{{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 4}, {36, 4}}) {
    for (const int64_t value :
         {INT64_MIN, INT64_MAX, INT64_MAX - 999, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{8},
          int64_t{9}, int64_t{10}, int64_t{INT32_MAX}, int64_t{INT32_MIN}}) {
      write(at, number(value, size));
      expectSurvived(std::to_string(at) + " " + std::to_string(value), true);
    }
  }
}

TEST_F(KeyIndexDamageTest, SlotsMayLeadAnywhere) {
  for (const int64_t value : {-1, 0, 1, 7, 8, 9, 10, INT32_MAX, INT32_MIN}) {
    std::string slots;
    for (int64_t i = 0; i < kShape.slots; ++i) slots += number(value, 4);
    write(KeyIndexFile::kHeaderSize, slots);
    expectSurvived(std::to_string(value), true);
  }
}

TEST_F(KeyIndexDamageTest, EntriesMayHoldAnything) {
  for (int64_t entry = 0; entry < kShape.entries; ++entry) {
    const size_t at = kShape.entryAt(entry);
    for (const int64_t value : {INT64_MIN, INT64_MAX, int64_t{-1}, int64_t{0}}) {
      write(at + 4, number(value, 8));
      expectSurvived(std::to_string(entry) + " position " + std::to_string(value), entry == 0);
    }
    for (const size_t field : {0, 12, 16}) {
      for (const int64_t value : {-1, 0, 1, 8, 9, INT32_MAX, INT32_MIN}) {
        write(at + field, number(value, 4));
        expectSurvived(
            std::to_string(entry) + " field " + std::to_string(field) + " " + std::to_string(value),
            field == 16 || entry == 0);
      }
    }
  }
}

TEST_F(KeyIndexDamageTest, AnyByteMayBeAnyOther) {
  for (size_t at = 0; at < whole_.size(); ++at) {
    for (const char byte : {'\0', '\xff'}) {
      write(at, std::string(1, byte));
      expectSurvived(std::to_string(at), false);
    }
  }
}

TEST_F(KeyIndexDamageTest, AFileOfAnyLengthIsLeftAlone) {
  for (size_t length = 0; length < whole_.size(); ++length) {
    const std::string cut = whole_.substr(0, length);
    writeFile(path_, cut);
    for (const Access access : {Access::kReadQuietly, Access::kWrite}) {
      auto index = open(access, 1);
      EXPECT_EQ(index->lastPhysicalOffset(), -1) << length;
      Positions found;
      const Status status = search(*index, "a", &found);
      EXPECT_TRUE(status.ok() || status.code() == Code::kFileSize) << length;
      // Once the number of entries is there the file may have the answer.
      if (length >= KeyIndexFile::kHeaderSize) {
        EXPECT_EQ(status.code(), Code::kFileSize) << length;
      }
      EXPECT_TRUE(found.empty()) << length;
      if (access != Access::kWrite) continue;
      EXPECT_TRUE(succeeded(index->restore(kForever, [](int64_t) { return kTime; })));
      add(*index, "a", 700);
      EXPECT_EQ(index->lastPhysicalOffset(), 700);
    }
    EXPECT_EQ(contentOf(path_), cut) << length;
    for (const std::string& name : TempDirectory::namesIn(directory_ / "index")) {
      if (directory_ / ("index/" + name) != path_) {
        std::filesystem::remove(directory_ / ("index/" + name));
      }
    }
  }
}

TEST_F(KeyIndexDamageTest, AFileCutUnderAReaderIsAnErrorByName) {
  auto reader = open(Access::kReadQuietly);
  EXPECT_EQ(find(*reader, "b"), (Positions{500, 300, 100}));
  for (const size_t length : {KeyIndexFile::kHeaderSize + 4 * 7 + 20 * 5, size_t{41}, size_t{0}}) {
    writeFile(path_, whole_.substr(0, length));
    Positions found;
    const Status status = search(*reader, "b", &found);
    EXPECT_EQ(status.code(), Code::kIo) << length;
    EXPECT_EQ(status.facts().path, path_) << length;
  }
  // Removed, it is read on; a look at the directory then finds nothing.
  writeFile(path_, whole_);
  std::filesystem::remove(path_);
  EXPECT_EQ(find(*reader, "b"), (Positions{500, 300, 100}));
  EXPECT_TRUE(*reader->refresh());
  EXPECT_EQ(find(*reader, "b"), Positions{});
}

TEST_F(KeyIndexDamageTest, WhatIsNoFileOfTheIndexIsPassedOver) {
  const std::string folder = directory_ / "index";
  std::filesystem::create_directories(folder + "/99990101000000000");
  writeFile(folder + "/9999010100000000", whole_);    // 16 digits
  writeFile(folder + "/999901010000000000", whole_);  // 18
  writeFile(folder + "/9999010100000000x", whole_);
  auto index = open();
  EXPECT_EQ(index->lastPhysicalOffset(), 600);
  EXPECT_EQ(find(*index, "b"), (Positions{500, 300, 100}));
  EXPECT_TRUE(succeeded(index->removeAll()));
  EXPECT_EQ(TempDirectory::namesIn(folder).size(), 4u);

  index = nullptr;
  std::filesystem::remove_all(folder);
  writeFile(folder, "a file in its place");
  KeyIndex::Options options;
  options.directory = folder;
  options.shape = kShape;
  options.shapes = {kShape};
  std::vector<Status> notes;
  const Status status = KeyIndex(options, nullptr).load(&notes);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.facts().path, folder);
}

TEST_F(KeyIndexDamageTest, FilesThatTradedTheirNamesAreStillSearched) {
  auto index = open();
  for (int64_t i = 7; i < 12; ++i) add(*index, i % 2 == 0 ? "a" : "b", 100 * i);
  index = nullptr;
  const std::vector<std::string> names = TempDirectory::namesIn(directory_ / "index");
  ASSERT_EQ(names.size(), 2u);
  const std::string other = directory_ / ("index/" + names[1]);
  const std::string newer = contentOf(other);
  writeFile(other, whole_);
  writeFile(path_, newer);
  index = open();
  EXPECT_LE(find(*index, "a", 0, kForever).size(), 6u);
  EXPECT_EQ(index->lastPhysicalOffset(), 1100);
  ASSERT_TRUE(succeeded(index->restore(700, [](int64_t offset) { return kTime + offset; })));
  EXPECT_TRUE(index->isPlausible());
}

// A search that goes on in a file that is gone takes the one before it, from its newest entry.
TEST_F(KeyIndexDamageTest, ASearchSurvivesTheEndOfItsFile) {
  auto index = open();
  for (int64_t i = 7; i < 2000; ++i) add(*index, "a", 100 * i);
  KeyIndex::Search search;
  search.hash = KeyIndex::hashOf("T", "a");
  search.end = kForever;
  Positions found;
  ASSERT_TRUE(succeeded(index->search(&search, &found)));
  ASSERT_FALSE(search.done);
  EXPECT_LE(found.size(), 520u);  // a step has an end
  const int64_t looked = found.back();
  ASSERT_TRUE(succeeded(index->detachBefore(looked + 1)));
  ASSERT_TRUE(succeeded(index->removeDetached()));
  while (!search.done) ASSERT_TRUE(succeeded(index->search(&search, &found)));
  for (size_t i = 1; i < found.size(); ++i) ASSERT_EQ(found[i], found[i - 1] - 100);
  EXPECT_LE(found.back(), looked);
  EXPECT_GT(found.back(), looked - 100 * kShape.entries);
}

}  // namespace
}  // namespace lmq
