#include "preparer.h"

#include <signal.h>

#include <algorithm>
#include <utility>

namespace lmq {

Preparer::~Preparer() {
  {
    const std::lock_guard<std::mutex> lock(lock_);
    stopping_ = true;
    tasks_.clear();
  }
  wake_.notify_one();
  if (started_) ::pthread_join(thread_, nullptr);
}

bool Preparer::post(const void* owner, std::function<void()> task) {
  {
    const std::lock_guard<std::mutex> lock(lock_);
    if (!started_ && !start()) return false;
    tasks_.push_back({owner, std::move(task)});
  }
  wake_.notify_one();
  return true;
}

void Preparer::cancel(const void* owner) {
  std::unique_lock<std::mutex> lock(lock_);
  tasks_.erase(std::remove_if(tasks_.begin(), tasks_.end(),
                              [owner](const Task& task) { return task.owner == owner; }),
               tasks_.end());
  idle_.wait(lock, [this, owner] { return running_ != owner; });
}

bool Preparer::start() {
  // The thread inherits a mask that leaves every signal to the threads of the application.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = ::pthread_create(
      &thread_, nullptr,
      [](void* self) -> void* {
        static_cast<Preparer*>(self)->loop();
        return nullptr;
      },
      this);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  started_ = error == 0;
  return started_;
}

void Preparer::loop() {
  std::unique_lock<std::mutex> lock(lock_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    running_ = task.owner;
    lock.unlock();
    task.run();
    task.run = nullptr;  // what it holds is released before anyone who waits goes on
    lock.lock();
    running_ = nullptr;
    idle_.notify_all();
  }
}

}  // namespace lmq
