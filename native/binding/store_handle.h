// What JavaScript holds of an open store: the core's store, the array that results are written to,
// and the way back for events of the flusher thread.
#pragma once

#include <napi.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "core/exporter.h"
#include "core/store.h"
#include "core/store_verify.h"

namespace lmq {

// Positions in the array of arguments; lib/native-args.ts has the same names.
namespace args {
enum : size_t {
  kStore = 0,
  kTopic = 1,
  kQueueId = 2,
  kBodyLength = 3,
  kPropertiesAt = 4,
  kPropertiesLength = 5,
  kPlan = 6,
  kBornTimestamp = 7,
  kKeysFrom = 8,
  kCount = 9,
};
}  // namespace args

// Positions in the result array; lib/native-values.ts has the same names.
namespace out {
enum : size_t {
  kStatus = 0,
  kPhysicalOffset = 1,
  kQueueOffset = 2,
  kSize = 3,
  kStoreTimestamp = 4,
  kLmqCount = 5,
  kLmqOffsets = 6,
  kOffset = 1,
  kReadStatus = 1,
  kCount = 2,
  kBytes = 3,
  kNextOffset = 4,
  kMinOffset = 5,
  kMaxOffset = 6,
  kDamaged = 7,
  kDamagedList = 8,
};
// A property string of 32767 bytes names fewer light queues than this.
inline constexpr size_t kCapacity = 8192;
inline constexpr double kPageTooSmall = -1;
}  // namespace out

// Memory that JavaScript puts properties into, on lines and, behind them, twice as many bytes as a
// record can have; lib/property-writer.ts divides it.
inline constexpr size_t kStagedSize = 128 * 1024;

// Columns of the field table; lib/native.ts has the same names in the same order.
inline constexpr size_t kFields = 26;

class StoreHandle;

// What all stores of an environment share. `append` is one function of the addon, whichever the
// store: a function of each store is another target of the same call in JavaScript, and a call
// that has many targets costs three times as much.
class Stores {
 public:
  // On the JavaScript thread, as all of it.
  static const std::shared_ptr<Stores>& of(Napi::Env env);

  size_t add(StoreHandle* handle);  // gives its number
  void remove(size_t number) { handles_[number] = nullptr; }
  // The handle of the store that the arguments name; nullptr if there is none.
  StoreHandle* chosen() const {
    const auto number = static_cast<size_t>(static_cast<int64_t>(arguments_[args::kStore]));
    return number < handles_.size() ? handles_[number] : nullptr;
  }
  const double* arguments() const { return arguments_; }
  Napi::Float64Array argumentsOf(Napi::Env env);  // made by the first call

 private:
  std::vector<StoreHandle*> handles_;  // by number; nullptr: free
  double* arguments_ = nullptr;        // args::kCount
};

// Counts work off the JavaScript thread that was given the number of a queue: it ends before a
// reader is loaded anew, which changes the numbers.
class QueueUses {
 public:
  // For as long as it lives, which may end on any thread.
  std::shared_ptr<void> begin();
  void wait();

 private:
  std::mutex lock_;
  std::condition_variable ended_;
  int count_ = 0;
};

class StoreHandle {
 public:
  explicit StoreHandle(napi_env env) : env_(env) {}
  ~StoreHandle();

  // The plain object of functions that lib/ calls.
  static Napi::Object makeObject(Napi::Env env, const std::shared_ptr<StoreHandle>& handle);

  // On the JavaScript thread: hands events to `listener` until release().
  void listen(Napi::Env env, const Napi::Function& listener);
  StoreListener listenerOfCore();
  void tellProgress(int64_t position, int64_t end);  // of an open, from its thread
  // Ends the store without a clean close; of an environment that ends, or after close().
  void release();

  // Notes a failure for lastError() and gives its number.
  double fail(Status status);

  std::unique_ptr<Store> store;
  std::unique_ptr<StoreVerify> verify;
  std::unique_ptr<Exporter> exporter;
  std::mutex busy;            // held by work off the JavaScript thread; release() waits for it
  std::shared_mutex reading;  // shared by reads off it, which need not wait for that work
  QueueUses queueUses;
  double* results = nullptr;  // kCapacity doubles, kept by resultsArray
  Napi::Reference<Napi::Float64Array> resultsArray;
  const char* staged = nullptr;  // kStagedSize bytes, kept by stagedArray
  Napi::Reference<Napi::Uint8Array> stagedArray;
  Status lastError;
  std::vector<char> head;  // property strings, as bytes
  std::vector<char> tail;
  Store::Page page;

 private:
  struct Event;
  static void deliver(napi_env env, napi_value listener, void* context, void* data);
  void send(std::unique_ptr<Event> event);

  napi_env env_;
  napi_threadsafe_function events_ = nullptr;
  std::mutex eventsLock_;
  std::atomic<int64_t> syncedPosition_{0};
  std::atomic<bool> syncedSent_{
      false};  // one 'synced' is on its way; it carries the newest position
  friend void refEvents(StoreHandle& handle, bool hold);
};

// While referenced, the store keeps the process alive.
void refEvents(StoreHandle& handle, bool hold);

// hot_calls.cc: functions without wrappers, whose data pointer is the handle; and append, of all
// stores.
void addHotCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle);
void addAppend(Napi::Env env, Napi::Object exports);
// What a read found: numbers in their places of `results`, which has room for damagedIn(page)
// pairs behind kDamagedList, and kFields numbers a message in `fields`.
size_t damagedIn(const Store::Page& page);
void writePage(const Store::Page& page, double* results, double* fields);
// queue_calls.cc
void addQueueCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle);
// batch_calls.cc
void addBatchCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle);
// offset_calls.cc
void addOffsetCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle);
// life_calls.cc
void addLifeCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle);
Napi::Value openStore(const Napi::CallbackInfo& info);
// retention_calls.cc
void addRetentionCalls(Napi::Env env, Napi::Object object,
                       const std::shared_ptr<StoreHandle>& handle);
Napi::Object toExpired(Napi::Env env, const Expired& from);
// read_calls.cc
void addReadCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle);
// export_calls.cc
void addExportCalls(Napi::Env env, Napi::Object object, const std::shared_ptr<StoreHandle>& handle);
// inspect_calls.cc
Napi::Value inspectDirectory(const Napi::CallbackInfo& info);
// bench_calls.cc
void addBenchCalls(Napi::Env env, Napi::Object exports);

// Adds a function to an object of a store's; `call` holds what it needs.
template <typename Call>
void addCall(Napi::Env env, Napi::Object object, const char* name, Call call) {
  object[name] = Napi::Function::New(env, std::move(call), name);
}

// The handle behind an object that makeObject() made; nullptr for any other.
StoreHandle* handleOf(const Napi::Value& value);

}  // namespace lmq
