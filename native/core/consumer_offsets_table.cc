#include "consumer_offsets_table.h"

#include <functional>
#include <utility>

namespace lmq {

namespace {

constexpr size_t kSmallText = 64 * 1024;  // not worth packing
constexpr size_t kMostLost = 1 << 20;     // names in a row

}  // namespace

size_t ConsumerOffsetTable::hashOf(std::string_view name) {
  return std::hash<std::string_view>{}(name);
}

size_t ConsumerOffsetTable::hashOf(uint32_t group, uint32_t topic, int32_t queueId) {
  uint64_t hash = (uint64_t{group} << 32 | topic) * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ hash >> 29 ^ static_cast<uint32_t>(queueId)) * 0xbf58476d1ce4e5b9ull;
  return static_cast<size_t>(hash ^ hash >> 32);
}

size_t ConsumerOffsetTable::hashOfPair(uint32_t number) const {
  const Pair& pair = pairs_[number];
  return hashOf(pair.group, pair.topic, pair.queueId);
}

std::string_view ConsumerOffsetTable::name(uint32_t number) const {
  const Name& name = names_[number];
  return std::string_view(text_).substr(static_cast<size_t>(name.at), name.size);
}

uint32_t ConsumerOffsetTable::findName(std::string_view wanted) const {
  return nameIndex_.find(hashOf(wanted), [&](uint32_t number) { return name(number) == wanted; });
}

uint32_t ConsumerOffsetTable::nextNumber() {
  while (!freeNames_.empty() && hasName(freeNames_.back())) freeNames_.pop_back();
  return freeNames_.empty() ? static_cast<uint32_t>(names_.size()) : freeNames_.back();
}

void ConsumerOffsetTable::packText() {
  std::string text;
  text.reserve(liveNameBytes_);
  for (Name& name : names_) {
    const uint64_t at = text.size();
    text.append(text_, static_cast<size_t>(name.at), name.size);
    name.at = at;
  }
  text_ = std::move(text);
}

bool ConsumerOffsetTable::define(uint32_t number, std::string_view name) {
  if (number > names_.size() || number == kNone || hasName(number)) return false;
  if (findName(name) != kNone) return false;
  if (number == names_.size()) {
    names_.emplace_back();
    if (name.empty()) freeNames_.push_back(number);
  }
  if (name.empty()) return true;
  if (text_.size() > 2 * liveNameBytes_ + kSmallText) packText();
  names_[number].at = text_.size();
  names_[number].size = static_cast<uint32_t>(name.size());
  text_ += name;
  liveNameBytes_ += name.size();
  nameIndex_.insert(number, [this](uint32_t n) { return hashOf(this->name(n)); });
  return true;
}

bool ConsumerOffsetTable::redefine(uint32_t number, std::string_view name, uint64_t end) {
  if (number >= end || number > names_.size() + kMostLost) return false;
  while (names_.size() < number) {
    freeNames_.push_back(static_cast<uint32_t>(names_.size()));
    names_.emplace_back();
  }
  if (hasName(number)) forget(number);
  if (const uint32_t known = findName(name); known != kNone) forget(known);
  return define(number, name);
}

void ConsumerOffsetTable::forget(uint32_t number) {
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const Pair pair = pairs_[i];
    if (pair.group == kNone || (pair.group != number && pair.topic != number)) continue;
    remove(pair.topic, pair.queueId);
  }
  release(number);
}

uint32_t ConsumerOffsetTable::findPair(uint32_t group, uint32_t topic, int32_t queueId) const {
  return pairIndex_.find(hashOf(group, topic, queueId), [&](uint32_t number) {
    const Pair& pair = pairs_[number];
    return pair.group == group && pair.topic == topic && pair.queueId == queueId;
  });
}

int64_t ConsumerOffsetTable::find(uint32_t group, uint32_t topic, int32_t queueId) const {
  const uint32_t number = findPair(group, topic, queueId);
  return number == kNone ? -1 : pairs_[number].offset;
}

bool ConsumerOffsetTable::set(uint32_t group, uint32_t topic, int32_t queueId, int64_t offset) {
  if (!hasName(group) || !hasName(topic)) return false;
  if (const uint32_t known = findPair(group, topic, queueId); known != kNone) {
    pairs_[known].offset = offset;
    return true;
  }
  uint32_t number = freePair_;
  if (number == kNone) {
    number = static_cast<uint32_t>(pairs_.size());
    if (number == kNone) return false;
    pairs_.emplace_back();
  } else {
    freePair_ = pairs_[number].next;
  }
  pairs_[number] = {group, topic, queueId, names_[topic].pairs, offset};
  names_[topic].pairs = number;
  names_[group].asGroup++;
  livePairs_++;
  pairIndex_.insert(number, [this](uint32_t n) { return hashOfPair(n); });
  return true;
}

void ConsumerOffsetTable::remove(uint32_t topic, int32_t queueId) {
  if (!hasName(topic)) return;
  uint32_t kept = kNone;
  for (uint32_t number = names_[topic].pairs; number != kNone;) {
    Pair& pair = pairs_[number];
    const uint32_t next = pair.next;
    if (pair.queueId == queueId) {
      const uint32_t group = pair.group;
      pairIndex_.remove(number, [this](uint32_t n) { return hashOfPair(n); });
      pair.group = kNone;
      pair.next = freePair_;
      freePair_ = number;
      livePairs_--;
      names_[group].asGroup--;
      if (group != topic) release(group);
    } else {
      pair.next = kept;
      kept = number;
    }
    number = next;
  }
  names_[topic].pairs = kept;
  release(topic);
}

void ConsumerOffsetTable::release(uint32_t number) {
  Name& name = names_[number];
  if (name.size == 0 || name.asGroup > 0 || name.pairs != kNone) return;
  nameIndex_.remove(number, [this](uint32_t n) { return hashOf(this->name(n)); });
  liveNameBytes_ -= name.size;
  name.size = 0;
  freeNames_.push_back(number);
}

}  // namespace lmq
