// Opening, flushing, verifying and closing: work off the JavaScript thread, answered by a promise.
#include "store_handle.h"
#include "values.h"
#include "work.h"

namespace lmq {

namespace {

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

// One step of a search by key.
struct Found {
  KeyIndex::Search search;
  std::vector<int64_t> positions;
};

Napi::Value foundOf(Napi::Env env, const Found& from) {
  const auto number = [&](int64_t value) {
    return Napi::Number::New(env, static_cast<double>(value));
  };
  Napi::Object found = Napi::Object::New(env);
  found["file"] = Napi::String::New(env, from.search.file);
  found["number"] = number(from.search.number);
  found["done"] = Napi::Boolean::New(env, from.search.done);
  Napi::Array positions = Napi::Array::New(env, from.positions.size());
  for (size_t i = 0; i < from.positions.size(); ++i) {
    positions[static_cast<uint32_t>(i)] = number(from.positions[i]);
  }
  found["positions"] = positions;
  return found;
}

}  // namespace

Napi::Value openStore(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  auto handle = std::make_shared<StoreHandle>(env);
  handle->listen(env, info[1].As<Napi::Function>());
  StoreOptions options = toOptions(info[0].As<Napi::Object>());
  if (options.rebuild) {
    options.progress = [raw = handle.get()](int64_t position, int64_t end) {
      raw->tellProgress(position, end);
    };
  }
  return Work::start(
      env,
      [handle, options]() -> Status {
        const std::lock_guard<std::mutex> guard(handle->busy);
        Result<std::unique_ptr<Store>> store = Store::open(options, handle->listenerOfCore());
        if (!store.ok()) return store.takeStatus();
        handle->store = store.take();
        handle->page = handle->store->makePage();
        return {};
      },
      [handle](Napi::Env answerEnv) -> Napi::Value {
        return StoreHandle::makeObject(answerEnv, handle);
      });
}

void addLifeCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle) {
  const auto add = [&](const char* name, auto call) {
    addCall(env, object, name, [handle, call](const Napi::CallbackInfo& info) -> Napi::Value {
      return call(info, handle);
    });
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
          const std::lock_guard<std::shared_mutex> readers(handle->reading);
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
  add("findByKey", [](const Napi::CallbackInfo& info, const Handle& handle) {
    const auto found = std::make_shared<Found>();
    found->search.hash = KeyIndex::hashOf(info[0].As<Napi::String>().Utf8Value(),
                                          info[1].As<Napi::String>().Utf8Value());
    found->search.begin = info[2].As<Napi::Number>().Int64Value();
    found->search.end = info[3].As<Napi::Number>().Int64Value();
    found->search.file = info[4].As<Napi::String>().Utf8Value();
    found->search.number = info[5].As<Napi::Number>().Int64Value();
    return Work::start(
        info.Env(),
        [handle, found]() -> Status {
          const std::lock_guard<std::mutex> guard(handle->busy);
          if (!handle->store) return closedStatus();
          return handle->store->findByKey(&found->search, &found->positions);
        },
        [found](Napi::Env answerEnv) { return foundOf(answerEnv, *found); });
  });
  add("findInLog", [](const Napi::CallbackInfo& info, const Handle& handle) {
    const auto found = std::make_shared<Found>();
    found->search.hash = KeyIndex::hashOf(info[0].As<Napi::String>().Utf8Value(),
                                          info[1].As<Napi::String>().Utf8Value());
    found->search.number = info[2].As<Napi::Number>().Int64Value();
    return Work::start(
        info.Env(),
        [handle, found]() -> Status {
          const std::lock_guard<std::mutex> guard(handle->busy);
          if (!handle->store) return closedStatus();
          KeyIndex::Search& search = found->search;
          LMQ_TRY(handle->store->findInLog(search.hash, &search.number, &found->positions));
          search.done = search.number < 0;
          return {};
        },
        [found](Napi::Env answerEnv) { return foundOf(answerEnv, *found); });
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
