// A queue of small files in a directory of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/mapped_file_queue.h"
#include "temp_directory.h"

namespace lmq {

inline constexpr uint64_t kSize = 64 * 1024;

using Bases = std::vector<uint64_t>;
using Names = std::vector<std::string>;

inline Status writeText(MappedFileQueue& queue, uint64_t position, const std::string& text) {
  LMQ_TRY(queue.reserve(position, text.size()));
  uint8_t* window = queue.window(position, text.size());
  if (window == nullptr) return Status(Code::kInternal, "no window");
  std::memcpy(window, text.data(), text.size());
  return queue.commit(position, text.size(), window);
}

inline std::string textAt(const MappedFileQueue& queue, uint64_t position, size_t length) {
  ReadBuffer buffer;
  Result<MappedFileQueue::Pinned> read = queue.read(position, length, buffer);
  EXPECT_TRUE(succeeded(read.status()));
  return read.ok() ? std::string(reinterpret_cast<const char*>(read->data), length) : "";
}

class QueueTest : public testing::Test {
 protected:
  MappedFileQueue::Options options() const {
    MappedFileQueue::Options options;
    options.directory = directory_ / "log";
    options.workDirectory = directory_ / "work";
    options.fileSize = kSize;
    options.reserveStep = 8192;
    return options;
  }
  std::string pathOf(uint64_t base) const { return directory_ / "log/" + fileNameOf(base); }
  Names files() const { return TempDirectory::namesIn(directory_ / "log"); }
  Names workFiles() const { return TempDirectory::namesIn(directory_ / "work"); }
  void makeLog() const { ASSERT_TRUE(succeeded(makeDirectories(directory_ / "log"))); }

  TempDirectory directory_;
};

class BothWaysQueueTest : public QueueTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override { before_ = forcePositionalWrites(GetParam()); }
  void TearDown() override { forcePositionalWrites(before_); }

 private:
  bool before_ = false;
};

}  // namespace lmq
