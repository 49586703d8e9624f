// What measure() refuses, and what just fits.
#include <gtest/gtest.h>

#include "core/record.h"
#include "record_fixture.h"

namespace lmq::record {
namespace {

Status measureStatus(const Message& message, bool crc, size_t maxMessageSize,
                     const DispatchPart& dispatch = {}) {
  Measure measured;
  return measure(message, dispatch, crc, maxMessageSize, &measured);
}

TEST(RecordLimits, PropertiesCountCrcAndSeparator) {
  const std::string text = "a\1" + std::string(32766, 'x');
  const struct {
    size_t size;
    bool crc, accepted;
  } rows[] = {
      {32767, false, true}, {32768, false, false}, {32746, true, true}, {32747, true, false}};
  for (const auto& row : rows) {
    Message message = specMessage();
    message.propertiesHead = std::string_view(text).substr(0, row.size);
    const Status status = measureStatus(message, row.crc, kMaxMessageSize);
    EXPECT_EQ(status.ok(), row.accepted) << row.size;
    if (row.accepted) {
      View view;
      EXPECT_EQ(checkBytes(build(message, row.crc), {}, &view), Verdict::kRecord);
      EXPECT_EQ(view.propertiesSize, kMaxProperties);
    } else {
      EXPECT_EQ(status.code(), Code::kPropertiesTooLarge);
      EXPECT_EQ(status.facts().offset, 32768);
      EXPECT_EQ(status.facts().limit, 32767);
    }
  }
}

TEST(RecordLimits, LightQueuesShareThePropertiesLimit) {
  const std::string names(kMaxProperties - 51, 'n');
  const int64_t offset = 1;
  DispatchPart dispatch;
  dispatch.names = names;
  dispatch.offsets = &offset;
  dispatch.count = 1;
  dispatch.present = true;  // 22 bytes around the names, 27 of offsets: 2 are left
  Message message = specMessage();
  message.propertiesHead = "ab";
  EXPECT_EQ(measureStatus(message, false, kMaxMessageSize, dispatch).code(),
            Code::kPropertiesTooLarge);  // with the separator behind the head
  message.propertiesHead = "a\2";
  EXPECT_TRUE(measureStatus(message, false, kMaxMessageSize, dispatch).ok());
}

TEST(RecordLimits, BodyAgainstMaxMessageSize) {
  const std::string body(1001, 'x');
  Message message = specMessage();
  message.body = std::string_view(body).substr(0, 1000);
  EXPECT_TRUE(measureStatus(message, true, 1000).ok());
  message.body = body;
  const Status status = measureStatus(message, true, 1000);
  EXPECT_EQ(status.code(), Code::kBodyTooLarge);
  EXPECT_EQ(status.facts().offset, 1001);
  EXPECT_EQ(status.facts().limit, 1000);
}

TEST(RecordLimits, RecordAgainstTheAllowance) {
  // Only a topic that callers refuse makes a record pass the allowance alone.
  const std::string topic(40000, 't');
  const std::string properties(32000, 'p');
  Message message = specMessage();
  message.topic = topic;
  message.propertiesHead = properties;
  const Status status = measureStatus(message, false, 1000);
  EXPECT_EQ(status.code(), Code::kRecordTooLarge);
  EXPECT_EQ(status.facts().offset, 92 + 5 + 40000 + 32000);
  EXPECT_EQ(status.facts().limit, 66536);
}

TEST(RecordLimits, SaturatesAtTheLargestSize) {
  Message message = specMessage();
  message.body = {"", size_t{1} << 31};  // never read
  for (const size_t maxMessageSize : {size_t{1} << 31, SIZE_MAX}) {
    const Status status = measureStatus(message, false, maxMessageSize);
    EXPECT_EQ(status.code(), Code::kRecordTooLarge);
    EXPECT_EQ(status.facts().limit, INT32_MAX);
  }
}

TEST(RecordLimits, PropertiesAreRefusedBeforeTheBody) {
  const std::string large(40000, 'x');
  Message message = specMessage();
  message.propertiesHead = large;
  message.body = large;
  EXPECT_EQ(measureStatus(message, true, 1000).code(), Code::kPropertiesTooLarge);
  message.propertiesHead = "";
  EXPECT_EQ(measureStatus(message, true, 1000).code(), Code::kBodyTooLarge);
}

}  // namespace
}  // namespace lmq::record
