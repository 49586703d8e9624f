// Searching and collecting in the chains of LmqEntries.
#include <algorithm>
#include <limits>

#include "lmq_entries.h"

namespace lmq {

namespace {

int64_t keyOf(const LmqEntry& entry, LmqEntries::Key key) {
  return key == LmqEntries::Key::kQueueOffset ? entry.placed.queueOffset
                                              : entry.placed.unit.physicalOffset;
}

}  // namespace

// Moves to an entry only if its key still is >= the target, first along skip links. Entries that
// were found to be below are remembered by the highest number, and not read again.
Status LmqEntries::search(uint64_t queue, uint64_t tail, Key key, int64_t target,
                          Place* place) const {
  *place = Place();
  if (tail == 0) return {};
  LmqEntry candidate;
  LMQ_TRY(read(queue, tail - 1, count_, &candidate));
  if (keyOf(candidate, key) < target) {
    place->previous = tail;
    return {};
  }
  place->reached = tail;
  place->entry = candidate;
  while (place->entry.previous > place->previous) {
    const uint64_t links[] = {place->entry.skip, place->entry.previous};
    for (const uint64_t link : links) {
      if (link <= place->previous) continue;
      LMQ_TRY(read(queue, link - 1, place->reached - 1, &candidate));
      if (keyOf(candidate, key) >= keyOf(place->entry, key)) {
        return damaged(link - 1, "is not below its follower");
      }
      if (keyOf(candidate, key) >= target) {
        place->reached = link;
        place->entry = candidate;
        break;
      }
      place->previous = link;
    }
  }
  // Below may be a skip entry further back; the chain's own predecessor is the last one below.
  place->previous = place->entry.previous;
  return {};
}

Status LmqEntries::units(uint64_t queue, uint64_t tail, int64_t from, size_t max, PlacedUnit* out,
                         size_t* count) const {
  *count = 0;
  if (tail == 0 || max == 0) return {};
  from = std::max<int64_t>(from, 0);
  const int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t end =
      static_cast<uint64_t>(most - from) <= max ? most : from + static_cast<int64_t>(max);
  Place place;
  LMQ_TRY(search(queue, tail, Key::kQueueOffset, end, &place));

  // Collected back to front into the end of `out`; offsets fall, so there is room for all.
  size_t first = max;
  uint64_t before = place.reached == 0 ? count_ : place.reached - 1;
  int64_t below = end;
  for (uint64_t link = place.previous; link != 0;) {
    LmqEntry entry;
    LMQ_TRY(read(queue, link - 1, before, &entry));
    if (entry.placed.queueOffset >= below) return damaged(link - 1, "is not below its follower");
    if (entry.placed.queueOffset < from) break;
    below = entry.placed.queueOffset;
    out[--first] = entry.placed;
    before = link - 1;
    link = entry.previous;
  }
  *count = max - first;
  std::move(out + first, out + max, out);
  if (*count == 0 && place.reached != 0) {
    out[0] = place.entry.placed;
    *count = 1;
  }
  return {};
}

}  // namespace lmq
