#include "record.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "bytes.h"
#include "crc32.h"
#include "record_digits.h"
#include "record_layout.h"

namespace lmq::record {

namespace {

// A body is copied and checksummed in pieces, so that the checksum reads what is still in the
// first-level cache.
constexpr size_t kPiece = 4096;

// From this body size on, the record's CRC is combined from those of head, body and tail. Below, a
// second pass over the body costs less than the multiplications of combining: measured, by kernel.
bool combiningPays(size_t bodySize) {
  switch (crc32Kernel()) {
    case CrcKernel::kTable:
      return bodySize >= 1536;
    case CrcKernel::kClmul128:
      return bodySize >= 512;
    case CrcKernel::kClmul256:
      return bodySize >= 1024;
    case CrcKernel::kClmul512:
      return bodySize >= 2048;
  }
  return false;
}

uint8_t* put(uint8_t* at, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

uint8_t* putByte(uint8_t* at, char byte) {
  *at = static_cast<uint8_t>(byte);
  return at + 1;
}

void putHost(uint8_t* at, const Host& host) {
  std::memcpy(at, host.address, host.isIpv6() ? 16 : 4);
  store<uint32_t>(at + host.size() - 4, host.port);
}

bool lacksValueEnd(std::string_view properties) {
  return !properties.empty() && properties.back() != kValueEnd;
}

size_t dispatchSize(const DispatchPart& dispatch) {
  size_t size = 0;
  if (!dispatch.names.empty()) size += kDispatchName.size() + 1 + dispatch.names.size() + 1;
  if (!dispatch.present) return size;
  size += kDispatchOffsetsName.size() + 1 + 1;
  if (dispatch.count > 0) size += dispatch.count - 1;
  for (size_t i = 0; i < dispatch.count; ++i) {
    if (dispatch.offsets[i] >= 0) size += digitCount(static_cast<uint64_t>(dispatch.offsets[i]));
  }
  return size;
}

uint8_t* putDispatch(uint8_t* at, const DispatchPart& dispatch) {
  if (!dispatch.names.empty()) {
    at = putByte(put(at, kDispatchName), kNameEnd);
    at = putByte(put(at, dispatch.names), kValueEnd);
  }
  if (!dispatch.present) return at;
  at = putByte(put(at, kDispatchOffsetsName), kNameEnd);
  for (size_t i = 0; i < dispatch.count; ++i) {
    if (i > 0) at = putByte(at, ',');
    if (dispatch.offsets[i] >= 0) at = putDecimal(at, static_cast<uint64_t>(dispatch.offsets[i]));
  }
  return putByte(at, kValueEnd);
}

// A CRC takes in bytes in this order.
uint32_t loadLittle32(const uint8_t* at) { return __builtin_bswap32(load<uint32_t>(at)); }

// The CRC is of the copy: the caller's bytes may be changing under another thread's hands.
uint32_t copyBody(uint8_t* out, std::string_view body) {
  uint32_t crc = 0;
  for (size_t done = 0; done < body.size();) {
    const size_t size = std::min(body.size() - done, kPiece);
    std::memcpy(out + done, body.data() + done, size);
    crc = crc32(crc, out + done, size);
    done += size;
  }
  return crc;
}

// Of the bytes [0, size) as they will be when the caller has stored the first four.
uint32_t recordCrc(const uint8_t* out, size_t size, const Measure& measure, size_t bodyAt,
                   size_t bodySize, uint32_t bodyCrc) {
  // The first four bytes, in the order of memory, and the CRC to start with meet only by XOR: what
  // is to be other in the one may be put into the other. 0 is the start of every CRC.
  uint8_t first[4];
  store<uint32_t>(first, firstWord(measure));
  uint32_t crc = loadLittle32(first) ^ loadLittle32(out);
  size_t done = 0;
  if (combiningPays(bodySize)) {
    crc = crc32(crc, out, bodyAt);
    crc = crc32Combine(crc, bodyCrc, bodySize);
    done = bodyAt + bodySize;
  }
  return crc32(crc, out + done, size - done);
}

Status refused(Code code, const char* message, size_t size, size_t limit) {
  return Status(code, message)
      .offset(static_cast<int64_t>(size))
      .limit(static_cast<int64_t>(limit));
}

}  // namespace

Status measure(const Message& message, const DispatchPart& dispatch, bool crcProperty,
               size_t maxMessageSize, Measure* out) {
  const size_t ours = dispatchSize(dispatch);
  const std::string_view tail = message.propertiesTail;
  out->v2 = message.topic.size() > kMaxTopicV1;
  out->crcProperty = crcProperty;
  out->headSeparator = ours + tail.size() > 0 && lacksValueEnd(message.propertiesHead);
  const std::string_view last = ours + tail.size() > 0 ? tail : message.propertiesHead;
  out->separator = crcProperty && lacksValueEnd(last);
  out->propertiesSize = message.propertiesHead.size() + out->headSeparator + ours + tail.size() +
                        out->separator + (crcProperty ? kCrcPropertySize : 0);
  const Layout layout(message.bornHost.size(), message.storeHost.size());
  out->totalSize = layout.bodyAt + message.body.size() + topicLengthSize(out->v2) +
                   message.topic.size() + kPropertiesLengthSize + out->propertiesSize;

  if (out->propertiesSize > kMaxProperties) {
    return refused(Code::kPropertiesTooLarge, "The properties are too large.", out->propertiesSize,
                   kMaxProperties);
  }
  if (message.body.size() > maxMessageSize) {
    return refused(Code::kBodyTooLarge, "The body is too large.", message.body.size(),
                   maxMessageSize);
  }
  const size_t limit =
      std::min<size_t>(maxMessageSize, INT32_MAX - kSizeAllowance) + kSizeAllowance;
  if (out->totalSize > limit) {
    return refused(Code::kRecordTooLarge, "The record is too large.", out->totalSize, limit);
  }
  return {};
}

void encode(const Message& message, const DispatchPart& dispatch, const Measure& measure,
            const Stamp& stamp, uint8_t* out) {
  const Layout layout(message.bornHost.size(), message.storeHost.size());
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

  const uint32_t bodyCrc = copyBody(out + layout.bodyAt, message.body);
  store<uint32_t>(out + kBodyCrcAt, bodyCrc & kCrcMask);

  uint8_t* at = out + layout.bodyAt + message.body.size();
  if (measure.v2) {
    store<uint16_t>(at, static_cast<uint16_t>(message.topic.size()));
  } else {
    *at = static_cast<uint8_t>(message.topic.size());
  }
  at = put(at + topicLengthSize(measure.v2), message.topic);
  store<uint16_t>(at, static_cast<uint16_t>(measure.propertiesSize));
  at = put(at + kPropertiesLengthSize, message.propertiesHead);
  if (measure.headSeparator) at = putByte(at, kValueEnd);
  at = put(putDispatch(at, dispatch), message.propertiesTail);
  if (measure.separator) at = putByte(at, kValueEnd);
  if (measure.crcProperty) {
    const uint32_t crc = recordCrc(out, static_cast<size_t>(at - out), measure, layout.bodyAt,
                                   message.body.size(), bodyCrc);
    at = putByte(put(at, kCrcName), kNameEnd);
    putCrcDigits(at, crc & kCrcMask);
    at = putByte(at + kCrcDigits, kValueEnd);
  }
  assert(at == out + measure.totalSize);
}

void encodeBlank(uint8_t* out) { store<int32_t>(out + kMagicAt, kMagicBlank); }

}  // namespace lmq::record
