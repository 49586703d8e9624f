// Consume-queue extensions: what an address leads to, and nothing worse than the address itself
// where the files do not say.
#include "core/consume_queue_ext.h"

#include <gtest/gtest.h>

#include <string>

#include "core/bytes.h"
#include "temp_directory.h"

namespace lmq {
namespace {

constexpr size_t kFileSize = 100;

int64_t addressOf(int64_t position) { return INT64_MIN + position; }

std::string unit(int64_t tagsCode, size_t bitmap = 0) {
  uint8_t head[ConsumeQueueExt::kLeastUnit];
  store<uint16_t>(head, static_cast<uint16_t>(sizeof(head) + bitmap));
  store<int64_t>(head + 2, tagsCode);
  store<int64_t>(head + 10, 1700000000000);
  store<uint16_t>(head + 18, static_cast<uint16_t>(bitmap));
  return std::string(reinterpret_cast<const char*>(head), sizeof(head)) + std::string(bitmap, 'b');
}

class ConsumeQueueExtTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder()); }
  std::string queue() const { return directory_ / "consumequeue/T/3"; }
  std::string folder() const { return directory_ / "consumequeue_ext/T/3"; }
  std::string file(uint64_t base) const { return folder() + "/" + fileNameOf(base); }
  void write(uint64_t base, std::string bytes) {
    bytes.resize(kFileSize, '\0');
    writeFile(file(base), bytes);
  }
  int64_t at(int64_t position) { return ConsumeQueueExt(queue()).tagsCode(addressOf(position)); }
  // Whatever the files hold, an answer is a tags code that was written or the address.
  void expectOnly(int64_t code, int64_t position, const std::string& why) {
    const int64_t found = at(position);
    EXPECT_TRUE(found == code || found == addressOf(position)) << why << ": " << found;
  }

  TempDirectory directory_{memoryDirectory()};
};

TEST_F(ConsumeQueueExtTest, HashesAreNoAddresses) {
  EXPECT_FALSE(ConsumeQueueExt::isAddress(INT32_MIN));
  EXPECT_FALSE(ConsumeQueueExt::isAddress(0));
  EXPECT_TRUE(ConsumeQueueExt::isAddress(int64_t{INT32_MIN} - 1));
  EXPECT_TRUE(ConsumeQueueExt::isAddress(INT64_MIN));
}

TEST_F(ConsumeQueueExtTest, AnAddressLeadsToItsTagsCode) {
  write(0, unit(11) + unit(12, 7) + unit(13));
  write(kFileSize, unit(21) + unit(22, 40) + unit(23));
  EXPECT_EQ(at(0), 11);
  EXPECT_EQ(at(20), 12);
  EXPECT_EQ(at(47), 13);
  EXPECT_EQ(at(100), 21);
  EXPECT_EQ(at(120), 22);
  EXPECT_EQ(at(180), 23);  // the last that fits
}

TEST_F(ConsumeQueueExtTest, WhatAWriterAddsIsFound) {
  ConsumeQueueExt ext(queue());
  EXPECT_EQ(ext.tagsCode(addressOf(0)), addressOf(0));
  write(0, unit(11));
  EXPECT_EQ(ext.tagsCode(addressOf(0)), 11);
  EXPECT_EQ(ext.tagsCode(addressOf(100)), addressOf(100));
  write(kFileSize, unit(21));
  EXPECT_EQ(ext.tagsCode(addressOf(100)), 21);
}

TEST_F(ConsumeQueueExtTest, AnAddressBesideTheFilesIsItself) {
  write(0, unit(11));
  for (const int64_t position : {int64_t{20}, int64_t{81}, int64_t{99}, int64_t{100},
                                 int64_t{1} << 40, int64_t{INT32_MIN} - 1 - INT64_MIN}) {
    EXPECT_EQ(at(position), addressOf(position)) << position;
  }
  std::filesystem::remove_all(folder());
  EXPECT_EQ(at(0), addressOf(0));
  for (const char* odd : {"", "3", "/3", "T/3"}) {
    EXPECT_EQ(ConsumeQueueExt(odd).tagsCode(addressOf(0)), addressOf(0)) << odd;
  }
}

TEST_F(ConsumeQueueExtTest, SizesThatCannotBeAreNoUnit) {
  const std::string whole = unit(11, 5);
  const auto with = [&](size_t at, uint16_t number) {
    uint8_t bytes[2];
    store<uint16_t>(bytes, number);
    std::string changed = whole;
    return changed.replace(at, 2, reinterpret_cast<const char*>(bytes), 2);
  };
  for (const uint16_t size : {0, 1, 19, 20, 24, 26, 0x7FFF, 0x8000, 0xFFFF}) {
    write(0, with(0, size));
    EXPECT_EQ(at(0), addressOf(0)) << size;
  }
  for (const uint16_t bitmap : {0, 4, 6, 0x7FFF, 0x8000, 0xFFEC, 0xFFFF}) {
    write(0, with(18, bitmap));
    EXPECT_EQ(at(0), addressOf(0)) << bitmap;
  }
  // A negative length that would make up for a size below the least.
  std::string both = with(0, 19);
  both.replace(18, 2, "\xff\xff");
  write(0, both);
  EXPECT_EQ(at(0), addressOf(0));
}

TEST_F(ConsumeQueueExtTest, AFileOfAnyLengthIsSurvived) {
  const std::string whole = unit(11) + unit(12, 7) + unit(13);
  for (size_t length = 0; length <= whole.size(); ++length) {
    writeFile(file(0), whole.substr(0, length));
    for (const int64_t position : {0, 1, 20, 46, 47, 66}) {
      const int64_t found = at(position);
      const bool whole20 = static_cast<size_t>(position) + 20 <= length;
      if (!whole20) {
        EXPECT_EQ(found, addressOf(position)) << length << " " << position;
      }
    }
    EXPECT_EQ(at(0), length < 20 ? addressOf(0) : 11) << length;
  }
}

TEST_F(ConsumeQueueExtTest, AnyByteMayBeAnyOther) {
  const std::string whole = unit(11) + unit(12, 7) + unit(13);
  for (size_t damaged = 0; damaged < whole.size(); ++damaged) {
    for (const char byte : {'\0', '\xff'}) {
      std::string bytes = whole;
      bytes[damaged] = byte;
      write(0, bytes);
      // Only the tags code itself has no check.
      if (damaged < 2 || damaged >= 10) expectOnly(11, 0, std::to_string(damaged));
      if (damaged < 22 || damaged >= 30) expectOnly(12, 20, std::to_string(damaged));
      if (damaged < 49 || damaged >= 57) expectOnly(13, 47, std::to_string(damaged));
    }
  }
}

TEST_F(ConsumeQueueExtTest, FilesMayBeDirectoriesOfTwoLengthsOrGoneMeanwhile) {
  std::filesystem::create_directories(file(0));
  EXPECT_EQ(at(0), addressOf(0));
  std::filesystem::remove_all(folder());
  writeFile(folder(), "a file in its place");
  EXPECT_EQ(at(0), addressOf(0));
  std::filesystem::remove_all(folder());
  std::filesystem::create_directories(folder());

  write(0, unit(11));
  writeFile(file(kFileSize), std::string(37, 'x'));
  expectOnly(11, 0, "two lengths");
  EXPECT_EQ(at(100), addressOf(100));

  ConsumeQueueExt ext(queue());
  std::filesystem::remove(file(kFileSize));
  EXPECT_EQ(ext.tagsCode(addressOf(0)), 11);
  writeFile(file(0), "short");  // under an open reader
  EXPECT_EQ(ext.tagsCode(addressOf(0)), addressOf(0));
  std::filesystem::remove(file(0));
  EXPECT_EQ(ext.tagsCode(addressOf(200)), addressOf(200));
}

}  // namespace
}  // namespace lmq
