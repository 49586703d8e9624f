// Derived files made anew because somebody asked: what is there is not believed.
#pragma once

#include "recovery.h"

namespace lmq {

// Before the first derived file changes. From here on our checkpoint says that nothing derived is
// on the device, so that whichever open comes next, after a kill or a power cut, makes all of it
// again.
Status beginRebuild(StoreParts& parts, const RecoveryPlan& plan);

// Before a light-queue index that cannot be used is begun anew.
Status beginRebuildOfLmq(StoreParts& parts, const RecoveryPlan& plan);

}  // namespace lmq
