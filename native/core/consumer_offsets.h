// Consumer offsets: where each group is in each queue. Facts that the commit log cannot give back,
// in an append-only log of their own, offsets/log (layout: consumer_offsets_record.h), written
// aside anew when most of it is obsolete. A commit is one store into a map: it survives the end of
// the process when it returns, and a power cut once it is synced.
//
// Safe for any thread. A light queue is its full name and queue id 0.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "consumer_offsets_record.h"
#include "consumer_offsets_table.h"
#include "file.h"
#include "mapped_file.h"
#include "status.h"

namespace lmq {

class ConsumerOffsets {
 public:
  static constexpr size_t kSources = 2;  // files that offsets may be taken from, by number
  struct Options {
    std::string directory;
    std::string workDirectory;  // same file system; the log is made here and renamed in
    Access access = Access::kWrite;
  };
  struct Offset {
    std::string group;
    std::string topic;
    int32_t queueId = 0;
    int64_t offset = 0;
  };

  explicit ConsumerOffsets(Options options);

  // Reads the log; changes nothing. A torn tail is left out and cut by the next write. Damage
  // before whole records is noted as kCorruptFile, and what is behind it counts.
  Status load(std::vector<Status>* notes);
  // A reader takes in what the writer has added.
  Status refresh();

  int64_t committed(std::string_view group, std::string_view topic, int32_t queueId) const;
  // -1 there: none. A reader keeps what it sets to itself. On failure nothing has changed.
  Status commit(std::string_view group, std::string_view topic, int32_t queueId, int64_t offset);
  // Of a queue that is deleted: no group has an offset there any more.
  Status removeQueue(std::string_view topic, int32_t queueId);

  std::vector<std::string> groups() const;
  // A page of all offsets, in no order that means anything. `cursor` is 0 at first; false: no more.
  bool list(uint64_t* cursor, size_t limit, std::vector<Offset>* out) const;

  // All that holds at this moment, with what a reader set; lock-free to look into afterwards.
  ConsumerOffsetTable table() const;
  // The writer's log of this moment, written anew into a directory that has none, synced.
  Status copyTo(const std::string& directory) const;

  // What a file held when offsets were last taken from it; 0: never.
  int64_t source(size_t number) const;
  Status noteSource(size_t number, int64_t stamp);

  bool isDirty() const;
  // What was committed before the call is on the device after it.
  Status sync();

 private:
  bool isWritable() const { return options_.access == Access::kWrite; }
  std::string path() const { return options_.directory + "/log"; }
  void forget();
  bool apply(const OffsetRecord& record);
  Status scan(bool pastDamage, std::vector<Status>* notes);
  Status makeRoom(std::unique_lock<std::mutex>& guard, size_t bytes);
  Status rewrite(std::unique_lock<std::mutex>& guard);
  Status write(const OffsetRecord& record);
  Status nameNumber(std::string_view name, uint32_t* number);

  const Options options_;
  mutable std::mutex lock_;
  std::mutex rewriteLock_;  // one rewriting at a time; taken before lock_
  ConsumerOffsetTable table_;
  ConsumerOffsetTable own_;  // what a reader set, until the writer has taken in the same
  int64_t sources_[kSources] = {};
  std::shared_ptr<MappedFile> file_;  // a writer's; null before the first write
  File read_;                         // a reader's
  ReadBuffer scratch_;
  uint64_t end_ = 0;
  uint64_t synced_ = 0;
  bool torn_ = false;  // something else than zeros lies behind end_, or damage before it
};

}  // namespace lmq
