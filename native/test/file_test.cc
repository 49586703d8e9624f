#include "core/file.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "temp_directory.h"

namespace lmq {
namespace {

std::string bytes(size_t count, char first = 'a') {
  std::string text(count, '\0');
  for (size_t i = 0; i < count; ++i) text[i] = static_cast<char>(first + i % 23);
  return text;
}

TEST(FileTest, ReadsBackWhatWasWritten) {
  TempDirectory directory;
  Result<File> file = File::create(directory / "f");
  ASSERT_TRUE(succeeded(file.status()));
  const std::string data = bytes(10000);
  ASSERT_TRUE(succeeded(file->writeAt(77, data.data(), data.size())));
  std::string back(data.size(), '\0');
  ASSERT_TRUE(succeeded(file->readAt(77, back.data(), back.size())));
  EXPECT_EQ(back, data);
  EXPECT_EQ(*file->size(), 10077u);
  EXPECT_TRUE(succeeded(file->syncData()));
}

TEST(FileTest, AMissingFileIsNotFoundAndNamed) {
  TempDirectory directory;
  Result<File> file = File::open(directory / "none", Access::kRead);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), Code::kNotFound);
  EXPECT_EQ(file.status().facts().path, directory / "none");
  EXPECT_EQ(file.status().facts().systemError, ENOENT);
}

TEST(FileTest, CreateRefusesAFileThatExists) {
  TempDirectory directory;
  writeFile(directory / "f", "kept");
  EXPECT_FALSE(File::create(directory / "f").ok());
  EXPECT_EQ(contentOf(directory / "f"), "kept");
}

TEST(FileTest, OpenOrCreateKeepsTheContent) {
  TempDirectory directory;
  writeFile(directory / "f", "kept");
  EXPECT_TRUE(File::openOrCreate(directory / "f").ok());
  EXPECT_EQ(contentOf(directory / "f"), "kept");
  EXPECT_TRUE(File::openOrCreate(directory / "g").ok());
}

TEST(FileTest, AReadBeyondTheEndNamesTheOffsetWhereTheFileEnds) {
  TempDirectory directory;
  writeFile(directory / "f", "12345");
  Result<File> file = File::open(directory / "f", Access::kReadQuietly);
  ASSERT_TRUE(file.ok());
  char out[8];
  const Status status = file->readAt(2, out, sizeof(out));
  ASSERT_EQ(status.code(), Code::kIo);
  EXPECT_EQ(status.facts().offset, 5);
  EXPECT_EQ(*file->readSome(2, out, sizeof(out)), 3u);
  EXPECT_EQ(*file->readSome(9, out, sizeof(out)), 0u);
}

TEST(FileTest, AWriteToAFileOpenedForReadingIsAnError) {
  TempDirectory directory;
  writeFile(directory / "f", "12345");
  Result<File> file = File::open(directory / "f", Access::kRead);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->writeAt(0, "x", 1).ok());
}

TEST(FileTest, DescriptorsAreNotInherited) {
  TempDirectory directory;
  Result<File> file = File::create(directory / "f");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(::fcntl(file->descriptor(), F_GETFD) & FD_CLOEXEC);
  Result<File> quiet = File::open(directory / "f", Access::kReadQuietly);
  EXPECT_TRUE(::fcntl(quiet->descriptor(), F_GETFD) & FD_CLOEXEC);
}

TEST(FileTest, AMovedFileClosesOnce) {
  TempDirectory directory;
  Result<File> made = File::create(directory / "f");
  File file = made.take();
  const int descriptor = file.descriptor();
  File other = std::move(file);
  EXPECT_FALSE(file.isOpen());  // NOLINT(bugprone-use-after-move): the point of the test
  EXPECT_EQ(other.descriptor(), descriptor);
  other = File();
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), -1);
}

TEST(FileTest, ReserveUsesBlocksAndKeepsData) {
  TempDirectory directory;
  Result<File> file = File::create(directory / "f");
  ASSERT_TRUE(succeeded(file->resize(1 << 20)));
  ASSERT_TRUE(succeeded(file->writeAt(5000, "data", 4)));
  Result<File::Reserved> reserved = file->reserve(0, 1 << 19);
  ASSERT_TRUE(succeeded(reserved.status()));
  char back[4];
  ASSERT_TRUE(file->readAt(5000, back, 4).ok());
  EXPECT_EQ(std::string(back, 4), "data");
  EXPECT_EQ(*file->size(), 1u << 20);
  if (*reserved == File::Reserved::kGuaranteed) {
    EXPECT_GE(bytesUsed(directory / "f"), 1u << 19);
  }
}

TEST(FileTest, WithoutAPromiseHolesAreFilledAndDataIsKept) {
  PositionalWrites forced;
  TempDirectory directory;
  Result<File> file = File::create(directory / "f");
  ASSERT_TRUE(succeeded(file->resize(1 << 20)));
  ASSERT_TRUE(succeeded(file->writeAt(100000, "data", 4)));
  Result<File::Reserved> reserved = file->reserve(0, 1 << 19);
  ASSERT_TRUE(succeeded(reserved.status()));
  EXPECT_EQ(*reserved, File::Reserved::kNotGuaranteed);
  ASSERT_TRUE(succeeded(file->reserve(0, 1 << 19).status()));
  std::string expected(1 << 20, '\0');
  expected.replace(100000, 4, "data");
  EXPECT_TRUE(contentOf(directory / "f") == expected);
  ASSERT_TRUE(file->syncData().ok());
#ifdef __linux__
  EXPECT_GE(bytesUsed(directory / "f"), 1u << 19);
  EXPECT_LT(bytesUsed(directory / "f"), 1u << 20);
#endif
}

TEST(FileTest, AFullDiskIsACodeWhenReservingAndWhenWriting) {
  SmallDisk disk("size=1m");
  if (!disk.isMounted()) GTEST_SKIP() << "no permission to mount";
  Result<File> file = File::create(disk / "f");
  ASSERT_TRUE(succeeded(file->resize(8 << 20)));
  EXPECT_EQ(file->reserve(0, 4 << 20).status().code(), Code::kDiskFull);
  {
    PositionalWrites forced;
    EXPECT_EQ(file->reserve(0, 4 << 20).status().code(), Code::kDiskFull);
  }
  const std::string data = bytes(2 << 20);
  const Status status = file->writeAt(0, data.data(), data.size());
  EXPECT_EQ(status.code(), Code::kDiskFull);
  EXPECT_EQ(status.facts().path, disk / "f");
}

TEST(FileTest, PopulatingASparseMapOnAFullDiskIsAnErrorAndNoSignal) {
  SmallDisk disk("size=1m");
  if (!disk.isMounted()) GTEST_SKIP() << "no permission to mount";
  Result<File> file = File::create(disk / "f");
  ASSERT_TRUE(succeeded(file->resize(8 << 20)));
  Result<Mapping> mapping = Mapping::map(*file, 8 << 20, true);
  ASSERT_TRUE(succeeded(mapping.status()));
  const Status status = mapping->populate(0, 4 << 20, file->path());
  if (status.ok()) GTEST_SKIP() << "this kernel does not populate";
  EXPECT_EQ(status.facts().path, disk / "f");
}

TEST(FileTest, ZeroedRangesReadAsZerosThroughAMapToo) {
  TempDirectory directory;
  Result<File> file = File::create(directory / "f");
  const std::string data = bytes(100000);
  ASSERT_TRUE(succeeded(file->writeAt(0, data.data(), data.size())));
  Result<Mapping> mapping = Mapping::map(*file, data.size(), true);
  ASSERT_TRUE(succeeded(mapping.status()));
  mapping->data()[50000] = 'X';
  ASSERT_TRUE(succeeded(file->zero(49999, 30000)));
  std::string expected = data;
  expected.replace(49999, 30000, std::string(30000, '\0'));
  EXPECT_TRUE(contentOf(directory / "f") == expected);
  EXPECT_TRUE(std::string(reinterpret_cast<char*>(mapping->data()), data.size()) == expected);
  EXPECT_EQ(*file->size(), data.size());
}

TEST(FileTest, TheFirstByteThatIsNotZeroIsFoundBehindHoles) {
  TempDirectory directory;
  Result<File> file = File::create(directory / "f");
  ASSERT_TRUE(succeeded(file->resize(10 << 20)));
  EXPECT_EQ(*file->findNonZero(0, 10 << 20), 10u << 20);
  ASSERT_TRUE(file->writeAt(7654321, "x", 1).ok());
  EXPECT_EQ(*file->findNonZero(0, 10 << 20), 7654321u);
  EXPECT_EQ(*file->findNonZero(7654321, 10 << 20), 7654321u);
  EXPECT_EQ(*file->findNonZero(7654322, 10 << 20), 10u << 20);
  EXPECT_EQ(*file->findNonZero(0, 7654321), 7654321u);
}

TEST(FileTest, SeekDataNeverPassesData) {
  TempDirectory directory;
  Result<File> file = File::create(directory / "f");
  ASSERT_TRUE(succeeded(file->resize(4 << 20)));
  ASSERT_TRUE(file->writeAt(2 << 20, "x", 1).ok());
  EXPECT_LE(*file->seekData(0, 4 << 20), 2u << 20);
  EXPECT_EQ(*file->seekData(2 << 20, 4 << 20), 2u << 20);
  EXPECT_EQ(*file->seekData(9 << 20, 4 << 20), 4u << 20);
}

TEST(FileTest, ALockConflictsWithAnotherOpenOfTheSameProcess) {
  TempDirectory directory;
  Result<File> first = File::openOrCreate(directory / "lock");
  Result<File> second = File::openOrCreate(directory / "lock");
  EXPECT_TRUE(*first->lockFirstByte());
  EXPECT_FALSE(*second->lockFirstByte());
  EXPECT_TRUE(*first->lockFirstByte());
  *first = File();
  EXPECT_TRUE(*second->lockFirstByte());
}

TEST(FileTest, ALockSurvivesTheCloseOfAnotherDescriptor) {
  TempDirectory directory;
  Result<File> holder = File::openOrCreate(directory / "lock");
  ASSERT_TRUE(*holder->lockFirstByte());
  { Result<File> stray = File::open(directory / "lock", Access::kRead); }
  Result<File> other = File::openOrCreate(directory / "lock");
  EXPECT_FALSE(*other->lockFirstByte());
}

TEST(FileTest, ALockConflictsWithTheLocksOfJava) {
  TempDirectory directory;
  Result<File> holder = File::openOrCreate(directory / "lock");
  const pid_t child = ::fork();  // a process lock, as FileChannel.tryLock(0, 1, false) takes it
  if (child == 0) {
    const int descriptor = ::open((directory / "lock").c_str(), O_RDWR);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    ::fcntl(descriptor, F_SETLK, &lock);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, WUNTRACED), child);
  EXPECT_FALSE(*holder->lockFirstByte());
  ::kill(child, SIGKILL);
  ::waitpid(child, &state, 0);
  EXPECT_TRUE(*holder->lockFirstByte());
}

TEST(MappingTest, StoresReachTheFileAndCanBeSynced) {
  TempDirectory directory;
  Result<File> file = File::create(directory / "f");
  ASSERT_TRUE(succeeded(file->resize(3 * pageSize() + 10)));
  ASSERT_TRUE(succeeded(file->reserve(0, 3 * pageSize() + 10).status()));
  Result<Mapping> mapping = Mapping::map(*file, 3 * pageSize() + 10, true);
  ASSERT_TRUE(succeeded(mapping.status()));
  EXPECT_TRUE(succeeded(mapping->populate(1, 3 * pageSize() + 9, file->path())));
  mapping->data()[3 * pageSize() + 9] = 'z';
  EXPECT_TRUE(succeeded(mapping->sync(3 * pageSize() + 5, 5, file->path())));
  char back = 0;
  ASSERT_TRUE(file->readAt(3 * pageSize() + 9, &back, 1).ok());
  EXPECT_EQ(back, 'z');
}

TEST(MappingTest, RangesBeyondTheMapAreRefused) {
  TempDirectory directory;
  Result<File> file = File::create(directory / "f");
  ASSERT_TRUE(succeeded(file->resize(8192)));
  Result<Mapping> mapping = Mapping::map(*file, 8192, true);
  EXPECT_FALSE(mapping->sync(8000, 193, "").ok());
  EXPECT_FALSE(mapping->sync(8193, 0, "").ok());
  EXPECT_FALSE(mapping->sync(8, UINT64_MAX, "").ok());
  EXPECT_FALSE(mapping->populate(8000, 193, "").ok());
}

TEST(MappingTest, AMappingTheSystemRefusesIsAStatus) {
  TempDirectory directory;
  Result<File> file = File::create(directory / "f");
  EXPECT_EQ(Mapping::map(*file, uint64_t{1} << 60, true).status().code(), Code::kNoMemory);
  EXPECT_FALSE(Mapping::map(*file, 0, true).ok());
}

TEST(PathsTest, AMissingPathInspectsAsMissing) {
  TempDirectory directory;
  writeFile(directory / "f", "123");
  EXPECT_FALSE(inspect(directory / "none")->exists);
  EXPECT_FALSE(inspect(directory / "f" + "/below")->exists);
  EXPECT_EQ(inspect(directory / "f")->size, 3u);
  EXPECT_TRUE(inspect(directory.path())->isDirectory);
  EXPECT_NE(inspect(directory / "f")->inode, 0u);
}

TEST(PathsTest, ListsAreSortedAndFollowLinks) {
  TempDirectory directory;
  writeFile(directory / "b", "12");
  writeFile(directory / "a", "1");
  ASSERT_TRUE(succeeded(makeDirectories(directory / "c")));
  ASSERT_EQ(::symlink("b", (directory / "link").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", (directory / "broken").c_str()), 0);
  Result<std::vector<DirectoryEntry>> entries = list(directory.path());
  ASSERT_TRUE(succeeded(entries.status()));
  ASSERT_EQ(entries->size(), 4u);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[1].size, 2u);
  EXPECT_TRUE((*entries)[2].isDirectory);
  EXPECT_EQ((*entries)[3].size, 2u);
  EXPECT_EQ(list(directory / "none").status().code(), Code::kNotFound);
}

TEST(PathsTest, DirectoriesAreMadeWithTheirParents) {
  TempDirectory directory;
  EXPECT_TRUE(succeeded(makeDirectories(directory / "x/y//z/")));
  EXPECT_TRUE(inspect(directory / "x/y/z")->isDirectory);
  EXPECT_TRUE(succeeded(makeDirectories(directory / "x/y/z")));
  writeFile(directory / "f", "");
  EXPECT_FALSE(makeDirectories(directory / "f").ok());
  EXPECT_FALSE(makeDirectories(directory / "f/below").ok());
}

TEST(PathsTest, AReplacedFileHasTheNewContentAndLeavesNothingAside) {
  TempDirectory directory;
  writeFile(directory / "f", "old and longer");
  writeFile(directory / "f.tmp", "left over");
  ASSERT_TRUE(succeeded(replaceFile(directory / "f", "new", 3)));
  EXPECT_EQ(contentOf(directory / "f"), "new");
  EXPECT_EQ(directory.names(), std::vector<std::string>{"f"});
}

TEST(PathsTest, AReplaceThatFailsKeepsTheOldContent) {
  SmallDisk disk("size=64k");
  if (!disk.isMounted()) GTEST_SKIP() << "no permission to mount";
  writeFile(disk / "f", "old");
  const std::string large = bytes(1 << 20);
  EXPECT_EQ(replaceFile(disk / "f", large.data(), large.size()).code(), Code::kDiskFull);
  EXPECT_EQ(contentOf(disk / "f"), "old");
  EXPECT_EQ(TempDirectory::namesIn(disk.path()), std::vector<std::string>{"f"});
}

TEST(PathsTest, ReadWholeRefusesAFileAboveItsLimit) {
  TempDirectory directory;
  writeFile(directory / "f", "12345");
  EXPECT_EQ(*readWhole(directory / "f", 5), "12345");
  const Result<std::string> refused = readWhole(directory / "f", 4);
  ASSERT_EQ(refused.status().code(), Code::kLimit);
  EXPECT_EQ(refused.status().facts().limit, 4);
}

TEST(PathsTest, ARemovedFileMayBeMissing) {
  TempDirectory directory;
  EXPECT_TRUE(removeFile(directory / "none").ok());
  EXPECT_FALSE(removeFile(directory.path()).ok());
  EXPECT_FALSE(renameFile(directory / "none", directory / "f").ok());
  EXPECT_FALSE(syncDirectory(directory / "none").ok());
}

TEST(PathsTest, ACopiedRangeIsAddedToTheEnd) {
  TempDirectory directory;
  const std::string data = bytes(700000);
  writeFile(directory / "from", data);
  writeFile(directory / "to", "begin");
  Result<File> from = File::open(directory / "from", Access::kRead);
  Result<File> to = File::open(directory / "to", Access::kWrite);
  ASSERT_TRUE(succeeded(copyRange(*from, 10, 600000, *to)));
  EXPECT_TRUE(contentOf(directory / "to") == "begin" + data.substr(10, 600000));
  EXPECT_EQ(copyRange(*from, 600000, 100001, *to).code(), Code::kIo);
}

TEST(SystemTest, AnswersSensibly) {
  EXPECT_GE(pageSize(), 4096u);
  EXPECT_GT(*physicalMemory(), 1u << 20);
  EXPECT_GT(wallClockMillis(), 1700000000000);
}

}  // namespace
}  // namespace lmq
