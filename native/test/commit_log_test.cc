// The commit log alone, and the scan that reads it back.
#include "core/commit_log.h"

#include <gtest/gtest.h>

#include "core/commit_log_scan.h"
#include "store_fixture.h"

namespace lmq {
namespace {

constexpr int64_t kSmall = 1024;  // a file

class CommitLogTest : public testing::TestWithParam<bool> {
 protected:
  CommitLogTest() : before_(forcePositionalWrites(GetParam())), log_(options(), nullptr) {}
  ~CommitLogTest() override { forcePositionalWrites(before_); }

  MappedFileQueue::Options options() const {
    MappedFileQueue::Options options;
    options.directory = directory_ / "commitlog";
    options.workDirectory = directory_ / "work";
    options.fileSize = kSmall;
    options.reserveStep = kSmall;
    return options;
  }
  std::string file(int64_t base = 0) const {
    return directory_ / ("commitlog/" + fileNameOf(static_cast<uint64_t>(base)));
  }
  Texts files() const { return TempDirectory::namesIn(directory_ / "commitlog"); }

  // A record of `size` bytes; its position.
  int64_t add(size_t size) {
    int64_t at = -1;
    uint8_t* window = nullptr;
    EXPECT_TRUE(succeeded(log_.reserve(size, &at)));
    EXPECT_TRUE(succeeded(log_.place(at, size, &window)));
    const Record record = recordAt(at, 0, {bodyFor(size)});
    EXPECT_EQ(record.size(), size);
    std::copy(record.begin() + 4, record.end(), window + 4);
    EXPECT_TRUE(succeeded(log_.commit(at, size, window, static_cast<uint32_t>(size))));
    return at;
  }
  CommitLogScan scan() {
    return CommitLogScan(log_.files().directory(), kSmall, log_.files().bases(), {});
  }
  static record::Verdict verdictAt(CommitLogScan scan, int64_t position) {
    scan.seek(position);
    const Result<CommitLogScan::Step> step = scan.step();
    EXPECT_TRUE(succeeded(step.status()));
    return (*step).verdict;
  }

  TempDirectory directory_;
  bool before_;
  CommitLog log_;
};

INSTANTIATE_TEST_SUITE_P(, CommitLogTest, testing::Values(false, true), [](const auto& info) {
  return info.param ? "ByPosition" : "WherePossibleByMap";
});

TEST_P(CommitLogTest, AFileEndsWithABlankRecordAtTheWritePosition) {  // BR-027
  for (const int64_t at : {0, 300, 600}) EXPECT_EQ(add(300), at);
  EXPECT_EQ(add(300), kSmall);
  EXPECT_EQ(contentOf(file()).substr(900, 8), std::string("\0\0\0\x7C\xCB\xD4\x31\x94", 8));
  EXPECT_EQ(log_.endPosition(), kSmall + 300);
}

TEST_P(CommitLogTest, ARecordFitsIfEightBytesStayBehindIt) {  // BR-027
  for (int i = 0; i < 3; ++i) add(300);
  EXPECT_EQ(add(116), 900);
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(add(300), kSmall);
  EXPECT_EQ(contentOf(file()).substr(1016), std::string("\0\0\0\x08\xCB\xD4\x31\x94", 8));
}

TEST_P(CommitLogTest, ARecordForWhichSevenBytesWouldStayGoesToTheNextFile) {
  for (int i = 0; i < 3; ++i) add(300);
  EXPECT_EQ(add(117), kSmall);
  EXPECT_EQ(contentOf(file()).substr(900, 8), std::string("\0\0\0\x7C\xCB\xD4\x31\x94", 8));
}

TEST_P(CommitLogTest, ARecordThatNoFileCanHoldIsRefusedBeforeAnythingIsMade) {  // BR-027, SRC-1
  int64_t at = -1;
  const Status status = log_.reserve(1017, &at);
  ASSERT_EQ(status.code(), Code::kRecordTooLarge);
  EXPECT_EQ(status.facts().offset, 1017);
  EXPECT_EQ(status.facts().limit, 1016);
  EXPECT_EQ(files(), Texts{});
  EXPECT_EQ(add(1016), 0);
  EXPECT_EQ(log_.reserve(1017, &at).code(), Code::kRecordTooLarge);
  EXPECT_EQ(files().size(), 1u);
}

TEST_P(CommitLogTest, RoomThatIsNotUsedShowsNowhere) {
  add(900);
  const std::string before = contentOf(file());
  int64_t at = -1;
  ASSERT_TRUE(succeeded(log_.reserve(300, &at)));  // in the next file
  EXPECT_EQ(at, kSmall);
  EXPECT_EQ(log_.endPosition(), 900);
  EXPECT_EQ(contentOf(file()), before);
  EXPECT_EQ(add(116), 900);  // a smaller record still fits into this one
  EXPECT_EQ(add(300), kSmall);
  EXPECT_EQ(add(300), kSmall + 300);
  for (const int64_t position : {0, 900, 1024, 1324}) {
    EXPECT_EQ(verdictAt(scan(), position), record::Verdict::kRecord) << position;
  }
}

TEST_P(CommitLogTest, RoomIsMadeAgainAsOftenAsItIsRefused) {
  add(900);
  int64_t at = -1;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(succeeded(log_.reserve(300, &at)));
    ASSERT_TRUE(succeeded(log_.reserve(100, &at)));
  }
  EXPECT_EQ(add(300), kSmall);
  EXPECT_EQ(contentOf(file()).substr(900, 8), std::string("\0\0\0\x7C\xCB\xD4\x31\x94", 8));
}

TEST_P(CommitLogTest, OnlyWhatLiesBelowTheEndIsReadable) {
  add(300);
  EXPECT_EQ(log_.readableBehind(0), 300);
  EXPECT_EQ(log_.readableBehind(299), 1);
  EXPECT_EQ(log_.readableBehind(300), 0);
  EXPECT_EQ(log_.readableBehind(-1), 0);
  add(600);
  add(500);
  EXPECT_EQ(log_.readableBehind(900), kSmall - 900);  // not over the end of a file
  ReadBuffer buffer;
  EXPECT_EQ(log_.read(5 * kSmall, 8, buffer).status().code(), Code::kNotFound);
  EXPECT_FALSE(log_.read(900, 200, buffer).ok());
}

// Scan --------------------------------------------------------------------------------------

TEST_P(CommitLogTest, AScanCrossesFilesAndStopsAtZeros) {
  const size_t sizes[] = {300, 700, 1016, 200, 400, 450};
  std::vector<int64_t> at;
  for (const size_t size : sizes) at.push_back(add(size));
  CommitLogScan log = scan();
  std::vector<int64_t> found;
  int blanks = 0;
  for (;;) {
    const Result<CommitLogScan::Step> step = log.step();
    ASSERT_TRUE(succeeded(step.status()));
    if ((*step).verdict == record::Verdict::kRecord) found.push_back((*step).position);
    if ((*step).verdict == record::Verdict::kBlank) ++blanks;
    if ((*step).verdict == record::Verdict::kEnd) break;
  }
  EXPECT_EQ(found, at);
  EXPECT_EQ(blanks, 3);
  EXPECT_EQ(log.position(), log_.endPosition());
}

TEST_P(CommitLogTest, ABlankRecordOfAnotherLengthIsDamage) {
  add(900);
  add(900);
  for (const uint64_t at : {900u, 902u, 903u}) {
    flip(file(), at);
    EXPECT_EQ(verdictAt(scan(), 900), record::Verdict::kBadLength) << at;
    flip(file(), at);
  }
  EXPECT_EQ(verdictAt(scan(), 900), record::Verdict::kBlank);
}

TEST_P(CommitLogTest, ARecordThatClaimsMoreThanItsFileIsDamage) {
  add(300);
  const uint8_t sizes[][4] = {
      {0, 0, 4, 1}, {0, 1, 0, 0}, {0x7F, 0xFF, 0xFF, 0xFF}, {0x80, 0, 0, 0}};
  for (const auto& size : sizes) {
    writeAt(file(), 0, size, 4);
    const record::Verdict verdict = verdictAt(scan(), 0);
    EXPECT_TRUE(verdict == record::Verdict::kTooShort || verdict == record::Verdict::kBadLength)
        << record::verdictText(verdict);
  }
}

TEST_P(CommitLogTest, ARecordAtAnotherPositionIsDamage) {
  add(300);
  const std::string bytes = contentOf(file()).substr(0, 300);
  writeAt(file(), 300, bytes.data(), bytes.size());
  EXPECT_EQ(verdictAt(scan(), 300), record::Verdict::kBadPosition);
}

TEST_P(CommitLogTest, WhereNoFileIsTheScanEnds) {
  add(300);
  EXPECT_EQ(verdictAt(scan(), kSmall), record::Verdict::kEnd);
  EXPECT_EQ(verdictAt(scan(), -1), record::Verdict::kEnd);
  EXPECT_FALSE(scan().hasFile(-1));
  EXPECT_TRUE(scan().hasFile(kSmall - 1));
  EXPECT_EQ(*scan().lastByte(kSmall), kSmall);
}

TEST_P(CommitLogTest, TheLastBytesOfAFileAreTooFewForARecord) {
  add(300);
  const uint8_t byte = 1;
  writeAt(file(), kSmall - 1, &byte, 1);
  EXPECT_NE(verdictAt(scan(), kSmall - 1), record::Verdict::kRecord);
  EXPECT_EQ(verdictAt(scan(), kSmall - 4), record::Verdict::kTooShort);
}

TEST_P(CommitLogTest, TheLastByteIsFoundBehindAHole) {
  add(300);
  EXPECT_EQ(*scan().lastByte(0), 300);
  EXPECT_EQ(*scan().lastByte(300), 300);
  EXPECT_EQ(*scan().lastByte(310), 310);
  const uint8_t byte = 1;
  writeAt(file(), 1000, &byte, 1);
  EXPECT_EQ(*scan().lastByte(0), 1001);
  EXPECT_EQ(*scan().lastByte(1001), 1001);
}

TEST_P(CommitLogTest, AFileThatIsShortenedMeanwhileIsAnErrorAndOneThatIsRemovedIsTheEnd) {
  add(300);
  CommitLogScan log = scan();
  std::filesystem::resize_file(file(), 200);
  EXPECT_EQ(log.step().status().code(), Code::kIo);
  std::filesystem::remove(file());
  const Result<CommitLogScan::Step> gone = scan().step();  // by a writer's retention
  ASSERT_TRUE(succeeded(gone.status()));
  EXPECT_EQ((*gone).verdict, record::Verdict::kEnd);
}

TEST(CommitLogScanPieces, ARecordLargerThanAPieceIsReadWhole) {
  TempDirectory directory;
  const int64_t size = 8 << 20;
  std::vector<int64_t> at;
  std::string bytes;
  for (const size_t body : {size_t{900} << 10, size_t{3} << 20, size_t{200} << 10, size_t{1}}) {
    at.push_back(static_cast<int64_t>(bytes.size()));
    const Record record = recordAt(at.back(), 0, {std::string(body, 'x')});
    bytes.append(record.begin(), record.end());
  }
  writeFile(directory / fileNameOf(0), bytes);
  std::filesystem::resize_file(directory / fileNameOf(0), static_cast<uint64_t>(size));
  CommitLogScan log(directory.path(), static_cast<uint64_t>(size), {0}, {});
  for (const int64_t position : at) {
    const Result<CommitLogScan::Step> step = log.step();
    ASSERT_TRUE(succeeded(step.status()));
    EXPECT_EQ((*step).verdict, record::Verdict::kRecord);
    EXPECT_EQ((*step).position, position);
  }
  EXPECT_EQ((*log.step()).verdict, record::Verdict::kEnd);
  EXPECT_EQ(*log.lastByte(0), static_cast<int64_t>(bytes.size()));
}

TEST_P(CommitLogTest, DamageIsPassedToTheNextWholeRecord) {
  for (int i = 0; i < 3; ++i) add(300);
  add(300);
  const auto next = [&](int64_t from) {
    CommitLogScan log = scan();
    log.seek(from);
    const Result<CommitLogScan::Step> step = log.step();
    EXPECT_TRUE(succeeded(log.passDamage(*step)));
    return log.position();
  };
  flip(file(), 300 + 200);  // the body: its lengths still are right
  EXPECT_EQ(next(300), 600);
  fill(file(), 300, 100, 'x');
  EXPECT_EQ(next(300), 600);
  fill(file(), 300, 600, 'x');
  EXPECT_EQ(next(300), kSmall);  // the blank record is none to go on at
  std::filesystem::remove(file());
  EXPECT_TRUE(succeeded(log_.files().reload()));
  EXPECT_EQ(next(300), kSmall);
}

}  // namespace
}  // namespace lmq
