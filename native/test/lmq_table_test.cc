#include "core/lmq_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <unordered_set>

#include "temp_directory.h"

namespace lmq {
namespace {

std::string nameOf(uint64_t queue) { return "%LMQ%device-" + std::to_string(queue); }

// As the index uses it: a slot's name is here the queue's number again.
void insert(LmqTable& table, uint32_t hash, uint64_t queue) {
  ASSERT_TRUE(succeeded(table.reserve(1)));
  ASSERT_TRUE(table.insert(hash, queue, 10 * queue));
}

uint64_t find(const LmqTable& table, uint32_t hash, uint64_t queue) {
  const LmqTable::Slot* slot =
      table.find(hash, [&](const LmqTable::Slot& candidate) { return candidate.queue() == queue; });
  if (slot == nullptr) return ~uint64_t{0};
  EXPECT_EQ(slot->name, 10 * slot->queue());
  return slot->queue();
}

TEST(LmqTableTest, AnEmptyTableFindsNothing) {
  LmqTable table;
  for (const uint32_t hash : {0u, 1u, 0x80000000u, 0xFFFFFFFFu}) {
    EXPECT_EQ(table.likely(hash), nullptr);
    table.prefetch(hash);
  }
}

TEST(LmqTableTest, EveryNameIsFoundAtEverySize) {
  LmqTable table;
  for (uint64_t queue = 0; queue < 100000; queue++) {
    ASSERT_NO_FATAL_FAILURE(insert(table, lmqNameHash(7, nameOf(queue)), queue));
    ASSERT_EQ(table.count(), queue + 1);
    if (queue % 997 != 0) continue;
    for (uint64_t known = 0; known <= queue; known += 1 + queue / 1000) {
      ASSERT_EQ(find(table, lmqNameHash(7, nameOf(known)), known), known);
    }
  }
  for (uint64_t queue = 0; queue < 100000; queue++) {
    ASSERT_EQ(find(table, lmqNameHash(7, nameOf(queue)), queue), queue);
    ASSERT_EQ(find(table, lmqNameHash(7, nameOf(queue)), 100000), ~uint64_t{0});
  }
}

TEST(LmqTableTest, GrowingAddsOneSegmentAtATime) {
  LmqTable table;
  size_t slots = table.slotCount();
  for (uint64_t queue = 0; queue < 300000; queue++) {
    ASSERT_NO_FATAL_FAILURE(insert(table, lmqNameHash(7, nameOf(queue)), queue));
    ASSERT_LE(table.slotCount() - slots, LmqTable::kSegment);
    slots = table.slotCount();
  }
  EXPECT_LT(slots, 300000u * 8 / 3) << "less than three eighths full";
}

TEST(LmqTableTest, ATableMadeForItsNumberDoesNotGrow) {
  for (const uint64_t count : {1, 40, 41, 1000, 2560, 2561, 100000}) {
    LmqTable table;
    ASSERT_TRUE(succeeded(table.reset(count)));
    const size_t slots = table.slotCount();
    for (uint64_t queue = 0; queue < count; queue++) {
      ASSERT_TRUE(table.insert(lmqNameHash(7, nameOf(queue)), queue, 10 * queue));
    }
    EXPECT_EQ(table.slotCount(), slots) << count;
    for (uint64_t queue = 0; queue < count; queue++) {
      ASSERT_EQ(find(table, lmqNameHash(7, nameOf(queue)), queue), queue);
    }
  }
}

TEST(LmqTableTest, EqualHashesAreAllFound) {
  for (const uint32_t hash : {0u, 0xFFFFFFFFu, 0x12345678u}) {
    LmqTable table;
    for (uint64_t queue = 0; queue < 5000; queue++) {
      ASSERT_NO_FATAL_FAILURE(insert(table, hash, queue));
    }
    for (uint64_t queue = 0; queue < 5000; queue += 99) {
      ASSERT_EQ(find(table, hash, queue), queue);
    }
    EXPECT_EQ(find(table, hash, 10000), ~uint64_t{0});
    EXPECT_EQ(table.likely(hash ^ 1), nullptr);
    EXPECT_EQ(table.likely(hash ^ 0x80000000u), nullptr);
  }
}

TEST(LmqTableTest, HashesThatShareTheirFirstBitsDoNotGrowTheDirectoryWithoutBound) {
  LmqTable table;
  for (uint64_t queue = 0; queue < 20000; queue++) {
    ASSERT_NO_FATAL_FAILURE(insert(table, static_cast<uint32_t>(queue % 4096), queue));
  }
  EXPECT_LT(table.slotCount(), 200000u);
  for (uint64_t queue = 0; queue < 20000; queue++) {
    ASSERT_EQ(find(table, static_cast<uint32_t>(queue % 4096), queue), queue);
  }
}

TEST(LmqTableTest, ResetEmpties) {
  LmqTable table;
  insert(table, 5, 5);
  ASSERT_TRUE(succeeded(table.reset(0)));
  EXPECT_EQ(table.count(), 0u);
  EXPECT_EQ(table.likely(5), nullptr);
}

TEST(LmqTableTest, HashesOfSimilarNamesSeldomCollide) {
  std::unordered_set<uint32_t> seen;
  int collisions = 0;
  for (uint64_t queue = 0; queue < 1000000; queue++) {
    if (!seen.insert(lmqNameHash(99, nameOf(queue))).second) collisions++;
  }
  EXPECT_LT(collisions, 200);  // 116 are to be expected of random numbers
}

TEST(LmqTableTest, TheSeedDecidesWhichNamesCollide) {
  // Two names that collide under one seed, found by trying.
  std::vector<std::pair<uint32_t, uint64_t>> hashes;
  for (uint64_t queue = 0; queue < 200000; queue++) {
    hashes.emplace_back(lmqNameHash(1, nameOf(queue)), queue);
  }
  std::sort(hashes.begin(), hashes.end());
  int colliding = 0;
  int again = 0;
  for (size_t i = 1; i < hashes.size(); i++) {
    if (hashes[i].first != hashes[i - 1].first) continue;
    colliding++;
    again +=
        lmqNameHash(2, nameOf(hashes[i].second)) == lmqNameHash(2, nameOf(hashes[i - 1].second));
  }
  EXPECT_GT(colliding, 0);
  EXPECT_EQ(again, 0);
}

TEST(LmqTableTest, EveryByteOfANameOfAnyLengthCounts) {
  for (size_t length = 1; length <= 255; length++) {
    const std::string name(length, 'x');
    std::set<uint32_t> hashes = {lmqNameHash(3, name), lmqNameHash(3, name + 'x')};
    for (size_t i = 0; i < length; i++) {
      std::string other = name;
      other[i] = 'y';
      hashes.insert(lmqNameHash(3, other));
    }
    EXPECT_EQ(hashes.size(), length + 2) << length;
  }
}

}  // namespace
}  // namespace lmq
