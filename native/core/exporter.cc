#include "exporter.h"

#include <algorithm>

#include "dispatch.h"
#include "recovery.h"

namespace lmq {

namespace {

constexpr uint64_t kStepBytes = 16 * 1024 * 1024;
constexpr size_t kStepFiles = 256;
constexpr int kMaxDepth = 6;  // RocketMQ's directories and ours are not deeper

// Made by a store for itself while it is open, or copied in a way of their own.
bool isCopiedApart(const std::string& name) {
  for (const char* own :
       {"commitlog", "consumequeue", "lmq", "state", "checkpoint", "abort", "lock", "abort.bak",
        "work", "cut", "lmq-store.json", "broker.conf", "offsets"}) {
    if (name == own) return true;
  }
  return name == "rocksdbstore";  // a database that is being written cannot be copied file by file
}

}  // namespace

Exporter::Exporter(Store& store, Kind kind, std::string target)
    : store_(store),
      generation_(store.generation()),
      kind_(kind),
      root_(kind == Kind::kInPlace ? store.parts().dir.root() : std::move(target)),
      to_(root_) {}

Status Exporter::step(Progress* progress) {
  LMQ_TRY(store_.checkGeneration(generation_));
  switch (phase_) {
    case Phase::kBegin:
      LMQ_TRY(begin());
      break;
    case Phase::kLog:
      LMQ_TRY(stepLog());
      break;
    case Phase::kScan:
      LMQ_TRY(stepScan());
      break;
    case Phase::kFiles:
      LMQ_TRY(stepFiles());
      break;
    case Phase::kTopics:
      LMQ_TRY(stepQueues(false));
      break;
    case Phase::kLights:
      LMQ_TRY(stepQueues(true));
      break;
    case Phase::kTail:
      LMQ_TRY(stepTail());
      break;
    case Phase::kOffsets:
      LMQ_TRY(stepOffsets());
      break;
    case Phase::kEnd:
      LMQ_TRY(end());
      progress_.done = true;
      break;
  }
  *progress = progress_;
  return {};
}

Status Exporter::begin() {
  const bool reads = parts().options.readOnly;
  if (!reads) LMQ_TRY(store_.flush());
  LMQ_TRY(takeOffsets());
  if (kind_ == Kind::kSnapshot) LMQ_TRY(beginSnapshot());
  if (reads) {
    const Result<bool> more = store_.refresh();
    if (!more.ok()) return more.status();
  }
  const std::lock_guard<std::mutex> guard(store_.lock());
  // A record that a failed write keeps out of its queues would be missing there.
  if (!reads) LMQ_TRY(store_.settleDispatch());
  const CommitLog& log = *parts().log;
  progress_.logEnd = log.endPosition();
  progress_.logMin = log.minPosition();
  progress_.logFileSize = log.fileSize();
  progress_.queueFileSize = static_cast<int64_t>(parts().queueOptions().fileSize);
  progress_.indexShape = parts().keyShape();
  for (const uint64_t base : log.files().bases()) {
    if (static_cast<int64_t>(base) < progress_.logEnd) bases_.push_back(base);
  }
  progress_.logFiles = static_cast<int64_t>(bases_.size());
  progress_.total = (progress_.logEnd - progress_.logMin) * ((copies() ? 1 : 0) + forBroker());
  noteKeptEnds();
  if (forBroker()) LMQ_TRY(readTail());
  if (copies()) LMQ_TRY(makeDirectories(to_.commitLog(), false));
  if (forBroker()) {
    for (const std::string& path : {to_.consumeQueue(), to_.work()}) {
      LMQ_TRY(makeDirectories(path, false));
    }
  }
  phase_ = Phase::kLog;
  return {};
}

// What is below our checkpoint is in the files that are copied later. The table comes first: it
// must not know more than the log that is copied.
Status Exporter::beginSnapshot() {
  if (parts().isForeign()) return {};
  const Result<std::optional<OwnCheckpoint>> own = parts().dir.readOwnCheckpoint();
  if (!own.ok()) return own.status();
  own_ = (*own).value_or(OwnCheckpoint{});
  LMQ_TRY(makeDirectories(to_.lmq(), false));
  const Result<std::vector<DirectoryEntry>> entries = list(parts().dir.lmq());
  if (!entries.ok()) {
    return entries.status().code() == Code::kNotFound ? Status() : entries.status();
  }
  for (const DirectoryEntry& entry : *entries) {
    const std::string from = parts().dir.lmq() + "/" + entry.name;
    if (entry.isDirectory || from == parts().dir.ownCheckpointPath()) continue;
    jobs_.push_back({from, to_.lmq() + "/" + entry.name});
  }
  while (job_ < jobs_.size()) LMQ_TRY(stepFiles());
  jobs_.clear();
  job_ = 0;
  return {};
}

Status Exporter::openLogFile(bool* gone) {
  const std::string name = fileNameOf(bases_.back());
  Result<File> from = File::open(parts().dir.commitLog() + "/" + name, Access::kReadQuietly);
  *gone = from.status().code() == Code::kNotFound;
  if (*gone) return {};
  if (!from.ok()) return from.takeStatus();
  Result<File> to = File::create(to_.commitLog() + "/" + name);
  if (!to.ok()) return to.takeStatus();
  in_ = from.take();
  out_ = to.take();
  at_ = 0;
  return {};
}

Status Exporter::stepLog() {
  if (!copies() || bases_.empty()) {
    scan_ = std::make_unique<CommitLogScan>(to_.commitLog(),
                                            static_cast<uint64_t>(progress_.logFileSize),
                                            parts().log->files().bases(), record::Check{});
    scan_->seek(progress_.logMin);
    phase_ = forBroker() ? Phase::kScan : Phase::kFiles;
    return forBroker() ? Status() : listFiles();
  }
  // Retention took the file: the copy begins with the one behind it.
  const auto beginsLater = [this] {
    const int64_t border = static_cast<int64_t>(bases_.back()) + progress_.logFileSize;
    progress_.logFiles -= static_cast<int64_t>(bases_.size());
    progress_.total -= std::max<int64_t>(0, border - progress_.logMin) * (1 + forBroker());
    progress_.logMin = std::min(border, progress_.logEnd);
    bases_.clear();
  };
  if (!in_.isOpen()) {
    bool gone = false;
    LMQ_TRY(openLogFile(&gone));
    if (gone) beginsLater();
    if (gone) return {};
  }
  const uint64_t size = static_cast<uint64_t>(progress_.logFileSize);
  const uint64_t used = std::min(size, static_cast<uint64_t>(progress_.logEnd) - bases_.back());
  const uint64_t count = std::min(kStepBytes, used - at_);
  LMQ_TRY(copyRange(in_, at_, count, out_));
  at_ += count;
  progress_.position += static_cast<int64_t>(count);
  if (at_ < used) return {};
  LMQ_TRY(out_.resize(size));  // zeros behind the border
  const Result<FileInfo> source = inspect(in_.path());
  if (!source.ok()) return source.status();
  const std::string copy = out_.path();
  in_ = File();
  out_ = File();
  if (!(*source).exists) {  // it may have been cleared for another use while it was copied
    LMQ_TRY(removeFile(copy));
    progress_.position -= static_cast<int64_t>(used);
    beginsLater();
  } else {
    bases_.pop_back();
  }
  return {};
}

Status Exporter::stepScan() {
  const int64_t until =
      std::min(progress_.logEnd, scan_->position() + static_cast<int64_t>(kStepBytes));
  const int64_t from = scan_->position();
  while (scan_->position() < until) {
    const Result<CommitLogScan::Step> step = scan_->step();
    if (!step.ok()) return step.status();
    const record::Verdict verdict = (*step).verdict;
    if (verdict == record::Verdict::kBlank) continue;
    if (verdict == record::Verdict::kRecord) {
      ++progress_.records;
      const record::View& view = (*step).view;
      judgeList(record::findProperty(view.properties(), record::kDispatchName), view.topic(),
                (*step).position);
      continue;
    }
    trouble("damaged", std::to_string((*step).position));
    LMQ_TRY(scan_->passDamage(*step));
  }
  progress_.position += std::min(scan_->position(), progress_.logEnd) - from;
  if (scan_->position() < progress_.logEnd) return {};
  scan_.reset();
  return listFiles();
}

// A part that is no light queue before one that is stops a broker's dispatch for good (spec Q1).
void Exporter::judgeList(std::string_view list, std::string_view topic, int64_t position) {
  if (list.find(kLmqPrefix) == std::string_view::npos) return;
  for (bool plain = false; !list.empty();) {
    const size_t comma = std::min(list.find(','), list.size());
    const bool light = list.substr(0, comma).starts_with(kLmqPrefix);
    if (light && plain)
      return trouble("mixedList", std::string(topic) + " at " + std::to_string(position));
    plain = plain || !light;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

void Exporter::trouble(const char* kind, std::string_view example) {
  for (Trouble& known : progress_.troubles) {
    if (std::string_view(known.kind) != kind) continue;
    ++known.count;
    return;
  }
  progress_.troubles.push_back({kind, 1, std::string(example)});
}

// Which files are copied as they are.
Status Exporter::listFiles() {
  phase_ = Phase::kFiles;
  if (!copies()) return {};
  const StoreDir& from = parts().dir;
  const Result<std::vector<DirectoryEntry>> entries = list(from.root());
  if (!entries.ok()) return entries.status();
  for (const DirectoryEntry& entry : *entries) {
    // A broker gets what is RocketMQ's.
    const bool theirs = parts().isForeign() || entry.name == "index" || entry.name == "config";
    if (!isCopiedApart(entry.name) && entry.isDirectory && (kind_ == Kind::kSnapshot || theirs)) {
      LMQ_TRY(addTree(from.root() + "/" + entry.name, root_ + "/" + entry.name, 1));
    }
  }
  if (kind_ != Kind::kSnapshot) return {};
  if (!parts().isForeign()) LMQ_TRY(addTree(from.lmq(), to_.lmq(), 1));
  const Result<std::vector<DirectoryEntry>> topics = list(from.consumeQueue());
  if (!topics.ok()) {
    return topics.status().code() == Code::kNotFound ? Status() : topics.status();
  }
  // Directories of light queues say something only where RocketMQ made them.
  const bool lights = parts().isForeign() || parts().marker->adoptedAt >= 0;
  for (const DirectoryEntry& topic : *topics) {
    if (!topic.isDirectory || (!lights && topic.name.starts_with(kLmqPrefix))) continue;
    LMQ_TRY(
        addTree(from.consumeQueue() + "/" + topic.name, to_.consumeQueue() + "/" + topic.name, 2));
  }
  return {};
}

Status Exporter::addTree(const std::string& from, const std::string& to, int depth) {
  const Result<std::vector<DirectoryEntry>> entries = list(from);
  if (entries.status().code() == Code::kNotFound) return {};
  if (!entries.ok()) return entries.status();
  LMQ_TRY(makeDirectories(to, false));
  for (const DirectoryEntry& entry : *entries) {
    const std::string path = from + "/" + entry.name;
    if (entry.isDirectory) {
      if (depth < kMaxDepth) LMQ_TRY(addTree(path, to + "/" + entry.name, depth + 1));
    } else if (depth > 1 || from != parts().dir.lmq()) {  // of lmq/ only what lies in folders
      jobs_.push_back({path, to + "/" + entry.name});
    }
  }
  return {};
}

Status Exporter::stepFiles() {
  uint64_t bytes = 0;
  for (size_t count = 0; job_ < jobs_.size() && count < kStepFiles && bytes < kStepBytes; ++count) {
    const CopyJob& job = jobs_[job_++];
    Result<File> from = File::open(job.from, Access::kReadQuietly);
    if (from.status().code() == Code::kNotFound) continue;  // retention, or a file replaced
    if (!from.ok()) return from.takeStatus();
    const Result<uint64_t> size = from->size();
    if (!size.ok()) return size.status();
    Result<File> to = File::create(job.to);
    if (!to.ok()) return to.takeStatus();
    LMQ_TRY(copySparsely(*from, *size, *to));
    bytes += *size;
  }
  if (job_ < jobs_.size()) return {};
  phase_ = kind_ == Kind::kSnapshot ? Phase::kEnd : copies() ? Phase::kTopics : Phase::kLights;
  return {};
}

Status Exporter::end() {
  if (kind_ == Kind::kSnapshot && !parts().isForeign()) LMQ_TRY(endSnapshot());
  if (kind_ == Kind::kBroker) {
    LMQ_TRY(endKeys());
    LMQ_TRY(writeBrokerCheckpoint());
    LMQ_TRY(removeTree(to_.work()));
  }
  return syncFileSystem(root_);
}

Status Exporter::endSnapshot() {
  Result<LmqState> state = LmqState::load(parts().dir.state(), Access::kReadQuietly);
  if (!state.ok()) return state.takeStatus();
  std::vector<LmqState::Fact> facts = state->facts();
  // What happened to a queue since the border holds for all of the copy and for nothing behind it.
  for (LmqState::Fact& fact : facts) fact.logEnd = std::min(fact.logEnd, progress_.logEnd);
  if (!facts.empty()) {
    Result<LmqState> copy = LmqState::load(to_.state(), Access::kWrite);
    if (!copy.ok()) return copy.takeStatus();
    LMQ_TRY(copy->record(facts));
  }
  own_.clean = false;
  LMQ_TRY(to_.writeOwnCheckpoint(&own_));
  LMQ_TRY(to_.writeMarker(*parts().marker));
  return to_.createAbort();  // as after a kill: what is behind the checkpoint is dispatched again
}

// The index was written while it was copied. A broker enters no key of a record that lies below the
// last one of its index, so what leads beyond the border has to go.
Status Exporter::endKeys() {
  KeyIndex::Options options;
  options.directory = to_.index();
  options.workDirectory = to_.work();
  options.shape = parts().keyShape();
  options.shapes = {options.shape};
  KeyIndex keys(std::move(options), nullptr);
  std::vector<Status> leftAlone;
  LMQ_TRY(keys.load(&leftAlone));
  CommitLogScan log = parts().scanLog();
  return keys.restore(progress_.logEnd,
                      [&log](int64_t position) { return log.storeTimestampAt(position); });
}

// After a clean stop a broker begins with what its queues lack, and looks at no time in it.
Status Exporter::writeBrokerCheckpoint() {
  int64_t last = -1;
  {
    const std::lock_guard<std::mutex> guard(store_.lock());
    for (const auto& queue : parts().queues->all()) {
      const int64_t position = queue->lastPhysicalOffset();
      if (position < progress_.logEnd) last = std::max(last, position);
    }
  }
  BrokerCheckpoint checkpoint;
  CommitLogScan log = parts().scanLog();
  log.seek(std::max<int64_t>(last, progress_.logMin));
  const Result<CommitLogScan::Step> step = log.step();
  if (!step.ok()) return step.status();
  if ((*step).verdict == record::Verdict::kRecord) {
    checkpoint.physicMsgTimestamp = checkpoint.logicsMsgTimestamp = (*step).view.storeTimestamp;
    checkpoint.confirmPhyOffset = checkpoint.logicsPhysicalOffset = (*step).position;
  }
  return to_.writeBrokerCheckpoint(checkpoint);
}

}  // namespace lmq
