// Nothing here reads `out`. It mostly is file pages that no cache holds yet, and a load of what was
// just stored there waits until the line has come from memory. So what a CRC is to cover is put
// together in a small buffer or copied from the caller's memory and checksummed on the way.
#include <cassert>
#include <cstring>
#include <utility>

#include "bytes.h"
#include "crc32.h"
#include "record.h"
#include "record_digits.h"
#include "record_layout.h"

namespace lmq::record {

namespace {

const uint8_t* bytesOf(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

// Both writers: room() for at most so many bytes, took() up to where they were used. What writes
// through them is inlined so that their fields stay in registers: a store of bytes might be to a
// field, for all the compiler knows.

class PlainWriter {
 public:
  explicit PlainWriter(uint8_t* out) : at_(out) {}

  uint8_t* room(size_t) { return at_; }
  void took(uint8_t* end) { at_ = end; }
  void put(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }

 private:
  uint8_t* at_;
};

// Gathers short pieces in a buffer; long ones go straight from their source to `out`. For what is
// too long to be put together anywhere but there.
class GatheringWriter {
 public:
  explicit GatheringWriter(uint8_t* out) : out_(out) {}

  uint8_t* room(size_t size) {
    if (size > sizeof(buffer_) - held_) copy(buffer_, std::exchange(held_, 0));
    return buffer_ + held_;
  }
  void took(const uint8_t* end) { held_ = static_cast<size_t>(end - buffer_); }
  void put(std::string_view bytes) {
    uint8_t* const at = room(bytes.size());
    if (bytes.size() > sizeof(buffer_)) return copy(bytesOf(bytes), bytes.size());
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    held_ += bytes.size();
  }

  // The CRC of all.
  uint32_t finish() {
    copy(buffer_, held_);
    return crc_;
  }

 private:
  void copy(const uint8_t* from, size_t size) {
    crc_ = crc32Copy(crc_, out_, from, size);
    out_ += size;
  }

  uint8_t* out_;
  uint32_t crc_ = 0;
  size_t held_ = 0;
  uint8_t buffer_[256];
};

template <typename Writer>
[[gnu::always_inline]] inline void putByte(Writer& out, char byte) {
  uint8_t* const at = out.room(1);
  *at = static_cast<uint8_t>(byte);
  out.took(at + 1);
}

template <typename Writer>
[[gnu::always_inline]] inline void putLength16(Writer& out, size_t length) {
  uint8_t* const at = out.room(2);
  store<uint16_t>(at, static_cast<uint16_t>(length));
  out.took(at + 2);
}

template <typename Writer>
[[gnu::always_inline]] inline void putDispatch(Writer& out, const DispatchPart& dispatch) {
  if (!dispatch.names.empty()) {
    out.put(kDispatchName);
    putByte(out, kNameEnd);
    out.put(dispatch.names);
    putByte(out, kValueEnd);
  }
  if (!dispatch.present) return;
  out.put(kDispatchOffsetsName);
  putByte(out, kNameEnd);
  for (size_t i = 0; i < dispatch.count; ++i) {
    if (i > 0) putByte(out, ',');
    if (dispatch.offsets[i] < 0) continue;
    out.took(putDecimal(out.room(kMostDigits), static_cast<uint64_t>(dispatch.offsets[i])));
  }
  putByte(out, kValueEnd);
}

// What stands behind the body, but for the CRC property.
template <typename Writer>
[[gnu::always_inline]] inline void putTail(Writer& out, const Message& message,
                                           const DispatchPart& dispatch, const Measure& measure) {
  if (measure.v2) {
    putLength16(out, message.topic.size());
  } else {
    putByte(out, static_cast<char>(message.topic.size()));
  }
  out.put(message.topic);
  putLength16(out, measure.propertiesSize);
  out.put(message.propertiesHead);
  if (measure.headSeparator) putByte(out, kValueEnd);
  putDispatch(out, dispatch);
  out.put(message.propertiesTail);
  if (measure.separator) putByte(out, kValueEnd);
}

void putCrcProperty(uint8_t* at, uint32_t recordCrc) {
  std::memcpy(at, kCrcName.data(), kCrcName.size());
  at[kCrcName.size()] = kNameEnd;
  putCrcDigits(at + kCrcDigitsAt, recordCrc & kCrcMask);
  at[kCrcPropertySize - 1] = kValueEnd;
}

void putHost(uint8_t* at, const Host& host) {
  std::memcpy(at, host.address, host.isIpv6() ? 16 : 4);
  store<uint32_t>(at + host.size() - 4, host.port);
}

// What stands before the body, but for the first word and the body CRC. Inlined as well: that
// saves a short record some nanoseconds.
[[gnu::always_inline]] inline void putHead(uint8_t* out, const Message& message,
                                           const Measure& measure, const Stamp& stamp,
                                           const Layout& layout) {
  int32_t sysFlag = message.sysFlag & ~(sys_flag::kBornHostIpv6 | sys_flag::kStoreHostIpv6);
  if (message.bornHost.isIpv6()) sysFlag |= sys_flag::kBornHostIpv6;
  if (message.storeHost.isIpv6()) sysFlag |= sys_flag::kStoreHostIpv6;
  store<int32_t>(out + kMagicAt, measure.v2 ? kMagicV2 : kMagicV1);
  store<int32_t>(out + kQueueIdAt, message.queueId);
  store<int32_t>(out + kFlagAt, message.flag);
  store<int64_t>(out + kQueueOffsetAt, stamp.queueOffset);
  store<int64_t>(out + kPhysicalOffsetAt, stamp.physicalOffset);
  store<int32_t>(out + kSysFlagAt, sysFlag);
  store<int64_t>(out + kBornTimestampAt, message.bornTimestamp);
  putHost(out + kBornHostAt, message.bornHost);
  store<int64_t>(out + layout.storeTimestampAt, stamp.storeTimestamp);
  putHost(out + layout.storeHostAt, message.storeHost);
  store<int32_t>(out + layout.reconsumeTimesAt, message.reconsumeTimes);
  store<int64_t>(out + layout.preparedTransactionOffsetAt, message.preparedTransactionOffset);
  store<uint32_t>(out + layout.bodyLengthAt, static_cast<uint32_t>(message.body.size()));
}

// The record as it will be when the caller has stored the first word, except for the CRC property.
// Returns the end.
[[gnu::always_inline]] inline uint8_t* putRecord(uint8_t* out, const Message& message,
                                                 const DispatchPart& dispatch,
                                                 const Measure& measure, const Stamp& stamp,
                                                 const Layout& layout) {
  putHead(out, message, measure, stamp, layout);
  uint8_t* const body = out + layout.bodyAt;
  const uint32_t bodyCrc = crc32Copy(0, body, bytesOf(message.body), message.body.size());
  store<uint32_t>(out + kBodyCrcAt, bodyCrc & kCrcMask);
  PlainWriter tail(body + message.body.size());
  putTail(tail, message, dispatch, measure);
  return tail.room(0);
}

// A body that passes once, on its way to `out`. The record's CRC is the sum of what its parts add,
// each multiplied for the bytes behind it. All that does not depend on the body is computed before.
void putLargeRecord(uint8_t* out, const Message& message, const DispatchPart& dispatch,
                    const Measure& measure, const Stamp& stamp, const Layout& layout) {
  const size_t bodySize = message.body.size();
  uint8_t* const body = out + layout.bodyAt;
  uint8_t head[kMaxHead];
  store<uint32_t>(head, firstWord(measure));
  putHead(head, message, measure, stamp, layout);
  store<uint32_t>(head + kBodyCrcAt, 0);  // for the CRC of the head; added below

  const size_t behindBody = measure.totalSize - kCrcPropertySize - layout.bodyAt - bodySize;
  uint8_t* const behind = body + bodySize;
  uint8_t tail[512];
  const bool shortTail = behindBody <= sizeof(tail);
  uint32_t tailCrc;
  if (shortTail) {
    PlainWriter writer(tail);
    putTail(writer, message, dispatch, measure);
    assert(writer.room(0) == tail + behindBody);
    tailCrc = crc32(0, tail, behindBody);
  } else {
    GatheringWriter writer(behind);
    putTail(writer, message, dispatch, measure);
    tailCrc = writer.finish();
  }

  const size_t behindHead = bodySize + behindBody;
  const uint32_t headCrc = crc32(0, head, layout.bodyAt);

  const uint32_t bodyCrc = crc32Copy(0, body, bytesOf(message.body), bodySize);
  std::memcpy(out + kMagicAt, head + kMagicAt, layout.bodyAt - kMagicAt);
  store<uint32_t>(out + kBodyCrcAt, bodyCrc & kCrcMask);
  // Four bytes count like a CRC before four zeros; a CRC takes in the lowest byte first.
  const uint32_t field = __builtin_bswap32(bodyCrc & kCrcMask);
  const uint32_t crc = crc32Join({{headCrc, behindHead},
                                  {field, layout.bodyAt - kBodyCrcAt + behindHead},
                                  {bodyCrc, behindBody},
                                  {tailCrc, 0}});
  if (shortTail) std::memcpy(behind, tail, behindBody);
  putCrcProperty(behind + behindBody, crc);
}

}  // namespace

void encode(const Message& message, const DispatchPart& dispatch, const Measure& measure,
            const Stamp& stamp, uint8_t* out) {
  const Layout layout(message.bornHost.size(), message.storeHost.size());
  if (!measure.crcProperty) {  // nothing to read again
    [[maybe_unused]] const uint8_t* end = putRecord(out, message, dispatch, measure, stamp, layout);
    assert(end == out + measure.totalSize);
    return;
  }
  // Up to this size a second pass over the body costs less than the multiplications: measured.
  constexpr size_t kSmall = 640;
  if (measure.totalSize > kSmall) {
    return putLargeRecord(out, message, dispatch, measure, stamp, layout);
  }
  uint8_t record[kSmall];
  store<uint32_t>(record, firstWord(measure));
  uint8_t* const end = putRecord(record, message, dispatch, measure, stamp, layout);
  assert(end + kCrcPropertySize == record + measure.totalSize);
  putCrcProperty(end, crc32(0, record, static_cast<size_t>(end - record)));
  std::memcpy(out + kMagicAt, record + kMagicAt, measure.totalSize - kMagicAt);
}

}  // namespace lmq::record
