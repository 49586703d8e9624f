#include "core/crc32.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace lmq {
namespace {

constexpr CrcKernel kAllKernels[] = {CrcKernel::kTable, CrcKernel::kClmul128, CrcKernel::kClmul256,
                                     CrcKernel::kClmul512};

uint32_t crcOf(std::string_view text) {
  return crc32(0, reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

uint32_t zlibCrc(uint32_t crc, const uint8_t* data, size_t size) {
  return static_cast<uint32_t>(::crc32(crc, data, static_cast<uInt>(size)));
}

// What a static object of the program gets, before main and in whatever order.
const uint32_t kBeforeMain = crcOf("123456789");

CrcKernel widestKernel() {
  CrcKernel widest = CrcKernel::kTable;
  for (CrcKernel kernel : kAllKernels) {
    if (crc32Supports(kernel)) widest = kernel;
  }
  return widest;
}

std::vector<uint8_t> randomBytes(size_t size) {
  std::mt19937_64 random(size);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// Whole pages between two that must not be touched.
class GuardedPages {
 public:
  explicit GuardedPages(size_t pages)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))), size_(pages * page_) {
    void* mapped = mmap(nullptr, size_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) std::abort();
    begin_ = static_cast<uint8_t*>(mapped) + page_;
    if (mprotect(begin_, size_, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~GuardedPages() { munmap(begin_ - page_, size_ + 2 * page_); }
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  uint8_t* begin() { return begin_; }
  uint8_t* end() { return begin_ + size_; }

 private:
  size_t page_;
  size_t size_;
  uint8_t* begin_;
};

class Crc32Test : public testing::TestWithParam<CrcKernel> {
 protected:
  void SetUp() override {
    if (!forceCrc32Kernel(GetParam())) GTEST_SKIP() << "not on this processor";
    ASSERT_EQ(crc32Kernel(), GetParam());
  }
  void TearDown() override { forceCrc32Kernel(before_); }

 private:
  const CrcKernel before_ = crc32Kernel();
};

INSTANTIATE_TEST_SUITE_P(Kernels, Crc32Test, testing::ValuesIn(kAllKernels),
                         [](const auto& info) { return std::string(crc32KernelName(info.param)); });

TEST_P(Crc32Test, PublishedVectorsHold) {
  EXPECT_EQ(crcOf("123456789"), 0xCBF43926U);
  EXPECT_EQ(crcOf(""), 0U);
  EXPECT_EQ(crcOf("a"), 0xE8B7BE43U);
  EXPECT_EQ(crcOf("abc"), 0x352441C2U);
  EXPECT_EQ(crcOf("Hello"), 0xF7D18982U);
  EXPECT_EQ(crcOf("hello world"), 0x0D4A1185U);
  EXPECT_EQ(crcOf("The quick brown fox jumps over the lazy dog"), 0x414FA339U);
  EXPECT_EQ(crcOf(std::string(32, '\0')), 0x190A55ADU);
  EXPECT_EQ(crcOf(std::string(32, '\xFF')), 0xFF6CAB0BU);
}

TEST_P(Crc32Test, NoDataLeavesTheCrcAsItWas) {
  EXPECT_EQ(crc32(0, nullptr, 0), 0U);
  EXPECT_EQ(crc32(0x12345678, nullptr, 0), 0x12345678U);
}

TEST_P(Crc32Test, EveryLengthAtEveryAlignmentAgreesWithZlib) {
  constexpr size_t kLongest = 4096;
  constexpr size_t kAlignments = 64;
  const std::vector<uint8_t> bytes = randomBytes(kLongest + 2 * kAlignments);
  const uint8_t* aligned = bytes.data();
  while (reinterpret_cast<uintptr_t>(aligned) % kAlignments != 0) aligned++;
  for (size_t alignment = 0; alignment < kAlignments; alignment++) {
    const uint8_t* data = aligned + alignment;
    for (size_t size = 0; size <= kLongest; size++) {
      const auto before = static_cast<uint32_t>(size * 0x9E3779B9);
      ASSERT_EQ(crc32(before, data, size), zlibCrc(before, data, size))
          << size << " bytes at alignment " << alignment;
    }
  }
}

TEST_P(Crc32Test, AMebibyteAgreesWithZlib) {
  const std::vector<uint8_t> bytes = randomBytes((1 << 20) + 7);
  EXPECT_EQ(crc32(0, bytes.data(), bytes.size()), zlibCrc(0, bytes.data(), bytes.size()));
}

TEST_P(Crc32Test, NothingOutsideTheDataIsTouched) {
  GuardedPages pages(1);
  const auto size = static_cast<size_t>(pages.end() - pages.begin());
  const std::vector<uint8_t> bytes = randomBytes(size);
  std::copy(bytes.begin(), bytes.end(), pages.begin());
  for (size_t length = 0; length <= size; length++) {
    const uint8_t* atEnd = pages.end() - length;
    ASSERT_EQ(crc32(0, atEnd, length), zlibCrc(0, atEnd, length)) << length;
    ASSERT_EQ(crc32(0, pages.begin(), length), zlibCrc(0, pages.begin(), length)) << length;
  }
}

TEST_P(Crc32Test, DataNearAPageBoundaryAgreesWithZlib) {
  GuardedPages pages(4);
  const std::vector<uint8_t> bytes = randomBytes(static_cast<size_t>(pages.end() - pages.begin()));
  std::copy(bytes.begin(), bytes.end(), pages.begin());
  const uint8_t* boundary = pages.begin() + sysconf(_SC_PAGESIZE);
  for (const uint8_t* data = boundary - 70; data < boundary + 70; data++) {
    for (size_t size = 0; size < 200; size++) {
      ASSERT_EQ(crc32(1, data, size), zlibCrc(1, data, size)) << data - boundary << " " << size;
    }
  }
}

TEST_P(Crc32Test, PartsChainedGiveTheCrcOfTheWhole) {
  const std::vector<uint8_t> bytes = randomBytes(5000);
  const uint32_t whole = zlibCrc(0, bytes.data(), bytes.size());
  std::mt19937 random(1);
  for (int round = 0; round < 2000; round++) {
    const size_t longest = 1U << random() % 13;
    uint32_t crc = 0;
    for (size_t done = 0; done < bytes.size();) {
      const size_t part = std::min<size_t>(random() % (longest + 1), bytes.size() - done);
      crc = crc32(crc, bytes.data() + done, part);
      done += part;
    }
    ASSERT_EQ(crc, whole) << "parts of at most " << longest;
  }
}

TEST_P(Crc32Test, CombiningGivesTheCrcOfTheConcatenation) {
  const std::vector<uint8_t> bytes = randomBytes(5000);
  const uint32_t whole = zlibCrc(0, bytes.data(), bytes.size());
  for (size_t split = 0; split <= bytes.size(); split++) {
    const size_t rest = bytes.size() - split;
    const uint32_t a = zlibCrc(0, bytes.data(), split);
    const uint32_t b = zlibCrc(0, bytes.data() + split, rest);
    ASSERT_EQ(crc32Combine(a, b, rest), whole) << split;
  }
}

TEST_P(Crc32Test, CombiningOverAnyLengthAgreesWithZlib) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2000; round++) {
    const auto a = static_cast<uint32_t>(random());
    const auto b = static_cast<uint32_t>(random());
    const uint64_t length = random() >> (1 + random() % 63);
    ASSERT_EQ(crc32Combine(a, b, length), crc32_combine(a, b, static_cast<z_off_t>(length)));
  }
}

TEST_P(Crc32Test, JoiningAddsPartsInAnyOrder) {
  const std::vector<uint8_t> bytes = randomBytes(70000);
  std::mt19937 random(3);
  for (int round = 0; round < 500; round++) {
    const size_t size = random() % (1U << random() % 17) + 12;
    const size_t a = random() % (size - 8);
    const size_t b = a + random() % (size - a + 1);
    const uint8_t* data = bytes.data();
    const uint32_t whole = zlibCrc(0, data, size);
    const CrcPart first{zlibCrc(0, data, a), size - a};
    const CrcPart second{zlibCrc(0, data + a, b - a), size - b};
    const CrcPart third{zlibCrc(0, data + b, size - b), 0};
    ASSERT_EQ(crc32Join({first, second, third}), whole) << a << " " << b << " " << size;
    ASSERT_EQ(crc32Join({third, first, second}), whole) << a << " " << b << " " << size;

    // Four bytes that were zeros when the CRC was computed.
    std::vector<uint8_t> gap(data, data + size);
    std::fill_n(gap.begin() + static_cast<std::ptrdiff_t>(a), 4, uint8_t{0});
    const uint32_t word = data[a] | uint32_t{data[a + 1]} << 8 | uint32_t{data[a + 2]} << 16 |
                          uint32_t{data[a + 3]} << 24;
    ASSERT_EQ(crc32Join({{zlibCrc(0, gap.data(), size), 0}, {word, size - a}}), whole) << a;
  }
  EXPECT_EQ(crc32Join({}), 0U);
}

class Crc32CopyTest : public Crc32Test {
 protected:
  // Copies with a few bytes before and behind that must stay.
  static void expectCopied(uint8_t* to, const uint8_t* from, size_t size, size_t margin = 64) {
    std::fill(to - margin, to + size + margin, uint8_t{0xA5});
    const auto before = static_cast<uint32_t>(size * 0x9E3779B9);
    ASSERT_EQ(crc32Copy(before, to, from, size), zlibCrc(before, from, size)) << size;
    ASSERT_TRUE(std::equal(from, from + size, to)) << size;
    const auto untouched = [](uint8_t byte) { return byte == 0xA5; };
    ASSERT_TRUE(std::all_of(to - margin, to, untouched)) << size;
    ASSERT_TRUE(std::all_of(to + size, to + size + margin, untouched)) << size;
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, Crc32CopyTest, testing::ValuesIn(kAllKernels),
                         [](const auto& info) { return std::string(crc32KernelName(info.param)); });

TEST_P(Crc32CopyTest, NoDataIsCopiedFromNowhere) {
  EXPECT_EQ(crc32Copy(0, nullptr, nullptr, 0), 0U);
  EXPECT_EQ(crc32Copy(0x12345678, nullptr, nullptr, 0), 0x12345678U);
}

TEST_P(Crc32CopyTest, EveryLengthIsCopiedAtEveryAlignment) {
  constexpr size_t kLongest = 4096;
  constexpr size_t kAlignments = 64;
  const std::vector<uint8_t> from = randomBytes(kLongest + kAlignments);
  std::vector<uint8_t> to(kLongest + 4 * kAlignments);
  for (size_t size = 0; size <= kLongest; size++) {
    // Short ones at every pair of alignments, long ones at a sample.
    const size_t step = size < 200 ? 1 : 19;
    for (size_t a = size % step; a < kAlignments; a += step) {
      for (size_t b = size / step % step; b < kAlignments; b += step) {
        expectCopied(to.data() + kAlignments + a, from.data() + b, size);
      }
    }
    ASSERT_FALSE(HasFatalFailure()) << size;
  }
}

TEST_P(Crc32CopyTest, NothingOutsideIsTouchedByCopying) {
  GuardedPages source(1);
  GuardedPages target(1);
  const auto size = static_cast<size_t>(source.end() - source.begin());
  const std::vector<uint8_t> bytes = randomBytes(size);
  std::copy(bytes.begin(), bytes.end(), source.begin());
  for (size_t length = 0; length <= size; length++) {
    for (uint8_t* to : {target.begin(), target.end() - length}) {
      expectCopied(to, source.begin(), length, 0);
      expectCopied(to, source.end() - length, length, 0);
    }
    ASSERT_FALSE(HasFatalFailure()) << length;
  }
}

TEST_P(Crc32CopyTest, CopiesNearAPageBoundaryAreRight) {
  GuardedPages pages(4);
  const std::vector<uint8_t> bytes = randomBytes(1000);
  uint8_t* boundary = pages.begin() + sysconf(_SC_PAGESIZE);
  for (uint8_t* to = boundary - 70; to < boundary + 70; to++) {
    for (size_t size = 0; size < 200; size++) expectCopied(to, bytes.data() + 1, size);
    ASSERT_FALSE(HasFatalFailure()) << to - boundary;
  }
}

TEST_P(Crc32CopyTest, PartsCopiedInAChainGiveTheCrcOfTheWhole) {
  const std::vector<uint8_t> from = randomBytes(5000);
  std::vector<uint8_t> to(5000);
  std::mt19937 random(4);
  for (int round = 0; round < 500; round++) {
    const size_t longest = 1U << random() % 13;
    uint32_t crc = 0;
    for (size_t done = 0; done < from.size();) {
      const size_t part = std::min<size_t>(random() % (longest + 1), from.size() - done);
      crc = crc32Copy(crc, to.data() + done, from.data() + done, part);
      done += part;
    }
    ASSERT_EQ(crc, zlibCrc(0, from.data(), from.size())) << longest;
    ASSERT_EQ(from, to);
  }
}

#if !defined(__SANITIZE_THREAD__)  // the race is the point
TEST_P(Crc32CopyTest, DataThatChangesMeanwhileGivesTheCrcOfTheCopy) {
  std::vector<uint8_t> from = randomBytes(2100);
  std::vector<uint8_t> to(from.size());
  std::atomic<bool> done{false};
  std::thread writer([&] {
    volatile uint8_t* bytes = from.data();
    for (size_t i = 0; !done; i = (i + 7) % from.size()) bytes[i] = bytes[i] + 1;
  });
  bool same = true;
  for (size_t i = 0; i < 40000; i++) {
    const size_t size = i % from.size();
    same &= crc32Copy(0, to.data(), from.data(), size) == zlibCrc(0, to.data(), size);
  }
  done = true;
  writer.join();
  EXPECT_TRUE(same);
}
#endif

TEST_P(Crc32Test, AnExplicitKernelNeedsNoForcing) {
  const std::vector<uint8_t> bytes = randomBytes(1255);
  forceCrc32Kernel(CrcKernel::kTable);
  EXPECT_EQ(crc32With(GetParam(), 9, bytes.data(), bytes.size()),
            zlibCrc(9, bytes.data(), bytes.size()));
  EXPECT_EQ(crc32Kernel(), CrcKernel::kTable);
}

TEST(Crc32DispatchTest, StaticObjectsMayComputeCrcs) { EXPECT_EQ(kBeforeMain, 0xCBF43926U); }

TEST(Crc32DispatchTest, TheTableKernelIsAlwaysThere) {
  EXPECT_TRUE(crc32Supports(CrcKernel::kTable));
}

TEST(Crc32DispatchTest, ForcingAnAbsentKernelIsRefusedAndChangesNothing) {
  const CrcKernel before = crc32Kernel();
  bool allPresent = true;
  for (CrcKernel kernel : kAllKernels) {
    if (crc32Supports(kernel)) continue;
    allPresent = false;
    EXPECT_FALSE(forceCrc32Kernel(kernel)) << crc32KernelName(kernel);
    EXPECT_EQ(crc32Kernel(), before);
  }
  if (allPresent) GTEST_SKIP() << "this processor has every kernel";
}

TEST(Crc32DispatchTest, KernelsMayBeSwitchedWhileOthersCompute) {
  const CrcKernel before = crc32Kernel();
  const std::vector<uint8_t> bytes = randomBytes(1255);
  const uint32_t expected = zlibCrc(0, bytes.data(), bytes.size());
  std::atomic<bool> done{false};
  std::thread switcher([&] {
    while (!done) {
      for (CrcKernel kernel : kAllKernels) forceCrc32Kernel(kernel);
    }
  });
  bool same = true;
  for (int i = 0; i < 20000; i++) same &= crc32(0, bytes.data(), bytes.size()) == expected;
  done = true;
  switcher.join();
  forceCrc32Kernel(before);
  EXPECT_TRUE(same);
}

// Each child is this program started anew, so that it chooses its kernel under the variable.
class Crc32EnvironmentDeathTest : public testing::Test {
 protected:
  static void expectKernel(const char* name, CrcKernel kernel) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("LMQ_STORE_CRC_KERNEL", name, 1);
    EXPECT_EXIT(std::_Exit(crc32Kernel() == kernel ? 0 : 1), testing::ExitedWithCode(0), "")
        << name;
    unsetenv("LMQ_STORE_CRC_KERNEL");
  }
};

TEST_F(Crc32EnvironmentDeathTest, TheNamedKernelIsUsedWhereThereIsOne) {
  for (CrcKernel kernel : kAllKernels) {
    expectKernel(crc32KernelName(kernel), crc32Supports(kernel) ? kernel : widestKernel());
  }
}

TEST_F(Crc32EnvironmentDeathTest, AnUnknownNameIsIgnored) {
  expectKernel("", widestKernel());
  expectKernel("clmul", widestKernel());
}

}  // namespace
}  // namespace lmq
