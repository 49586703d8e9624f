// Restoring the light-queue index: load and replay, or import and rebuild.
#pragma once

#include "recovery.h"

namespace lmq {

// Loads the index, or starts it anew and imports what consumequeue/%LMQ%… decides. *from becomes
// the position from which records must be dispatched into light queues again.
Status restoreLmq(StoreParts& parts, const RecoveryPlan& plan, bool adopting, int64_t* from,
                  RecoveryReport* report);
// Somebody builds the index, or began to and was killed: it may lack any queue.
bool lmqIsUnfinished(const OwnCheckpoint& own, const std::optional<Marker>& marker);
// The second half of it: starts anew whatever there is.
Status rebuildLmq(StoreParts& parts, const RecoveryPlan& plan, bool adopting, int64_t* from,
                  RecoveryReport* report);
Status restoreLmqOfReader(StoreParts& parts, RecoveryReport* report);
// What the log cannot give back, from the state file; after everything else.
Status applyFacts(StoreParts& parts);
// A reader: dispatches, in memory, what its queues do not have yet.
Status catchUp(StoreParts& parts, int64_t lmqFrom, RecoveryReport* report);
// Dispatches records of [from, to) again; topic queues only from mainFrom on.
Status redispatch(StoreParts& parts, int64_t from, int64_t mainFrom, int64_t to,
                  RecoveryReport* report);

}  // namespace lmq
