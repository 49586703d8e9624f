#include <gtest/gtest.h>

#include <random>

#include "core/crc32.h"
#include "core/record.h"
#include "record_fixture.h"

namespace lmq::record {
namespace {

constexpr Check kStrict{.requireCrc = true};
constexpr Check kLengthsOnly{.bodyCrc = false, .propertyCrc = false};

// The record of spec 6.4: 97 bytes, body 5, topic 1, no properties.
Bytes smallRecord(std::string_view body = "Hello") {
  Message message = specMessage();
  message.topic = "T";
  message.body = body;
  return build(message, false);
}

Bytes with32(Bytes bytes, size_t at, int32_t value) {
  store<int32_t>(bytes.data() + at, value);
  return bytes;
}

// Records of every shape, each with the CRC property.
std::vector<Bytes> crcRecords() {
  std::vector<Bytes> records;
  Message message = specMessage();
  records.push_back(build(message, true));
  message.body = "";
  records.push_back(build(message, true));
  message.body = "0123456789";
  message.propertiesHead = "KEYS\1k1\2TAGS\1TagA\2";
  message.propertiesTail = "a\1b";
  records.push_back(build(message, true));
  message.bornHost = ipv6(0x20010db8, 1, 1);
  records.push_back(build(message, true));
  const std::string topic(200, 't');
  message.topic = topic;
  message.storeHost = ipv6(0x20010db8, 2, 2);
  const int64_t offsets[] = {5, 77};
  DispatchPart dispatch;
  dispatch.names = "%LMQ%a,%LMQ%b";
  dispatch.offsets = offsets;
  dispatch.count = 2;
  dispatch.present = true;
  records.push_back(build(message, true, specStamp(3, 4096), dispatch));
  return records;
}

// Puts a CRC property of the right value in place of the record's last 20 bytes.
Bytes withRightCrc(Bytes bytes) {
  std::string digits =
      std::to_string(crc32(0, bytes.data(), bytes.size() - kCrcPropertySize) & 0x7FFFFFFF);
  std::reverse(digits.begin(), digits.end());
  digits.resize(10, '0');
  const std::string property = "__CRC32#\1" + digits + "\2";
  std::copy(property.begin(), property.end(), bytes.end() - kCrcPropertySize);
  return bytes;
}

// The damage table of spec 6.4 ----------------------------------------------------------------

TEST(CheckDamage, None) { EXPECT_EQ(checkBytes(smallRecord()), Verdict::kRecord); }

TEST(CheckDamage, TotalSize) {
  const Bytes bytes = smallRecord();
  ASSERT_EQ(bytes.size(), 97u);
  for (const int32_t size : {-1, -2147483644, INT32_MIN, 5, 90, 96}) {
    EXPECT_EQ(checkBytes(with32(bytes, 0, size)), Verdict::kBadLength) << size;
  }
  EXPECT_EQ(checkBytes(with32(bytes, 0, 0)), Verdict::kEnd);
  EXPECT_EQ(checkBytes(with32(bytes, 0, 98)), Verdict::kTooShort);
  EXPECT_EQ(checkBytes(with32(bytes, 0, INT32_MAX)), Verdict::kTooShort);
}

// A record whose size is too small or too large must not be completed from its neighbour.
TEST(CheckDamage, TotalSizeWithANeighbour) {
  const Bytes bytes = smallRecord();
  Bytes two = bytes;
  two.insert(two.end(), bytes.begin(), bytes.end());
  for (int32_t size = 1; size < 194; ++size) {
    const Verdict verdict = checkBytes(with32(two, 0, size), kLengthsOnly);
    EXPECT_EQ(verdict, size == 97 ? Verdict::kRecord : Verdict::kBadLength) << size;
  }
}

TEST(CheckDamage, BodyLength) {
  for (const std::string& body : {std::string("Hello"), std::string(5, '\0')}) {
    for (const int32_t length : {-5, -1, 0, 4, 6, 1000, INT32_MAX, INT32_MIN}) {
      EXPECT_EQ(checkBytes(with32(smallRecord(body), 84, length)), Verdict::kBadLength) << length;
    }
  }
}

TEST(CheckDamage, TopicLength) {
  for (const int length : {200, 128, 255, 127, 0, 2, 3}) {
    Bytes bytes = smallRecord();
    bytes[93] = static_cast<uint8_t>(length);
    EXPECT_EQ(checkBytes(bytes), Verdict::kBadLength) << length;
  }
  const std::string topic(200, 't');
  Message message = specMessage();
  message.topic = topic;
  Bytes bytes = build(message, false);
  store<int16_t>(bytes.data() + 93, -1);
  EXPECT_EQ(checkBytes(bytes), Verdict::kBadLength);
}

TEST(CheckDamage, NegativePropertiesLengthIsNone) {
  Bytes bytes = smallRecord();
  View view;
  for (const int length : {-1, -32768}) {
    store<int16_t>(bytes.data() + 95, static_cast<int16_t>(length));
    EXPECT_EQ(checkBytes(bytes, {}, &view), Verdict::kRecord);
    EXPECT_EQ(view.propertiesSize, 0u);
  }
  for (const int length : {1, 32767}) {
    store<int16_t>(bytes.data() + 95, static_cast<int16_t>(length));
    EXPECT_EQ(checkBytes(bytes), Verdict::kBadLength);
  }
}

TEST(CheckDamage, Magic) {
  EXPECT_EQ(checkBytes(with32(smallRecord(), 4, 0x12345678)), Verdict::kBadMagic);
  EXPECT_EQ(checkBytes(with32(smallRecord(), 4, kMagicV2)), Verdict::kBadLength);
  EXPECT_EQ(checkBytes(with32(smallRecord(), 4, kMagicBlank)), Verdict::kBlank);
}

TEST(CheckDamage, BodyCrc) {
  const Bytes bytes = with32(smallRecord(), 8, 0x77D18983);
  View view;
  EXPECT_EQ(checkBytes(bytes, {}, &view), Verdict::kBadBodyCrc);
  EXPECT_EQ(view.body(), "Hello");
  EXPECT_EQ(checkBytes(bytes, {.bodyCrc = false}), Verdict::kRecord);
  EXPECT_EQ(checkBytes(with32(smallRecord(""), 8, 1)), Verdict::kRecord);
}

TEST(CheckDamage, FewBytes) {
  const Bytes bytes = smallRecord();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(checkBytes(firstBytes(bytes, size)), Verdict::kTooShort) << size;
  }
}

TEST(CheckDamage, HostFlagsThatDoNotFit) {
  for (const int32_t flag : {16, 32, 48}) {
    EXPECT_EQ(checkBytes(with32(smallRecord(), 36, flag)), Verdict::kBadLength) << flag;
  }
  Message message;  // 91 bytes would be enough without the flags
  const Bytes bytes = build(message, false);
  ASSERT_EQ(bytes.size(), kMinSize);
  EXPECT_EQ(checkBytes(bytes), Verdict::kRecord);  // an empty topic is legal on read
  EXPECT_EQ(checkBytes(with32(bytes, 36, 48)), Verdict::kBadLength);
}

// Ends ----------------------------------------------------------------------------------------

TEST(CheckEnd, ZerosWhateverFollows) {
  Bytes bytes(64);
  EXPECT_EQ(checkBytes(bytes), Verdict::kEnd);
  EXPECT_EQ(checkBytes(Bytes(8)), Verdict::kEnd);
  EXPECT_EQ(checkBytes(Bytes(7)), Verdict::kTooShort);
  std::fill(bytes.begin() + 4, bytes.end(), uint8_t{0xAB});
  EXPECT_EQ(checkBytes(bytes), Verdict::kEnd);
}

TEST(CheckEnd, Blank) {
  Bytes bytes(8);
  encodeBlank(bytes.data());
  View view;
  for (const int32_t size : {8, 124, INT32_MAX}) {
    EXPECT_EQ(checkBytes(with32(bytes, 0, size), {}, &view), Verdict::kBlank);
    EXPECT_EQ(view.size, static_cast<uint32_t>(size));
  }
  EXPECT_EQ(checkBytes(with32(bytes, 0, 7)), Verdict::kBadLength);
  EXPECT_EQ(checkBytes(with32(bytes, 0, -1)), Verdict::kBadLength);
  EXPECT_EQ(checkBytes(bytes), Verdict::kEnd);
}

TEST(ClaimedSize, OfWhatStandsThere) {
  const Bytes small = firstBytes(smallRecord(), 8);
  const struct {
    int32_t size, magic;
    int64_t claimed;
    bool blank;
  } rows[] = {{97, kMagicV1, 97, false},
              {97, kMagicV2, 97, false},
              {97, kMagicBlank, 97, true},
              {8, kMagicBlank, 8, true},
              {7, kMagicBlank, -1, false},
              {-1, kMagicBlank, -1, false},
              {90, kMagicV1, -1, false},
              {91, kMagicV1, 91, false},
              {-97, kMagicV1, -1, false},
              {INT32_MAX, kMagicV1, INT32_MAX, false},
              {97, 0x12345678, -1, false},
              {97, 0, -1, false},
              {0, 0, 0, false},
              {0, kMagicV1, 0, false}};
  for (const auto& row : rows) {
    bool blank = !row.blank;
    const Bytes bytes = with32(with32(small, 0, row.size), 4, row.magic);
    EXPECT_EQ(claimedSize(bytes.data(), &blank), row.claimed) << row.size;
    EXPECT_EQ(blank, row.blank) << row.size;
  }
}

TEST(CheckPosition, ComparedWhenAsked) {
  const Bytes bytes = build(specMessage(), true, specStamp(0, 4096));
  View view;
  EXPECT_EQ(checkBytes(bytes, {.physicalOffset = 4096}), Verdict::kRecord);
  EXPECT_EQ(checkBytes(bytes, {.physicalOffset = 0}, &view), Verdict::kBadPosition);
  EXPECT_EQ(view.physicalOffset, 4096);
  EXPECT_EQ(checkBytes(bytes), Verdict::kRecord);
}

// The CRC property ----------------------------------------------------------------------------

TEST(CheckCrc, RequiredOnlyIfAsked) {
  const Bytes bytes = smallRecord();
  EXPECT_EQ(checkBytes(bytes), Verdict::kRecord);
  EXPECT_EQ(checkBytes(bytes, kStrict), Verdict::kNoCrc);
  Message message = specMessage();
  message.propertiesHead = "KEYS\1a longer value than twenty\2";
  EXPECT_EQ(checkBytes(build(message, false)), Verdict::kRecord);
  EXPECT_EQ(checkBytes(build(message, false), kStrict), Verdict::kNoCrc);
  for (const Bytes& record : crcRecords()) {
    EXPECT_EQ(checkBytes(record, kStrict), Verdict::kRecord);
  }
}

TEST(CheckCrc, OnlyTenDigitsOfACrc) {
  const Bytes bytes = build(specMessage(), true);
  for (const std::string digits : {"          ", "-000000001", "000000000:", "00000000/0",
                                   "9999999999", "8463847412", "4294967295", "000000000\2"}) {
    Bytes damaged = bytes;
    std::copy(digits.begin(), digits.end(), damaged.end() - 11);
    EXPECT_EQ(checkBytes(damaged), Verdict::kBadPropertyCrc) << digits;
    EXPECT_EQ(checkBytes(damaged, {.propertyCrc = false}), Verdict::kRecord);
    EXPECT_EQ(checkBytes(damaged, {.propertyCrc = false, .requireCrc = true}),
              Verdict::kBadPropertyCrc);
  }
}

// Spec 3.3: RocketMQ's batches insert no separator. It reads the CRC as part of the value.
TEST(CheckCrc, GluedToTheLastProperty) {
  Message message = specMessage();
  const std::string text = "k\1v" + std::string(kCrcPropertySize, '.');
  message.propertiesHead = text;
  Bytes bytes = withRightCrc(build(message, false));
  EXPECT_EQ(checkBytes(bytes), Verdict::kRecord);
  EXPECT_EQ(checkBytes(bytes, kStrict), Verdict::kNoCrc);
  bytes[20] ^= 1;
  EXPECT_EQ(checkBytes(bytes), Verdict::kBadPropertyCrc);
}

// One that a producer sent to a store without the feature: not in the last place, so not checked.
TEST(CheckCrc, ElsewhereCountsAsNone) {
  for (const std::string text : {"__CRC32#\1"
                                 "0123456789\2a\1b\2",
                                 "a\1b\2__CRC32#\1"
                                 "123\2",
                                 "a\1b\2__CRC32#\1"
                                 "0123456789",
                                 "a\1__CRC32#\1x\2"}) {
    Message message = specMessage();
    message.propertiesHead = text;
    EXPECT_EQ(checkBytes(build(message, false)), Verdict::kRecord) << text;
    EXPECT_EQ(checkBytes(build(message, false), kStrict), Verdict::kNoCrc) << text;
  }
}

TEST(CheckCrc, LastOneCounts) {
  Message message = specMessage();
  message.propertiesHead =
      "__CRC32#\1"
      "1111111111\2";
  EXPECT_EQ(checkBytes(build(message, true), kStrict), Verdict::kRecord);
}

TEST(CheckCrc, SimilarNameIsAnotherProperty) {
  Message message = specMessage();
  message.propertiesHead =
      "__CRC32C\1"
      "0123456789\2";
  EXPECT_EQ(checkBytes(build(message, false)), Verdict::kRecord);
  EXPECT_EQ(checkBytes(build(message, false), kStrict), Verdict::kNoCrc);
}

// Damage that only a CRC sees -------------------------------------------------------------------

TEST(CheckNoticed, EveryFlippedByte) {
  for (const Bytes& record : crcRecords()) {
    ASSERT_EQ(checkBytes(record), Verdict::kRecord);
    Bytes followed = record;
    followed.insert(followed.end(), record.begin(), record.end());
    for (size_t at = 0; at < record.size(); ++at) {
      for (int flip = 1; flip < 256; ++flip) {
        Bytes damaged = record;
        damaged[at] ^= static_cast<uint8_t>(flip);
        ASSERT_NE(checkBytes(damaged), Verdict::kRecord) << at << " " << flip;
        ASSERT_NE(checkBytes(damaged, kStrict), Verdict::kRecord) << at << " " << flip;
        followed[at] ^= static_cast<uint8_t>(flip);
        ASSERT_NE(checkBytes(followed), Verdict::kRecord) << at << " " << flip;
        followed[at] ^= static_cast<uint8_t>(flip);
      }
    }
  }
}

TEST(CheckNoticed, EveryTruncation) {
  for (const Bytes& record : crcRecords()) {
    for (size_t size = 0; size < record.size(); ++size) {
      ASSERT_EQ(checkBytes(firstBytes(record, size)), Verdict::kTooShort) << size;
    }
  }
}

TEST(CheckNoticed, EveryTailOfZeros) {
  for (const Bytes& record : crcRecords()) {
    Bytes damaged = record;
    for (size_t at = record.size(); at-- > 0;) {
      damaged[at] = 0;
      ASSERT_NE(checkBytes(damaged), Verdict::kRecord) << at;
    }
  }
}

// A known fault: the lengths are right, the properties were never written.
TEST(CheckNoticed, ZeroFilledPropertiesWithoutCrc) {
  Message message = specMessage();
  for (const std::string text : {"KEYS\1k1\2TAGS\1TagA\2", "a\1b\2", "ab", "a"}) {
    message.propertiesHead = text;
    Bytes bytes = build(message, false);
    std::fill(bytes.end() - static_cast<std::ptrdiff_t>(text.size()), bytes.end(), uint8_t{0});
    EXPECT_EQ(checkBytes(bytes), Verdict::kBadLength) << text;
    EXPECT_EQ(checkBytes(bytes, kLengthsOnly), Verdict::kBadLength) << text;
  }
  message.propertiesHead = "KEYS\1k1\2TAGS\1TagA\2";
  Bytes bytes = build(message, false);
  std::fill(bytes.end() - 4, bytes.end(), uint8_t{0});  // torn inside
  EXPECT_EQ(checkBytes(bytes), Verdict::kBadLength);
}

TEST(CheckNoticed, ZerosInsideAValueAreText) {
  Message message = specMessage();
  const std::string text("k\1v\0\0\0\0\0\0\2a\1b\0\0\0", 15);
  message.propertiesHead = text;
  EXPECT_EQ(checkBytes(build(message, false)), Verdict::kRecord);
}

// Whatever the bytes are, nothing beyond them is read and the fields lie inside the record.
TEST(CheckRandom, FieldsStayInside) {
  std::mt19937 random(7);
  const std::vector<Bytes> records = crcRecords();
  int accepted = 0;
  for (int round = 0; round < 200000; ++round) {
    Bytes bytes = records[random() % records.size()];
    for (unsigned n = random() % 3; n > 0; --n) {
      // Mostly where the lengths stand.
      const size_t places[] = {3, 36, 39, 84, 86, 87, 93, 94, 96, random() % bytes.size()};
      bytes[places[random() % 10]] = static_cast<uint8_t>(random());
    }
    if (random() % 4 == 0) bytes = firstBytes(bytes, random() % (bytes.size() + 1));
    View view;
    const Verdict verdict = checkBytes(bytes, kLengthsOnly, &view);
    if (verdict != Verdict::kRecord) continue;
    ++accepted;
    ASSERT_LE(view.size, bytes.size());
    ASSERT_EQ(view.propertiesAt + view.propertiesSize, view.size);
    ASSERT_LE(view.bodyAt + view.bodySize, view.topicAt);
    ASSERT_LE(view.topicAt + view.topicSize, view.propertiesAt);
    ASSERT_LE(view.storeHostAt + view.storeAddressSize, view.bodyAt);
  }
  EXPECT_GT(accepted, 1000);
}

TEST(VerdictText, EveryVerdictHasOne) {
  for (int i = 0; i <= static_cast<int>(Verdict::kNoCrc); ++i) {
    EXPECT_GT(std::strlen(verdictText(static_cast<Verdict>(i))), 5u);
  }
}

}  // namespace
}  // namespace lmq::record
