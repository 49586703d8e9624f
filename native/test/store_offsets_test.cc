// Consumer offsets beside their queues: none runs ahead, whatever a crash or a file left.
#include "foreign_directory.h"

namespace lmq {
namespace {

class StoreOffsetsTest : public StoreTest {
 protected:
  std::unique_ptr<Store> openWith(int count) {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < count; ++i) put(*store, {std::to_string(i), {"%LMQ%a"}});
    return store;
  }
  static Code commit(Store& store, const std::string& topic, int64_t offset, int32_t id = 0,
                     const std::string& group = "g") {
    return store.commitOffset(group, topic, id, offset).code();
  }
  static int64_t committed(Store& store, const std::string& topic, int32_t id = 0) {
    return store.offsets().committed("g", topic, id);
  }
  static std::vector<std::string> notes(const Store& store) {
    std::vector<std::string> notes;
    for (const Status& note : store.recovery().notes) notes.push_back(note.facts().message);
    return notes;
  }
};

TEST_F(StoreOffsetsTest, AnOffsetMayBeTheEndOfItsQueueAndNotBeyond) {
  std::unique_ptr<Store> store = openWith(3);
  for (const std::string topic : {"T", "%LMQ%a"}) {
    for (const int64_t good : {3, 0, 2}) {
      EXPECT_EQ(commit(*store, topic, good), Code::kOk);
      EXPECT_EQ(committed(*store, topic), good);
    }
    for (const int64_t bad : {int64_t{4}, INT64_MAX}) {
      const Status status = store->commitOffset("g", topic, 0, bad);
      EXPECT_EQ(status.code(), Code::kOffsetTooLarge);
      EXPECT_EQ(status.facts().offset, bad);
      EXPECT_EQ(status.facts().limit, 3);
    }
    EXPECT_EQ(commit(*store, topic, -1), Code::kInvalidArgument);
    EXPECT_EQ(commit(*store, topic, 1, -1), Code::kOffsetTooLarge);
    EXPECT_EQ(commit(*store, topic, 0, 1), Code::kOk);  // of a queue that is not there yet
    EXPECT_EQ(commit(*store, topic, 1, 1), Code::kOffsetTooLarge);
    EXPECT_EQ(committed(*store, topic), 2);
  }
  EXPECT_EQ(commit(*store, "unknown", 1), Code::kOffsetTooLarge);
  EXPECT_EQ(commit(*store, "%LMQ%unknown", 1), Code::kOffsetTooLarge);
  EXPECT_EQ(commit(*store, "%LMQ%unknown", 0), Code::kOk);
}

TEST_F(StoreOffsetsTest, OneThatRocketMqKeptIsLoweredToTheEnd) {
  std::unique_ptr<Store> store = openWith(3);
  int64_t kept = 0;
  ASSERT_TRUE(succeeded(store->restoreOffset("g", "T", 0, 2, &kept)));
  EXPECT_EQ(kept, 2);
  ASSERT_TRUE(succeeded(store->restoreOffset("g", "T", 0, INT64_MAX, &kept)));
  EXPECT_EQ(kept, 3);
  ASSERT_TRUE(succeeded(store->restoreOffset("g", "unknown", 7, 5, &kept)));
  EXPECT_EQ(kept, 0);
  EXPECT_EQ(store->restoreOffset("g", "T", 0, -1, &kept).code(), Code::kInvalidArgument);
  EXPECT_EQ(committed(*store, "T"), 3);
  std::unique_ptr<Store> reader = openReader();
  ASSERT_TRUE(succeeded(reader->restoreOffset("g", "T", 0, 50, &kept)));
  EXPECT_EQ(kept, 50);  // a reader may see it before the messages
  EXPECT_EQ(reader->commitOffset("g", "T", 0, 1).code(), Code::kReadOnly);
  ASSERT_TRUE(succeeded(store->close()));
  EXPECT_EQ(commit(*store, "T", 1), Code::kClosed);
  EXPECT_EQ(store->restoreOffset("g", "T", 0, 1, &kept).code(), Code::kClosed);
}

TEST_F(StoreOffsetsTest, OffsetsBeyondWhatACrashLeftAreSetBackAndNoted) {
  std::unique_ptr<Store> store = openWith(5);
  for (int group = 0; group < 25; ++group) {
    EXPECT_EQ(commit(*store, "T", 5, 0, "g" + std::to_string(group)), Code::kOk);
  }
  EXPECT_EQ(commit(*store, "%LMQ%a", 5), Code::kOk);
  EXPECT_EQ(commit(*store, "T", 4), Code::kOk);
  const int64_t fifth = read(*store, queueOf(*store), 4).rows[0].view.physicalOffset;
  ASSERT_TRUE(succeeded(store->flush()));
  store.reset();
  lmq::fill(logFile(), static_cast<uint64_t>(fifth), 8);  // never synced, says the checkpoint below
  remove("lmq/checkpoint");
  store = open();
  EXPECT_EQ(boundsOf(*store, queueOf(*store)).max, 4);
  for (int group = 0; group < 25; ++group) {
    EXPECT_EQ(store->offsets().committed("g" + std::to_string(group), "T", 0), 4) << group;
  }
  EXPECT_EQ(committed(*store, "T"), 4);
  EXPECT_EQ(committed(*store, "%LMQ%a"), 4);
  size_t lowered = 0;
  std::string last;
  for (const std::string& note : notes(*store)) {
    if (note.find("set back to the end") == std::string::npos) continue;
    ++lowered;
    last = note;
  }
  EXPECT_EQ(lowered, 21u);  // twenty by name, and how many more
  EXPECT_EQ(last, "6 more offsets were set back to the end.");
  reopen(&store);
  EXPECT_EQ(committed(*store, "T"), 4);
}

TEST_F(StoreOffsetsTest, ALogOfAnotherStoreIsLoweredToWhatIsHere) {
  openWith(5).reset();
  options_.path = directory_ / "other";
  std::unique_ptr<Store> other = openWith(50);
  EXPECT_EQ(commit(*other, "T", 50), Code::kOk);
  EXPECT_EQ(commit(*other, "%LMQ%a", 50), Code::kOk);
  EXPECT_EQ(commit(*other, "%LMQ%a", 2, 0, "h"), Code::kOk);
  other.reset();
  const std::string from = options_.path;
  options_.path = directory_ / "store";
  remove("offsets");
  std::filesystem::copy(from + "/offsets", *this / "offsets");
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(committed(*store, "T"), 5);
  EXPECT_EQ(committed(*store, "%LMQ%a"), 5);
  EXPECT_EQ(store->offsets().committed("h", "%LMQ%a", 0), 2);
  EXPECT_EQ(notes(*store).size(), 2u);
}

TEST_F(StoreOffsetsTest, ADirectoryInItsPlaceRefusesTheOpenAndChangesNothing) {
  openWith(3).reset();
  std::filesystem::remove(*this / "offsets/log");
  std::filesystem::create_directories(*this / "offsets/log");
  Status status;
  EXPECT_EQ(tryOpen(&status), nullptr);
  EXPECT_EQ(status.facts().path, *this / "offsets/log");
  std::filesystem::remove(*this / "offsets/log");
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(messages(*store).size(), 3u);
}

TEST_F(StoreOffsetsTest, OfAForeignDirectoryTheyAreThoseOfItsQueues) {
  ForeignDirectory directory(root());
  const int64_t one = directory.add({"one", {"%LMQ%b"}}, 0, {0});
  directory.addUnit("%LMQ%b/0", 0, one);
  std::unique_ptr<Store> reader = openReader();
  int64_t kept = 0;
  ASSERT_TRUE(succeeded(reader->restoreOffset("g", "%LMQ%b", 0, 1, &kept)));
  EXPECT_EQ(committed(*reader, "%LMQ%b"), 1);
  reader.reset();
  options_.adopt = true;
  std::unique_ptr<Store> store = open();
  EXPECT_EQ(committed(*store, "%LMQ%b"), -1);
  EXPECT_EQ(commit(*store, "%LMQ%b", 1), Code::kOk);
  EXPECT_EQ(commit(*store, "%LMQ%b", 2), Code::kOffsetTooLarge);
}

}  // namespace
}  // namespace lmq
