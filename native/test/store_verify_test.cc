// Verification: what is right has no fault, and every kind of damage is one, by name and place.
#include "core/store_verify.h"

#include <algorithm>

#include "foreign_directory.h"

namespace lmq {
namespace {

class VerifyTest : public StoreTest {
 protected:
  std::unique_ptr<Store> openWith(int count) {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < count; ++i) put(*store, {std::to_string(i), {"%LMQ%a"}});
    return store;
  }
  // "offset message" of every fault.
  Texts faults(Store& store) {
    Texts all;
    StoreVerify verify(store);
    progress_ = {};
    for (int step = 0; !progress_.done; ++step) {
      if (step > 1000) throw std::runtime_error("it does not end");
      EXPECT_TRUE(succeeded(verify.step(&progress_)));
      EXPECT_LE(progress_.position, progress_.total);
      for (const auto& fault : progress_.faults) {
        all.push_back(std::to_string(fault.offset) + " " + fault.message);
      }
      progress_.faults.clear();
    }
    EXPECT_EQ(progress_.position, progress_.total);
    return all;
  }
  static int64_t positionOf(const Store::Page& page) { return page.rows[0].view.physicalOffset; }

  StoreVerify::Progress progress_;
};

TEST_F(VerifyTest, AnEmptyStoreHasNoFault) {
  EXPECT_EQ(faults(*open()), Texts{});
  EXPECT_EQ(progress_.records, 0);
}

TEST_F(VerifyTest, AWholeStoreHasNoFault) {
  std::unique_ptr<Store> store = openWith(120);  // files of both roll
  put(*store, {"x", {"%LMQ%a"}, "", "T", 0, sys_flag::kPrepared});
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(faults(*store), Texts{});
    EXPECT_EQ(progress_.records, 121);
    EXPECT_EQ(progress_.units, 240);
    if (round == 0) {
      ASSERT_TRUE(succeeded(store->flush()));
    }
    store.reset();
    store = round == 0 ? open() : openReader();
  }
}

TEST_F(VerifyTest, AFlippedBodyIsOneFaultOfTheLogAndOneOfEachQueue) {
  std::unique_ptr<Store> store = openWith(5);
  const int64_t at = positionOf(read(*store, queueOf(*store), 2));
  flip(logFile(), static_cast<uint64_t>(at + 100));
  const Texts all = faults(*store);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].substr(0, all[0].find(' ')), std::to_string(at));
  EXPECT_EQ(all[1], "2 T: this unit leads to no whole record");
  EXPECT_EQ(all[2], "2 %LMQ%a: this unit leads to no whole record");
  EXPECT_EQ(progress_.records, 4);
}

TEST_F(VerifyTest, AStretchOfDamageIsOneFaultAndHidesNothingBehindIt) {
  std::unique_ptr<Store> store = openWith(120);
  const int64_t from = positionOf(read(*store, queueOf(*store), 2));
  const int64_t to = positionOf(read(*store, queueOf(*store), 7));
  fill(logFile(), static_cast<uint64_t>(from), static_cast<uint64_t>(to - from), 'x');
  const Texts all = faults(*store);
  EXPECT_EQ(all.size(), 1u + 2 * 5);
  EXPECT_EQ(progress_.records, 115);
}

TEST_F(VerifyTest, AMissingFileIsAFaultAndHidesNothingBehindIt) {
  std::unique_ptr<Store> store = openWith(120);
  ASSERT_TRUE(succeeded(store->close()));
  store.reset();
  remove("commitlog/" + fileNameOf(kLogSize));
  store = openReader();
  const Texts all = faults(*store);
  EXPECT_GT(all.size(), 20u);
  EXPECT_GT(progress_.records, 80);
  EXPECT_EQ(static_cast<size_t>(120 - progress_.records) * 2 + 1, all.size());
}

TEST_F(VerifyTest, UnitsThatLieAreFaults) {
  std::unique_ptr<Store> store = openWith(4);
  const int64_t first = positionOf(read(*store, queueOf(*store), 0));
  const int64_t second = positionOf(read(*store, queueOf(*store), 1));
  const int32_t size = static_cast<int32_t>(second - first);
  ASSERT_TRUE(succeeded(store->close()));
  const std::pair<std::string, const char*> lies[] = {
      {unitBytes(first, size), "1 T: this unit leads to a record of another queue or offset"},
      {unitBytes(second, size + 1), "1 T: this unit states another size than its record"},
      {unitBytes(second + 1, size), "1 T: this unit leads to no whole record"},
      {unitBytes(0, 0x7FFFFFFF), ""},
  };
  for (const auto& [unit, fault] : lies) {
    writeAt(queueFile(), 20, unit.data(), unit.size());
    store.reset();
    store = openReader();
    EXPECT_EQ(faults(*store), fault[0] == '\0' ? Texts{} : Texts{fault});
  }
}

TEST_F(VerifyTest, AnEntryOfARecordThatDoesNotNameTheQueueIsAFault) {
  ForeignDirectory directory(root());
  const int64_t one = directory.add({"one", {"%LMQ%a"}}, 0, {0});
  directory.addUnit("%LMQ%b/0", 0, one);
  std::unique_ptr<Store> reader = openReader();
  EXPECT_EQ(faults(*reader),
            Texts{"0 %LMQ%b: this entry leads to a record that does not name the queue"});
}

TEST_F(VerifyTest, ADamagedIndexIsAFaultAndHidesNoOtherQueue) {
  {
    std::unique_ptr<Store> store = openWith(4);
    put(*store, {"x", {"%LMQ%b"}});
    ASSERT_TRUE(succeeded(store->close()));
  }
  flip(*this / ("lmq/entries/" + fileNameOf(0)), 3 * 48 + 30);
  std::unique_ptr<Store> reader = openReader();
  const Texts all = faults(*reader);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].find("%LMQ%a"), std::string::npos);
  EXPECT_EQ(progress_.units, 6);
}

TEST_F(VerifyTest, VerificationChangesNothing) {
  {
    std::unique_ptr<Store> store = openWith(20);
    ASSERT_TRUE(succeeded(store->close()));
  }
  flip(logFile(), 300);
  const Tree before = treeOf(root());
  faults(*openReader());
  EXPECT_EQ(treeOf(root()), before);
}

}  // namespace
}  // namespace lmq
