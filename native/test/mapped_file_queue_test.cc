#include "core/mapped_file_queue.h"

#include <cstring>

#include "mapped_file_queue_fixture.h"

namespace lmq {
namespace {

TEST(FileNameTest, NamesAreTwentyDigits) {
  EXPECT_EQ(fileNameOf(0), "00000000000000000000");
  EXPECT_EQ(fileNameOf(1073741824), "00000000001073741824");
  EXPECT_EQ(baseOfFileName("00000000001073741824"), 1073741824);
  EXPECT_EQ(baseOfFileName("09223372036854775807"), INT64_MAX);
}

TEST(FileNameTest, OtherNamesAreNotBases) {
  for (const char* name :
       {"", "0", "0000000000000000000", "000000000000000000000", "0000000000000000000x",
        "-0000000000000000001", "09223372036854775808", "99999999999999999999", "lost+found",
        "\xd9\xa0"
        "000000000000000000"}) {
    EXPECT_EQ(baseOfFileName(name), -1) << name;
  }
}

TEST_F(QueueTest, AMissingDirectoryIsAnEmptyQueue) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(queue.load()));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.firstBase(), 0u);
  EXPECT_EQ(queue.endOfFiles(), 0u);
  EXPECT_TRUE(succeeded(queue.truncate(0)));
  EXPECT_TRUE(succeeded(queue.removeAll()));
  EXPECT_TRUE(succeeded(queue.sync(0, kSize)));
  EXPECT_TRUE(directory_.names().empty());
}

TEST_F(QueueTest, TruncateAtTheEndOrBehindItChangesNothing) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(writeText(queue, kSize - 1, "x")));
  ASSERT_TRUE(succeeded(queue.truncate(kSize)));
  ASSERT_TRUE(succeeded(queue.truncate(9 * kSize)));
  EXPECT_EQ(textAt(queue, kSize - 1, 1), "x");
  ASSERT_TRUE(succeeded(writeText(queue, kSize, "y")));
  ASSERT_TRUE(succeeded(queue.truncate(kSize)));  // the file that begins there stays, as zeros
  EXPECT_EQ(queue.bases(), (Bases{0, kSize}));
  EXPECT_EQ(textAt(queue, kSize, 1), std::string(1, '\0'));
}

TEST_F(QueueTest, TruncateBeforeTheFirstFileRemovesAll) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(writeText(queue, 5 * kSize, "x")));
  ASSERT_TRUE(succeeded(writeText(queue, 6 * kSize, "y")));
  ASSERT_TRUE(succeeded(queue.truncate(kSize)));
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(files().empty());
}

TEST_F(QueueTest, ReadsWhereNoFileIsAreNotFound) {
  MappedFileQueue queue(options());
  ReadBuffer buffer;
  EXPECT_EQ(queue.read(0, 1, buffer).status().code(), Code::kNotFound);
  ASSERT_TRUE(succeeded(writeText(queue, kSize, "x")));
  EXPECT_EQ(queue.read(kSize - 1, 1, buffer).status().code(), Code::kNotFound);
  EXPECT_EQ(queue.read(2 * kSize, 1, buffer).status().code(), Code::kNotFound);
  EXPECT_EQ(queue.read(2 * kSize - 1, 2, buffer).status().code(), Code::kNotFound);
  EXPECT_EQ(queue.read(UINT64_MAX, 1, buffer).status().facts().path, directory_ / "log");
  EXPECT_EQ(queue.fileAt(0), nullptr);
  EXPECT_NE(queue.fileAt(2 * kSize - 1), nullptr);
}

TEST_F(QueueTest, StrayNamesAreIgnoredAndLeftAlone) {
  makeLog();
  writeFile(pathOf(0), std::string(kSize, 'a'));
  writeFile(directory_ / "log/.DS_Store", "x");
  writeFile(directory_ / "log/x.bak", "x");
  writeFile(directory_ / "log/zero", "");
  ASSERT_TRUE(makeDirectories(directory_ / "log/lost+found").ok());
  ASSERT_TRUE(makeDirectories(pathOf(7 * kSize)).ok());
  const Names before = files();
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(queue.load()));
  EXPECT_EQ(queue.bases(), Bases{0});
  ASSERT_TRUE(succeeded(queue.truncate(0)));
  EXPECT_EQ(files(), before);
}

TEST_F(QueueTest, AnAllZeroLastFileIsUsedAsItIs) {
  makeLog();
  writeFile(pathOf(0), std::string(kSize, 'a'));
  writeFile(pathOf(kSize), std::string(kSize, '\0'));
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(queue.load()));
  EXPECT_EQ(queue.bases(), (Bases{0, kSize}));
  EXPECT_TRUE(succeeded(writeText(queue, kSize, "x")));
}

TEST_F(QueueTest, AFileOfAnotherLengthIsNamedAndTheOthersAreLoaded) {
  makeLog();
  writeFile(pathOf(0), std::string(kSize, 'a'));
  writeFile(pathOf(kSize), "short");
  writeFile(pathOf(2 * kSize), std::string(kSize, 'c'));
  MappedFileQueue queue(options());
  const Status status = queue.load();
  ASSERT_EQ(status.code(), Code::kFileSize);
  EXPECT_EQ(status.facts().path, pathOf(kSize));
  EXPECT_EQ(queue.bases(), (Bases{0, 2 * kSize}));
  EXPECT_EQ(textAt(queue, 2 * kSize, 1), "c");
}

TEST_F(QueueTest, AnEmptyFileAmongFullOnesIsNamed) {
  makeLog();
  writeFile(pathOf(0), "");
  writeFile(pathOf(kSize), std::string(kSize, 'b'));
  MappedFileQueue queue(options());
  const Status status = queue.load();
  ASSERT_EQ(status.code(), Code::kFileSize);
  EXPECT_EQ(status.facts().path, pathOf(0));
}

TEST_F(QueueTest, ANameThatIsNoMultipleOfTheLengthIsNamed) {
  makeLog();
  writeFile(pathOf(1000), std::string(kSize, 'a'));
  MappedFileQueue queue(options());
  const Status status = queue.load();
  ASSERT_EQ(status.code(), Code::kFileSize);
  EXPECT_EQ(status.facts().path, pathOf(1000));
}

TEST_F(QueueTest, GapsAreShown) {
  makeLog();
  writeFile(pathOf(kSize), std::string(kSize, 'b'));
  writeFile(pathOf(4 * kSize), std::string(kSize, 'e'));
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(queue.load()));
  EXPECT_EQ(queue.bases(), (Bases{kSize, 4 * kSize}));
  EXPECT_EQ(queue.firstBase(), kSize);
  EXPECT_TRUE(succeeded(queue.sync(0, 9 * kSize)));
  ASSERT_TRUE(succeeded(queue.truncate(3 * kSize)));
  EXPECT_EQ(queue.bases(), Bases{kSize});
}

TEST_F(QueueTest, AReaderSeesNewFilesAfterAReload) {
  MappedFileQueue writer(options());
  ASSERT_TRUE(succeeded(writeText(writer, 0, "a")));
  MappedFileQueue::Options reading = options();
  reading.access = Access::kRead;
  MappedFileQueue reader(reading);
  ASSERT_TRUE(succeeded(reader.load()));
  EXPECT_EQ(textAt(reader, 0, 1), "a");
  ASSERT_TRUE(succeeded(writeText(writer, kSize, "b")));
  EXPECT_EQ(reader.bases(), Bases{0});
  const std::shared_ptr<MappedFile> before = reader.fileAt(0);
  ASSERT_TRUE(succeeded(reader.reload()));
  EXPECT_EQ(textAt(reader, kSize, 1), "b");
  EXPECT_EQ(reader.fileAt(0), before);
  writer.detachBefore(kSize);
  ASSERT_TRUE(succeeded(writer.removeDetached()));
  ASSERT_TRUE(succeeded(reader.reload()));
  EXPECT_EQ(reader.bases(), Bases{kSize});
}

TEST_F(QueueTest, AReloadOpensAFileThatWasReplacedAgain) {
  MappedFileQueue writer(options());
  ASSERT_TRUE(succeeded(writeText(writer, 0, "old")));
  MappedFileQueue reader(options());
  ASSERT_TRUE(succeeded(reader.load()));
  EXPECT_EQ(textAt(reader, 0, 3), "old");
  ASSERT_TRUE(succeeded(writer.removeAll()));
  ASSERT_TRUE(succeeded(writeText(writer, 0, "new")));
  ASSERT_TRUE(succeeded(reader.reload()));
  EXPECT_EQ(textAt(reader, 0, 3), "new");
}

TEST_F(QueueTest, WhatIsPinnedOutlivesItsFile) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(writeText(queue, 0, "pinned")));
  ASSERT_TRUE(succeeded(writeText(queue, kSize, "x")));
  ReadBuffer buffer;
  Result<MappedFileQueue::Pinned> read = queue.read(0, 6, buffer);
  queue.detachBefore(kSize);
  ASSERT_TRUE(succeeded(queue.removeDetached()));
  EXPECT_EQ(files(), Names{fileNameOf(kSize)});
  EXPECT_EQ(std::memcmp(read->data, "pinned", 6), 0);
}

TEST_F(QueueTest, TheLastFileIsNeverRemovedByAge) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(writeText(queue, 0, "x")));
  ASSERT_TRUE(succeeded(writeText(queue, kSize, "y")));
  queue.detachBefore(kSize - 1);
  ASSERT_TRUE(succeeded(queue.removeDetached()));
  EXPECT_EQ(queue.bases(), (Bases{0, kSize}));
  queue.detachBefore(9 * kSize);
  ASSERT_TRUE(succeeded(queue.removeDetached()));
  EXPECT_EQ(queue.bases(), Bases{kSize});
}

TEST_F(QueueTest, ARemovedQueueBeginsAnew) {
  MappedFileQueue queue(options());
  ASSERT_TRUE(succeeded(writeText(queue, 0, "x")));
  ASSERT_TRUE(succeeded(writeText(queue, kSize, "y")));
  ASSERT_TRUE(succeeded(queue.removeAll()));
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(queue.window(kSize, 1), nullptr);
  ASSERT_TRUE(succeeded(writeText(queue, 8 * kSize, "z")));
  EXPECT_EQ(queue.bases(), Bases{8 * kSize});
}

TEST_F(QueueTest, FilesBeyondTheLimitAreClosedLeastRecentlyUsedFirst) {
  makeLog();
  for (uint64_t i = 0; i < 5; ++i) writeFile(pathOf(i * kSize), std::string(kSize, 'a'));
  MappedFileQueue::Options few = options();
  few.maxOpenFiles = 2;
  MappedFileQueue queue(few);
  ASSERT_TRUE(succeeded(queue.load()));
  const std::weak_ptr<MappedFile> first = queue.fileAt(0);
  const std::weak_ptr<MappedFile> second = queue.fileAt(kSize);
  const std::weak_ptr<MappedFile> last = queue.fileAt(4 * kSize);
  EXPECT_FALSE(first.expired());
  textAt(queue, 0, 1);
  textAt(queue, 2 * kSize, 1);
  EXPECT_TRUE(second.expired());
  EXPECT_FALSE(first.expired());
  textAt(queue, 3 * kSize, 1);
  EXPECT_TRUE(first.expired());
  EXPECT_FALSE(last.expired());
  EXPECT_EQ(textAt(queue, 0, 1), "a");
}

}  // namespace
}  // namespace lmq
