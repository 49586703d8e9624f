// Stores that RocketMQ wrote, damaged at random places of random files from fixed seeds, then read,
// taken over, repaired and written to. Nothing but a Status may come of it: no crash, no read
// beyond a file, no huge allocation, no loop without an end; and a reader changes nothing.
//
// LMQ_DAMAGE_ROUNDS=1000 in the environment does more of it.
#include <stdlib.h>

#include <random>

#include "core/store_verify.h"
#include "store_fixture.h"

#ifdef __SANITIZE_ADDRESS__
// No length that comes from a file is believed: these stores have some kilobytes.
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=256"; }
#endif

namespace lmq {
namespace {

struct Golden {
  const char* name;
  int64_t slots;
  int64_t entries;
};

class GoldenDamageTest : public StoreTest, public testing::WithParamInterface<Golden> {
 protected:
  GoldenDamageTest() : memory_(memoryDirectory()) {
    options_.path = memory_ / "store";
    options_.defaultIndexSlots = GetParam().slots;
    options_.defaultIndexEntries = GetParam().entries;
    options_.adopt = true;
    options_.repair = true;
    options_.checkCrcOnRecover = true;
    random_.seed(20);
    const std::string archive = std::string(LMQ_GOLDEN) + "/" + GetParam().name + "/store.tar.gz";
    const std::string command = "tar -xmzf '" + archive + "' -C '" + memory_.path() + "'";
    EXPECT_EQ(::system(command.c_str()), 0);
  }
  static int rounds() {
    const char* given = ::getenv("LMQ_DAMAGE_ROUNDS");
    return given == nullptr ? 25 : std::atoi(given);
  }
  size_t below(size_t end) { return end == 0 ? 0 : random_() % end; }

  std::vector<std::string> files() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root())) {
      const std::string path = entry.path().string();
      if (entry.is_regular_file() && !path.ends_with("/lock")) files.push_back(path);
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  // The log is one of many files, and of the others each has its turn.
  std::string anyFile() {
    const std::vector<std::string> all = files();
    std::string file = all[below(all.size())];
    if (file.find("/commitlog/") != std::string::npos) file = all[below(all.size())];
    return file;
  }
  // Where there is something, and just behind it.
  uint64_t place(const std::string& path, uint64_t size) {
    Result<File> file = File::open(path, Access::kRead);
    if (!file.ok() || size == 0) return 0;
    const uint64_t at = *file->findNonZero(random_() % 3 == 0 ? below(size) : 0, size);
    return std::min<uint64_t>(size - 1, at + below(random_() % 2 == 0 ? 64 : 4096));
  }
  // What it did, for whoever has to find out why.
  std::string damage() {
    const std::string path = anyFile();
    const std::string short_ = path.substr(root().size() + 1);
    const uint64_t size = std::filesystem::file_size(path);
    const uint64_t at = place(path, size);
    const auto write = [&](std::string bytes) {
      bytes.resize(std::min<uint64_t>(bytes.size(), size - std::min(size, at)));
      if (!bytes.empty()) writeAt(path, at, bytes.data(), bytes.size());
      return short_ + " at " + std::to_string(at) + " " + std::to_string(bytes.size()) + " bytes";
    };
    switch (random_() % 12) {
      case 0:
        std::filesystem::resize_file(path, below(size + 1));
        return short_ + " cut";
      case 1:
        std::filesystem::resize_file(path, size + 1 + below(64));
        return short_ + " grown";
      case 2: {
        const std::string other = anyFile();
        if (other == path) return "nothing";
        std::filesystem::rename(other, path + ".x");
        std::filesystem::rename(path, other);
        std::filesystem::rename(path + ".x", path);
        return short_ + " changed for " + other;
      }
      case 3:
        std::filesystem::remove(path);
        std::filesystem::create_directories(path);
        return short_ + " a directory";
      case 4:
        std::filesystem::remove(path);
        return short_ + " gone";
      case 5:
        return write(std::string(1 + below(200), '\0'));
      case 6:
        return write(std::string(1 + below(30), '\xff'));
      case 7: {
        uint8_t bytes[8];
        const int64_t numbers[] = {INT64_MAX,        INT64_MIN,       -1, 0, INT64_MAX - 20, 1,
                                   int64_t{1} << 53, int64_t{1} << 40};
        lmq::store<int64_t>(bytes, numbers[below(std::size(numbers))]);
        return write(std::string(reinterpret_cast<char*>(bytes), 8));
      }
      case 8: {
        uint8_t bytes[4];
        const int32_t numbers[] = {INT32_MAX, INT32_MIN, -1, 0, 1, 0x7FFF, 0x00FFFFFF};
        lmq::store<int32_t>(bytes, numbers[below(std::size(numbers))]);
        return write(std::string(reinterpret_cast<char*>(bytes), 4));
      }
      default:
        return write(std::string(1, static_cast<char>(random_())));
    }
  }

  // Asks everything of a store. Any answer will do.
  void walkQueue(Store& store, Store::QueueRef queue) {
    Store::Bounds bounds;
    if (!store.bounds(queue, &bounds).ok()) return;
    EXPECT_LE(bounds.min, bounds.max);
    page_.resize(1 << 20);
    Store::Page page;
    Store::ReadRequest request;
    request.queue = queue;
    request.maxBytes = 1 << 20;
    request.page = page_.data();
    request.pageSize = page_.size();
    request.from = bounds.min;
    for (int reads = 0; reads < 200 && request.from < bounds.max; ++reads) {
      if (!store.read(request, &page).ok() || page.nextOffset <= request.from) break;
      request.from = page.nextOffset;
    }
    request.tags = "TagA\1b";
    request.maxMessages = 1000;
    for (const int64_t from : {int64_t{0}, bounds.max - 1, bounds.max, INT64_MAX, INT64_MIN}) {
      request.from = from;
      (void)store.read(request, &page);
    }
    int64_t offset = 0;
    for (const int64_t time : {INT64_MIN, int64_t{0}, kClock, INT64_MAX}) {
      (void)store.offsetAt(queue, time, Store::Bound::kLower, &offset);
      (void)store.offsetAt(queue, time, Store::Bound::kUpper, &offset);
    }
    Store::Times times;
    (void)store.timesOf(queue, &times);
  }
  void walk(Store& store) {
    std::vector<Store::QueueInfo> queues;
    if (store.listQueues(&queues).ok()) {
      for (const Store::QueueInfo& one : queues) {
        const int64_t number = store.findQueue(one.topic, one.queueId);
        if (number >= 0) walkQueue(store, {false, static_cast<uint64_t>(number)});
      }
    }
    uint64_t cursor = 0;
    Texts names;
    store.listLmqs("", &cursor, 1000, &names);
    for (const std::string& name : names) {
      const int64_t number = store.findLmq(name);
      if (number >= 0) walkQueue(store, {true, static_cast<uint64_t>(number)});
    }
    std::vector<int64_t> found;
    for (int32_t hash = 0; hash < 70; ++hash) {
      KeyIndex::Search search;
      search.hash = hash;
      search.end = INT64_MAX;
      for (int steps = 0; steps < 1000 && !search.done; ++steps) {
        if (!store.findByKey(&search, &found).ok()) break;
      }
    }
    int64_t from = -1;
    do {
      if (!store.findInLog(1, &from, &found).ok()) break;
    } while (from >= 0);
    int64_t time = 0;
    (void)store.earliestTime(&time);
    Store::Page page;
    for (const int64_t at : found) {
      (void)store.readAt(at, true, page_.data(), page_.size(), &page);
    }
    StoreVerify verify(store);
    StoreVerify::Progress progress;
    for (int steps = 0; !progress.done && verify.step(&progress).ok(); ++steps) {
      ASSERT_LT(steps, 10000);
    }
    std::vector<ConsumerOffsets::Offset> offsets;
    uint64_t at = 0;
    EXPECT_FALSE(store.offsets().list(&at, 1 << 20, &offsets));
  }
  // The code of a refusal, or "".
  std::string lives(bool readOnly) {
    options_.readOnly = readOnly;
    Status status;
    std::unique_ptr<Store> store = tryOpen(&status);
    options_.readOnly = false;
    if (store == nullptr) {
      EXPECT_NE(status.code(), Code::kInternal) << status.facts().message;
      EXPECT_FALSE(status.facts().message.empty());
      return codeText(status.code());
    }
    walk(*store);
    if (readOnly) {
      (void)store->refresh().ok();
      return "";
    }
    const Result<Store::Appended> stored = append(*store, {"new", {"%LMQ%a"}, "TagA", "New"});
    if (stored.ok()) {
      EXPECT_EQ(messages(*store, "New").back().substr(1), ":new");
      (void)store->commitOffset("g", "New", 0, 1);
    }
    RetentionRequest request;
    request.beforeOffset = store->logEnd() / 2;
    Store::Retained out;
    (void)store->retain(request, &out);
    (void)store->close();
    return "";
  }
  // Damages copies of what is in the store's directory now.
  void damageCopies() {
    const std::string start = memory_ / "start";
    copyTree(root(), start);
    std::map<std::string, int> outcomes;
    for (int round = 0; round < rounds(); ++round) {
      copyTree(start, root());
      std::string what;
      for (size_t times = 1 + below(4); times > 0; --times) what += "\n  " + damage();
      SCOPED_TRACE("round " + std::to_string(round) + what);
      const Tree before = treeOf(root(), false);
      ++outcomes["reader " + lives(true)];
      ASSERT_EQ(treeOf(root(), false), before);
      ++outcomes["writer " + lives(false)];
      ++outcomes["again " + lives(false)];
      if (HasFailure()) return;
    }
    // Most damage is no reason to refuse.
    EXPECT_GE(2 * outcomes["writer "], rounds());
    for (const auto& [outcome, times] : outcomes) RecordProperty(outcome, times);
  }

  const TempDirectory memory_;
  std::mt19937 random_;
};

TEST_P(GoldenDamageTest, AsTheBrokerLeftIt) { damageCopies(); }

TEST_P(GoldenDamageTest, AsWeClosedIt) {
  {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < 40; ++i) {
      put(*store, {std::to_string(i), {"%LMQ%a", "%LMQ%" + std::to_string(i % 7)}});
      (void)store->commitOffset("g" + std::to_string(i % 3), "T", 0, i);
    }
    ASSERT_TRUE(succeeded(store->close()));
  }
  damageCopies();
}

TEST_P(GoldenDamageTest, AsAKillOfOursLeftIt) {
  {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < 40; ++i) {
      if (i == 20) {
        ASSERT_TRUE(succeeded(store->flush()));
      }
      put(*store, {std::to_string(i), {"%LMQ%a", "%LMQ%" + std::to_string(i % 7)}});
      (void)store->commitOffset("g" + std::to_string(i % 3), "T", 0, i);
    }
  }
  damageCopies();
}

// Index numbers: maxHashSlotNum and maxIndexNum that the store was written with.
INSTANTIATE_TEST_SUITE_P(, GoldenDamageTest,
                         testing::Values(Golden{"cq-ext", 64, 512}, Golden{"inner-batch", 64, 512},
                                         Golden{"index-chains", 8, 20}, Golden{"roll", 64, 512},
                                         Golden{"killed", 64, 512}, Golden{"expired", 8, 20}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace lmq
