// Work off the JavaScript thread, answered by a promise.
#pragma once

#include <napi.h>

#include <functional>
#include <utility>

#include "core/status.h"
#include "values.h"

namespace lmq {

// Runs `job` on a worker thread; its status rejects, else `answer` makes the value.
class Work : public Napi::AsyncWorker {
 public:
  using Job = std::function<Status()>;
  using Answer = std::function<Napi::Value(Napi::Env)>;

  static Napi::Value start(Napi::Env env, Job job, Answer answer) {
    auto* work = new Work(env, std::move(job), std::move(answer));
    work->Queue();
    return work->promise_.Promise();
  }

 private:
  Work(Napi::Env env, Job job, Answer answer)
      : AsyncWorker(env), promise_(env), job_(std::move(job)), answer_(std::move(answer)) {}

  void Execute() override try {
    status_ = job_();
  } catch (const std::exception& error) {  // memory, a thread that cannot start
    status_ = Status(Code::kNoMemory, error.what());
  }
  void OnOK() override {
    if (!status_.ok()) return promise_.Reject(toError(Env(), status_).Value());
    try {
      promise_.Resolve(answer_(Env()));
    } catch (const Napi::Error& error) {
      promise_.Reject(error.Value());
    }
  }

  Napi::Promise::Deferred promise_;
  Job job_;
  Answer answer_;
  Status status_;
};

inline Napi::Value undefined(Napi::Env env) { return env.Undefined(); }

inline Status closedStatus() { return Status(Code::kClosed, "The store is closed."); }

}  // namespace lmq
