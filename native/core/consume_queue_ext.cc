#include "consume_queue_ext.h"

#include "bytes.h"

namespace lmq {

namespace {

// <root>/consumequeue/<topic>/<id> has <root>/consumequeue_ext/<topic>/<id>.
std::string besideQueue(const std::string& directory) {
  const size_t id = directory.rfind('/');
  const size_t topic = id == std::string::npos || id == 0 ? id : directory.rfind('/', id - 1);
  return topic == std::string::npos ? std::string()
                                    : directory.substr(0, topic) + "_ext" + directory.substr(topic);
}

}  // namespace

ConsumeQueueExt::ConsumeQueueExt(const std::string& queueDirectory)
    : directory_(besideQueue(queueDirectory)) {}

Status ConsumeQueueExt::open() {
  const Result<uint64_t> size = findFileSize(directory_);
  if (!size.ok()) return size.status();
  if (*size < kLeastUnit) return Status(Code::kNotFound, "There are no extensions.");
  MappedFileQueue::Options options;
  options.directory = directory_;
  options.fileSize = *size;
  options.access = Access::kReadQuietly;
  options.readMode = ReadMode::kPositional;
  options.maxOpenFiles = 2;
  files_ = std::make_unique<MappedFileQueue>(options);
  return files_->load();
}

bool ConsumeQueueExt::read(int64_t position, Unit* found) {
  if (!files_ && !open().ok()) {
    files_.reset();
    return false;
  }
  const uint64_t at = static_cast<uint64_t>(position);
  const uint64_t size = files_->fileSize();
  if (at % size > size - kLeastUnit) return false;
  if (files_->fileAt(at) == nullptr && !files_->reload().ok()) return false;
  const Result<MappedFileQueue::Pinned> unit = files_->read(at, kLeastUnit, buffer_);
  if (!unit.ok()) return false;
  const uint8_t* bytes = (*unit).data;
  const int16_t own = load<int16_t>(bytes);
  const int16_t bitmap = load<int16_t>(bytes + 18);
  if (bitmap < 0 || own != static_cast<int32_t>(kLeastUnit) + bitmap) return false;
  found->tagsCode = load<int64_t>(bytes + 2);
  found->storeTimestamp = load<int64_t>(bytes + 10);
  return true;
}

int64_t ConsumeQueueExt::tagsCode(int64_t address) {
  Unit found;
  return read(address - INT64_MIN, &found) ? found.tagsCode : address;
}

ConsumeQueueExt::Unit ConsumeQueueExt::unitAt(int64_t address) {
  Unit unit;
  const int64_t position = address - INT64_MIN;
  unit.found = read(position, &unit);
  unit.path = directory_;
  unit.offset = position;
  if (files_) {
    const int64_t size = static_cast<int64_t>(files_->fileSize());
    unit.offset = position % size;
    unit.path += '/';
    unit.path += fileNameOf(static_cast<uint64_t>(position - unit.offset));
  }
  return unit;
}

}  // namespace lmq
