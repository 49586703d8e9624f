// What the calls without wrappers share: their arguments, and how they answer.
#pragma once

#include <string_view>
#include <vector>

#include "store_handle.h"

namespace lmq {

// Longer property strings are refused anyway.
inline constexpr size_t kPropertyCapacity = record::kMaxProperties + 2;

// A call's arguments, and the handle that its function belongs to.
template <size_t kCount>
struct Call {
  Call(napi_env env, napi_callback_info info) : handle(*handleOfCall(env, info, argv)) {}

  napi_value argv[kCount > 0 ? kCount : 1];
  StoreHandle& handle;

 private:
  static StoreHandle* handleOfCall(napi_env env, napi_callback_info info, napi_value* argv) {
    size_t argc = kCount;
    void* data = nullptr;
    napi_get_cb_info(env, info, &argc, argv, nullptr, &data);
    return static_cast<StoreHandle*>(data);
  }
};

inline double doubleOf(napi_env env, napi_value value) {
  double number = 0;
  napi_get_value_double(env, value, &number);
  return number;
}

inline int64_t integerOf(napi_env env, napi_value value) {
  int64_t number = 0;
  napi_get_value_int64(env, value, &number);
  return number;
}

inline int32_t int32Of(napi_env env, napi_value value) {
  int32_t number = 0;
  napi_get_value_int32(env, value, &number);
  return number;
}

// The UTF-8 of a string, in `buffer`; one byte longer than allowed if it does not fit.
inline std::string_view textOf(napi_env env, napi_value value, std::vector<char>& buffer) {
  if (buffer.size() < kPropertyCapacity) buffer.resize(kPropertyCapacity);
  size_t length = 0;
  napi_get_value_string_utf8(env, value, buffer.data(), buffer.size(), &length);
  return {buffer.data(), length};
}

// Writes how a call ended; true if it went well.
inline bool settle(StoreHandle& handle, Status status) {
  const bool ok = status.ok();
  handle.results[out::kStatus] = ok ? 0 : handle.fail(std::move(status));
  return ok;
}

inline Status closed() { return Status(Code::kClosed, "The store is closed."); }

// Makes a function of the store's object. It may outlive the object it was taken from.
inline void addHotCall(Napi::Env env, Napi::Object object,
                       const std::shared_ptr<StoreHandle>& handle, const char* name,
                       napi_callback call) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, call, handle.get(), &function);
  napi_add_finalizer(
      env, function, new std::shared_ptr<StoreHandle>(handle),
      [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<StoreHandle>*>(data); },
      nullptr, nullptr);
  object.Set(name, Napi::Value(env, function));
}

}  // namespace lmq
