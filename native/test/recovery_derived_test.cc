// What can be derived from the log comes back from it: queues, light-queue index, checkpoints.
#include "store_fixture.h"

namespace lmq {
namespace {

enum class End { kClosed, kKilled, kSyncedAndKilled };

class DerivedTest : public StoreTest, public testing::WithParamInterface<End> {
 protected:
  DerivedTest() { options_.defaultConsumeQueueSize = 100; }  // 5 units

  // Messages first … last-1, with odd ones in %LMQ%b as well.
  static void putRange(Store& store, int first, int last) {
    for (int i = first; i < last; ++i) {
      const Texts names = i % 2 == 1 ? Texts{"%LMQ%a", "%LMQ%b"} : Texts{"%LMQ%a"};
      put(store, {std::to_string(i), names, "", i % 3 == 2 ? "U" : "T"});
    }
  }
  void end(std::unique_ptr<Store> store) {
    if (GetParam() == End::kClosed) {
      ASSERT_TRUE(succeeded(store->close()));
    } else if (GetParam() == End::kSyncedAndKilled) {
      ASSERT_TRUE(succeeded(store->flush()));
    }
  }
  void write(int first, int last) {
    std::unique_ptr<Store> store = open();
    putRange(*store, first, last);
    end(std::move(store));
  }
  // Every queue holds exactly the messages below `last`, each at its offset.
  void expectAll(Store& store, int last) {
    std::map<std::string, Texts> expected;
    for (int i = 0; i < last; ++i) {
      const auto add = [&](const std::string& queue) {
        Texts& texts = expected[queue];
        texts.push_back(std::to_string(texts.size()) + ":" + std::to_string(i));
      };
      add(i % 3 == 2 ? "U" : "T");
      add("%LMQ%a");
      if (i % 2 == 1) add("%LMQ%b");
    }
    for (const char* queue : {"T", "U", "%LMQ%a", "%LMQ%b"}) {
      EXPECT_EQ(messages(store, queue), expected[queue]) << queue;
    }
  }
  void expectAllAndMore(int last) {
    {
      std::unique_ptr<Store> store = open();
      expectAll(*store, last);
      putRange(*store, last, last + 7);
      expectAll(*store, last + 7);
      end(std::move(store));
    }
    expectAll(*open(), last + 7);
  }
};

INSTANTIATE_TEST_SUITE_P(, DerivedTest,
                         testing::Values(End::kClosed, End::kKilled, End::kSyncedAndKilled),
                         [](const auto& info) {
                           return info.param == End::kClosed   ? "AfterAClose"
                                  : info.param == End::kKilled ? "AfterAKill"
                                                               : "AfterAFlushAndAKill";
                         });

TEST_P(DerivedTest, NothingIsLostOverManyReopens) {
  for (int i = 0; i < 30; i += 6) {
    write(i, i + 6);
    if (HasFailure()) return;
  }
  expectAllAndMore(30);
}

// Queues ------------------------------------------------------------------------------------

TEST_P(DerivedTest, MissingQueuesAreBuiltAgain) {  // BR-042
  write(0, 20);
  remove("consumequeue");
  expectAllAndMore(20);
}

TEST_P(DerivedTest, OneMissingQueueAmongOthersIsBuiltAgain) {
  write(0, 20);
  remove("consumequeue/U");
  expectAllAndMore(20);
}

TEST_P(DerivedTest, AMissingFileInTheMiddleOfAQueueIsBuiltAgain) {
  write(0, 30);
  remove("consumequeue/T/0/" + fileNameOf(100));
  expectAllAndMore(30);
}

TEST_P(DerivedTest, AMissingLastFileOfAQueueIsBuiltAgain) {
  write(0, 30);
  remove("consumequeue/T/0/" + fileNameOf(300));
  expectAllAndMore(30);
}

TEST_P(DerivedTest, OldQueueFilesInThePlaceOfNewOnesCatchUp) {  // BR-068
  write(0, 8);
  copyTree(*this / "consumequeue", directory_ / "old");
  write(8, 28);
  copyTree(directory_ / "old", *this / "consumequeue");
  expectAllAndMore(28);
}

TEST_P(DerivedTest, AQueueFullOfZerosIsBuiltAgain) {  // spec Q56
  write(0, 6);
  fill(queueFile(), 0, 100);
  expectAllAndMore(6);
}

TEST_P(DerivedTest, ATornLastUnitIsWrittenAgain) {
  write(0, 20);
  for (const uint64_t kept : {0, 7, 8, 11}) {  // bytes of the last unit of T, offset 13
    SCOPED_TRACE(kept);
    copyTree(root(), directory_ / "copy");
    fill(queueFile(200), 3 * 20 + kept, 20 - kept);
    expectAllAndMore(20);
    copyTree(directory_ / "copy", root());
  }
}

TEST_P(DerivedTest, UnitsThatWereNotSyncedAreNotTrusted) {
  if (GetParam() != End::kKilled) return;
  write(0, 20);
  const std::string right = contentOf(queueFile(200));
  for (const uint64_t at : {0, 7, 12, 19, 3 * 20 + 15}) {  // as a power cut may mix two states
    flip(queueFile(200), at);
    expectAll(*open(), 20);
    EXPECT_EQ(contentOf(queueFile(200)), right) << at;
  }
}

TEST_P(DerivedTest, QueueFilesOfTwoLengthsAreRefusedByName) {
  write(0, 20);
  writeFile(queueFile(500), std::string(120, '\0'));
  Status status;
  ASSERT_EQ(refusal(&status), "STORE_FILE_SIZE");
  EXPECT_EQ(status.facts().path, queueFile(500));
}

TEST_P(DerivedTest, StrayFilesInQueueDirectoriesArePassedOver) {
  write(0, 20);
  writeFile(*this / "consumequeue/.DS_Store", "x");
  writeFile(*this / "consumequeue/T/note", "x");
  writeFile(*this / "consumequeue/T/0/x.bak", "x");
  writeFile(queueFile(500), "");
  std::filesystem::create_directories(*this / "consumequeue/T/lost+found");
  expectAllAndMore(20);
  EXPECT_EQ(contentOf(*this / "consumequeue/T/0/x.bak"), "x");
}

// The light-queue index ---------------------------------------------------------------------

TEST_P(DerivedTest, AMissingIndexIsBuiltAgain) {
  write(0, 20);
  copyTree(root(), directory_ / "copy");
  for (const char* name : {"lmq/table", "lmq/entries", "lmq/names", "lmq"}) {
    SCOPED_TRACE(name);
    copyTree(directory_ / "copy", root());
    remove(name);
    expectAllAndMore(20);
  }
}

TEST_P(DerivedTest, ADamagedIndexIsBuiltAgain) {
  write(0, 20);
  copyTree(root(), directory_ / "copy");
  const std::string table = "lmq/table";
  const std::string entries = "lmq/entries/" + fileNameOf(0);
  const std::string names = "lmq/names/" + fileNameOf(0);
  const struct {
    std::string name;
    uint64_t at;
  } places[] = {{table, 3},
                {table, 20},
                {table, 130},
                {entries, 2},
                {entries, 29 * 48 + 30},
                {entries, 5 * 48 + 9},
                {names, 1},
                {names, 14}};
  for (const auto& [name, at] : places) {
    SCOPED_TRACE(name + " at " + std::to_string(at));
    copyTree(directory_ / "copy", root());
    if (std::filesystem::file_size(*this / name) <= at) continue;
    flip(*this / name, at);
    // Not every entry is read by an open: a damaged one may show in a read only, once.
    std::unique_ptr<Store> store = open();
    for (const char* queue : {"%LMQ%a", "%LMQ%b"}) {
      Store::ReadRequest request;
      request.queue = lmqOf(*store, queue);
      Store::Page page;
      const Status status = store->read(request, &page);
      EXPECT_TRUE(status.ok() || status.code() == Code::kCorruptFile) << codeText(status.code());
    }
    end(std::move(store));
    expectAllAndMore(20);
  }
}

TEST_P(DerivedTest, AnOldIndexCatchesUp) {
  write(0, 8);
  copyTree(*this / "lmq", directory_ / "old");
  write(8, 28);
  for (const char* name : {"table", "entries", "names"}) {
    remove(std::string("lmq/") + name);
    std::filesystem::rename(directory_ / ("old/" + std::string(name)),
                            *this / ("lmq/" + std::string(name)));
  }
  expectAllAndMore(28);
}

TEST_P(DerivedTest, AnIndexOfAnotherStoreIsNotUsed) {
  write(0, 8);
  ASSERT_TRUE(succeeded(open()->close()));  // writes the table
  const std::string other = *this / "lmq";
  options_.path = directory_ / "store2";
  write(50, 70);
  for (const char* name : {"/table", "/entries", "/names"}) {
    std::filesystem::remove_all(*this / "lmq" + name);
    std::filesystem::rename(other + name, *this / "lmq" + name);
  }
  std::unique_ptr<Store> store = open();
  EXPECT_NE(store->recovery().lmqRebuilt, "");
  EXPECT_EQ(messages(*store, "%LMQ%a").size(), 20u);
  EXPECT_EQ(messages(*store, "%LMQ%a").back(), "19:69");
}

// Checkpoints -------------------------------------------------------------------------------

TEST_P(DerivedTest, WithoutAUsableCheckpointEverythingIsFound) {  // BR-068
  write(0, 20);
  copyTree(root(), directory_ / "copy");
  const std::string own = *this / "lmq/checkpoint";
  const std::string broker = *this / "checkpoint";
  const size_t size = std::filesystem::file_size(own);
  const std::string contents[] = {"", std::string(size, '\0'), std::string(size, '\xff'), "x"};
  for (const std::string& content : contents) {
    SCOPED_TRACE(content.substr(0, 1));
    copyTree(directory_ / "copy", root());
    writeFile(own, content);
    writeFile(broker, content);
    expectAllAndMore(20);
  }
  copyTree(directory_ / "copy", root());
  remove("lmq/checkpoint");
  remove("checkpoint");
  expectAllAndMore(20);
}

TEST_P(DerivedTest, AnOldCheckpointLosesNothing) {
  write(0, 8);
  const std::string old = contentOf(*this / "lmq/checkpoint");
  write(8, 28);
  writeFile(*this / "lmq/checkpoint", old);
  expectAllAndMore(28);
}

}  // namespace
}  // namespace lmq
