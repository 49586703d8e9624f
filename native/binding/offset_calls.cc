// Consumer offsets. A commit and a look are calls without wrappers, as they come per page of
// messages; the lists are not.
#include <algorithm>

#include "hot_call.h"
#include "values.h"

namespace lmq {

namespace {

// Group, topic, queue id and offset, of which the last may be missing.
struct Asked {
  Asked(napi_env env, const Call<4>& call)
      : group(textOf(env, call.argv[0], call.handle.head)),
        topic(textOf(env, call.argv[1], call.handle.tail)),
        queueId(int32Of(env, call.argv[2])),
        offset(integerOf(env, call.argv[3])) {}
  std::string_view group;
  std::string_view topic;
  int32_t queueId;
  int64_t offset;
};

napi_value commit(napi_env env, napi_callback_info info) {
  const Call<4> call(env, info);
  StoreHandle& handle = call.handle;
  const Asked asked(env, call);
  settle(handle, handle.store ? handle.store->commitOffset(asked.group, asked.topic, asked.queueId,
                                                           asked.offset)
                              : closed());
  return nullptr;
}

napi_value restore(napi_env env, napi_callback_info info) {
  const Call<4> call(env, info);
  StoreHandle& handle = call.handle;
  const Asked asked(env, call);
  int64_t kept = -1;
  settle(handle, handle.store ? handle.store->restoreOffset(asked.group, asked.topic, asked.queueId,
                                                            asked.offset, &kept)
                              : closed());
  handle.results[out::kOffset] = static_cast<double>(kept);
  return nullptr;
}

napi_value committed(napi_env env, napi_callback_info info) {
  const Call<4> call(env, info);
  StoreHandle& handle = call.handle;
  const Asked asked(env, call);
  int64_t offset = -1;
  Status status = handle.store ? handle.store->offsets().refresh() : closed();
  if (status.ok()) {
    offset = handle.store->offsets().committed(asked.group, asked.topic, asked.queueId);
  }
  handle.results[out::kOffset] = static_cast<double>(offset);
  settle(handle, std::move(status));
  return nullptr;
}

// What the wrapped calls ask: of an open store, with what its writer has added.
ConsumerOffsets& offsetsOf(const Napi::CallbackInfo& info, StoreHandle& handle) {
  if (!handle.store) throw toError(info.Env(), closed());
  const Status status = handle.store->offsets().refresh();
  if (!status.ok()) throw toError(info.Env(), status);
  return handle.store->offsets();
}

Napi::Value groups(const Napi::CallbackInfo& info, ConsumerOffsets& offsets) {
  const std::vector<std::string> groups = offsets.groups();
  Napi::Array list = Napi::Array::New(info.Env(), groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    list[static_cast<uint32_t>(i)] = Napi::String::New(info.Env(), groups[i]);
  }
  return list;
}

// A page of offsets, as `list` gives them for a cursor and a limit.
template <typename List>
Napi::Value page(const Napi::CallbackInfo& info, const List& list) {
  uint64_t cursor =
      static_cast<uint64_t>(std::max<int64_t>(0, info[0].As<Napi::Number>().Int64Value()));
  std::vector<ConsumerOffsets::Offset> found;
  const bool more = list(&cursor, info[1].As<Napi::Number>().Uint32Value(), &found);
  Napi::Array rows = Napi::Array::New(info.Env(), found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    Napi::Object row = Napi::Object::New(info.Env());
    row["group"] = Napi::String::New(info.Env(), found[i].group);
    row["topic"] = Napi::String::New(info.Env(), found[i].topic);
    row["queueId"] = Napi::Number::New(info.Env(), found[i].queueId);
    row["offset"] = Napi::Number::New(info.Env(), static_cast<double>(found[i].offset));
    rows[static_cast<uint32_t>(i)] = row;
  }
  Napi::Object page = Napi::Object::New(info.Env());
  page["offsets"] = rows;
  page["cursor"] = Napi::Number::New(info.Env(), more ? static_cast<double>(cursor) : -1);
  return page;
}

Napi::Value consumerOffsets(const Napi::CallbackInfo& info, ConsumerOffsets& offsets) {
  return page(info, [&](auto... of) { return offsets.list(of...); });
}

// Those of the export that is done.
Napi::Value exportOffsets(const Napi::CallbackInfo& info, StoreHandle& handle) {
  if (!handle.exporter) throw toError(info.Env(), closed());
  const ExportedOffsets& offsets = handle.exporter->offsets();
  return page(info, [&](auto... of) { return offsets.list(of...); });
}

Napi::Value offsetSource(const Napi::CallbackInfo& info, ConsumerOffsets& offsets) {
  const int64_t stamp = offsets.source(info[0].As<Napi::Number>().Uint32Value());
  return Napi::Number::New(info.Env(), static_cast<double>(stamp));
}

Napi::Value noteOffsetSource(const Napi::CallbackInfo& info, ConsumerOffsets& offsets) {
  const Status status = offsets.noteSource(info[0].As<Napi::Number>().Uint32Value(),
                                           info[1].As<Napi::Number>().Int64Value());
  if (!status.ok()) throw toError(info.Env(), status);
  return info.Env().Undefined();
}

}  // namespace

void addOffsetCalls(Napi::Env env, Napi::Object object,
                    const std::shared_ptr<StoreHandle>& handle) {
  addHotCall(env, object, handle, "commit", commit);
  addHotCall(env, object, handle, "restore", restore);
  addHotCall(env, object, handle, "committed", committed);
  const auto add = [&](const char* name, auto call) {
    addCall(env, object, name, [handle, call](const Napi::CallbackInfo& info) -> Napi::Value {
      return call(info, offsetsOf(info, *handle));
    });
  };
  add("groups", groups);
  add("consumerOffsets", consumerOffsets);
  add("offsetSource", offsetSource);
  add("noteOffsetSource", noteOffsetSource);
  object["exportOffsets"] = Napi::Function::New(
      env, [handle](const Napi::CallbackInfo& info) { return exportOffsets(info, *handle); },
      "exportOffsets");
}

}  // namespace lmq
