// The published bytes of spec appendix A.
#include <gtest/gtest.h>

#include "core/crc32.h"
#include "core/record.h"
#include "record_fixture.h"

namespace lmq::record {
namespace {

constexpr char kHead[] =
    "daa320a777d1898200000000000000070000000000000000000000000000000000000000"
    "0000018bcfe568000a010203000004d20000018bcfe5687b7f00000100002a9f0000000000000000"
    "00000000";

TEST(RecordGolden, WithoutCrc) {
  Message message = specMessage();
  const std::string properties = "KEYS\1k1\2TAGS\1TagA\2";
  message.propertiesHead = properties;
  EXPECT_EQ(toHex(build(message, false)),
            std::string("0000007b") + kHead +
                "0000000548656c6c6f09546f7069635465737400124b455953016b310254414753015461674102");
}

TEST(RecordGolden, WithCrc) {
  Message message = specMessage();
  const std::string properties = "KEYS\1k1\2TAGS\1TagA\2";
  message.propertiesHead = properties;
  EXPECT_EQ(toHex(build(message, true)),
            std::string("0000008f") + kHead +
                "0000000548656c6c6f09546f7069635465737400264b455953016b310254414753015461"
                "6741025f5f435243333223013930303337333131393102");
}

TEST(RecordGolden, SeparatorInsertedBeforeCrc) {
  Message message = specMessage();
  message.propertiesHead = "a\1b";
  EXPECT_EQ(toHex(build(message, true)),
            std::string("00000081") + kHead +
                "0000000548656c6c6f09546f706963546573740018610162025f5f435243333223013331"
                "343932313637393002");
}

TEST(RecordGolden, NothingButCrc) {
  Message message = specMessage();
  message.body = "";
  EXPECT_EQ(toHex(build(message, true)),
            "00000078daa320a70000000000000000000000070000000000000000000000000000000000000000"
            "0000018bcfe568000a010203000004d20000018bcfe5687b7f00000100002a9f0000000000000000"
            "000000000000000009546f7069635465737400145f5f435243333223013836333631363830303202");
}

TEST(RecordGolden, LightQueues) {
  const int64_t offsets[] = {0, 0};
  DispatchPart dispatch;
  dispatch.offsets = offsets;
  dispatch.count = 2;
  dispatch.present = true;
  Message message = specMessage();
  const std::string properties = "INNER_MULTI_DISPATCH\1%LMQ%a,%LMQ%b\2WAIT\1true\2TAGS\1TagA\2";
  message.propertiesHead = properties;
  EXPECT_EQ(toHex(build(message, true, specStamp(), dispatch)),
            std::string("000000d1") + kHead +
                "0000000548656c6c6f09546f706963546573740068494e4e45525f4d554c54495f444953"
                "504154434801254c4d5125612c254c4d512562025741495401747275650254414753015461674102"
                "494e4e45525f4d554c54495f51554555455f4f464653455401302c30025f5f435243333223013735"
                "333031363634383002");
}

TEST(RecordGolden, Ipv6) {
  Message message = specMessage();
  message.body = "x";
  message.propertiesHead = "a\1b\2";
  message.bornHost = ipv6(0x20010db8, 1, 1);
  message.storeHost = ipv6(0, 1, 10911);
  EXPECT_EQ(toHex(build(message, false, specStamp(2, 263))),
            "00000081daa320a70cdc168300000000000000070000000000000002000000000000010700000030"
            "0000018bcfe5680020010db8000000000000000000000001000000010000018bcfe5687b00000000"
            "00000000000000000000000100002a9f000000000000000000000000000000017809546f70696354"
            "657374000461016202");
}

TEST(RecordGolden, Blank) {
  Bytes bytes(8);
  store<uint32_t>(bytes.data(), 124);
  encodeBlank(bytes.data());
  EXPECT_EQ(toHex(bytes), "0000007ccbd43194");
}

// The facts table of known faults: total, CRC and digits of one message.
TEST(RecordGolden, WorkedExample) {
  Message message;
  message.topic = "T";
  message.body = "hello";
  message.propertiesHead = "A\1b\2";
  message.bornTimestamp = 1700000000000;
  message.bornHost = message.storeHost = ipv4(127, 0, 0, 1, 10911);
  const Bytes bytes = build(message, true, {0, 0, 1700000000000});
  EXPECT_EQ(bytes.size(), 121u);
  EXPECT_EQ(crc32(0, bytes.data(), 101) & 0x7FFFFFFF, 1944777102u);
  EXPECT_EQ(std::string(bytes.end() - 11, bytes.end() - 1), "2017774491");
}

}  // namespace
}  // namespace lmq::record
