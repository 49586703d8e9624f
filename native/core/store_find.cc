// Search by key: what the index says and, beside a writer, what it does not say yet.
#include <algorithm>

#include "store.h"

namespace lmq {

namespace {

constexpr int64_t kScanBytes = 4 * 1024 * 1024;  // of log, in one step

bool hasKey(const record::View& view, int32_t hash) {
  const Keys keys = record::findKeys(view.properties());
  const auto same = [&](std::string_view key) {
    return !key.empty() && KeyIndex::hashOf(view.topic(), key) == hash;
  };
  bool found = same(keys.unique);
  for (std::string_view rest = keys.list; !found && !rest.empty();) {
    found = same(record::cutKey(&rest));
  }
  return found;
}

}  // namespace

Status Store::findByKey(KeyIndex::Search* search, std::vector<int64_t>* out) {
  const std::lock_guard<std::mutex> guard(lock_);
  if (closed_) return Status(Code::kClosed, "The store is closed.").at(parts_->dir.root());
  if (parts_->keys == nullptr) {
    search->done = true;
    return {};
  }
  return parts_->keys->search(search, out);
}

Status Store::findInLog(int32_t hash, int64_t* from, std::vector<int64_t>* out) {
  const std::lock_guard<std::mutex> guard(lock_);
  if (closed_) return Status(Code::kClosed, "The store is closed.").at(parts_->dir.root());
  const int64_t start = *from;
  *from = -1;
  if (!parts_->options.readOnly || parts_->keys == nullptr) return {};
  if (start < 0) {
    const Result<bool> more = parts_->keys->refresh();
    if (!more.ok()) return more.status();
  }
  record::Check check;
  check.bodyCrc = check.propertyCrc = false;
  CommitLogScan log = parts_->scanLog(check);
  const int64_t indexed = std::max(parts_->keysCovered, parts_->keys->lastPhysicalOffset());
  log.seek(start >= 0 ? start : std::max(indexed, logMin()));
  const int64_t begun = log.position();
  while (log.position() < logEnd()) {
    if (log.position() - begun >= kScanBytes) {
      *from = log.position();
      return {};
    }
    const Result<CommitLogScan::Step> step = log.step();
    if (!step.ok()) return step.status();
    const record::Verdict verdict = (*step).verdict;
    if (verdict == record::Verdict::kRecord) {
      const record::View& view = (*step).view;
      if (sys_flag::isIndexed(view.sysFlag) && hasKey(view, hash)) out->push_back((*step).position);
    } else if (verdict != record::Verdict::kBlank) {
      LMQ_TRY(log.passDamage(*step));
    }
  }
  return {};
}

}  // namespace lmq
