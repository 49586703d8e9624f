// An open and the files of the log: rolls, torn tails over two files, missing and odd files.
#include <algorithm>

#include "store_fixture.h"

namespace lmq {
namespace {

class RecoveryFilesTest : public StoreTest {
 protected:
  // Fills the log with records of 500 bytes up to `end`; eight fit into a file.
  void writeTo(int64_t end) {
    std::unique_ptr<Store> store = open();
    while (store->logEnd() < end) put(*store, {bodyFor(500)});
  }
  Texts logFiles() const { return TempDirectory::namesIn(*this / "commitlog"); }
  size_t count(Store& store) { return messages(store).size(); }
};

TEST_F(RecoveryFilesTest, TheEndOfDataIsFoundToTheByte) {  // BR-012
  for (int i = 0; i < 3; ++i) {
    std::unique_ptr<Store> store = open();
    EXPECT_EQ(put(*store, {bodyFor(117)}).physicalOffset, 117 * i);
  }
  EXPECT_EQ(contentOf(queueFile()).substr(20, 20), unitBytes(117, 117));
  EXPECT_EQ(count(*open()), 3u);
}

TEST_F(RecoveryFilesTest, TheBlankRecordIsWrittenOnTheFirstRollAfterAKill) {  // BR-013
  writeTo(3500);
  put(*open(), {bodyFor(396)});  // 200 bytes are left
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(put(*store, {bodyFor(300)}).physicalOffset, kLogSize);
  EXPECT_EQ(contentOf(logFile()).substr(3896, 8), std::string("\0\0\0\xC8\xCB\xD4\x31\x94", 8));
  EXPECT_EQ(count(*store), 9u);
}

TEST_F(RecoveryFilesTest, ATailTornInTwoFilesIsCutAndSavedWhole) {
  writeTo(kLogSize + 900);
  flip(logFile(), 3600);  // nothing is known to be synced
  const std::string first = contentOf(logFile());
  const std::string second = contentOf(logFile(kLogSize));
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(store->recovery().cutFrom, 3500);
  EXPECT_EQ(logFiles(), Texts{fileNameOf(0)});
  EXPECT_EQ(count(*store), 7u);
  EXPECT_EQ(contentOf(*this / ("cut/" + fileNameOf(3500))), first.substr(3500, 508));
  EXPECT_EQ(contentOf(*this / ("cut/" + fileNameOf(4096))), second.substr(0, 1000));
  EXPECT_EQ(put(*store, {"next"}).physicalOffset, 3500);
  reopen(&store);
  EXPECT_EQ(count(*store), 8u);
}

TEST_F(RecoveryFilesTest, WithoutACheckpointDamageBeforeALaterFileIsCorruption) {  // BR-008
  writeTo(2 * kLogSize + 900);
  remove("lmq/checkpoint");
  flip(logFile(), 1700);
  Status status;
  ASSERT_EQ(refusal(&status), "STORE_CORRUPT_LOG");
  EXPECT_EQ(status.facts().offset, 1500);
  options_.repair = true;
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(count(*store), 3u);
  EXPECT_EQ(logFiles().size(), 1u);
}

TEST_F(RecoveryFilesTest, WithoutACheckpointDamageInTheLastFileIsATornTail) {
  writeTo(kLogSize + 1900);
  remove("lmq/checkpoint");
  flip(logFile(kLogSize), 700);
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(store->recovery().cutFrom, kLogSize + 500);
  EXPECT_EQ(count(*store), 9u);
}

TEST_F(RecoveryFilesTest, DamageFarBelowTheEndIsLeftAloneAndPassedByReads) {
  writeTo(kLogSize + 1900);
  ASSERT_TRUE(succeeded(open()->close()));
  flip(logFile(), 700);
  const std::string damaged = contentOf(logFile());
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(contentOf(logFile()), damaged);
  const Texts all = messages(*store);
  EXPECT_EQ(std::count(all.begin(), all.end(), "1!"), 1);
  EXPECT_EQ(all.size(), 12u);
}

TEST_F(RecoveryFilesTest, AnAllZeroNextFileIsAnEmptyFile) {  // BR-003
  writeTo(3900);
  writeFile(logFile(kLogSize), std::string(kLogSize, '\0'));
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(store->recovery().cutFrom, -1);
  EXPECT_EQ(put(*store, {bodyFor(500)}).physicalOffset, kLogSize);
  EXPECT_EQ(count(*store), 9u);
}

TEST_F(RecoveryFilesTest, EmptyFilesBehindTheEndAreIgnored) {  // BR-004
  writeTo(3900);
  writeFile(logFile(kLogSize), "");
  writeFile(logFile(2 * kLogSize), "");
  {
    std::unique_ptr<Store> store = open();
    EXPECT_EQ(put(*store, {bodyFor(500)}).physicalOffset, kLogSize);
  }
  writeTo(2 * kLogSize + 100);
  EXPECT_EQ(count(*open()), 17u);
}

TEST_F(RecoveryFilesTest, ALogThatEndsWithABlankRecordGoesOnAtIt) {
  writeTo(kLogSize + 100);
  remove("commitlog/" + fileNameOf(kLogSize));  // lost with a power cut before it was synced
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(store->logEnd(), 4000);
  EXPECT_EQ(store->recovery().cutFrom, -1);
  EXPECT_EQ(count(*store), 8u);
  EXPECT_EQ(put(*store, {bodyFor(500)}).physicalOffset, kLogSize);
  reopen(&store);
  EXPECT_EQ(count(*store), 9u);
}

TEST_F(RecoveryFilesTest, ABlankRecordThatStatesAnotherLengthIsDamage) {
  writeTo(kLogSize + 100);
  flip(logFile(), 4003);  // 0x60 bytes are left, not 0x40
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(store->recovery().cutFrom, 4000);
  EXPECT_EQ(count(*store), 8u);
}

TEST_F(RecoveryFilesTest, ARecordCopiedToAnotherPlaceIsNoRecord) {  // spec Q16
  writeTo(900);
  const std::string copy = contentOf(logFile()).substr(0, 500);
  writeAt(logFile(), 1000, copy.data(), copy.size());
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(store->recovery().cutFrom, 1000);
  EXPECT_EQ(count(*store), 2u);
}

TEST_F(RecoveryFilesTest, QueuesAheadOfTheLogAreCutBackToIt) {  // BR-014
  const auto expectNumbers = [&](Store& store, int64_t max) {
    for (const Store::QueueRef queue :
         {queueOf(store), lmqOf(store, "%LMQ%a"), lmqOf(store, "%LMQ%b")}) {
      ASSERT_EQ(boundsOf(store, queue).max, max);
      const Store::Page page = read(store, queue, 0);
      ASSERT_EQ(static_cast<int64_t>(page.rows.size()), max);
      for (const Store::Row& row : page.rows) EXPECT_EQ(row.view.queueOffset, row.offset);
    }
  };
  const Put message = {"x", {"%LMQ%a", "%LMQ%b"}};
  std::vector<int64_t> starts;
  const auto cutTo = [&](size_t records) {
    fill(logFile(), static_cast<uint64_t>(starts[records]),
         static_cast<uint64_t>(kLogSize - starts[records]));
    starts.resize(records);
  };
  {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < 10; ++i) starts.push_back(put(*store, message).physicalOffset);
  }
  cutTo(7);
  {
    std::unique_ptr<Store> store = open();
    expectNumbers(*store, 7);
    settle(*store);
    for (int i = 0; i < 5; ++i) starts.push_back(put(*store, message).physicalOffset);
    expectNumbers(*store, 12);
  }
  cutTo(9);
  expectNumbers(*open(), 9);
}

// Missing logs and markers ------------------------------------------------------------------

TEST_F(RecoveryFilesTest, AMissingLogWhileQueuesExistIsRefused) {
  writeTo(900);
  ASSERT_TRUE(succeeded(open()->close()));
  remove("commitlog");
  EXPECT_EQ(refusal(), "STORE_LOG_MISSING");
  std::filesystem::create_directories(*this / "commitlog");
  EXPECT_EQ(refusal(), "STORE_LOG_MISSING");
  remove("consumequeue");
  EXPECT_EQ(refusal(), "STORE_LOG_MISSING");  // the checkpoint knows better
}

TEST_F(RecoveryFilesTest, ALogOfWhichNothingWasSyncedYetIsNotMissed) {
  writeTo(900);  // a power cut then leaves the queue without the log
  remove("commitlog");
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(messages(*store), Texts{});
  EXPECT_EQ(put(*store, {"x"}).queueOffset, 0);
  reopen(&store);
  EXPECT_EQ(messages(*store), Texts{"0:x"});
}

TEST_F(RecoveryFilesTest, ARepairOfAMissingLogStartsEmptyAndSyncsWhatComes) {
  {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < 9; ++i) put(*store, {"old", {"%LMQ%a"}});
    ASSERT_TRUE(succeeded(store->close()));
  }
  remove("commitlog");
  options_.repair = true;
  {
    std::unique_ptr<Store> store = open();
    EXPECT_EQ(store->logEnd(), 0);
    EXPECT_EQ(store->syncedPosition(), 0);
    EXPECT_EQ(messages(*store), Texts{});
    EXPECT_EQ(messages(*store, "%LMQ%a"), Texts{});
  }
  options_.repair = false;
  {
    std::unique_ptr<Store> store = open();  // nothing is missing any more
    EXPECT_EQ(put(*store, {"new", {"%LMQ%a"}}).queueOffset, 0);
  }
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(messages(*store), Texts{"0:new"});
  EXPECT_EQ(messages(*store, "%LMQ%a"), Texts{"0:new"});
}

TEST_F(RecoveryFilesTest, LogFilesOfTwoLengthsAreRefusedByName) {  // BR-078, spec Q47
  writeTo(kLogSize + 900);
  std::filesystem::resize_file(logFile(kLogSize), 1000);
  Status status;
  ASSERT_EQ(refusal(&status), "STORE_FILE_SIZE");
  EXPECT_EQ(status.facts().path, logFile(kLogSize));
}

TEST_F(RecoveryFilesTest, AnOptionThatContradictsTheFilesIsRefused) {
  writeTo(900);
  options_.commitLogSize = 8192;
  EXPECT_EQ(refusal(), "STORE_CONFIG_MISMATCH");
  options_.commitLogSize = kLogSize;
  options_.consumeQueueSize = 4000;
  EXPECT_EQ(refusal(), "STORE_CONFIG_MISMATCH");
  options_.consumeQueueSize = kQueueSize;
  options_.defaultCommitLogSize = 1 << 20;  // a default yields
  EXPECT_EQ(count(*open()), 2u);
}

TEST_F(RecoveryFilesTest, AMarkerOfANewerVersionIsRefused) {
  writeTo(900);
  std::string marker = contentOf(*this / "lmq-store.json");
  marker.replace(marker.find("1,"), 1, "2");
  writeFile(*this / "lmq-store.json", marker);
  EXPECT_EQ(refusal(), "STORE_VERSION");
}

}  // namespace
}  // namespace lmq
