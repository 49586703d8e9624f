// Places for the tests' files, gone when the test ends.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/mount.h>
#endif

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/file.h"

namespace lmq {

// A Status as an assertion: EXPECT_TRUE(succeeded(status)) prints what went wrong.
inline testing::AssertionResult succeeded(const Status& status) {
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << codeText(status.code()) << " " << status.facts().message
                                     << " (" << status.facts().path << ")";
}

class TempDirectory {
 public:
  explicit TempDirectory(const std::string& base = std::filesystem::temp_directory_path().string())
      : path_(base + "/lmq-store-XXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  std::vector<std::string> names() const { return namesIn(path_); }
  static std::vector<std::string> namesIn(const std::string& path) {
    std::vector<std::string> names;
    Result<std::vector<DirectoryEntry>> entries = list(path);
    if (entries.ok()) {
      for (const DirectoryEntry& entry : *entries) names.push_back(entry.name);
    }
    return names;
  }

 private:
  std::string path_;
};

// For tests of very many syncs: in memory where the system has such a place.
inline std::string memoryDirectory() {
  const std::string memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory
                                             : std::filesystem::temp_directory_path().string();
}

// A file system of its own and of a given size, where the test may mount one.
class SmallDisk {
 public:
  explicit SmallDisk(const char* options) {
#ifdef __linux__
    mounted_ = ::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, options) == 0;
#else
    (void)options;
#endif
  }
  ~SmallDisk() {
#ifdef __linux__
    if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
#endif
  }
  bool isMounted() const { return mounted_; }
  const std::string& path() const { return directory_.path(); }
  std::string operator/(const std::string& name) const { return directory_ / name; }

 private:
  TempDirectory directory_;
  bool mounted_ = false;
};

// Writes by position while it lives.
class PositionalWrites {
 public:
  ~PositionalWrites() { forcePositionalWrites(before_); }

 private:
  bool before_ = forcePositionalWrites(true);
};

inline void writeFile(const std::string& path, const std::string& content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  ASSERT_GE(descriptor, 0) << path;
  ASSERT_EQ(::write(descriptor, content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  ::close(descriptor);
}

inline std::string contentOf(const std::string& path) {
  Result<std::string> content = readWhole(path, size_t{1} << 30);
  EXPECT_TRUE(succeeded(content.status()));
  return content.take();
}

inline int64_t modifiedAt(const std::string& path) {  // nanoseconds; -1 if there is no such file
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return -1;
#ifdef __APPLE__
  const timespec time = status.st_mtimespec;
#else
  const timespec time = status.st_mtim;
#endif
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

inline uint64_t bytesUsed(const std::string& path) {  // of blocks
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_blocks) * 512 : 0;
}

inline void ageFile(const std::string& path) {  // so that any later write shows in its time
  const timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

}  // namespace lmq
