// Plain data that a message is made of on its way into the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace lmq {

// An address and a port as a record holds them: 4 or 16 address bytes.
struct Host {
  uint8_t address[16] = {};
  uint8_t addressSize = 4;
  uint32_t port = 0;

  bool isIpv6() const { return addressSize == 16; }
  // Bytes in a record: address and a 4-byte port.
  size_t size() const { return addressSize + 4u; }
};

// sysFlag bits (spec 2.3).
namespace sys_flag {
inline constexpr int32_t kCompressed = 0x1;
inline constexpr int32_t kMultiTags = 0x2;
inline constexpr int32_t kTransactionMask = 0xC;
inline constexpr int32_t kPrepared = 0x4;
inline constexpr int32_t kCommit = 0x8;
inline constexpr int32_t kRollback = 0xC;
inline constexpr int32_t kBornHostIpv6 = 0x10;
inline constexpr int32_t kStoreHostIpv6 = 0x20;
inline constexpr int32_t kInnerBatch = 0x80;

// Prepared and rolled-back messages take no queue offset and get no unit.
inline bool isQueued(int32_t sysFlag) {
  const int32_t kind = sysFlag & kTransactionMask;
  return kind != kPrepared && kind != kRollback;
}
// Prepared messages are found by their keys, rolled-back ones are not.
inline bool isIndexed(int32_t sysFlag) { return (sysFlag & kTransactionMask) != kRollback; }
}  // namespace sys_flag

// The properties that a record is found by: UNIQ_KEY, KEYS, a list with spaces between, and TAGS.
struct Keys {
  std::string_view unique;
  std::string_view list;
  std::string_view tags;

  bool empty() const { return unique.empty() && list.empty() && tags.empty(); }
  size_t count() const;
};

// What the caller gives. Bytes are borrowed for the time of one append.
struct Message {
  std::string_view topic;  // UTF-8, 1 to 255 bytes, checked by the caller
  std::string_view body;
  // Properties in stored form (name 01 value 02 …). Light-queue properties, which the store makes,
  // are written between head and tail; the CRC property follows last.
  std::string_view propertiesHead;
  std::string_view propertiesTail;
  size_t keysFrom = 0;  // none of propertiesHead that the record is found by (Keys) lies before it
  int32_t queueId = 0;
  int32_t flag = 0;
  int32_t sysFlag = 0;  // the IPv6 bits are derived from the hosts
  int32_t reconsumeTimes = 0;
  static constexpr int64_t kAtStore = std::numeric_limits<int64_t>::min();
  int64_t bornTimestamp = kAtStore;  // kAtStore: the store timestamp
  int64_t preparedTransactionOffset = 0;
  Host bornHost;
  Host storeHost;
};

}  // namespace lmq
