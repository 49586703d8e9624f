// Deleting what has expired: whole files of the commit log, oldest first, never the last, and what
// led to them (spec 8.8). Nothing is deleted unless a caller asks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store_parts.h"

namespace lmq {

// What may go; several reasons are joined by "or".
struct RetentionRequest {
  int64_t beforeTime = -1;    // ms; files whose messages were all stored before it
  int64_t beforeOffset = -1;  // files that end at or below this position
  int cleanPercent = 0;       // files while more than this of the device is used; 0: none
  int fullPercent = 0;        // appends are refused while more than this is used; 0: never
};

struct Expired {
  std::vector<std::string> files;  // of the commit log, by path
  int64_t bytes = 0;
  int64_t logMin = 0;  // where the log begins now
};

// Runs its argument under the append lock.
using WithAppendLock = std::function<void(const std::function<void()>&)>;

// The first byte that stays if everything stored before a time goes. A file is as old as its newest
// message, of which the first one of a later file tells: stored times never fall.
Result<int64_t> endOfOlder(const StoreParts& parts, int64_t beforeTime);
// The same for a position: the file that holds it stays, as does the one that is written.
int64_t endOfBelow(const StoreParts& parts, int64_t beforeOffset);
// And for a number of bytes that the files of the log are to have at most.
int64_t endOfSurplus(const StoreParts& parts, uint64_t maxBytes);

// Deletes the files below `position`, the base of a file. Queues and index of all that is deleted
// must be on the device. First the state file is told what the log cannot tell any more (design 7);
// from then on every step may be the last one.
Status deleteLogBefore(StoreParts& parts, int64_t position, const WithAppendLock& withLock,
                       Expired* expired);

}  // namespace lmq
