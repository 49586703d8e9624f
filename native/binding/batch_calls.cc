// Batches: one call for all messages of one, with wrappers, since batches are for atomicity and not
// for speed.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "store_handle.h"
#include "values.h"

namespace lmq {

namespace {

std::string_view bytesOf(const Napi::Value& value) {
  if (!value.IsTypedArray()) return {};
  const Napi::Uint8Array bytes = value.As<Napi::Uint8Array>();
  return {reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength()};
}

Host hostOf(const Napi::Value& address, const Napi::Value& port) {
  Host host;
  const std::string_view bytes = bytesOf(address);
  host.addressSize = bytes.size() == 16 ? 16 : 4;
  std::memcpy(host.address, bytes.data(), std::min<size_t>(bytes.size(), host.addressSize));
  host.port = static_cast<uint32_t>(port.As<Napi::Number>().Int64Value());
  return host;
}

// One of lib/native-values.ts's NativeBatchMessage; its bytes are borrowed.
Store::BatchMessage messageOf(const Napi::Object& given) {
  Store::BatchMessage one;
  Message& message = one.message;
  message.body = bytesOf(given.Get("body"));
  message.propertiesHead = bytesOf(given.Get("head"));
  message.propertiesTail = bytesOf(given.Get("tail"));
  const double born = given.Get("bornTimestamp").As<Napi::Number>().DoubleValue();
  message.bornTimestamp = std::isnan(born) ? Message::kAtStore : static_cast<int64_t>(born);
  message.bornHost = hostOf(given.Get("bornAddress"), given.Get("bornPort"));
  message.storeHost = hostOf(given.Get("storeAddress"), given.Get("storePort"));
  message.flag = given.Get("flag").As<Napi::Number>().Int32Value();
  message.sysFlag = given.Get("sysFlag").As<Napi::Number>().Int32Value();
  message.reconsumeTimes = given.Get("reconsumeTimes").As<Napi::Number>().Int32Value();
  const size_t queues = given.Get("queueCount").As<Napi::Number>().Uint32Value();
  if (queues > 0) {
    one.plan = std::make_unique<DispatchPlan>();
    one.plan->parse(given.Get("queues").As<Napi::String>().Utf8Value(), queues,
                    given.Get("writeQueues").ToBoolean());
  }
  return one;
}

Napi::Float64Array rowOf(Napi::Env env, const Store::BatchMessage& one) {
  const size_t count = one.plan ? one.plan->fieldCount() : 0;
  Napi::Float64Array row = Napi::Float64Array::New(env, out::kLmqOffsets + count);
  row[out::kStatus] = 0;
  row[out::kPhysicalOffset] = static_cast<double>(one.stored.physicalOffset);
  row[out::kQueueOffset] = static_cast<double>(one.stored.queueOffset);
  row[out::kSize] = static_cast<double>(one.stored.size);
  row[out::kStoreTimestamp] = static_cast<double>(one.stored.storeTimestamp);
  row[out::kLmqCount] = static_cast<double>(count);
  for (size_t field = 0; field < count; ++field) {
    row[out::kLmqOffsets + field] = static_cast<double>(one.plan->fieldOffset(field));
  }
  return row;
}

// appendBatch(topic, queueId, messages): a row of results for each, as append() writes them.
Napi::Value appendBatch(const Napi::CallbackInfo& info, Store& store) {
  const Napi::Env env = info.Env();
  const Napi::Array given = info[2].As<Napi::Array>();
  std::vector<Store::BatchMessage> batch;
  batch.reserve(given.Length());
  for (uint32_t i = 0; i < given.Length(); ++i) {
    const Napi::HandleScope scope(env);
    batch.push_back(messageOf(given.Get(i).As<Napi::Object>()));
  }
  Status status = store.appendBatch(info[0].As<Napi::Number>().Uint32Value(),
                                    info[1].As<Napi::Number>().Int32Value(), batch);
  if (!status.ok()) throw toError(env, status);
  Napi::Array rows = Napi::Array::New(env, batch.size());
  for (uint32_t i = 0; i < batch.size(); ++i) {
    const Napi::HandleScope scope(env);
    rows.Set(i, rowOf(env, batch[i]));
  }
  return rows;
}

}  // namespace

void addBatchCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle) {
  object["appendBatch"] = Napi::Function::New(
      env,
      [handle](const Napi::CallbackInfo& info) -> Napi::Value {
        if (!handle->store)
          throw toError(info.Env(), Status(Code::kClosed, "The store is closed."));
        return appendBatch(info, *handle->store);
      },
      "appendBatch");
}

}  // namespace lmq
