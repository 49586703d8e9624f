#include <gtest/gtest.h>

#include "core/record.h"
#include "record_fixture.h"

namespace lmq::record {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs read(std::string_view text) {
  Pairs pairs;
  std::string_view name;
  std::string_view value;
  for (PropertyReader reader(text); reader.next(&name, &value);) pairs.emplace_back(name, value);
  return pairs;
}

// The examples of spec 2.6.
TEST(PropertyReader, FollowsJava) {
  EXPECT_EQ(read("a\1b\1c\2"), (Pairs{{"a", "b\1c"}}));
  EXPECT_EQ(read("a\1\2"), Pairs{});
  EXPECT_EQ(read("ab\2c\1d\2"), (Pairs{{"c", "d"}}));
  EXPECT_EQ(read("a\1b\2a\1c\2"), (Pairs{{"a", "b"}, {"a", "c"}}));
  EXPECT_EQ(read("a\1b"), (Pairs{{"a", "b"}}));
  EXPECT_EQ(read("a\1b\2c\1d"), (Pairs{{"a", "b"}, {"c", "d"}}));
}

TEST(PropertyReader, PassesOverWhatIsNoProperty) {
  EXPECT_EQ(read(""), Pairs{});
  EXPECT_EQ(read("\2\2\2"), Pairs{});
  EXPECT_EQ(read("\1\2\1\1\2\1b\2"), Pairs{});
  EXPECT_EQ(read("\1bc\2"), Pairs{});        // without a name
  EXPECT_EQ(read("abc\2abc"), Pairs{});      // without a name end
  EXPECT_EQ(read("abc\1\2abc\1"), Pairs{});  // with an empty value
  EXPECT_EQ(read("a\1\1\2"), (Pairs{{"a", "\1"}}));
  EXPECT_EQ(read("\2a\1b\2\2c\1d\2\2"), (Pairs{{"a", "b"}, {"c", "d"}}));
}

TEST(FindProperty, LastOneWins) {
  EXPECT_EQ(findProperty("a\1b\2a\1c\2", "a"), "c");
  EXPECT_EQ(findProperty("a\1b\2a\1\2", "a"), "b");  // the empty one is invisible
  EXPECT_EQ(findProperty("a\1b\2ab\1c\2", "ab"), "c");
  EXPECT_EQ(findProperty("a\1b\1c", "a"), "b\1c");
  EXPECT_EQ(findProperty("x\1"
                         "TAGS\1y\2",
                         "TAGS")
                .data(),
            nullptr);
}

TEST(FindProperty, AbsentHasNoData) {
  EXPECT_EQ(findProperty("", "a").data(), nullptr);
  EXPECT_EQ(findProperty("a\1\2", "a").data(), nullptr);
  EXPECT_EQ(findProperty("ab\1c\2", "a").data(), nullptr);
  EXPECT_EQ(findProperty("a\1b\2", "A").data(), nullptr);
  EXPECT_EQ(findProperty("a\1b\2", "").data(), nullptr);
  EXPECT_EQ(findProperty("\1b\2", "").data(), nullptr);
  EXPECT_EQ(findProperty("a\1b\1c\2", "a\1b").data(), nullptr);
}

TEST(JavaHash, OfNames) {
  const std::pair<std::string, int32_t> rows[] = {{"", 0},
                                                  {"KEYS", 2303476},
                                                  {"TAGS", 2567193},
                                                  {"WAIT", 2656629},
                                                  {"DELAY", 64930147},
                                                  {"UNIQ_KEY", 488471169},
                                                  {"CLUSTER", 1590074842},
                                                  {"MSG_REGION", -1929015918},
                                                  {"TRACE_ON", 2052958009},
                                                  {"PGROUP", -1936543729},
                                                  {"TRAN_MSG", 2063874125},
                                                  {"REAL_TOPIC", -245408978},
                                                  {"REAL_QID", -76236021},
                                                  {"INNER_MULTI_DISPATCH", 627399177},
                                                  {"INNER_MULTI_QUEUE_OFFSET", -1046529616},
                                                  {"INNER_NUM", -2035045923},
                                                  {"INNER_BASE", 1337709370},
                                                  {"__CRC32#", -1527310512},
                                                  {"TagA", 2598919},
                                                  {"order-created", -392709271},
                                                  {"TopicTest#k1", 2746024},
                                                  {"TopicTest#7F000001ABCD", -889455372},
                                                  {"Aa", 2112},
                                                  {"BB", 2112}};
  for (const auto& [text, hash] : rows) EXPECT_EQ(javaHash(text), hash) << text;
}

int32_t hashOfUnits(std::initializer_list<uint32_t> units) {
  uint32_t hash = 0;
  for (const uint32_t unit : units) hash = 31 * hash + unit;
  return static_cast<int32_t>(hash);
}

TEST(JavaHash, CountsUtf16Units) {
  EXPECT_EQ(javaHash("\xC3\xA9"), hashOfUnits({0xE9}));
  EXPECT_EQ(javaHash("\xE4\xB8\xAD\xE6\x96\x87"), hashOfUnits({0x4E2D, 0x6587}));
  EXPECT_EQ(javaHash("a\xF0\x9F\x98\x80z"), hashOfUnits({'a', 0xD83D, 0xDE00, 'z'}));
  EXPECT_EQ(javaHash("\xF4\x8F\xBF\xBF"), hashOfUnits({0xDBFF, 0xDFFF}));
  EXPECT_EQ(javaHash("\xEF\xBF\xBF"), hashOfUnits({0xFFFF}));
}

TEST(JavaHash, EveryLengthAndPlaceOfAWideCharacterCounts) {
  for (size_t length = 0; length <= 40; ++length) {
    std::string text;
    uint32_t hash = 1234567;
    for (size_t i = 0; i < length; ++i) {
      text.push_back(static_cast<char>(127 - i * 3 % 120));
      hash = 31 * hash + static_cast<uint32_t>(127 - i * 3 % 120);
    }
    EXPECT_EQ(javaHash(text, 1234567), static_cast<int32_t>(hash)) << length;
    for (size_t at = 0; at <= length; ++at) {
      uint32_t wide = 0;
      for (size_t i = 0; i <= length; ++i) {
        if (i == at) wide = 31 * wide + 0xE9;
        if (i < length) wide = 31 * wide + static_cast<uint32_t>(127 - i * 3 % 120);
      }
      const std::string mixed = text.substr(0, at) + "\xC3\xA9" + text.substr(at);
      EXPECT_EQ(javaHash(mixed), static_cast<int32_t>(wide)) << length << " " << at;
    }
  }
}

// One U+FFFD for each part that Java's decoder takes for one.
TEST(JavaHash, MalformedTextDecodesAsInJava) {
  const auto replaced = [](int count, uint32_t then) {
    uint32_t hash = 0;
    for (; count > 0; --count) hash = 31 * hash + 0xFFFD;
    return static_cast<int32_t>(31 * hash + then);
  };
  const std::pair<std::string, int> rows[] = {
      {"\x80", 1},              // continues nothing
      {"\xC0\x80", 2},          // overlong
      {"\xC1\xBF", 2},          // overlong
      {"\xC3", 1},              // breaks off
      {"\xE0\x80\x80", 3},      // overlong: no byte was right but the first
      {"\xE0\x9F\xBF", 3},      // overlong
      {"\xE4\xB8", 1},          // breaks off
      {"\xE4", 1},              // breaks off
      {"\xED\xA0\x80", 1},      // a surrogate is one part
      {"\xED\xBF\xBF", 1},      // a surrogate
      {"\xED\xA0", 1},          // a surrogate that breaks off
      {"\xF0\x80\x80\x80", 4},  // overlong
      {"\xF0\x9F\x98", 1},      // breaks off
      {"\xF0\x9F", 1},          // breaks off
      {"\xF4\x90\x80\x80", 4},  // above U+10FFFF
      {"\xF5\x80\x80\x80", 4},  // no such lead
      {"\xFF\xFE", 2},          // no such leads
  };
  for (const auto& [text, count] : rows) {
    EXPECT_EQ(javaHash(text + "z"), replaced(count, 'z')) << toHex(Bytes(text.begin(), text.end()));
  }
  EXPECT_EQ(javaHash("\xE4\xB8"), hashOfUnits({0xFFFD}));  // also at the very end
  EXPECT_EQ(javaHash("\xE4\xC3\xA9"), hashOfUnits({0xFFFD, 0xE9}));
}

int64_t tagsCodeOf(std::string_view topic, std::string_view text,
                   const std::vector<int64_t>& levels = {1000, 5000, 10000}) {
  Message message = specMessage();
  message.topic = topic;
  message.propertiesHead = text;
  const Bytes bytes = build(message, true);
  View view;
  EXPECT_EQ(checkBytes(bytes, {}, &view), Verdict::kRecord);
  const int64_t code = tagsCode(view, findKeys(view.properties()), levels.data(), levels.size());
  EXPECT_EQ(tagsCode(message, findKeys(message), view.storeTimestamp, levels.data(), levels.size()),
            code);
  return code;
}

TEST(TagsCode, IsTheSignExtendedHash) {
  EXPECT_EQ(tagsCodeOf("T", "TAGS\1TagA\2"), 2598919);
  EXPECT_EQ(tagsCodeOf("T", "TAGS\1order-created\2"), -392709271);
  EXPECT_EQ(tagsCodeOf("T", "TAGS\1x\2TAGS\1TagA\2"), 2598919);
  EXPECT_EQ(tagsCodeOf("T", "TAGS\1\2"), 0);
  EXPECT_EQ(tagsCodeOf("T", ""), 0);
  EXPECT_EQ(tagsCodeOf("T",
                       "DELAY\1"
                       "2\2TAGS\1TagA\2"),
            2598919);
}

TEST(TagsCode, IsTheDeliveryTimeOnTheScheduleTopic) {
  constexpr int64_t kStored = 1700000000123;
  const std::string topic = "SCHEDULE_TOPIC_XXXX";
  const auto of = [&](const std::string& delay) {
    return tagsCodeOf(topic, "TAGS\1TagA\2DELAY\1" + delay + "\2");
  };
  EXPECT_EQ(of("1"), kStored + 1000);
  EXPECT_EQ(of("+2"), kStored + 5000);
  EXPECT_EQ(of("003"), kStored + 10000);
  EXPECT_EQ(of("4"), kStored + 10000);
  EXPECT_EQ(of("2147483647"), kStored + 10000);
  for (const std::string none : {"0", "-1", "-2147483648", "", "x", "1x", " 1", "+", "-",
                                 "2147483648", "99999999999999999999"}) {
    EXPECT_EQ(of(none), 2598919) << none;
  }
  EXPECT_EQ(tagsCodeOf(topic, "TAGS\1TagA\2"), 2598919);
  EXPECT_EQ(tagsCodeOf(topic,
                       "DELAY\1"
                       "1\2",
                       {}),
            0);
}

TEST(MessageId, IsUpperCaseHex) {
  char text[56];
  EXPECT_EQ(formatMessageId(ipv4(127, 0, 0, 1, 10911), 143, text), 32u);
  EXPECT_EQ(std::string(text, 32), "7F00000100002A9F000000000000008F");
  EXPECT_EQ(formatMessageId(ipv6(0x20010db8, 1, 1), 0x123456789ABCDEF0, text), 56u);
  EXPECT_EQ(std::string(text, 56), "20010DB800000000000000000000000100000001123456789ABCDEF0");
}

}  // namespace
}  // namespace lmq::record
