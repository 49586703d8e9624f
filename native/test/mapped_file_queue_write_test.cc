// The append side of a MappedFileQueue.
#include <atomic>
#include <cstring>
#include <thread>

#include "core/bytes.h"
#include "core/mapped_file_queue.h"
#include "mapped_file_queue_fixture.h"

namespace lmq {
namespace {

INSTANTIATE_TEST_SUITE_P(, BothWaysQueueTest, testing::Values(false, true), [](const auto& info) {
  return info.param ? "ByPosition" : "WherePossibleByMap";
});

TEST_P(BothWaysQueueTest, WritingRollsOverToTheNextFile) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(queue.load()));
  ASSERT_TRUE(succeeded(writeText(queue, kSize - 5, "first")));
  ASSERT_TRUE(succeeded(writeText(queue, kSize, "second")));
  EXPECT_EQ(queue.bases(), (Bases{0, kSize}));
  EXPECT_EQ(queue.endOfFiles(), 2 * kSize);
  EXPECT_TRUE(workFiles().empty());
  EXPECT_EQ(textAt(queue, kSize - 5, 5), "first");
  EXPECT_TRUE(succeeded(queue.sync(kSize - 5, kSize + 6)));

  MappedFileQueue again(options());
  ASSERT_TRUE(succeeded(again.load()));
  EXPECT_EQ(textAt(again, kSize, 6), "second");
  ASSERT_TRUE(succeeded(writeText(again, kSize + 6, ", more")));
  EXPECT_EQ(textAt(queue, kSize, 12), "second, more");
}

TEST_P(BothWaysQueueTest, ABlankIsWrittenAfterRoomWasMadeInTheNextFile) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(queue.reserve(kSize - 8, 8)));
  ASSERT_TRUE(succeeded(queue.reserve(kSize, 100)));
  uint8_t* blank = queue.window(kSize - 8, 8);
  ASSERT_NE(blank, nullptr);
  std::memcpy(blank, "....tail", 8);
  ASSERT_TRUE(succeeded(queue.commit(kSize - 8, 8, blank, 8)));
  EXPECT_EQ(textAt(queue, kSize - 8, 8), std::string("\0\0\0\10tail", 8));
}

TEST_P(BothWaysQueueTest, AReaderNeverSeesAFirstWordBeforeTheRest) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(queue.reserve(0, kSize)));
  std::atomic<bool> done{false};
  std::atomic<int> torn{0};
  std::thread reader([&] {
    MappedFileQueue other(options());
    EXPECT_TRUE(succeeded(other.load()));
    ReadBuffer buffer;
    for (uint64_t at = 0; at < kSize && !done; at += 32) {
      Result<MappedFileQueue::Pinned> seen = other.read(at, 32, buffer);
      while (loadAcquire32(seen->data) == 0 && !done) std::this_thread::yield();
      if (loadAcquire32(seen->data) != 0 && seen->data[31] != 'x') ++torn;
    }
  });
  for (uint64_t at = 0; at < kSize; at += 32) {
    uint8_t* window = queue.window(at, 32);
    std::memset(window + 4, 'x', 28);
    ASSERT_TRUE(queue.commit(at, 32, window, 32).ok());
  }
  done = true;
  reader.join();
  EXPECT_EQ(torn, 0);
}

TEST_P(BothWaysQueueTest, TruncateZeroesTheTailAndRemovesLaterFiles) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(writeText(queue, 0, std::string(kSize, 'a'))));
  ASSERT_TRUE(succeeded(writeText(queue, kSize, std::string(kSize, 'b'))));
  ASSERT_TRUE(succeeded(writeText(queue, 2 * kSize, "c")));
  ASSERT_TRUE(succeeded(queue.truncate(kSize + 100)));
  EXPECT_EQ(files(), (Names{fileNameOf(0), fileNameOf(kSize)}));
  EXPECT_TRUE(contentOf(pathOf(0)) == std::string(kSize, 'a'));
  EXPECT_TRUE(contentOf(pathOf(kSize)) == std::string(100, 'b') + std::string(kSize - 100, '\0'));
  ASSERT_TRUE(succeeded(writeText(queue, kSize + 100, "again")));
  EXPECT_EQ(textAt(queue, kSize + 99, 6), "bagain");
}

TEST_P(BothWaysQueueTest, TruncateOfZerosWritesNothing) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(writeText(queue, 0, "some bytes")));
  ASSERT_TRUE(succeeded(queue.sync(0, 10)));
  ageFile(pathOf(0));
  const int64_t before = modifiedAt(pathOf(0));
  MappedFileQueue again(options());
  ASSERT_TRUE(succeeded(again.load()));
  ASSERT_TRUE(succeeded(again.truncate(10)));
  EXPECT_EQ(modifiedAt(pathOf(0)), before);
  EXPECT_EQ(textAt(again, 0, 10), "some bytes");
}

TEST_F(QueueTest, OnlyTheNextFileIsEverMade) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(writeText(queue, 3 * kSize, "begins anywhere")));
  EXPECT_EQ(queue.reserve(5 * kSize, 1).code(), Code::kNotFound);
  EXPECT_EQ(queue.reserve(2 * kSize, 1).code(), Code::kNotFound);
  EXPECT_EQ(queue.reserve(UINT64_MAX - 1, 1).code(), Code::kNotFound);
  EXPECT_EQ(queue.reserve(UINT64_MAX, 8).code(), Code::kNotFound);
  EXPECT_EQ(queue.bases(), Bases{3 * kSize});
  EXPECT_TRUE(succeeded(writeText(queue, 3 * kSize + 15, "goes on")));
}

TEST_F(QueueTest, NoRangeCrossesAFile) {
  MappedFileQueue queue(options());
  EXPECT_EQ(queue.reserve(kSize - 4, 5).code(), Code::kInternal);
  EXPECT_EQ(queue.reserve(0, kSize + 1).code(), Code::kInternal);
  EXPECT_EQ(queue.reserve(4, SIZE_MAX).code(), Code::kInternal);
  EXPECT_TRUE(queue.empty());
  ASSERT_TRUE(succeeded(queue.reserve(kSize - 4, 4)));
  EXPECT_EQ(queue.window(kSize - 4, 5), nullptr);
}

TEST_F(QueueTest, WithoutAReserveThereIsNoWindow) {
  MappedFileQueue queue(options());
  uint8_t byte = 0;
  EXPECT_EQ(queue.window(0, 1), nullptr);
  EXPECT_EQ(queue.commit(0, 1, &byte).code(), Code::kNotFound);
  ASSERT_TRUE(succeeded(queue.reserve(0, 1)));
  EXPECT_NE(queue.window(8191, 1), nullptr);
  EXPECT_EQ(queue.window(8192, 1), nullptr);
  EXPECT_EQ(queue.window(kSize, 1), nullptr);
  ASSERT_TRUE(succeeded(queue.reserve(8192, 1)));
  EXPECT_NE(queue.window(8192, 1), nullptr);
}

TEST_F(QueueTest, AReaderCannotReserve) {
  makeLog();
  MappedFileQueue::Options reading = options();
  reading.access = Access::kRead;
  MappedFileQueue queue(reading);
  EXPECT_EQ(queue.reserve(0, 1).code(), Code::kReadOnly);
  EXPECT_TRUE(files().empty());
}

TEST_F(QueueTest, EmptyFilesBehindTheLastAreIgnoredAndReplacedWhenTheirTurnComes) {
  makeLog();
  writeFile(pathOf(0), std::string(kSize, 'a'));
  writeFile(pathOf(kSize), "");
  writeFile(pathOf(2 * kSize), "");
  const int64_t before = modifiedAt(pathOf(kSize));
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(queue.load()));
  EXPECT_EQ(queue.bases(), Bases{0});
  EXPECT_EQ(modifiedAt(pathOf(kSize)), before);
  ASSERT_TRUE(succeeded(writeText(queue, kSize, "x")));
  ASSERT_TRUE(succeeded(writeText(queue, 2 * kSize, "y")));
  EXPECT_EQ(inspect(pathOf(kSize))->size, kSize);
  EXPECT_EQ(textAt(queue, 2 * kSize, 1), "y");
}

TEST_F(QueueTest, ANextFileThatHasAppearedWithContentIsNotOverwritten) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(writeText(queue, 0, "x")));
  writeFile(pathOf(kSize), std::string(kSize, 'b'));
  const Status status = queue.reserve(kSize, 1);
  ASSERT_EQ(status.code(), Code::kCorruptFile);
  EXPECT_EQ(status.facts().path, pathOf(kSize));
  EXPECT_TRUE(workFiles().empty());
  writeFile(pathOf(kSize), std::string(100, '\0'));
  EXPECT_TRUE(succeeded(writeText(queue, kSize, "y")));
}

TEST_F(QueueTest, AFullDiskIsACodeChangesNothingAndPasses) {
  SmallDisk disk("size=192k");
  if (!disk.isMounted()) GTEST_SKIP() << "no permission to mount";
  MappedFileQueue::Options small = options();
  small.directory = disk / "log";
  small.workDirectory = disk / "work";
  MappedFileQueue queue(small);
  ASSERT_TRUE(succeeded(writeText(queue, 0, std::string(kSize, 'a'))));
  writeFile(disk / "filler", std::string(96 * 1024, 'f'));
  ASSERT_TRUE(succeeded(writeText(queue, kSize, "b")));
  const Status status = queue.reserve(2 * kSize - 1, 1);
  EXPECT_EQ(status.code(), Code::kDiskFull);
  EXPECT_EQ(textAt(queue, kSize, 1), "b");
  ASSERT_TRUE(removeFile(disk / "filler").ok());
  EXPECT_TRUE(succeeded(writeText(queue, 2 * kSize - 1, "c")));
}

TEST_F(QueueTest, ADiskTooFullForTheNextFileLeavesNoTraceOfIt) {
  SmallDisk disk("size=96k");
  if (!disk.isMounted()) GTEST_SKIP() << "no permission to mount";
  MappedFileQueue::Options small = options();
  small.directory = disk / "log";
  small.workDirectory = disk / "work";
  MappedFileQueue queue(small);
  ASSERT_TRUE(succeeded(writeText(queue, 0, std::string(kSize, 'a'))));
  EXPECT_EQ(queue.reserve(kSize, kSize).code(), Code::kDiskFull);
  EXPECT_EQ(queue.bases(), Bases{0});
  EXPECT_TRUE(TempDirectory::namesIn(disk / "work").empty());
  EXPECT_TRUE(succeeded(writeText(queue, kSize, "fits")));
}

TEST_P(BothWaysQueueTest, TheNextFileIsMadeAheadAsideAndMovedInWhenItIsNeeded) {
  Preparer preparer;
  MappedFileQueue::Options ahead = options();
  ahead.prepareAhead = kSize;
  MappedFileQueue queue(ahead, &preparer);
  ASSERT_TRUE(succeeded(writeText(queue, 0, "a")));
  ASSERT_TRUE(succeeded(writeText(queue, kSize / 2 + 100, "b")));
  while (workFiles().empty()) {  // another task may have been under way: then a later write asks
    ASSERT_TRUE(succeeded(writeText(queue, kSize - 1, "c")));
    std::this_thread::yield();
  }
  EXPECT_EQ(queue.bases(), Bases{0});
  EXPECT_EQ(files(), Names{fileNameOf(0)});
  ASSERT_TRUE(succeeded(writeText(queue, kSize, "d")));
  EXPECT_EQ(queue.bases(), (Bases{0, kSize}));
  EXPECT_EQ(textAt(queue, kSize, 2), std::string("d\0", 2));
}

TEST_P(BothWaysQueueTest, WritingBesideThePreparerLosesNothing) {
  Preparer preparer;
  MappedFileQueue::Options ahead = options();
  ahead.prepareAhead = 40 * 1024;
  {
    MappedFileQueue queue(ahead, &preparer);
    for (uint64_t at = 0; at < 12 * kSize; at += 64) {
      ASSERT_TRUE(
          succeeded(writeText(queue, at, std::string(64, static_cast<char>('a' + at % 7)))));
    }
  }
  EXPECT_TRUE(workFiles().empty());  // a file that was made ahead and never used is gone
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(queue.load()));
  ASSERT_EQ(queue.bases().size(), 12u);
  for (uint64_t at = 0; at < 12 * kSize; at += 64) {
    ASSERT_EQ(textAt(queue, at, 64), std::string(64, static_cast<char>('a' + at % 7)));
  }
}

TEST_F(QueueTest, TruncateDropsWhatWasPreparedForAnotherEnd) {
  Preparer preparer;
  MappedFileQueue::Options ahead = options();
  ahead.prepareAhead = kSize;
  MappedFileQueue queue(ahead, &preparer);
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(succeeded(writeText(queue, 0, "a")));
    ASSERT_TRUE(succeeded(writeText(queue, kSize - 1, "b")));
    ASSERT_TRUE(succeeded(writeText(queue, kSize, "c")));
    ASSERT_TRUE(succeeded(queue.truncate(100)));
    EXPECT_TRUE(workFiles().empty());
    EXPECT_EQ(queue.bases(), Bases{0});
  }
}

TEST_F(QueueTest, AFullDiskWhilePreparingIsNotTheWritersConcern) {
  SmallDisk disk("size=80k");
  if (!disk.isMounted()) GTEST_SKIP() << "no permission to mount";
  Preparer preparer;
  MappedFileQueue::Options small = options();
  small.directory = disk / "log";
  small.workDirectory = disk / "work";
  small.prepareAhead = kSize;
  MappedFileQueue queue(small, &preparer);
  for (uint64_t at = 0; at < kSize; at += 512) {
    ASSERT_TRUE(succeeded(writeText(queue, at, std::string(512, 'x'))));
  }
  EXPECT_TRUE(contentOf(small.directory + "/" + fileNameOf(0)) == std::string(kSize, 'x'));
}

TEST_F(QueueTest, ASyncCoversTheEntriesOfNewFilesUntilItHasSucceeded) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(writeText(queue, 0, "x")));
  ASSERT_TRUE(succeeded(renameFile(directory_ / "log", directory_ / "away")));
  EXPECT_EQ(queue.sync(0, 1).code(), Code::kNotFound);
  EXPECT_EQ(queue.sync(0, 1).code(), Code::kNotFound);
  ASSERT_TRUE(succeeded(renameFile(directory_ / "away", directory_ / "log")));
  EXPECT_TRUE(succeeded(queue.sync(0, 1)));
  ASSERT_TRUE(succeeded(renameFile(directory_ / "log", directory_ / "away")));
  EXPECT_TRUE(succeeded(queue.sync(0, 1)));  // no new file: the directory is not asked
}

TEST_F(QueueTest, SyncsRunBesideTheWriterAndReaders) {
  Preparer preparer;
  MappedFileQueue::Options ahead = options();
  ahead.prepareAhead = 32 * 1024;
  ahead.maxOpenFiles = 1;
  MappedFileQueue queue(ahead, &preparer);
  std::atomic<uint64_t> written{0};
  const uint64_t end = 8 * kSize;
  std::thread flusher([&] {
    for (uint64_t from = 0; from < end;) {
      const uint64_t to = written.load(std::memory_order_acquire);
      EXPECT_TRUE(succeeded(queue.sync(from, to)));
      from = to;
    }
  });
  std::thread reader([&] {
    ReadBuffer buffer;
    for (uint64_t at = 0; at < end; at += 4096) {
      while (written.load(std::memory_order_acquire) < at + 128) std::this_thread::yield();
      Result<MappedFileQueue::Pinned> read = queue.read(at, 128, buffer);
      ASSERT_TRUE(succeeded(read.status()));
      ASSERT_EQ(read->data[127], 'x');
    }
  });
  for (uint64_t at = 0; at < end; at += 128) {
    ASSERT_TRUE(succeeded(writeText(queue, at, std::string(128, 'x'))));
    written.store(at + 128, std::memory_order_release);
  }
  flusher.join();
  reader.join();
}

}  // namespace
}  // namespace lmq
