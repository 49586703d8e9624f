#include "lmq_rows.h"

#include <new>

namespace lmq {

static_assert(sizeof(LmqRow) == 40, "a million queues cost 40 MB");

Status LmqRows::reserve(uint64_t more) {
  if (more > kMax - count_) {
    return Status(Code::kLimit, "The number of light queues has reached its limit")
        .limit(static_cast<int64_t>(kMax));
  }
  try {
    while (chunks_.size() * kChunk < count_ + more) {
      // Not cleared as a whole: append() clears a row, and pages come one by one.
      chunks_.emplace_back(new LmqRow[kChunk]);
    }
  } catch (const std::bad_alloc&) {
    return Status(Code::kNoMemory, "No memory for the rows of more light queues");
  }
  return {};
}

void LmqRows::clear() {
  chunks_.clear();
  count_ = 0;
}

}  // namespace lmq
