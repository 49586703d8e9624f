// Plans of light-queue lists, and the repeated dispatch of stored records.
#include "core/dispatch.h"

#include <gtest/gtest.h>

#include "store_fixture.h"

namespace lmq {
namespace {

using Numbers = std::vector<int64_t>;

class DispatchTest : public testing::Test {
 protected:
  DispatchTest() : queues_(options()), index_(inMemory()) {
    EXPECT_TRUE(succeeded(index_.reset(0)));
  }
  MappedFileQueue::Options options() const {
    MappedFileQueue::Options options;
    options.directory = directory_ / "consumequeue";
    options.workDirectory = directory_ / "work";
    options.fileSize = 100;
    options.reserveStep = 100;
    return options;
  }
  static LmqIndex::Options inMemory() {
    LmqIndex::Options options;
    options.inMemory = true;
    return options;
  }

  // What append does with a plan, without the record.
  Numbers dispatch(DispatchPlan& plan, int64_t physicalOffset) {
    size_t names = 0;
    size_t bytes = 0;
    plan.assign(index_, &names, &bytes);
    EXPECT_TRUE(succeeded(index_.reserve(plan.targets().size(), names, bytes)));
    Numbers given;
    for (size_t i = 0; i < plan.fieldCount(); ++i) given.push_back(plan.fieldOffset(i));
    EXPECT_TRUE(succeeded(plan.dispatch(index_, {physicalOffset, 100, 0})));
    return given;
  }
  int64_t next(std::string_view name) const {  // -1: unknown
    const uint64_t queue = index_.find(name);
    return queue == LmqIndex::kNone ? -1 : index_.nextOffset(queue);
  }

  // Dispatches a stored record again.
  void again(const Record& record, bool lmqOnly = false) {
    record::View view;
    ASSERT_EQ(record::checkBytes(record, {}, &view), record::Verdict::kRecord);
    const std::vector<int64_t> levels = {1000};
    Redispatcher dispatcher(queues_, &index_, nullptr, lmq_, nullptr, levels,
                            [this](Status note) { notes_.push_back(std::move(note)); });
    ASSERT_TRUE(succeeded(dispatcher.dispatch(view, lmqOnly)));
  }
  int64_t maxOf(std::string_view topic, int32_t queueId = 0) const {  // -1: unknown
    const int64_t number = queues_.find(topic, queueId);
    return number < 0 ? -1 : queues_.all()[static_cast<size_t>(number)]->maxOffset();
  }

  TempDirectory directory_;
  ConsumeQueueTable queues_;
  LmqIndex index_;
  bool lmq_ = true;
  std::vector<Status> notes_;
};

// Plans -------------------------------------------------------------------------------------

TEST_F(DispatchTest, ARepeatedNameGetsOneOffsetAndOneEntry) {  // spec Q18
  DispatchPlan plan;
  plan.parse("%LMQ%a,%LMQ%b,%LMQ%a", 3, true);
  EXPECT_EQ(plan.targets().size(), 2u);
  EXPECT_EQ(dispatch(plan, 0), (Numbers{0, 0, 0}));
  EXPECT_EQ(dispatch(plan, 100), (Numbers{1, 1, 1}));
  EXPECT_EQ(next("%LMQ%a"), 2);
  EXPECT_EQ(index_.entryCount(), 4u);
}

TEST_F(DispatchTest, ALongListRepeatsJustSo) {
  std::string names;
  for (int i = 0; i < 60; ++i) names += (i == 0 ? "%LMQ%" : ",%LMQ%") + std::to_string(i % 50);
  DispatchPlan plan;
  plan.parse(names, 60, true);
  EXPECT_EQ(plan.targets().size(), 50u);
  EXPECT_EQ(dispatch(plan, 0), Numbers(60, 0));
  EXPECT_EQ(next("%LMQ%49"), 1);
  EXPECT_EQ(index_.queueCount(), 50u);
}

TEST_F(DispatchTest, OtherNamesKeepAnEmptyField) {  // spec 4.4, Q1
  DispatchPlan plan;
  plan.parse("a,%LMQ%b,,%lmq%c,%LMQ%d", 5, true);
  EXPECT_EQ(plan.fieldCount(), 5u);
  EXPECT_EQ(dispatch(plan, 0), (Numbers{-1, 0, -1, -1, 0}));
  EXPECT_EQ(index_.queueCount(), 2u);
}

TEST_F(DispatchTest, AListThatHoldsFewerNamesThanSaidEndsWithItsLast) {
  DispatchPlan plan;
  plan.parse("%LMQ%a", 3, true);
  EXPECT_EQ(plan.targets().size(), 1u);
  EXPECT_EQ(dispatch(plan, 0).front(), 0);
}

TEST_F(DispatchTest, WithoutNamesNothingIsDispatched) {
  DispatchPlan plan;
  plan.parse("", 0, true);
  EXPECT_EQ(plan.fieldCount(), 0u);
  EXPECT_EQ(dispatch(plan, 0), Numbers{});
  EXPECT_EQ(index_.queueCount(), 0u);
}

TEST_F(DispatchTest, OffsetsThatAreNotUsedAreGivenOutAgain) {  // BR-043
  DispatchPlan plan;
  plan.parse("%LMQ%a,%LMQ%b", 2, true);
  size_t names = 0;
  size_t bytes = 0;
  for (int i = 0; i < 3; ++i) {
    plan.assign(index_, &names, &bytes);
    EXPECT_EQ(names, 2u);
    EXPECT_EQ(bytes, 12u);
  }
  EXPECT_EQ(next("%LMQ%a"), -1);
  EXPECT_EQ(dispatch(plan, 0), (Numbers{0, 0}));
  plan.assign(index_, &names, &bytes);
  EXPECT_EQ(names, 0u);
  EXPECT_EQ(bytes, 0u);
}

TEST_F(DispatchTest, PlansThatShareAQueueCountTogether) {  // BR-038
  DispatchPlan one;
  one.parse("%LMQ%a,%LMQ%b", 2, true);
  DispatchPlan other;
  other.parse("%LMQ%c,%LMQ%a", 2, true);
  EXPECT_EQ(dispatch(one, 0), (Numbers{0, 0}));
  EXPECT_EQ(dispatch(other, 100), (Numbers{0, 1}));
  EXPECT_EQ(dispatch(one, 200), (Numbers{2, 1}));
  EXPECT_EQ(next("%LMQ%a"), 3);
}

TEST_F(DispatchTest, APlanIsUsedForAnotherList) {
  DispatchPlan plan;
  plan.parse("%LMQ%a", 1, true);
  EXPECT_EQ(dispatch(plan, 0), Numbers{0});
  plan.parse("%LMQ%b", 1, false);
  EXPECT_EQ(dispatch(plan, 100), Numbers{0});
  EXPECT_TRUE(plan.part().names.empty());
  EXPECT_EQ(next("%LMQ%a"), 1);
  EXPECT_EQ(next("%LMQ%b"), 1);
}

// Names -------------------------------------------------------------------------------------

TEST(DispatchNames, SomeTopicsTakeNoPartInLightQueues) {  // spec 4.2, Q20
  for (const char* topic :
       {"%RETRY%g", "%DLQ%g", "rmq_sys_x", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC"}) {
    EXPECT_FALSE(topicAllowsLmq(topic)) << topic;
  }
  for (const char* topic : {"T", "RETRY", "RMQ_SYS_x", "schedule_topic_xxxx", ""}) {
    EXPECT_TRUE(topicAllowsLmq(topic)) << topic;
  }
}

TEST(DispatchNames, WhatADirectoryCannotHoldIsUnsafe) {  // spec Q22
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"),
        std::string("a\0b", 3), std::string(256, 'a')}) {
    EXPECT_FALSE(isSafeName(name)) << name;
  }
  for (const std::string& name : {std::string("..."), std::string(255, 'a'), std::string("%LMQ%"),
                                  std::string(" "), std::string("\xE5\x8D\x8A")}) {
    EXPECT_TRUE(isSafeName(name)) << name;
  }
}

// Repeated dispatch -------------------------------------------------------------------------

TEST_F(DispatchTest, RepeatingADispatchChangesNothing) {
  const Put put = {"x", {"%LMQ%a", "%LMQ%b", "%LMQ%a"}};
  std::vector<Record> records;
  for (int64_t i = 0; i < 12; ++i) records.push_back(recordAt(i * 300, i, put, {i, i, i}));
  for (int round = 0; round < 3; ++round) {
    for (const Record& record : records) again(record);
    EXPECT_EQ(maxOf("T"), 12);
    EXPECT_EQ(next("%LMQ%a"), 12);
    EXPECT_EQ(next("%LMQ%b"), 12);
  }
  EXPECT_EQ(index_.entryCount(), 24u);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(DispatchTest, PreparedAndRolledBackMessagesGoNowhere) {  // spec Q19
  for (const int32_t kind : {sys_flag::kPrepared, sys_flag::kRollback}) {
    again(recordAt(0, 0, {"x", {"%LMQ%a"}, "", "T", 0, kind}, {0}));
  }
  EXPECT_EQ(maxOf("T"), -1);
  EXPECT_EQ(next("%LMQ%a"), -1);
  again(recordAt(0, 0, {"x", {"%LMQ%a"}, "", "T", 0, sys_flag::kCommit}, {0}));
  EXPECT_EQ(maxOf("T"), 1);
  EXPECT_EQ(next("%LMQ%a"), 1);
}

TEST_F(DispatchTest, TopicQueuesCanBeLeftAlone) {
  again(recordAt(0, 0, {"x", {"%LMQ%a"}}, {0}), true);
  EXPECT_EQ(maxOf("T"), -1);
  EXPECT_EQ(next("%LMQ%a"), 1);
}

TEST_F(DispatchTest, LightQueuesCanBeSwitchedOff) {
  lmq_ = false;
  again(recordAt(0, 0, {"x", {"%LMQ%a"}}, {0}));
  EXPECT_EQ(maxOf("T"), 1);
  EXPECT_EQ(next("%LMQ%a"), -1);
}

TEST_F(DispatchTest, RetriedMessagesGoToNoLightQueue) {  // BR-039
  again(recordAt(0, 0, {"x", {"%LMQ%a"}, "", "%RETRY%g"}, {0}));
  EXPECT_EQ(maxOf("%RETRY%g"), 1);
  EXPECT_EQ(next("%LMQ%a"), -1);
}

TEST_F(DispatchTest, AQueueOffsetThatIsTakenIsNotedAndDropsNothingElse) {
  again(recordAt(0, 0, {"one"}));
  again(recordAt(300, 0, {"two", {"%LMQ%a"}}, {0}));
  EXPECT_EQ(maxOf("T"), 1);
  EXPECT_EQ(next("%LMQ%a"), 1);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0].code(), Code::kCorruptRecord);
  EXPECT_EQ(notes_[0].facts().offset, 300);
}

TEST_F(DispatchTest, AGapInAQueueStaysAGap) {  // spec Q12
  again(recordAt(0, 0, {"one", {"%LMQ%a"}}, {0}));
  again(recordAt(300, 7, {"two", {"%LMQ%a"}}, {9}));
  EXPECT_EQ(maxOf("T"), 8);
  EXPECT_EQ(next("%LMQ%a"), 10);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(DispatchTest, AGapThatIsTooWideIsNotedAndMakesNoFile) {
  again(recordAt(0, 0, {"one"}));
  again(recordAt(300, 2 + ConsumeQueue::kMaxGap, {"two"}));
  EXPECT_EQ(maxOf("T"), 1);
  EXPECT_EQ(notes_.size(), 1u);
}

TEST_F(DispatchTest, ALightOffsetThatIsTakenMovesToTheNextFreeOne) {
  again(recordAt(0, 0, {"one", {"%LMQ%a"}}, {5}));
  again(recordAt(300, 1, {"two", {"%LMQ%a"}}, {5}));
  again(recordAt(600, 2, {"three", {"%LMQ%a"}}, {LmqIndex::kMaxOffset + 1}));
  EXPECT_EQ(next("%LMQ%a"), 8);
  EXPECT_EQ(notes_.size(), 2u);
}

TEST_F(DispatchTest, FieldsWithoutANumberArePassedOver) {  // spec Q1, Q23
  const struct {
    const char* names;
    const char* offsets;
    int64_t a, b;
  } lists[] = {{"%LMQ%b,a", "0,", -1, 1},
               {"a,%LMQ%b", ",0", -1, 1},
               {"%LMQ%a,,%LMQ%b", "0,,0", 1, 1},
               {"%LMQ%a,%LMQ%b", "0", 1, -1},
               {"%LMQ%a", "0,0,0", 1, -1},
               {"%LMQ%a,%LMQ%b", "x,0", -1, 1},
               {"%LMQ%a,%LMQ%b", "-1,00", -1, 1},
               {"%LMQ%a,%LMQ%b", "9999999999999999999,0", -1, 1},
               {"%LMQ%a", "", -1, -1},
               {",", ",", -1, -1},
               {"%LMQ%a ", "0", -1, -1},
               {"a", "0", -1, -1}};
  int64_t at = 0;
  for (const auto& list : lists) {
    SCOPED_TRACE(std::string(list.names) + " " + list.offsets);
    ASSERT_TRUE(succeeded(index_.reset(0)));
    Message message = record::specMessage();
    const std::string properties = std::string("INNER_MULTI_DISPATCH\1") + list.names +
                                   "\2INNER_MULTI_QUEUE_OFFSET\1" + list.offsets + "\2";
    message.propertiesHead = properties;
    again(record::build(message, true, {at, at * 300, kClock}));
    EXPECT_EQ(next("%LMQ%a"), list.a);
    EXPECT_EQ(next("%LMQ%b"), list.b);
    ++at;
  }
}

TEST_F(DispatchTest, UnsafeNamesAreNotedAndMakeNoDirectory) {
  again(recordAt(0, 0, {"x", {"%LMQ%a/b", "%LMQ%c"}, "", ".."}, {0, 0}));
  EXPECT_EQ(notes_.size(), 2u);
  EXPECT_EQ(next("%LMQ%a/b"), -1);
  EXPECT_EQ(next("%LMQ%c"), 1);
  EXPECT_EQ(directory_.names(), Texts{});
}

TEST_F(DispatchTest, AMessageToATopicNamedLikeALightQueueIsNoted) {  // spec Q57
  again(recordAt(0, 0, {"x", {}, "", "%LMQ%a"}));
  EXPECT_EQ(notes_.size(), 1u);
  EXPECT_EQ(maxOf("%LMQ%a"), -1);
  EXPECT_EQ(next("%LMQ%a"), -1);
}

TEST_F(DispatchTest, TheTagsCodeComesFromTheRecord) {
  again(recordAt(0, 0, {"x", {"%LMQ%a"}, "TagA"}, {0}));
  PlacedUnit unit;
  size_t count = 0;
  ASSERT_TRUE(succeeded(queues_.all()[0]->units(0, 1, &unit, &count)));
  EXPECT_EQ(unit.unit.tagsCode, 2598919);
  ASSERT_TRUE(succeeded(index_.units(0, 0, 1, &unit, &count)));
  EXPECT_EQ(unit.unit.tagsCode, 2598919);
}

}  // namespace
}  // namespace lmq
