#include <algorithm>
#include <cstring>
#include <optional>

#include "bytes.h"
#include "crc32.h"
#include "record.h"
#include "record_digits.h"
#include "record_layout.h"

namespace lmq::record {

namespace {

bool isMessageMagic(int32_t magic) { return magic == kMagicV1 || magic == kMagicV2; }

// Cuts a record into its fields. False when the lengths do not add up to the record's size; nothing
// beyond it is read.
bool parse(const uint8_t* data, size_t size, int32_t magic, View* view) {
  const int32_t sysFlag = load<int32_t>(data + kSysFlagAt);
  const size_t bornAddressSize = sysFlag & sys_flag::kBornHostIpv6 ? 16 : 4;
  const size_t storeAddressSize = sysFlag & sys_flag::kStoreHostIpv6 ? 16 : 4;
  const Layout layout(bornAddressSize + 4, storeAddressSize + 4);
  const size_t lengthSize = topicLengthSize(magic == kMagicV2);
  const size_t fixed = layout.bodyAt + lengthSize + kPropertiesLengthSize;
  if (size < fixed) return false;
  const size_t room = size - fixed;  // for body, topic and properties together

  const int32_t bodyLength = load<int32_t>(data + layout.bodyLengthAt);
  if (bodyLength < 0 || static_cast<size_t>(bodyLength) > room) return false;
  const auto bodySize = static_cast<size_t>(bodyLength);

  const uint8_t* at = data + layout.bodyAt + bodySize;
  const int topicLength = magic == kMagicV2 ? load<int16_t>(at) : static_cast<int8_t>(*at);
  if (topicLength < 0 || static_cast<size_t>(topicLength) > room - bodySize) return false;
  const auto topicSize = static_cast<size_t>(topicLength);
  at += lengthSize;
  const auto topicAt = static_cast<size_t>(at - data);

  // Java takes a negative length for none, and so do we if the rest is right.
  const int propertiesLength = std::max<int>(load<int16_t>(at + topicSize), 0);
  const auto propertiesSize = static_cast<size_t>(propertiesLength);
  if (bodySize + topicSize + propertiesSize != room) return false;

  view->data = data;
  view->size = static_cast<uint32_t>(size);
  view->magic = magic;
  view->bodyCrc = load<uint32_t>(data + kBodyCrcAt);
  view->queueId = load<int32_t>(data + kQueueIdAt);
  view->flag = load<int32_t>(data + kFlagAt);
  view->queueOffset = load<int64_t>(data + kQueueOffsetAt);
  view->physicalOffset = load<int64_t>(data + kPhysicalOffsetAt);
  view->sysFlag = sysFlag;
  view->bornTimestamp = load<int64_t>(data + kBornTimestampAt);
  view->bornHostAt = kBornHostAt;
  view->bornAddressSize = static_cast<uint32_t>(bornAddressSize);
  view->bornPort = load<int32_t>(data + kBornHostAt + bornAddressSize);
  view->storeTimestamp = load<int64_t>(data + layout.storeTimestampAt);
  view->storeHostAt = static_cast<uint32_t>(layout.storeHostAt);
  view->storeAddressSize = static_cast<uint32_t>(storeAddressSize);
  view->storePort = load<int32_t>(data + layout.storeHostAt + storeAddressSize);
  view->reconsumeTimes = load<int32_t>(data + layout.reconsumeTimesAt);
  view->preparedTransactionOffset = load<int64_t>(data + layout.preparedTransactionOffsetAt);
  view->bodyAt = static_cast<uint32_t>(layout.bodyAt);
  view->bodySize = static_cast<uint32_t>(bodySize);
  view->topicAt = static_cast<uint32_t>(topicAt);
  view->topicSize = static_cast<uint32_t>(topicSize);
  view->propertiesAt = static_cast<uint32_t>(topicAt + topicSize + kPropertiesLengthSize);
  view->propertiesSize = static_cast<uint32_t>(propertiesSize);
  return true;
}

// Whether the properties end in zeros: the record was torn there, and its length promises text that
// never came. One NUL or a few could still be the end of someone's value.
bool endsInZeros(std::string_view properties) {
  constexpr std::string_view kZeros("\0\0\0\0", 4);
  return !properties.empty() && properties.ends_with(kZeros.substr(0, properties.size()));
}

// From this body size on, going over the body once and joining costs less than going twice:
// measured.
constexpr size_t kJoinFrom = 512;

uint32_t crcOfBody(const View& view) { return crc32(0, view.data + view.bodyAt, view.bodySize); }

// The CRC of the first `covered` bytes, the whole body among them, from that of the body.
uint32_t crcAround(const View& view, size_t covered, uint32_t bodyCrc) {
  const size_t behind = view.bodyAt + view.bodySize;
  return crc32Join({{crc32(0, view.data, view.bodyAt), covered - view.bodyAt},
                    {bodyCrc, covered - behind},
                    {crc32(0, view.data + behind, covered - behind), 0}});
}

// The CRC property is the last 20 bytes or it is not the store's: one elsewhere is a property that
// a producer sent to a store without the feature, and counts as none.
Verdict checkPropertyCrc(const View& view, bool required, std::optional<uint32_t> bodyCrc) {
  const Verdict absent = required ? Verdict::kNoCrc : Verdict::kRecord;
  const size_t covered = view.size - kCrcPropertySize;
  const uint8_t* const tail = view.data + covered;
  size_t same = tail[kCrcName.size()] == kNameEnd ? 1 : 0;
  for (size_t i = 0; i < kCrcName.size(); ++i) {
    same += tail[i] == static_cast<uint8_t>(kCrcName[i]);
  }
  // Bytes that only resemble the name are the property with a damaged name if the number is the
  // record's CRC.
  if (same * 2 < kCrcDigitsAt) return absent;
  const bool named = same == kCrcDigitsAt;
  const int64_t value = parseCrcDigits(tail + kCrcDigitsAt);
  const auto recordCrc = [&] {
    const bool join = bodyCrc.has_value() && view.bodyAt + view.bodySize <= covered;
    return join ? crcAround(view, covered, *bodyCrc) : crc32(0, view.data, covered);
  };
  const bool right =
      value >= 0 && tail[kCrcPropertySize - 1] == kValueEnd && value == (recordCrc() & kCrcMask);
  if (named != right) return Verdict::kBadPropertyCrc;
  if (!named) return absent;
  // Java's batches glue it to a last property that has no value end. It is right then, but not a
  // property of its own.
  const bool separate =
      view.propertiesSize == kCrcPropertySize ||
      (view.propertiesSize > kCrcPropertySize && tail[-1] == static_cast<uint8_t>(kValueEnd));
  return separate ? Verdict::kRecord : absent;
}

}  // namespace

int64_t claimedSize(const uint8_t* data, bool* blank) {
  const uint32_t size = loadAcquire32(data);
  const int32_t magic = load<int32_t>(data + kMagicAt);
  *blank = size >= kBlankSize && size <= INT32_MAX && magic == kMagicBlank;
  if (size == 0 || *blank) return size;
  return isMessageMagic(magic) && size >= kMinSize && size <= INT32_MAX ? int64_t{size} : -1;
}

bool storeTimestampOf(const uint8_t* data, size_t size, int64_t physicalOffset, int64_t* millis) {
  bool blank = false;
  if (size < kMinSize || claimedSize(data, &blank) != static_cast<int64_t>(size) || blank ||
      load<int64_t>(data + kPhysicalOffsetAt) != physicalOffset) {
    return false;
  }
  const bool ipv6 = load<int32_t>(data + kSysFlagAt) & sys_flag::kBornHostIpv6;
  const Layout layout(ipv6 ? 20 : 8, 8);
  static_assert(Layout(20, 8).storeTimestampAt + sizeof(int64_t) <= kMinSize);
  *millis = load<int64_t>(data + layout.storeTimestampAt);
  return true;
}

Verdict check(const uint8_t* data, size_t available, const Check& options, View* view) {
  if (available < kBlankSize) return Verdict::kTooShort;
  bool blank = false;
  const int64_t claimed = claimedSize(data, &blank);
  const int32_t magic = load<int32_t>(data + kMagicAt);
  if (claimed == 0) return Verdict::kEnd;
  if (claimed < 0) {
    const bool known = magic == kMagicBlank || isMessageMagic(magic);
    return known ? Verdict::kBadLength : Verdict::kBadMagic;
  }
  const auto size = static_cast<size_t>(claimed);
  if (blank) {
    view->size = static_cast<uint32_t>(size);
    return Verdict::kBlank;
  }
  if (size > available) return Verdict::kTooShort;
  if (!parse(data, size, magic, view)) return Verdict::kBadLength;
  if (endsInZeros(view->properties())) return Verdict::kBadLength;
  if (options.physicalOffset >= 0 && view->physicalOffset != options.physicalOffset) {
    return Verdict::kBadPosition;
  }
  std::optional<uint32_t> bodyCrc;
  if (options.bodyCrc && view->bodySize > 0) {
    const uint32_t crc = crcOfBody(*view);
    if ((crc & kCrcMask) != view->bodyCrc) return Verdict::kBadBodyCrc;
    if (view->bodySize >= kJoinFrom) bodyCrc = crc;
  }
  if (!options.propertyCrc && !options.requireCrc) return Verdict::kRecord;
  return checkPropertyCrc(*view, options.requireCrc, bodyCrc);
}

const char* verdictText(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRecord:
      return "a record";
    case Verdict::kBlank:
      return "a blank record";
    case Verdict::kEnd:
      return "nothing, the log ends here";
    case Verdict::kTooShort:
      return "a record that is cut short";
    case Verdict::kBadMagic:
      return "no record, the magic number is wrong";
    case Verdict::kBadLength:
      return "a record whose lengths do not add up";
    case Verdict::kBadPosition:
      return "a record that belongs to another position";
    case Verdict::kBadBodyCrc:
      return "a record whose body does not match its CRC";
    case Verdict::kBadPropertyCrc:
      return "a record that does not match its CRC property";
    case Verdict::kNoCrc:
      return "a record without the CRC property";
  }
  return "";
}

}  // namespace lmq::record
