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
    file["path"] = Napi::String::New(files.Env(), root.empty() ? path : path.substr(1));
    file["size"] = Napi::Number::New(files.Env(), static_cast<double>(entry.size));
    files[files.Length()] = file;
  }
  return {};
}

// What a small file says: null where there is none, { error } where it cannot be read.
template <typename T, typename Fill>
Napi::Value describe(Napi::Env env, const Result<std::optional<T>>& file, const Fill& fill) {
  Napi::Object to = Napi::Object::New(env);
  if (!file.ok()) {
    to["error"] = toFacts(env, file.status());
    return to;
  }
  if (!(*file).has_value()) return env.Null();
  fill(**file, to);
  return to;
}

template <typename T>
T valueOr(Napi::Env env, Result<T> result) {
  if (!result.ok()) throw toError(env, result.status());
  return result.take();
}

}  // namespace

Napi::Value inspectDirectory(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto number = [&](int64_t value) {
    return Napi::Number::New(env, static_cast<double>(value));
  };
  const StoreDir dir(info[0].As<Napi::String>().Utf8Value(),
                     info[1].IsString() ? info[1].As<Napi::String>().Utf8Value() : "");
  if (const FileInfo root = valueOr(env, inspect(dir.root())); !root.exists || !root.isDirectory) {
    throw toError(env, Status(Code::kNotFound, "There is no such directory.").at(dir.root()));
  }
  Napi::Object report = Napi::Object::New(env);
  report["path"] = Napi::String::New(env, dir.root());
  Napi::Array files = Napi::Array::New(env);
  if (Status status = listFiles(dir.root(), "", 0, files); !status.ok()) throw toError(env, status);
  const std::string log = dir.commitLog();
  if (log != StoreDir(dir.root()).commitLog()) {  // elsewhere: by its full path
    if (Status status = listFiles("", log, 0, files); !status.ok()) throw toError(env, status);
  }
  report["files"] = files;

  Napi::Object abort = Napi::Object::New(env);
  const int64_t pid = valueOr(env, dir.abortPid());
  abort["present"] = Napi::Boolean::New(env, valueOr(env, dir.aborted()));
  abort["pid"] = pid < 0 ? env.Null() : Napi::Value(number(pid));
  report["abort"] = abort;
  report["lockHeld"] = Napi::Boolean::New(env, valueOr(env, dir.isLocked()));

  report["marker"] = describe(env, dir.readMarker(), [&](const Marker& from, Napi::Object& to) {
    to["format"] = number(from.format);
    to["mappedFileSizeCommitLog"] = number(from.mappedFileSizeCommitLog);
    to["mappedFileSizeConsumeQueue"] = number(from.mappedFileSizeConsumeQueue);
    to["adoptedAt"] = number(from.adoptedAt);
  });
  report["checkpoint"] = describe(env, dir.readBrokerCheckpoint(),
                                  [&](const BrokerCheckpoint& from, Napi::Object& to) {
                                    to["physicMsgTimestamp"] = number(from.physicMsgTimestamp);
                                    to["logicsMsgTimestamp"] = number(from.logicsMsgTimestamp);
                                    to["indexMsgTimestamp"] = number(from.indexMsgTimestamp);
                                    to["masterFlushedOffset"] = number(from.masterFlushedOffset);
                                    to["confirmPhyOffset"] = number(from.confirmPhyOffset);
                                    to["logicsPhysicalOffset"] = number(from.logicsPhysicalOffset);
                                  });
  report["ownCheckpoint"] =
      describe(env, dir.readOwnCheckpoint(), [&](const OwnCheckpoint& from, Napi::Object& to) {
        to["logSynced"] = number(from.logSynced);
        to["derivedSynced"] = number(from.derivedSynced);
        to["lmqEntries"] = number(static_cast<int64_t>(from.lmqEntries));
        to["clean"] = Napi::Boolean::New(env, from.clean);
        to["logEnd"] = number(from.logEnd);
      });
  return report;
}

}  // namespace lmq
