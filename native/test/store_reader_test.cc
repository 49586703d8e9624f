// Readers: beside a writer, of damaged directories, of RocketMQ's, and never changing a byte.
#include "foreign_directory.h"

namespace lmq {
namespace {

class ReaderTest : public StoreTest {
 protected:
  // What a reader sees of two queues.
  Texts seen(Store& reader) {
    Texts all = messages(reader);
    for (const std::string& text : messages(reader, "%LMQ%a")) all.push_back("a " + text);
    return all;
  }
  static Put both(const std::string& body) { return {body, {"%LMQ%a"}}; }
};

// Beside a writer ---------------------------------------------------------------------------

TEST_F(ReaderTest, AReaderTakesInWhatAWriterAdds) {
  options_.defaultConsumeQueueSize = 100;
  std::unique_ptr<Store> writer = open();
  put(*writer, both("0"));
  std::unique_ptr<Store> reader = openReader();
  EXPECT_EQ(seen(*reader), (Texts{"0:0", "a 0:0"}));
  for (int i = 1; i < 60; ++i) {  // over files of the log and of the queue
    put(*writer, both(std::to_string(i)));
    EXPECT_TRUE(*reader->refresh());
    EXPECT_FALSE(*reader->refresh());
    EXPECT_EQ(reader->logEnd(), writer->logEnd());
    EXPECT_EQ(boundsOf(*reader, queueOf(*reader)).max, i + 1);
    EXPECT_EQ(boundsOf(*reader, lmqOf(*reader, "%LMQ%a")).max, i + 1);
  }
  EXPECT_EQ(seen(*reader), seen(*writer));
}

TEST_F(ReaderTest, AReaderThatCameFirstSeesNewTopicsAndLightQueues) {
  std::unique_ptr<Store> writer = open();
  std::unique_ptr<Store> reader = openReader();
  EXPECT_EQ(reader->findQueue("T", 0), -1);
  EXPECT_FALSE(*reader->refresh());
  put(*writer, both("x"));
  EXPECT_TRUE(*reader->refresh());
  EXPECT_EQ(seen(*reader), (Texts{"0:x", "a 0:x"}));
  EXPECT_EQ(reader->lmqCount(), 1u);
  put(*writer, {"y", {"%LMQ%b"}, "", "U", 70});
  EXPECT_TRUE(*reader->refresh());
  EXPECT_EQ(messages(*reader, "U", 70), Texts{"0:y"});
  EXPECT_EQ(messages(*reader, "%LMQ%b"), Texts{"0:y"});
}

TEST_F(ReaderTest, AReaderNoticesAMessageHoweverLongItWasQuiet) {
  std::unique_ptr<Store> writer = open();
  put(*writer, both("0"));
  std::unique_ptr<Store> reader = openReader();
  for (int quiet = 0; quiet < 350; ++quiet) EXPECT_FALSE(*reader->refresh());
  put(*writer, both("1"));
  EXPECT_TRUE(*reader->refresh());
  EXPECT_EQ(seen(*reader), (Texts{"0:0", "1:1", "a 0:0", "a 1:1"}));
}

TEST_F(ReaderTest, AReaderChangesNotOneByte) {
  std::unique_ptr<Store> writer = open();
  for (int i = 0; i < 30; ++i) put(*writer, both(std::to_string(i)));
  for (const bool closed : {false, true}) {
    if (closed) {
      ASSERT_TRUE(succeeded(writer->close()));
      writer.reset();
    }
    const Tree before = treeOf(root(), closed);  // an open writer makes room ahead at any time
    std::unique_ptr<Store> reader = openReader();
    seen(*reader);
    EXPECT_TRUE(reader->refresh().ok());
    EXPECT_TRUE(succeeded(reader->close()));
    reader.reset();
    EXPECT_EQ(treeOf(root(), closed), before);
  }
}

TEST_F(ReaderTest, AReaderTakesNoLock) {
  { put(*open(), both("x")); }
  std::unique_ptr<Store> reader = openReader();
  std::unique_ptr<Store> writer = open();
  std::unique_ptr<Store> another = openReader();
  EXPECT_EQ(put(*writer, both("y")).queueOffset, 1);
  EXPECT_TRUE(*reader->refresh());
}

TEST_F(ReaderTest, AReaderRefusesToWrite) {
  { put(*open(), both("x")); }
  std::unique_ptr<Store> reader = openReader();
  EXPECT_EQ(reader->topic("T").status().code(), Code::kReadOnly);
  Message message;
  Store::Appended at;
  EXPECT_EQ(reader->append(0, message, -1, &at).code(), Code::kReadOnly);
  EXPECT_EQ(reader->flush().code(), Code::kReadOnly);
  reader->requestSync();
}

TEST_F(ReaderTest, AReaderMakesNoDirectory) {
  Status status;
  options_.readOnly = true;
  EXPECT_EQ(tryOpen(&status), nullptr);
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(directory_.names(), Texts{});
  std::filesystem::create_directories(root());
  std::unique_ptr<Store> reader = open();
  EXPECT_EQ(reader->logEnd(), 0);
  EXPECT_FALSE(*reader->refresh());
  EXPECT_EQ(TempDirectory::namesIn(root()), Texts{});
}

TEST_F(ReaderTest, ALiveTailIsNoDamage) {
  std::unique_ptr<Store> writer = open();
  put(*writer, both("one"));
  const int64_t end = writer->logEnd();
  const Record next = recordAt(end, 1, both("two"), {1});
  // A record of which the first four bytes are not stored yet, then only they.
  writeAt(logFile(), static_cast<uint64_t>(end + 4), next.data() + 4, next.size() - 4);
  std::unique_ptr<Store> reader = openReader();
  EXPECT_TRUE(reader->recovery().notes.empty());
  EXPECT_EQ(reader->logEnd(), end);
  EXPECT_FALSE(*reader->refresh());
  fill(logFile(), static_cast<uint64_t>(end), next.size());
  writeAt(logFile(), static_cast<uint64_t>(end), next.data(), 50);
  EXPECT_FALSE(*reader->refresh());
  reader = openReader();
  EXPECT_TRUE(reader->recovery().notes.empty());
  EXPECT_EQ(seen(*reader), (Texts{"0:one", "a 0:one"}));
  writeAt(logFile(), static_cast<uint64_t>(end), next.data(), next.size());
  EXPECT_TRUE(*reader->refresh());
  EXPECT_EQ(reader->logEnd(), end + static_cast<int64_t>(next.size()));
}

TEST_F(ReaderTest, AUnitThatIsAheadOfItsRecordWaits) {
  std::unique_ptr<Store> writer = open();
  put(*writer, {"one"});
  const int64_t end = writer->logEnd();
  const Record next = recordAt(end, 1, {"two"});
  const std::string unit = unitBytes(end, static_cast<int32_t>(next.size()));
  writeAt(queueFile(), 20, unit.data(), unit.size());
  std::unique_ptr<Store> reader = openReader();
  const Store::Page page = read(*reader, queueOf(*reader), 1);
  EXPECT_EQ(page.status, ReadStatus::kOffsetOverflowOne);
  EXPECT_EQ(page.nextOffset, 1);
  EXPECT_TRUE(page.damaged.empty());
  EXPECT_EQ(read(*reader, queueOf(*reader), 0).nextOffset, 1);
  writeAt(logFile(), static_cast<uint64_t>(end), next.data(), next.size());
  EXPECT_TRUE(*reader->refresh());
  EXPECT_EQ(messages(*reader), (Texts{"0:one", "1:two"}));
}

TEST_F(ReaderTest, AnUncleanDirectoryIsShownInMemoryOnly) {
  {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < 5; ++i) put(*store, both(std::to_string(i)));
  }
  const Tree before = treeOf(root());
  std::unique_ptr<Store> reader = openReader();
  EXPECT_FALSE(reader->recovery().clean);
  EXPECT_EQ(seen(*reader).size(), 10u);
  EXPECT_EQ(treeOf(root()), before);
}

TEST_F(ReaderTest, WithoutAnIndexAReaderBuildsItInMemoryAndKeepsUp) {
  std::unique_ptr<Store> writer = open();
  for (int i = 0; i < 5; ++i) put(*writer, both(std::to_string(i)));
  remove("lmq/table");
  const Tree before = treeOf(root(), false);
  std::unique_ptr<Store> reader = openReader();
  EXPECT_NE(reader->recovery().lmqRebuilt, "");
  EXPECT_EQ(seen(*reader).size(), 10u);
  EXPECT_EQ(treeOf(root(), false), before);
  put(*writer, both("5"));
  EXPECT_TRUE(*reader->refresh());
  EXPECT_EQ(messages(*reader, "%LMQ%a").back(), "5:5");
}

// Damage ------------------------------------------------------------------------------------

class DamagedReaderTest : public ReaderTest {
 protected:
  // Twenty records of 500 bytes, eight in a file; all synced.
  void write(bool close) {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < 20; ++i) put(*store, {bodyFor(500)});
    ASSERT_TRUE(succeeded(close ? store->close() : store->flush()));
  }
  // Offsets that can be read, "!" for a damaged one.
  std::string readable() {
    const Tree before = treeOf(root());
    std::unique_ptr<Store> reader = openReader();
    noted_ = !reader->recovery().notes.empty();
    std::string text;
    for (const std::string& one : messages(*reader)) {
      text += one.substr(0, one.find_first_of(":!")) + (one.back() == '!' ? "! " : " ");
    }
    reader.reset();
    EXPECT_EQ(treeOf(root()), before);
    return text;
  }
  bool noted_ = false;
};

const std::string kWithout3 = "0 1 2 4 5 6 3! 7 8 9 10 11 12 13 14 15 16 17 18 19 ";

TEST_F(DamagedReaderTest, BothSidesOfDamageAreShown) {  // BR-008
  for (const bool close : {true, false}) {
    remove("");
    write(close);
    flip(logFile(), 1700);
    std::string text = readable();
    EXPECT_EQ(text.find(" 3 "), std::string::npos) << text;
    EXPECT_NE(text.find(" 19 "), std::string::npos) << text;
    remove("lmq/checkpoint");  // now the whole log is scanned
    text = readable();
    EXPECT_TRUE(noted_);
    EXPECT_EQ(text.find(" 3 "), std::string::npos) << text;
    EXPECT_NE(text.find(" 4 "), std::string::npos) << text;
    EXPECT_NE(text.find(" 19 "), std::string::npos) << text;
  }
}

TEST_F(DamagedReaderTest, BothSidesOfDamageInTheLastFileAreShown) {
  write(false);
  flip(logFile(2 * kLogSize), 700);  // record 17
  fill(logFile(2 * kLogSize), 508, 3, 'x');
  remove("lmq/checkpoint");
  const std::string text = readable();
  EXPECT_NE(text.find(" 16 "), std::string::npos) << text;
  EXPECT_NE(text.find(" 18 19 "), std::string::npos) << text;
  EXPECT_TRUE(noted_);
}

TEST_F(DamagedReaderTest, AMissingFileInTheMiddleIsPassed) {
  write(true);
  remove("commitlog/" + fileNameOf(kLogSize));
  for (const bool checkpoint : {true, false}) {
    if (!checkpoint) remove("lmq/checkpoint");
    const std::string text = readable();
    EXPECT_EQ(text.find("0 1 2 3 4 5 6 7 "), 0u) << text;
    EXPECT_NE(text.find("16 17 18 19 "), std::string::npos) << text;
  }
}

TEST_F(DamagedReaderTest, ALogFileOfAnotherLengthIsLeftOutAndNamed) {  // BR-078, spec Q47
  write(true);
  std::filesystem::resize_file(logFile(kLogSize), 1000);
  const std::string text = readable();
  EXPECT_EQ(text.find("0 1 2 3 4 5 6 7 "), 0u) << text;
  EXPECT_NE(text.find("16 17 18 19 "), std::string::npos) << text;
  EXPECT_TRUE(noted_);
}

TEST_F(DamagedReaderTest, AQueueFileOfAnotherLengthHidesNoOtherQueue) {
  write(true);
  put(*open(), {"x", {}, "", "U"});
  std::filesystem::resize_file(queueFile(), 1000);
  std::unique_ptr<Store> reader = openReader();
  EXPECT_EQ(messages(*reader, "U"), Texts{"0:x"});
  EXPECT_FALSE(reader->recovery().notes.empty());
}

TEST_F(DamagedReaderTest, AMissingLogLeavesEmptyQueues) {
  write(true);
  remove("commitlog");
  std::unique_ptr<Store> reader = openReader();
  const Store::Bounds bounds = boundsOf(*reader, queueOf(*reader));
  EXPECT_LE(bounds.min, bounds.max);
  EXPECT_TRUE(read(*reader, queueOf(*reader), bounds.min).rows.empty());
}

// Directories of RocketMQ's -----------------------------------------------------------------

class ForeignReaderTest : public ReaderTest {};

TEST_F(ForeignReaderTest, ADirectoryOfRocketMqIsReadAsItStands) {
  ForeignDirectory directory(root());
  const int64_t one = directory.add(both("one"), 0, {7});
  directory.add({"two"}, 1);
  directory.addUnit("%LMQ%a/0", 2, one);
  directory.addUnit("%LMQ%a/0", 0, -1);
  directory.addUnit("%LMQ%a/0", 1, -1);
  const Tree before = treeOf(root());
  std::unique_ptr<Store> reader = openReader();
  EXPECT_EQ(seen(*reader), (Texts{"0:one", "1:two", "a 2:one"}));
  EXPECT_EQ(reader->lmqCount(), 1u);
  std::vector<Store::QueueInfo> queues;
  ASSERT_TRUE(succeeded(reader->listQueues(&queues)));
  EXPECT_EQ(queues.size(), 1u);
  EXPECT_EQ(treeOf(root()), before);
}

TEST_F(ForeignReaderTest, AReaderDoesNotWaitForTheUnitsOfABroker) {
  ForeignDirectory directory(root());
  directory.setAborted();
  const int64_t one = directory.add(both("0"), 0, {0});
  directory.addUnit("%LMQ%a/0", 0, one);
  std::unique_ptr<Store> reader = openReader();
  std::vector<int64_t> at;
  for (int64_t i = 1; i < 120; ++i) {  // over files of both
    at.push_back(directory.add(both(std::to_string(i)), i, {i}, false));
    if (i % 10 == 0) {
      EXPECT_TRUE(*reader->refresh());
    }
  }
  EXPECT_TRUE(*reader->refresh());
  const Texts all = seen(*reader);
  ASSERT_EQ(all.size(), 240u);
  EXPECT_EQ(all[119], "119:119");
  EXPECT_EQ(all[239], "a 119:119");
  // Nor does it tell anything twice when they come.
  for (int64_t i = 1; i < 120; ++i) {
    directory.addUnit("T/0", i, at[static_cast<size_t>(i - 1)]);
    directory.addUnit("%LMQ%a/0", i, at[static_cast<size_t>(i - 1)]);
    if (i % 7 != 0) continue;
    EXPECT_FALSE(*reader->refresh());
    EXPECT_EQ(seen(*reader), all);
  }
  EXPECT_EQ(seen(*openReader()), all);
}

TEST_F(ForeignReaderTest, AFileThatIsShortenedMeanwhileIsAnErrorAndNoSignal) {
  ForeignDirectory directory(root());
  for (int64_t i = 0; i < 5; ++i) directory.add({"x"}, i);
  std::unique_ptr<Store> reader = openReader();
  EXPECT_EQ(messages(*reader).size(), 5u);
  std::filesystem::resize_file(logFile(), 50);
  Store::ReadRequest request;
  request.queue = queueOf(*reader);
  request.maxBytes = 1000;
  page_.resize(4096);
  request.page = page_.data();
  request.pageSize = page_.size();
  Store::Page page;
  EXPECT_EQ(reader->read(request, &page).code(), Code::kIo);
}

// A length that is no multiple of a unit, in a file of any queue, made a reader's look endless.
TEST_F(ReaderTest, AQueueFileOfAnyLengthIsLeftOut) {
  ForeignDirectory directory(root());
  for (int i = 0; i < 3; ++i) {
    const int64_t at = directory.add({std::to_string(i), {"%LMQ%a"}}, i, {i});
    directory.addUnit("%LMQ%a/0", i, at);
  }
  for (const char* queue : {"%LMQ%a/0", "T/0"}) {
    const std::string whole = contentOf(queueFile(0, queue));
    for (size_t length = 0; length < 200; length += length < 45 ? 1 : 31) {
      writeFile(queueFile(0, queue), whole.substr(0, length));
      std::unique_ptr<Store> reader = openReader();
      for (int look = 0; look < 3; ++look) {
        EXPECT_TRUE(succeeded(reader->refresh().status())) << queue << " " << length;
      }
      EXPECT_EQ(messages(*reader).back(), "2:2") << queue << " " << length;
    }
    writeFile(queueFile(0, queue), whole);
  }
}

}  // namespace
}  // namespace lmq
