// The thread that syncs: at once for whoever waits, else when the flush interval is over.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace lmq {

class Flusher {
 public:
  // `work(requested)` runs on the thread, one call at a time.
  Flusher(int64_t intervalMillis, std::function<void(bool requested)> work);
  ~Flusher();
  Flusher(const Flusher&) = delete;
  Flusher& operator=(const Flusher&) = delete;

  void request();  // work(true) soon; requests that come while it runs share the next run
  void stop();     // waits for the running work; further requests do nothing

 private:
  void loop();

  const int64_t intervalMillis_;
  std::function<void(bool)> work_;
  std::mutex lock_;
  std::condition_variable wake_;
  bool requested_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace lmq
