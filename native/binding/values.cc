#include "values.h"

#include <cstring>

namespace lmq {

namespace {

Napi::Value number(Napi::Env env, int64_t value) {
  return Napi::Number::New(env, static_cast<double>(value));
}

int64_t integerOf(const Napi::Object& options, const char* name) {
  return options.Get(name).As<Napi::Number>().Int64Value();
}

bool flagOf(const Napi::Object& options, const char* name) {
  return options.Get(name).As<Napi::Boolean>().Value();
}

}  // namespace

Napi::Object toFacts(Napi::Env env, const Status& status) {
  Napi::Object facts = Napi::Object::New(env);
  const Status::Facts& from = status.facts();
  facts["code"] = Napi::String::New(env, codeText(from.code));
  facts["message"] = Napi::String::New(env, from.message);
  facts["hint"] = Napi::String::New(env, codeHint(from.code));
  if (!from.path.empty()) facts["path"] = Napi::String::New(env, from.path);
  if (from.offset >= 0) facts["offset"] = number(env, from.offset);
  if (from.limit >= 0) facts["limit"] = number(env, from.limit);
  if (from.systemError != 0) facts["errno"] = number(env, from.systemError);
  return facts;
}

Napi::Error toError(Napi::Env env, const Status& status) {
  Napi::Error error = Napi::Error::New(env, status.facts().message);
  error.Set("facts", toFacts(env, status));
  return error;
}

StoreOptions toOptions(const Napi::Object& from) {
  StoreOptions to;
  to.path = from.Get("path").As<Napi::String>().Utf8Value();
  to.commitLogPath = from.Get("commitLogPath").As<Napi::String>().Utf8Value();
  to.readOnly = flagOf(from, "readOnly");
  to.adopt = flagOf(from, "adopt");
  to.rebuild = flagOf(from, "rebuild");
  to.rebuildQueues = flagOf(from, "rebuildQueues");
  to.repair = flagOf(from, "repair");
  to.commitLogSize = static_cast<uint64_t>(integerOf(from, "mappedFileSizeCommitLog"));
  to.consumeQueueSize = static_cast<uint64_t>(integerOf(from, "mappedFileSizeConsumeQueue"));
  to.defaultCommitLogSize = static_cast<uint64_t>(integerOf(from, "defaultCommitLogSize"));
  to.defaultConsumeQueueSize = static_cast<uint64_t>(integerOf(from, "defaultConsumeQueueSize"));
  to.keyIndex = flagOf(from, "messageIndexEnable");
  to.indexSlots = integerOf(from, "maxHashSlotNum");
  to.indexEntries = integerOf(from, "maxIndexNum");
  to.defaultIndexSlots = integerOf(from, "defaultHashSlotNum");
  to.defaultIndexEntries = integerOf(from, "defaultIndexNum");
  to.maxMessageSize = static_cast<size_t>(integerOf(from, "maxMessageSize"));
  to.crcProperty = flagOf(from, "enabledAppendPropCRC");
  to.requireCrc = flagOf(from, "forceVerifyPropCRC");
  to.checkCrcOnRecover = flagOf(from, "checkCRCOnRecover");
  to.recoverMaxFiles = static_cast<size_t>(integerOf(from, "commitLogRecoverMaxNum"));
  to.lmq = flagOf(from, "enableLmq") && flagOf(from, "enableMultiDispatch");
  to.syncFlush = flagOf(from, "syncFlush");
  to.flushInterval = integerOf(from, "flushIntervalCommitLog");
  to.derivedInterval = integerOf(from, "flushConsumeQueueThoroughInterval");
  to.prepareAhead = static_cast<uint64_t>(integerOf(from, "prepareAheadBytes"));
  to.checkBufferCap = static_cast<size_t>(integerOf(from, "maxCheckMessageReuseBufferSize"));
  to.maxLmqQueues = static_cast<uint64_t>(integerOf(from, "maxLmqConsumeQueueNum"));
  to.maxStoreBytes = static_cast<uint64_t>(integerOf(from, "maxStoreBytes"));
  to.deleteOldest = flagOf(from, "deleteOldest");
  to.maxFilterBytes = static_cast<size_t>(integerOf(from, "maxFilterMessageSize"));
  to.travelFiles = static_cast<size_t>(integerOf(from, "travelCqFileNumWhenGetMessage"));
  to.hotBytes = static_cast<size_t>(integerOf(from, "maxTransferBytesOnMessageInMemory"));
  to.hotCount = static_cast<size_t>(integerOf(from, "maxTransferCountOnMessageInMemory"));
  to.coldBytes = static_cast<size_t>(integerOf(from, "maxTransferBytesOnMessageInDisk"));
  to.coldCount = static_cast<size_t>(integerOf(from, "maxTransferCountOnMessageInDisk"));
  to.hotMemoryPercent = static_cast<int>(integerOf(from, "accessMessageInMemoryMaxRatio"));
  to.positionalReads = flagOf(from, "positionalReads");
  const Napi::Array levels = from.Get("delayLevels").As<Napi::Array>();
  for (uint32_t i = 0; i < levels.Length(); ++i) {
    to.delayLevels.push_back(levels.Get(i).As<Napi::Number>().Int64Value());
  }
  const Napi::Uint8Array address = from.Get("storeAddress").As<Napi::Uint8Array>();
  to.storeHost.addressSize = address.ByteLength() == 16 ? 16 : 4;
  std::memcpy(to.storeHost.address, address.Data(), std::min<size_t>(address.ByteLength(), 16));
  to.storeHost.port = static_cast<uint32_t>(integerOf(from, "storePort"));
  return to;
}

Napi::Object toReport(Napi::Env env, const RecoveryReport& from) {
  Napi::Object report = Napi::Object::New(env);
  report["clean"] = Napi::Boolean::New(env, from.clean);
  report["created"] = Napi::Boolean::New(env, from.created);
  report["adopted"] = Napi::Boolean::New(env, from.adopted);
  report["logMin"] = number(env, from.logMin);
  report["logEnd"] = number(env, from.logEnd);
  report["scannedFrom"] = number(env, from.scannedFrom);
  report["scannedRecords"] = number(env, from.scannedRecords);
  report["dispatchedRecords"] = number(env, from.dispatchedRecords);
  if (from.cutFrom >= 0) {
    Napi::Object cut = Napi::Object::New(env);
    cut["from"] = number(env, from.cutFrom);
    cut["bytes"] = number(env, from.cutBytes);
    cut["verdict"] = Napi::String::New(env, from.cutVerdict);
    if (!from.cutSavedTo.empty()) cut["savedTo"] = Napi::String::New(env, from.cutSavedTo);
    report["cut"] = cut;
  }
  if (!from.lmqRebuilt.empty()) report["lmqRebuilt"] = Napi::String::New(env, from.lmqRebuilt);
  report["lmqImported"] = number(env, from.lmqImported);
  Napi::Array notes = Napi::Array::New(env);
  for (const Status& note : from.notes) notes[notes.Length()] = toFacts(env, note);
  report["notes"] = notes;
  return report;
}

}  // namespace lmq
