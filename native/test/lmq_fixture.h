// Light queues as plain vectors, to compare the index with.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/lmq_index.h"
#include "temp_directory.h"

namespace lmq {

inline bool operator==(const PlacedUnit& a, const PlacedUnit& b) {
  return a.queueOffset == b.queueOffset && a.unit.physicalOffset == b.unit.physicalOffset &&
         a.unit.size == b.unit.size && a.unit.tagsCode == b.unit.tagsCode;
}

inline std::ostream& operator<<(std::ostream& out, const PlacedUnit& placed) {
  return out << placed.queueOffset << "@" << placed.unit.physicalOffset << "+" << placed.unit.size;
}

using Units = std::vector<PlacedUnit>;

// What units() of a queue must give.
inline Units expectedUnits(const Units& all, int64_t from, size_t max) {
  Units expected;
  if (max == 0) return expected;
  from = std::max<int64_t>(from, 0);
  for (const PlacedUnit& placed : all) {
    if (placed.queueOffset < from) continue;
    const bool inRange = static_cast<uint64_t>(placed.queueOffset - from) < max;
    if (!inRange && !expected.empty()) break;
    expected.push_back(placed);
    if (!inRange) break;
  }
  return expected;
}

class LmqModel {
 public:
  struct Queue {
    std::string name;
    Units units;
    int64_t next = 0;
  };

  explicit LmqModel(uint64_t seed = 1) : random_(seed) {}

  std::vector<Queue> queues;
  int64_t logEnd = 0;
  uint64_t entries = 0;

  uint64_t below(uint64_t limit) { return random_() % limit; }

  // Adds an entry at the queue's next offset + `gap`, for the next record of the log.
  void add(LmqIndex& index, uint64_t queue, int64_t gap = 0) {
    Queue& model = queues[queue];
    PlacedUnit placed;
    placed.queueOffset = model.next + gap;
    placed.unit = {logEnd, static_cast<int32_t>(100 + below(1000)),
                   static_cast<int64_t>(random_())};
    ASSERT_TRUE(succeeded(index.reserve(1, 0, 0)));
    ASSERT_TRUE(succeeded(index.add(queue, placed)));
    logEnd += placed.unit.size;
    model.units.push_back(placed);
    model.next = placed.queueOffset + 1;
    entries++;
  }

  void create(LmqIndex& index, const std::string& name) {
    ASSERT_TRUE(succeeded(index.reserve(0, 1, name.size())));
    Result<uint64_t> queue = index.create(name);
    ASSERT_TRUE(succeeded(queue.status()));
    ASSERT_EQ(*queue, queues.size());
    queues.push_back({name, {}, 0});
  }

  // Any of `queueCount` queues, with gaps now and then; creates them as they come.
  void grow(LmqIndex& index, size_t count, uint64_t queueCount) {
    for (size_t i = 0; i < count; i++) {
      uint64_t queue = below(queueCount);
      if (queue >= queues.size()) {
        queue = queues.size();
        create(index, "%LMQ%queue/" + std::to_string(queue * 7919));
      }
      add(index, queue, below(10) == 0 ? static_cast<int64_t>(below(50)) : 0);
    }
  }

  // The state when only the first `count` entries had been added. Names stay.
  LmqModel cutTo(const std::vector<std::pair<uint64_t, PlacedUnit>>& all, uint64_t count) const {
    LmqModel cut;
    for (const Queue& queue : queues) cut.queues.push_back({queue.name, {}, 0});
    for (uint64_t i = 0; i < count; i++) {
      Queue& queue = cut.queues[all[i].first];
      queue.units.push_back(all[i].second);
      queue.next = all[i].second.queueOffset + 1;
    }
    cut.entries = count;
    cut.logEnd = count == 0
                     ? 0
                     : all[count - 1].second.unit.physicalOffset + all[count - 1].second.unit.size;
    return cut;
  }

  // Every entry in the order in which it was added: that of the log.
  std::vector<std::pair<uint64_t, PlacedUnit>> inOrder() const {
    std::vector<std::pair<uint64_t, PlacedUnit>> all;
    for (uint64_t queue = 0; queue < queues.size(); queue++) {
      for (const PlacedUnit& placed : queues[queue].units) all.emplace_back(queue, placed);
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.second.unit.physicalOffset < b.second.unit.physicalOffset;
    });
    return all;
  }

  void expectUnits(const LmqIndex& index, uint64_t queue, int64_t from, size_t max) const {
    Units found(max + 1);
    size_t count = 0;
    ASSERT_TRUE(succeeded(index.units(queue, from, max, found.data(), &count)));
    found.resize(count);
    ASSERT_EQ(found, expectedUnits(queues[queue].units, from, max))
        << "queue " << queue << " from " << from << " max " << max;
  }

  void expectMinimum(const LmqIndex& index, uint64_t queue, int64_t logMin) const {
    const Queue& model = queues[queue];
    int64_t expected = model.next;
    for (const PlacedUnit& placed : model.units) {
      if (placed.unit.physicalOffset < logMin) continue;
      expected = placed.queueOffset;
      break;
    }
    ASSERT_EQ(index.minOffset(queue, logMin), expected) << "queue " << queue << " of " << logMin;
  }

  // Looks at every queue, with `probes` random questions for each.
  void expectSame(const LmqIndex& index, int probes = 4) {
    ASSERT_EQ(index.queueCount(), queues.size());
    ASSERT_EQ(index.entryCount(), entries);
    for (uint64_t queue = 0; queue < queues.size(); queue++) {
      const Queue& model = queues[queue];
      ASSERT_EQ(index.find(model.name), queue);
      ASSERT_EQ(index.nameOf(queue), model.name);
      ASSERT_EQ(index.nextOffset(queue), model.next);
      ASSERT_EQ(*index.lastPhysicalOffset(queue),
                model.units.empty() ? -1 : model.units.back().unit.physicalOffset);
      expectMinimum(index, queue, 0);
      expectMinimum(index, queue, logEnd + 1);
      for (int i = 0; i < probes; i++) {
        const uint64_t range = static_cast<uint64_t>(model.next) + 20;
        expectUnits(index, queue, static_cast<int64_t>(below(range)), below(64));
        expectMinimum(index, queue, static_cast<int64_t>(below(logEnd + 1)));
      }
    }
  }

 private:
  std::mt19937_64 random_;
};

class LmqIndexTest : public testing::Test {
 protected:
  LmqIndex::Options options(Access access = Access::kWrite) const {
    LmqIndex::Options options;
    options.directory = directory_ / "lmq";
    options.workDirectory = directory_ / "work";
    options.access = access;
    return options;
  }

  // Opened as a store does after readSnapshot().
  static Status load(LmqIndex& index, int64_t logEnd = INT64_MAX, uint64_t leastEntries = 0) {
    Result<LmqIndex::Snapshot> snapshot = index.readSnapshot();
    if (!snapshot.ok()) return snapshot.takeStatus();
    return index.load(*snapshot, logEnd, leastEntries);
  }

  static void atOnce(const std::function<void()>& run) { run(); }

  std::string entriesFile(uint64_t number = 0) const {
    return directory_ / ("lmq/entries/" + fileNameOf(number * LmqEntry::kFileSize));
  }
  std::string namesFile(uint64_t number = 0) const {
    return directory_ / ("lmq/names/" + fileNameOf(number * kNamesFileSize));
  }
  std::string tableFile() const { return directory_ / "lmq/table"; }

  // The first bytes of a file, which may be large.
  static std::string headOf(const std::string& path, size_t length) {
    std::string head(length, '\0');
    Result<File> file = File::open(path, Access::kRead);
    EXPECT_TRUE(succeeded(file.status()));
    EXPECT_TRUE(succeeded(file->readAt(0, head.data(), length)));
    return head;
  }

  static void overwrite(const std::string& path, uint64_t at, const std::string& bytes) {
    Result<File> file = File::open(path, Access::kWrite);
    ASSERT_TRUE(succeeded(file.status()));
    ASSERT_TRUE(succeeded(file->writeAt(at, bytes.data(), bytes.size())));
  }

  TempDirectory directory_;
};

}  // namespace lmq
