#include "core/consumer_offsets.h"

#include <map>
#include <random>
#include <thread>
#include <tuple>

#include "temp_directory.h"

namespace lmq {
namespace {

constexpr uint64_t kHeader = OffsetRecord::kHeaderSize;

class ConsumerOffsetsTest : public testing::Test {
 protected:
  std::unique_ptr<ConsumerOffsets> load(Access access = Access::kWrite) {
    auto offsets = std::make_unique<ConsumerOffsets>(
        ConsumerOffsets::Options{directory_ / "offsets", directory_ / "work", access});
    notes_.clear();
    EXPECT_TRUE(succeeded(offsets->load(&notes_)));
    return offsets;
  }
  std::unique_ptr<ConsumerOffsets> reader() { return load(Access::kReadQuietly); }

  // g in a:0, h in a:1, g in the light queue b.
  void commitThree() {
    auto offsets = load();
    ASSERT_TRUE(succeeded(offsets->commit("g", "a", 0, 0x0102)));
    ASSERT_TRUE(succeeded(offsets->commit("h", "a", 1, 7)));
    ASSERT_TRUE(succeeded(offsets->commit("g", "%LMQ%b", 0, 9)));
  }
  // Behind the two sources that a new log begins with: names g, a; h, a's pair; b.
  static constexpr uint64_t kFirst = 2 * kHeader;

  void change(uint64_t at, const std::string& bytes) {
    Result<File> file = File::open(log_, Access::kWrite);
    ASSERT_TRUE(succeeded(file.status()));
    ASSERT_TRUE(succeeded(file->writeAt(at, bytes.data(), bytes.size())));
  }

  TempDirectory directory_;
  std::string log_ = directory_ / "offsets/log";
  std::vector<Status> notes_;
};

TEST_F(ConsumerOffsetsTest, WithoutALogThereAreNone) {
  auto offsets = load();
  EXPECT_EQ(offsets->committed("g", "a", 0), -1);
  EXPECT_TRUE(offsets->groups().empty());
  EXPECT_TRUE(succeeded(offsets->removeQueue("a", 0)));
  EXPECT_FALSE(offsets->isDirty());
  EXPECT_TRUE(succeeded(offsets->sync()));
  EXPECT_TRUE(directory_.names().empty());
}

TEST_F(ConsumerOffsetsTest, ARecordIsAsItsLayoutSays) {
  commitThree();
  const std::string bytes = contentOf(log_);
  EXPECT_EQ(bytes.substr(kFirst + 4, 28),
            std::string("\1\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0g\0\0\0", 28));
  EXPECT_EQ(bytes.substr(kFirst + 2 * 32 + 4, 24),
            std::string("\2\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\1\2", 24));
  EXPECT_NE(bytes[kFirst] & 0x80, 0);
}

TEST_F(ConsumerOffsetsTest, OffsetsSurviveAReopen) {
  commitThree();
  for (const Access access : {Access::kWrite, Access::kReadQuietly}) {
    auto offsets = load(access);
    EXPECT_TRUE(notes_.empty());
    EXPECT_EQ(offsets->committed("g", "a", 0), 0x0102);
    EXPECT_EQ(offsets->committed("h", "a", 1), 7);
    EXPECT_EQ(offsets->committed("g", "%LMQ%b", 0), 9);
    EXPECT_EQ(offsets->committed("h", "a", 0), -1);
    EXPECT_EQ(offsets->committed("a", "g", 0), -1);
    EXPECT_EQ(offsets->groups(), (std::vector<std::string>{"g", "h"}));
  }
}

TEST_F(ConsumerOffsetsTest, ACommitIsOneSmallRecord) {
  commitThree();
  auto offsets = load();
  const std::string before = contentOf(log_);
  ASSERT_TRUE(succeeded(offsets->commit("g", "a", 0, 0)));
  const std::string after = contentOf(log_);
  ASSERT_EQ(after.size(), before.size());
  size_t changed = 0;
  for (size_t i = 0; i < after.size(); i++) changed += after[i] != before[i];
  EXPECT_LE(changed, kHeader);
  EXPECT_EQ(offsets->committed("g", "a", 0), 0);
}

TEST_F(ConsumerOffsetsTest, NamesHaveOneTo255Bytes) {
  auto offsets = load();
  const std::string longest(255, 'x');
  EXPECT_TRUE(succeeded(offsets->commit(longest, longest, 0, 1)));
  EXPECT_EQ(offsets->commit("", "a", 0, 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(offsets->commit("g", longest + "x", 0, 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(offsets->commit("g", "a", -1, 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(offsets->commit("g", "a", 0, -1).code(), Code::kInvalidArgument);
  EXPECT_EQ(load()->committed(longest, longest, 0), 1);
}

TEST_F(ConsumerOffsetsTest, ADeletedQueueHasNoOffsetsAndItsNamesAreUsedAgain) {
  commitThree();
  auto offsets = load();
  ASSERT_TRUE(succeeded(offsets->removeQueue("a", 1)));
  ASSERT_TRUE(succeeded(offsets->removeQueue("%LMQ%b", 0)));
  ASSERT_TRUE(succeeded(offsets->commit("k", "%LMQ%c", 0, 3)));
  for (const auto& each : {std::move(offsets), load(), reader()}) {
    EXPECT_EQ(each->committed("h", "a", 1), -1);
    EXPECT_EQ(each->committed("g", "%LMQ%b", 0), -1);
    EXPECT_EQ(each->committed("g", "a", 0), 0x0102);
    EXPECT_EQ(each->committed("k", "%LMQ%c", 0), 3);
    EXPECT_EQ(each->groups(), (std::vector<std::string>{"g", "k"}));
  }
}

TEST_F(ConsumerOffsetsTest, ACopyHoldsTheMomentAndWhatAReaderSetStaysItsOwn) {
  commitThree();
  auto writer = load();
  ASSERT_TRUE(succeeded(writer->noteSource(1, 77)));
  auto beside = reader();
  ASSERT_TRUE(succeeded(beside->commit("r", "a", 0, 5)));
  ASSERT_TRUE(succeeded(beside->commit("g", "a", 0, 6)));
  const ConsumerOffsetTable table = beside->table();
  EXPECT_EQ(table.livePairs(), 4u);
  EXPECT_EQ(table.find(table.findName("g"), table.findName("a"), 0), 6);
  const auto offsetsAt = [&](const std::string& directory) {
    return std::make_unique<ConsumerOffsets>(
        ConsumerOffsets::Options{directory, directory_ / "work", Access::kWrite});
  };
  ASSERT_TRUE(succeeded(writer->copyTo(directory_ / "of-writer")));
  ASSERT_TRUE(succeeded(beside->copyTo(directory_ / "of-reader")));
  ASSERT_TRUE(succeeded(writer->commit("g", "a", 0, 100)));
  for (const char* name : {"of-writer", "of-reader"}) {
    auto copy = offsetsAt(directory_ / name);
    ASSERT_TRUE(succeeded(copy->load(&notes_)));
    EXPECT_TRUE(notes_.empty());
    EXPECT_EQ(copy->committed("g", "a", 0), 0x0102);
    EXPECT_EQ(copy->committed("g", "%LMQ%b", 0), 9);
    EXPECT_EQ(copy->committed("r", "a", 0), -1);
    EXPECT_EQ(copy->source(1), 77);
    ASSERT_TRUE(succeeded(copy->commit("g", "a", 0, 1)));
  }
  auto none = offsetsAt(directory_ / "none");
  ASSERT_TRUE(succeeded(none->copyTo(directory_ / "of-none")));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "of-none"));
}

TEST_F(ConsumerOffsetsTest, ATornTailIsCut) {
  commitThree();
  const uint64_t end = kFirst + 2 * 32 + 28 + 32 + 28 + 36 + 28;
  const std::string last = contentOf(log_).substr(end - 28, 28);
  change(end, std::string(4, '\0') + last.substr(4));  // the first bytes never came
  auto offsets = load();
  EXPECT_TRUE(notes_.empty());
  EXPECT_TRUE(offsets->isDirty());
  EXPECT_EQ(offsets->committed("g", "%LMQ%b", 0), 9);
  ASSERT_TRUE(succeeded(offsets->commit("g", "a", 0, 5)));
  EXPECT_EQ(contentOf(log_).find(last.substr(4), end), std::string::npos);
  EXPECT_EQ(load()->committed("g", "a", 0), 5);
}

TEST_F(ConsumerOffsetsTest, EveryTornEndOfTheLastRecordLeavesTheOthers) {
  commitThree();
  const uint64_t last = kFirst + 2 * 32 + 28 + 32 + 28 + 36;
  const std::string whole = contentOf(log_).substr(last, 28);
  for (size_t size = 0; size < 28; size++) {
    change(last, whole.substr(0, size) + std::string(28 - size, '\0'));
    auto offsets = reader();
    EXPECT_TRUE(notes_.empty()) << size;
    EXPECT_EQ(offsets->committed("g", "%LMQ%b", 0), -1) << size;
    EXPECT_EQ(offsets->committed("h", "a", 1), 7) << size;
  }
}

TEST_F(ConsumerOffsetsTest, DamageIsReportedAndWhatIsBehindItCounts) {
  commitThree();
  const uint64_t pair = kFirst + 2 * 32;  // g in a:0
  for (const std::string& bytes : {std::string("x"), std::string(28, '\0')}) {
    change(pair, bytes);
    auto offsets = load();
    ASSERT_EQ(notes_.size(), 1u);
    EXPECT_EQ(notes_[0].code(), Code::kCorruptFile);
    EXPECT_EQ(notes_[0].facts().path, log_);
    EXPECT_EQ(notes_[0].facts().offset, static_cast<int64_t>(pair));
    EXPECT_EQ(offsets->committed("g", "a", 0), -1);
    EXPECT_EQ(offsets->committed("h", "a", 1), 7);
    EXPECT_EQ(offsets->committed("g", "%LMQ%b", 0), 9);
  }
  auto offsets = load();
  ASSERT_TRUE(succeeded(offsets->sync()));  // written anew
  offsets = load();
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(offsets->committed("h", "a", 1), 7);
}

TEST_F(ConsumerOffsetsTest, ADamagedNameCostsItsOffsetsAlone) {
  commitThree();
  change(kFirst + 32 + 28, "z");  // the name of a
  auto offsets = load();
  EXPECT_EQ(notes_.size(), 1u);
  EXPECT_EQ(offsets->committed("g", "a", 0), -1);
  ASSERT_TRUE(succeeded(offsets->commit("g", "a", 0, 4)));
  EXPECT_EQ(load()->committed("g", "a", 0), 4);
}

TEST_F(ConsumerOffsetsTest, AnyDamagedByteIsSurvived) {
  commitThree();
  const std::string whole = contentOf(log_).substr(0, kFirst + 2 * 32 + 28 + 32 + 28 + 36 + 28);
  std::mt19937 random(7);
  for (size_t at = 0; at < whole.size(); at++) {
    change(0, whole);
    change(at, std::string(1, static_cast<char>(whole[at] ^ (1 + random() % 255))));
    auto offsets = reader();
    const int64_t value = offsets->committed("g", "a", 0);
    EXPECT_TRUE(value == -1 || value == 0x0102) << at;
  }
}

TEST_F(ConsumerOffsetsTest, AFileOfOtherBytesIsNoReasonToFail) {
  commitThree();
  for (const std::string& content : {std::string(), std::string("x"), std::string(5000, '\xff')}) {
    ASSERT_TRUE(succeeded(replaceFile(log_, content.data(), content.size())));
    auto offsets = load();
    EXPECT_EQ(offsets->committed("g", "a", 0), -1);
    ASSERT_TRUE(succeeded(offsets->commit("g", "a", 0, 1)));
    EXPECT_EQ(load()->committed("g", "a", 0), 1);
  }
}

TEST_F(ConsumerOffsetsTest, TheLogIsWrittenAnewWhenItIsFull) {
  using Key = std::tuple<std::string, std::string, int32_t>;
  std::map<Key, int64_t> expected;
  std::mt19937 random(11);
  auto offsets = load();
  const auto check = [&] {
    for (const auto& [key, offset] : expected) {
      const auto& [group, topic, queueId] = key;
      ASSERT_EQ(offsets->committed(group, topic, queueId), offset) << group << topic << queueId;
    }
    size_t count = 0;
    std::vector<ConsumerOffsets::Offset> page;
    uint64_t cursor = 0;
    for (bool more = true; more; page.clear()) {
      more = offsets->list(&cursor, 7, &page);
      for (const auto& one : page) {
        EXPECT_EQ(expected.at({one.group, one.topic, one.queueId}), one.offset);
      }
      count += page.size();
    }
    EXPECT_EQ(count, expected.size());
  };
  for (int i = 0; i < 300'000; i++) {
    const std::string topic = "%LMQ%" + std::to_string(random() % 400);
    const int32_t queueId = static_cast<int32_t>(random() % 2);
    if (random() % 50 == 0) {
      ASSERT_TRUE(succeeded(offsets->removeQueue(topic, queueId)));
      std::erase_if(expected, [&](const auto& one) {
        return std::get<1>(one.first) == topic && std::get<2>(one.first) == queueId;
      });
    } else {
      const std::string group = "g" + std::to_string(random() % 3);
      ASSERT_TRUE(succeeded(offsets->commit(group, topic, queueId, i)));
      expected[{group, topic, queueId}] = i;
    }
    if (i % 100'000 == 0) check();
  }
  check();
  EXPECT_LT(contentOf(log_).size(), 3u << 20);
  EXPECT_TRUE(TempDirectory::namesIn(directory_ / "work").empty());
  offsets = load();
  EXPECT_TRUE(notes_.empty());
  check();
}

TEST_F(ConsumerOffsetsTest, CommitsBesideARewritingAreKept) {
  auto offsets = load();
  std::thread syncing([&] {
    for (int i = 0; i < 200; i++) EXPECT_TRUE(succeeded(offsets->sync()));
  });
  for (int i = 0; i < 200'000; i++) {
    ASSERT_TRUE(succeeded(offsets->commit("g", "t" + std::to_string(i % 1000), 0, i)));
  }
  syncing.join();
  ASSERT_TRUE(succeeded(offsets->sync()));
  EXPECT_FALSE(offsets->isDirty());
  offsets = load();
  for (int i = 0; i < 1000; i++) {
    EXPECT_EQ(offsets->committed("g", "t" + std::to_string(i), 0), 199'000 + i);
  }
}

TEST_F(ConsumerOffsetsTest, AReaderFollowsTheWriterAlsoToANewLog) {
  auto before = reader();
  commitThree();
  auto writer = load();
  ASSERT_TRUE(succeeded(before->refresh()));
  EXPECT_EQ(before->committed("h", "a", 1), 7);
  for (int i = 0; i < 100'000; i++) ASSERT_TRUE(succeeded(writer->commit("g", "a", 0, i)));
  ASSERT_TRUE(succeeded(before->refresh()));
  EXPECT_EQ(before->committed("g", "a", 0), 99'999);
  EXPECT_EQ(before->committed("h", "a", 1), 7);
  EXPECT_EQ(before->removeQueue("a", 0).code(), Code::kReadOnly);
}

TEST_F(ConsumerOffsetsTest, WhatAReaderSetsStaysItsOwnUntilTheWriterHasTakenItIn) {
  commitThree();
  auto writer = load();
  auto mine = reader();
  ASSERT_TRUE(succeeded(mine->commit("h", "a", 1, 70)));
  ASSERT_TRUE(succeeded(mine->commit("n", "new", 0, 1)));
  ASSERT_TRUE(succeeded(mine->refresh()));
  EXPECT_EQ(mine->committed("h", "a", 1), 70);
  std::vector<ConsumerOffsets::Offset> all;
  uint64_t cursor = 0;
  EXPECT_FALSE(mine->list(&cursor, 100, &all));
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(writer->committed("n", "new", 0), -1);
  ASSERT_TRUE(succeeded(writer->noteSource(1, 1234)));
  ASSERT_TRUE(succeeded(mine->refresh()));
  EXPECT_EQ(mine->source(1), 1234);
  EXPECT_EQ(mine->committed("h", "a", 1), 7);
  EXPECT_EQ(load()->source(1), 1234);
}

TEST_F(ConsumerOffsetsTest, WorksByPositionToo) {
  const bool was = forcePositionalWrites(true);
  commitThree();
  EXPECT_EQ(load()->committed("g", "a", 0), 0x0102);
  forcePositionalWrites(was);
}

}  // namespace
}  // namespace lmq
