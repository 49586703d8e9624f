// One file of RocketMQ's key index (spec 5.8): a hash table from keys to positions in the log.
//
//   at                 size  field
//   0                  8     store timestamp of the first entry
//   8                  8     store timestamp of the last entry
//   16                 8     physical offset of the first entry
//   24                 8     physical offset of the last entry
//   32                 4     slots in use
//   36                 4     number of the next entry; entries are numbered from 1
//   40                 4n    slots: the number of the newest entry of the chain, 0 if there is none
//   40 + 4 slots       20m   entries; entry 0 is never written
//
// Entry: 0 hash (4), 4 physical offset (8), 12 seconds since the first timestamp (4), 16 number of
// the entry before it in its chain (4).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "mapped_file.h"
#include "status.h"

namespace lmq {

// How many slots and entries a file has; the file does not say it.
struct KeyIndexShape {
  int64_t slots = 0;
  int64_t entries = 0;  // entry 0 included

  uint64_t entryAt(int64_t number) const {
    return 40 + 4 * static_cast<uint64_t>(slots) + 20 * static_cast<uint64_t>(number);
  }
  uint64_t fileSize() const { return entryAt(entries); }
  bool operator==(const KeyIndexShape&) const = default;
};

class KeyIndexFile {
 public:
  static constexpr size_t kHeaderSize = 40;
  static constexpr size_t kSlotSize = 4;
  static constexpr size_t kEntrySize = 20;
  struct Header {
    int64_t beginTimestamp = 0;
    int64_t endTimestamp = 0;
    int64_t beginPhyOffset = 0;
    int64_t endPhyOffset = 0;
    int32_t usedSlots = 0;
    int32_t next = 1;
  };
  struct Entry {
    int32_t hash = 0;
    int64_t physicalOffset = 0;
    int32_t seconds = 0;
    int32_t previous = 0;
  };

  // Made at `workPath`, all zero; publish() names it.
  static Result<std::shared_ptr<KeyIndexFile>> make(const std::string& workPath,
                                                    KeyIndexShape shape, ReadMode mode);
  static Result<std::shared_ptr<KeyIndexFile>> open(const std::string& path, KeyIndexShape shape,
                                                    Access access, ReadMode mode);

  const std::string& path() const { return file_->path(); }
  const KeyIndexShape& shape() const { return shape_; }
  // The writer's, or as it was when it was opened or last read.
  const Header& header() const { return header_; }
  Status readHeader();
  static Result<Header> readHeader(const std::string& path);  // of a file of any shape
  bool isPlausible() const;
  bool hasEntries() const { return header_.next > 1; }
  int64_t left() const { return shape_.entries - header_.next; }  // entries that still fit

  // Writing, one thread. Room first, for `count` entries; their blocks come in steps.
  Status reserve(int64_t count);
  int64_t room() const;  // entries that can be put without reserve()
  // In the background: of a new file slots and the first entries, then the entries behind those for
  // which there is room.
  Status prepare();
  Status prepareNext();
  // Begins where the file before ended, as RocketMQ's does (spec Q31), and takes its name.
  Status publish(const std::string& path, const Header& before);
  Status put(int32_t hash, int64_t physicalOffset, int64_t timestamp);
  // Keeps the entries of records below `position`, up to the first that cannot be one: chains,
  // slots and header are made from them anew, the rest is zero, all of it synced. `timeOf` tells
  // the store timestamp of a record, -1 if there is none. Afterwards only the entries tell what is
  // there.
  using TimeOf = std::function<int64_t(int64_t physicalOffset)>;
  Status restore(int64_t position, const TimeOf& timeOf);
  Status sync();
  Status remove() { return file_->remove(); }
  int32_t syncedNext = 0;  // entries below it are on the device; the flusher's

  // Reading. Never beyond the file, whatever its bytes say.
  Result<Entry> entry(int64_t number) const;
  Result<int32_t> slot(int32_t hash) const;  // the newest entry of the chain, 0: none
  // Store time of an entry in ms, at least and at most: the file has whole seconds.
  struct Times {
    int64_t from;
    int64_t to;
  };
  Times timesOf(const Entry& entry, int64_t number) const;

 private:
  KeyIndexFile(std::shared_ptr<MappedFile> file, KeyIndexShape shape)
      : file_(std::move(file)), shape_(shape) {}
  uint64_t slotAt(int32_t hash) const {
    return kHeaderSize + kSlotSize * static_cast<uint64_t>(hash % shape_.slots);
  }
  Status notReserved() const;
  Status writeEntry(int64_t number, const Entry& entry);
  Status writeSlot(uint64_t at, int32_t number);
  Status writeHeader();
  Status rechain(int64_t end);

  std::shared_ptr<MappedFile> file_;
  KeyIndexShape shape_;
  Header header_;
  mutable ReadBuffer read_;
  ReadBuffer scratch_;
};

}  // namespace lmq
