// Where recovery starts to read the log, and below which position it was synced.
#pragma once

#include "recovery.h"

namespace lmq {

// Sets plan->scanFrom and plan->syncedBelow. For a directory of ours from our checkpoint; for one
// of RocketMQ's by its own rules: after a clean stop the newest file whose first record its queues
// already hold (spec 8.3), else the newest file that its checkpoint covers (spec 8.4).
Status decideStart(StoreParts& parts, CommitLogScan& log, RecoveryPlan* plan);

// The end of the last record that any queue holds; -1 if none does.
int64_t queuesEnd(const StoreParts& parts);

}  // namespace lmq
