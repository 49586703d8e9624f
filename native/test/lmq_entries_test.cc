#include "core/lmq_entries.h"

#include "core/bytes.h"
#include "core/crc32.h"
#include "lmq_fixture.h"

namespace lmq {
namespace {

LmqEntry someEntry() {
  LmqEntry entry;
  entry.kind = LmqEntry::kSkip;
  entry.queue = 0x0102030405;
  entry.previous = 0x1112131415;
  entry.skip = 0x2122232425;
  entry.placed = {0x3132333435363738, {0x4142434445464748, 0x51525354, 0x6162636465666768}};
  return entry;
}

std::string encoded(const LmqEntry& entry) {
  uint8_t bytes[LmqEntry::kSize];
  uint32_t checksum;
  entry.encode(bytes, &checksum);
  store<uint32_t>(bytes, checksum);
  return std::string(reinterpret_cast<const char*>(bytes), sizeof(bytes));
}

bool decodes(const std::string& bytes, LmqEntry* entry) {
  return entry->decode(reinterpret_cast<const uint8_t*>(bytes.data()));
}

TEST(LmqEntryTest, AnEntryIsAsItsLayoutSays) {
  const std::string bytes = encoded(someEntry());
  EXPECT_EQ(bytes.substr(4),
            "\x02"
            "\x01\x02\x03\x04\x05"
            "\x11\x12\x13\x14\x15"
            "\x21\x22\x23\x24\x25"
            "\x31\x32\x33\x34\x35\x36\x37\x38"
            "\x41\x42\x43\x44\x45\x46\x47\x48"
            "\x51\x52\x53\x54"
            "\x61\x62\x63\x64\x65\x66\x67\x68");
  const uint8_t* data = reinterpret_cast<const uint8_t*>(bytes.data());
  EXPECT_EQ(load<uint32_t>(data), crc32(0, data + 4, 44) | 0x80000000u);
}

TEST(LmqEntryTest, EncodingLeavesTheChecksumToTheCaller) {
  uint8_t bytes[LmqEntry::kSize] = {1, 2, 3, 4};
  uint32_t checksum;
  someEntry().encode(bytes, &checksum);
  EXPECT_EQ(load<uint32_t>(bytes), 0x01020304u);
}

TEST(LmqEntryTest, EveryFieldSurvivesAtItsLimits) {
  LmqEntry most;
  most.queue = most.previous = most.skip = (uint64_t{1} << 40) - 1;
  most.placed = {INT64_MAX - 1, {INT64_MAX - INT32_MAX, INT32_MAX, INT64_MIN}};
  for (const LmqEntry& entry : {LmqEntry(), someEntry(), most}) {
    LmqEntry back;
    ASSERT_TRUE(decodes(encoded(entry), &back));
    EXPECT_EQ(back.kind, entry.kind);
    EXPECT_EQ(back.queue, entry.queue);
    EXPECT_EQ(back.previous, entry.previous);
    EXPECT_EQ(back.skip, entry.skip);
    EXPECT_EQ(back.placed, entry.placed);
  }
}

TEST(LmqEntryTest, ZerosAreNoEntry) {
  LmqEntry entry;
  EXPECT_FALSE(decodes(std::string(LmqEntry::kSize, '\0'), &entry));
}

TEST(LmqEntryTest, EveryFlippedBitIsNoticed) {
  const std::string bytes = encoded(someEntry());
  LmqEntry entry;
  for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_FALSE(decodes(damaged, &entry)) << "bit " << bit;
  }
}

TEST(LmqEntryTest, NumbersThatCannotBeAreRefusedDespiteTheChecksum) {
  std::vector<LmqEntry> wrong(5, someEntry());
  wrong[0].placed.queueOffset = -1;
  wrong[1].placed.queueOffset = INT64_MAX;
  wrong[2].placed.unit.physicalOffset = -1;
  wrong[3].placed.unit.physicalOffset = INT64_MAX;
  wrong[4].placed.unit.size = -1;
  LmqEntry entry;
  for (const LmqEntry& each : wrong) EXPECT_FALSE(decodes(encoded(each), &entry));
}

class LmqEntriesTest : public testing::Test {
 protected:
  LmqEntriesTest() : entries_({}, true, nullptr) {}

  // Appends as LmqIndex does.
  void append(int64_t offset, int64_t physical) {
    LmqEntry entry;
    entry.previous = tail_;
    entry.placed = {offset, {physical, 1, 0}};
    if (added_ % 16 == 15) {
      entries_.linkSkip(added_ / 16, skip_, jump_, &entry);
    } else {
      entry.skip = skip_;
    }
    appendRaw(entry);
  }

  void appendRaw(const LmqEntry& entry) {
    ASSERT_TRUE(succeeded(entries_.reserve(1)));
    ASSERT_TRUE(succeeded(entries_.append(entry)));
    tail_ = entries_.count();
    added_++;
    if (entry.kind != LmqEntry::kSkip) return;
    skip_ = tail_;
    jump_ = entry.skip;
  }

  LmqEntry at(uint64_t number) {
    LmqEntry entry;
    EXPECT_TRUE(succeeded(entries_.read(0, number, entries_.count(), &entry)));
    return entry;
  }

  Code searchCode(uint64_t queue, int64_t target) {
    LmqEntries::Place place;
    return entries_.search(queue, tail_, LmqEntries::Key::kQueueOffset, target, &place).code();
  }

  LmqEntries entries_;
  uint64_t tail_ = 0;
  uint64_t skip_ = 0;
  uint64_t jump_ = 0;
  uint64_t added_ = 0;
};

TEST_F(LmqEntriesTest, SkipEntriesFormAJumpPointerList) {
  // Myers' rule, with the depths that the links themselves need not keep.
  std::vector<size_t> target = {0};
  for (size_t depth = 1; depth < 4000; depth++) {
    const size_t previous = depth - 1;
    const size_t jump = target[previous];
    target.push_back(previous - jump == jump - target[jump] ? target[jump] : previous);
  }
  for (int64_t i = 0; i < 16 * 4000; i++) append(i, i);
  for (uint64_t number = 0; number < entries_.count(); number++) {
    const LmqEntry entry = at(number);
    const uint64_t depth = number / 16;
    if (number % 16 != 15) {
      EXPECT_EQ(entry.kind, LmqEntry::kUnit);
      EXPECT_EQ(entry.skip, depth * 16);  // entry 16 depth - 1, + 1
    } else {
      EXPECT_EQ(entry.kind, LmqEntry::kSkip);
      EXPECT_EQ(entry.skip, depth == 0 ? 0 : target[depth] * 16 + 16);
    }
  }
}

TEST_F(LmqEntriesTest, AnyOffsetOfAMillionIsFoundInFewReads) {
  for (int64_t i = 0; i < 1000000; i++) append(i, 100 * i);
  std::mt19937_64 random(1);
  uint64_t most = 0;
  uint64_t sum = 0;
  constexpr int kSearches = 20000;
  for (int i = 0; i < kSearches; i++) {
    const int64_t target = static_cast<int64_t>(random() % 1000000);
    const bool physical = i % 2 == 0;
    LmqEntries::Place place;
    const uint64_t before = entries_.readCount();
    ASSERT_TRUE(succeeded(entries_.search(
        0, tail_, physical ? LmqEntries::Key::kPhysicalOffset : LmqEntries::Key::kQueueOffset,
        physical ? 100 * target : target, &place)));
    ASSERT_EQ(place.reached, static_cast<uint64_t>(target) + 1);
    ASSERT_EQ(place.previous, static_cast<uint64_t>(target));
    most = std::max(most, entries_.readCount() - before);
    sum += entries_.readCount() - before;
  }
  RecordProperty("most", static_cast<int>(most));
  RecordProperty("mean", static_cast<int>(sum / kSearches));
  EXPECT_LE(most, 16u + 4 * 16);  // log2(1,000,000 / 16) is 16
}

TEST_F(LmqEntriesTest, AppendingReadsOneEntryInThirtyTwo) {
  for (int64_t i = 0; i < 100000; i++) append(i, i);
  EXPECT_LE(entries_.readCount(), 100000u / 32);
}

TEST_F(LmqEntriesTest, SearchingBeyondTheEndsReachesNothing) {
  LmqEntries::Place place;
  ASSERT_TRUE(succeeded(entries_.search(0, 0, LmqEntries::Key::kQueueOffset, 0, &place)));
  EXPECT_EQ(place.reached, 0u);
  EXPECT_EQ(place.previous, 0u);
  for (int64_t i = 0; i < 100; i++) append(10 + i, i);
  ASSERT_TRUE(succeeded(entries_.search(0, tail_, LmqEntries::Key::kQueueOffset, 110, &place)));
  EXPECT_EQ(place.reached, 0u);
  EXPECT_EQ(place.previous, 100u);
  ASSERT_TRUE(succeeded(entries_.search(0, tail_, LmqEntries::Key::kQueueOffset, 10, &place)));
  EXPECT_EQ(place.reached, 1u);
  EXPECT_EQ(place.previous, 0u);
}

TEST_F(LmqEntriesTest, AnEntryOfAnotherQueueIsCorruption) {
  for (int64_t i = 0; i < 10; i++) append(i, i);
  EXPECT_EQ(searchCode(1, 0), Code::kCorruptFile);
}

TEST_F(LmqEntriesTest, LinksForwardOrToThemselvesAreCorruptionAndNoLoop) {
  for (const uint64_t link : {6, 7, 1000}) {  // 6 leads entry 5 to itself
    for (const bool isSkip : {false, true}) {
      ASSERT_TRUE(succeeded(entries_.removeAll()));
      tail_ = skip_ = jump_ = added_ = 0;
      for (int64_t i = 0; i < 5; i++) append(i, i);
      LmqEntry entry;
      entry.previous = isSkip ? tail_ : link;
      entry.skip = isSkip ? link : 0;
      entry.placed = {5, {5, 1, 0}};
      appendRaw(entry);
      EXPECT_EQ(searchCode(0, 0), Code::kCorruptFile);
      PlacedUnit page[8];
      size_t count = 0;
      EXPECT_EQ(entries_.units(0, tail_, 0, 8, page, &count).code(), Code::kCorruptFile);
    }
  }
}

TEST_F(LmqEntriesTest, OffsetsThatDoNotFallAlongALinkAreCorruption) {
  append(5, 5);
  append(6, 6);
  LmqEntry entry;
  entry.previous = tail_;
  entry.placed = {6, {7, 1, 0}};  // the same offset again
  appendRaw(entry);
  EXPECT_EQ(searchCode(0, 0), Code::kCorruptFile);
  PlacedUnit page[8];
  size_t count = 0;
  EXPECT_EQ(entries_.units(0, tail_, 0, 8, page, &count).code(), Code::kCorruptFile);
}

TEST_F(LmqEntriesTest, ATailBehindTheEndIsCorruption) {
  append(0, 0);
  LmqEntries::Place place;
  for (const uint64_t tail : {uint64_t{2}, uint64_t{1} << 39}) {
    EXPECT_EQ(entries_.search(0, tail, LmqEntries::Key::kQueueOffset, 0, &place).code(),
              Code::kCorruptFile);
  }
}

TEST_F(LmqEntriesTest, ASkipLinkWhoseTargetIsUnreadableFallsBackToTheOneBefore) {
  LmqEntry entry;
  append(0, 0);
  entries_.linkSkip(3, 1, 9,
                    &entry);  // the third should lead to where entry 8 leads, which is none
  EXPECT_EQ(entry.kind, LmqEntry::kSkip);
  EXPECT_EQ(entry.skip, 1u);
}

TEST_F(LmqEntriesTest, AppendingWithoutRoomIsRefused) {
  EXPECT_EQ(entries_.append(LmqEntry()).code(), Code::kInternal);
  EXPECT_EQ(entries_.count(), 0u);
}

TEST_F(LmqEntriesTest, MoreEntriesThanTheirNumbersCanSayAreRefused) {
  entries_.setCount(LmqEntry::kMaxNumber - 1);
  EXPECT_EQ(entries_.reserve(2).code(), Code::kLimit);
  EXPECT_EQ(entries_.reserve(~uint64_t{0}).code(), Code::kLimit);
}

}  // namespace
}  // namespace lmq
