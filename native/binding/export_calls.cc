// Snapshots and exports: one step of the copy at a time, off the JavaScript thread.
#include "store_handle.h"
#include "values.h"
#include "work.h"

namespace lmq {

namespace {

Napi::Object toObject(Napi::Env env, const Exporter::Progress& from) {
  const auto number = [&](int64_t value) {
    return Napi::Number::New(env, static_cast<double>(value));
  };
  Napi::Object progress = Napi::Object::New(env);
  progress["done"] = Napi::Boolean::New(env, from.done);
  progress["position"] = number(from.position);
  progress["total"] = number(from.total);
  progress["logMin"] = number(from.logMin);
  progress["logEnd"] = number(from.logEnd);
  progress["logFiles"] = number(from.logFiles);
  progress["records"] = number(from.records);
  progress["topicQueues"] = number(from.topicQueues);
  progress["lightQueues"] = number(from.lightQueues);
  progress["units"] = number(from.units);
  progress["logFileSize"] = number(from.logFileSize);
  progress["queueFileSize"] = number(from.queueFileSize);
  progress["indexSlots"] = number(from.indexShape.slots);
  progress["indexEntries"] = number(from.indexShape.entries);
  Napi::Array troubles = Napi::Array::New(env, from.troubles.size());
  for (size_t i = 0; i < from.troubles.size(); ++i) {
    Napi::Object trouble = Napi::Object::New(env);
    trouble["kind"] = Napi::String::New(env, from.troubles[i].kind);
    trouble["count"] = number(from.troubles[i].count);
    trouble["example"] = Napi::String::New(env, from.troubles[i].example);
    troubles[static_cast<uint32_t>(i)] = trouble;
  }
  progress["troubles"] = troubles;
  return progress;
}

Exporter::Kind kindOf(const std::string& name) {
  if (name == "broker") return Exporter::Kind::kBroker;
  return name == "inPlace" ? Exporter::Kind::kInPlace : Exporter::Kind::kSnapshot;
}

}  // namespace

void addExportCalls(Napi::Env env, Napi::Object object,
                    const std::shared_ptr<StoreHandle>& handle) {
  const auto begin = [handle](const Napi::CallbackInfo& info) {
    if (!handle->store) throw toError(info.Env(), closedStatus());
    handle->exporter =
        std::make_unique<Exporter>(*handle->store, kindOf(info[0].As<Napi::String>().Utf8Value()),
                                   info[1].As<Napi::String>().Utf8Value());
  };
  const auto step = [handle](const Napi::CallbackInfo& info) -> Napi::Value {
    auto progress = std::make_shared<Exporter::Progress>();
    return Work::start(
        info.Env(),
        [handle, progress]() -> Status {
          const std::shared_lock<std::shared_mutex> guard(handle->reading);
          if (!handle->store || !handle->exporter) return closedStatus();
          return handle->exporter->step(progress.get());
        },
        [progress](Napi::Env answerEnv) -> Napi::Value { return toObject(answerEnv, *progress); });
  };
  // Lets go of what the copy holds; between two steps.
  const auto end = [handle](const Napi::CallbackInfo&) { handle->exporter.reset(); };
  object["exportEnd"] = Napi::Function::New(env, end, "exportEnd");
  object["exportBegin"] = Napi::Function::New(env, begin, "exportBegin");
  object["exportStep"] = Napi::Function::New(env, step, "exportStep");
}

}  // namespace lmq
