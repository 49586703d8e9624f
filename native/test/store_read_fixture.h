// What the tests of reading share: a store with some messages, and an answer as text.
#pragma once

#include "store_fixture.h"

namespace lmq {

class ReadTest : public StoreTest {
 protected:
  // Messages 0 … count-1 into T/0 and %LMQ%a.
  std::unique_ptr<Store> openWith(int count, const Texts& tags = {}) {
    std::unique_ptr<Store> store = open();
    for (int i = 0; i < count; ++i) {
      const std::string tag = tags.empty() ? "" : tags[static_cast<size_t>(i) % tags.size()];
      put(*store, {std::to_string(i), {"%LMQ%a"}, tag});
    }
    return store;
  }
  // "STATUS first..last next": what a read gives.
  std::string answer(Store& store, Store::QueueRef queue, int64_t from,
                     const std::function<void(Store::ReadRequest&)>& more = {}) {
    last_ = read(store, queue, from, more);
    std::string text = kReadStatusNames[static_cast<int>(last_.status)];
    for (const Store::Row& row : last_.rows) text += " " + std::to_string(row.offset);
    for (const auto& one : last_.damaged) text += " !" + std::to_string(one.offset);
    return text + " next " + std::to_string(last_.nextOffset);
  }
  static std::function<void(Store::ReadRequest&)> tagged(const std::string& tags) {
    return [tags](Store::ReadRequest& request) { request.tags = tags; };
  }
  static std::function<void(Store::ReadRequest&)> atMost(size_t messages) {
    return [messages](Store::ReadRequest& request) { request.maxMessages = messages; };
  }

  Store::Page last_;
};

}  // namespace lmq
