// Between JavaScript values and the core's plain data. Setup and rare calls only: the hot path
// reads its arguments by itself (hot_calls.cc).
#pragma once

#include <napi.h>

#include "core/message.h"
#include "core/status.h"
#include "core/store_options.h"

namespace lmq {

// { code, message, hint, path?, offset?, limit?, errno? }
Napi::Object toFacts(Napi::Env env, const Status& status);
// An Error whose `facts` are those of the status.
Napi::Error toError(Napi::Env env, const Status& status);
StoreOptions toOptions(const Napi::Object& options);
Napi::Object toReport(Napi::Env env, const RecoveryReport& report);

}  // namespace lmq
