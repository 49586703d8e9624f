#include "status.h"

#include <cerrno>
#include <cstring>

namespace lmq {

namespace {

struct CodeRow {
  const char* text;
  const char* hint;
};

constexpr CodeRow kCodes[] = {{"", ""},
#define X(name, text, hint) {text, hint},
                              LMQ_ERROR_CODES(X)
#undef X
};

Code codeOf(int systemError) {
  switch (systemError) {
    case ENOSPC:
    case EDQUOT:
      return Code::kDiskFull;
    case EMFILE:
    case ENFILE:
      return Code::kTooManyFiles;
    case ENOMEM:
      return Code::kNoMemory;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermission;
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    default:
      return Code::kIo;
  }
}

}  // namespace

const char* codeText(Code code) { return kCodes[static_cast<int>(code)].text; }
const char* codeHint(Code code) { return kCodes[static_cast<int>(code)].hint; }

Status Status::system(int systemError, const char* action, std::string path) {
  Status status(codeOf(systemError),
                std::string(action) + " failed: " + std::strerror(systemError));
  status.facts_->systemError = systemError;
  status.facts_->path = std::move(path);
  return status;
}

}  // namespace lmq
