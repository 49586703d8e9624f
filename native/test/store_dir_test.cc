// The directory's own files: lock, abort marker, marker, checkpoints.
#include "core/store_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "store_fixture.h"

namespace lmq {
namespace {

class StoreDirTest : public testing::Test {
 protected:
  StoreDirTest() : dir_(root_.path()) { EXPECT_TRUE(succeeded(makeDirectories(dir_.lmq()))); }
  // The code with which another opener in a child process is refused; kOk if it is not.
  Code lockInChild() {
    const pid_t child = ::fork();
    if (child == 0) {
      StoreDir other(root_.path());
      ::_exit(static_cast<int>(other.lock().code()));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return static_cast<Code>(WEXITSTATUS(status));
  }

  TempDirectory root_;
  StoreDir dir_;
};

// Lock --------------------------------------------------------------------------------------

TEST_F(StoreDirTest, TheLockFileHoldsFourBytesAndKeepsThem) {
  { ASSERT_TRUE(succeeded(StoreDir(root_.path()).lock())); }
  EXPECT_EQ(contentOf(root_ / "lock"), "lock");
  writeFile(root_ / "lock", "LOCK and more");
  ASSERT_TRUE(succeeded(dir_.lock()));
  EXPECT_EQ(contentOf(root_ / "lock"), "LOCK and more");
}

TEST_F(StoreDirTest, ASecondOpenerIsRefusedAndToldWhoHoldsIt) {
  ASSERT_TRUE(succeeded(dir_.lock()));
  ASSERT_TRUE(succeeded(dir_.createAbort()));
  StoreDir second(root_.path());
  const Status status = second.lock();
  ASSERT_EQ(status.code(), Code::kLocked);
  EXPECT_NE(status.facts().message.find(std::to_string(::getpid())), std::string::npos);
  EXPECT_EQ(status.facts().path, root_.path());
  EXPECT_EQ(lockInChild(), Code::kLocked);
}

TEST_F(StoreDirTest, ASecondOpenerThroughASymlinkIsRefused) {
  ASSERT_TRUE(succeeded(dir_.lock()));
  TempDirectory elsewhere;
  std::filesystem::create_symlink(root_.path(), elsewhere / "link");
  StoreDir second(elsewhere / "link");
  EXPECT_EQ(second.lock().code(), Code::kLocked);
}

TEST_F(StoreDirTest, ALeftOverLockFileIsNoLock) {  // BR-077
  writeFile(root_ / "lock", "lock");
  EXPECT_FALSE(*dir_.isLocked());
  EXPECT_TRUE(succeeded(dir_.lock()));
  EXPECT_TRUE(*StoreDir(root_.path()).isLocked());
}

TEST_F(StoreDirTest, TheLockEndsWithItsHolderAndNotBefore) {
  {
    StoreDir first(root_.path());
    ASSERT_TRUE(succeeded(first.lock()));
    ::close(::open((root_ / "lock").c_str(), O_RDWR));  // a stray close drops no lock
    EXPECT_EQ(lockInChild(), Code::kLocked);
    const pid_t child = ::fork();
    if (child == 0) {  // nor does a child that closes everything
      for (int descriptor = 3; descriptor < 1024; ++descriptor) ::close(descriptor);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(lockInChild(), Code::kLocked);
  }
  EXPECT_EQ(lockInChild(), Code::kOk);
}

TEST_F(StoreDirTest, TheLockEndsWhenItsHolderIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    StoreDir other(root_.path());
    const char locked = other.lock().ok() ? 'y' : 'n';
    if (::write(ready[1], &locked, 1) == 1) ::pause();
    ::_exit(1);
  }
  char locked = 0;
  ASSERT_EQ(::read(ready[0], &locked, 1), 1);
  EXPECT_EQ(locked, 'y');
  EXPECT_EQ(dir_.lock().code(), Code::kLocked);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(succeeded(dir_.lock()));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(StoreDirTest, AskingForTheLockMakesNothing) {
  const Tree before = treeOf(root_.path());
  EXPECT_FALSE(*dir_.isLocked());
  EXPECT_EQ(treeOf(root_.path()), before);
}

TEST_F(StoreDirTest, AMissingDirectoryCannotBeLocked) {
  EXPECT_EQ(StoreDir(root_ / "no").lock().code(), Code::kNotFound);
}

// Abort marker ------------------------------------------------------------------------------

TEST_F(StoreDirTest, TheAbortMarkerNamesTheProcess) {
  EXPECT_FALSE(*dir_.aborted());
  EXPECT_EQ(*dir_.abortPid(), -1);
  ASSERT_TRUE(succeeded(dir_.createAbort()));
  EXPECT_TRUE(*dir_.aborted());
  EXPECT_EQ(*dir_.abortPid(), ::getpid());
  EXPECT_EQ(root_.names(), (Texts{"abort", "lmq"}));
  ASSERT_TRUE(succeeded(dir_.removeAbort()));
  ASSERT_TRUE(succeeded(dir_.removeAbort()));
  EXPECT_FALSE(*dir_.aborted());
}

TEST_F(StoreDirTest, AnAbortMarkerWithoutANumberCountsAllTheSame) {
  for (const char* content : {"", "x", "-7"}) {
    writeFile(root_ / "abort", content);
    EXPECT_TRUE(*dir_.aborted());
    EXPECT_LE(*dir_.abortPid(), 0) << content;
  }
}

// Marker ------------------------------------------------------------------------------------

TEST_F(StoreDirTest, TheMarkerComesBackAsItWas) {
  EXPECT_FALSE(dir_.readMarker()->has_value());
  Marker marker;
  marker.mappedFileSizeCommitLog = 4096;
  marker.mappedFileSizeConsumeQueue = 2000;
  marker.adoptedAt = int64_t{1} << 52;
  ASSERT_TRUE(succeeded(dir_.writeMarker(marker)));
  const Result<std::optional<Marker>> read = dir_.readMarker();
  ASSERT_TRUE((*read).has_value());
  EXPECT_EQ((*read)->format, Marker::kFormat);
  EXPECT_EQ((*read)->mappedFileSizeCommitLog, 4096);
  EXPECT_EQ((*read)->mappedFileSizeConsumeQueue, 2000);
  EXPECT_EQ((*read)->adoptedAt, int64_t{1} << 52);
}

TEST_F(StoreDirTest, AMarkerMayHoldMoreAndOtherSpace) {
  writeFile(dir_.markerPath(),
            "{\"indexSlots\":5,\"format\" :\t1,\"mappedFileSizeCommitLog\":\n4096,"
            "\"mappedFileSizeConsumeQueue\":2000}");
  const Result<std::optional<Marker>> read = dir_.readMarker();
  ASSERT_TRUE(read.ok() && (*read).has_value());
  EXPECT_EQ((*read)->mappedFileSizeCommitLog, 4096);
  EXPECT_EQ((*read)->adoptedAt, -1);
}

TEST_F(StoreDirTest, ADamagedMarkerIsNoMissingOne) {
  ASSERT_TRUE(succeeded(dir_.writeMarker({1, 4096, 2000, -1})));
  const std::string whole = contentOf(dir_.markerPath());
  const size_t needed = whole.find("adoptedAt");
  for (size_t length = 0; length + 4 < needed; ++length) {
    writeFile(dir_.markerPath(), whole.substr(0, length));
    const Result<std::optional<Marker>> read = dir_.readMarker();
    // Cut inside a number it states another; nothing is decided by it while there are files.
    if (read.ok()) {
      EXPECT_TRUE(whole[length - 1] >= '0' && whole[length - 1] <= '9') << length;
    } else {
      EXPECT_EQ(read.status().code(), Code::kCorruptFile) << length;
    }
  }
  for (const char* content : {"{}", "[1]", "{\"format\": 0}", "{\"format\": -1}", "\xff\xfe",
                              "{\"format\": 1, \"mappedFileSizeCommitLog\": -4, "
                              "\"mappedFileSizeConsumeQueue\": 20}"}) {
    writeFile(dir_.markerPath(), content);
    EXPECT_EQ(dir_.readMarker().status().code(), Code::kCorruptFile) << content;
  }
}

TEST_F(StoreDirTest, AMarkerOfANewerFormatIsRefusedByVersion) {
  writeFile(dir_.markerPath(), "{\"format\": 2}");
  EXPECT_EQ(dir_.readMarker().status().code(), Code::kVersion);
}

// RocketMQ's checkpoint ---------------------------------------------------------------------

TEST_F(StoreDirTest, TheBrokersCheckpointHasRocketMqsBytes) {
  ASSERT_TRUE(succeeded(dir_.writeBrokerCheckpoint({1, 2, 3, 4, 5, 0x0102030405060708})));
  const std::string bytes = contentOf(dir_.checkpointPath());
  EXPECT_EQ(bytes.size(), 4096u);
  EXPECT_EQ(record::toHex(reinterpret_cast<const uint8_t*>(bytes.data()), 48),
            "000000000000000100000000000000020000000000000003"
            "000000000000000400000000000000050102030405060708");
  EXPECT_EQ(bytes.find_first_not_of('\0', 48), std::string::npos);
  EXPECT_EQ((*dir_.readBrokerCheckpoint())->logicsPhysicalOffset, 0x0102030405060708);
}

TEST_F(StoreDirTest, AShorterCheckpointCountsAsZeroWhereItEnds) {
  EXPECT_FALSE(dir_.readBrokerCheckpoint()->has_value());
  ASSERT_TRUE(succeeded(dir_.writeBrokerCheckpoint({1, 2, 3, 4, 5, 6})));
  const std::string whole = contentOf(dir_.checkpointPath());
  for (const size_t length : {0, 8, 40, 47}) {
    writeFile(dir_.checkpointPath(), whole.substr(0, length));
    const BrokerCheckpoint read = **dir_.readBrokerCheckpoint();
    EXPECT_EQ(read.physicMsgTimestamp, length >= 8 ? 1 : 0);
    EXPECT_EQ(read.confirmPhyOffset, length >= 40 ? 5 : 0);
    EXPECT_EQ(read.logicsPhysicalOffset, 0);
  }
}

// Our checkpoint ----------------------------------------------------------------------------

class OwnCheckpointTest : public StoreDirTest {
 protected:
  // Writes with logSynced 1, 2, … and returns the last one.
  OwnCheckpoint write(int times) {
    OwnCheckpoint checkpoint;
    checkpoint.clean = true;
    checkpoint.last = {int64_t{1} << 50, 0xFFFFFFFF, 0xFFFFFFFE};
    checkpoint.lmqEntries = 7;
    for (int i = 1; i <= times; ++i) {
      checkpoint.logSynced = i;
      EXPECT_TRUE(succeeded(dir_.writeOwnCheckpoint(&checkpoint)));
    }
    EXPECT_TRUE(succeeded(dir_.syncOwnCheckpoint()));
    return checkpoint;
  }
  int64_t synced() {  // -1: none
    const Result<std::optional<OwnCheckpoint>> read = StoreDir(root_.path()).readOwnCheckpoint();
    EXPECT_TRUE(succeeded(read.status()));
    return (*read).has_value() ? (*read)->logSynced : -1;
  }
};

TEST_F(OwnCheckpointTest, ItComesBackAsItWas) {
  EXPECT_EQ(synced(), -1);
  write(1);
  const OwnCheckpoint read = **dir_.readOwnCheckpoint();
  EXPECT_EQ(read.sequence, 1u);
  EXPECT_TRUE(read.clean);
  EXPECT_EQ(read.last.physicalOffset, int64_t{1} << 50);
  EXPECT_EQ(read.last.size, 0xFFFFFFFF);
  EXPECT_EQ(read.last.crc, 0xFFFFFFFE);
  EXPECT_EQ(read.lmqEntries, 7u);
}

TEST_F(OwnCheckpointTest, TheNewestOfTwoSlotsCounts) {
  for (int times = 1; times <= 5; ++times) {
    write(times);
    EXPECT_EQ(synced(), times);
    ASSERT_TRUE(succeeded(removeFile(dir_.ownCheckpointPath())));
    dir_ = StoreDir(root_.path());
  }
}

TEST_F(OwnCheckpointTest, ADamagedSlotLeavesTheOther) {
  write(4);  // 3 lies in the second slot, 4 in the first
  const std::string whole = contentOf(dir_.ownCheckpointPath());
  const size_t slot = whole.size() - 4096;
  for (size_t at = 0; at < slot; ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    writeFile(dir_.ownCheckpointPath(), bytes);
    EXPECT_EQ(synced(), 3) << at;
    bytes[4096 + at] = static_cast<char>(bytes[4096 + at] ^ 1);
    writeFile(dir_.ownCheckpointPath(), bytes);
    EXPECT_EQ(synced(), -1) << at;
    bytes[at] = whole[at];
    writeFile(dir_.ownCheckpointPath(), bytes);
    EXPECT_EQ(synced(), 4) << at;
  }
}

TEST_F(OwnCheckpointTest, ZerosOnesAndStubsAreNone) {
  write(2);
  const size_t size = std::filesystem::file_size(dir_.ownCheckpointPath());
  for (const std::string& content : {std::string(), std::string("x"), std::string(87, '\0'),
                                     std::string(size, '\0'), std::string(size, '\xff')}) {
    writeFile(dir_.ownCheckpointPath(), content);
    EXPECT_EQ(synced(), -1) << content.size();
  }
}

TEST_F(OwnCheckpointTest, AFileThatIsCutKeepsTheSlotThatIsWhole) {
  write(2);
  const std::string whole = contentOf(dir_.ownCheckpointPath());
  writeFile(dir_.ownCheckpointPath(), whole.substr(0, whole.size() - 1));
  EXPECT_EQ(synced(), 2);
  writeFile(dir_.ownCheckpointPath(), whole.substr(0, 4096));
  EXPECT_EQ(synced(), 2);
}

TEST_F(OwnCheckpointTest, ADirectoryInItsPlaceIsAnError) {
  ASSERT_TRUE(succeeded(makeDirectories(dir_.ownCheckpointPath())));
  EXPECT_FALSE(dir_.readOwnCheckpoint().ok());
  OwnCheckpoint checkpoint;
  EXPECT_FALSE(dir_.writeOwnCheckpoint(&checkpoint).ok());
}

// Names -------------------------------------------------------------------------------------

TEST(StoreDirNames, SlashesAtTheEndDoNotCount) {
  EXPECT_EQ(StoreDir("/a/b//").commitLog(), "/a/b/commitlog");
  EXPECT_EQ(StoreDir("/").lockPath(), "//lock");
}

TEST(StoreDirNames, AnyLettersWork) {  // BR-079
  TempDirectory root;
  StoreDir dir(root / "\xC3\xA9\xE5\x8D\x8A\xE8\xA7\x92\xF0\x9F\x98\x80");
  ASSERT_TRUE(succeeded(makeDirectories(dir.root())));
  ASSERT_TRUE(succeeded(dir.lock()));
  EXPECT_EQ(root.names(), Texts{"\xC3\xA9\xE5\x8D\x8A\xE8\xA7\x92\xF0\x9F\x98\x80"});
}

}  // namespace
}  // namespace lmq
