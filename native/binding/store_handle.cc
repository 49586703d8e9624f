#include "store_handle.h"

#include <algorithm>

#include "values.h"

namespace lmq {

struct StoreHandle::Event {
  enum Kind { kSynced, kSyncFailed, kFault, kProgress, kExpired } kind;
  Status status;
  int64_t position = 0;
  int64_t end = 0;
  Expired expired = {};
};

namespace {

// Marks the objects of this addon, so that no other object's pointer is taken for a handle.
constexpr napi_type_tag kHandleTag = {0x6c6d712d73746f72, 0x652d68616e646c65};

void releaseOfEnvironment(void* handle) { static_cast<StoreHandle*>(handle)->release(); }

}  // namespace

std::shared_ptr<void> QueueUses::begin() {
  const std::lock_guard<std::mutex> guard(lock_);
  ++count_;
  return std::shared_ptr<void>(nullptr, [this](void*) {
    const std::lock_guard<std::mutex> end(lock_);
    if (--count_ == 0) ended_.notify_all();
  });
}

void QueueUses::wait() {
  std::unique_lock<std::mutex> guard(lock_);
  ended_.wait(guard, [this] { return count_ == 0; });
}

StoreHandle::~StoreHandle() {
  napi_remove_env_cleanup_hook(env_, releaseOfEnvironment, this);
  release();
}

void StoreHandle::release() {
  {
    const std::lock_guard<std::mutex> guard(busy);
    const std::lock_guard<std::shared_mutex> readers(reading);
    verify.reset();
    exporter.reset();
    store.reset();  // joins the flusher, so no event comes after it
  }
  const std::lock_guard<std::mutex> guard(eventsLock_);
  if (events_ == nullptr) return;
  napi_release_threadsafe_function(events_, napi_tsfn_abort);
  events_ = nullptr;
}

double StoreHandle::fail(Status status) {
  const double code = static_cast<double>(static_cast<int>(status.code()));
  lastError = std::move(status);
  return code;
}

void StoreHandle::listen(Napi::Env env, const Napi::Function& listener) {
  const Napi::String name = Napi::String::New(env, "lmq-store events");
  napi_create_threadsafe_function(env, listener, nullptr, name, 0, 1, nullptr, nullptr, this,
                                  deliver, &events_);
  napi_unref_threadsafe_function(env, events_);
  // Hooks run last in, first out: ours must stop the flusher before that of the function closes it.
  napi_add_env_cleanup_hook(env_, releaseOfEnvironment, this);
}

void refEvents(StoreHandle& handle, bool hold) {
  const std::lock_guard<std::mutex> guard(handle.eventsLock_);
  if (handle.events_ == nullptr) return;
  if (hold) {
    napi_ref_threadsafe_function(handle.env_, handle.events_);
  } else {
    napi_unref_threadsafe_function(handle.env_, handle.events_);
  }
}

StoreListener StoreHandle::listenerOfCore() {
  StoreListener listener;
  listener.synced = [this](int64_t position) {
    syncedPosition_.store(position, std::memory_order_release);
    if (syncedSent_.exchange(true)) return;
    send(std::make_unique<Event>(Event{Event::kSynced, {}}));
  };
  listener.syncFailed = [this](const Status& status) {
    send(std::make_unique<Event>(Event{Event::kSyncFailed, status}));
  };
  listener.fault = [this](const Status& status) {
    send(std::make_unique<Event>(Event{Event::kFault, status}));
  };
  listener.expired = [this](const Expired& expired) {
    send(std::make_unique<Event>(Event{Event::kExpired, {}, 0, 0, expired}));
  };
  return listener;
}

void StoreHandle::tellProgress(int64_t position, int64_t end) {
  send(std::make_unique<Event>(Event{Event::kProgress, {}, position, end}));
}

void StoreHandle::send(std::unique_ptr<Event> event) {
  const std::lock_guard<std::mutex> guard(eventsLock_);
  if (events_ == nullptr) return;
  const napi_status status =
      napi_call_threadsafe_function(events_, event.get(), napi_tsfn_nonblocking);
  if (status == napi_ok) {
    event.release();
  } else if (status == napi_closing) {
    events_ = nullptr;  // it counts as released
  }
}

void StoreHandle::deliver(napi_env env, napi_value listener, void* context, void* data) try {
  const std::unique_ptr<Event> event(static_cast<Event*>(data));
  if (env == nullptr) return;  // the environment ends
  StoreHandle& handle = *static_cast<StoreHandle*>(context);
  const Napi::HandleScope scope(env);
  Napi::Object object = Napi::Object::New(env);
  switch (event->kind) {
    case Event::kSynced:
      handle.syncedSent_.store(false);
      object["event"] = "synced";
      object["position"] = Napi::Number::New(
          env, static_cast<double>(handle.syncedPosition_.load(std::memory_order_acquire)));
      break;
    case Event::kSyncFailed:
      object["event"] = "syncFailed";
      object["facts"] = toFacts(env, event->status);
      break;
    case Event::kProgress:
      object["event"] = "progress";
      object["position"] = Napi::Number::New(env, static_cast<double>(event->position));
      object["total"] = Napi::Number::New(env, static_cast<double>(event->end));
      break;
    case Event::kExpired:
      object["event"] = "expired";
      object["expired"] = toExpired(env, event->expired);
      break;
    case Event::kFault:
      object["event"] = "fault";
      object["facts"] = toFacts(env, event->status);
      break;
  }
  // An exception of the listener is the process's uncaught exception, as in any event handler.
  napi_value argument = object;
  napi_value undefined;
  napi_get_undefined(env, &undefined);
  if (napi_call_function(env, undefined, listener, 1, &argument, nullptr) ==
      napi_pending_exception) {
    napi_value error;
    napi_get_and_clear_last_exception(env, &error);
    napi_fatal_exception(env, error);
  }
} catch (const Napi::Error&) {
  // The environment ends and runs no JavaScript any more.
}

namespace {

// Of the object that stands for a store.
struct Owner {
  std::shared_ptr<StoreHandle> handle;
  std::shared_ptr<Stores> stores;
  size_t number;

  ~Owner() { stores->remove(number); }
};

}  // namespace

StoreHandle* handleOf(const Napi::Value& value) {
  if (!value.IsObject()) return nullptr;
  bool tagged = false;
  napi_check_object_type_tag(value.Env(), value, &kHandleTag, &tagged);
  void* data = nullptr;
  if (!tagged || napi_unwrap(value.Env(), value, &data) != napi_ok) return nullptr;
  return static_cast<Owner*>(data)->handle.get();
}

const std::shared_ptr<Stores>& Stores::of(Napi::Env env) {
  using Shared = std::shared_ptr<Stores>;
  if (env.GetInstanceData<Shared>() == nullptr) {
    env.SetInstanceData(new Shared(std::make_shared<Stores>()));
  }
  return *env.GetInstanceData<Shared>();
}

size_t Stores::add(StoreHandle* handle) {
  const auto free = std::find(handles_.begin(), handles_.end(), nullptr);
  const auto number = static_cast<size_t>(free - handles_.begin());
  if (free == handles_.end()) handles_.push_back(nullptr);
  handles_[number] = handle;
  return number;
}

Napi::Float64Array Stores::argumentsOf(Napi::Env env) {
  Napi::Float64Array array = Napi::Float64Array::New(env, args::kCount);
  arguments_ = array.Data();
  // Its memory is kept for as long as the environment lives, which is when `append` can be called.
  Napi::Reference<Napi::Float64Array> kept = Napi::Persistent(array);
  kept.SuppressDestruct();
  return array;
}

Napi::Object StoreHandle::makeObject(Napi::Env env, const std::shared_ptr<StoreHandle>& handle) {
  Napi::Object object = Napi::Object::New(env);
  napi_type_tag_object(env, object, &kHandleTag);
  const std::shared_ptr<Stores>& stores = Stores::of(env);
  auto* owner = new Owner{handle, stores, stores->add(handle.get())};
  napi_wrap(
      env, object, owner, [](napi_env, void* data, void*) { delete static_cast<Owner*>(data); },
      nullptr, nullptr);
  object["number"] = Napi::Number::New(env, static_cast<double>(owner->number));
  Napi::Float64Array results = Napi::Float64Array::New(env, out::kCapacity);
  handle->results = results.Data();
  handle->resultsArray = Napi::Persistent(results);
  object["out"] = results;
  Napi::Uint8Array staged = Napi::Uint8Array::New(env, kStagedSize);
  handle->staged = reinterpret_cast<const char*>(staged.Data());
  handle->stagedArray = Napi::Persistent(staged);
  object["staged"] = staged;
  object["recovery"] = toReport(env, handle->store->recovery());
  addHotCalls(env, object, handle);
  addQueueCalls(env, object, handle);
  addBatchCalls(env, object, handle);
  addOffsetCalls(env, object, handle);
  addLifeCalls(env, object, handle);
  addExportCalls(env, object, handle);
  addRetentionCalls(env, object, handle);
  addReadCalls(env, object, handle);
  return object;
}

}  // namespace lmq
