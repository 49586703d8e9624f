#include "core/lmq_state.h"

#include <algorithm>
#include <map>
#include <random>

#include "temp_directory.h"

namespace lmq {
namespace {

using Fact = LmqState::Fact;

Fact nextOffset(const std::string& name, int64_t offset, int64_t logEnd = 0) {
  return {LmqState::kNextOffset, "%LMQ%" + name, offset, logEnd};
}

Fact deleted(const std::string& name, int64_t logEnd) {
  return {LmqState::kDeleted, "%LMQ%" + name, 0, logEnd};
}

class LmqStateTest : public testing::Test {
 protected:
  LmqState load() {
    Result<LmqState> state = LmqState::load(path_, Access::kWrite);
    EXPECT_TRUE(succeeded(state.status()));
    return state.take();
  }
  Code loadCode() { return LmqState::load(path_, Access::kRead).status().code(); }

  TempDirectory directory_;
  std::string path_ = directory_ / "state";
};

TEST_F(LmqStateTest, WithoutAFileThereAreNoFacts) {
  LmqState state = load();
  EXPECT_TRUE(state.facts().empty());
  EXPECT_EQ(state.nextOffset("%LMQ%a"), 0);
  EXPECT_EQ(state.deletedAt("%LMQ%a"), -1);
  EXPECT_TRUE(succeeded(state.record({})));
  EXPECT_TRUE(directory_.names().empty());
}

TEST_F(LmqStateTest, AFactIsAsItsLayoutSays) {
  LmqState state = load();
  ASSERT_TRUE(succeeded(state.record({nextOffset("a", 0x0102, 0x0304), deleted("b", 0x0506)})));
  const std::string bytes = contentOf(path_);
  ASSERT_EQ(bytes.size(), 58u);
  EXPECT_EQ(bytes.substr(4, 25), std::string("\x81\0\6\0\0\0\0\0\0\1\2\0\0\0\0\0\0\3\4%LMQ%a", 25));
  EXPECT_EQ(bytes.substr(33, 25), std::string("\2\0\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\6%LMQ%b", 25));
}

TEST_F(LmqStateTest, FactsSurviveAReopen) {
  LmqState state = load();
  ASSERT_TRUE(succeeded(state.record({nextOffset("a", 5, 100)})));
  ASSERT_TRUE(succeeded(state.record({nextOffset("b", 6, 200), deleted("c", 300)})));
  for (const LmqState& each : {state, load()}) {
    EXPECT_EQ(each.nextOffset("%LMQ%a"), 5);
    EXPECT_EQ(each.nextOffset("%LMQ%b"), 6);
    EXPECT_EQ(each.deletedAt("%LMQ%c"), 300);
    EXPECT_EQ(each.nextOffset("%LMQ%c"), 0);
    EXPECT_EQ(each.facts().size(), 3u);
  }
}

TEST_F(LmqStateTest, ANextOffsetIsOnlyRaised) {
  LmqState state = load();
  ASSERT_TRUE(succeeded(state.record({nextOffset("a", 5), nextOffset("a", 3)})));
  EXPECT_EQ(state.nextOffset("%LMQ%a"), 5);
  EXPECT_EQ(load().nextOffset("%LMQ%a"), 5);
}

TEST_F(LmqStateTest, ADeletionEndsTheNextOffsetBeforeIt) {
  LmqState state = load();
  ASSERT_TRUE(succeeded(state.record({nextOffset("a", 5)})));
  ASSERT_TRUE(succeeded(state.record({deleted("a", 1000)})));
  for (const LmqState& each : {state, load()}) {
    EXPECT_EQ(each.nextOffset("%LMQ%a"), 0);
    EXPECT_EQ(each.deletedAt("%LMQ%a"), 1000);
  }
  ASSERT_TRUE(succeeded(state.record({nextOffset("a", 2)})));
  for (const LmqState& each : {state, load()}) {
    EXPECT_EQ(each.nextOffset("%LMQ%a"), 2);
    EXPECT_EQ(each.deletedAt("%LMQ%a"), 1000);
  }
}

TEST_F(LmqStateTest, FactsThatNoFileCanHoldAreRefused) {
  LmqState state = load();
  EXPECT_EQ(state.record({{LmqState::kDeleted, "", 0, 0}}).code(), Code::kInvalidLmqName);
  EXPECT_EQ(state.record({{LmqState::kDeleted, std::string(256, 'x'), 0, 0}}).code(),
            Code::kInvalidLmqName);
  EXPECT_EQ(state.record({nextOffset("a", -1)}).code(), Code::kInternal);
  EXPECT_EQ(state.record({deleted("a", -1)}).code(), Code::kInternal);
  EXPECT_TRUE(directory_.names().empty());
}

TEST_F(LmqStateTest, AReaderRecordsNothing) {
  Result<LmqState> state = LmqState::load(path_, Access::kRead);
  ASSERT_TRUE(succeeded(state.status()));
  EXPECT_EQ(state->record({deleted("a", 1)}).code(), Code::kReadOnly);
  EXPECT_TRUE(directory_.names().empty());
}

TEST_F(LmqStateTest, ACutAtEveryLengthKeepsTheWholeFactsBeforeIt) {
  {
    LmqState state = load();
    for (int i = 0; i < 5; i++) {
      ASSERT_TRUE(succeeded(state.record({nextOffset(std::string(i + 1, 'n'), 10 + i)})));
    }
  }
  const std::string whole = contentOf(path_);
  std::vector<size_t> ends = {0};
  for (int i = 0; i < 5; i++) ends.push_back(ends.back() + 23 + 5 + i + 1);
  for (size_t length = 0; length <= whole.size(); length++) {
    writeFile(path_, whole.substr(0, length));
    const size_t kept = std::upper_bound(ends.begin(), ends.end(), length) - ends.begin() - 1;
    LmqState state = load();
    EXPECT_EQ(state.facts().size(), kept) << length;
    ASSERT_TRUE(succeeded(state.record({deleted("new", 7)})));
    EXPECT_EQ(contentOf(path_).size(), ends[kept] + 23 + 8) << "the torn tail is gone";
    LmqState again = load();
    EXPECT_EQ(again.facts().size(), kept + 1);
    EXPECT_EQ(again.deletedAt("%LMQ%new"), 7);
  }
}

TEST_F(LmqStateTest, AByteDamagedBeforeALaterWriteIsCorruption) {
  {
    LmqState state = load();
    for (int i = 0; i < 4; i++) {
      ASSERT_TRUE(succeeded(state.record({nextOffset("queue" + std::to_string(i), 10 + i)})));
    }
  }
  const std::string whole = contentOf(path_);
  const size_t last = whole.size() - (23 + 11);
  for (size_t at = 0; at < whole.size(); at++) {
    for (const int flip : {1, 0x80, 0xFF}) {
      std::string damaged = whole;
      damaged[at] ^= static_cast<char>(flip);
      writeFile(path_, damaged);
      Result<LmqState> state = LmqState::load(path_, Access::kRead);
      if (at < last) {
        ASSERT_EQ(state.status().code(), Code::kCorruptFile) << at;
        EXPECT_EQ(state.status().facts().path, path_);
        EXPECT_EQ(state.status().facts().offset, static_cast<int64_t>(at / (23 + 11) * (23 + 11)));
      } else {
        ASSERT_TRUE(succeeded(state.status())) << at;
        EXPECT_EQ(state->facts().size(), 3u) << "the last write may never have been synced";
      }
    }
  }
  EXPECT_EQ(contentOf(path_).size(), whole.size()) << "looking changes nothing";
}

TEST_F(LmqStateTest, AWriteOfManyFactsMayBeTornAnywhere) {
  {
    LmqState state = load();
    ASSERT_TRUE(succeeded(state.record({nextOffset("first", 1)})));
    std::vector<Fact> many;
    for (int i = 0; i < 300; i++) many.push_back(nextOffset("many" + std::to_string(i), 10 + i));
    ASSERT_TRUE(succeeded(state.record(many)));
  }
  const std::string whole = contentOf(path_);
  // A page in the middle never reached the device; the ones behind it did.
  std::string torn = whole;
  torn.replace(4096, 4096, std::string(4096, '\0'));
  writeFile(path_, torn);
  LmqState state = load();
  EXPECT_EQ(state.nextOffset("%LMQ%first"), 1);
  const size_t kept = state.facts().size();
  EXPECT_GT(kept, 50u);
  EXPECT_LT(kept, 200u);
  ASSERT_TRUE(succeeded(state.record({deleted("first", 9)})));
  EXPECT_EQ(load().facts().size(), kept);

  std::string damaged = contentOf(path_);
  damaged[4000] ^= 1;
  writeFile(path_, damaged);
  EXPECT_EQ(loadCode(), Code::kCorruptFile) << "a later write had found it synced";
}

TEST_F(LmqStateTest, RandomDamageNeverInventsAFact) {
  std::mt19937_64 random(3);
  std::map<std::string, int64_t> recorded;
  {
    LmqState state = load();
    for (int i = 0; i < 100; i++) {
      recorded["%LMQ%q" + std::to_string(i)] = i + 1;
      ASSERT_TRUE(succeeded(state.record({nextOffset("q" + std::to_string(i), i + 1)})));
    }
  }
  const std::string whole = contentOf(path_);
  for (int i = 0; i < 3000; i++) {
    std::string damaged = whole.substr(0, random() % (whole.size() + 1));
    for (int n = static_cast<int>(random() % 4); n > 0 && !damaged.empty(); n--) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) damaged += std::string(random() % 100, static_cast<char>(random()));
    writeFile(path_, damaged);
    Result<LmqState> state = LmqState::load(path_, Access::kRead);
    if (!state.ok()) {
      ASSERT_EQ(state.status().code(), Code::kCorruptFile);
      continue;
    }
    for (const Fact& fact : state->facts()) {
      ASSERT_EQ(fact.kind, LmqState::kNextOffset);
      ASSERT_EQ(recorded.at(fact.name), fact.queueOffset);
    }
  }
}

TEST_F(LmqStateTest, ObsoleteFactsAreWrittenOutOfTheFile) {
  LmqState state = load();
  ASSERT_TRUE(succeeded(state.record({nextOffset("kept", 3, 30), deleted("gone", 40)})));
  ASSERT_TRUE(succeeded(state.record({nextOffset("gone", 2, 50)})));
  uint64_t largest = 0;
  for (int i = 0; i < 100; i++) {
    std::vector<Fact> facts;
    for (int j = 0; j < 100; j++) facts.push_back(nextOffset("busy", 100 * i + j, i));
    ASSERT_TRUE(succeeded(state.record(facts)));
    largest = std::max<uint64_t>(largest, contentOf(path_).size());
  }
  EXPECT_LT(largest, 70000u);
  for (const LmqState& each : {state, load()}) {
    EXPECT_EQ(each.facts().size(), 4u);
    EXPECT_EQ(each.nextOffset("%LMQ%kept"), 3);
    EXPECT_EQ(each.nextOffset("%LMQ%busy"), 9999);
    EXPECT_EQ(each.deletedAt("%LMQ%gone"), 40);
    EXPECT_EQ(each.nextOffset("%LMQ%gone"), 2) << "it came after the deletion";
  }
}

TEST_F(LmqStateTest, DamageInARewrittenFileIsCorruptionAlsoNearItsEnd) {
  {
    LmqState state = load();
    ASSERT_TRUE(succeeded(state.record({nextOffset("a", 1)})));
    const std::vector<Fact> facts = {nextOffset("a", 1), nextOffset("b", 1), nextOffset("c", 1)};
    // Not yet worth rewriting, until one more write is.
    ASSERT_TRUE(succeeded(state.record(std::vector<Fact>(2200, nextOffset("a", 1)))));
    ASSERT_GT(contentOf(path_).size(), 60000u);
    for (int i = 0; i < 100 && contentOf(path_).size() > 1000; i++) {
      ASSERT_TRUE(succeeded(state.record(facts)));
    }
  }
  std::string damaged = contentOf(path_);
  ASSERT_EQ(damaged.size(), 3u * (23 + 6));
  damaged[40] ^= 1;  // in the second of three
  writeFile(path_, damaged);
  EXPECT_EQ(loadCode(), Code::kCorruptFile);
}

TEST_F(LmqStateTest, ForgottenDeletionsLeaveWithTheNextRewriting) {
  LmqState state = load();
  std::vector<Fact> many;
  for (int i = 0; i < 3000; i++) many.push_back(deleted("queue" + std::to_string(i), 100 + i));
  ASSERT_TRUE(succeeded(state.record(many)));
  state.forgetDeletions(100 + 2990);
  EXPECT_EQ(state.facts().size(), 9u);
  EXPECT_EQ(state.deletedAt("%LMQ%queue2990"), -1);
  EXPECT_EQ(state.deletedAt("%LMQ%queue2991"), 3091);
  EXPECT_EQ(load().facts().size(), 3000u);
  ASSERT_TRUE(succeeded(state.record({nextOffset("a", 1)})));
  EXPECT_EQ(load().facts().size(), 10u);
}

TEST_F(LmqStateTest, AFactThatCannotBeWrittenDoesNotCount) {
  path_ = directory_ / "missing/state";
  LmqState state = load();
  EXPECT_FALSE(state.record({deleted("a", 1)}).ok());
  EXPECT_EQ(state.deletedAt("%LMQ%a"), -1);
  ASSERT_TRUE(succeeded(makeDirectories(directory_ / "missing")));
  EXPECT_TRUE(succeeded(state.record({deleted("a", 1)})));
  EXPECT_EQ(load().deletedAt("%LMQ%a"), 1);
}

}  // namespace
}  // namespace lmq
