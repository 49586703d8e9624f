// Records that are not put together in one piece: large bodies, long topics and properties.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "core/crc32.h"
#include "core/record.h"
#include "record_fixture.h"

namespace lmq::record {
namespace {

constexpr Check kStrict{.requireCrc = true};

std::string randomText(size_t size) {
  std::mt19937 random(static_cast<uint32_t>(size));
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>('a' + random() % 26);
  return text;
}

class LargeRecordTest : public testing::TestWithParam<CrcKernel> {
 protected:
  void SetUp() override {
    if (!forceCrc32Kernel(GetParam())) GTEST_SKIP() << "not on this processor";
  }
  void TearDown() override { forceCrc32Kernel(before_); }

  // With the CRC property a record is gathered in pieces, without it is written at once: but for
  // the property and the lengths both must be the same.
  static void expectRight(const Message& message, const DispatchPart& dispatch = {}) {
    const Bytes bytes = build(message, true, specStamp(5, 4096), dispatch);
    const Bytes plain = build(message, false, specStamp(5, 4096), dispatch);
    ASSERT_GT(bytes.size(), 20u);
    ASSERT_EQ(checkBytes(bytes, kStrict), Verdict::kRecord);
    View view;
    ASSERT_EQ(checkBytes(plain, {}, &view), Verdict::kRecord);
    Bytes covered = firstBytes(bytes, plain.size());
    std::copy_n(plain.begin(), 4, covered.begin());
    const auto length = static_cast<std::ptrdiff_t>(view.propertiesAt - 2);
    std::copy_n(plain.begin() + length, 2, covered.begin() + length);
    EXPECT_EQ(covered, plain);
    const uint32_t crc = crc32With(CrcKernel::kTable, 0, bytes.data(), bytes.size() - 20);
    std::string digits = std::to_string(crc & 0x7FFFFFFF);
    std::reverse(digits.begin(), digits.end());
    digits.resize(10, '0');
    EXPECT_EQ(std::string(bytes.end() - 11, bytes.end() - 1), digits);
  }

 private:
  const CrcKernel before_ = crc32Kernel();
};

INSTANTIATE_TEST_SUITE_P(Kernels, LargeRecordTest,
                         testing::Values(CrcKernel::kTable, CrcKernel::kClmul128,
                                         CrcKernel::kClmul256, CrcKernel::kClmul512),
                         [](const auto& info) { return std::string(crc32KernelName(info.param)); });

TEST_P(LargeRecordTest, BodiesOfEverySizeAroundTheLimits) {
  const std::string body = randomText(1200);
  Message message = specMessage();
  message.propertiesHead = "KEYS\1k1\2";
  for (size_t size = 0; size <= body.size(); ++size) {
    message.body = std::string_view(body).substr(0, size);
    expectRight(message);
    ASSERT_FALSE(HasFailure()) << size;
  }
}

TEST_P(LargeRecordTest, HostsOfEverySize) {
  const std::string body = randomText(2000);
  Message message = specMessage();
  message.body = body;
  message.bornHost = ipv6(0x20010db8, 1, 1);
  expectRight(message);
  message.storeHost = ipv6(0x20010db8, 2, 2);
  expectRight(message);
}

TEST_P(LargeRecordTest, TailsOfEveryLength) {
  const std::string long1 = "a\1" + randomText(32000);
  const std::string names = "%LMQ%" + randomText(700);
  const std::string topic = randomText(600);
  const int64_t offsets[] = {7, -1, 9223372036854775807, 0, 100};
  for (const size_t bodySize : {0, 700}) {
    const std::string body = randomText(bodySize);
    for (const size_t topicSize : {1, 127, 255, 300, 600}) {
      for (const size_t head : {0, 3, 100, 200, 255, 256, 257, 400, 500, 512, 600, 5000, 31000}) {
        for (const size_t tail : {0, 3, 150, 256, 300, 700}) {
          Message message = specMessage();
          message.body = body;
          message.topic = std::string_view(topic).substr(0, topicSize);
          message.propertiesHead = std::string_view(long1).substr(0, head);
          message.propertiesTail = std::string_view(long1).substr(0, tail);
          expectRight(message);
          DispatchPart dispatch;
          dispatch.names = std::string_view(names).substr(0, 6 + (head + tail) % 690);
          dispatch.offsets = offsets;
          dispatch.count = 5;
          dispatch.present = true;
          expectRight(message, dispatch);
          ASSERT_FALSE(HasFailure()) << topicSize << " " << head << " " << tail;
        }
      }
    }
  }
}

TEST_P(LargeRecordTest, ManyOffsets) {
  std::mt19937_64 random(1);
  std::vector<int64_t> offsets(1000);
  for (int64_t& offset : offsets) offset = static_cast<int64_t>(random()) >> random() % 64;
  DispatchPart dispatch;
  dispatch.offsets = offsets.data();
  dispatch.present = true;
  const std::string body = randomText(600);
  Message message = specMessage();
  message.body = body;
  for (dispatch.count = 0; dispatch.count < offsets.size(); dispatch.count += 7) {
    expectRight(message, dispatch);
    ASSERT_FALSE(HasFailure()) << dispatch.count;
  }
}

// check() joins the CRCs of a large record's parts: damage must show in each of them.
TEST_P(LargeRecordTest, DamageOfAnyByteIsNoticed) {
  for (const size_t size : {511, 512, 700, 3000}) {
    const std::string body = randomText(size);
    Message message = specMessage();
    message.body = body;
    message.propertiesHead = "KEYS\1k1\2TAGS\1TagA\2";
    Bytes bytes = build(message, true);
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] ^= 0x10;
      EXPECT_NE(checkBytes(bytes, kStrict), Verdict::kRecord) << i;
      bytes[i] ^= 0x10;
    }
    ASSERT_EQ(checkBytes(bytes, kStrict), Verdict::kRecord);
  }
}

#if !defined(__SANITIZE_THREAD__)  // the race is the point
TEST_P(LargeRecordTest, ABodyThatChangesMeanwhileGivesARightRecord) {
  std::string body = randomText(1500);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    volatile char* bytes = body.data();
    for (size_t i = 0; !done; i = (i + 7) % body.size()) bytes[i] = static_cast<char>(bytes[i] + 1);
  });
  Message message = specMessage();
  message.body = body;
  int wrong = 0;
  for (int i = 0; i < 20000; ++i)
    wrong += checkBytes(build(message, true), kStrict) != Verdict::kRecord;
  done = true;
  writer.join();
  EXPECT_EQ(wrong, 0);
}
#endif

}  // namespace
}  // namespace lmq::record
