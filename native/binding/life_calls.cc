// Opening, flushing, verifying and closing: work off the JavaScript thread, answered by a promise.
#include <functional>

#include "store_handle.h"
#include "values.h"

namespace lmq {

namespace {

// Runs `work` on a worker thread; its status rejects, else `result` makes the value.
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

Napi::Value undefined(Napi::Env env) { return env.Undefined(); }

Status closedStatus() { return Status(Code::kClosed, "The store is closed."); }

Napi::Object progressOf(Napi::Env env, const StoreVerify::Progress& from) {
  const auto number = [&](int64_t value) {
    return Napi::Number::New(env, static_cast<double>(value));
  };
  Napi::Object progress = Napi::Object::New(env);
  progress["done"] = Napi::Boolean::New(env, from.done);
  progress["position"] = number(from.position);
  progress["total"] = number(from.total);
  progress["records"] = number(from.records);
  progress["units"] = number(from.units);
  Napi::Array faults = Napi::Array::New(env, from.faults.size());
  for (size_t i = 0; i < from.faults.size(); ++i) {
    Napi::Object fault = Napi::Object::New(env);
    fault["code"] = Napi::String::New(env, codeText(from.faults[i].code));
    fault["message"] = Napi::String::New(env, from.faults[i].message);
    fault["path"] = Napi::String::New(env, from.faults[i].path);
    fault["offset"] = number(from.faults[i].offset);
    faults[static_cast<uint32_t>(i)] = fault;
  }
  progress["faults"] = faults;
  return progress;
}

}  // namespace

Napi::Value openStore(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  auto handle = std::make_shared<StoreHandle>(env);
  handle->listen(env, info[1].As<Napi::Function>());
  StoreOptions options = toOptions(info[0].As<Napi::Object>());
  return Work::start(
      env,
      [handle, options]() -> Status {
        const std::lock_guard<std::mutex> guard(handle->busy);
        Result<std::unique_ptr<Store>> store = Store::open(options, handle->listenerOfCore());
        if (!store.ok()) return store.takeStatus();
        handle->store = store.take();
        return {};
      },
      [handle](Napi::Env answerEnv) -> Napi::Value {
        return StoreHandle::makeObject(answerEnv, handle);
      });
}

void addLifeCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle) {
  const auto add = [&](const char* name, auto call) {
    object[name] = Napi::Function::New(
        env,
        [handle, call](const Napi::CallbackInfo& info) -> Napi::Value {
          return call(info, handle);
        },
        name);
  };
  using Handle = std::shared_ptr<StoreHandle>;
  add("lastError", [](const Napi::CallbackInfo& info, const Handle& handle) -> Napi::Value {
    if (handle->lastError.ok()) return info.Env().Undefined();
    return toFacts(info.Env(), handle->lastError);
  });
  add("ref", [](const Napi::CallbackInfo& info, const Handle& handle) {
    refEvents(*handle, true);
    return info.Env().Undefined();
  });
  add("unref", [](const Napi::CallbackInfo& info, const Handle& handle) {
    refEvents(*handle, false);
    return info.Env().Undefined();
  });
  add("flush", [](const Napi::CallbackInfo& info, const Handle& handle) {
    return Work::start(
        info.Env(),
        [handle]() -> Status {
          const std::lock_guard<std::mutex> guard(handle->busy);
          return handle->store ? handle->store->flush() : closedStatus();
        },
        undefined);
  });
  add("close", [](const Napi::CallbackInfo& info, const Handle& handle) {
    auto outcome = std::make_shared<Status>();
    return Work::start(
        info.Env(),
        [handle, outcome]() -> Status {
          const std::lock_guard<std::mutex> guard(handle->busy);
          if (handle->store) *outcome = handle->store->close();
          return {};
        },
        // Let go on the JavaScript thread, where no other call can be using the store.
        [handle, outcome](Napi::Env answerEnv) -> Napi::Value {
          handle->release();
          if (!outcome->ok()) throw toError(answerEnv, *outcome);
          return answerEnv.Undefined();
        });
  });
  add("verifyStep", [](const Napi::CallbackInfo& info, const Handle& handle) {
    auto progress = std::make_shared<StoreVerify::Progress>();
    const bool restart = info[0].As<Napi::Boolean>().Value();
    return Work::start(
        info.Env(),
        [handle, progress, restart]() -> Status {
          const std::lock_guard<std::mutex> guard(handle->busy);
          if (!handle->store) return closedStatus();
          if (restart || !handle->verify)
            handle->verify = std::make_unique<StoreVerify>(*handle->store);
          Status status = handle->verify->step(progress.get());
          if (progress->done || !status.ok()) handle->verify.reset();
          return status;
        },
        [progress](Napi::Env answerEnv) -> Napi::Value {
          return progressOf(answerEnv, *progress);
        });
  });
}

}  // namespace lmq
