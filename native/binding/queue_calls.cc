// Topics, queues, light queues: lookups and lists.
#include "store_handle.h"
#include "values.h"

namespace lmq {

namespace {

Store& openStoreOf(const Napi::CallbackInfo& info, StoreHandle& handle) {
  if (!handle.store) throw toError(info.Env(), Status(Code::kClosed, "The store is closed."));
  return *handle.store;
}

Napi::Value number(Napi::Env env, int64_t value) {
  return Napi::Number::New(env, static_cast<double>(value));
}

}  // namespace

void addQueueCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle) {
  const auto add = [&](const char* name, auto call) {
    addCall(env, object, name, [handle, call](const Napi::CallbackInfo& info) -> Napi::Value {
      return call(info, *handle, openStoreOf(info, *handle));
    });
  };
  add("topic", [](const Napi::CallbackInfo& info, StoreHandle&, Store& store) -> Napi::Value {
    Result<uint32_t> topic = store.topic(info[0].As<Napi::String>().Utf8Value());
    if (!topic.ok()) throw toError(info.Env(), topic.status());
    return number(info.Env(), *topic);
  });
  add("findQueue", [](const Napi::CallbackInfo& info, StoreHandle&, Store& store) {
    return number(info.Env(), store.findQueue(info[0].As<Napi::String>().Utf8Value(),
                                              info[1].As<Napi::Number>().Int32Value()));
  });
  add("findLmq", [](const Napi::CallbackInfo& info, StoreHandle&, Store& store) {
    return number(info.Env(), store.findLmq(info[0].As<Napi::String>().Utf8Value()));
  });
  add("topics", [](const Napi::CallbackInfo& info, StoreHandle&, Store& store) -> Napi::Value {
    std::vector<Store::QueueInfo> queues;
    Status status = store.listQueues(&queues);
    if (!status.ok()) throw toError(info.Env(), status);
    Napi::Array names = Napi::Array::New(info.Env());
    std::unordered_map<std::string, bool> seen;
    for (const Store::QueueInfo& queue : queues) {
      if (seen.emplace(queue.topic, true).second) {
        names[names.Length()] = Napi::String::New(info.Env(), queue.topic);
      }
    }
    return names;
  });
  add("queues", [](const Napi::CallbackInfo& info, StoreHandle&, Store& store) -> Napi::Value {
    std::vector<Store::QueueInfo> queues;
    Status status = store.listQueues(&queues);
    if (!status.ok()) throw toError(info.Env(), status);
    const bool all = !info[0].IsString();
    const std::string topic = all ? std::string() : info[0].As<Napi::String>().Utf8Value();
    Napi::Array list = Napi::Array::New(info.Env());
    for (const Store::QueueInfo& queue : queues) {
      if (!all && queue.topic != topic) continue;
      Napi::Object row = Napi::Object::New(info.Env());
      row["topic"] = Napi::String::New(info.Env(), queue.topic);
      row["queueId"] = number(info.Env(), queue.queueId);
      row["minOffset"] = number(info.Env(), queue.bounds.min);
      row["maxOffset"] = number(info.Env(), queue.bounds.max);
      list[list.Length()] = row;
    }
    return list;
  });
  add("lmqs", [](const Napi::CallbackInfo& info, StoreHandle&, Store& store) -> Napi::Value {
    uint64_t cursor =
        static_cast<uint64_t>(std::max<int64_t>(0, info[1].As<Napi::Number>().Int64Value()));
    std::vector<std::string> names;
    store.listLmqs(info[0].As<Napi::String>().Utf8Value(), &cursor,
                   info[2].As<Napi::Number>().Uint32Value(), &names);
    Napi::Array list = Napi::Array::New(info.Env(), names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      list[static_cast<uint32_t>(i)] = Napi::String::New(info.Env(), names[i]);
    }
    Napi::Object page = Napi::Object::New(info.Env());
    page["names"] = list;
    page["cursor"] =
        number(info.Env(), cursor < store.lmqCount() ? static_cast<int64_t>(cursor) : -1);
    return page;
  });
  add("lmqCount", [](const Napi::CallbackInfo& info, StoreHandle&, Store& store) {
    return number(info.Env(), static_cast<int64_t>(store.lmqCount()));
  });
  add("logMin", [](const Napi::CallbackInfo& info, StoreHandle&, Store& store) {
    return number(info.Env(), store.logMin());
  });
  add("logEnd", [](const Napi::CallbackInfo& info, StoreHandle&, Store& store) {
    return number(info.Env(), store.logEnd());
  });
  add("syncedPosition", [](const Napi::CallbackInfo& info, StoreHandle&, Store& store) {
    return number(info.Env(), store.syncedPosition());
  });
  add("refresh",
      [](const Napi::CallbackInfo& info, StoreHandle& handle, Store& store) -> Napi::Value {
        const Result<bool> more = store.refresh();
        if (!more.ok()) throw toError(info.Env(), more.status());
        if (!store.isOutdated()) return number(info.Env(), *more ? 1 : 0);
        handle.queueUses.wait();
        const std::lock_guard<std::mutex> guard(handle.busy);
        const std::lock_guard<std::shared_mutex> readers(handle.reading);
        const Status status = store.reload();
        if (!status.ok()) throw toError(info.Env(), status);
        return number(info.Env(), 2);
      });
}

}  // namespace lmq
