// Copies of a store, step by step: their border, what a file system may do to them, and what a
// failure leaves.
#include "core/exporter.h"

#include <sys/stat.h>

#include "store_fixture.h"
#include "system_calls.h"

namespace lmq {
namespace {

#ifdef __linux__
// What the system answers to a wish to share blocks: 0 as it is, else an errno; `shared` calls are
// let through before it.
int cannotShare = 0;
int shared = 0;
#endif

class ExporterTest : public StoreTest {
 protected:
  static constexpr Exporter::Kind kSnapshot = Exporter::Kind::kSnapshot;
  static constexpr Exporter::Kind kBroker = Exporter::Kind::kBroker;
  static constexpr Exporter::Kind kInPlace = Exporter::Kind::kInPlace;

  std::string copy_ = directory_ / "copy";
  Exporter::Progress progress_;

  void SetUp() override { std::filesystem::create_directories(copy_); }

  // All steps that are left.
  Status finish(Exporter& exporter) {
    do LMQ_TRY(exporter.step(&progress_));
    while (!progress_.done);
    return {};
  }
  Status copyOf(Store& store, Exporter::Kind kind) {
    std::filesystem::remove_all(copy_);
    std::filesystem::create_directories(copy_);
    Exporter exporter(store, kind, copy_);
    return finish(exporter);
  }
  // A store over the copy: as ours, or adopted.
  std::unique_ptr<Store> openCopy(Exporter::Kind kind) {
    const std::string before = std::exchange(options_.path, copy_);
    options_.adopt = kind == kBroker;
    std::unique_ptr<Store> store = open();
    options_.path = before;
    options_.adopt = false;
    return store;
  }
  void fillStore(Store& store, int count, int first = 0) {
    for (int i = first; i < first + count; ++i) {
      put(store, {"m" + std::to_string(i), {"%LMQ%a", "%LMQ%n" + std::to_string(i % 3)}});
    }
  }
  static uint64_t blocksOf(const std::string& path) {
    struct stat facts = {};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
    return static_cast<uint64_t>(facts.st_blocks) * 512;
  }
  int64_t troubles(const std::string& kind) const {
    for (const auto& one : progress_.troubles) {
      if (kind == one.kind) return one.count;
    }
    return 0;
  }
};

TEST_F(ExporterTest, ACopyEndsAtTheBorderThatItBeganWith) {
  for (const Exporter::Kind kind : {kSnapshot, kBroker}) {
    SetUp();
    std::unique_ptr<Store> store = open();
    fillStore(*store, 50);
    const Texts before = messages(*store);
    const Texts light = messages(*store, "%LMQ%a");
    const int64_t border = store->logEnd();
    {
      Exporter exporter(*store, kind, copy_);
      for (int step = 0;; ++step) {
        ASSERT_TRUE(succeeded(exporter.step(&progress_)));
        if (progress_.done) break;
        // Between any two steps: more of the same queues, and new ones.
        fillStore(*store, 20, 1000);
        put(*store, {"new", {"%LMQ%new" + std::to_string(step)}});
        put(*store, {"new", {}, "", "U" + std::to_string(step)});
      }
    }
    EXPECT_EQ(progress_.logEnd, border);
    const uint64_t base = static_cast<uint64_t>(border) / kLogSize * kLogSize;
    const std::string tail =
        contentOf(copy_ + "/commitlog/" + fileNameOf(base)).substr(border - base);
    EXPECT_EQ(tail, std::string(tail.size(), '\0'));
    std::unique_ptr<Store> opened = openCopy(kind);
    EXPECT_EQ(opened->logEnd(), border);
    EXPECT_EQ(messages(*opened), before);
    EXPECT_EQ(messages(*opened, "%LMQ%a"), light);
    EXPECT_TRUE(messages(*opened, "%LMQ%new0").empty());
    store.reset();
    opened.reset();
    std::filesystem::remove_all(root());
    std::filesystem::remove_all(copy_);
  }
}

TEST_F(ExporterTest, OffsetsAreOfTheBorderAndInOrder) {
  std::unique_ptr<Store> store = open();
  fillStore(*store, 10);
  put(*store, {"m", {}, "", "U", 1});
  const auto commit = [&](const char* group, const char* topic, int32_t queueId, int64_t offset) {
    EXPECT_TRUE(succeeded(store->commitOffset(group, topic, queueId, offset)));
  };
  commit("%LMQ%g", "%LMQ%a", 0, 3);
  commit("g", "U", 1, 1);
  commit("g", "T", 0, 10);
  commit("h", "U", 1, 0);
  commit("g", "%LMQ%a", 0, 9);
  commit("g", "U", 0, 0);  // of a queue that is not there
  for (const Exporter::Kind kind : {kBroker, kInPlace}) {
    Exporter exporter(*store, kind, copy_);
    ASSERT_TRUE(succeeded(exporter.step(&progress_)));
    if (kind == kBroker) {
      fillStore(*store, 5);
      commit("g", "T", 0, 15);
      commit("late", "T", 0, 1);
    }
    ASSERT_TRUE(succeeded(finish(exporter)));
    Texts found;
    std::vector<ConsumerOffsets::Offset> page;
    uint64_t cursor = 0;
    for (bool more = true; more; page.clear()) {
      more = exporter.offsets().list(&cursor, 2, &page);
      for (const auto& one : page) {
        found.push_back(one.group + " " + one.topic + ":" + std::to_string(one.queueId) + " " +
                        std::to_string(one.offset));
      }
    }
    // Pairs of a topic and group together, light groups last.
    const Texts expected =
        kind == kBroker
            ? Texts{"g U:0 0", "g U:1 1", "h U:1 0", "g T:0 10", "g %LMQ%a:0 9"}
            : Texts{"g U:0 0", "g U:1 1", "h U:1 0", "g T:0 15", "late T:0 1", "g %LMQ%a:0 9"};
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.back(), "%LMQ%g %LMQ%a:0 3");
    found.pop_back();
    Texts sorted = found;
    Texts wanted = expected;
    std::sort(sorted.begin(), sorted.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(sorted, wanted);
    const auto at = [&](const std::string& one) {
      return std::find(found.begin(), found.end(), one) - found.begin();
    };
    EXPECT_EQ(at("g U:1 1"), at("g U:0 0") + 1);
    EXPECT_EQ(troubles("offsetAhead"), 0);
  }
}

TEST_F(ExporterTest, HolesStayHoles) {
  options_.defaultCommitLogSize = 64 << 20;
  std::unique_ptr<Store> store = open();
  fillStore(*store, 3);
  // Another file that is copied as it is: data between two holes.
  std::filesystem::create_directories(*this / "config");
  const std::string sparse = *this / "config/sparse";
  {
    Result<File> file = File::create(sparse);
    ASSERT_TRUE(succeeded(file.status()));
    ASSERT_TRUE(succeeded(file->resize(64 << 20)));
    ASSERT_TRUE(succeeded(file->writeAt(20000001, "data", 4)));
  }
  for (const Exporter::Kind kind : {kSnapshot, kBroker}) {
    ASSERT_TRUE(succeeded(copyOf(*store, kind)));
    const std::string log = copy_ + "/commitlog/" + fileNameOf(0);
    for (const std::string& path : {log, copy_ + "/config/sparse"}) {
      EXPECT_EQ(std::filesystem::file_size(path), uint64_t{64} << 20) << path;
      EXPECT_LT(blocksOf(path), uint64_t{4} << 20) << path;
    }
    EXPECT_EQ(checksumOf(copy_ + "/config/sparse", 64 << 20), checksumOf(sparse, 64 << 20));
    EXPECT_EQ(messages(*openCopy(kind), "%LMQ%a").size(), 3u);
  }
}

TEST_F(ExporterTest, AGapInALightQueueIsFilledWithBlankUnits) {
  Put message{"m", {"%LMQ%a"}};
  std::filesystem::create_directories(*this / "commitlog");
  writeFile(logFile(), std::string(kLogSize, '\0'));
  int64_t at = 0;
  std::vector<int64_t> positions;
  const std::vector<int64_t> offsets = {0, 1, 5};
  for (size_t i = 0; i < offsets.size(); ++i) {
    const Record record = recordAt(at, static_cast<int64_t>(i), message, {offsets[i]});
    writeAt(logFile(), static_cast<uint64_t>(at), record.data(), record.size());
    positions.push_back(at);
    at += static_cast<int64_t>(record.size());
  }
  const int32_t size = static_cast<int32_t>(positions[1]);
  options_.adopt = true;
  std::unique_ptr<Store> store = open();
  options_.adopt = false;
  ASSERT_TRUE(succeeded(copyOf(*store, kBroker)));
  EXPECT_EQ(troubles("gap"), 1);
  const std::string units = contentOf(copy_ + "/consumequeue/%LMQ%a/0/" + fileNameOf(0));
  const std::string blank = unitBytes(0, ConsumeQueue::kBlankSize);
  EXPECT_EQ(units.substr(0, 7 * 20), unitBytes(0, size) + unitBytes(positions[1], size) + blank +
                                         blank + blank + unitBytes(positions[2], size) +
                                         std::string(20, '\0'));
  std::unique_ptr<Store> adopted = openCopy(kBroker);
  EXPECT_EQ(messages(*adopted, "%LMQ%a"), (Texts{"0:m", "1:m", "5:m"}));
}

TEST_F(ExporterTest, ADiskThatFillsIsNamedAndTheStoreGoesOn) {
  const SmallDisk disk("size=256k");
  if (!disk.isMounted()) GTEST_SKIP() << "may not mount";
  std::unique_ptr<Store> store = open();
  for (int i = 0; i < 200; ++i) put(*store, {std::string(3000, 'b'), {"%LMQ%a"}});
  for (const Exporter::Kind kind : {kSnapshot, kBroker}) {
    const std::string target = disk / "copy";
    std::filesystem::create_directories(target);
    Exporter exporter(*store, kind, target);
    EXPECT_EQ(finish(exporter).code(), Code::kDiskFull);
    EXPECT_FALSE(std::filesystem::exists(target + "/lmq-store.json"));
    std::filesystem::remove_all(target);
  }
  put(*store, {"more", {"%LMQ%a"}});
  ASSERT_TRUE(succeeded(copyOf(*store, kBroker)));
  EXPECT_EQ(progress_.records, 201);
}

#ifdef __linux__
TEST_F(ExporterTest, WhereBlocksCannotBeSharedTheyAreCopied) {
  std::unique_ptr<Store> store = open();
  fillStore(*store, 100);
  const Texts expected = messages(*store, "%LMQ%a");
  for (const int error : {ENOSYS, EXDEV, EOPNOTSUPP, EINVAL, EPERM}) {
    for (const int before : {0, 2}) {  // some files are shared, one is not
      for (const Exporter::Kind kind : {kSnapshot, kBroker}) {
        cannotShare = error;
        shared = before;
        const Status status = copyOf(*store, kind);
        cannotShare = 0;
        ASSERT_TRUE(succeeded(status)) << error;
        EXPECT_EQ(messages(*openCopy(kind), "%LMQ%a"), expected) << error;
      }
    }
  }
}

TEST_F(ExporterTest, AnErrorWhileCopyingIsNamedWithItsFile) {
  std::unique_ptr<Store> store = open();
  fillStore(*store, 100);
  cannotShare = EIO;
  const Status status = copyOf(*store, kBroker);
  cannotShare = 0;
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_TRUE(status.facts().path.starts_with(*this / "commitlog/")) << status.facts().path;
  EXPECT_TRUE(succeeded(copyOf(*store, kBroker)));
}

// Every call that changes a file fails once: in place, what is there afterwards is a whole export
// or one that the next makes whole, and the store has lost nothing.
TEST_F(ExporterTest, AFailureAnywhereInPlaceIsMadeGoodByTheNext) {
  std::unique_ptr<Store> store = open();
  fillStore(*store, 30);
  const Texts expected = messages(*store, "%LMQ%a");
  int met = 0;
  for (int n = 1;; ++n) {
    std::filesystem::remove_all(*this / "consumequeue/%LMQ%a");
    Exporter exporter(*store, kInPlace, "");
    ASSERT_TRUE(succeeded(exporter.step(&progress_)));  // what it syncs first is the store's
    Status status;
    {
      const calls::Met failing(calls::kWrite | calls::kName | calls::kHere, n);
      status = finish(exporter);
    }
    if (!calls::wasMet()) break;
    ++met;
    EXPECT_EQ(messages(*store, "%LMQ%a"), expected) << n;
    Exporter again(*store, kInPlace, "");
    ASSERT_TRUE(succeeded(finish(again))) << n;
    EXPECT_EQ(progress_.lightQueues, 4) << n;
    const std::string units = contentOf(queueFile(0, "%LMQ%a/0"));
    size_t count = 0;
    while (units.substr(count * 20, 20) != std::string(20, '\0')) ++count;
    EXPECT_EQ(count, 30u) << n;
  }
  EXPECT_GT(met, 3);
}

// A copy fails as a whole: whoever began it removes it.
TEST_F(ExporterTest, AFailureAnywhereInACopyIsTold) {
  std::unique_ptr<Store> store = open();
  fillStore(*store, 30);
  ASSERT_TRUE(succeeded(store->flush()));
  for (const Exporter::Kind kind : {kSnapshot, kBroker}) {
    int met = 0;
    for (int n = 1;; ++n) {
      std::filesystem::remove_all(copy_);
      std::filesystem::create_directories(copy_);
      Exporter exporter(*store, kind, copy_);
      Status status = exporter.step(&progress_);
      ASSERT_TRUE(succeeded(status));
      {
        const calls::Met failing(calls::kWrite | calls::kName | calls::kHere, n);
        status = finish(exporter);
      }
      if (!calls::wasMet()) break;
      ++met;
      // Where blocks cannot be promised a file is written by position: then nothing is missing.
      if (status.ok()) {
        EXPECT_EQ(messages(*openCopy(kind), "%LMQ%a").size(), 30u) << n;
      }
    }
    EXPECT_GT(met, 3);
  }
}

TEST_F(ExporterTest, ARecordThatWaitsForItsDispatchIsInTheExport) {
  const PositionalWrites positional;
  int faults = 0;
  listener_.fault = [&](const Status&) { ++faults; };
  for (const Exporter::Kind kind : {kBroker, kInPlace, kSnapshot}) {
    std::unique_ptr<Store> store = open();
    fillStore(*store, 5);
    faults = 0;
    {
      // Two writes are the record's: the third is the first of its queues.
      const calls::Met failing(calls::kWrite | calls::kHere, 3);
      put(*store, {"waits", {"%LMQ%a"}});
    }
    ASSERT_EQ(faults, 1);
    ASSERT_TRUE(succeeded(copyOf(*store, kind)));
    if (kind == kInPlace) {
      EXPECT_EQ(contentOf(queueFile(0, "%LMQ%a/0")).substr(6 * 20),
                std::string(kQueueSize - 120, '\0'));
      EXPECT_NE(contentOf(queueFile(0, "%LMQ%a/0")).substr(5 * 20, 20), std::string(20, '\0'));
    } else {
      EXPECT_EQ(messages(*openCopy(kind), "%LMQ%a").back(), "5:waits");
      EXPECT_EQ(messages(*openCopy(kind)).back(), "5:waits");
    }
    store.reset();
    std::filesystem::remove_all(root());
  }
}

TEST_F(ExporterTest, ADispatchThatStillFailsRefusesTheExport) {
  const PositionalWrites positional;
  std::unique_ptr<Store> store = open();
  fillStore(*store, 5);
  ASSERT_TRUE(succeeded(store->flush()));
  {
    const calls::Met failing(calls::kWrite | calls::kHere, 3);
    put(*store, {"waits", {"%LMQ%a"}});
  }
  ASSERT_TRUE(succeeded(store->flush()));
  {
    // One write is the sync's note; then the dispatch is tried again.
    const calls::Met failing(calls::kWrite | calls::kHere, 2, calls::Action::kFail, calls::kAlways);
    Exporter exporter(*store, kBroker, copy_);
    EXPECT_FALSE(finish(exporter).ok());
    EXPECT_TRUE(calls::wasMet());
    EXPECT_TRUE(TempDirectory::namesIn(copy_).empty());
  }
}
#endif

}  // namespace
}  // namespace lmq

#ifdef __linux__
extern "C" ssize_t copy_file_range(int from, off_t* at, int to, off_t* target, size_t length,
                                   unsigned flags) {
  if (lmq::cannotShare != 0 && lmq::shared-- <= 0) {
    errno = lmq::cannotShare;
    return -1;
  }
  return ::syscall(SYS_copy_file_range, from, at, to, target, length, flags);
}
#endif
