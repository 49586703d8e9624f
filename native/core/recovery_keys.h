// The key index when a store is opened.
#pragma once

#include "recovery.h"

namespace lmq {

// A writer: brings the files back to what the log holds. *from becomes the position from which keys
// must be dispatched again.
Status restoreKeys(StoreParts& parts, const RecoveryPlan& plan, int64_t* from,
                   RecoveryReport* report);
// A reader: the files as they are. What they do not cover, a search looks for in the log.
Status restoreKeysOfReader(StoreParts& parts, const RecoveryPlan& plan, RecoveryReport* report);

}  // namespace lmq
