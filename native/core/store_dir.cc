#include "store_dir.h"

#include <unistd.h>

#include <charconv>

#include "bytes.h"
#include "crc32.h"

namespace lmq {

namespace {

constexpr uint32_t kOwnVersion = 2;
constexpr size_t kOwnSlotSize = 112;
constexpr uint64_t kOwnSlotDistance = 4096;
constexpr size_t kSmallFile = 64 * 1024;

void encodeSlot(const OwnCheckpoint& c, uint8_t* out) {
  store<uint32_t>(out + 4, kOwnVersion);
  store<uint64_t>(out + 8, c.sequence);
  store<int64_t>(out + 16, c.logSynced);
  store<int64_t>(out + 24, c.derivedSynced);
  store<uint64_t>(out + 32, c.lmqEntries);
  store<int64_t>(out + 40, c.clean ? 1 : 0);
  store<int64_t>(out + 48, c.logEnd);
  store<int64_t>(out + 56, c.last.physicalOffset);
  store<int64_t>(out + 64, c.last.size);
  store<int64_t>(out + 72, c.last.crc);
  store<int64_t>(out + 80, c.lastTimestamp);
  store<int64_t>(out + 88, c.queueUnits);
  store<int64_t>(out + 96, c.keysSynced);
  store<int64_t>(out + 104, c.lastKeyed);
  store<uint32_t>(out, crc32(0, out + 4, kOwnSlotSize - 4));
}

std::optional<OwnCheckpoint> decodeSlot(const uint8_t* in) {
  if (load<uint32_t>(in) != crc32(0, in + 4, kOwnSlotSize - 4)) return std::nullopt;
  if (load<uint32_t>(in + 4) != kOwnVersion) return std::nullopt;
  OwnCheckpoint c;
  c.sequence = load<uint64_t>(in + 8);
  c.logSynced = load<int64_t>(in + 16);
  c.derivedSynced = load<int64_t>(in + 24);
  c.lmqEntries = load<uint64_t>(in + 32);
  c.clean = load<int64_t>(in + 40) == 1;
  c.logEnd = load<int64_t>(in + 48);
  c.last.physicalOffset = load<int64_t>(in + 56);
  c.last.size = static_cast<uint32_t>(load<int64_t>(in + 64));
  c.last.crc = static_cast<uint32_t>(load<int64_t>(in + 72));
  c.lastTimestamp = load<int64_t>(in + 80);
  c.queueUnits = load<int64_t>(in + 88);
  c.keysSynced = load<int64_t>(in + 96);
  c.lastKeyed = load<int64_t>(in + 104);
  return c;
}

// The integer behind "key": in the flat object that writeMarker() writes.
std::optional<int64_t> integerOf(const std::string& json, const char* key) {
  size_t at = json.find('"' + std::string(key) + '"');
  if (at == std::string::npos) return std::nullopt;
  at = json.find(':', at);
  if (at == std::string::npos) return std::nullopt;
  at = json.find_first_not_of(" \t\r\n", at + 1);
  if (at == std::string::npos) return std::nullopt;
  int64_t value = 0;
  const char* end = json.data() + json.size();
  const auto [stop, error] = std::from_chars(json.data() + at, end, value);
  if (error != std::errc() || stop == json.data() + at) return std::nullopt;
  return value;
}

}  // namespace

StoreDir::StoreDir(std::string root, std::string commitLog)
    : root_(std::move(root)), commitLog_(std::move(commitLog)) {
  while (root_.size() > 1 && root_.back() == '/') root_.pop_back();
}

Result<bool> StoreDir::hasRocksDbQueues() const {
  const Result<FileInfo> info = inspect(consumeQueue() + "/CURRENT");
  if (!info.ok()) return info.status();
  return (*info).exists && !(*info).isDirectory;
}

Status StoreDir::lock() {
  Result<File> file = File::openOrCreate(lockPath());
  if (!file.ok()) return file.takeStatus();
  Result<bool> held = file->lockFirstByte();
  if (!held.ok()) return held.takeStatus();
  if (!*held) {
    const Result<int64_t> pid = abortPid();
    std::string message = "The directory is open elsewhere";
    if (pid.ok() && *pid > 0)
      message += " (its abort file names process " + std::to_string(*pid) + ")";
    return Status(Code::kLocked, message + ".").at(root_);
  }
  const Result<uint64_t> size = file->size();
  if (!size.ok()) return size.status();
  if (*size == 0) LMQ_TRY(file->writeAt(0, "lock", 4));
  lock_ = file.take();
  return {};
}

Result<bool> StoreDir::isLocked() const {
  const Result<FileInfo> info = inspect(lockPath());
  if (!info.ok()) return info.status();
  if (!(*info).exists) return false;
  const Result<File> file = File::open(lockPath(), Access::kReadQuietly);
  if (!file.ok()) return file.status();
  return (*file).firstByteIsLocked();
}

Result<bool> StoreDir::aborted() const {
  const Result<FileInfo> info = inspect(abortPath());
  if (!info.ok()) return info.status();
  return (*info).exists;
}

Result<int64_t> StoreDir::abortPid() const {
  const Result<FileInfo> info = inspect(abortPath());
  if (!info.ok()) return info.status();
  if (!(*info).exists) return int64_t{-1};
  const Result<std::string> text = readWhole(abortPath(), kSmallFile);
  if (!text.ok()) return text.status();
  int64_t pid = -1;
  std::from_chars((*text).data(), (*text).data() + (*text).size(), pid);
  return pid;
}

Status StoreDir::createAbort() {
  const std::string pid = std::to_string(getpid());
  return replaceFile(abortPath(), pid.data(), pid.size());
}

Status StoreDir::removeAbort() {
  LMQ_TRY(removeFile(abortPath()));
  return syncDirectory(root_);
}

Result<std::optional<Marker>> StoreDir::readMarker() const {
  const Result<FileInfo> info = inspect(markerPath());
  if (!info.ok()) return info.status();
  if (!(*info).exists) return std::optional<Marker>();
  const Result<std::string> json = readWhole(markerPath(), kSmallFile);
  if (!json.ok()) return json.status();
  const auto damaged = [&] {
    return Status(Code::kCorruptFile, "The marker is not what lmq-store writes.").at(markerPath());
  };
  Marker marker;
  const std::optional<int64_t> format = integerOf(*json, "format");
  const std::optional<int64_t> log = integerOf(*json, "mappedFileSizeCommitLog");
  const std::optional<int64_t> queue = integerOf(*json, "mappedFileSizeConsumeQueue");
  if (!format || *format < 1) return damaged();
  if (*format > Marker::kFormat) {
    return Status(Code::kVersion, "The directory has format " + std::to_string(*format) + ".")
        .at(markerPath())
        .limit(Marker::kFormat);
  }
  if (!log || !queue || *log < 0 || *queue < 0) return damaged();
  marker.format = *format;
  marker.mappedFileSizeCommitLog = *log;
  marker.mappedFileSizeConsumeQueue = *queue;
  marker.maxHashSlotNum = integerOf(*json, "maxHashSlotNum").value_or(0);
  marker.maxIndexNum = integerOf(*json, "maxIndexNum").value_or(0);
  if (marker.maxHashSlotNum < 0 || marker.maxIndexNum < 0) return damaged();
  if (marker.maxHashSlotNum > INT32_MAX || marker.maxIndexNum > INT32_MAX) return damaged();
  marker.adoptedAt = integerOf(*json, "adoptedAt").value_or(-1);
  return std::optional<Marker>(marker);
}

Status StoreDir::writeMarker(const Marker& marker) {
  const std::string json =
      "{\n  \"format\": " + std::to_string(marker.format) +
      ",\n  \"maxHashSlotNum\": " + std::to_string(marker.maxHashSlotNum) +
      ",\n  \"maxIndexNum\": " + std::to_string(marker.maxIndexNum) +
      ",\n  \"mappedFileSizeCommitLog\": " + std::to_string(marker.mappedFileSizeCommitLog) +
      ",\n  \"mappedFileSizeConsumeQueue\": " + std::to_string(marker.mappedFileSizeConsumeQueue) +
      ",\n  \"adoptedAt\": " + std::to_string(marker.adoptedAt) + "\n}\n";
  return replaceFile(markerPath(), json.data(), json.size());
}

Result<std::optional<BrokerCheckpoint>> StoreDir::readBrokerCheckpoint() const {
  const Result<FileInfo> info = inspect(checkpointPath());
  if (!info.ok()) return info.status();
  if (!(*info).exists) return std::optional<BrokerCheckpoint>();
  Result<File> file = File::open(checkpointPath(), Access::kReadQuietly);
  if (!file.ok()) return file.takeStatus();
  uint8_t bytes[48] = {};
  // A shorter file is an older release's or a torn one; what is missing counts as 0.
  const Result<size_t> count = file->readSome(0, bytes, sizeof(bytes));
  if (!count.ok()) return count.status();
  const auto field = [&](int index) { return load<int64_t>(bytes + 8 * index); };
  BrokerCheckpoint c;
  c.physicMsgTimestamp = field(0);
  c.logicsMsgTimestamp = field(1);
  c.indexMsgTimestamp = field(2);
  c.masterFlushedOffset = field(3);
  c.confirmPhyOffset = field(4);
  c.logicsPhysicalOffset = field(5);
  return std::optional<BrokerCheckpoint>(c);
}

Status StoreDir::writeBrokerCheckpoint(const BrokerCheckpoint& c) {
  Result<File> file = File::openOrCreate(checkpointPath());
  if (!file.ok()) return file.takeStatus();
  const Result<uint64_t> size = file->size();
  if (!size.ok()) return size.status();
  if (*size != BrokerCheckpoint::kFileSize) LMQ_TRY(file->resize(BrokerCheckpoint::kFileSize));
  uint8_t bytes[48];
  const int64_t fields[] = {c.physicMsgTimestamp,  c.logicsMsgTimestamp, c.indexMsgTimestamp,
                            c.masterFlushedOffset, c.confirmPhyOffset,   c.logicsPhysicalOffset};
  for (int i = 0; i < 6; ++i) store<int64_t>(bytes + 8 * i, fields[i]);
  LMQ_TRY(file->writeAt(0, bytes, sizeof(bytes)));
  return file->syncData();
}

Result<std::optional<OwnCheckpoint>> StoreDir::readOwnCheckpoint() const {
  const Result<FileInfo> info = inspect(ownCheckpointPath());
  if (!info.ok()) return info.status();
  if (!(*info).exists) return std::optional<OwnCheckpoint>();
  Result<File> file = File::open(ownCheckpointPath(), Access::kReadQuietly);
  if (!file.ok()) return file.takeStatus();
  std::optional<OwnCheckpoint> best;
  for (uint64_t slot = 0; slot < 2; ++slot) {
    uint8_t bytes[kOwnSlotSize] = {};
    const Result<size_t> count = file->readSome(slot * kOwnSlotDistance, bytes, sizeof(bytes));
    if (!count.ok()) return count.status();
    if (*count < sizeof(bytes)) continue;
    const std::optional<OwnCheckpoint> found = decodeSlot(bytes);
    if (found && (!best || found->sequence > best->sequence)) best = found;
  }
  return best;
}

Status StoreDir::writeOwnCheckpoint(OwnCheckpoint* checkpoint) {
  if (!ownCheckpoint_.isOpen()) {
    Result<File> file = File::openOrCreate(ownCheckpointPath());
    if (!file.ok()) return file.takeStatus();
    ownCheckpoint_ = file.take();
  }
  ++checkpoint->sequence;
  uint8_t bytes[kOwnSlotSize];
  encodeSlot(*checkpoint, bytes);
  return ownCheckpoint_.writeAt(checkpoint->sequence % 2 * kOwnSlotDistance, bytes, sizeof(bytes));
}

Status StoreDir::syncOwnCheckpoint() {
  if (!ownCheckpoint_.isOpen()) return {};
  return ownCheckpoint_.syncData();
}

}  // namespace lmq
