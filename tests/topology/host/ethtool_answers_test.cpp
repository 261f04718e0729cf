#include "topology/host/ethtool_answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/ethtool_netlink.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tests/fakes/netlink_bytes.hpp"

namespace weft::host {
namespace {

using fakes::generic_netlink;
using fakes::NetlinkBytes;
using ::testing::IsEmpty;

constexpr std::uint16_t kFamily = 0x20;

TEST(EthtoolAnswers, FecSaysItsModeBlocksBitsAndBins) {
  NetlinkBytes bin, other, statistics, answer = generic_netlink(ETHTOOL_MSG_FEC_GET_REPLY);
  bin.attribute(2, std::uint32_t{0}).attribute(3, std::uint32_t{0}).attribute(4, std::uint64_t{900});
  other.attribute(2, std::uint32_t{1}).attribute(3, std::uint32_t{3}).attribute(4, std::uint32_t{5});
  statistics.attribute(ETHTOOL_A_FEC_STAT_CORRECTED, std::uint64_t{5})
      .attribute(ETHTOOL_A_FEC_STAT_UNCORR, std::uint64_t{2})
      .attribute(ETHTOOL_A_FEC_STAT_CORR_BITS, std::array<std::uint64_t, 3>{9, 4, 5})
      .nest(5, bin)
      .nest(5, other);
  answer.attribute(ETHTOOL_A_FEC_ACTIVE, std::uint32_t{ETHTOOL_LINK_MODE_FEC_RS_BIT})
      .nest(ETHTOOL_A_FEC_STATS, statistics);
  const auto fec = decode_fec(answer.message(kFamily));
  ASSERT_TRUE(fec) << fec.error().message;
  EXPECT_EQ(fec->mode, "RS");
  EXPECT_EQ(fec->counts, (NamedCounts{{"corrected_blocks", 5},
                                      {"uncorrectable_blocks", 2},
                                      {"corrected_bits", 9},
                                      {"corrected_bits.lane0", 4},
                                      {"corrected_bits.lane1", 5},
                                      {"fec_bin.0-0", 900},
                                      {"fec_bin.1-3", 5}}));
}

TEST(EthtoolAnswers, StatisticsAreThoseOfTheirGroup) {
  const auto group_of = [](std::uint32_t number, int statistic, std::uint64_t value) {
    NetlinkBytes one, group;
    one.attribute(statistic, value);
    group.attribute(ETHTOOL_A_STATS_GRP_ID, number).nest(ETHTOOL_A_STATS_GRP_STAT, one);
    return group;
  };
  auto answer = generic_netlink(ETHTOOL_MSG_STATS_GET_REPLY);
  answer.nest(ETHTOOL_A_STATS_GRP, group_of(ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_6_FCS_ERR, 7))
      .nest(ETHTOOL_A_STATS_GRP, group_of(ETHTOOL_STATS_RMON, ETHTOOL_A_STATS_RMON_JABBER, 8))
      .nest(ETHTOOL_A_STATS_GRP, group_of(ETHTOOL_STATS_ETH_PHY, ETHTOOL_A_STATS_ETH_PHY_5_SYM_ERR, 9));
  EXPECT_EQ(decode_statistics(answer.message(kFamily)).value(),
            (NamedCounts{{"eth-mac-FrameCheckSequenceErrors", 7}, {"eth-phy-SymbolErrorDuringCarrier", 9}}));
}

TEST(EthtoolAnswers, ARefusalSaysWhatIsMissing) {
  const auto refused = [](int number) {
    NetlinkBytes bytes;
    bytes.value(std::int32_t{-number}).value(nlmsghdr{});
    return decode_fec(bytes.message(NLMSG_ERROR)).error();
  };
  EXPECT_EQ(refused(EOPNOTSUPP).kind, ErrorKind::not_supported);
  EXPECT_EQ(refused(EPERM).kind, ErrorKind::permission);
  EXPECT_EQ(refused(EPERM).message, "needs CAP_NET_ADMIN");
  EXPECT_EQ(refused(ENODEV).kind, ErrorKind::not_found);
  EXPECT_EQ(refused(EIO).kind, ErrorKind::absent);
  EXPECT_EQ(refused(0).kind, ErrorKind::invalid_input) << "an acknowledgement is no answer";
}

TEST(EthtoolAnswers, AnAnswerToAnotherQuestionOrCutOffIsNone) {
  auto pause = generic_netlink(ETHTOOL_MSG_PAUSE_GET_REPLY);
  EXPECT_FALSE(decode_fec(pause.message(kFamily)));
  EXPECT_TRUE(decode_pause(pause.message(kFamily)));
  auto bytes = pause.message(kFamily);
  bytes.pop_back();
  EXPECT_FALSE(decode_pause(bytes));
  EXPECT_FALSE(decode_link(pause.message(kFamily)));
  EXPECT_FALSE(decode_family({}));
}

TEST(EthtoolAnswers, ALinkTellsItsPacketsAndHowOftenItsCarrierChanged) {
  rtnl_link_stats64 statistics{};
  statistics.rx_packets = 3;
  statistics.tx_bytes = 90;
  NetlinkBytes answer;
  answer.value(ifinfomsg{})
      .attribute(IFLA_CARRIER_CHANGES, std::uint32_t{4})
      .attribute(IFLA_STATS64, statistics);
  const auto counts = decode_link(answer.message(RTM_NEWLINK)).value();
  EXPECT_EQ(counts.at("rx_packets"), 3u);
  EXPECT_EQ(counts.at("tx_bytes"), 90u);
  EXPECT_EQ(counts.at("carrier_changes"), 4u);
}

TEST(EthtoolAnswers, NamesOfADriverAreCutAtTheirEndAndThoseThatRepeatAreNone) {
  std::vector<std::byte> names(4 * 32);
  const auto put = [&](std::size_t at, const char* name) {
    std::memcpy(&names[at * 32], name, strlen(name));
  };
  put(0, "rx_crc_errors_phy");
  put(1, "a_name_of_thirty_two_characters_");
  put(2, "twice");
  put(3, "twice");
  EXPECT_EQ(named_statistics(names, {1, 2, 3, 4}),
            (NamedCounts{{"rx_crc_errors_phy", 1}, {"a_name_of_thirty_two_characters_", 2}}));
  EXPECT_THAT(named_statistics(names, {}), IsEmpty());
}

TEST(EthtoolAnswers, ErrorsOfPcieAreThoseThatHappened) {
  NamedCounts errors;
  take_aer("RxErr 0\nBadTLP 3\nReplay Timer Timeout 1\nTOTAL_ERR_COR 4\nno number\n", "correctable", errors);
  EXPECT_EQ(errors, (NamedCounts{{"correctable BadTLP", 3}, {"correctable Replay Timer Timeout", 1}}));
}

}  // namespace
}  // namespace weft::host
