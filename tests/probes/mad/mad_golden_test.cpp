// MADs as ibsim 0.10 answered them to infiniband-diags (smpquery, perfquery) and to weft, read off its
// socket; what they must decode to is what those tools printed. Zero bytes at the end, and the route of the
// answer behind the attribute, are left out.
#include <gtest/gtest.h>

#include "probes/mad/mad_attributes.hpp"
#include "probes/mad/mad_counters.hpp"
#include "tests/support/hex.hpp"

namespace weft::mad {
namespace {

using fakes::from_hex;

MadBytes mad(std::string_view hex) {
  MadBytes bytes{};
  const auto given = from_hex(hex);
  std::copy(given.begin(), given.end(), bytes.begin());
  return bytes;
}

ByteSpan data_of(const MadBytes& bytes) { return ByteSpan(bytes).subspan(64); }

const MadBytes kNodeInfoAnswer =
    mad("0181018180000001000100017ca59c5400110000000000000000000000000000ffffffff000000000000000000000000"
        "000000000000000000000000000000000101020602776502000000000277650200000000027765020000000000080002"
        "000000a101007765");
const MadBytes kSwitchInfoAnswer =
    mad("0181018180000001000100010ce6fffe00120000000000000000000000000000ffffffff000000000000000000000000"
        "00000000000000000000000000000000c000000004000048000000900000004030");
const MadBytes kPortInfoAnswer =
    mad("0181018180000001000100013d3fc8b700150000000000030000000000000000ffffffff000000000000000000000000"
        "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001031f02"
        "74520047404000080804f2400000000000000000000000000000000000004707");
const MadBytes kCountersAnswer =
    mad("010401810000000000010002791d56c10012000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000030000012c00000000000000000000000000000000000000001908000018c0"
        "0000005900000058");

TEST(CapturedMads, TheHeaderOfAnAnswerReadsFieldByField) {
  const auto header = decode_mad_header(kNodeInfoAnswer);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->mad_class, MadClass::subnet_directed);
  EXPECT_TRUE(header->is_response());
  EXPECT_EQ(header->status, 0);  // without the direction bit, which is set
  EXPECT_EQ(header->transaction, MadTransaction(0x7ca59c54));
  EXPECT_EQ(header->attribute, MadAttribute::node_info);
}

TEST(CapturedMads, OurQuestionIsTheOneThatSmpqueryAsks) {
  auto theirs = mad("0181010100000001000000017ca59c5400110000000000000000000000000000ffffffff");
  theirs[129] = std::byte{1};                                     // the route: out of port 1
  for (std::size_t i = 8; i < 12; ++i) theirs[i] = std::byte{0};  // the carrier's half of the transaction id
  EXPECT_EQ(encode_mad({.to = DirectedRoute().then(1), .attribute = MadAttribute::node_info},
                       MadTransaction(0x7ca59c54)),
            theirs);
}

TEST(CapturedMads, NodeInfo) {
  const auto info = decode_node_info(data_of(kNodeInfoAnswer));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->type, IbNodeType::switch_);
  EXPECT_EQ(info->port_count, 6);
  EXPECT_EQ(info->node_guid, Guid(0x0277650200000000));
  EXPECT_EQ(info->port_guid, Guid(0x0277650200000000));
  EXPECT_EQ(info->device, 2);
  EXPECT_EQ(info->revision, 0xa1u);
  EXPECT_EQ(info->local_port, 1);
  EXPECT_EQ(info->vendor, 0x7765u);
}

TEST(CapturedMads, SwitchInfo) {
  const auto info = decode_switch_info(data_of(kSwitchInfoAnswer));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->linear_table_top, 72);
}

TEST(CapturedMads, PortInfoOfASwitchPort) {
  const auto info = decode_port_info(data_of(kPortInfoAnswer));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_FALSE(info->lid);  // a switch has its LID at port 0
  EXPECT_EQ(info->lmc, 0);
  EXPECT_TRUE(info->link_up);
  EXPECT_EQ(info->state, IbPortState::active);
  EXPECT_EQ(info->width, LinkWidth::x4);
  EXPECT_EQ(info->speed, LinkSpeed::hdr);
}

TEST(CapturedMads, PortCounters) {
  const auto counters = decode_port_counters(data_of(kCountersAnswer));
  ASSERT_TRUE(counters) << counters.error().message;
  const auto value = [&](IbCounter counter) { return (*counters)[static_cast<std::size_t>(counter)]; };
  EXPECT_EQ(value(IbCounter::symbol_error), 300u);
  EXPECT_EQ(value(IbCounter::xmit_data), 6408u);
  EXPECT_EQ(value(IbCounter::rcv_data), 6336u);
  EXPECT_EQ(value(IbCounter::xmit_packets), 89u);
  EXPECT_EQ(value(IbCounter::rcv_packets), 88u);
  EXPECT_EQ(value(IbCounter::xmit_wait), 0u);
}

}  // namespace
}  // namespace weft::mad
