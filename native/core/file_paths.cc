// Names in directories: the part of file.h that works on paths.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "file.h"
#include "file_os.h"

namespace lmq {

namespace {

constexpr mode_t kDirectoryMode = 0755;

std::string parentOf(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  const size_t slash = end == std::string::npos ? end : path.rfind('/', end);
  if (slash == std::string::npos) return path.empty() || path[0] != '/' ? "." : "/";
  const size_t last = path.find_last_not_of('/', slash);
  return last == std::string::npos ? "/" : path.substr(0, last + 1);
}

FileInfo infoOf(const struct stat& status) {
  FileInfo info;
  info.exists = true;
  info.isDirectory = S_ISDIR(status.st_mode);
  info.size = S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
  info.device = static_cast<uint64_t>(status.st_dev);
  info.inode = static_cast<uint64_t>(status.st_ino);
  return info;
}

}  // namespace

Result<FileInfo> inspect(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) return infoOf(status);
  if (errno == ENOENT || errno == ENOTDIR) return FileInfo();
  return Status::system(errno, "Inspecting", path);
}

Result<std::vector<DirectoryEntry>> list(const std::string& path) {
  Result<int> opened = os::openDescriptor(path, O_RDONLY | O_DIRECTORY);
  if (!opened.ok()) return opened.takeStatus();
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(*opened), ::closedir);
  if (!directory) {
    const int error = errno;
    ::close(*opened);
    return Status::system(error, "Listing", path);
  }
  std::vector<DirectoryEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* found = ::readdir(directory.get());
    if (found == nullptr) break;
    DirectoryEntry entry;
    entry.name = found->d_name;
    if (entry.name == "." || entry.name == "..") continue;
    if (found->d_type == DT_DIR) {  // saves a call each: there may be a directory per topic
      entry.isDirectory = true;
    } else {
      struct stat status;
      if (::fstatat(::dirfd(directory.get()), found->d_name, &status, 0) != 0) {
        if (errno == ENOENT) continue;  // gone since, or a link to nothing
        return Status::system(errno, "Inspecting", path + "/" + entry.name);
      }
      const FileInfo info = infoOf(status);
      entry.isDirectory = info.isDirectory;
      entry.size = info.size;
    }
    entries.push_back(std::move(entry));
  }
  if (errno != 0) return Status::system(errno, "Listing", path);
  std::sort(entries.begin(), entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
  return entries;
}

Result<int> usedPercent(const std::string& path) {
  struct statvfs status;
  if (os::retry([&] { return ::statvfs(path.c_str(), &status); }) != 0) {
    return Status::system(errno, "Measuring the device of", path);
  }
  const uint64_t used = status.f_blocks - status.f_bfree;
  const uint64_t usable = used + status.f_bavail;
  return usable == 0 ? 0 : static_cast<int>((used * 100 + usable - 1) / usable);
}

Status makeDirectories(const std::string& path, bool durable) {
  Result<FileInfo> info = inspect(path);
  if (!info.ok()) return info.takeStatus();
  if (info->exists) {
    return info->isDirectory ? Status() : Status::system(ENOTDIR, "Making the directory", path);
  }
  const std::string parent = parentOf(path);
  if (parent != path) LMQ_TRY(makeDirectories(parent, durable));
  if (::mkdir(path.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
    return Status::system(errno, "Making the directory", path);
  }
  return durable ? syncDirectory(parent) : Status();
}

Status syncDirectory(const std::string& path) {
  Result<int> opened = os::openDescriptor(path, O_RDONLY | O_DIRECTORY);
  if (!opened.ok()) return opened.takeStatus();
  const int result = os::retry([&] { return ::fsync(*opened); });
  const int error = errno;
  ::close(*opened);
  // EINVAL: this file system has no way to sync a directory, so nothing more can be done.
  if (result != 0 && error != EINVAL) return os::syncFailed(error, path);
  return {};
}

Status renameFile(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return Status::system(errno, "Renaming", from);
  return {};
}

Status removeFile(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return Status::system(errno, "Removing", path);
  }
  return {};
}

Status removeTree(const std::string& path) {
  Result<std::vector<DirectoryEntry>> entries = list(path);
  if (!entries.ok())
    return entries.status().code() == Code::kNotFound ? Status() : entries.takeStatus();
  for (const DirectoryEntry& entry : *entries) {
    const std::string below = path + "/" + entry.name;
    // A link to a directory is unlinked, what it leads to is not ours.
    if (::unlink(below.c_str()) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) return Status::system(errno, "Removing", below);
    LMQ_TRY(removeTree(below));
  }
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT) {
    return Status::system(errno, "Removing", path);
  }
  return {};
}

Status copySparsely(const File& from, uint64_t length, const File& to) {
  constexpr uint64_t kPiece = 1 << 20;
  constexpr uint64_t kBlock = 4096;
  for (uint64_t at = 0; at < length;) {
    Result<uint64_t> data = from.findNonZero(at, length);
    if (!data.ok()) return data.takeStatus();
    if (*data == length) break;
    at = std::max(at, *data - *data % kBlock);
    const uint64_t piece = std::min(kPiece, length - at);
    LMQ_TRY(to.resize(at));  // a copy goes to the end
    LMQ_TRY(copyRange(from, at, piece, to));
    at += piece;
  }
  return to.resize(length);
}

Status replaceFile(const std::string& path, const void* data, size_t length) {
  const std::string aside = path + ".tmp";
  LMQ_TRY(removeFile(aside));
  Status status;
  {
    Result<File> file = File::create(aside);
    if (!file.ok()) return file.takeStatus();
    status = file->writeAt(0, data, length);
    if (status.ok()) status = file->syncData();
  }
  if (status.ok()) status = renameFile(aside, path);
  if (!status.ok()) {
    (void)removeFile(aside);
    return status;
  }
  return syncDirectory(parentOf(path));
}

Result<std::string> readWhole(const std::string& path, size_t limit) {
  Result<File> file = File::open(path, Access::kRead);
  if (!file.ok()) return file.takeStatus();
  Result<uint64_t> size = file->size();
  if (!size.ok()) return size.takeStatus();
  if (*size > limit) {
    return Status(Code::kLimit, "The file is larger than it may be")
        .at(path)
        .limit(static_cast<int64_t>(limit));
  }
  std::string text(static_cast<size_t>(*size), '\0');
  Result<size_t> count = file->readSome(0, text.data(), text.size());
  if (!count.ok()) return count.takeStatus();
  text.resize(*count);
  return text;
}

}  // namespace lmq
