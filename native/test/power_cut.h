// What a power cut leaves of a directory: what was synced for certain; of the rest any sector and
// any directory's state, or none of it.
#pragma once

#include "system_calls.h"

#ifdef __linux__

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "temp_directory.h"

namespace lmq {

class PowerCut {
 public:
  PowerCut() {
    self = this;
    calls::fileSynced = [](int file) { self->takeFile(file); };
    calls::mapSynced = [](const void* at, size_t length) { self->takeMap(at, length); };
  }
  ~PowerCut() {
    calls::fileSynced = nullptr;
    calls::mapSynced = nullptr;
  }
  PowerCut(const PowerCut&) = delete;
  PowerCut& operator=(const PowerCut&) = delete;

  // All of `root` is on the device now.
  void begin(const std::string& root) {
    const std::lock_guard<std::mutex> guard(lock_);
    files_.clear();
    directories_.clear();
    root_ = root;
    const auto take = [this](const std::string& path) {
      const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      takeOpen(file);
      ::close(file);
    };
    take(root);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      take(entry.path().string());
    }
  }

  // Writes what is left to `target`. `luck`: how much of what was not synced is there, in percent.
  void leave(const std::string& target, std::mt19937& random, int luck) {
    const std::lock_guard<std::mutex> guard(lock_);
    random_ = &random;
    luck_ = luck;
    leaveDirectory(root_, numberOf(root_), target);
  }

 private:
  static constexpr size_t kSector = 512;
  using Sector = std::array<char, kSector>;
  struct File {
    uint64_t size = 0;
    std::map<uint64_t, Sector> sectors;  // those that are not zero
  };
  struct Name {
    uint64_t number;
    bool isDirectory;
  };
  using Names = std::map<std::string, Name>;

  static uint64_t numberOf(const std::string& path) {
    struct stat status;
    return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
  }
  static Names namesIn(const std::string& path) {
    Names names;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(path, gone)) {
      names[entry.path().filename().string()] = {numberOf(entry.path().string()),
                                                 entry.is_directory()};
    }
    return names;
  }

  void takeFile(int file) {
    const std::lock_guard<std::mutex> guard(lock_);
    takeOpen(file);
  }
  void takeOpen(int file) {
    struct stat status;
    if (::fstat(file, &status) != 0) return;
    if (S_ISDIR(status.st_mode)) {
      const Names names = namesIn("/proc/self/fd/" + std::to_string(file));
      for (const auto& [name, entry] : names) {
        if (!entry.isDirectory) files_[entry.number];
      }
      directories_[status.st_ino] = names;
      return;
    }
    files_[status.st_ino] = readAll(file, static_cast<uint64_t>(status.st_size));
  }
  static File readAll(int file, uint64_t size) {
    File all;
    all.size = size;
    for (off_t at = 0; (at = ::lseek(file, at, SEEK_DATA)) >= 0;) {
      char block[4096];
      at -= at % static_cast<off_t>(sizeof(block));
      const ssize_t count = ::pread(file, block, sizeof(block), at);
      if (count <= 0) break;
      std::memset(block + count, 0, sizeof(block) - static_cast<size_t>(count));
      put(&all, static_cast<uint64_t>(at), block, sizeof(block));
      at += static_cast<off_t>(sizeof(block));
    }
    return all;
  }
  static void put(File* file, uint64_t at, const char* data, size_t length) {
    static const Sector kZero = {};
    for (size_t i = 0; i < length; i += kSector) {
      if (std::memcmp(data + i, kZero.data(), kSector) == 0) {
        file->sectors.erase(at + i);
      } else {
        std::memcpy(file->sectors[at + i].data(), data + i, kSector);
      }
    }
  }
  void takeMap(const void* at, size_t length) {
    const std::lock_guard<std::mutex> guard(lock_);
    const uint64_t from = reinterpret_cast<uint64_t>(at);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      uint64_t start = 0, end = 0, offset = 0, number = 0;
      int path = 0;
      if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %lu %n", &start, &end, &offset, &number,
                      &path) < 4 ||
          from < start || from >= end) {
        continue;
      }
      const uint64_t first = from - from % 4096;
      const size_t whole = (from + length - first + 4095) / 4096 * 4096;
      const int open = ::open(line.c_str() + path, O_RDONLY | O_CLOEXEC);
      if (open < 0) return;  // unlinked since
      std::vector<char> bytes(std::min<size_t>(whole, end - first));
      const ssize_t count =
          ::pread(open, bytes.data(), bytes.size(), static_cast<off_t>(offset + (first - start)));
      ::close(open);
      bytes.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
      bytes.resize((bytes.size() + kSector - 1) / kSector * kSector);
      File& file = files_[number];
      put(&file, offset + (first - start), bytes.data(), bytes.size());
      struct stat status;
      if (::stat(line.c_str() + path, &status) == 0)
        file.size = static_cast<uint64_t>(status.st_size);
      return;
    }
  }

  bool lucky() { return std::uniform_int_distribution<int>(0, 99)(*random_) < luck_; }

  // `now` is where the directory is now, if it still is there.
  void leaveDirectory(const std::string& now, uint64_t number, const std::string& target) {
    std::filesystem::create_directories(target);
    const Names current = namesIn(now);
    for (const auto& [name, entry] : lucky() ? current : directories_[number]) {
      const std::string path = target + "/" + name;
      const auto same = current.find(name);
      const bool there = same != current.end() && same->second.number == entry.number;
      if (entry.isDirectory) {
        leaveDirectory(there ? now + "/" + name : "/nowhere", entry.number, path);
      } else {
        leaveFile(there ? now + "/" + name : findPath(entry.number), entry.number, path);
      }
    }
  }
  // A file may have another name than its directory had when it was synced.
  std::string findPath(uint64_t number) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      if (!entry.is_directory() && numberOf(entry.path().string()) == number)
        return entry.path().string();
    }
    return "";
  }
  void leaveFile(const std::string& now, uint64_t number, const std::string& target) {
    File synced = files_[number];
    const int open = now.empty() ? -1 : ::open(now.c_str(), O_RDONLY | O_CLOEXEC);
    if (open >= 0) {
      struct stat status;
      ::fstat(open, &status);
      const File current = readAll(open, static_cast<uint64_t>(status.st_size));
      ::close(open);
      std::map<uint64_t, Sector> mixed = synced.sectors;
      for (const auto& [at, sector] : current.sectors) {
        if (lucky()) mixed[at] = sector;
      }
      for (const auto& [at, sector] : synced.sectors) {
        if (!current.sectors.contains(at) && lucky()) mixed.erase(at);  // zeroed since
      }
      synced = {std::max(synced.size, current.size), std::move(mixed)};
    }
    const int file = ::open(target.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    EXPECT_EQ(::ftruncate(file, static_cast<off_t>(synced.size)), 0);
    for (const auto& [at, sector] : synced.sectors) {
      const size_t length = std::min<uint64_t>(kSector, at < synced.size ? synced.size - at : 0);
      EXPECT_EQ(::pwrite(file, sector.data(), length, static_cast<off_t>(at)),
                static_cast<ssize_t>(length));
    }
    ::close(file);
  }

  static inline PowerCut* self = nullptr;
  std::mutex lock_;
  std::string root_;
  std::map<uint64_t, File> files_;  // by inode
  std::map<uint64_t, Names> directories_;
  std::mt19937* random_ = nullptr;
  int luck_ = 0;
};

}  // namespace lmq

#endif  // __linux__
