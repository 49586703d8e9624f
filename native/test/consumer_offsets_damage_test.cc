// The log of consumer offsets in any state: no offset is ever another's, none is lost that a whole
// record tells, and no number in it is believed without a look.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/consumer_offsets.h"
#include "core/crc32.h"
#include "temp_directory.h"

namespace lmq {
namespace {

std::string encoded(const OffsetRecord& record) {
  std::vector<uint8_t> bytes(OffsetRecord::kMaxSize);
  const uint32_t checksum = record.encode(bytes.data());
  store<uint32_t>(bytes.data(), checksum);
  return std::string(reinterpret_cast<const char*>(bytes.data()), record.size());
}
std::string name(uint32_t number, std::string_view text) {
  return encoded({OffsetRecord::kName, number, 0, 0, 0, text});
}
std::string offset(uint32_t group, uint32_t topic, int64_t offset, int32_t queueId = 0) {
  return encoded({OffsetRecord::kOffset, group, topic, queueId, offset, {}});
}
std::string removed(uint32_t topic, int32_t queueId = 0) {
  return encoded({OffsetRecord::kRemoved, 0, topic, queueId, 0, {}});
}
std::string source(uint32_t number, int64_t stamp) {
  return encoded({OffsetRecord::kSource, number, 0, 0, stamp, {}});
}

class ConsumerOffsetsDamageTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_ / "offsets"); }
  std::unique_ptr<ConsumerOffsets> load(Access access = Access::kReadQuietly) {
    auto offsets = std::make_unique<ConsumerOffsets>(
        ConsumerOffsets::Options{directory_ / "offsets", directory_ / "work", access});
    notes_.clear();
    EXPECT_TRUE(succeeded(offsets->load(&notes_)));
    return offsets;
  }
  void write(const std::string& bytes, size_t room = 400) {
    writeFile(log_, bytes + std::string(room, '\0'));
  }
  // "group topic id" -> offset of all that is listed, which is also what is found.
  static std::map<std::string, int64_t> all(const ConsumerOffsets& offsets) {
    std::map<std::string, int64_t> all;
    std::vector<ConsumerOffsets::Offset> page;
    uint64_t cursor = 0;
    for (bool more = true; more; page.clear()) {
      more = offsets.list(&cursor, 3, &page);
      for (const auto& one : page) {
        all[one.group + " " + one.topic + " " + std::to_string(one.queueId)] = one.offset;
        EXPECT_EQ(offsets.committed(one.group, one.topic, one.queueId), one.offset);
      }
    }
    return all;
  }
  using All = std::map<std::string, int64_t>;

  TempDirectory directory_{memoryDirectory()};
  std::string log_ = directory_ / "offsets/log";
  std::vector<Status> notes_;
};

TEST_F(ConsumerOffsetsDamageTest, ALogIsReadFrontToBack) {
  write(name(0, "g") + name(1, "a") + offset(0, 1, 5) + offset(0, 1, 7) + offset(0, 1, 3, 9) +
        removed(1, 0) + source(1, 77));
  auto offsets = load();
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(all(*offsets), (All{{"g a 9", 3}}));
  EXPECT_EQ(offsets->source(1), 77);
}

// Records that are whole and say what cannot be.
TEST_F(ConsumerOffsetsDamageTest, NumbersThatCannotBeAreReportedAndTheRestCounts) {
  const std::string head = name(0, "g") + name(1, "a");
  const std::string lies[] = {
      offset(0, 2, 1),
      offset(2, 1, 1),
      offset(UINT32_MAX, 1, 1),
      offset(0, UINT32_MAX, 1),
      offset(UINT32_MAX, UINT32_MAX, 1),
      name(UINT32_MAX, "n"),
      name(UINT32_MAX - 1, "n"),
      name(1 << 30, "n"),
      name(1000, "n"),
      source(2, 1),
      source(UINT32_MAX, 1),
  };
  for (size_t i = 0; i < std::size(lies); ++i) {
    write(head + lies[i] + offset(0, 1, 5));
    for (const Access access : {Access::kReadQuietly, Access::kWrite}) {
      auto offsets = load(access);
      ASSERT_EQ(notes_.size(), 1u) << i;
      EXPECT_EQ(notes_[0].code(), Code::kCorruptFile) << i;
      EXPECT_EQ(notes_[0].facts().offset, static_cast<int64_t>(head.size())) << i;
      EXPECT_EQ(all(*offsets), (All{{"g a 0", 5}})) << i;
    }
  }
  // These say nothing that could be wrong.
  for (const std::string& nothing : {removed(2), removed(UINT32_MAX), removed(0), removed(1, 3)}) {
    write(head + nothing + name(2, "b") + offset(0, 1, 5));
    auto offsets = load();
    const int64_t found = offsets->committed("g", "a", 0);
    EXPECT_TRUE(found == 5 || found == -1);
  }
}

TEST_F(ConsumerOffsetsDamageTest, ExtremesThatCanBeAreKept) {
  const std::string longest(OffsetRecord::kMaxName, 'x');
  write(name(0, longest) + name(1, "y") + offset(0, 1, INT64_MAX, INT32_MAX) + offset(1, 0, 0) +
        offset(1, 1, 1) + source(0, INT64_MAX));
  auto offsets = load();
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(offsets->committed(longest, "y", INT32_MAX), INT64_MAX);
  EXPECT_EQ(offsets->committed("y", longest, 0), 0);
  EXPECT_EQ(offsets->committed("y", "y", 0), 1);  // a group may have a topic's name
  EXPECT_EQ(offsets->source(0), INT64_MAX);
}

TEST_F(ConsumerOffsetsDamageTest, FieldsOutOfTheirRangeAreNoRecord) {
  const std::string good = offset(0, 1, 5);
  const auto with = [&](size_t at, const std::string& bytes) {
    std::string changed = good;
    changed.replace(at, bytes.size(), bytes);
    std::vector<uint8_t> copy(changed.begin(), changed.end());
    // With a checksum that is right, as only a program could have made it.
    const uint32_t sum = crc32(0, copy.data() + 4, copy.size() - 4) | 0x80000000u;
    store<uint32_t>(copy.data(), sum);
    return std::string(copy.begin(), copy.end());
  };
  const std::string head = name(0, "g") + name(1, "a");
  for (const std::string& lie :
       {with(4, std::string(1, '\0')), with(4, "\5"), with(4, "\xff"),  // kind
        with(6, "\x01"), with(6, "\xff\xff"),                           // length of the name
        with(16, "\xff\xff\xff\xff"), with(16, "\x80"),                 // queue id
        with(20, "\xff"), with(20, "\x80")}) {                          // offset
    write(head + lie + offset(0, 1, 6));
    auto offsets = load();
    EXPECT_EQ(notes_.size(), 1u);
    EXPECT_EQ(all(*offsets), (All{{"g a 0", 6}}));
  }
}

TEST_F(ConsumerOffsetsDamageTest, ARecordEndsWhereItsBytesEnd) {
  const auto decodes = [](std::string bytes, size_t size) {
    uint8_t* head = reinterpret_cast<uint8_t*>(bytes.data());
    lmq::store<uint32_t>(head, crc32(0, head + 4, bytes.size() - 4) | 0x80000000u);
    const std::vector<uint8_t> exact(head, head + size);
    OffsetRecord record;
    return record.decode(exact.data(), size);
  };
  const std::string longest = name(7, std::string(OffsetRecord::kMaxName, 'x'));
  EXPECT_TRUE(decodes(longest, longest.size()));
  for (size_t size = 0; size < longest.size(); ++size) EXPECT_FALSE(decodes(longest, size)) << size;
  std::string longer = longest;
  longer.replace(6, 2, std::string("\1\0", 2));
  EXPECT_FALSE(decodes(longer, longer.size()));
  std::string kind = offset(0, 1, 5);
  for (const char other : {'\0', '\5', '\xff'}) {
    kind[4] = other;
    EXPECT_FALSE(decodes(kind, kind.size()));
  }
}

// A name that the log gives to another number, or a number to another name: a removal between was
// lost. What it had removed is no offset of the new one.
TEST_F(ConsumerOffsetsDamageTest, NoOffsetIsEverOneOfAnotherQueue) {
  const std::string lost(28, '\xee');
  const std::string first =
      name(0, "g") + name(1, "a") + name(2, "b") + offset(0, 1, 500) + offset(0, 2, 600);
  // Number 1 was a, then free, then c.
  write(first + lost + name(1, "c") + offset(0, 1, 3));
  EXPECT_EQ(all(*load()), (All{{"g b 0", 600}, {"g c 0", 3}}));
  EXPECT_EQ(notes_.size(), 1u);
  // Both numbers traded their names.
  write(first + lost + name(1, "b") + name(2, "a") + name(0, "g") + offset(0, 1, 7) +
        offset(0, 2, 8));
  EXPECT_EQ(all(*load()), (All{{"g a 0", 8}, {"g b 0", 7}}));
  // The group's number is another group's: every queue that it was in has been removed.
  write(first + offset(2, 2, 4) + lost + name(0, "h") + offset(0, 1, 9) + name(1, "d") +
        offset(0, 1, 10));
  EXPECT_EQ(all(*load()), (All{{"h d 0", 10}}));
  // And what a writer makes of it stays so.
  ASSERT_TRUE(succeeded(load(Access::kWrite)->sync()));
  EXPECT_EQ(all(*load()), (All{{"h d 0", 10}}));
  EXPECT_TRUE(notes_.empty());
}

TEST_F(ConsumerOffsetsDamageTest, ALostNameCostsNoOther) {
  const std::string names[] = {name(0, "g"), name(1, "a"), name(2, "h"), name(3, "b")};
  const std::string offsets =
      offset(0, 1, 10) + offset(0, 3, 11) + offset(2, 1, 12) + offset(2, 3, 13);
  const All expected[] = {{{"h a 0", 12}, {"h b 0", 13}},
                          {{"g b 0", 11}, {"h b 0", 13}},
                          {{"g a 0", 10}, {"g b 0", 11}},
                          {{"g a 0", 10}, {"h a 0", 12}}};
  for (size_t lost = 0; lost < 4; ++lost) {
    std::string bytes;
    for (size_t i = 0; i < 4; ++i) {
      bytes += i == lost ? std::string(names[i].size(), '\xee') : names[i];
    }
    write(bytes + offsets);
    for (const Access access : {Access::kReadQuietly, Access::kWrite}) {
      auto loaded = load(access);
      EXPECT_EQ(notes_.size(), 1u) << lost;
      EXPECT_EQ(all(*loaded), expected[lost]) << lost;
      if (access != Access::kWrite) continue;
      // The number that is free is given to the next.
      ASSERT_TRUE(succeeded(loaded->commit("new", "newer", 0, 1)));
      loaded = load();
      EXPECT_TRUE(notes_.empty());
      EXPECT_EQ(loaded->committed("new", "newer", 0), 1);
      EXPECT_EQ(all(*loaded).size(), 3u);
    }
  }
}

TEST_F(ConsumerOffsetsDamageTest, EveryLengthKeepsWhatIsWhole) {
  const std::vector<std::string> records = {name(0, "g"),    name(1, "topic"), offset(0, 1, 1),
                                            offset(0, 1, 2), name(2, "h"),     offset(2, 1, 3),
                                            source(0, 1234), removed(1, 5),    offset(0, 1, 4)};
  std::string whole;
  for (const std::string& one : records) whole += one;
  for (size_t length = 0; length <= whole.size(); ++length) {
    int64_t expected = -1;
    size_t end = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      end += records[i].size();
      if (end > length) break;
      if (i == 2) expected = 1;
      if (i == 3) expected = 2;
      if (i == 8) expected = 4;
    }
    for (const size_t room : {size_t{0}, size_t{1}, size_t{3000}}) {
      write(whole.substr(0, length), room);
      EXPECT_EQ(load()->committed("g", "topic", 0), expected) << length;
      EXPECT_TRUE(notes_.empty()) << length;
      if (length % 7 != 0) continue;
      auto offsets = load(Access::kWrite);
      EXPECT_TRUE(notes_.empty()) << length;
      EXPECT_EQ(offsets->committed("g", "topic", 0), expected) << length;
      ASSERT_TRUE(succeeded(offsets->commit("g", "other", 0, 9))) << length;
      offsets = load();
      EXPECT_EQ(offsets->committed("g", "topic", 0), expected) << length;
      EXPECT_EQ(offsets->committed("g", "other", 0), 9) << length;
    }
  }
}

TEST_F(ConsumerOffsetsDamageTest, AnyByteCostsItsRecordAlone) {
  const std::vector<std::string> records = {
      name(0, "g"),         name(1, "aa"), offset(0, 1, 0x0101), name(2, "b"),
      offset(0, 2, 0x0202), removed(2),    name(2, "c"),         offset(0, 2, 0x0303)};
  const All whole = {{"g aa 0", 0x0101}, {"g c 0", 0x0303}};
  size_t start = 0;
  for (size_t damaged = 0; damaged < records.size(); start += records[damaged].size(), ++damaged) {
    for (size_t at = 0; at < records[damaged].size(); ++at) {
      for (const char byte : {'\0', '\xff'}) {
        std::string bytes;
        for (const std::string& one : records) bytes += one;
        bytes[start + at] = byte;
        write(bytes);
        for (const auto& [key, value] : all(*load())) {
          // Only what was committed, and what a removal took only if that was lost.
          const bool old = key == "g b 0" && value == 0x0202 && damaged >= 5;
          const auto known = whole.find(key);
          EXPECT_TRUE(old || (known != whole.end() && known->second == value))
              << damaged << " " << at << " " << key << " " << value;
        }
        if (damaged >= 3) {
          EXPECT_EQ(load()->committed("g", "aa", 0), 0x0101) << damaged;
        }
      }
    }
  }
}

TEST_F(ConsumerOffsetsDamageTest, WhatIsNoFileIsAnErrorByName) {
  std::filesystem::create_directories(log_);
  for (const Access access : {Access::kReadQuietly, Access::kWrite}) {
    ConsumerOffsets offsets({directory_ / "offsets", directory_ / "work", access});
    std::vector<Status> notes;
    const Status status = offsets.load(&notes);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.facts().path, log_);
  }
  std::filesystem::remove_all(directory_ / "offsets");
  writeFile(directory_ / "offsets", "a file in its place");
  ConsumerOffsets offsets({directory_ / "offsets", directory_ / "work", Access::kWrite});
  std::vector<Status> notes;
  EXPECT_FALSE(offsets.load(&notes).ok() && offsets.commit("g", "a", 0, 1).ok());
}

TEST_F(ConsumerOffsetsDamageTest, ALargeLogOfHolesIsPassedQuickly) {
  const std::string head = name(0, "g") + name(1, "a") + offset(0, 1, 5);
  write(head);
  std::filesystem::resize_file(log_, uint64_t{1} << 36);
  EXPECT_EQ(load()->committed("g", "a", 0), 5);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(ConsumerOffsetsDamageTest, ALogCutUnderAReaderLeavesWhatItKnows) {
  const std::string head = name(0, "g") + name(1, "a") + offset(0, 1, 5);
  write(head);
  auto reader = load();
  for (const size_t length : {head.size(), size_t{30}, size_t{0}}) {
    std::filesystem::resize_file(log_, length);
    EXPECT_TRUE(succeeded(reader->refresh()));
    EXPECT_EQ(reader->committed("g", "a", 0), 5);
  }
}

}  // namespace
}  // namespace lmq
