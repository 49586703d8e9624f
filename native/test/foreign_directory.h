// A directory as RocketMQ leaves one, written with plain file writes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "store_fixture.h"

namespace lmq {

class ForeignDirectory {
 public:
  explicit ForeignDirectory(std::string root, int64_t start = 0)
      : root_(std::move(root)), end_(start) {
    std::filesystem::create_directories(root_ + "/commitlog");
    std::filesystem::create_directories(root_ + "/consumequeue");
    setCheckpoint(0, 0);
  }

  // Appends a record, behind a blank one where the file has no room; its position. `unit`: with a
  // unit in its topic queue.
  int64_t add(const Put& put, int64_t queueOffset, const std::vector<int64_t>& offsets = {},
              bool unit = true) {
    const size_t size = recordAt(0, 0, put, offsets).size();
    const int64_t left = kLogSize - end_ % kLogSize;
    if (static_cast<int64_t>(size + record::kBlankSize) > left) {
      uint8_t blank[8];
      store<int32_t>(blank, static_cast<int32_t>(left));
      store<int32_t>(blank + 4, record::kMagicBlank);
      write(end_, blank, sizeof(blank));
      end_ += left;
    }
    const Record record = recordAt(end_, queueOffset, put, offsets, kClock + end_);
    write(end_, record.data(), record.size());
    sizes_[end_] = static_cast<int32_t>(record.size());
    const int64_t position = end_;
    end_ += static_cast<int64_t>(record.size());
    if (unit) addUnit(put.topic + "/" + std::to_string(put.queueId), queueOffset, position);
    return position;
  }

  // The unit of the record at `position` (-1: a blank one) in consumequeue/<queue>.
  void addUnit(const std::string& queue, int64_t offset, int64_t position) {
    const std::string unit =
        position < 0 ? unitBytes(0, 0x7FFFFFFF) : unitBytes(position, sizes_[position]);
    const int64_t at = offset * 20;
    const int64_t base = at - at % static_cast<int64_t>(kQueueSize);
    const std::string directory = root_ + "/consumequeue/" + queue;
    std::filesystem::create_directories(directory);
    const std::string path = directory + "/" + fileNameOf(static_cast<uint64_t>(base));
    if (modifiedAt(path) < 0) writeFile(path, std::string(kQueueSize, '\0'));
    writeAt(path, static_cast<uint64_t>(at - base), unit.data(), unit.size());
  }

  void setCheckpoint(int64_t logicsTimestamp, int64_t logicsPosition) {
    std::string bytes(4096, '\0');
    uint8_t* fields = reinterpret_cast<uint8_t*>(bytes.data());
    store<int64_t>(fields, logicsTimestamp);
    store<int64_t>(fields + 8, logicsTimestamp);
    store<int64_t>(fields + 40, logicsPosition);
    writeFile(root_ + "/checkpoint", bytes);
  }
  void setAborted() { writeFile(root_ + "/abort", "4711"); }
  int64_t end() const { return end_; }

 private:
  void write(int64_t position, const uint8_t* data, size_t size) {
    const int64_t base = position - position % kLogSize;
    const std::string path = root_ + "/commitlog/" + fileNameOf(static_cast<uint64_t>(base));
    if (modifiedAt(path) < 0) writeFile(path, std::string(kLogSize, '\0'));
    writeAt(path, static_cast<uint64_t>(position - base), data, size);
  }

  std::string root_;
  int64_t end_;
  std::map<int64_t, int32_t> sizes_;
};

}  // namespace lmq
