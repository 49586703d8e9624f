// One background thread that makes room ahead of the writers: reserves and populates pages, makes
// the next file. It only ever makes things faster; whatever it has not done, the writer does.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace lmq {

class Preparer {
 public:
  Preparer() = default;
  ~Preparer();  // waits for the running task, drops the others
  Preparer(const Preparer&) = delete;
  Preparer& operator=(const Preparer&) = delete;

  // `owner` groups tasks, so that cancel(owner) can wait until none of them runs or will run. False
  // if the system refused the thread, which starts with the first task: the task is dropped. A task
  // must not cancel its own owner.
  bool post(const void* owner, std::function<void()> task);
  void cancel(const void* owner);

 private:
  struct Task {
    const void* owner;
    std::function<void()> run;
  };
  bool start();  // under lock_
  void loop();

  std::mutex lock_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<Task> tasks_;
  const void* running_ = nullptr;
  bool stopping_ = false;
  bool started_ = false;
  pthread_t thread_ = {};  // not std::thread, which throws when the system refuses one
};

}  // namespace lmq
