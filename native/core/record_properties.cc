#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "bytes.h"
#include "record.h"

namespace lmq {

size_t Keys::count() const {
  size_t count = (unique.empty() ? 0 : 1) + (tags.empty() ? 0 : 1);
  for (std::string_view rest = list; !rest.empty();) count += record::cutKey(&rest).empty() ? 0 : 1;
  return count;
}

namespace record {

namespace {

constexpr std::string_view kScheduleTopic = "SCHEDULE_TOPIC_XXXX";

// Which of eight bytes are `byte`, as the high bits of those; exact up to the lowest of them.
uint64_t bytesThatAre(char byte, uint64_t eight) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t different = eight ^ kOnes * static_cast<uint8_t>(byte);
  return (different - kOnes) & ~different & kOnes << 7;
}

uint64_t eightAt(const char* at) { return load<uint64_t>(reinterpret_cast<const uint8_t*>(at)); }

// Properties and keys are short, and every append looks through them: a call of the C library for
// each part would cost more than the look.
size_t positionOf(char byte, std::string_view text) {
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    const uint64_t found = bytesThatAre(byte, __builtin_bswap64(eightAt(text.data() + at)));
    if (found != 0) return at + static_cast<size_t>(std::countr_zero(found)) / 8;
  }
  for (; at < text.size(); ++at) {
    if (text[at] == byte) return at;
  }
  return std::string_view::npos;
}

// The position behind the last value end, 0 if there is none.
size_t lastValueEnd(std::string_view text) {
  size_t end = text.size();
  for (; end >= 8; end -= 8) {
    const uint64_t found = bytesThatAre(kValueEnd, eightAt(text.data() + end - 8));
    if (found != 0) return end - static_cast<size_t>(std::countr_zero(found)) / 8;
  }
  while (end > 0 && text[end - 1] != kValueEnd) --end;
  return end;
}

std::string_view cutSegment(std::string_view* rest) {
  const size_t end = positionOf(kValueEnd, *rest);
  const std::string_view segment = rest->substr(0, end);
  rest->remove_prefix(end == std::string_view::npos ? rest->size() : end + 1);
  return segment;
}

// The same from the end: a value end there ends the segment.
std::string_view cutLastSegment(std::string_view* rest) {
  if (rest->back() == kValueEnd) rest->remove_suffix(1);
  const size_t before = lastValueEnd(*rest);
  const std::string_view segment = rest->substr(before);
  rest->remove_suffix(segment.size());
  return segment;
}

// Reads a code point of non-empty `text` and cuts it off. As Java's decoder does, bytes that begin
// no sequence become U+FFFD one by one, a sequence that breaks off becomes one U+FFFD for the bytes
// that were right so far, and the three bytes of a surrogate become one.
uint32_t cutCodePoint(std::string_view* text) {
  constexpr uint32_t kReplacement = 0xFFFD;
  const auto byteAt = [&](size_t i) { return static_cast<uint8_t>((*text)[i]); };
  const uint32_t lead = byteAt(0);
  uint32_t value = lead;
  size_t length = 1;
  uint32_t low = 0x80;  // bounds of the second byte: no overlong form, nothing above U+10FFFF
  uint32_t high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    value = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    value = lead & 0x0F;
    if (lead == 0xE0) low = 0xA0;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    value = lead & 0x07;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else if (lead >= 0x80) {
    value = kReplacement;
  }
  size_t right = 1;
  while (right < length && right < text->size() && byteAt(right) >= low && byteAt(right) <= high) {
    value = value << 6 | (byteAt(right) & 0x3F);
    low = 0x80;
    high = 0xBF;
    ++right;
  }
  text->remove_prefix(right);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  return right < length || surrogate ? kReplacement : value;
}

// Java's Integer.parseInt of ASCII text.
bool parseInt(std::string_view text, int32_t* out) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  if (text.empty()) return false;
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
    if (value > int64_t{INT32_MAX} + 1) return false;
  }
  if (negative) value = -value;
  if (value > INT32_MAX) return false;
  *out = static_cast<int32_t>(value);
  return true;
}

}  // namespace

bool PropertyReader::next(std::string_view* name, std::string_view* value) {
  while (!rest_.empty()) {
    const std::string_view segment = cutSegment(&rest_);
    const size_t nameEnd = segment.find(kNameEnd);
    if (nameEnd == std::string_view::npos || nameEnd == 0 || nameEnd + 1 == segment.size())
      continue;
    *name = segment.substr(0, nameEnd);
    *value = segment.substr(nameEnd + 1);
    return true;
  }
  return false;
}

std::string_view findProperty(std::string_view properties, std::string_view name) {
  if (name.empty() || name.find(kNameEnd) != std::string_view::npos) return {};
  while (!properties.empty()) {
    const std::string_view segment = cutLastSegment(&properties);
    // Whether the segment is `name`, a name end and a value, without looking for the name end.
    if (segment.size() < name.size() + 2 || segment[name.size()] != kNameEnd) continue;
    if (std::memcmp(segment.data(), name.data(), name.size()) != 0) continue;
    return segment.substr(name.size() + 1);
  }
  return {};
}

std::string_view cutKey(std::string_view* list) {
  const size_t end = positionOf(' ', *list);
  const std::string_view key = list->substr(0, end);
  list->remove_prefix(end == std::string_view::npos ? list->size() : end + 1);
  return key;
}

namespace {

void findKeys(std::string_view properties, Keys* keys) {
  while (!properties.empty()) {
    const std::string_view segment = cutLastSegment(&properties);
    const auto take = [&](std::string_view name, std::string_view* value) {
      const size_t size = name.size();
      if (segment.size() < size + 2 || segment[size] != kNameEnd || !value->empty()) return;
      if (std::memcmp(segment.data(), name.data(), size) == 0) *value = segment.substr(size + 1);
    };
    take(kTagsName, &keys->tags);
    take(kKeysName, &keys->list);
    take(kUniqueKeyName, &keys->unique);
  }
}

}  // namespace

Keys findKeys(std::string_view properties) {
  Keys keys;
  findKeys(properties, &keys);
  return keys;
}

Keys findKeys(const Message& message) {
  Keys keys;
  findKeys(message.propertiesTail, &keys);
  const std::string_view head = message.propertiesHead;
  findKeys(head.substr(std::min(message.keysFrom, head.size())), &keys);
  return keys;
}

namespace {

// Eight ASCII characters, the first in the highest byte: neighbours are joined in lanes of 16 bits,
// those in lanes of 32, those in one. Nothing overflows its lane before the last step, which counts
// modulo 2^32 anyway.
uint32_t hashEight(uint64_t characters) {
  constexpr uint64_t kBytes = 0x00FF00FF00FF00FF;
  constexpr uint64_t kPairs = 0x0000FFFF0000FFFF;
  const uint64_t pairs = (characters >> 8 & kBytes) * 31 + (characters & kBytes);
  const uint64_t fours = (pairs >> 16 & kPairs) * (31 * 31) + (pairs & kPairs);
  return static_cast<uint32_t>(fours >> 32) * (31 * 31 * 31 * 31) + static_cast<uint32_t>(fours);
}

}  // namespace

int32_t javaHash(std::string_view utf8, int32_t before) {
  constexpr auto kPowers = [] {  // of 31, modulo 2^32
    std::array<uint32_t, 9> powers{1};
    for (size_t i = 1; i < powers.size(); ++i) powers[i] = 31 * powers[i - 1];
    return powers;
  }();
  constexpr uint64_t kNotAscii = 0x8080808080808080;
  const char* const begin = utf8.data();
  auto hash = static_cast<uint32_t>(before);
  while (!utf8.empty()) {
    const size_t count = std::min<size_t>(utf8.size(), 8);
    // The last few are read with those before them, which are masked out.
    if (static_cast<size_t>(utf8.data() + count - begin) >= 8) {
      const uint64_t mask = ~uint64_t{0} >> (64 - 8 * count);
      const uint64_t characters = eightAt(utf8.data() + count - 8) & mask;
      if ((characters & kNotAscii) == 0) {
        hash = kPowers[count] * hash + hashEight(characters);
        utf8.remove_prefix(count);
        continue;
      }
    }
    const auto first = static_cast<uint8_t>(utf8[0]);
    if (first < 0x80) {
      hash = 31 * hash + first;
      utf8.remove_prefix(1);
      continue;
    }
    const uint32_t point = cutCodePoint(&utf8);
    if (point > 0xFFFF) {
      hash = 31 * hash + (0xD800 + ((point - 0x10000) >> 10));
      hash = 31 * hash + (0xDC00 + (point & 0x3FF));
    } else {
      hash = 31 * hash + point;
    }
  }
  return static_cast<int32_t>(hash);
}

namespace {

template <typename Find>
int64_t tagsCodeOf(std::string_view topic, std::string_view tags, int64_t storeTimestamp,
                   const int64_t* delayLevels, size_t delayLevelCount, Find find) {
  if (topic == kScheduleTopic) {
    // A DELAY that is no number makes Java's parser give up on the record; here it is no delay.
    int32_t level = 0;
    parseInt(find(kDelayName), &level);
    if (level > 0 && delayLevelCount > 0) {
      const size_t index = std::min(static_cast<size_t>(level), delayLevelCount) - 1;
      return static_cast<int64_t>(static_cast<uint64_t>(storeTimestamp) +
                                  static_cast<uint64_t>(delayLevels[index]));
    }
  }
  return javaHash(tags);
}

}  // namespace

int64_t tagsCode(const View& view, const Keys& keys, const int64_t* delayLevels,
                 size_t delayLevelCount) {
  return tagsCodeOf(
      view.topic(), keys.tags, view.storeTimestamp, delayLevels, delayLevelCount,
      [&view](std::string_view name) { return findProperty(view.properties(), name); });
}

int64_t tagsCode(const Message& message, const Keys& keys, int64_t storeTimestamp,
                 const int64_t* delayLevels, size_t delayLevelCount) {
  return tagsCodeOf(message.topic, keys.tags, storeTimestamp, delayLevels, delayLevelCount,
                    [&message](std::string_view name) {
                      const std::string_view tail = findProperty(message.propertiesTail, name);
                      return !tail.empty() ? tail : findProperty(message.propertiesHead, name);
                    });
}

size_t formatMessageId(const Host& storeHost, int64_t physicalOffset, char out[56]) {
  constexpr char kHex[] = "0123456789ABCDEF";
  const size_t addressSize = storeHost.isIpv6() ? 16 : 4;
  uint8_t bytes[28];
  std::memcpy(bytes, storeHost.address, addressSize);
  store<uint32_t>(bytes + addressSize, storeHost.port);
  store<int64_t>(bytes + addressSize + 4, physicalOffset);
  const size_t size = addressSize + 12;
  for (size_t i = 0; i < size; ++i) {
    out[2 * i] = kHex[bytes[i] >> 4];
    out[2 * i + 1] = kHex[bytes[i] & 15];
  }
  return 2 * size;
}

bool parseMessageId(std::string_view id, int64_t* physicalOffset) {
  constexpr size_t kOffsetDigits = 16;
  if (id.size() != 32 && id.size() != 56) return false;
  uint64_t value = 0;
  for (size_t i = 0; i < id.size(); ++i) {
    const char c = id[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return false;
    if (i >= id.size() - kOffsetDigits) value = value << 4 | static_cast<uint64_t>(digit);
  }
  if (value > uint64_t{INT64_MAX}) return false;
  *physicalOffset = static_cast<int64_t>(value);
  return true;
}

}  // namespace record

}  // namespace lmq
