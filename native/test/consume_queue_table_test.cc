// The table of consume queues.
#include "core/consume_queue_table.h"

#include <gtest/gtest.h>

#include "store_fixture.h"

namespace lmq {
namespace {

class ConsumeQueueTableTest : public testing::Test {
 protected:
  MappedFileQueue::Options options(const std::string& name = "cq") const {
    MappedFileQueue::Options options;
    options.directory = directory_ / name;
    options.workDirectory = directory_ / "work";
    options.fileSize = 100;
    return options;
  }

  TempDirectory directory_;
};

TEST_F(ConsumeQueueTableTest, TheTableFindsQueuesByTopicAndId) {
  ConsumeQueueTable table(options());
  for (const int32_t id : {0, 63, 64, 2147483647}) {
    ConsumeQueue* queue = table.create(table.topic("T"), id);
    ASSERT_NE(queue, nullptr);
    EXPECT_EQ(table.find(table.topic("T"), id), queue);
    EXPECT_EQ(table.all()[static_cast<size_t>(table.find("T", id))].get(), queue);
    EXPECT_EQ(queue->queueId(), id);
  }
  EXPECT_EQ(table.find(table.topic("T"), 1), nullptr);
  EXPECT_EQ(table.find(table.topic("T"), 65), nullptr);
  EXPECT_EQ(table.find(table.topic("U"), 0), nullptr);
  EXPECT_EQ(table.find("V", 0), -1);
  EXPECT_EQ(table.topicCount(), 2u);
}

TEST_F(ConsumeQueueTableTest, TheTableLoadsQueuesAndPassesOverWhatIsNone) {
  for (const char* name : {"T/0", "T/70", "%LMQ%a/0", "T/-1", "T/+2", "T/03x", "T/4294967296"}) {
    std::filesystem::create_directories(directory_ / (std::string("cq/") + name));
  }
  writeFile(directory_ / "cq/note", "x");
  writeFile(directory_ / "cq/T/5", "x");
  ConsumeQueueTable table(options());
  ASSERT_TRUE(succeeded(table.load(false, false)));
  EXPECT_EQ(table.all().size(), 2u);
  EXPECT_GE(table.find("T", 70), 0);
  ConsumeQueueTable light(options());
  ASSERT_TRUE(succeeded(light.load(false, true)));
  EXPECT_EQ(light.all().size(), 1u);
  ConsumeQueueTable none(options("no"));
  EXPECT_TRUE(succeeded(none.load(false, false)));
}

TEST_F(ConsumeQueueTableTest, TheLengthOfFilesIsTheDirectorys) {
  const std::string cq = directory_ / "cq";
  EXPECT_EQ(*ConsumeQueueTable::findFileSize(cq), 0u);
  std::filesystem::create_directories(cq + "/T/0");
  std::filesystem::create_directories(cq + "/U/0");
  writeFile(cq + "/T/0/" + fileNameOf(0), "");
  writeFile(cq + "/T/0/note", "some");
  EXPECT_EQ(*ConsumeQueueTable::findFileSize(cq), 0u);
  writeFile(cq + "/T/0/" + fileNameOf(100), std::string(100, '\0'));
  EXPECT_EQ(*ConsumeQueueTable::findFileSize(cq), 100u);
  writeFile(cq + "/U/0/" + fileNameOf(0), std::string(120, '\0'));
  const Result<uint64_t> mixed = ConsumeQueueTable::findFileSize(cq);
  ASSERT_EQ(mixed.status().code(), Code::kFileSize);
  EXPECT_EQ(mixed.status().facts().path, cq + "/U/0/" + fileNameOf(0));
  std::filesystem::remove_all(cq + "/T");
  writeFile(cq + "/U/0/" + fileNameOf(0), std::string(110, '\0'));
  EXPECT_EQ(ConsumeQueueTable::findFileSize(cq).status().code(), Code::kFileSize);
  EXPECT_EQ(ConsumeQueueTable::findFileSize(cq).status().facts().limit, -1);
  // One that cannot be a queue's says nothing of the others, wherever it stands.
  writeFile(cq + "/U/0/" + fileNameOf(1), std::string(100, '\0'));
  for (const char* queue : {"/A/0", "/V/0"}) {
    std::filesystem::remove_all(cq + "/A");
    std::filesystem::create_directories(cq + queue);
    writeFile(cq + queue + "/" + fileNameOf(0), std::string(139, '\0'));
    const Result<uint64_t> odd = ConsumeQueueTable::findFileSize(cq);
    ASSERT_EQ(odd.status().code(), Code::kFileSize);
    EXPECT_EQ(odd.status().facts().limit, 100) << queue;
  }
}

}  // namespace
}  // namespace lmq
