#include "flusher.h"

#include <chrono>

namespace lmq {

Flusher::Flusher(int64_t intervalMillis, std::function<void(bool)> work)
    : intervalMillis_(intervalMillis), work_(std::move(work)), thread_([this] { loop(); }) {}

Flusher::~Flusher() { stop(); }

void Flusher::request() {
  const std::lock_guard<std::mutex> guard(lock_);
  if (requested_) return;
  requested_ = true;
  wake_.notify_one();
}

void Flusher::stop() {
  {
    const std::lock_guard<std::mutex> guard(lock_);
    stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Flusher::loop() {
  std::unique_lock<std::mutex> guard(lock_);
  while (!stopping_) {
    wake_.wait_for(guard, std::chrono::milliseconds(intervalMillis_),
                   [this] { return requested_ || stopping_; });
    if (stopping_) break;
    const bool requested = requested_;
    requested_ = false;
    guard.unlock();
    work_(requested);
    guard.lock();
  }
}

}  // namespace lmq
