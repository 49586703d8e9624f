// Messages and bytes that the record tests share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "core/record.h"

namespace lmq::record {

// Exactly as large as what it holds, so that the address sanitizer sees every read beyond.
using Bytes = std::vector<uint8_t>;

inline constexpr size_t kMaxMessageSize = 4 * 1024 * 1024;

inline std::string toHex(const uint8_t* data, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[data[i] >> 4];
    text += kDigits[data[i] & 15];
  }
  return text;
}
inline std::string toHex(const Bytes& bytes) { return toHex(bytes.data(), bytes.size()); }

inline Host ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint32_t port) {
  Host host;
  host.port = port;
  const uint8_t address[] = {a, b, c, d};
  std::memcpy(host.address, address, sizeof(address));
  return host;
}

// start::last
inline Host ipv6(uint32_t start, uint8_t last, uint32_t port) {
  Host host;
  host.addressSize = 16;
  host.port = port;
  store<uint32_t>(host.address, start);
  host.address[15] = last;
  return host;
}

// The inputs of spec 3.6.
inline Message specMessage() {
  Message message;
  message.topic = "TopicTest";
  message.body = "Hello";
  message.flag = 7;
  message.bornTimestamp = 1700000000000;
  message.bornHost = ipv4(10, 1, 2, 3, 1234);
  message.storeHost = ipv4(127, 0, 0, 1, 10911);
  return message;
}

inline Stamp specStamp(int64_t queueOffset = 0, int64_t physicalOffset = 0) {
  return {queueOffset, physicalOffset, 1700000000123};
}

// The finished record, or nothing if it is refused. Bytes behind the record must stay as they were.
inline Bytes build(const Message& message, bool crc, const Stamp& stamp = specStamp(),
                   const DispatchPart& dispatch = {}) {
  Measure measured;
  if (!measure(message, dispatch, crc, kMaxMessageSize, &measured).ok()) return {};
  Bytes bytes(measured.totalSize);
  encode(message, dispatch, measured, stamp, bytes.data());
  store<uint32_t>(bytes.data(), firstWord(measured));
  return bytes;
}

inline Verdict checkBytes(const Bytes& bytes, const Check& options = {}, View* view = nullptr) {
  View unused;
  return check(bytes.data(), bytes.size(), options, view != nullptr ? view : &unused);
}

inline Bytes firstBytes(const Bytes& bytes, size_t size) {
  return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
}

}  // namespace lmq::record
