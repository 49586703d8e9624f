// Directories of RocketMQ's, and what another program does to one of ours between two opens.
#include "foreign_directory.h"

namespace lmq {
namespace {

class AdoptTest : public StoreTest {
 protected:
  AdoptTest() { options_.adopt = true; }
  ForeignDirectory foreign(int64_t start = 0) { return ForeignDirectory(root(), start); }
  static Put lmq(const std::string& body, const Texts& names = {"%LMQ%a"}) { return {body, names}; }
};

const std::string kA = "%LMQ%a/0";

TEST_F(AdoptTest, ADirectoryOfRocketMqIsRefusedWithoutAdoptAndUntouched) {
  ForeignDirectory directory = foreign();
  directory.add({"one"}, 0);
  options_.adopt = false;
  EXPECT_EQ(refusal(), "STORE_FOREIGN_DIRECTORY");
  remove("commitlog");
  EXPECT_EQ(refusal(), "STORE_FOREIGN_DIRECTORY");
  remove("consumequeue");
  EXPECT_EQ(refusal(), "STORE_FOREIGN_DIRECTORY");  // its checkpoint is enough
  remove("checkpoint");
  EXPECT_TRUE(open()->recovery().created);
}

TEST_F(AdoptTest, OnceAdoptedADirectoryOpensWithout) {
  ForeignDirectory directory = foreign();
  directory.add({"one"}, 0);
  EXPECT_TRUE(open()->recovery().adopted);
  options_.adopt = false;
  std::unique_ptr<Store> store = open();
  EXPECT_FALSE(store->recovery().adopted);
  EXPECT_EQ(messages(*store), Texts{"0:one"});
}

TEST_F(AdoptTest, UnitsOfLightQueuesAreTakenAsTheyStand) {
  ForeignDirectory directory = foreign();
  const int64_t one = directory.add(lmq("one"), 0, {7});  // the record says 7, the unit 2
  const int64_t two = directory.add(lmq("two"), 1, {9});
  directory.addUnit(kA, 0, -1);
  directory.addUnit(kA, 1, -1);
  directory.addUnit(kA, 2, one);
  directory.addUnit(kA, 3, two);
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(store->recovery().lmqImported, 2);
  EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"2:one", "3:two"}));
  EXPECT_EQ(boundsOf(*store, lmqOf(*store, "%LMQ%a")).min, 2);
  put(*store, lmq("three"));
  EXPECT_EQ(lmqOffset(*store), 4);
}

TEST_F(AdoptTest, RecordsBehindTheLastUnitComeFromTheLog) {
  ForeignDirectory directory = foreign();
  const int64_t one = directory.add(lmq("one"), 0, {0});
  directory.add(lmq("two"), 1, {1}, false);
  directory.add(lmq("three", {"%LMQ%b", "%LMQ%a"}), 2, {5, 2}, false);
  directory.addUnit(kA, 0, one);
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(messages(*store), (Texts{"0:one", "1:two", "2:three"}));
  EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"0:one", "1:two", "2:three"}));
  EXPECT_EQ(messages(*store, "%LMQ%b"), Texts{"5:three"});  // a gap stays one
}

TEST_F(AdoptTest, WithoutDirectoriesATakenOffsetMovesToTheNextFreeOne) {
  ForeignDirectory directory = foreign();
  for (const int64_t offset : {0, 0, 1, 5}) {
    directory.add(lmq(std::to_string(offset)), directory.end() == 0 ? 0 : offset + 1, {offset});
  }
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"0:0", "1:0", "2:1", "5:5"}));
  EXPECT_GE(store->recovery().notes.size(), 2u);
}

TEST_F(AdoptTest, AQueueWhoseRecordsHaveAllExpiredGoesOnCounting) {
  ForeignDirectory directory = foreign(kLogSize);
  directory.add({"kept"}, 3);
  for (int64_t i = 0; i < 9; ++i) directory.addUnit(kA, i, -2 - i);  // of records long gone
  const std::string gone = unitBytes(200, 117);
  for (uint64_t i = 0; i < 9; ++i) writeAt(queueFile(0, kA), i * 20, gone.data(), gone.size());
  for (int round = 0; round < 3; ++round) {
    std::unique_ptr<Store> store = open();
    const Store::Bounds bounds = boundsOf(*store, lmqOf(*store, "%LMQ%a"));
    EXPECT_EQ(bounds.min, 9);
    EXPECT_EQ(bounds.max, 9);
    if (round == 1) {
      ASSERT_TRUE(succeeded(store->close()));
    }
    store.reset();
    if (round == 1) remove("lmq");  // also when the index is built again
  }
  std::unique_ptr<Store> store = open();
  put(*store, lmq("next"));
  EXPECT_EQ(lmqOffset(*store), 9);
  EXPECT_EQ(messages(*store, "%LMQ%a"), Texts{"9:next"});
}

TEST_F(AdoptTest, ItsLightQueueDirectoriesCountNoMoreOnceItIsOurs) {
  ForeignDirectory directory = foreign();
  const int64_t one = directory.add(lmq("one"), 0, {0});
  directory.addUnit(kA, 0, one);
  {
    std::unique_ptr<Store> store = open();
    put(*store, lmq("two"));
  }
  directory.addUnit(kA, 1, one);
  directory.addUnit(kA, 2, one);
  for (const bool close : {true, false}) {
    std::unique_ptr<Store> store = open();
    EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"0:one", "1:two"}));
    if (close) {
      ASSERT_TRUE(succeeded(store->close()));
    }
  }
}

TEST_F(AdoptTest, ARebuildAfterAnAdoptionKeepsTheNumbersOfTheDirectories) {
  ForeignDirectory directory = foreign();
  const int64_t one = directory.add(lmq("one"), 0, {7});
  directory.addUnit(kA, 2, one);
  directory.addUnit(kA, 0, -1);
  directory.addUnit(kA, 1, -1);
  {
    std::unique_ptr<Store> store = open();
    put(*store, lmq("two"));
    ASSERT_TRUE(succeeded(store->close()));
  }
  remove("lmq/table");
  std::unique_ptr<Store> store = open();
  EXPECT_NE(store->recovery().lmqRebuilt, "");
  EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"2:one", "3:two"}));
}

TEST_F(AdoptTest, AnAdoptionThatDidNotEndIsBegunAgain) {
  ForeignDirectory directory = foreign();
  const int64_t one = directory.add(lmq("one"), 0, {7});
  const int64_t two = directory.add(lmq("two"), 1, {8});
  directory.addUnit(kA, 0, one);
  directory.addUnit(kA, 1, two);
  { open(); }
  // As if it had ended after the first unit: no checkpoint yet, one entry.
  remove("lmq/checkpoint");
  fill(*this / ("lmq/entries/" + fileNameOf(0)), 48, 48);
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"0:one", "1:two"}));
}

// Its log -----------------------------------------------------------------------------------

TEST_F(AdoptTest, DamageAfterACleanStopIsRefusedAndChangesNothing) {
  ForeignDirectory directory = foreign();
  std::vector<int64_t> at;
  for (int64_t i = 0; i < 5; ++i) at.push_back(directory.add({"x"}, i));
  writeFile(*this / "lock", "lock");  // as RocketMQ leaves it
  flip(logFile(), static_cast<uint64_t>(at[3] + 95));
  Status status;
  ASSERT_EQ(refusal(&status), "STORE_CORRUPT_LOG");
  EXPECT_EQ(status.facts().offset, at[3]);
  options_.repair = true;
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(store->recovery().cutFrom, at[3]);
  EXPECT_EQ(messages(*store).size(), 3u);
}

TEST_F(AdoptTest, DamageAfterAKillIsATornTail) {
  ForeignDirectory directory = foreign();
  std::vector<int64_t> at;
  for (int64_t i = 0; i < 5; ++i) at.push_back(directory.add({"x"}, i));
  directory.setAborted();
  flip(logFile(), static_cast<uint64_t>(at[3] + 95));
  std::unique_ptr<Store> store = open();
  EXPECT_FALSE(store->recovery().clean);
  EXPECT_EQ(store->recovery().cutFrom, at[3]);
  EXPECT_EQ(messages(*store).size(), 3u);
}

TEST_F(AdoptTest, DamageBelowItsRecoveryStartIsLeftAlone) {
  for (const bool aborted : {false, true}) {
    SCOPED_TRACE(aborted);
    remove("");
    ForeignDirectory directory = foreign();
    std::vector<int64_t> at;
    for (int64_t i = 0; i < 20; ++i) at.push_back(directory.add({std::string(400, 'x')}, i));
    directory.setCheckpoint(kClock, at[19]);
    if (aborted) directory.setAborted();
    flip(logFile(), static_cast<uint64_t>(at[3] + 95));
    const std::string before = contentOf(logFile());
    std::unique_ptr<Store> store = open();
    EXPECT_EQ(store->recovery().scannedFrom, 2 * kLogSize);
    EXPECT_EQ(store->recovery().cutFrom, -1);
    EXPECT_EQ(contentOf(logFile()), before);
    const Texts all = messages(*store);
    EXPECT_EQ(all.size(), 20u);
    EXPECT_EQ(std::count(all.begin(), all.end(), "3!"), 1);
  }
}

TEST_F(AdoptTest, ACleanLogThatEndsWithABlankRecordOpens) {
  ForeignDirectory directory = foreign();
  for (int64_t i = 0; i < 8; ++i) directory.add({bodyFor(500)}, i);
  directory.add({bodyFor(500)}, 8);
  remove("commitlog/" + fileNameOf(kLogSize));
  remove("consumequeue");
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(store->logEnd(), 4000);
  EXPECT_EQ(messages(*store).size(), 8u);
  EXPECT_EQ(put(*store, {bodyFor(500)}).physicalOffset, kLogSize);
}

TEST_F(AdoptTest, WhatCannotBeDispatchedIsNotedAndKept) {
  ForeignDirectory directory = foreign();
  directory.add({"one"}, 0);
  const Put strange[] = {{"x", {}, "", "../up"},
                         {"x", {}, "", "."},
                         {"x", {}, "", "%LMQ%a"},
                         {"x", {}, "", std::string("a\0b", 3)},
                         {"x", {}, "", "T", -1}};
  for (const Put& put : strange) directory.add(put, 0, {}, false);
  for (const int64_t offset : {int64_t{-1}, int64_t{1} << 62, INT64_MAX, INT64_MAX / 20}) {
    directory.add({"x"}, offset, {}, false);
    directory.add({"x", {}, "", "V"}, offset, {}, false);
  }
  directory.add(lmq("x", {"%LMQ%b", "%LMQ%c/d"}), 1, {int64_t{1} << 60, 0});
  remove("consumequeue");
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(messages(*store), (Texts{"0:one", "1:x"}));
  EXPECT_GE(store->recovery().notes.size(), 9u);
  EXPECT_EQ(store->recovery().cutFrom, -1);
  EXPECT_EQ(modifiedAt(directory_ / "store/up"), -1);
  EXPECT_EQ(messages(*store, "%LMQ%b").size(), 1u);  // no record is dropped
  put(*store, lmq("next", {"%LMQ%b"}));
  EXPECT_EQ(messages(*store, "%LMQ%b").size(), 2u);
}

// Another program after our clean close ------------------------------------------------------

class BetweenTest : public AdoptTest {
 protected:
  // Two messages of ours and a clean close; the log's end.
  int64_t begin() {
    std::unique_ptr<Store> store = open();
    put(*store, lmq("one"));
    put(*store, lmq("two"));
    const int64_t end = store->logEnd();
    EXPECT_TRUE(succeeded(store->close()));
    return end;
  }
  Record addThird(int64_t end) {
    const Record record = recordAt(end, 2, lmq("three"), {2});
    writeAt(logFile(), static_cast<uint64_t>(end), record.data(), record.size());
    return record;
  }
  void expectThree() {
    for (int round = 0; round < 3; ++round) {
      std::unique_ptr<Store> store = open();
      EXPECT_EQ(messages(*store), (Texts{"0:one", "1:two", "2:three"}));
      EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"0:one", "1:two", "2:three"}));
      if (round == 1) {
        EXPECT_TRUE(succeeded(store->close()));
      }
    }
  }
};

TEST_F(BetweenTest, ARecordWithItsUnitIsTakenIn) {
  const int64_t end = begin();
  const Record record = addThird(end);
  const std::string unit = unitBytes(end, static_cast<int32_t>(record.size()));
  writeAt(queueFile(), 40, unit.data(), unit.size());
  expectThree();
}

TEST_F(BetweenTest, ARecordWithoutUnitIsTakenIn) {
  addThird(begin());
  expectThree();
}

TEST_F(BetweenTest, ARecordOfAProgramThatWasKilledIsTakenIn) {
  addThird(begin());
  writeFile(*this / "abort", "4711");
  expectThree();
}

TEST_F(BetweenTest, ItsLightUnitsDecideTheNumbering) {
  const int64_t end = begin();
  const Record record = addThird(end);
  std::filesystem::create_directories(*this / "consumequeue/%LMQ%a/0");
  std::string units(kQueueSize, '\0');
  units.replace(0, 80,
                unitBytes(0, 0x7FFFFFFF) + unitBytes(0, 0x7FFFFFFF) + unitBytes(0, 0x7FFFFFFF) +
                    unitBytes(end, static_cast<int32_t>(record.size())));
  writeFile(queueFile(0, kA), units);
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"0:one", "1:two", "3:three"}));
  reopen(&store);
  EXPECT_EQ(messages(*store, "%LMQ%a"), (Texts{"0:one", "1:two", "3:three"}));
}

TEST_F(BetweenTest, ATornRecordOfItsIsCut) {
  const int64_t end = begin();
  addThird(end);
  flip(logFile(), static_cast<uint64_t>(end + 95));
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(store->recovery().cutFrom, end);
  EXPECT_EQ(messages(*store), (Texts{"0:one", "1:two"}));
}

}  // namespace
}  // namespace lmq
