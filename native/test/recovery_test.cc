// What an open makes of the commit log: clean ends, torn tails, damage, and what never comes back.
#include "store_fixture.h"

namespace lmq {
namespace {

class RecoveryTest : public StoreTest {
 protected:
  // Three messages, ended as a killed process would leave them.
  std::vector<Store::Appended> writeThree(bool close = false) {
    std::unique_ptr<Store> store = open();
    std::vector<Store::Appended> all;
    for (const char* body : {"one", "two", "three"}) all.push_back(put(*store, {body, {"%LMQ%a"}}));
    if (close) {
      EXPECT_TRUE(succeeded(store->close()));
    }
    return all;
  }
  // Opens, syncs the log alone and leaves the store as a killed process would.
  void syncLog() {
    SyncWatch watch;
    listener_ = watch.listener();
    std::unique_ptr<Store> store = open();
    store->requestSync();
    watch.awaitSynced(store->logEnd());
    listener_ = {};
  }
  static std::string rest(const std::string& path, int64_t from) {
    return contentOf(path).substr(static_cast<size_t>(from));
  }
  static bool isZero(const std::string& bytes) {
    return bytes.find_first_not_of('\0') == std::string::npos;
  }
};

const Texts kThree = {"0:one", "1:two", "2:three"};
const Texts kTwo = {"0:one", "1:two"};

TEST_F(RecoveryTest, ACleanReopenScansNothingAndGoesOn) {
  const int64_t end = writeThree(true).back().physicalOffset;
  std::unique_ptr<Store> store = open();
  EXPECT_TRUE(store->recovery().clean);
  EXPECT_EQ(store->recovery().scannedRecords, 0);
  EXPECT_EQ(store->recovery().cutFrom, -1);
  EXPECT_EQ(messages(*store), kThree);
  EXPECT_EQ(messages(*store, "%LMQ%a"), kThree);
  const Store::Appended next = put(*store, {"four", {"%LMQ%a"}});
  EXPECT_GT(next.physicalOffset, end);
  EXPECT_EQ(next.queueOffset, 3);
  EXPECT_EQ(lmqOffset(*store), 3);
}

TEST_F(RecoveryTest, ASecondOpenerIsRefusedAndChangesNothing) {  // BR-077
  writeThree();
  std::unique_ptr<Store> store = open();
  ASSERT_TRUE(succeeded(store->flush()));
  const Tree before = treeOf(root(), false);  // the writer makes room ahead at any time
  std::filesystem::create_symlink(root(), directory_ / "link");
  options_.adopt = options_.repair = true;
  for (const std::string& path : {root(), directory_ / "link"}) {
    options_.path = path;
    Status status;
    EXPECT_TRUE(tryOpen(&status) == nullptr);
    EXPECT_EQ(status.code(), Code::kLocked);
    EXPECT_EQ(treeOf(root(), false), before);
  }
  store.reset();
  EXPECT_EQ(messages(*open()), kThree);
}

TEST_F(RecoveryTest, AnUncleanReopenFindsEveryMessage) {
  const std::vector<Store::Appended> all = writeThree();
  std::unique_ptr<Store> store = open();
  EXPECT_FALSE(store->recovery().clean);
  EXPECT_EQ(store->recovery().scannedRecords, 3);
  EXPECT_EQ(store->logEnd(), all[2].physicalOffset + all[2].size);
  EXPECT_EQ(messages(*store), kThree);
  EXPECT_EQ(messages(*store, "%LMQ%a"), kThree);
  EXPECT_EQ(put(*store, {"four"}).queueOffset, 3);
}

TEST_F(RecoveryTest, ATornLastRecordIsCutAtEveryPossiblePoint) {  // BR-005
  TempDirectory memory(memoryDirectory());
  const std::string original = memory / "original";
  options_.path = memory / "store";
  const std::vector<Store::Appended> all = writeThree();
  copyTree(root(), original);
  const int64_t start = all[2].physicalOffset;
  for (int64_t cut = start + 1; cut < start + all[2].size; ++cut) {
    SCOPED_TRACE(cut - start);
    copyTree(original, root());
    const std::string torn =
        contentOf(logFile()).substr(static_cast<size_t>(start), static_cast<size_t>(cut - start));
    fill(logFile(), static_cast<uint64_t>(cut), static_cast<uint64_t>(start + all[2].size - cut));
    std::unique_ptr<Store> store = open();
    ASSERT_EQ(messages(*store), kTwo);
    ASSERT_EQ(messages(*store, "%LMQ%a"), kTwo);
    ASSERT_TRUE(isZero(rest(logFile(), start)));
    const Store::Appended next = put(*store, {"new", {"%LMQ%a"}});
    ASSERT_EQ(next.physicalOffset, start);
    ASSERT_EQ(next.queueOffset, 2);
    ASSERT_EQ(lmqOffset(*store), 2);
    ASSERT_EQ(store->recovery().cutFrom, isZero(torn) ? -1 : start);
    if (!isZero(torn)) {
      ASSERT_EQ(contentOf(store->recovery().cutSavedTo),
                torn.substr(0, torn.find_last_not_of('\0') + 1));
    }
  }
}

TEST_F(RecoveryTest, AFlippedByteOfTheUnsyncedTailCutsThereAndSavesWhatIsCut) {
  const std::vector<Store::Appended> all = writeThree();
  flip(logFile(), static_cast<uint64_t>(all[1].physicalOffset + 100));
  const std::string cut = rest(logFile(), all[1].physicalOffset);
  std::unique_ptr<Store> store = open();
  const RecoveryReport& report = store->recovery();
  EXPECT_EQ(report.cutFrom, all[1].physicalOffset);
  EXPECT_EQ(report.cutBytes, all[1].size + all[2].size);
  EXPECT_EQ(report.cutSavedTo,
            *this / ("cut/" + fileNameOf(static_cast<uint64_t>(all[1].physicalOffset))));
  EXPECT_EQ(contentOf(report.cutSavedTo), cut.substr(0, static_cast<size_t>(report.cutBytes)));
  EXPECT_EQ(messages(*store), Texts{"0:one"});
  EXPECT_EQ(messages(*store, "%LMQ%a"), Texts{"0:one"});
  EXPECT_TRUE(isZero(rest(logFile(), all[1].physicalOffset)));
}

TEST_F(RecoveryTest, ASecondCutAtTheSamePlaceKeepsTheFirstOne) {
  const std::vector<Store::Appended> all = writeThree();
  for (const char* name : {"", ".1", ".2"}) {
    flip(logFile(), static_cast<uint64_t>(all[2].physicalOffset + 100));
    std::unique_ptr<Store> store = open();
    EXPECT_EQ(store->recovery().cutSavedTo,
              *this / ("cut/" + fileNameOf(static_cast<uint64_t>(all[2].physicalOffset)) + name));
    settle(*store);
    put(*store, {"three", {"%LMQ%a"}});
  }
}

TEST_F(RecoveryTest, StaleRecordsNeverComeBack) {  // BR-010
  {
    std::unique_ptr<Store> store = open();
    for (const char* body : {"A", "B", "C"}) put(*store, {body});
    flip(logFile(), static_cast<uint64_t>(store->logEnd() / 3 + 95));
  }
  ASSERT_EQ(messages(*open()), Texts{"0:A"});
  ASSERT_TRUE(succeeded(open()->close()));
  ASSERT_EQ(messages(*open()), Texts{"0:A"});
  put(*open(), {"D"});
  EXPECT_EQ(messages(*open()), (Texts{"0:A", "1:D"}));
}

TEST_F(RecoveryTest, DamageBelowTheSyncedPositionIsRefusedAndChangesNothing) {
  const std::vector<Store::Appended> all = writeThree();
  syncLog();
  flip(logFile(), static_cast<uint64_t>(all[1].physicalOffset + 100));
  Status status;
  ASSERT_EQ(refusal(&status), "STORE_CORRUPT_LOG");
  EXPECT_EQ(status.facts().offset, all[1].physicalOffset);
  EXPECT_EQ(status.facts().path, logFile());

  options_.repair = true;
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(store->recovery().cutFrom, all[1].physicalOffset);
  EXPECT_EQ(store->recovery().cutBytes, all[1].size + all[2].size);
  EXPECT_EQ(messages(*store), Texts{"0:one"});
  EXPECT_LE(store->syncedPosition(), store->logEnd());
  reopen(&store);
  EXPECT_TRUE(store->recovery().notes.empty());
  EXPECT_EQ(put(*store, {"again"}).queueOffset, 1);
}

TEST_F(RecoveryTest, ZerosBelowTheSyncedPositionAreDamageToo) {
  const std::vector<Store::Appended> all = writeThree();
  syncLog();
  fill(logFile(), static_cast<uint64_t>(all[2].physicalOffset), static_cast<uint64_t>(all[2].size));
  EXPECT_EQ(refusal(), "STORE_CORRUPT_LOG");
}

TEST_F(RecoveryTest, DamageOfTheLastRecordAfterACleanCloseIsRefused) {
  const std::vector<Store::Appended> all = writeThree(true);
  flip(logFile(), static_cast<uint64_t>(all[2].physicalOffset + 100));
  EXPECT_EQ(refusal(), "STORE_CORRUPT_LOG");
  options_.repair = true;
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(messages(*store), kTwo);
  EXPECT_EQ(messages(*store, "%LMQ%a"), kTwo);
  EXPECT_EQ(put(*store, {"again", {"%LMQ%a"}}).queueOffset, 2);
  EXPECT_EQ(lmqOffset(*store), 2);
}

TEST_F(RecoveryTest, TheLastRecordIsKnownAlsoAfterALifeWithoutMessages) {
  const std::vector<Store::Appended> all = writeThree();
  ASSERT_TRUE(succeeded(open()->flush()));
  ASSERT_TRUE(succeeded(open()->close()));
  flip(logFile(), static_cast<uint64_t>(all[2].physicalOffset + 100));
  EXPECT_EQ(refusal(), "STORE_CORRUPT_LOG");
}

TEST_F(RecoveryTest, AMissingLogFileBelowTheSyncedPositionIsRefused) {
  {
    std::unique_ptr<Store> store = open();
    while (store->logEnd() < kLogSize + 500) put(*store, {bodyFor(200)});
    ASSERT_TRUE(succeeded(store->close()));
  }
  std::filesystem::rename(logFile(kLogSize), *this / "taken");
  EXPECT_EQ(refusal(), "STORE_CORRUPT_LOG");
  std::filesystem::rename(*this / "taken", logFile(kLogSize));
  { open(); }  // unclean from here on
  std::filesystem::rename(logFile(kLogSize), *this / "taken");
  EXPECT_EQ(refusal(), "STORE_CORRUPT_LOG");
}

}  // namespace
}  // namespace lmq
