#include "core/record.h"

#include <gtest/gtest.h>

#include <random>

#include "core/crc32.h"
#include "record_fixture.h"

namespace lmq::record {
namespace {

constexpr uint32_t kMask = 0x7FFFFFFF;

std::string propertiesOf(const Bytes& bytes) {
  View view;
  EXPECT_EQ(checkBytes(bytes, {}, &view), Verdict::kRecord);
  return std::string(view.properties());
}

std::string crcDigitsOf(const Bytes& bytes) {
  return std::string(bytes.end() - 11, bytes.end() - 1);
}

// Versions and hosts ------------------------------------------------------------------------

TEST(RecordVersion, FollowsTopicBytes) {
  Message message = specMessage();
  message.body = "x";
  const std::string text(300, 'a');
  message.topic = std::string_view(text).substr(0, 127);
  Bytes bytes = build(message, false);
  EXPECT_EQ(bytes.size(), 219u);
  EXPECT_EQ(load<int32_t>(bytes.data() + 4), kMagicV1);
  EXPECT_EQ(bytes[89], 0x7F);

  message.topic = std::string_view(text).substr(0, 128);
  bytes = build(message, false);
  EXPECT_EQ(bytes.size(), 221u);
  EXPECT_EQ(toHex(bytes.data() + 4, 4), "daa320ab");
  EXPECT_EQ(toHex(bytes.data() + 89, 2), "0080");

  message.topic = std::string_view(text).substr(0, 255);
  bytes = build(message, false);
  EXPECT_EQ(toHex(bytes.data() + 89, 2), "00ff");
  EXPECT_EQ(checkBytes(bytes), Verdict::kRecord);

  message.topic = text;  // callers refuse it; at least no byte is lost
  bytes = build(message, false);
  EXPECT_EQ(toHex(bytes.data() + 89, 2), "012c");
  EXPECT_EQ(checkBytes(bytes), Verdict::kRecord);
}

TEST(RecordHosts, SizesAndFlags) {
  const Host four = ipv4(10, 0, 0, 1, 1);
  const Host six = ipv6(0x20010db8, 1, 1);
  const struct {
    Host born, store;
    size_t size;
    int32_t sysFlag;
  } rows[] = {{four, four, 93, 0}, {six, four, 105, 16}, {four, six, 105, 32}, {six, six, 117, 48}};
  for (const auto& row : rows) {
    Message message;
    message.topic = "T";
    message.body = "x";
    message.bornHost = row.born;
    message.storeHost = row.store;
    View view;
    const Bytes bytes = build(message, false);
    ASSERT_EQ(checkBytes(bytes, {}, &view), Verdict::kRecord);
    EXPECT_EQ(bytes.size(), row.size);
    EXPECT_EQ(view.sysFlag, row.sysFlag);
    EXPECT_EQ(view.storeTimestamp, 1700000000123);
    EXPECT_EQ(view.bornAddressSize, row.born.addressSize);
    EXPECT_EQ(view.storeAddressSize, row.store.addressSize);
    EXPECT_EQ(std::memcmp(bytes.data() + view.bornHostAt, row.born.address, view.bornAddressSize),
              0);
    EXPECT_EQ(
        std::memcmp(bytes.data() + view.storeHostAt, row.store.address, view.storeAddressSize), 0);
  }
}

TEST(RecordHosts, FlagsOfTheCallerAreOverruled) {
  Message message = specMessage();
  message.sysFlag = sys_flag::kBornHostIpv6 | sys_flag::kStoreHostIpv6 | sys_flag::kCommit | 1;
  const Bytes bytes = build(message, true);
  EXPECT_EQ(load<int32_t>(bytes.data() + 36), sys_flag::kCommit | 1);
  EXPECT_EQ(checkBytes(bytes), Verdict::kRecord);
}

// Checksums ---------------------------------------------------------------------------------

TEST(RecordBodyCrc, TopBitIsCleared) {
  const std::pair<std::string, std::string> rows[] = {
      {"Hello", "77d18982"}, {"123456789", "4bf43926"},
      {"a", "68b7be43"},     {"hello world", "0d4a1185"},
      {"hello", "3610a686"}, {"world", "3a771143"},
      {"", "00000000"}};
  for (const auto& [body, stored] : rows) {
    Message message = specMessage();
    message.body = body;
    EXPECT_EQ(toHex(build(message, false).data() + 8, 4), stored) << body;
  }
}

// Around the sizes where the body is copied in pieces and where the CRC is combined.
TEST(RecordCrc, CoversTheFinalBytesOnEveryKernel) {
  const std::string text = [] {
    std::mt19937 random(1);
    std::string made(70000, '\0');
    for (char& c : made) c = static_cast<char>(random());
    return made;
  }();
  const CrcKernel best = crc32Kernel();
  for (const CrcKernel kernel :
       {CrcKernel::kTable, CrcKernel::kClmul128, CrcKernel::kClmul256, CrcKernel::kClmul512}) {
    if (!forceCrc32Kernel(kernel)) continue;
    for (const size_t size : {0, 1, 511, 512, 1023, 1024, 1535, 1536, 2047, 2048, 4095, 4096, 4097,
                              8191, 8192, 8193, 70000}) {
      Message message = specMessage();
      message.body = std::string_view(text).substr(0, size);
      message.propertiesTail = "KEYS\1k1\2";
      const Bytes bytes = build(message, true);
      const uint32_t expected = crc32With(CrcKernel::kTable, 0, bytes.data(), bytes.size() - 20);
      std::string digits = std::to_string(expected & kMask);
      std::reverse(digits.begin(), digits.end());
      digits.resize(10, '0');
      EXPECT_EQ(crcDigitsOf(bytes), digits) << crc32KernelName(kernel) << " " << size;
      EXPECT_EQ(checkBytes(bytes, {.requireCrc = true}), Verdict::kRecord);
    }
  }
  forceCrc32Kernel(best);
}

TEST(RecordEncode, LeavesTheFirstFourBytesAlone) {
  const Message message = specMessage();
  Measure measured;
  ASSERT_TRUE(measure(message, {}, true, kMaxMessageSize, &measured).ok());
  const Bytes whole = build(message, true);
  for (const uint8_t fill : {0x00, 0x5A, 0xFF}) {
    Bytes bytes(measured.totalSize + 8, fill);
    encode(message, {}, measured, specStamp(), bytes.data());
    EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + 4), Bytes(4, fill));
    EXPECT_EQ(Bytes(bytes.end() - 8, bytes.end()), Bytes(8, fill));
    EXPECT_TRUE(std::equal(whole.begin() + 4, whole.end(), bytes.begin() + 4));
  }
  bool blank = true;
  Bytes unpublished(measured.totalSize);
  encode(message, {}, measured, specStamp(), unpublished.data());
  EXPECT_EQ(claimedSize(unpublished.data(), &blank), 0);
  EXPECT_EQ(checkBytes(unpublished), Verdict::kEnd);
}

// Properties --------------------------------------------------------------------------------

TEST(RecordProperties, LightQueuePartStandsBetweenHeadAndTail) {
  const int64_t offsets[] = {7, -1, 11, 9223372036854775807, 0, 100, 99};
  DispatchPart dispatch;
  dispatch.names = "x,y";
  dispatch.offsets = offsets;
  dispatch.count = 7;
  dispatch.present = true;
  Message message = specMessage();
  message.propertiesHead = "a\1b\2";
  message.propertiesTail = "c\1d\2";
  const std::string expected =
      "a\1b\2INNER_MULTI_DISPATCH\1x,y\2"
      "INNER_MULTI_QUEUE_OFFSET\0017,,11,9223372036854775807,0,100,99\2c\1d\2";
  EXPECT_EQ(propertiesOf(build(message, false, specStamp(), dispatch)), expected);

  dispatch.present = false;
  EXPECT_EQ(propertiesOf(build(message, false, specStamp(), dispatch)),
            "a\1b\2INNER_MULTI_DISPATCH\1x,y\2c\1d\2");
}

// Spec 4.4; Q1: a field stays empty for a name that is no light queue's.
TEST(RecordProperties, OffsetStrings) {
  const std::pair<std::vector<int64_t>, std::string> rows[] = {{{0, 0}, "0,0"},
                                                               {{0, -1}, "0,"},
                                                               {{-1, 0}, ",0"},
                                                               {{-1, -1}, ","},
                                                               {{}, ""},
                                                               {{2, 1}, "2,1"},
                                                               {{5, 5}, "5,5"},
                                                               {{7, -1, 11}, "7,,11"},
                                                               {{-1}, ""},
                                                               {{10}, "10"},
                                                               {{1234567890123}, "1234567890123"}};
  for (const auto& [offsets, text] : rows) {
    DispatchPart dispatch;
    dispatch.offsets = offsets.data();
    dispatch.count = offsets.size();
    dispatch.present = true;
    EXPECT_EQ(propertiesOf(build(specMessage(), false, specStamp(), dispatch)),
              "INNER_MULTI_QUEUE_OFFSET\1" + text + "\2");
  }
}

TEST(RecordProperties, OffsetsOfEveryLength) {
  uint64_t power = 1;
  for (int digits = 1; digits <= 19; ++digits, power *= 10) {
    for (const uint64_t value : {power - 1, power, power + 1, power * 9}) {
      const auto offset = static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
      DispatchPart dispatch;
      dispatch.offsets = &offset;
      dispatch.count = 1;
      dispatch.present = true;
      EXPECT_EQ(propertiesOf(build(specMessage(), false, specStamp(), dispatch)),
                "INNER_MULTI_QUEUE_OFFSET\1" + std::to_string(offset) + "\2");
    }
  }
}

TEST(RecordProperties, SeparatorsAreAddedWhereTheyLack) {
  const int64_t offset = 4;
  DispatchPart none;
  DispatchPart some;
  some.offsets = &offset;
  some.count = 1;
  some.present = true;
  const std::string light =
      "INNER_MULTI_QUEUE_OFFSET\1"
      "4\2";
  const struct {
    std::string head, tail;
    const DispatchPart& dispatch;
    std::string stored;  // without the CRC property, where `separator` may precede it
    bool separator;
  } rows[] = {
      {"a\1b", "", none, "a\1b", true},
      {"a\1b\2", "", none, "a\1b\2", false},
      {"", "a\1b", none, "a\1b", true},
      {"a\1b", "c\1d", none, "a\1b\2c\1d", true},
      {"a\1b", "c\1d\2", none, "a\1b\2c\1d\2", false},
      {"a\1b", "", some, "a\1b\2" + light, false},
      {"a\1b", "c\1d", some, "a\1b\2" + light + "c\1d", true},
      {"", "", some, light, false},
      {"", "", none, "", false},
  };
  for (const auto& row : rows) {
    Message message = specMessage();
    message.propertiesHead = row.head;
    message.propertiesTail = row.tail;
    EXPECT_EQ(propertiesOf(build(message, false, specStamp(), row.dispatch)), row.stored);
    const Bytes bytes = build(message, true, specStamp(), row.dispatch);
    const std::string stored = propertiesOf(bytes);
    EXPECT_EQ(stored.substr(0, stored.size() - 20), row.stored + (row.separator ? "\2" : ""));
    EXPECT_EQ(checkBytes(bytes, {.requireCrc = true}), Verdict::kRecord);
  }
}

// A known fault: 20 bytes of undefined memory in light-queue records without the CRC.
TEST(RecordProperties, NoByteIsReservedWithoutCrc) {
  const int64_t offset = 4;
  DispatchPart dispatch;
  dispatch.names = "%LMQ%a";
  dispatch.offsets = &offset;
  dispatch.count = 1;
  dispatch.present = true;
  const std::string text = propertiesOf(build(specMessage(), false, specStamp(), dispatch));
  EXPECT_EQ(text,
            "INNER_MULTI_DISPATCH\1%LMQ%a\2INNER_MULTI_QUEUE_OFFSET\1"
            "4\2");
  const std::string withCrc = propertiesOf(build(specMessage(), true, specStamp(), dispatch));
  EXPECT_EQ(withCrc.size(), text.size() + 20);
  EXPECT_EQ(withCrc.substr(0, text.size() + 9), text + "__CRC32#\1");
}

// Random messages ---------------------------------------------------------------------------

TEST(RecordRandom, RoundTrip) {
  std::mt19937 random(20240229);
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  const auto text = [&](size_t size) {
    std::string made(size, '\0');
    for (char& c : made) c = static_cast<char>(random());
    return made;
  };
  const auto propertyText = [&] {
    std::string made;
    for (size_t n = below(4); n > 0; --n) {
      made += "n" + std::to_string(below(100)) + kNameEnd + std::to_string(random()) + kValueEnd;
    }
    if (!made.empty() && below(3) == 0) made.pop_back();
    return made;
  };
  for (int round = 0; round < 4000; ++round) {
    const std::string topic = text(1 + below(255));
    const std::string body = text(below(20) == 0 ? below(20000) : below(300));
    const std::string head = propertyText();
    const std::string tail = propertyText();
    const std::string names = below(2) == 0 ? "%LMQ%a,%LMQ%b" : "";
    std::vector<int64_t> offsets(below(5));
    for (int64_t& offset : offsets) {
      offset = static_cast<int64_t>(uint64_t{random()} << 32 | random()) >> below(64);
    }
    DispatchPart dispatch;
    dispatch.names = names;
    dispatch.offsets = offsets.data();
    dispatch.count = offsets.size();
    dispatch.present = below(2) == 0;
    Message message;
    message.topic = topic;
    message.body = body;
    message.propertiesHead = head;
    message.propertiesTail = tail;
    message.queueId = static_cast<int32_t>(random());
    message.flag = static_cast<int32_t>(random());
    message.sysFlag = static_cast<int32_t>(random());
    message.reconsumeTimes = static_cast<int32_t>(random());
    message.bornTimestamp = static_cast<int64_t>(random()) << 20;
    message.preparedTransactionOffset = static_cast<int64_t>(random()) << 8;
    message.bornHost = below(2) == 0 ? ipv4(1, 2, 3, 4, random()) : ipv6(random(), 9, random());
    message.storeHost = below(2) == 0 ? ipv4(5, 6, 7, 8, random()) : ipv6(random(), 8, random());
    const Stamp stamp{static_cast<int64_t>(random()), static_cast<int64_t>(random()) << 12,
                      static_cast<int64_t>(random())};
    const bool crc = below(2) == 0;

    Measure measured;
    ASSERT_TRUE(measure(message, dispatch, crc, kMaxMessageSize, &measured).ok());
    // encode() itself asserts that it wrote just what was measured; the guard shows it did no more.
    Bytes bytes(measured.totalSize + 16, 0xEE);
    encode(message, dispatch, measured, stamp, bytes.data());
    store<uint32_t>(bytes.data(), firstWord(measured));
    ASSERT_EQ(Bytes(bytes.end() - 16, bytes.end()), Bytes(16, 0xEE));
    bytes = firstBytes(bytes, measured.totalSize);

    View view;
    ASSERT_EQ(checkBytes(bytes, {.physicalOffset = stamp.physicalOffset, .requireCrc = crc}, &view),
              Verdict::kRecord);
    EXPECT_EQ(view.size, bytes.size());
    EXPECT_EQ(view.magic, topic.size() > 127 ? kMagicV2 : kMagicV1);
    EXPECT_EQ(view.topic(), topic);
    EXPECT_EQ(view.body(), body);
    EXPECT_EQ(view.queueId, message.queueId);
    EXPECT_EQ(view.flag, message.flag);
    EXPECT_EQ(view.sysFlag & ~0x30, message.sysFlag & ~0x30);
    EXPECT_EQ(view.queueOffset, stamp.queueOffset);
    EXPECT_EQ(view.physicalOffset, stamp.physicalOffset);
    EXPECT_EQ(view.storeTimestamp, stamp.storeTimestamp);
    EXPECT_EQ(view.bornTimestamp, message.bornTimestamp);
    EXPECT_EQ(static_cast<uint32_t>(view.bornPort), message.bornHost.port);
    EXPECT_EQ(static_cast<uint32_t>(view.storePort), message.storeHost.port);
    EXPECT_EQ(view.reconsumeTimes, message.reconsumeTimes);
    EXPECT_EQ(view.preparedTransactionOffset, message.preparedTransactionOffset);
    EXPECT_EQ(view.propertiesSize, measured.propertiesSize);
    EXPECT_EQ(view.properties().substr(0, head.size()), head);
    EXPECT_EQ(view.propertiesAt + view.propertiesSize, view.size);
    bool blank = true;
    EXPECT_EQ(claimedSize(bytes.data(), &blank), static_cast<int64_t>(bytes.size()));
    EXPECT_FALSE(blank);
  }
}

}  // namespace
}  // namespace lmq::record
