// Positions inside a record, shared by the files that write and read it. record.h draws the layout.
#pragma once

#include <cstddef>

#include "message.h"
#include "record.h"

namespace lmq::record {

inline constexpr size_t kMagicAt = 4;
inline constexpr size_t kBodyCrcAt = 8;
inline constexpr size_t kQueueIdAt = 12;
inline constexpr size_t kFlagAt = 16;
inline constexpr size_t kQueueOffsetAt = 20;
inline constexpr size_t kPhysicalOffsetAt = 28;
inline constexpr size_t kSysFlagAt = 36;
inline constexpr size_t kBornTimestampAt = 40;
inline constexpr size_t kBornHostAt = 48;

// What stands behind the born host moves with the size of the hosts (address and port).
struct Layout {
  size_t storeTimestampAt;
  size_t storeHostAt;
  size_t reconsumeTimesAt;
  size_t preparedTransactionOffsetAt;
  size_t bodyLengthAt;
  size_t bodyAt;

  constexpr Layout(size_t bornHostSize, size_t storeHostSize)
      : storeTimestampAt(kBornHostAt + bornHostSize),
        storeHostAt(storeTimestampAt + 8),
        reconsumeTimesAt(storeHostAt + storeHostSize),
        preparedTransactionOffsetAt(reconsumeTimesAt + 4),
        bodyLengthAt(preparedTransactionOffsetAt + 8),
        bodyAt(bodyLengthAt + 4) {}
};

inline constexpr size_t kMaxHead = Layout(20, 20).bodyAt;  // two IPv6 hosts

inline constexpr size_t kPropertiesLengthSize = 2;
constexpr size_t topicLengthSize(bool v2) { return v2 ? 2 : 1; }

static_assert(Layout(8, 8).bodyAt + topicLengthSize(false) + kPropertiesLengthSize == kMinSize);

// The CRC property, from the start of its name to the end of the record.
inline constexpr size_t kCrcDigits = 10;
inline constexpr size_t kCrcDigitsAt = kCrcName.size() + 1;
static_assert(kCrcDigitsAt + kCrcDigits + 1 == kCrcPropertySize);
inline constexpr uint32_t kCrcMask = 0x7FFFFFFF;

}  // namespace lmq::record
