// A reader beside the writer.
#include <atomic>
#include <thread>

#include "lmq_fixture.h"

namespace lmq {
namespace {

class LmqReaderTest : public LmqIndexTest, public testing::WithParamInterface<ReadMode> {
 protected:
  LmqIndex::Options readerOptions() const {
    LmqIndex::Options result = options(Access::kRead);
    result.readMode = GetParam();
    return result;
  }
};

INSTANTIATE_TEST_SUITE_P(Modes, LmqReaderTest,
                         testing::Values(ReadMode::kMap, ReadMode::kPositional),
                         [](const testing::TestParamInfo<ReadMode>& info) {
                           return info.param == ReadMode::kMap ? "mapped" : "byPosition";
                         });

TEST_P(LmqReaderTest, RefreshSeesWhatTheWriterAdds) {
  LmqIndex writer(options());
  ASSERT_TRUE(succeeded(writer.reset(0)));
  LmqIndex reader(readerOptions());
  ASSERT_TRUE(succeeded(load(reader)));
  LmqModel model;
  Result<bool> came = reader.refresh();
  ASSERT_TRUE(succeeded(came.status()));
  EXPECT_FALSE(*came);
  for (int i = 0; i < 20; i++) {
    model.grow(writer, 200, 20 * (i + 1));
    if (i == 10) {
      ASSERT_TRUE(succeeded(writer.writeSnapshot(model.logEnd, {}, atOnce)));
    }
    came = reader.refresh();
    ASSERT_TRUE(succeeded(came.status()));
    EXPECT_TRUE(*came);
    ASSERT_NO_FATAL_FAILURE(model.expectSame(reader, 1));
    came = reader.refresh();
    ASSERT_TRUE(succeeded(came.status()));
    EXPECT_FALSE(*came);
  }
}

TEST_P(LmqReaderTest, RefreshSeesANewNameWithoutEntries) {
  LmqIndex writer(options());
  ASSERT_TRUE(succeeded(writer.reset(0)));
  LmqIndex reader(readerOptions());
  ASSERT_TRUE(succeeded(load(reader)));
  LmqModel model;
  model.create(writer, "%LMQ%a");
  Result<bool> came = reader.refresh();
  ASSERT_TRUE(succeeded(came.status()));
  EXPECT_TRUE(*came);
  EXPECT_EQ(reader.find("%LMQ%a"), 0u);
}

TEST_P(LmqReaderTest, RefreshFollowsIntoNewFiles) {
  LmqIndex writer(options());
  ASSERT_TRUE(succeeded(writer.reset(0)));
  LmqModel model;
  for (size_t i = 0; i < 15000; i++) {  // almost a file of names
    std::string name = "%LMQ%" + std::to_string(i);
    name.resize(250, '.');
    ASSERT_NO_FATAL_FAILURE(model.create(writer, name));
  }
  const int64_t count = LmqEntry::kEntriesPerFile - 50;
  ASSERT_TRUE(succeeded(writer.reserve(count, 0, 0)));
  for (int64_t i = 0; i < count; i++) {
    ASSERT_TRUE(succeeded(writer.add(0, {i, {100 * i, 100, i}})));
  }
  LmqIndex reader(readerOptions());
  ASSERT_TRUE(succeeded(load(reader)));
  EXPECT_EQ(reader.entryCount(), static_cast<uint64_t>(count));

  for (int round = 0; round < 40; round++) {
    for (size_t i = 0; i < 100; i++) {
      std::string name = "%LMQ%" + std::to_string(model.queues.size());
      name.resize(250, '.');
      ASSERT_NO_FATAL_FAILURE(model.create(writer, name));
    }
    for (int i = 0; i < 10; i++) {
      ASSERT_TRUE(succeeded(writer.reserve(1, 0, 0)));
      const int64_t next = writer.nextOffset(0);
      ASSERT_TRUE(succeeded(writer.add(0, {next, {100 * next, 100, next}})));
    }
    Result<bool> came = reader.refresh();
    ASSERT_TRUE(succeeded(came.status()));
    EXPECT_TRUE(*came);
    ASSERT_EQ(reader.queueCount(), writer.queueCount());
    ASSERT_EQ(reader.entryCount(), writer.entryCount());
  }
  EXPECT_TRUE(inspect(namesFile(1))->exists);
  EXPECT_TRUE(inspect(entriesFile(1))->exists);
  EXPECT_EQ(reader.find(model.queues.back().name), model.queues.size() - 1);
}

TEST_P(LmqReaderTest, AnEntryWhoseNameIsNotThereYetComesNextTime) {
  LmqIndex writer(options());
  ASSERT_TRUE(succeeded(writer.reset(0)));
  LmqModel model;
  model.create(writer, "%LMQ%a");
  model.add(writer, 0);
  LmqIndex reader(readerOptions());
  ASSERT_TRUE(succeeded(load(reader)));
  model.create(writer, "%LMQ%b");
  model.add(writer, 1);
  const std::string second = headOf(namesFile(), 16).substr(12);  // the name's checksum
  overwrite(namesFile(), 12, std::string(4, '\0'));
  ASSERT_TRUE(succeeded(reader.refresh().status()));
  EXPECT_EQ(reader.queueCount(), 1u);
  EXPECT_EQ(reader.entryCount(), 1u);
  overwrite(namesFile(), 12, second);
  ASSERT_TRUE(succeeded(reader.refresh().status()));
  ASSERT_NO_FATAL_FAILURE(model.expectSame(reader));
}

TEST_P(LmqReaderTest, AnIndexThatWasCutOrRebuiltMustBeLoadedAgain) {
  LmqModel model;
  {
    LmqIndex writer(options());
    ASSERT_TRUE(succeeded(writer.reset(0)));
    model.grow(writer, 100, 5);
  }
  LmqIndex reader(readerOptions());
  ASSERT_TRUE(succeeded(load(reader)));
  const auto all = model.inOrder();
  LmqModel cut = model.cutTo(all, 60);
  LmqIndex writer(options());
  ASSERT_TRUE(succeeded(load(writer, cut.logEnd)));
  EXPECT_EQ(reader.refresh().status().code(), Code::kCorruptFile);
  cut.grow(writer, 100, 5);
  EXPECT_EQ(reader.refresh().status().code(), Code::kCorruptFile);
  ASSERT_TRUE(succeeded(load(reader)));
  ASSERT_NO_FATAL_FAILURE(cut.expectSame(reader));
}

TEST_P(LmqReaderTest, ANextOffsetFromTheStateDoesNotHoldUpOlderEntries) {
  LmqIndex writer(options());
  ASSERT_TRUE(succeeded(writer.reset(0)));
  LmqModel model;
  model.create(writer, "%LMQ%a");
  LmqIndex reader(readerOptions());
  ASSERT_TRUE(succeeded(load(reader)));
  for (int i = 0; i < 10; i++) model.add(writer, 0);
  reader.setNextOffset(0, 10);
  ASSERT_TRUE(succeeded(reader.refresh().status()));
  ASSERT_NO_FATAL_FAILURE(model.expectSame(reader));
}

TEST_P(LmqReaderTest, ARunningWriterIsNeverSeenHalfWay) {
  LmqIndex writer(options());
  ASSERT_TRUE(succeeded(writer.reset(0)));
  LmqIndex reader(readerOptions());
  ASSERT_TRUE(succeeded(load(reader)));
  LmqModel model;
  std::atomic<bool> done{false};
  std::thread writing([&] {
    model.grow(writer, 100000, 3000);
    done = true;
  });
  uint64_t seen = 0;
  while (!done) {
    Result<bool> came = reader.refresh();
    ASSERT_TRUE(succeeded(came.status()));
    ASSERT_GE(reader.entryCount(), seen);
    seen = reader.entryCount();
    if (seen == 0) continue;
    PlacedUnit last;
    size_t count = 0;
    ASSERT_TRUE(succeeded(reader.units(0, reader.nextOffset(0) - 1, 1, &last, &count)));
  }
  writing.join();
  ASSERT_TRUE(succeeded(reader.refresh().status()));
  ASSERT_NO_FATAL_FAILURE(model.expectSame(reader, 1));
}

}  // namespace
}  // namespace lmq
