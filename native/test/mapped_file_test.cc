#include "core/mapped_file.h"

#include <cstring>

#include "core/bytes.h"
#include "temp_directory.h"

namespace lmq {
namespace {

constexpr uint64_t kSize = 256 * 1024;

std::shared_ptr<MappedFile> made(const std::string& path, uint64_t reserve,
                                 ReadMode mode = ReadMode::kMap) {
  Result<std::shared_ptr<MappedFile>> file =
      MappedFile::create(path + ".work", path, 0, kSize, reserve, mode);
  EXPECT_TRUE(succeeded(file.status()));
  return file.take();
}

Status writeText(MappedFile& file, uint64_t at, const std::string& text, ReadBuffer& scratch) {
  uint8_t* window = file.window(at, text.size(), scratch);
  if (window == nullptr) return Status(Code::kInternal, "no window");
  std::memcpy(window, text.data(), text.size());
  return file.commit(at, text.size(), window);
}

std::string textAt(const MappedFile& file, uint64_t at, size_t length) {
  ReadBuffer buffer;
  Result<const uint8_t*> data = file.read(at, length, buffer);
  EXPECT_TRUE(succeeded(data.status()));
  return data.ok() ? std::string(reinterpret_cast<const char*>(*data), length) : "";
}

TEST(ReadBufferTest, GrowsAndKeepsWhatIsWithinItsCap) {
  ReadBuffer buffer(100000);
  uint8_t* first = buffer.atLeast(10);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(buffer.atLeast(11), first);
  ASSERT_NE(buffer.atLeast(50000), nullptr);
  EXPECT_GE(buffer.retained(), 50000u);
  ASSERT_NE(buffer.atLeast(100000), nullptr);
  EXPECT_EQ(buffer.retained(), 100000u);
}

TEST(ReadBufferTest, ALargeRequestIsNotRetained) {
  ReadBuffer buffer(100000);
  ASSERT_NE(buffer.atLeast(1000), nullptr);
  const size_t before = buffer.retained();
  uint8_t* large = buffer.atLeast(10 << 20);
  ASSERT_NE(large, nullptr);
  large[(10 << 20) - 1] = 1;
  EXPECT_EQ(buffer.retained(), before);
}

TEST(ReadBufferTest, MemoryThatIsRefusedIsNull) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer ends the program instead";
#endif
  ReadBuffer buffer;
  EXPECT_EQ(buffer.atLeast(size_t{1} << 60), nullptr);
  EXPECT_NE(buffer.atLeast(10), nullptr);
}

// Everything that holds whichever way the bytes go.
class BothWaysTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    before_ = forcePositionalWrites(GetParam());
    file_ = made(directory_ / "f", 64 * 1024);
    ASSERT_NE(file_, nullptr);
  }
  void TearDown() override { forcePositionalWrites(before_); }

  TempDirectory directory_;
  std::shared_ptr<MappedFile> file_;
  ReadBuffer scratch_;

 private:
  bool before_ = false;
};

INSTANTIATE_TEST_SUITE_P(, BothWaysTest, testing::Values(false, true), [](const auto& info) {
  return info.param ? "ByPosition" : "WherePossibleByMap";
});

TEST_P(BothWaysTest, ANewFileHasItsFullLengthAndNothingIsLeftInTheWorkPath) {
  EXPECT_EQ(directory_.names(), std::vector<std::string>{"f"});
  EXPECT_EQ(inspect(directory_ / "f")->size, kSize);
  EXPECT_EQ(file_->path(), directory_ / "f");
  EXPECT_GE(file_->reserved(), 64u * 1024);
  EXPECT_FALSE(GetParam() && file_->writesByMap());
}

TEST_P(BothWaysTest, WhatIsWrittenIsReadAndIsInTheFile) {
  ASSERT_TRUE(succeeded(writeText(*file_, 1000, "some bytes", scratch_)));
  EXPECT_EQ(textAt(*file_, 1000, 10), "some bytes");
  EXPECT_EQ(contentOf(directory_ / "f").substr(1000, 10), "some bytes");
  char out[4];
  ASSERT_TRUE(file_->copy(1005, 4, reinterpret_cast<uint8_t*>(out)).ok());
  EXPECT_EQ(std::string(out, 4), "byte");
  EXPECT_TRUE(succeeded(file_->sync(1000, 1010)));
}

TEST_P(BothWaysTest, TheFirstWordIsStoredBigEndianBeforeTheRest) {
  for (const uint64_t at : {0, 61, 4094}) {
    uint8_t* window = file_->window(at, 9, scratch_);
    ASSERT_NE(window, nullptr);
    std::memset(window, 0, 4);
    std::memcpy(window + 4, "after", 5);
    ASSERT_TRUE(succeeded(file_->commit(at, 9, window, 0x41424344)));
    EXPECT_EQ(contentOf(directory_ / "f").substr(at, 9), "ABCDafter");
  }
}

TEST_P(BothWaysTest, AFirstWordAloneCanBeStored) {
  ASSERT_TRUE(succeeded(writeText(*file_, 104, "after", scratch_)));
  uint8_t* window = file_->window(100, 4, scratch_);
  ASSERT_TRUE(succeeded(file_->commit(100, 4, window, 0x41424344)));
  EXPECT_EQ(textAt(*file_, 100, 9), "ABCDafter");
}

TEST_P(BothWaysTest, NoWindowReachesBeyondTheReservedRange) {
  const uint64_t reserved = file_->reserved();
  ASSERT_LT(reserved, kSize);
  EXPECT_NE(file_->window(reserved - 8, 8, scratch_), nullptr);
  EXPECT_EQ(file_->window(reserved - 8, 9, scratch_), nullptr);
  EXPECT_EQ(file_->window(reserved + 1, 0, scratch_), nullptr);
  EXPECT_EQ(file_->window(8, SIZE_MAX - 4, scratch_), nullptr);
  EXPECT_EQ(file_->window(UINT64_MAX - 4, 8, scratch_), nullptr);
}

TEST_P(BothWaysTest, ReserveGrowsInWholePagesUpToTheEnd) {
  const uint64_t reserved = file_->reserved();
  ASSERT_TRUE(succeeded(file_->reserve(reserved)));
  EXPECT_EQ(file_->reserved(), reserved);
  ASSERT_TRUE(succeeded(file_->reserve(reserved + 1)));
  EXPECT_EQ(file_->reserved(), reserved + pageSize());
  ASSERT_TRUE(succeeded(file_->reserve(kSize)));
  EXPECT_EQ(file_->reserved(), kSize);
  EXPECT_EQ(file_->reserve(kSize + 1).code(), Code::kNotFound);
}

TEST_P(BothWaysTest, ReservingAnExistingFileKeepsItsData) {
  ASSERT_TRUE(succeeded(writeText(*file_, 1000, "some bytes", scratch_)));
  Result<std::shared_ptr<MappedFile>> again =
      MappedFile::open(directory_ / "f", 0, kSize, Access::kWrite, ReadMode::kMap);
  ASSERT_TRUE(succeeded(again.status()));
  EXPECT_EQ((*again)->reserved(), 0u);
  EXPECT_EQ((*again)->window(1000, 1, scratch_), nullptr);
  ASSERT_TRUE(succeeded((*again)->reserve(kSize)));
  EXPECT_EQ(textAt(**again, 1000, 10), "some bytes");
  EXPECT_EQ((*again)->writesByMap(), file_->writesByMap());
}

TEST_P(BothWaysTest, ReadsStopAtTheEndOfTheFile) {
  ReadBuffer buffer;
  EXPECT_TRUE(file_->read(kSize - 4, 4, buffer).ok());
  EXPECT_EQ(file_->read(kSize - 4, 5, buffer).status().code(), Code::kNotFound);
  EXPECT_EQ(file_->read(kSize + 1, 0, buffer).status().code(), Code::kNotFound);
  EXPECT_EQ(file_->read(8, SIZE_MAX, buffer).status().code(), Code::kNotFound);
  uint8_t out[8];
  EXPECT_FALSE(file_->copy(kSize - 4, 5, out).ok());
  EXPECT_FALSE(file_->sync(kSize - 4, kSize + 1).ok());
}

TEST_P(BothWaysTest, ZeroLeavesTheRestAndWritesOnce) {
  const std::string text(3 * 4096, 'x');
  ASSERT_TRUE(succeeded(writeText(*file_, 4096, text, scratch_)));
  ASSERT_TRUE(succeeded(file_->zero(5000, kSize)));
  std::string expected(kSize, '\0');
  expected.replace(4096, 5000 - 4096, std::string(5000 - 4096, 'x'));
  EXPECT_TRUE(contentOf(directory_ / "f") == expected);
  EXPECT_EQ(textAt(*file_, 4999, 2), std::string("x\0", 2));
  ageFile(directory_ / "f");
  const int64_t before = modifiedAt(directory_ / "f");
  ASSERT_TRUE(succeeded(file_->zero(5000, kSize)));
  EXPECT_EQ(modifiedAt(directory_ / "f"), before);
}

TEST_P(BothWaysTest, PrepareReservesAndChangesNothing) {
  ASSERT_TRUE(succeeded(writeText(*file_, 1000, "some bytes", scratch_)));
  ASSERT_TRUE(succeeded(file_->prepare(500, kSize + 12345)));
  EXPECT_EQ(file_->reserved(), kSize);
  std::string expected(kSize, '\0');
  expected.replace(1000, 10, "some bytes");
  EXPECT_TRUE(contentOf(directory_ / "f") == expected);
}

TEST_P(BothWaysTest, ARemovedFileIsReadUntilItIsReleased) {
  ASSERT_TRUE(succeeded(writeText(*file_, 0, "bytes", scratch_)));
  EXPECT_FALSE(file_->isUnlinked());
  ASSERT_TRUE(succeeded(file_->remove()));
  EXPECT_TRUE(directory_.names().empty());
  EXPECT_TRUE(file_->isUnlinked());
  EXPECT_EQ(textAt(*file_, 0, 5), "bytes");
}

TEST(MappedFileTest, PositionalFilesAreNeverMapped) {
  TempDirectory directory;
  auto file = made(directory / "f", 4096, ReadMode::kPositional);
  ReadBuffer scratch;
  EXPECT_FALSE(file->writesByMap());
  ASSERT_TRUE(succeeded(writeText(*file, 3, "bytes", scratch)));
  ReadBuffer buffer;
  Result<const uint8_t*> data = file->read(3, 5, buffer);
  ASSERT_TRUE(succeeded(data.status()));
  EXPECT_EQ(*data, buffer.atLeast(5));
  EXPECT_EQ(std::memcmp(*data, "bytes", 5), 0);
}

TEST(MappedFileTest, AFileShortenedByAnotherProgramIsAnErrorOfPositionalReads) {
  TempDirectory directory;
  made(directory / "f", 4096);
  Result<std::shared_ptr<MappedFile>> file =
      MappedFile::open(directory / "f", 0, kSize, Access::kReadQuietly, ReadMode::kPositional);
  ASSERT_TRUE(succeeded(file.status()));
  ASSERT_EQ(::truncate((directory / "f").c_str(), 1000), 0);
  ReadBuffer buffer;
  EXPECT_EQ((*file)->read(996, 8, buffer).status().code(), Code::kIo);
}

TEST(MappedFileTest, AFileOfAnotherLengthIsNamed) {
  TempDirectory directory;
  writeFile(directory / "f", "short");
  Result<std::shared_ptr<MappedFile>> file =
      MappedFile::open(directory / "f", 0, kSize, Access::kRead, ReadMode::kMap);
  ASSERT_EQ(file.status().code(), Code::kFileSize);
  EXPECT_EQ(file.status().facts().path, directory / "f");
}

TEST(MappedFileTest, ALeftOverInTheWorkPathIsReplaced) {
  TempDirectory directory;
  writeFile(directory / "w", "of an earlier try");
  Result<std::shared_ptr<MappedFile>> file =
      MappedFile::create(directory / "w", directory / "f", 0, kSize, 4096);
  ASSERT_TRUE(succeeded(file.status()));
  EXPECT_TRUE(contentOf(directory / "f") == std::string(kSize, '\0'));
  EXPECT_EQ(directory.names(), std::vector<std::string>{"f"});
}

TEST(MappedFileTest, ACreateThatFailsLeavesNothing) {
  TempDirectory directory;
  EXPECT_EQ(MappedFile::create(directory / "w", directory / "no/f", 0, kSize, 1).status().code(),
            Code::kNotFound);
  EXPECT_EQ(
      MappedFile::create(directory / "w", directory / "f", 0, uint64_t{1} << 62, 1).status().ok(),
      false);
  EXPECT_FALSE(MappedFile::create(directory / "w", directory / "f", 0, 0, 0).ok());
  EXPECT_TRUE(directory.names().empty());
}

TEST(MappedFileTest, AFullDiskIsACodeAndLeavesNothing) {
  SmallDisk disk("size=128k");
  if (!disk.isMounted()) GTEST_SKIP() << "no permission to mount";
  EXPECT_EQ(MappedFile::create(disk / "w", disk / "f", 0, kSize, kSize).status().code(),
            Code::kDiskFull);
  EXPECT_TRUE(TempDirectory::namesIn(disk.path()).empty());
  auto file = made(disk / "f", 4096);
  EXPECT_EQ(file->reserve(kSize).code(), Code::kDiskFull);
  EXPECT_EQ(file->prepare(0, kSize).code(), Code::kDiskFull);
  ReadBuffer scratch;
  EXPECT_TRUE(succeeded(writeText(*file, 0, "still", scratch)));
}

TEST(MappedFileTest, AWriteByPositionThatFailsLeavesZeros) {
  SmallDisk disk("size=64k");
  if (!disk.isMounted()) GTEST_SKIP() << "no permission to mount";
  auto file = made(disk / "f", 4096, ReadMode::kPositional);
  // As on a copy-on-write system: what counts as reserved has no blocks after all.
  ASSERT_TRUE(succeeded(file->reserve(32 * 1024)));
  const std::string path = disk / "f";
  ReadBuffer scratch;
  uint8_t* window = file->window(0, 32 * 1024, scratch);
  std::memset(window, 'x', 32 * 1024);
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  ASSERT_EQ(::truncate(path.c_str(), kSize), 0);
  writeFile(disk / "filler", std::string(48 * 1024, 'f'));
  EXPECT_EQ(file->commit(0, 32 * 1024, window, 7).code(), Code::kDiskFull);
  EXPECT_TRUE(contentOf(path) == std::string(kSize, '\0'));
}

}  // namespace
}  // namespace lmq
