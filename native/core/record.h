// THE layout of a message at rest (spec section 2). Nothing else knows a byte of it.
//
//   at               size  field
//   0                4     total size
//   4                4     magic (version 1 or 2, or blank)
//   8                4     body CRC
//   12               4     queue id
//   16               4     flag
//   20               8     queue offset
//   28               8     physical offset
//   36               4     sysFlag
//   40               8     born timestamp
//   48               hb    born host: address (4 or 16) and port (4)
//   48+hb            8     store timestamp
//   56+hb            hs    store host
//   56+hb+hs         4     reconsume times
//   60+hb+hs         8     prepared transaction offset
//   68+hb+hs         4     body length, then the body
//   …                1|2   topic length (version 1 | 2), then the topic
//   …                2     properties length, then the properties; the last 20 bytes of them are
//   the
//                          CRC property, where there is one: "__CRC32#" 01 ten digits 02
//
// Numbers are big-endian. Every CRC has its top bit cleared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "message.h"
#include "status.h"

namespace lmq {

// Names one record of the log, so that a log written by another program is noticed.
struct RecordIdentity {
  int64_t physicalOffset = -1;  // -1: no record
  uint32_t size = 0;
  uint32_t crc = 0;  // CRC-32 of the whole record
};

}  // namespace lmq

namespace lmq::record {

inline constexpr int32_t kMagicV1 = static_cast<int32_t>(0xDAA320A7);
inline constexpr int32_t kMagicV2 = static_cast<int32_t>(0xDAA320AB);
inline constexpr int32_t kMagicBlank = static_cast<int32_t>(0xCBD43194);
inline constexpr size_t kBlankSize = 8;          // room that stays behind every record of a file
inline constexpr size_t kMinSize = 91;           // an empty record: V1, IPv4, empty topic
inline constexpr size_t kMaxProperties = 32767;  // a signed 16-bit length
inline constexpr size_t kMaxTopicV1 = 127;
inline constexpr size_t kMaxTopic = 255;
inline constexpr size_t kCrcPropertySize = 20;
// What a record may be larger than maxMessageSize, which limits the body (spec 2.8, Q4).
inline constexpr size_t kSizeAllowance = 65536;
inline constexpr char kNameEnd = 1;   // between a property's name and value
inline constexpr char kValueEnd = 2;  // behind the value
inline constexpr std::string_view kCrcName = "__CRC32#";
inline constexpr std::string_view kTagsName = "TAGS";
inline constexpr std::string_view kKeysName = "KEYS";
inline constexpr std::string_view kUniqueKeyName = "UNIQ_KEY";
inline constexpr std::string_view kDelayName = "DELAY";
inline constexpr std::string_view kDispatchName = "INNER_MULTI_DISPATCH";
inline constexpr std::string_view kDispatchOffsetsName = "INNER_MULTI_QUEUE_OFFSET";

// The light-queue part of a record's properties, as the store makes it.
struct DispatchPart {
  std::string_view names;  // INNER_MULTI_DISPATCH is written with it; empty: the caller's head or
                           // tail holds that property already
  const int64_t* offsets = nullptr;  // one for each field; a negative one leaves its field empty
  size_t count = 0;
  bool present = false;  // write INNER_MULTI_QUEUE_OFFSET
};

// What a message will take, computed once and handed to encode().
struct Measure {
  size_t totalSize = 0;
  size_t propertiesSize = 0;
  bool v2 = false;
  bool headSeparator = false;  // a value end is inserted behind propertiesHead
  bool separator = false;      // a value end is inserted before the CRC property
  bool crcProperty = false;
};

// Refuses with kPropertiesTooLarge, kBodyTooLarge or kRecordTooLarge (body against
// `maxMessageSize`, record against it plus kSizeAllowance). Allocates nothing on success.
Status measure(const Message& message, const DispatchPart& dispatch, bool crcProperty,
               size_t maxMessageSize, Measure* out);

// What the append lock decides.
struct Stamp {
  int64_t queueOffset = 0;
  int64_t physicalOffset = 0;
  int64_t storeTimestamp = 0;
};

// Writes the record to `out` (measure.totalSize bytes), CRCs included, except for its first four
// bytes, which stay untouched (and must hold still): the caller stores firstWord() there last, so
// that a reader sees nothing or a whole record.
void encode(const Message& message, const DispatchPart& dispatch, const Measure& measure,
            const Stamp& stamp, uint8_t* out);
inline uint32_t firstWord(const Measure& measure) {
  return static_cast<uint32_t>(measure.totalSize);
}

// A blank record: the first four bytes to store last are `remaining`; this writes the other four.
void encodeBlank(uint8_t* out);

// A record's fields by position, none of them copied. Positions are from the record's start.
struct View {
  const uint8_t* data = nullptr;
  uint32_t size = 0;
  int32_t magic = 0;
  uint32_t bodyCrc = 0;
  int32_t queueId = 0;
  int32_t flag = 0;
  int64_t queueOffset = 0;
  int64_t physicalOffset = 0;
  int32_t sysFlag = 0;
  int64_t bornTimestamp = 0;
  uint32_t bornHostAt = 0;  // address, then 4 bytes of port
  uint32_t bornAddressSize = 0;
  int32_t bornPort = 0;
  int64_t storeTimestamp = 0;
  uint32_t storeHostAt = 0;
  uint32_t storeAddressSize = 0;
  int32_t storePort = 0;
  int32_t reconsumeTimes = 0;
  int64_t preparedTransactionOffset = 0;
  uint32_t bodyAt = 0;
  uint32_t bodySize = 0;
  uint32_t topicAt = 0;
  uint32_t topicSize = 0;
  uint32_t propertiesAt = 0;
  uint32_t propertiesSize = 0;

  std::string_view text(uint32_t at, uint32_t length) const {
    return {reinterpret_cast<const char*>(data) + at, length};
  }
  std::string_view body() const { return text(bodyAt, bodySize); }
  std::string_view topic() const { return text(topicAt, topicSize); }
  std::string_view properties() const { return text(propertiesAt, propertiesSize); }
};

enum class Verdict : uint8_t {
  kRecord,    // whole and right
  kBlank,     // a blank record: the file ends here
  kEnd,       // four zero bytes where a record would start, whatever follows
  kTooShort,  // fewer bytes than the size says are readable
  kBadMagic,
  kBadLength,    // lengths do not add up or leave the record, or zeros stand where they promise
                 // properties
  kBadPosition,  // the stored physical offset is another (spec Q16)
  kBadBodyCrc,
  kBadPropertyCrc,
  kNoCrc,  // strict mode only: the CRC property is missing
};
const char* verdictText(Verdict verdict);

struct Check {
  int64_t physicalOffset = -1;  // compared unless negative
  bool bodyCrc = true;
  bool propertyCrc = true;  // verified where the property is the record's last 20 bytes
  bool requireCrc = false;  // forceVerifyPropCRC: a record without the property fails
};

// Parses and checks the record at `data`, of which `available` bytes are readable. Every field is
// bounded by the record's own size. Fills `view` whenever the lengths are right (kRecord and the
// CRC and position verdicts); for kBlank only view->size, the length the blank states, which need
// not be available.
Verdict check(const uint8_t* data, size_t available, const Check& options, View* view);

// The size a record at `data` claims (8 bytes readable); 0 for zeros, -1 if no record or blank can
// start so. Reads nothing beyond 8 bytes.
int64_t claimedSize(const uint8_t* data, bool* blank);

// The store timestamp of the record of `size` bytes that belongs to `physicalOffset`, from its
// first kMinSize bytes; false if it does not look like that record. Checks no checksum.
bool storeTimestampOf(const uint8_t* data, size_t size, int64_t physicalOffset, int64_t* millis);

// Properties (spec 2.6) ----------------------------------------------------------------------

// Walks the stored string by Java's rules: segments shorter than 3, without a name or with an empty
// value are passed over. next() gives the stored order; a repeated name is not folded.
class PropertyReader {
 public:
  explicit PropertyReader(std::string_view properties) : rest_(properties) {}
  bool next(std::string_view* name, std::string_view* value);

 private:
  std::string_view rest_;
};

// The value Java sees for a name (the last one wins), or an empty view with data() == nullptr.
std::string_view findProperty(std::string_view properties, std::string_view name);

// Java's view of these properties, in one walk.
Keys findKeys(std::string_view properties);
Keys findKeys(const Message& message);
// The part of a list of keys up to its first space, which is cut off with it; it may be empty.
std::string_view cutKey(std::string_view* list);

// Java's String.hashCode of UTF-8 text: over UTF-16 units, 32-bit wrap. `before` is the hash of the
// text that stands before it.
int32_t javaHash(std::string_view utf8, int32_t before = 0);

// The tags code of a record (spec 5.1): hash of TAGS, or the delivery time on the schedule topic.
// `delayLevels` are milliseconds, level 1 first.
int64_t tagsCode(const View& view, const Keys& keys, const int64_t* delayLevels,
                 size_t delayLevelCount);
// The same of a record that is being made: what the store adds to the properties has no tags.
int64_t tagsCode(const Message& message, const Keys& keys, int64_t storeTimestamp,
                 const int64_t* delayLevels, size_t delayLevelCount);

// Upper-case hex of store host and physical offset (spec 2.7): 32 or 56 characters.
size_t formatMessageId(const Host& storeHost, int64_t physicalOffset, char out[56]);
// The physical offset of an id; false if the text is none.
bool parseMessageId(std::string_view id, int64_t* physicalOffset);

}  // namespace lmq::record
