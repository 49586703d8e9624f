// The key index in a copy for a broker.
#include "core/exporter.h"
#include "store_fixture.h"

namespace lmq {
namespace {

class ExporterKeysTest : public StoreTest {};

TEST_F(ExporterKeysTest, TheKeyIndexOfABrokersCopyEndsAtTheBorder) {
  options_.defaultIndexSlots = 5;
  options_.defaultIndexEntries = 8;
  const auto found = [this](const std::string& directory, const char* tags) {
    KeyIndex::Options options;
    options.directory = directory + "/index";
    options.shape = {5, 8};
    options.shapes = {options.shape};
    options.access = Access::kReadQuietly;
    KeyIndex index(options, nullptr);
    std::vector<Status> odd;
    EXPECT_TRUE(succeeded(index.load(&odd)));
    KeyIndex::Search search;
    search.hash = KeyIndex::hashOf("T", tags);
    search.end = INT64_MAX;
    std::vector<int64_t> positions;
    while (!search.done) EXPECT_TRUE(succeeded(index.search(&search, &positions)));
    return positions;
  };
  const std::string copy = directory_ / "copy";
  std::filesystem::create_directories(copy);
  std::unique_ptr<Store> store = open();
  for (int i = 0; i < 20; ++i) put(*store, {"m", {}, "old"});
  const std::vector<int64_t> before = found(root(), "T#old");
  Exporter exporter(*store, Exporter::Kind::kBroker, copy);
  Exporter::Progress progress;
  do {
    ASSERT_TRUE(succeeded(exporter.step(&progress)));
    for (int i = 0; i < 3; ++i) put(*store, {"m", {}, "new"});
  } while (!progress.done);
  EXPECT_EQ(found(copy, "T#old"), before);
  EXPECT_EQ(found(copy, "T#new"), std::vector<int64_t>());
  EXPECT_NE(found(root(), "T#new"), std::vector<int64_t>());
}

}  // namespace
}  // namespace lmq
