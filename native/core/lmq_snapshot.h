// The table at rest: the rows of all queues as they were when a number of entries had been added.
// One file, written aside and renamed in.
//
//   at  size  field                                   at   size  field
//   0   8     "LMQTABLE"                              48   8     last record: physical offset
//   8   4     version                                 56   4       size
//   12  4     rows per block                          60   4       CRC
//   16  8     entries covered                         64   4     checksum of the last entry covered
//   24  8     bytes of names covered                  68   4     CRC-32 of the names' checksums
//   32  8     number of queues                        72   52    0
//   40  8     position of the log: below is covered   124  4     CRC-32 of bytes 0..123
//
// Then blocks of rows, by queue number, the last one shorter; each is followed by its CRC-32 (4):
//
//   0   5     number of the last entry + 1, 0: none   15   5     number of entries
//   5   5     newest skip entry + 1, 0: none          20   8     next offset
//   10  5     where its skip link leads, + 1          28   8     offset of the first entry
//
// Numbers are big-endian. A row may be ahead of "entries covered", since appending goes on while
// rows are taken; what it is ahead by is on the device too, and is taken back when it is loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "file.h"
#include "lmq_index.h"
#include "lmq_rows.h"
#include "status.h"

namespace lmq {

struct LmqSnapshotHeader {
  LmqIndex::Snapshot covers;
  uint32_t lastEntryChecksum = 0;  // 0: no entry
  uint32_t namesDigest = 0;
};

constexpr uint64_t kRowsPerBlock = 1024;

// Writes a file under construction, block by block.
class LmqSnapshotWriter {
 public:
  static Result<LmqSnapshotWriter> create(const std::string& path, const LmqSnapshotHeader& header);
  Status add(const LmqRow* rows, size_t count);  // kRowsPerBlock each time but the last
  Status finish();                               // synced

  LmqSnapshotWriter() = default;

 private:
  File file_;
  uint64_t at_ = 0;
  std::vector<uint8_t> buffer_;
};

class LmqSnapshotReader {
 public:
  // kNotFound, kCorruptFile, kVersion. Looks at the header and the length alone.
  static Result<LmqSnapshotReader> open(const std::string& path, Access access);
  const LmqSnapshotHeader& header() const { return header_; }
  // The next block's rows; none in the end.
  Status next(std::vector<LmqRow>* rows);

  LmqSnapshotReader() = default;

 private:
  Status damaged(uint64_t at, const char* what) const;

  File file_;
  LmqSnapshotHeader header_;
  uint64_t at_ = 0;
  uint64_t left_ = 0;  // rows
  std::vector<uint8_t> buffer_;
};

}  // namespace lmq
