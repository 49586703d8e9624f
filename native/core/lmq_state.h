// The state file: the facts about light queues that the commit log cannot give back. Append-only,
// checksummed, synced before the call returns; rewritten aside when most of it is obsolete.
//
//   at  size  field
//   0   4     checksum: CRC-32 of the rest, top bit set
//   4   1     kind; top bit set: everything before this fact was synced when it was written
//   5   2     length of the name
//   7   8     queue offset (kNextOffset) or 0
//   15  8     physical offset: the log's end at that time
//   23  n     name, with the %LMQ% prefix
//
// The top bit of the kind tells a torn write from damage: the first fact of each write has it, the
// others of the same write have not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "file.h"
#include "status.h"

namespace lmq {

class LmqState {
 public:
  enum Kind : uint8_t {
    kNextOffset = 1,  // the queue's next offset is at least this
    kDeleted = 2,     // the queue was deleted when the log ended there; parts of records below are
                      // skipped by replay, rebuild and export
  };
  struct Fact {
    Kind kind = kNextOffset;
    std::string name;
    int64_t queueOffset = 0;
    int64_t logEnd = 0;
  };

  // Reads `path` (missing: no facts). A damaged tail that was never synced is ignored and cut by
  // the next write; damage before what a later write had found synced is kCorruptFile.
  static Result<LmqState> load(const std::string& path, Access access);

  // Those that hold, at most one of each kind for a name; deletions first, since each ends the next
  // offset that was known before it.
  std::vector<Fact> facts() const;
  int64_t nextOffset(std::string_view name) const;  // 0 if unknown
  int64_t deletedAt(std::string_view name) const;   // -1 if not deleted
  // One write, one sync. On failure no fact counts here; on the device any of them may.
  Status record(const std::vector<Fact>& facts);
  // Drops deletions at or below `logMin`: no record is left that they concern. Takes effect on the
  // device with the next rewriting.
  void forgetDeletions(int64_t logMin);

 private:
  struct Known {
    int64_t next = -1;  // none
    int64_t nextLogEnd = 0;
    int64_t deleted = -1;  // none
  };

  void take(const Fact& fact);
  Status rewrite(const std::vector<Fact>& added);

  std::string path_;
  bool writable_ = false;
  std::unordered_map<std::string, Known> known_;
  uint64_t validSize_ = 0;  // of the file; what lies behind is torn
  uint64_t liveSize_ = 0;   // that the facts which hold would take
};

}  // namespace lmq
