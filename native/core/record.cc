#include "record.h"

#include <algorithm>

#include "bytes.h"
#include "record_digits.h"
#include "record_layout.h"

namespace lmq::record {

namespace {

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

void encodeBlank(uint8_t* out) { store<int32_t>(out + kMagicAt, kMagicBlank); }

}  // namespace lmq::record
