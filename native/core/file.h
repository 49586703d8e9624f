// The only OS calls of the core. Each fails as a Status that names the path; nothing here retries a
// full disk or hides an error. EINTR and short transfers are finished here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "status.h"

namespace lmq {

enum class Access : uint8_t { kRead, kReadQuietly /* O_NOATIME where allowed */, kWrite };

// An open file. Movable, closes itself.
class File {
 public:
  File() = default;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  static Result<File> open(const std::string& path, Access access);
  static Result<File> create(const std::string& path);        // must not exist; O_EXCL
  static Result<File> openOrCreate(const std::string& path);  // for lock, abort, names

  bool isOpen() const { return descriptor_ >= 0; }
  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  void rename(std::string path) { path_ = std::move(path); }  // after renameFile()

  Result<uint64_t> size() const;
  // All `length` bytes, or an error; a file that ends before them is kIo with its offset.
  Status readAt(uint64_t at, void* out, size_t length) const;
  // As many as there are; the count.
  Result<size_t> readSome(uint64_t at, void* out, size_t length) const;
  Status writeAt(uint64_t at, const void* data, size_t length) const;
  Status resize(uint64_t size) const;
  Status syncData() const;  // fdatasync
  bool isUnlinked() const;  // no name leads to it any more

  enum class Reserved : uint8_t { kGuaranteed, kNotGuaranteed };
  // Reserves blocks so that later stores cannot meet a full disk. kNotGuaranteed where the file
  // system gives no such promise (unsupported, copy-on-write): then write by writeAt, never by map.
  // Unless it is copy-on-write, holes are then filled with zeros, so that blocks are used all the
  // same. Data in the range is never disturbed.
  Result<Reserved> reserve(uint64_t at, uint64_t length) const;
  // Makes a range read as zeros, keeping it reserved where possible.
  Status zero(uint64_t at, uint64_t length) const;
  // First position at or behind `at` that may hold data; `size` if only holes follow. A hint: a
  // file system may report data where there are zeros, never the reverse.
  Result<uint64_t> seekData(uint64_t at, uint64_t size) const;
  // Position of the first byte in [at, end) that is not zero; `end` if all are. Reads by position.
  Result<uint64_t> findNonZero(uint64_t at, uint64_t end) const;
  // An advisory exclusive lock of the first byte (an open-file-description lock, which conflicts
  // with Java's and is not dropped by closing another descriptor). False if another holds it.
  Result<bool> lockFirstByte() const;
  // Would lockFirstByte() of another process fail now? Asks only.
  Result<bool> firstByteIsLocked() const;

 private:
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_ = -1;
  std::string path_;
};

// A shared mapping of a whole file. Movable, unmaps itself.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  static Result<Mapping> map(const File& file, uint64_t size, bool writable);
  bool isMapped() const { return data_ != nullptr; }
  uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }

  // Makes pages present and writable ahead of the writer (MADV_POPULATE_WRITE). Best effort on
  // systems without it; a full disk or an I/O error is a Status.
  Status populate(uint64_t at, uint64_t length, const std::string& path) const;
  // Pages will be touched here and there: bring in one at a time. The kernel else makes megabytes
  // of zeros for the first byte that is stored.
  void expectRandom() const;
  // Takes the pages that lie in the range from this process's page tables, all at once; the data
  // stays where it is and comes back when it is touched. Before a sync: the kernel would otherwise
  // take write access from each page by itself, which interrupts every processor page by page.
  void drop(uint64_t at, uint64_t length) const;
  // Blocks until the range is on the device (msync MS_SYNC of the pages that hold it).
  Status sync(uint64_t at, uint64_t length, const std::string& path) const;

 private:
  uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
};

struct FileInfo {
  bool exists = false;
  bool isDirectory = false;
  uint64_t size = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
};

struct DirectoryEntry {
  std::string name;
  bool isDirectory = false;
  uint64_t size = 0;  // of files
};

Result<FileInfo> inspect(const std::string& path);  // a missing path is not an error
Result<std::vector<DirectoryEntry>> list(
    const std::string& path);  // sorted by name; follows symlinks
// With `durable`, the parent of each new entry is synced.
Status makeDirectories(const std::string& path, bool durable = true);
Status syncDirectory(const std::string& path);
Status renameFile(const std::string& from, const std::string& to);
Status removeFile(const std::string& path);  // a missing file is not an error
Status removeTree(const std::string& path);  // a directory and all below it; links are not followed
// Blocks until everything written to the file system that holds `path` is on the device: one call
// for a great many files.
Status syncFileSystem(const std::string& path);
Status copyRange(const File& from, uint64_t at, uint64_t length, const File& to);  // to its end
// The first `length` bytes into an empty file, ranges of zeros as holes.
Status copySparsely(const File& from, uint64_t length, const File& to);
// Writes a small file aside (path + ".tmp"), syncs it, renames it in, syncs the directory.
Status replaceFile(const std::string& path, const void* data, size_t length);
Result<std::string> readWhole(const std::string& path, size_t limit);  // larger: kLimit
// How much of a path's device is used, of what this process could use at most; rounded up, percent.
Result<int> usedPercent(const std::string& path);
Result<uint64_t> physicalMemory();
uint64_t pageSize();        // asked from the system
int64_t wallClockMillis();  // coarse clock, cheap enough for every append

// For tests: reserve() answers kNotGuaranteed as on a file system without promises, so that both
// ways to write are tested everywhere. LMQ_STORE_WRITE_MODE=positional does it for a whole process.
// Returns what it was.
bool forcePositionalWrites(bool forced);

}  // namespace lmq
