// Attributes that no node may answer: refused with what is wrong, never taken.
#include "probes/mad/mad_attributes.hpp"

#include <gmock/gmock.h>

namespace weft::mad {
namespace {

using ::testing::HasSubstr;

using Data = std::array<std::byte, 192>;

Data node_info(std::uint8_t type, std::uint8_t ports, std::uint64_t guid, std::uint8_t local_port) {
  Data data{};
  store_u8(data, 2, type);
  store_u8(data, 3, ports);
  store_be64(data, 12, guid);
  store_u8(data, 36, local_port);
  return data;
}

TEST(NonsenseAttributes, NodeInfoSaysWhatIsWrong) {
  EXPECT_TRUE(decode_node_info(node_info(2, 40, 7, 40)));
  EXPECT_THAT(decode_node_info(node_info(9, 40, 7, 1)).error().message, HasSubstr("node type 9"));
  EXPECT_THAT(decode_node_info(node_info(2, 0, 7, 0)).error().message, HasSubstr("with 0 ports"));
  EXPECT_THAT(decode_node_info(node_info(2, 255, 7, 1)).error().message, HasSubstr("with 255 ports"));
  EXPECT_THAT(decode_node_info(node_info(2, 40, 0, 1)).error().message, HasSubstr("GUID 0"));
  EXPECT_THAT(decode_node_info(node_info(2, 40, 7, 41)).error().message, HasSubstr("port 41 of 40"));
}

TEST(NonsenseAttributes, ATableThatReachesIntoMulticastIsRefused) {
  Data data{};
  store_be16(data, 6, 0xC000);
  EXPECT_THAT(decode_switch_info(data).error().message, HasSubstr("expected a unicast LID"));
}

TEST(NonsenseAttributes, WhatPortInfoMayNotSayIsAbsent) {
  Data data;
  data.fill(std::byte{0xFF});
  const auto info = decode_port_info(data);
  ASSERT_TRUE(info);
  EXPECT_FALSE(info->lid);
  EXPECT_FALSE(info->sm_lid);
  EXPECT_FALSE(info->state);
  EXPECT_FALSE(info->width);
  EXPECT_FALSE(info->speed);
  EXPECT_FALSE(info->link_up);
}

TEST(NonsenseAttributes, AShortAnswerOfAnyKindIsRefused) {
  const Data whole{};
  const auto part = std::span(whole).first(63);
  EXPECT_FALSE(decode_node_info(part));
  EXPECT_FALSE(decode_switch_info(part));
  EXPECT_FALSE(decode_port_info(part));
  EXPECT_FALSE(decode_is_fdr10(part));
  EXPECT_FALSE(decode_adaptive_routing(part));
  EXPECT_FALSE(decode_fec_mode(part));
  EXPECT_FALSE(decode_general_info(part));
}

TEST(NonsenseAttributes, ADescriptionOfControlCharactersIsSpacesOrNothing) {
  Data data{};
  store_u8(data, 0, 'a');
  store_u8(data, 1, 0x1B);
  store_u8(data, 2, 'b');
  EXPECT_EQ(decode_node_description(data), "a b");
  data.fill(std::byte{0xFF});
  EXPECT_EQ(decode_node_description(data), "");
}

}  // namespace
}  // namespace weft::mad
