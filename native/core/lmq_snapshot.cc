#include "lmq_snapshot.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "bytes.h"
#include "crc32.h"

namespace lmq {

namespace {

constexpr char kMagic[] = "LMQTABLE";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderSize = 128;
constexpr size_t kRowSize = 36;
constexpr size_t kCrcSize = 4;
constexpr uint64_t kBlockSize = kRowsPerBlock * kRowSize + kCrcSize;
constexpr uint64_t kBlocksAtOnce = 24;  // about 1 MB a transfer

uint64_t fileSizeFor(uint64_t rows) {
  const uint64_t blocks = (rows + kRowsPerBlock - 1) / kRowsPerBlock;
  return kHeaderSize + rows * kRowSize + blocks * kCrcSize;
}

void encodeHeader(const LmqSnapshotHeader& header, uint8_t* out) {
  const LmqIndex::Snapshot& covers = header.covers;
  std::memset(out, 0, kHeaderSize);
  std::memcpy(out, kMagic, 8);
  store<uint32_t>(out + 8, kVersion);
  store<uint32_t>(out + 12, kRowsPerBlock);
  store<uint64_t>(out + 16, covers.entries);
  store<uint64_t>(out + 24, covers.names);
  store<uint64_t>(out + 32, covers.queues);
  store<int64_t>(out + 40, covers.logPosition);
  store<int64_t>(out + 48, covers.last.physicalOffset);
  store<uint32_t>(out + 56, covers.last.size);
  store<uint32_t>(out + 60, covers.last.crc);
  store<uint32_t>(out + 64, header.lastEntryChecksum);
  store<uint32_t>(out + 68, header.namesDigest);
  store<uint32_t>(out + 124, crc32(0, out, 124));
}

void decodeHeader(const uint8_t* in, LmqSnapshotHeader* header) {
  LmqIndex::Snapshot& covers = header->covers;
  covers.entries = load<uint64_t>(in + 16);
  covers.names = load<uint64_t>(in + 24);
  covers.queues = load<uint64_t>(in + 32);
  covers.logPosition = load<int64_t>(in + 40);
  covers.last.physicalOffset = load<int64_t>(in + 48);
  covers.last.size = load<uint32_t>(in + 56);
  covers.last.crc = load<uint32_t>(in + 60);
  header->lastEntryChecksum = load<uint32_t>(in + 64);
  header->namesDigest = load<uint32_t>(in + 68);
}

void encodeRow(const LmqRow& row, uint8_t* out) {
  store40(out, row.tail());
  store40(out + 5, row.skip());
  store40(out + 10, row.jump());
  store40(out + 15, row.count());
  store<int64_t>(out + 20, row.next());
  store<int64_t>(out + 28, row.minimum());
}

// False if no queue can have such a row.
bool decodeRow(const uint8_t* in, LmqRow* row) {
  *row = LmqRow();
  row->setTail(load40(in));
  row->setSkip(load40(in + 5));
  row->setJump(load40(in + 10));
  row->setCount(load40(in + 15));
  row->setNext(load<int64_t>(in + 20));
  const int64_t minimum = load<int64_t>(in + 28);
  row->setMinimum(minimum);
  return row->next() >= 0 && row->minimum() == minimum && row->skip() <= row->tail() &&
         row->jump() <= row->skip() && (row->count() == 0) == (row->tail() == 0);
}

}  // namespace

Result<LmqSnapshotWriter> LmqSnapshotWriter::create(const std::string& path,
                                                    const LmqSnapshotHeader& header) {
  LMQ_TRY(removeFile(path));
  Result<File> file = File::create(path);
  if (!file.ok()) return file.takeStatus();
  LmqSnapshotWriter writer;
  writer.file_ = file.take();
  writer.buffer_.resize(kHeaderSize);
  encodeHeader(header, writer.buffer_.data());
  return writer;
}

Status LmqSnapshotWriter::add(const LmqRow* rows, size_t count) {
  const size_t start = buffer_.size();
  buffer_.resize(start + count * kRowSize + kCrcSize);
  uint8_t* block = buffer_.data() + start;
  for (size_t i = 0; i < count; i++) encodeRow(rows[i], block + i * kRowSize);
  store<uint32_t>(block + count * kRowSize, crc32(0, block, count * kRowSize));
  if (buffer_.size() < kBlocksAtOnce * kBlockSize) return {};
  LMQ_TRY(file_.writeAt(at_, buffer_.data(), buffer_.size()));
  at_ += buffer_.size();
  buffer_.clear();
  return {};
}

Status LmqSnapshotWriter::finish() {
  LMQ_TRY(file_.writeAt(at_, buffer_.data(), buffer_.size()));
  return file_.syncData();
}

Status LmqSnapshotReader::damaged(uint64_t at, const char* what) const {
  return Status(Code::kCorruptFile, what).at(file_.path()).offset(static_cast<int64_t>(at));
}

Result<LmqSnapshotReader> LmqSnapshotReader::open(const std::string& path, Access access) {
  Result<File> file = File::open(path, access);
  if (!file.ok()) return file.takeStatus();
  LmqSnapshotReader reader;
  reader.file_ = file.take();
  Result<uint64_t> size = reader.file_.size();
  if (!size.ok()) return size.takeStatus();
  if (*size < kHeaderSize) return reader.damaged(0, "The table of light queues is cut short");
  uint8_t header[kHeaderSize];
  LMQ_TRY(reader.file_.readAt(0, header, kHeaderSize));
  if (std::memcmp(header, kMagic, 8) != 0 ||
      load<uint32_t>(header + 124) != crc32(0, header, 124)) {
    return reader.damaged(0, "The header of the table of light queues is damaged");
  }
  if (load<uint32_t>(header + 8) != kVersion) {
    return Status(Code::kVersion, "The table of light queues has an unknown version").at(path);
  }
  decodeHeader(header, &reader.header_);
  const uint64_t rows = reader.header_.covers.queues;
  if (load<uint32_t>(header + 12) != kRowsPerBlock || rows > LmqRows::kMax ||
      *size != fileSizeFor(rows)) {
    return reader.damaged(*size, "The table of light queues has another length than it should");
  }
  reader.at_ = kHeaderSize;
  reader.left_ = rows;
  return reader;
}

Status LmqSnapshotReader::next(std::vector<LmqRow>* rows) {
  const size_t count = std::min(left_, kRowsPerBlock * kBlocksAtOnce);
  const size_t blocks = (count + kRowsPerBlock - 1) / kRowsPerBlock;
  rows->clear();
  try {
    rows->reserve(count);
    buffer_.resize(count * kRowSize + blocks * kCrcSize);
  } catch (const std::bad_alloc&) {
    return Status(Code::kNoMemory, "No memory to read the table of light queues");
  }
  if (count == 0) return {};
  LMQ_TRY(file_.readAt(at_, buffer_.data(), buffer_.size()));
  const uint8_t* block = buffer_.data();
  for (size_t left = count; left > 0;) {
    const size_t inBlock = std::min<size_t>(left, kRowsPerBlock);
    const uint8_t* crc = block + inBlock * kRowSize;
    if (load<uint32_t>(crc) != crc32(0, block, inBlock * kRowSize)) {
      return damaged(at_ + static_cast<uint64_t>(block - buffer_.data()),
                     "A block of the table of light queues is damaged");
    }
    for (size_t i = 0; i < inBlock; i++) {
      if (!decodeRow(block + i * kRowSize, &rows->emplace_back())) {
        return damaged(at_ + static_cast<uint64_t>(block + i * kRowSize - buffer_.data()),
                       "A row of the table of light queues makes no sense");
      }
    }
    block = crc + kCrcSize;
    left -= inBlock;
  }
  at_ += buffer_.size();
  left_ -= count;
  return {};
}

}  // namespace lmq
