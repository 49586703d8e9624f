// The addon's export list; lib/native.ts declares it.
#include <cstring>

#include "core/record.h"
#include "store_handle.h"
#include "values.h"

namespace lmq {

namespace {

Napi::Value codes(Napi::Env env) {
  Napi::Array list = Napi::Array::New(env);
  for (int code = 1; code < kCodeCount; ++code) {
    Napi::Array row = Napi::Array::New(env, 2);
    row[0u] = Napi::String::New(env, codeText(static_cast<Code>(code)));
    row[1u] = Napi::String::New(env, codeHint(static_cast<Code>(code)));
    list[list.Length()] = row;
  }
  return list;
}

Napi::Value readStatuses(Napi::Env env) {
  Napi::Array list = Napi::Array::New(env);
  for (const char* name : kReadStatusNames) list[list.Length()] = Napi::String::New(env, name);
  return list;
}

Napi::Value messageId(const Napi::CallbackInfo& info) {
  const Napi::Uint8Array address = info[0].As<Napi::Uint8Array>();
  Host host;
  host.addressSize = address.ByteLength() == 16 ? 16 : 4;
  std::memcpy(host.address, address.Data(),
              std::min<size_t>(address.ByteLength(), host.addressSize));
  host.port = static_cast<uint32_t>(info[1].As<Napi::Number>().Int64Value());
  char text[56];
  const size_t size = record::formatMessageId(host, info[2].As<Napi::Number>().Int64Value(), text);
  return Napi::String::New(info.Env(), text, size);
}

// The physical offset in a message id; undefined if the text is none.
Napi::Value parseMessageId(const Napi::CallbackInfo& info) {
  const std::string text = info[0].As<Napi::String>().Utf8Value();
  int64_t offset = 0;
  if (!record::parseMessageId(text, &offset)) return info.Env().Undefined();
  return Napi::Number::New(info.Env(), static_cast<double>(offset));
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports["codes"] = codes(env);
  exports["readStatuses"] = readStatuses(env);
  exports["openStore"] = Napi::Function::New(env, openStore, "openStore");
  exports["inspect"] = Napi::Function::New(env, inspectDirectory, "inspect");
  exports["messageId"] = Napi::Function::New(env, messageId, "messageId");
  exports["parseMessageId"] = Napi::Function::New(env, parseMessageId, "parseMessageId");
  addAppend(env, exports);
  addBenchCalls(env, exports);
  return exports;
}

}  // namespace

}  // namespace lmq

static Napi::Object initAddon(Napi::Env env, Napi::Object exports) {
  return lmq::init(env, exports);
}

NODE_API_MODULE(lmq_store, initAddon)
