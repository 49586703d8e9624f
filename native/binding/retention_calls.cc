// Deleting what has expired, off the JavaScript thread.
#include "store_handle.h"
#include "values.h"
#include "work.h"

namespace lmq {

Napi::Object toExpired(Napi::Env env, const Expired& from) {
  Napi::Object to = Napi::Object::New(env);
  Napi::Array files = Napi::Array::New(env, from.files.size());
  for (size_t i = 0; i < from.files.size(); ++i) {
    files[static_cast<uint32_t>(i)] = Napi::String::New(env, from.files[i]);
  }
  to["files"] = files;
  to["bytes"] = Napi::Number::New(env, static_cast<double>(from.bytes));
  to["logMin"] = Napi::Number::New(env, static_cast<double>(from.logMin));
  return to;
}

void addRetentionCalls(Napi::Env env, Napi::Object object,
                       const std::shared_ptr<StoreHandle>& handle) {
  object["retain"] = Napi::Function::New(
      env,
      [handle](const Napi::CallbackInfo& info) -> Napi::Value {
        RetentionRequest request;
        request.beforeTime = info[0].As<Napi::Number>().Int64Value();
        request.beforeOffset = info[1].As<Napi::Number>().Int64Value();
        request.cleanPercent = info[2].As<Napi::Number>().Int32Value();
        request.fullPercent = info[3].As<Napi::Number>().Int32Value();
        auto retained = std::make_shared<Store::Retained>();
        return Work::start(
            info.Env(),
            [handle, request, retained]() -> Status {
              const std::lock_guard<std::mutex> guard(handle->busy);
              return handle->store ? handle->store->retain(request, retained.get())
                                   : closedStatus();
            },
            [retained](Napi::Env answerEnv) -> Napi::Value {
              Napi::Object answer = Napi::Object::New(answerEnv);
              answer["expired"] = toExpired(answerEnv, retained->expired);
              answer["usedPercent"] = Napi::Number::New(answerEnv, retained->usedPercent);
              return answer;
            });
      },
      "retain");
}

}  // namespace lmq
