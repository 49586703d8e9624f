// The calls that happen per message or per page: raw Node-API, positional arguments, results in the
// shared array, nothing allocated. lib/native.ts declares them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "hot_call.h"

namespace lmq {

namespace {

std::string_view bytesOf(napi_env env, napi_value value) {
  void* data = nullptr;
  size_t length = 0;
  if (napi_get_buffer_info(env, value, &data, &length) != napi_ok) return {};
  return {static_cast<const char*>(data), length};
}

std::string_view textOrBytesOf(napi_env env, napi_value value, std::vector<char>& buffer) {
  napi_valuetype type = napi_undefined;
  napi_typeof(env, value, &type);
  return type == napi_string ? textOf(env, value, buffer) : bytesOf(env, value);
}

std::string_view stagedText(const StoreHandle& handle, int32_t at, int32_t length) {
  const bool inside = at >= 0 && length >= 0 && static_cast<size_t>(at) <= kStagedSize &&
                      static_cast<size_t>(length) <= kStagedSize - static_cast<size_t>(at);
  return inside ? std::string_view(handle.staged + at, static_cast<size_t>(length))
                : std::string_view();
}

// NaN: when it is stored.
int64_t bornOf(double born) {
  return std::isnan(born) ? Message::kAtStore : static_cast<int64_t>(born);
}

Host hostOf(napi_env env, napi_value address, napi_value port) {
  Host host;
  const std::string_view bytes = bytesOf(env, address);
  host.addressSize = bytes.size() == 16 ? 16 : 4;
  std::memcpy(host.address, bytes.data(), std::min<size_t>(bytes.size(), 16));
  host.port = static_cast<uint32_t>(integerOf(env, port));
  return host;
}

void finish(StoreHandle& handle, uint32_t topic, Message& message, int64_t plan) {
  if (!handle.store) {
    settle(handle, closed());
    return;
  }
  Store::Appended appended;
  if (!settle(handle, handle.store->append(topic, message, plan, &appended))) return;
  double* results = handle.results;
  results[out::kPhysicalOffset] = static_cast<double>(appended.physicalOffset);
  results[out::kQueueOffset] = static_cast<double>(appended.queueOffset);
  results[out::kSize] = static_cast<double>(appended.size);
  results[out::kStoreTimestamp] = static_cast<double>(appended.storeTimestamp);
  size_t count = 0;
  if (plan >= 0 && sys_flag::isQueued(message.sysFlag)) {
    const DispatchPlan& used = handle.store->plan(static_cast<size_t>(plan));
    count = std::min(used.fieldCount(), out::kCapacity - out::kLmqOffsets);
    for (size_t i = 0; i < count; ++i) {
      results[out::kLmqOffsets + i] = static_cast<double>(used.fieldOffset(i));
    }
  }
  results[out::kLmqCount] = static_cast<double>(count);
}

std::string_view cutTo(std::string_view body, int64_t length) {
  return length < 0 ? body : body.substr(0, static_cast<size_t>(length));
}

napi_value plan(napi_env env, napi_callback_info info) {
  const Call<4> call(env, info);
  StoreHandle& handle = call.handle;
  const std::string_view names = textOf(env, call.argv[1], handle.head);
  bool writeNames = false;
  napi_get_value_bool(env, call.argv[3], &writeNames);
  Status status = handle.store ? handle.store->setPlan(
                                     static_cast<size_t>(integerOf(env, call.argv[0])), names,
                                     static_cast<size_t>(integerOf(env, call.argv[2])), writeNames)
                               : closed();
  settle(handle, std::move(status));
  return nullptr;
}

napi_value append(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value body;
  void* data = nullptr;
  napi_get_cb_info(env, info, &argc, &body, nullptr, &data);
  const Stores& stores = *static_cast<const Stores*>(data);
  StoreHandle* handle = stores.chosen();
  if (handle == nullptr) return nullptr;  // lib/ never names another
  const double* given = stores.arguments();
  Message message;
  message.queueId = static_cast<int32_t>(given[args::kQueueId]);
  message.body = cutTo(bytesOf(env, body), static_cast<int64_t>(given[args::kBodyLength]));
  message.propertiesHead = stagedText(*handle, static_cast<int32_t>(given[args::kPropertiesAt]),
                                      static_cast<int32_t>(given[args::kPropertiesLength]));
  message.keysFrom = static_cast<uint32_t>(static_cast<int32_t>(given[args::kKeysFrom]));
  message.bornTimestamp = bornOf(given[args::kBornTimestamp]);
  if (handle->store) message.bornHost = message.storeHost = handle->store->options().storeHost;
  finish(*handle, static_cast<uint32_t>(given[args::kTopic]), message,
         static_cast<int64_t>(given[args::kPlan]));
  return nullptr;
}

napi_value appendWith(napi_env env, napi_callback_info info) {
  const Call<16> call(env, info);
  StoreHandle& handle = call.handle;
  Message message;
  message.queueId = int32Of(env, call.argv[1]);
  message.body = cutTo(bytesOf(env, call.argv[2]), integerOf(env, call.argv[3]));
  message.propertiesHead = textOrBytesOf(env, call.argv[4], handle.head);
  message.propertiesTail = textOrBytesOf(env, call.argv[5], handle.tail);
  message.bornTimestamp = bornOf(doubleOf(env, call.argv[7]));
  message.bornHost = hostOf(env, call.argv[8], call.argv[9]);
  message.storeHost = hostOf(env, call.argv[10], call.argv[11]);
  message.flag = int32Of(env, call.argv[12]);
  message.sysFlag = int32Of(env, call.argv[13]);
  message.reconsumeTimes = int32Of(env, call.argv[14]);
  message.preparedTransactionOffset = integerOf(env, call.argv[15]);
  finish(handle, static_cast<uint32_t>(int32Of(env, call.argv[0])), message,
         int32Of(env, call.argv[6]));
  return nullptr;
}

void writeRow(const Store::Row& row, double* to) {
  const record::View& view = row.view;
  const double start = static_cast<double>(row.start);
  const double fields[kFields] = {
      static_cast<double>(row.offset),
      start,
      static_cast<double>(view.size),
      static_cast<double>(view.queueId),
      static_cast<double>(view.flag),
      static_cast<double>(view.queueOffset),
      static_cast<double>(view.physicalOffset),
      static_cast<double>(view.sysFlag),
      static_cast<double>(view.bornTimestamp),
      start + view.bornHostAt,
      static_cast<double>(view.bornAddressSize),
      static_cast<double>(view.bornPort),
      static_cast<double>(view.storeTimestamp),
      start + view.storeHostAt,
      static_cast<double>(view.storeAddressSize),
      static_cast<double>(view.storePort),
      static_cast<double>(view.reconsumeTimes),
      static_cast<double>(view.preparedTransactionOffset),
      start + view.bodyAt,
      static_cast<double>(view.bodySize),
      start + view.topicAt,
      static_cast<double>(view.topicSize),
      start + view.propertiesAt,
      static_cast<double>(view.propertiesSize),
      static_cast<double>(view.bodyCrc),
      view.magic == record::kMagicV2 ? 2.0 : 1.0,
  };
  std::memcpy(to, fields, sizeof(fields));
}

// Page and field table of a read call.
struct Target {
  uint8_t* page = nullptr;
  size_t pageSize = 0;
  double* fields = nullptr;
  size_t rows = 0;
};

Target targetOf(napi_env env, napi_value page, napi_value fields) {
  Target target;
  void* data = nullptr;
  if (napi_get_buffer_info(env, page, &data, &target.pageSize) == napi_ok) {
    target.page = static_cast<uint8_t*>(data);
  }
  size_t length = 0;
  napi_typedarray_type type = napi_float64_array;
  if (napi_get_typedarray_info(env, fields, &type, &length, &data, nullptr, nullptr) == napi_ok &&
      type == napi_float64_array) {
    target.fields = static_cast<double*>(data);
    target.rows = length / kFields;
  }
  return target;
}

void answer(StoreHandle& handle, const Target& target) {
  const Store::Page& page = handle.page;
  double* results = handle.results;
  if (page.needed > 0) {
    results[out::kReadStatus] = out::kPageTooSmall;
    results[out::kBytes] = static_cast<double>(page.needed);
    return;
  }
  writePage(page, results, target.fields);
}

Status readable(const StoreHandle& handle, const Target& target) {
  if (!handle.store) return closed();
  if (target.rows == 0) return Status(Code::kInternal, "The field table is empty.");
  return {};
}

napi_value read(napi_env env, napi_callback_info info) {
  const Call<10> call(env, info);
  StoreHandle& handle = call.handle;
  const Target target = targetOf(env, call.argv[8], call.argv[9]);
  Store::ReadRequest request;
  napi_get_value_bool(env, call.argv[0], &request.queue.lmq);
  request.queue.number = static_cast<uint64_t>(integerOf(env, call.argv[1]));
  request.from = integerOf(env, call.argv[2]);
  request.maxMessages = std::min(
      static_cast<size_t>(std::max<int64_t>(0, integerOf(env, call.argv[3]))), target.rows);
  request.maxBytes = static_cast<size_t>(std::max(0.0, std::min(doubleOf(env, call.argv[4]), 4e9)));
  request.tags = textOf(env, call.argv[5], handle.head);
  napi_get_value_bool(env, call.argv[6], &request.verify);
  napi_get_value_bool(env, call.argv[7], &request.durable);
  request.page = target.page;
  request.pageSize = target.pageSize;
  Status status = readable(handle, target);
  if (status.ok()) status = handle.store->read(request, &handle.page);
  if (settle(handle, std::move(status))) answer(handle, target);
  return nullptr;
}

napi_value readAt(napi_env env, napi_callback_info info) {
  const Call<4> call(env, info);
  StoreHandle& handle = call.handle;
  const Target target = targetOf(env, call.argv[2], call.argv[3]);
  bool verify = true;
  napi_get_value_bool(env, call.argv[1], &verify);
  Status status = readable(handle, target);
  if (status.ok()) {
    status = handle.store->readAt(integerOf(env, call.argv[0]), verify, target.page,
                                  target.pageSize, &handle.page);
  }
  if (settle(handle, std::move(status))) answer(handle, target);
  return nullptr;
}

napi_value bounds(napi_env env, napi_callback_info info) {
  const Call<2> call(env, info);
  StoreHandle& handle = call.handle;
  Store::QueueRef queue;
  napi_get_value_bool(env, call.argv[0], &queue.lmq);
  queue.number = static_cast<uint64_t>(integerOf(env, call.argv[1]));
  Store::Bounds found;
  Status status = handle.store ? handle.store->bounds(queue, &found) : closed();
  handle.results[out::kMinOffset] = static_cast<double>(found.min);
  handle.results[out::kMaxOffset] = static_cast<double>(found.max);
  settle(handle, std::move(status));
  return nullptr;
}

napi_value setClock(napi_env env, napi_callback_info info) {
  const Call<1> call(env, info);
  StoreHandle& handle = call.handle;
  const double now = doubleOf(env, call.argv[0]);
  if (handle.store) handle.store->setClock(std::isnan(now) ? -1 : static_cast<int64_t>(now));
  return nullptr;
}

napi_value requestSync(napi_env env, napi_callback_info info) {
  StoreHandle& handle = Call<0>(env, info).handle;
  if (handle.store) handle.store->requestSync();
  return nullptr;
}

}  // namespace

size_t damagedIn(const Store::Page& page) {
  return std::min(page.damaged.size(), (out::kCapacity - out::kDamagedList) / 2);
}

void writePage(const Store::Page& page, double* results, double* fields) {
  results[out::kReadStatus] = static_cast<double>(static_cast<int>(page.status));
  results[out::kCount] = static_cast<double>(page.rows.size());
  results[out::kBytes] = static_cast<double>(page.bytes);
  results[out::kNextOffset] = static_cast<double>(page.nextOffset);
  results[out::kMinOffset] = static_cast<double>(page.bounds.min);
  results[out::kMaxOffset] = static_cast<double>(page.bounds.max);
  const size_t damaged = damagedIn(page);
  results[out::kDamaged] = static_cast<double>(damaged);
  for (size_t i = 0; i < damaged; ++i) {
    results[out::kDamagedList + 2 * i] = static_cast<double>(page.damaged[i].offset);
    results[out::kDamagedList + 2 * i + 1] = static_cast<double>(page.damaged[i].physicalOffset);
  }
  for (size_t i = 0; i < page.rows.size(); ++i) writeRow(page.rows[i], fields + i * kFields);
}

void addHotCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle) {
  const auto add = [&](const char* name, napi_callback call) {
    addHotCall(env, object, handle, name, call);
  };
  add("plan", plan);
  add("appendWith", appendWith);
  add("read", read);
  add("readAt", readAt);
  add("bounds", bounds);
  add("setClock", setClock);
  add("requestSync", requestSync);
}

void addAppend(Napi::Env env, Napi::Object exports) {
  Stores& stores = *Stores::of(env);  // lives as long as the environment
  exports["args"] = stores.argumentsOf(env);
  napi_value function;
  napi_create_function(env, "append", NAPI_AUTO_LENGTH, append, &stores, &function);
  exports["append"] = Napi::Value(env, function);
}

}  // namespace lmq
