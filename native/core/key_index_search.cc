// Search by key: chains of entries, newest file first (spec 5.8, Query).
#include <algorithm>
#include <utility>

#include "key_index.h"

namespace lmq {

namespace {

constexpr size_t kLooks = 512;  // entries and files of one step

}  // namespace

Status KeyIndex::search(Search* search, std::vector<int64_t>* out) {
  // The file to go on with, or the newest before it if retention has removed it.
  size_t index = slots_.size();
  if (!search->file.empty()) {
    while (index > 0 && slots_[index - 1].name > search->file) --index;
    if (index > 0 && slots_[index - 1].name != search->file) search->number = -1;
  }
  for (size_t looks = 0; index > 0; --index, ++looks) {
    const Slot& slot = slots_[index - 1];
    search->file = slot.name;
    if (looks >= kLooks) return {};
    bool goOn = false;
    Status status = searchFile(slot, search, out, &looks, &goOn);
    // What was found before counts; the next step fails here.
    if (!status.ok()) return out->empty() ? std::move(status) : Status();
    if (search->number > 0) return {};  // there is more in this file
    search->number = -1;
    if (!goOn) break;
  }
  search->done = true;
  return {};
}

Status KeyIndex::searchFile(const Slot& slot, Search* search, std::vector<int64_t>* out,
                            size_t* looks, bool* goOn) {
  KeyIndexFile::Header header;
  if (!slot.shape) {
    const Result<KeyIndexFile::Header> read = KeyIndexFile::readHeader(pathOf(slot.name));
    if (!read.ok()) return read.status();
    header = *read;
  } else {
    if (searched_ == nullptr || searched_->path() != pathOf(slot.name)) {
      Result<std::shared_ptr<KeyIndexFile>> file = open(slot);
      if (!file.ok()) return file.takeStatus();
      searched_ = file.take();
    }
    if (options_.access != Access::kWrite) LMQ_TRY(searched_->readHeader());
    header = searched_->header();
  }
  *goOn = header.beginTimestamp >= search->begin;  // older files may hold answers too
  if (header.next <= 1) {
    *goOn = true;
    return {};
  }
  if (header.beginTimestamp > search->end || header.endTimestamp < search->begin) return {};
  if (!slot.shape) {
    return Status(Code::kFileSize,
                  "The key index file cannot be searched: its numbers of slots "
                  "and entries are not known.")
        .at(pathOf(slot.name));
  }
  if (search->number < 0) {
    const Result<int32_t> head = searched_->slot(search->hash);
    if (!head.ok()) return head.status();
    search->number = *head;
  }
  for (; search->number > 0; ++*looks) {
    if (*looks >= kLooks) return {};
    const int64_t number = search->number;
    const Result<KeyIndexFile::Entry> entry = searched_->entry(number);
    if (!entry.ok()) return entry.status();
    const KeyIndexFile::Entry& one = *entry;
    const auto [from, to] = searched_->timesOf(one, number);
    // Chains lead back in time; a number that leads on is damage.
    search->number = one.previous < number && to >= search->begin ? one.previous : 0;
    if (one.hash != search->hash || from > search->end || to < search->begin) continue;
    if (out->empty() || out->back() != one.physicalOffset) out->push_back(one.physicalOffset);
  }
  return {};
}

}  // namespace lmq
