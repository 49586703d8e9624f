// What the benchmark measures below the API: the core alone, a plain copy, the allocator.
#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "core/crc32.h"
#include "store_handle.h"
#include "values.h"

namespace lmq {

namespace {

using Clock = std::chrono::steady_clock;

double nanosSince(Clock::time_point start, int64_t count) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
         static_cast<double>(count);
}

// benchAppend(store, topic, queueId, body, properties, plan, count): ns per append of the core.
Napi::Value benchAppend(const Napi::CallbackInfo& info) {
  StoreHandle* handle = handleOf(info[0]);
  if (handle == nullptr || !handle->store) {
    throw toError(info.Env(), Status(Code::kClosed, "The store is closed."));
  }
  const uint32_t topic = info[1].As<Napi::Number>().Uint32Value();
  const Napi::Uint8Array body = info[3].As<Napi::Uint8Array>();
  const std::string properties = info[4].As<Napi::String>().Utf8Value();
  const int64_t plan = info[5].As<Napi::Number>().Int64Value();
  const int64_t count = info[6].As<Napi::Number>().Int64Value();
  const auto start = Clock::now();
  for (int64_t i = 0; i < count; ++i) {
    Message message;
    message.queueId = info[2].As<Napi::Number>().Int32Value();
    message.body = {reinterpret_cast<const char*>(body.Data()), body.ByteLength()};
    message.propertiesHead = properties;
    message.bornHost = message.storeHost = handle->store->options().storeHost;
    Store::Appended appended;
    Status status = handle->store->append(topic, message, plan, &appended);
    if (!status.ok()) throw toError(info.Env(), status);
  }
  return Napi::Number::New(info.Env(), nanosSince(start, count));
}

// benchCopy(bytes, ringBytes, count): ns per memcpy of `bytes` into a ring of touched memory.
Napi::Value benchCopy(const Napi::CallbackInfo& info) {
  const size_t bytes = info[0].As<Napi::Number>().Uint32Value();
  const size_t ring = static_cast<size_t>(info[1].As<Napi::Number>().Int64Value());
  const int64_t count = info[2].As<Napi::Number>().Int64Value();
  if (bytes == 0 || ring < bytes || count < 1) {
    throw Napi::RangeError::New(info.Env(),
                                "benchCopy needs bytes, a ring that holds them, and a count");
  }
  const std::vector<uint8_t> source(bytes, 0x5a);
  std::vector<uint8_t> target(ring, 0);
  size_t at = 0;
  const auto start = Clock::now();
  for (int64_t i = 0; i < count; ++i) {
    if (ring - at < bytes) at = 0;
    std::memcpy(target.data() + at, source.data(), bytes);
    asm volatile("" : : "r"(target.data() + at) : "memory");
    at += bytes;
  }
  return Napi::Number::New(info.Env(), nanosSince(start, count));
}

// Calls of malloc and its kin by this thread so far, where the benchmark has preloaded its counter;
// else -1.
Napi::Value allocations(const Napi::CallbackInfo& info) {
  using Counter = uint64_t (*)();
  static const auto counter =
      reinterpret_cast<Counter>(dlsym(RTLD_DEFAULT, "lmq_bench_allocations"));
  return Napi::Number::New(info.Env(), counter == nullptr ? -1.0 : static_cast<double>(counter()));
}

Napi::Value crcKernel(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), crc32KernelName(crc32Kernel()));
}

}  // namespace

void addBenchCalls(Napi::Env env, Napi::Object exports) {
  exports["benchAppend"] = Napi::Function::New(env, benchAppend, "benchAppend");
  exports["benchCopy"] = Napi::Function::New(env, benchCopy, "benchCopy");
  exports["allocations"] = Napi::Function::New(env, allocations, "allocations");
  exports["crcKernel"] = Napi::Function::New(env, crcKernel, "crcKernel");
}

}  // namespace lmq
