// Status and Result: how every layer of the core reports failure. No exceptions cross the core.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace lmq {

// THE list of error codes: X(enumerator, code seen by users, what to do about it).
// TypeScript's union of codes is tested against this list.
#define LMQ_ERROR_CODES(X)                                                                         \
  X(kInvalidArgument, "STORE_INVALID_ARGUMENT", "Correct the named argument.")                     \
  X(kInvalidTopic, "STORE_INVALID_TOPIC",                                                          \
    "Use 1 to 255 bytes of UTF-8 without '/' or NUL, not '.' or '..', not starting with %LMQ%.")   \
  X(kInvalidQueueId, "STORE_INVALID_QUEUE_ID", "Use an integer from 0 to 2147483647.")             \
  X(kInvalidProperty, "STORE_INVALID_PROPERTY",                                                    \
    "Names must not be empty or reserved; names and values must not hold the bytes 01 and 02.")    \
  X(kInvalidLmqName, "STORE_INVALID_LMQ_NAME",                                                     \
    "Build the name with lmqName(), which escapes what a light queue's name cannot hold.")         \
  X(kInvalidGroup, "STORE_INVALID_GROUP",                                                          \
    "Use 1 to 255 of the characters a-z A-Z 0-9 _ - % | as RocketMQ does.")                        \
  X(kInvalidMessage, "STORE_INVALID_MESSAGE", "Correct the named field of the message.")           \
  X(kBodyTooLarge, "STORE_BODY_TOO_LARGE", "Send a smaller body or raise maxMessageSize.")         \
  X(kRecordTooLarge, "STORE_RECORD_TOO_LARGE",                                                     \
    "Send less, raise maxMessageSize, or use larger commit log files.")                            \
  X(kPropertiesTooLarge, "STORE_PROPERTIES_TOO_LARGE",                                             \
    "Properties, light-queue names and the CRC property share 32767 bytes; send less.")            \
  X(kOffsetTooLarge, "STORE_OFFSET_TOO_LARGE",                                                     \
    "A group's offset is at most its queue's maxOffset, one past the last message.")               \
  X(kLmqLimit, "STORE_LMQ_LIMIT", "Raise maxLmqConsumeQueueNum or use fewer light queues.")        \
  X(kLimit, "STORE_LIMIT", "A limit of the file format is reached; start a new directory.")        \
  X(kBusy, "STORE_BUSY",                                                                           \
    "Wait for pending puts, or raise maxPendingPutBytes; what was ended: begin it again.")         \
  X(kGroupBusy, "STORE_GROUP_BUSY",                                                                \
    "Another follower of this process has the group in this queue; end it first.")                 \
  X(kClosed, "STORE_CLOSED", "The store is closed; open it again.")                                \
  X(kReadOnly, "STORE_READ_ONLY", "This store was opened with openReader; use open to write.")     \
  X(kLocked, "STORE_LOCKED",                                                                       \
    "Another opener holds this directory; close it, or read beside it with openReader.")           \
  X(kNotFound, "STORE_NOT_FOUND", "Check the path; openReader never creates a directory.")         \
  X(kForeignDirectory, "STORE_FOREIGN_DIRECTORY",                                                  \
    "RocketMQ wrote this directory; open it with adopt: true, or read it with openReader.")        \
  X(kVersion, "STORE_VERSION", "A newer version of lmq-store wrote this directory; use that.")     \
  X(kConfigMismatch, "STORE_CONFIG_MISMATCH",                                                      \
    "The directory's files decide this option; leave it out or give their value.")                 \
  X(kFileSize, "STORE_FILE_SIZE",                                                                  \
    "A file has another length than its neighbours; restore it from a copy, or read the rest "     \
    "with openReader.")                                                                            \
  X(kCorruptLog, "STORE_CORRUPT_LOG",                                                              \
    "Damage lies below data that was synced. Read both sides with openReader, restore a copy, "    \
    "or open with repair: 'truncate' to cut the log there.")                                       \
  X(kLogMissing, "STORE_LOG_MISSING",                                                              \
    "The commit log is missing while queues exist. Restore it, or open with "                      \
    "repair: 'truncate' to start empty.")                                                          \
  X(kCorruptRecord, "STORE_CORRUPT_RECORD", "The record is damaged; verify shows what else is.")   \
  X(kCorruptFile, "STORE_CORRUPT_FILE",                                                            \
    "The named file is damaged. Below lmq/ the next open for writing builds it again; restore "    \
    "any other from a copy.")                                                                      \
  X(kGap, "STORE_GAP", "The data asked for has expired; follow with onGap: 'skip' passes it.")     \
  X(kUnsupported, "STORE_UNSUPPORTED", "This feature of RocketMQ's format is not supported here.") \
  X(kDiskFull, "STORE_DISK_FULL", "Free space on the device; the store goes on by itself.")        \
  X(kTooManyFiles, "STORE_TOO_MANY_FILES", "Raise the limit of open files (ulimit -n).")           \
  X(kNoMemory, "STORE_NO_MEMORY",                                                                  \
    "The system refused memory or a mapping; raise vm.max_map_count or the memory limit.")         \
  X(kPermission, "STORE_PERMISSION", "Give this process access to the named path.")                \
  X(kIo, "STORE_IO", "The system reported an input/output error; check the device.")               \
  X(kSyncFailed, "STORE_SYNC_FAILED",                                                              \
    "A sync failed, so the store no longer accepts writes. Check the device, then reopen.")        \
  X(kInternal, "STORE_INTERNAL", "This is a fault of lmq-store; please report it.")

enum class Code : uint8_t {
  kOk = 0,
#define X(name, text, hint) name,
  LMQ_ERROR_CODES(X)
#undef X
};

// "STORE_…" and the hint that belongs to a code; empty strings for kOk.
const char* codeText(Code code);
const char* codeHint(Code code);
inline constexpr int kCodeCount = []() {
  int n = 1;
#define X(name, text, hint) ++n;
  LMQ_ERROR_CODES(X)
#undef X
  return n;
}();

// A success costs one null pointer; a failure carries the facts.
class [[nodiscard]] Status {
 public:
  struct Facts {
    Code code = Code::kOk;
    int systemError = 0;  // errno, 0 if none
    int64_t offset = -1;  // byte or queue offset, -1 if none
    int64_t limit = -1;   // the limit that was passed, -1 if none
    std::string path;     // file or directory, empty if none
    std::string message;  // one sentence, without the hint
  };

  Status() = default;
  Status(Code code, std::string message) : facts_(std::make_unique<Facts>()) {
    facts_->code = code;
    facts_->message = std::move(message);
  }
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  Status(const Status& other)
      : facts_(other.facts_ ? std::make_unique<Facts>(*other.facts_) : nullptr) {}
  Status& operator=(const Status& other) {
    facts_ = other.facts_ ? std::make_unique<Facts>(*other.facts_) : nullptr;
    return *this;
  }

  // For a system call that failed: picks the code that fits `systemError` (ENOSPC is kDiskFull, …).
  static Status system(int systemError, const char* action, std::string path);

  Status&& at(std::string path) && {
    facts_->path = std::move(path);
    return std::move(*this);
  }
  Status&& offset(int64_t value) && {
    facts_->offset = value;
    return std::move(*this);
  }
  Status&& limit(int64_t value) && {
    facts_->limit = value;
    return std::move(*this);
  }

  bool ok() const { return facts_ == nullptr; }
  Code code() const { return facts_ ? facts_->code : Code::kOk; }
  const Facts& facts() const { return *facts_; }  // only of a failure

 private:
  std::unique_ptr<Facts> facts_;
};

// A value or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  Status takeStatus() { return std::move(status_); }
  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  T take() { return std::move(value_); }

 private:
  T value_{};
  Status status_;
};

// Ends the calling function with a failed status.
#define LMQ_TRY(expression)                                               \
  do {                                                                    \
    if (::lmq::Status lmqTry = (expression); !lmqTry.ok()) return lmqTry; \
  } while (false)

}  // namespace lmq
