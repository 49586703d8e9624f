// What lies in a directory, without opening it and without changing a byte of it.
#include "core/store_dir.h"
#include "store_handle.h"
#include "values.h"

namespace lmq {

namespace {

// Directories deeper than this are not RocketMQ's.
constexpr int kMaxDepth = 6;

Status listFiles(const std::string& root, const std::string& below, int depth, Napi::Array& files) {
  const Result<std::vector<DirectoryEntry>> entries = list(root + below);
  if (!entries.ok()) return entries.status();
  for (const DirectoryEntry& entry : *entries) {
    const std::string path = below + "/" + entry.name;
    if (entry.isDirectory) {
      if (depth < kMaxDepth) LMQ_TRY(listFiles(root, path, depth + 1, files));
      continue;
    }
    Napi::Object file = Napi::Object::New(files.Env());
    file["path"] = Napi::String::New(files.Env(), path.substr(1));
    file["size"] = Napi::Number::New(files.Env(), static_cast<double>(entry.size));
    files[files.Length()] = file;
  }
  return {};
}

template <typename T>
T valueOr(Napi::Env env, Result<T> result) {
  if (!result.ok()) throw toError(env, result.status());
  return result.take();
}

}  // namespace

Napi::Value inspectDirectory(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto number = [&](int64_t value) { return Napi::Number::New(env, static_cast<double>(value)); };
  const StoreDir dir(info[0].As<Napi::String>().Utf8Value());
  if (const FileInfo root = valueOr(env, inspect(dir.root())); !root.exists || !root.isDirectory) {
    throw toError(env, Status(Code::kNotFound, "There is no such directory.").at(dir.root()));
  }
  Napi::Object report = Napi::Object::New(env);
  report["path"] = Napi::String::New(env, dir.root());
  Napi::Array files = Napi::Array::New(env);
  if (Status status = listFiles(dir.root(), "", 0, files); !status.ok()) throw toError(env, status);
  report["files"] = files;

  Napi::Object abort = Napi::Object::New(env);
  const int64_t pid = valueOr(env, dir.abortPid());
  abort["present"] = Napi::Boolean::New(env, valueOr(env, dir.aborted()));
  abort["pid"] = pid < 0 ? env.Null() : Napi::Value(number(pid));
  report["abort"] = abort;
  report["lockHeld"] = Napi::Boolean::New(env, valueOr(env, dir.isLocked()));

  report["marker"] = env.Null();
  if (const std::optional<Marker> marker = valueOr(env, dir.readMarker())) {
    Napi::Object to = Napi::Object::New(env);
    to["format"] = number(marker->format);
    to["mappedFileSizeCommitLog"] = number(marker->mappedFileSizeCommitLog);
    to["mappedFileSizeConsumeQueue"] = number(marker->mappedFileSizeConsumeQueue);
    to["adoptedAt"] = number(marker->adoptedAt);
    report["marker"] = to;
  }
  report["checkpoint"] = env.Null();
  if (const std::optional<BrokerCheckpoint> from = valueOr(env, dir.readBrokerCheckpoint())) {
    Napi::Object to = Napi::Object::New(env);
    to["physicMsgTimestamp"] = number(from->physicMsgTimestamp);
    to["logicsMsgTimestamp"] = number(from->logicsMsgTimestamp);
    to["indexMsgTimestamp"] = number(from->indexMsgTimestamp);
    to["masterFlushedOffset"] = number(from->masterFlushedOffset);
    to["confirmPhyOffset"] = number(from->confirmPhyOffset);
    to["logicsPhysicalOffset"] = number(from->logicsPhysicalOffset);
    report["checkpoint"] = to;
  }
  report["ownCheckpoint"] = env.Null();
  if (const std::optional<OwnCheckpoint> from = valueOr(env, dir.readOwnCheckpoint())) {
    Napi::Object to = Napi::Object::New(env);
    to["logSynced"] = number(from->logSynced);
    to["derivedSynced"] = number(from->derivedSynced);
    to["lmqEntries"] = number(static_cast<int64_t>(from->lmqEntries));
    to["clean"] = Napi::Boolean::New(env, from->clean);
    to["logEnd"] = number(from->logEnd);
    report["ownCheckpoint"] = to;
  }
  return report;
}

}  // namespace lmq
