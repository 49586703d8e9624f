// Damaged files of the index: a correct prefix or kCorruptFile, never anything else.
#include "core/bytes.h"
#include "core/crc32.h"
#include "lmq_fixture.h"

namespace lmq {
namespace {

constexpr size_t kCovered = 40;
constexpr size_t kBehind = 60;
constexpr uint64_t kEntrySize = LmqEntry::kSize;

class LmqDamageTest : public LmqIndexTest {
 protected:
  LmqDamageTest() {
    LmqIndex index(options());
    EXPECT_TRUE(succeeded(index.reset(0)));
    model_.grow(index, kCovered, 3);
    EXPECT_TRUE(succeeded(index.writeSnapshot(model_.logEnd, {}, atOnce)));
    coveredNames_ = index.readSnapshot()->names;
    coveredQueues_ = model_.queues.size();
    model_.grow(index, kBehind, 9);
    all_ = model_.inOrder();
    entries_ = headOf(entriesFile(), (kCovered + kBehind) * kEntrySize);
    names_ = headOf(namesFile(), 4096);
    table_ = contentOf(tableFile());
  }

  // A fresh reader of the files as they are.
  Status read(std::unique_ptr<LmqIndex>* reader, ReadMode mode = ReadMode::kMap) {
    LmqIndex::Options readerOptions = options(Access::kRead);
    readerOptions.readMode = mode;
    *reader = std::make_unique<LmqIndex>(readerOptions);
    return load(**reader);
  }

  // Every queue read from end to end: each page is right, or the damage is named.
  void expectRightOrCorrupt(const LmqIndex& index) {
    for (uint64_t queue = 0; queue < index.queueCount(); queue++) {
      const Units& known = model_.queues[queue].units;
      for (int64_t from = 0; from < model_.queues[queue].next; from += 3) {
        PlacedUnit page[8];
        size_t count = 0;
        const Status status = index.units(queue, from, 8, page, &count);
        if (!status.ok()) {
          ASSERT_EQ(status.code(), Code::kCorruptFile);
          ASSERT_EQ(status.facts().path, entriesFile());
          ASSERT_GE(status.facts().offset, 0);
          continue;
        }
        const Units expected = expectedUnits(known, from, 8);
        ASSERT_LE(count, expected.size());
        for (size_t i = 0; i < count; i++) ASSERT_EQ(page[i], expected[i]);
      }
      // Answers need not be right behind damage, but must come.
      (void)index.minOffset(queue, model_.logEnd / 2);
      (void)index.lastPhysicalOffset(queue);
    }
  }

  // The answer of an index that was cut at `count` entries and `queues` names.
  void expectPrefix(const LmqIndex& index, uint64_t count, uint64_t queues) {
    LmqModel cut = model_.cutTo(all_, count);
    cut.queues.resize(queues);
    ASSERT_NO_FATAL_FAILURE(cut.expectSame(index, 2));
  }

  LmqModel model_;
  uint64_t coveredNames_ = 0;
  uint64_t coveredQueues_ = 0;
  std::vector<std::pair<uint64_t, PlacedUnit>> all_;
  std::string entries_;
  std::string names_;
  std::string table_;
};

TEST_F(LmqDamageTest, EntriesThatEndAnywhereGiveAPrefixOrCorruption) {
  std::unique_ptr<LmqIndex> reader;
  for (size_t end = entries_.size() + 1; end-- > 0;) {
    if (end < entries_.size()) overwrite(entriesFile(), end, std::string(1, '\0'));
    if (end == (kCovered - 1) * kEntrySize - 1) break;
    const size_t whole = end / kEntrySize;
    const Status status = read(&reader, end % 2 == 0 ? ReadMode::kMap : ReadMode::kPositional);
    // The last bytes of the last covered entry are not read on loading, only its checksum.
    if (end < kCovered * kEntrySize - kEntrySize + 4) {
      ASSERT_EQ(status.code(), Code::kCorruptFile) << end;
      continue;
    }
    ASSERT_TRUE(succeeded(status)) << end;
    if (whole < kCovered) {
      ASSERT_NO_FATAL_FAILURE(expectRightOrCorrupt(*reader));
      continue;
    }
    // An entry may end with zeros of its own, and be whole before its last byte.
    if (reader->entryCount() != whole) {
      ASSERT_EQ(reader->entryCount(), whole + 1);
      ASSERT_EQ(entries_.find_first_not_of('\0', end), (whole + 1) * kEntrySize);
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(expectPrefix(*reader, whole, model_.queues.size())) << end;
  }
}

TEST_F(LmqDamageTest, NamesThatEndAnywhereGiveAPrefixOrCorruption) {
  std::unique_ptr<LmqIndex> reader;
  const size_t size = names_.find_last_not_of('\0') + 1;
  for (size_t end = size; end-- > 0;) {
    overwrite(namesFile(), end, std::string(1, '\0'));
    const Status status = read(&reader, end % 2 == 0 ? ReadMode::kMap : ReadMode::kPositional);
    if (end < coveredNames_) {
      ASSERT_EQ(status.code(), Code::kCorruptFile) << end;
      continue;
    }
    ASSERT_TRUE(succeeded(status)) << end;
    const uint64_t queues = reader->queueCount();
    ASSERT_GE(queues, coveredQueues_);
    uint64_t usable = kCovered;
    while (usable < all_.size() && all_[usable].first < queues) usable++;
    ASSERT_NO_FATAL_FAILURE(expectPrefix(*reader, usable, queues)) << end;
  }
}

TEST_F(LmqDamageTest, ATableThatEndsAnywhereIsCorruption) {
  std::unique_ptr<LmqIndex> reader;
  for (size_t length = 0; length < table_.size(); length++) {
    writeFile(tableFile(), table_.substr(0, length));
    ASSERT_EQ(read(&reader).code(), Code::kCorruptFile) << length;
  }
  writeFile(tableFile(), table_ + '\0');
  EXPECT_EQ(read(&reader).code(), Code::kCorruptFile);
}

TEST_F(LmqDamageTest, EveryFlippedByteOfTheTableIsCorruption) {
  std::unique_ptr<LmqIndex> reader;
  for (size_t at = 0; at < table_.size(); at++) {
    std::string damaged = table_;
    damaged[at] ^= 0x40;
    writeFile(tableFile(), damaged);
    ASSERT_EQ(read(&reader).code(), Code::kCorruptFile) << at;
  }
}

TEST_F(LmqDamageTest, ATableOfALaterVersionIsNotTouched) {
  std::string later = table_;
  later[11] = 2;
  uint8_t* bytes = reinterpret_cast<uint8_t*>(later.data());
  store<uint32_t>(bytes + 124, crc32(0, bytes, 124));
  writeFile(tableFile(), later);
  LmqIndex index(options());
  EXPECT_EQ(index.readSnapshot().status().code(), Code::kVersion);
  EXPECT_EQ(contentOf(tableFile()), later);
}

TEST_F(LmqDamageTest, EveryFlippedByteOfTheNamesIsAPrefixOrCorruption) {
  std::unique_ptr<LmqIndex> reader;
  const size_t size = names_.find_last_not_of('\0') + 1;
  for (size_t at = 0; at < size; at++) {
    overwrite(namesFile(), at, std::string(1, static_cast<char>(names_[at] ^ 0x11)));
    const Status status = read(&reader);
    if (at < coveredNames_) {
      ASSERT_EQ(status.code(), Code::kCorruptFile) << at;
    } else {
      ASSERT_TRUE(succeeded(status));
      ASSERT_LT(reader->queueCount(), model_.queues.size());
      ASSERT_NO_FATAL_FAILURE(expectRightOrCorrupt(*reader));
    }
    overwrite(namesFile(), at, names_.substr(at, 1));
  }
}

TEST_F(LmqDamageTest, EveryFlippedByteOfAnEntryIsNoticed) {
  std::unique_ptr<LmqIndex> reader;
  for (size_t at = 0; at < entries_.size(); at++) {
    overwrite(entriesFile(), at, std::string(1, static_cast<char>(entries_[at] ^ 0x11)));
    const Status status = read(&reader);
    const uint64_t entry = at / kEntrySize;
    if (entry == kCovered - 1 && at % kEntrySize < 4) {
      ASSERT_EQ(status.code(), Code::kCorruptFile);
    } else {
      ASSERT_TRUE(succeeded(status)) << at;
      if (entry >= kCovered) {
        ASSERT_EQ(reader->entryCount(), entry);
      }
      ASSERT_NO_FATAL_FAILURE(expectRightOrCorrupt(*reader));
    }
    overwrite(entriesFile(), at, entries_.substr(at, 1));
  }
}

TEST_F(LmqDamageTest, AWriterCutsWhatIsDamagedAndGoesOn) {
  overwrite(entriesFile(), 70 * kEntrySize + 20, "damage");
  const uint64_t names = names_.find_last_not_of('\0') + 1;
  overwrite(namesFile(), names, "a torn name");
  LmqModel cut = model_.cutTo(all_, 70);
  {
    LmqIndex index(options());
    ASSERT_TRUE(succeeded(load(index)));
    ASSERT_NO_FATAL_FAILURE(cut.expectSame(index));
    EXPECT_EQ(contentOf(entriesFile()).find_first_not_of('\0', 70 * kEntrySize), std::string::npos);
    EXPECT_EQ(contentOf(namesFile()).find_first_not_of('\0', names), std::string::npos);
    cut.grow(index, 100, 20);
    ASSERT_NO_FATAL_FAILURE(cut.expectSame(index));
  }
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(load(index)));
  ASSERT_NO_FATAL_FAILURE(cut.expectSame(index));
}

TEST_F(LmqDamageTest, WholeEntriesThatAreNotTheirQueuesNextEndTheReplay) {
  std::unique_ptr<LmqIndex> reader;
  for (const uint64_t other : {0, 10, 39, 50, 98}) {
    overwrite(entriesFile(), 80 * kEntrySize, entries_.substr(other * kEntrySize, kEntrySize));
    ASSERT_TRUE(succeeded(read(&reader)));
    ASSERT_NO_FATAL_FAILURE(expectPrefix(*reader, 80, model_.queues.size()));
  }
}

TEST_F(LmqDamageTest, HostileEntriesWithRightChecksumsNeverLoop) {
  std::mt19937_64 random(5);
  std::unique_ptr<LmqIndex> reader;
  for (int round = 0; round < 300; round++) {
    std::string hostile = entries_;
    for (int n = 0; n < 20; n++) {
      uint8_t* at = reinterpret_cast<uint8_t*>(hostile.data()) + random() % kCovered * kEntrySize;
      LmqEntry entry;
      if (!entry.decode(at)) continue;
      const auto number = [&] { return random() % 3 == 0 ? random() >> 24 : random() % 110; };
      if (random() % 2 == 0) entry.previous = number();
      if (random() % 2 == 0) entry.skip = number();
      if (random() % 4 == 0) entry.queue = random() % 5;
      if (random() % 4 == 0) entry.placed.queueOffset = random() % 50;
      if (random() % 4 == 0) entry.placed.unit.physicalOffset = random() % model_.logEnd;
      uint32_t checksum;
      entry.encode(at, &checksum);
      store<uint32_t>(at, checksum);
    }
    overwrite(entriesFile(), 0, hostile);
    if (!read(&reader).ok()) continue;
    for (uint64_t queue = 0; queue < reader->queueCount(); queue++) {
      for (int64_t from = 0; from < 60; from += 5) {
        PlacedUnit page[8];
        size_t count = 0;
        const Status status = reader->units(queue, from, 8, page, &count);
        ASSERT_TRUE(status.ok() || status.code() == Code::kCorruptFile);
        for (size_t i = 1; i < count; i++) ASSERT_GT(page[i].queueOffset, page[i - 1].queueOffset);
      }
      (void)reader->minOffset(queue, static_cast<int64_t>(random() % model_.logEnd));
    }
  }
}

TEST_F(LmqDamageTest, RandomDamageEverywhereNeverCrashes) {
  std::mt19937_64 random(7);
  std::unique_ptr<LmqIndex> reader;
  for (int round = 0; round < 500; round++) {
    const auto damage = [&](std::string bytes) {
      for (uint64_t n = random() % 4; n > 0; n--) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      return bytes;
    };
    overwrite(entriesFile(), 0, damage(entries_));
    overwrite(namesFile(), 0, damage(names_));
    writeFile(tableFile(), random() % 3 == 0 ? damage(table_) : table_);
    const Status status = read(&reader, round % 2 == 0 ? ReadMode::kMap : ReadMode::kPositional);
    if (!status.ok()) {
      ASSERT_EQ(status.code(), Code::kCorruptFile);
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(expectRightOrCorrupt(*reader));
    ASSERT_TRUE(succeeded(reader->refresh().status()));
  }
}

TEST_F(LmqDamageTest, FilesThatAreMissingAreCorruption) {
  std::unique_ptr<LmqIndex> reader;
  ASSERT_TRUE(succeeded(renameFile(entriesFile(), directory_ / "entries")));
  EXPECT_EQ(read(&reader).code(), Code::kCorruptFile);
  ASSERT_TRUE(succeeded(renameFile(directory_ / "entries", entriesFile())));
  ASSERT_TRUE(succeeded(renameFile(namesFile(), directory_ / "names")));
  EXPECT_EQ(read(&reader).code(), Code::kCorruptFile);
  ASSERT_TRUE(succeeded(renameFile(directory_ / "names", namesFile(1))));
  EXPECT_EQ(read(&reader).code(), Code::kCorruptFile);
  ASSERT_TRUE(succeeded(renameFile(namesFile(1), namesFile())));
  EXPECT_TRUE(succeeded(read(&reader)));
}

TEST_F(LmqDamageTest, FilesOfAnotherLengthAreCorruption) {
  std::unique_ptr<LmqIndex> reader;
  writeFile(entriesFile(1), entries_);
  EXPECT_EQ(read(&reader).code(), Code::kCorruptFile);
  ASSERT_TRUE(succeeded(removeFile(entriesFile(1))));
  writeFile(namesFile(1), names_);
  EXPECT_EQ(read(&reader).code(), Code::kCorruptFile);
}

TEST_F(LmqDamageTest, ATableOfOtherEntriesOrNamesIsCorruption) {
  const std::string table = table_;
  {
    LmqIndex index(options());
    ASSERT_TRUE(succeeded(index.reset(0)));
    LmqModel other(99);
    other.grow(index, 200, 3);
  }
  writeFile(tableFile(), table);
  std::unique_ptr<LmqIndex> reader;
  EXPECT_EQ(read(&reader).code(), Code::kCorruptFile) << "same names, other entries";
  overwrite(entriesFile(), 0, entries_);
  EXPECT_TRUE(succeeded(read(&reader)));
  overwrite(namesFile(), 0, std::string(4096, '\0'));
  {
    LmqIndex index(options());
    ASSERT_TRUE(succeeded(index.reset(0)));
    LmqModel other;
    for (uint64_t queue = 0; queue < coveredQueues_; queue++) {
      std::string name = model_.queues[queue].name;
      name.back() = 'x';
      other.create(index, name);
      other.add(index, queue);
    }
  }
  overwrite(entriesFile(), 0, entries_);
  writeFile(tableFile(), table);
  EXPECT_EQ(read(&reader).code(), Code::kCorruptFile) << "same entries, other names";
}

// A hole that a lost page leaves is not the end of a file of names.
TEST_F(LmqDamageTest, NamesInALaterFileBehindAHoleAreNotTaken) {
  {
    LmqIndex index(options());
    ASSERT_TRUE(succeeded(load(index)));
    while (!inspect(namesFile(1))->exists) {
      std::string name = "%LMQ%" + std::to_string(model_.queues.size());
      name.resize(250, '.');
      ASSERT_NO_FATAL_FAILURE(model_.create(index, name));
    }
  }
  std::unique_ptr<LmqIndex> reader;
  ASSERT_TRUE(succeeded(read(&reader)));
  EXPECT_EQ(reader->queueCount(), model_.queues.size());
  overwrite(namesFile(), 2 * 1024 * 1024, std::string(kNamesFileSize - 2 * 1024 * 1024, '\0'));
  ASSERT_TRUE(succeeded(read(&reader)));
  EXPECT_LT(reader->queueCount(), model_.queues.size() / 2 + 20);
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(load(index)));
  EXPECT_EQ(index.queueCount(), reader->queueCount());
  EXPECT_FALSE(inspect(namesFile(1))->exists) << "what lay behind the hole is gone";
}

}  // namespace
}  // namespace lmq
