// Snapshots, and what is replayed behind them.
#include <atomic>
#include <mutex>
#include <thread>

#include "lmq_fixture.h"

namespace lmq {
namespace {

class LmqLoadTest : public LmqIndexTest {
 protected:
  // An index of `entries` entries on disk, `covered` of them below its snapshot.
  void build(size_t covered, size_t behind, uint64_t queues) {
    LmqIndex index(options());
    ASSERT_TRUE(succeeded(index.reset(0)));
    model_.grow(index, covered, queues);
    ASSERT_TRUE(succeeded(index.writeSnapshot(model_.logEnd, {}, atOnce)));
    model_.grow(index, behind, queues + queues / 2);
  }

  LmqModel model_;
};

TEST_F(LmqLoadTest, WithoutFilesThereIsNoSnapshot) {
  LmqIndex index(options());
  EXPECT_EQ(index.readSnapshot().status().code(), Code::kNotFound);
  EXPECT_EQ(index.load({}, INT64_MAX, 0).code(), Code::kNotFound);
  EXPECT_TRUE(directory_.names().empty()) << "looking creates nothing";
}

TEST_F(LmqLoadTest, TheSnapshotSaysWhatItCovers) {
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(index.reset(4711)));
  Result<LmqIndex::Snapshot> snapshot = index.readSnapshot();
  ASSERT_TRUE(succeeded(snapshot.status()));
  EXPECT_EQ(snapshot->logPosition, 4711);
  EXPECT_EQ(snapshot->last.physicalOffset, -1);
  EXPECT_EQ(snapshot->entries, 0u);

  model_.grow(index, 100, 10);
  EXPECT_EQ(index.entriesSinceSnapshot(), 100u);
  RecordIdentity last;
  last.physicalOffset = 123;
  last.size = 456;
  last.crc = 0x789ABCDE;
  ASSERT_TRUE(succeeded(index.writeSnapshot(model_.logEnd, last, atOnce)));
  EXPECT_EQ(index.entriesSinceSnapshot(), 0u);
  snapshot = index.readSnapshot();
  ASSERT_TRUE(succeeded(snapshot.status()));
  EXPECT_EQ(snapshot->logPosition, model_.logEnd);
  EXPECT_EQ(snapshot->entries, 100u);
  EXPECT_EQ(snapshot->queues, model_.queues.size());
  EXPECT_EQ(snapshot->last.physicalOffset, 123);
  EXPECT_EQ(snapshot->last.size, 456u);
  EXPECT_EQ(snapshot->last.crc, 0x789ABCDEu);
}

TEST_F(LmqLoadTest, SnapshotAndReplayEqualTheOriginal) {
  for (const auto& [covered, behind] :
       {std::pair<size_t, size_t>{0, 3000}, {3000, 0}, {5000, 5000}}) {
    model_ = LmqModel(covered + 1);
    ASSERT_NO_FATAL_FAILURE(build(covered, behind, 200));
    for (const Access access : {Access::kRead, Access::kReadQuietly, Access::kWrite}) {
      LmqIndex index(options(access));
      ASSERT_TRUE(succeeded(load(index, model_.logEnd, model_.entries)));
      EXPECT_EQ(index.entriesSinceSnapshot(), behind);
      ASSERT_NO_FATAL_FAILURE(model_.expectSame(index));
    }
  }
}

TEST_F(LmqLoadTest, AppendingGoesOnWhereALoadedIndexEnded) {
  ASSERT_NO_FATAL_FAILURE(build(1000, 777, 30));
  for (int i = 0; i < 5; i++) {
    LmqIndex index(options());
    ASSERT_TRUE(succeeded(load(index)));
    model_.grow(index, 333, 60);
    ASSERT_NO_FATAL_FAILURE(model_.expectSame(index));
    if (i == 3) {
      ASSERT_TRUE(succeeded(index.writeSnapshot(model_.logEnd, {}, atOnce)));
    }
  }
}

TEST_F(LmqLoadTest, FilesWrittenByPositionLoadLikeMappedOnes) {
  {
    PositionalWrites positional;
    ASSERT_NO_FATAL_FAILURE(build(2000, 2000, 100));
  }
  LmqIndex::Options byPosition = options(Access::kRead);
  byPosition.readMode = ReadMode::kPositional;
  LmqIndex reader(byPosition);
  ASSERT_TRUE(succeeded(load(reader)));
  ASSERT_NO_FATAL_FAILURE(model_.expectSame(reader));
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(load(index)));
  ASSERT_NO_FATAL_FAILURE(model_.expectSame(index));
}

TEST_F(LmqLoadTest, ARaisedNextOffsetIsInTheSnapshot) {
  {
    LmqIndex index(options());
    ASSERT_TRUE(succeeded(index.reset(0)));
    model_.create(index, "%LMQ%expired");
    index.setNextOffset(0, 1000);
    ASSERT_TRUE(succeeded(index.writeSnapshot(0, {}, atOnce)));
  }
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(load(index)));
  EXPECT_EQ(index.nextOffset(0), 1000);
  EXPECT_EQ(index.minOffset(0, 0), 1000);
}

// Rows are taken in pieces; between two of them appending goes on.
TEST_F(LmqLoadTest, ASnapshotTakenWhileAppendingEqualsTheOriginal) {
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(index.reset(0)));
  model_.grow(index, 20000, 5000);
  int pieces = 0;
  const auto between = [&](const std::function<void()>& run) {
    run();
    if (pieces++ > 0) model_.grow(index, 500, 6000);
  };
  ASSERT_TRUE(succeeded(index.writeSnapshot(model_.logEnd, {}, between)));
  EXPECT_GT(pieces, 5);
  EXPECT_EQ(index.entriesSinceSnapshot(), model_.entries - 20000);
  model_.grow(index, 1000, 6000);
  ASSERT_NO_FATAL_FAILURE(model_.expectSame(index, 1));

  LmqIndex loaded(options());
  ASSERT_TRUE(succeeded(load(loaded)));
  ASSERT_NO_FATAL_FAILURE(model_.expectSame(loaded, 2));
  model_.grow(loaded, 20000, 6000);
  ASSERT_NO_FATAL_FAILURE(model_.expectSame(loaded, 2));
}

TEST_F(LmqLoadTest, SnapshotsAndSyncsRunBesideAppends) {
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(index.reset(0)));
  std::mutex lock;
  const auto locked = [&](const std::function<void()>& run) {
    const std::lock_guard<std::mutex> held(lock);
    run();
  };
  std::atomic<bool> done{false};
  std::thread appending([&] {
    for (int i = 0; i < 200; i++) locked([&] { model_.grow(index, 250, 5000); });
    done = true;
  });
  int snapshots = 0;
  while (!done) {
    int64_t logEnd = 0;
    uint64_t entries = 0;
    locked([&] {
      logEnd = model_.logEnd;
      entries = index.entryCount();
    });
    ASSERT_TRUE(succeeded(index.sync(entries)));
    ASSERT_TRUE(succeeded(index.writeSnapshot(logEnd, {}, locked)));
    snapshots++;
  }
  appending.join();
  EXPECT_GT(snapshots, 0);
  LmqIndex loaded(options());
  ASSERT_TRUE(succeeded(load(loaded, model_.logEnd, model_.entries)));
  ASSERT_NO_FATAL_FAILURE(model_.expectSame(loaded, 1));
}

TEST_F(LmqLoadTest, RowsAheadOfTheLogAreTakenBack) {
  {
    LmqIndex index(options());
    ASSERT_TRUE(succeeded(index.reset(0)));
    model_.grow(index, 2000, 2500);
    int pieces = 0;
    const auto between = [&](const std::function<void()>& run) {
      run();
      if (pieces++ == 0) model_.grow(index, 3000, 2500);
    };
    ASSERT_TRUE(succeeded(index.writeSnapshot(model_.logEnd, {}, between)));
  }
  const auto all = model_.inOrder();
  for (const uint64_t kept : {5000, 4999, 3500, 2001, 2000}) {  // of the log, after a power cut
    LmqModel cut = model_.cutTo(all, kept);
    LmqIndex reader(options(Access::kRead));
    ASSERT_TRUE(succeeded(load(reader, cut.logEnd)));
    ASSERT_NO_FATAL_FAILURE(cut.expectSame(reader, 2));
  }
  LmqModel cut = model_.cutTo(all, 2500);
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(load(index, cut.logEnd)));
  cut.grow(index, 3000, 2600);
  ASSERT_NO_FATAL_FAILURE(cut.expectSame(index, 2));
}

// What is replayed or taken back leaves every row as appending did: the entries that follow are the
// same, byte by byte.
TEST_F(LmqLoadTest, AnIndexThatWasLoadedGoesOnAsIfItHadNotBeen) {
  const auto build = [&](bool interrupted) {
    LmqModel model;
    auto index = std::make_unique<LmqIndex>(options());
    EXPECT_TRUE(succeeded(index->reset(0)));
    for (int round = 0; round < 8; round++) {
      model.grow(*index, 1000, 5);
      int pieces = 0;
      const auto between = [&](const std::function<void()>& run) {
        run();
        if (pieces++ == 0) model.grow(*index, 1000, 7);
      };
      EXPECT_TRUE(succeeded(index->writeSnapshot(model.logEnd, {}, between)));
      model.grow(*index, 300, 9);
      if (!interrupted) continue;
      index = std::make_unique<LmqIndex>(options());
      EXPECT_TRUE(succeeded(load(*index, model.logEnd, model.entries)));
    }
    model.expectSame(*index, 100);
    return headOf(entriesFile(), model.entries * LmqEntry::kSize);
  };
  const std::string expected = build(false);
  const std::string interrupted = build(true);
  EXPECT_EQ(expected.size(), 8 * 2300 * LmqEntry::kSize);
  EXPECT_TRUE(interrupted == expected);
}

TEST_F(LmqLoadTest, AnIndexThatWasTakenBackGoesOnAsIfItHadNotBeenAhead) {
  const auto addUpTo = [](LmqIndex& index, int64_t end) {
    ASSERT_TRUE(succeeded(index.reserve(end - index.entryCount(), 0, 0)));
    for (int64_t i = index.entryCount(); i < end; i++) {
      ASSERT_TRUE(succeeded(index.add(i % 3, {i / 3, {100 * i, 100, i}})));
    }
  };
  const auto start = [&](LmqIndex& index) {
    ASSERT_TRUE(succeeded(index.reset(0)));
    ASSERT_TRUE(succeeded(index.reserve(0, 3, 18)));
    for (const char* name : {"%LMQ%a", "%LMQ%b", "%LMQ%c"}) {
      ASSERT_TRUE(succeeded(index.create(name).status()));
    }
  };
  constexpr uint64_t kBytes = 3000 * LmqEntry::kSize;
  std::string expected;
  {
    LmqIndex index(options());
    start(index);
    addUpTo(index, 3000);
    expected = headOf(entriesFile(), kBytes);
  }
  for (int64_t covered = 0; covered <= 1200;
       covered += 30) {                          // skip entries of all kinds come next
    for (const int64_t behind : {-1, 0, 100}) {  // -1: the rows are not ahead at all
      {
        LmqIndex index(options());
        start(index);
        addUpTo(index, covered);
        const auto between = [&](const std::function<void()>& run) {
          run();
          if (behind >= 0) addUpTo(index, 2000);
        };
        ASSERT_TRUE(succeeded(index.writeSnapshot(100 * covered, {}, between)));
      }
      const int64_t kept = covered + std::max<int64_t>(behind, 0);
      LmqIndex index(options());
      ASSERT_TRUE(succeeded(load(index, 100 * kept)));
      ASSERT_EQ(index.entryCount(), static_cast<uint64_t>(kept));
      addUpTo(index, 3000);
      EXPECT_TRUE(headOf(entriesFile(), kBytes) == expected) << covered;
    }
  }
}

TEST_F(LmqLoadTest, EntriesOfRecordsBehindTheLogAreCut) {
  ASSERT_NO_FATAL_FAILURE(build(100, 400, 10));
  const auto all = model_.inOrder();
  const int64_t logEnd = all[300].second.unit.physicalOffset + 1;  // within record 300
  LmqModel cut = model_.cutTo(all, 300);
  {
    LmqIndex reader(options(Access::kRead));
    ASSERT_TRUE(succeeded(load(reader, logEnd)));
    ASSERT_NO_FATAL_FAILURE(cut.expectSame(reader));
  }
  {
    LmqIndex reader(options(Access::kRead));
    ASSERT_TRUE(succeeded(load(reader)));
    ASSERT_NO_FATAL_FAILURE(model_.expectSame(reader)) << "the reader before cut nothing";
  }
  {
    LmqIndex index(options());
    ASSERT_TRUE(succeeded(load(index, logEnd)));
    ASSERT_NO_FATAL_FAILURE(cut.expectSame(index));
  }
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(load(index)));
  ASSERT_NO_FATAL_FAILURE(cut.expectSame(index)) << "the cut is on disk";
}

TEST_F(LmqLoadTest, FewerEntriesThanWereSyncedIsCorruption) {
  ASSERT_NO_FATAL_FAILURE(build(100, 100, 10));
  overwrite(entriesFile(), 150 * LmqEntry::kSize, std::string(LmqEntry::kSize, '\0'));
  const std::string before = contentOf(entriesFile());
  LmqIndex index(options());
  EXPECT_EQ(load(index, INT64_MAX, 151).code(), Code::kCorruptFile);
  EXPECT_EQ(index.queueCount(), 0u);
  EXPECT_EQ(contentOf(entriesFile()), before) << "nothing was cut";
  EXPECT_TRUE(succeeded(load(index, INT64_MAX, 150)));
}

TEST_F(LmqLoadTest, NamesWithoutEntriesStay) {
  ASSERT_NO_FATAL_FAILURE(build(10, 10, 10));
  {
    LmqIndex index(options());
    ASSERT_TRUE(succeeded(load(index)));
    model_.create(index, "%LMQ%without entries");
  }
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(load(index)));
  ASSERT_NO_FATAL_FAILURE(model_.expectSame(index));
}

TEST_F(LmqLoadTest, TheFilesOfAnIndexThatWasResetAreGone) {
  ASSERT_NO_FATAL_FAILURE(build(100, 100, 10));
  writeFile(entriesFile(7), "of another length");
  {
    LmqIndex index(options());
    EXPECT_EQ(load(index).code(), Code::kCorruptFile);
    ASSERT_TRUE(succeeded(index.reset(5)));
    EXPECT_TRUE(TempDirectory::namesIn(directory_ / "lmq/entries").empty());
    EXPECT_TRUE(TempDirectory::namesIn(directory_ / "lmq/names").empty());
  }
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(load(index)));
  EXPECT_EQ(index.queueCount(), 0u);
}

TEST_F(LmqLoadTest, ASnapshotThatCannotBeWrittenLeavesTheOldOne) {
  ASSERT_NO_FATAL_FAILURE(build(100, 100, 10));
  LmqIndex::Options blocked = options();
  blocked.workDirectory = directory_ / "missing/work";
  LmqIndex index(blocked);
  ASSERT_TRUE(succeeded(load(index)));
  const std::string before = contentOf(tableFile());
  EXPECT_FALSE(index.writeSnapshot(model_.logEnd, {}, atOnce).ok());
  EXPECT_EQ(contentOf(tableFile()), before);
  EXPECT_EQ(index.entriesSinceSnapshot(), 100u);
}

TEST_F(LmqLoadTest, ADiscardedIndexHasNoSnapshotUntilItIsReset) {
  ASSERT_NO_FATAL_FAILURE(build(100, 100, 10));
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(load(index)));
  const auto discardBetween = [&](const std::function<void()>& run) {
    run();
    EXPECT_TRUE(succeeded(index.discard()));
  };
  EXPECT_TRUE(succeeded(index.writeSnapshot(model_.logEnd, {}, discardBetween)));
  EXPECT_TRUE(succeeded(index.writeSnapshot(model_.logEnd, {}, atOnce)));
  EXPECT_EQ(index.readSnapshot().status().code(), Code::kNotFound);
  EXPECT_TRUE(TempDirectory::namesIn(directory_ / "work").empty());
  ASSERT_NO_FATAL_FAILURE(model_.expectSame(index)) << "what is in memory goes on";
  ASSERT_TRUE(succeeded(index.reset(0)));
  EXPECT_TRUE(succeeded(index.readSnapshot().status()));
}

TEST_F(LmqLoadTest, AReaderWritesNothing) {
  ASSERT_NO_FATAL_FAILURE(build(100, 100, 10));
  for (const std::string& path : {entriesFile(), namesFile(), tableFile()}) ageFile(path);
  LmqIndex reader(options(Access::kRead));
  ASSERT_TRUE(succeeded(load(reader)));
  EXPECT_EQ(reader.reserve(1, 1, 10).code(), Code::kReadOnly);
  EXPECT_EQ(reader.reset(0).code(), Code::kReadOnly);
  EXPECT_EQ(reader.writeSnapshot(0, {}, atOnce).code(), Code::kReadOnly);
  EXPECT_TRUE(succeeded(reader.sync(100)));
  for (const std::string& path : {entriesFile(), namesFile(), tableFile()}) {
    EXPECT_EQ(modifiedAt(path), int64_t{1000000000} * 1000000000) << path;
  }
}

TEST_F(LmqLoadTest, TheTableIsAsItsLayoutSays) {
  LmqIndex index(options());
  ASSERT_TRUE(succeeded(index.reset(0)));
  model_.create(index, "%LMQ%a");
  model_.create(index, "%LMQ%b");
  model_.add(index, 0, 5);
  ASSERT_TRUE(succeeded(index.writeSnapshot(0x1234, {}, atOnce)));
  const std::string table = contentOf(tableFile());
  ASSERT_EQ(table.size(), 128u + 2 * 36 + 4);
  EXPECT_EQ(table.substr(0, 8), "LMQTABLE");
  EXPECT_EQ(table.substr(8, 8), std::string("\0\0\0\1\0\0\4\0", 8));
  EXPECT_EQ(table.substr(40, 8), std::string("\0\0\0\0\0\0\x12\x34", 8));
  EXPECT_EQ(table.substr(128, 36), std::string("\0\0\0\0\1"
                                               "\0\0\0\0\0"
                                               "\0\0\0\0\0"
                                               "\0\0\0\0\1"
                                               "\0\0\0\0\0\0\0\6"
                                               "\0\0\0\0\0\0\0\5",
                                               36));
  EXPECT_EQ(table.substr(164, 36), std::string(36, '\0'));
}

}  // namespace
}  // namespace lmq
