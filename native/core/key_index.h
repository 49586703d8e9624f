// RocketMQ's key index: files named by the time at which they were made, each begun when the one
// before is full (spec 5.8). Search by key asks the newest first.
//
// Keys of different texts may have one hash: what a search gives are candidates, whose records say
// whether they have the key.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "key_index_file.h"
#include "preparer.h"
#include "record.h"
#include "status.h"

namespace lmq {

class KeyIndex {
 public:
  struct Options {
    std::string directory;
    std::string workDirectory;
    KeyIndexShape shape;                // of new files
    std::vector<KeyIndexShape> shapes;  // that a file may have: the first whose length fits
    Access access = Access::kWrite;
    ReadMode readMode = ReadMode::kMap;
  };
  KeyIndex(Options options, Preparer* preparer);
  ~KeyIndex();
  KeyIndex(const KeyIndex&) = delete;
  KeyIndex& operator=(const KeyIndex&) = delete;

  static constexpr KeyIndexShape kBrokerShape{5'000'000, 20'000'000};  // RocketMQ's default
  // The shape of the newest file below `directory` that fits one of `shapes`.
  static Result<std::optional<KeyIndexShape>> findShape(const std::string& directory,
                                                        const std::vector<KeyIndexShape>& shapes);

  // Hash of `key` of `topic`, as RocketMQ makes it of topic#key.
  static int32_t hashOf(std::string_view topic, std::string_view key);

  // Lists the files. One of a length that fits no shape is left alone and noted.
  Status load(std::vector<Status>* odd);
  // After an unclean end: entries of records at or above `position` go, and what cannot be entries.
  Status restore(int64_t position, const KeyIndexFile::TimeOf& timeOf);
  Status removeAll();
  bool isPlausible() const { return last_ == nullptr || last_->isPlausible(); }
  // Position of the last record that has an entry, -1: there is none. A reader asks the files.
  int64_t lastPhysicalOffset() const { return lastOffset_; }
  Result<bool> refresh();

  // Append side. Room first: afterwards `count` entries can be added.
  Status reserve(size_t count) {
    return static_cast<int64_t>(count) <= room_ ? Status()
                                                : reserveRoom(static_cast<int64_t>(count));
  }
  // The unique key first, then the others, then the tags. Of a record that is there already, in
  // whole or in part, only what is missing. `topicHash` is Java's hash of its topic.
  Status add(int32_t topicHash, const Keys& keys, int64_t physicalOffset, int64_t timestamp);

  // What is not on the device, as it is now: under the append lock. sync() then needs no lock.
  struct Unsynced {
    std::vector<std::shared_ptr<KeyIndexFile>> files;
    std::vector<int32_t> next;  // of each file
    bool directory = false;     // files were made
    int64_t fullTimestamp = 0;  // last timestamp of the newest full file
    int64_t lastOffset = -1;
  };
  Unsynced unsynced();
  Status sync(const Unsynced& what);

  // Leaves out the files whose records all lie below `logMin`, oldest first, never the newest,
  // which says where the index ends. Under the append lock; then removeDetached() on one thread at
  // a time.
  Status detachBefore(int64_t logMin);
  // What could not be removed is tried again by the next call.
  Status removeDetached();

  // One step of a search, from the newest entry on. begin and end are store times in ms.
  struct Search {
    int32_t hash = 0;
    int64_t begin = 0;
    int64_t end = 0;
    std::string file;     // where to go on; empty: at the newest
    int64_t number = -1;  // of the entry there; -1: the head of its chain
    bool done = false;
  };
  // Looks at a bounded number of entries; positions of candidates go to `out`, newest first. A file
  // whose shape is not known is kFileSize if it may hold an answer.
  Status search(Search* search, std::vector<int64_t>* out);

 private:
  struct Slot {
    std::string name;
    std::optional<KeyIndexShape> shape;  // none: of an odd length
    uint64_t size = 0;
  };
  std::string pathOf(const std::string& name) const { return options_.directory + "/" + name; }
  Status scan(std::vector<Slot>* slots) const;
  Result<std::shared_ptr<KeyIndexFile>> open(const Slot& slot) const;
  Status openLast();
  Status searchFile(const Slot& slot, Search* search, std::vector<int64_t>* out, size_t* looks,
                    bool* goOn);

  Status reserveRoom(int64_t count);
  Result<std::shared_ptr<KeyIndexFile>> makeFile() const;
  void askToPrepare();
  void askForNext();
  Status roll();
  Status put(int32_t hash, int64_t physicalOffset, int64_t timestamp);
  Result<size_t> entriesOf(int64_t physicalOffset) const;  // of the last record

  Options options_;
  Preparer* preparer_;
  std::vector<Slot> slots_;  // by name, which is by age
  std::shared_ptr<KeyIndexFile> last_;
  int64_t lastOffset_ = -1;
  int64_t room_ = 0;
  int64_t fullTimestamp_ = 0;
  std::vector<std::shared_ptr<KeyIndexFile>> full_;  // and not known to be synced
  bool directoryDirty_ = false;
  std::deque<std::string> detached_;        // paths; only of detachBefore() and removeDetached()
  std::shared_ptr<KeyIndexFile> searched_;  // the last file that a search looked into

  std::mutex readyLock_;
  std::deque<std::shared_ptr<KeyIndexFile>> ready_;  // made in the work directory
  bool preparing_ = false;
};

}  // namespace lmq
