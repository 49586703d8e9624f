// Reading off the JavaScript thread: several at once, beside appends and flushes.
#include <algorithm>

#include "store_handle.h"
#include "values.h"
#include "work.h"

namespace lmq {

namespace {

Store::QueueRef queueOf(const Napi::CallbackInfo& info) {
  Store::QueueRef queue;
  queue.lmq = info[0].As<Napi::Boolean>().Value();
  queue.number = static_cast<uint64_t>(info[1].As<Napi::Number>().Int64Value());
  return queue;
}

constexpr size_t kFirstPage = 1024 * 1024;

// One read of a worker thread.
struct PageRead {
  Store::ReadRequest request;
  std::string tags;
  std::unique_ptr<uint8_t[]> bytes;
  Store::Page page;

  Status run(Store& store) {
    const StoreOptions& options = store.options();
    page = store.makePage();
    request.tags = tags;
    request.pageSize =
        std::min({request.maxBytes, std::max(options.hotBytes, options.coldBytes), kFirstPage});
    do {
      request.pageSize = std::max({2 * request.pageSize, page.needed, record::kMinSize});
      bytes.reset(new uint8_t[request.pageSize]);  // what is not written to costs nothing
      request.page = bytes.get();
      LMQ_TRY(store.read(request, &page));
    } while (page.needed > 0);
    return {};
  }

  Napi::Value answer(Napi::Env env) const {
    const size_t rows = page.rows.size();
    Napi::Object result = Napi::Object::New(env);
    Napi::Float64Array results =
        Napi::Float64Array::New(env, out::kDamagedList + 2 * damagedIn(page));
    Napi::Float64Array fields = Napi::Float64Array::New(env, rows * kFields);
    writePage(page, results.Data(), fields.Data());
    result["out"] = results;
    result["fields"] = fields;
    result["page"] = Napi::Buffer<uint8_t>::Copy(env, bytes.get(), page.bytes);
    return result;
  }
};

Napi::Value timeOrUndefined(Napi::Env env, int64_t millis) {
  if (millis == Store::Times::kNone) return env.Undefined();
  return Napi::Number::New(env, static_cast<double>(millis));
}

}  // namespace

void addReadCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle) {
  const auto add = [&](const char* name, auto call) {
    addCall(env, object, name, [handle, call](const Napi::CallbackInfo& info) -> Napi::Value {
      return call(info, handle);
    });
  };
  using Handle = std::shared_ptr<StoreHandle>;
  add("offsetAt", [](const Napi::CallbackInfo& info, const Handle& handle) {
    const Store::QueueRef queue = queueOf(info);
    const int64_t millis = info[2].As<Napi::Number>().Int64Value();
    const auto bound =
        info[3].As<Napi::Boolean>().Value() ? Store::Bound::kUpper : Store::Bound::kLower;
    auto offset = std::make_shared<int64_t>();
    return Work::start(
        info.Env(),
        [handle, queue, millis, bound, offset,
         use = handle->queueUses.begin()]() mutable -> Status {
          const std::shared_ptr<void> held = std::move(use);
          const std::shared_lock<std::shared_mutex> guard(handle->reading);
          if (!handle->store) return closedStatus();
          return handle->store->offsetAt(queue, millis, bound, offset.get());
        },
        [offset](Napi::Env answerEnv) -> Napi::Value {
          return Napi::Number::New(answerEnv, static_cast<double>(*offset));
        });
  });
  add("readAsync", [](const Napi::CallbackInfo& info, const Handle& handle) {
    auto read = std::make_shared<PageRead>();
    Store::ReadRequest& request = read->request;
    request.queue = queueOf(info);
    request.from = info[2].As<Napi::Number>().Int64Value();
    request.maxMessages = info[3].As<Napi::Number>().Uint32Value();
    request.maxBytes = info[4].As<Napi::Number>().Uint32Value();
    read->tags = info[5].As<Napi::String>().Utf8Value();
    request.verify = info[6].As<Napi::Boolean>().Value();
    request.durable = info[7].As<Napi::Boolean>().Value();
    return Work::start(
        info.Env(),
        [handle, read, use = handle->queueUses.begin()]() mutable -> Status {
          const std::shared_ptr<void> held = std::move(use);
          const std::shared_lock<std::shared_mutex> guard(handle->reading);
          return handle->store ? read->run(*handle->store) : closedStatus();
        },
        [read](Napi::Env answerEnv) { return read->answer(answerEnv); });
  });
  add("times", [](const Napi::CallbackInfo& info, const Handle& handle) -> Napi::Value {
    Store::Times found;
    Status status = handle->store ? handle->store->timesOf(queueOf(info), &found) : closedStatus();
    if (!status.ok()) throw toError(info.Env(), status);
    Napi::Object times = Napi::Object::New(info.Env());
    times["earliest"] = timeOrUndefined(info.Env(), found.earliest);
    times["latest"] = timeOrUndefined(info.Env(), found.latest);
    return times;
  });
  add("earliestTime", [](const Napi::CallbackInfo& info, const Handle& handle) -> Napi::Value {
    int64_t millis = 0;
    Status status = handle->store ? handle->store->earliestTime(&millis) : closedStatus();
    if (!status.ok()) throw toError(info.Env(), status);
    return timeOrUndefined(info.Env(), millis);
  });
}

}  // namespace lmq
