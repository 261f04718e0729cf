#include "probes/diagnosis/host/nic_counter_evidence.hpp"

#include <gmock/gmock.h>

#include "topology/findings/link_signs.hpp"
#include "topology/model/clos.hpp"

namespace weft::diagnosis {
namespace {

using std::chrono::minutes;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NicCounterEvidence : public ::testing::Test {
 protected:
  NicEvidence say(std::map<std::string, std::uint64_t> before, std::map<std::string, std::uint64_t> after) {
    const auto steps = steps_between(nic_, {"mlx5_0", 1, minutes(1), std::move(before)},
                                     {"mlx5_0", 1, minutes(2), std::move(after)});
    return nic_counter_evidence(fabric_, {steps.value()});
  }
  std::string name(const ChannelEvidence& sign) const { return fabric_.name_of(sign.channel); }

  Fabric fabric_ = *make_clos({.name = "f", .leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  PortId nic_ = *fabric_.find_nic("host1");
};

TEST_F(NicCounterEvidence, SaysNothingOfTraffic) {
  const auto said = say({{"port_rcv_packets", 7}, {"symbol_error", 900}, {"np_cnp_sent", 4}},
                        {{"port_rcv_packets", 4'000'000}, {"symbol_error", 900}, {"np_cnp_sent", 4}});
  EXPECT_THAT(said.channels, IsEmpty());
  EXPECT_THAT(said.hosts, IsEmpty());
}

TEST_F(NicCounterEvidence, ErrorsOfTheCableAreCountsOnTheChannelIntoTheNic) {
  const auto said = say({{"symbol_error", 3}, {"port_rcv_errors", 0}, {"port_rcv_packets", 0}},
                        {{"symbol_error", 80}, {"port_rcv_errors", 7}, {"port_rcv_packets", 993}});
  EXPECT_THAT(said.channels, IsEmpty());
  ASSERT_THAT(said.counts, SizeIs(2));
  EXPECT_EQ(fabric_.name_of(said.counts[0].channel), "leaf1->host1");
  EXPECT_EQ(said.counts[0].kind, CounterKind::symbols);
  EXPECT_EQ(said.counts[0].errors, 77u);
  EXPECT_EQ(said.counts[0].exposure, fabric_.rate(said.counts[0].channel).bits_per_second() * 60);
  EXPECT_EQ(said.counts[1].kind, CounterKind::packets);
  EXPECT_EQ(said.counts[1].errors, 7u);
  EXPECT_EQ(said.counts[1].exposure, 1000);
  EXPECT_EQ(said.counts[1].source, "port_rcv_errors of host1 (mlx5_0)");
}

TEST_F(NicCounterEvidence, WhatAStandardDefinesIsCountedOnceWhereTheRdmaDeviceTellsItToo) {
  const auto said = say({{"symbol_error", 3},
                         {"port_rcv_errors", 0},
                         {"fec_uncorrectable", 1},
                         {"fec_codewords", 0},
                         {"fcs_errors", 0},
                         {"frames_in", 0},
                         {"link_events", 2}},
                        {{"symbol_error", 80},
                         {"port_rcv_errors", 7},
                         {"fec_uncorrectable", 5},
                         {"fec_codewords", 4'000'000'000},
                         {"fcs_errors", 7},
                         {"frames_in", 993},
                         {"link_events", 3}});
  ASSERT_THAT(said.counts, SizeIs(2));
  EXPECT_EQ(said.counts[0].kind, CounterKind::codewords);
  EXPECT_EQ(said.counts[0].errors, 4u);
  EXPECT_EQ(said.counts[0].exposure, 4e9);
  EXPECT_TRUE(said.counts[0].link_event);
  EXPECT_EQ(said.counts[1].kind, CounterKind::frames);
  EXPECT_EQ(said.counts[1].exposure, 1000);
}

TEST_F(NicCounterEvidence, CodewordsAreThoseOfTheRateWhereTheyAreNotCountedAndNoneWhereNothingMoved) {
  const auto moved =
      say({{"fec_uncorrectable", 0}, {"frames_in", 1}}, {{"fec_uncorrectable", 0}, {"frames_in", 9}});
  ASSERT_THAT(moved.counts, SizeIs(1));
  EXPECT_EQ(moved.counts[0].exposure, fabric_.rate(moved.counts[0].channel).bits_per_second() * 60 / 5120);
  EXPECT_THAT(
      say({{"fec_uncorrectable", 0}, {"frames_in", 9}}, {{"fec_uncorrectable", 0}, {"frames_in", 9}}).counts,
      IsEmpty());
}

TEST_F(NicCounterEvidence, ZeroIsACountTooAndALinkThatTrainedIsSaid) {
  const auto said = say({{"symbol_error", 3}, {"link_downed", 0}}, {{"symbol_error", 3}, {"link_downed", 1}});
  ASSERT_THAT(said.counts, SizeIs(1));
  EXPECT_EQ(said.counts[0].errors, 0u);
  EXPECT_TRUE(said.counts[0].link_event);
}

TEST_F(NicCounterEvidence, LinksThatWentDownAreASuspicionAndNoMore) {
  for (const std::uint64_t times : {1u, 1000u}) {
    const auto said = say({{"link_downed", 0}}, {{"link_downed", times}});
    ASSERT_THAT(said.channels, SizeIs(1));
    EXPECT_EQ(said.channels[0].log_ratio, kMaxEventNats);
  }
}

TEST_F(NicCounterEvidence, NotesOfCongestionAreAQuestionNotAFinding) {
  const auto said = say({{"np_ecn_marked_roce_packets", 0}, {"np_cnp_sent", 0}},
                        {{"np_ecn_marked_roce_packets", 9'000}, {"np_cnp_sent", 800}});
  ASSERT_THAT(said.channels, SizeIs(1)) << "both count the same marks";
  EXPECT_EQ(said.channels[0].cause, Cause::congestion);
  EXPECT_EQ(name(said.channels[0]), "leaf1->host1");
  EXPECT_LT(said.channels[0].log_ratio, 5.2) << "alone it stays below even odds";
}

TEST_F(NicCounterEvidence, WhatTheNicCouldNotSendAccusesTheChannelOutOfIt) {
  const auto said = say({{"port_xmit_wait", 0}, {"port_xmit_data", 0}},
                        {{"port_xmit_wait", 500'000}, {"port_xmit_data", 700'000}});
  ASSERT_THAT(said.channels, SizeIs(1));
  EXPECT_EQ(name(said.channels[0]), "host1->leaf1");
  EXPECT_EQ(said.channels[0].cause, Cause::congestion);
}

TEST_F(NicCounterEvidence, WrongIcrcsAreSaidOfTheHostAndOfNoCable) {
  const auto said = say({{"rx_icrc_encapsulated", 0}, {"port_rcv_packets", 0}},
                        {{"rx_icrc_encapsulated", 50}, {"port_rcv_packets", 90'000}});
  EXPECT_THAT(said.channels, IsEmpty());
  ASSERT_THAT(said.hosts, SizeIs(1));
  EXPECT_EQ(said.hosts[0].cause, Cause::corruption);
  EXPECT_EQ(said.hosts[0].verdict, Verdict::unknown);
}

TEST_F(NicCounterEvidence, CountersWithSeveralMeaningsAreNoEvidence) {
  for (const char* counter : {"out_of_sequence", "packet_seq_err", "local_ack_timeout_err",
                              "rnr_nak_retry_err", "roce_adp_retrans", "out_of_seq_request", "rcvd_seq_err"})
    for (const auto said = say({{counter, 0}}, {{counter, 9'000}});
         const auto empty : {said.counts.empty(), said.channels.empty()})
      EXPECT_TRUE(empty) << counter;
}

TEST_F(NicCounterEvidence, OfAResetOrAnotherDeviceThereIsNone) {
  EXPECT_THAT(say({{"symbol_error", 900}}, {{"symbol_error", 100}}).counts, IsEmpty());
  EXPECT_THAT(say({}, {{"symbol_error", 100}}).counts, IsEmpty()) << "it was not there before";
  EXPECT_FALSE(steps_between(nic_, {"mlx5_0", 1, minutes(1), {}}, {"mlx5_1", 1, minutes(2), {}}));
  EXPECT_FALSE(steps_between(nic_, {"mlx5_0", 1, minutes(2), {}}, {"mlx5_0", 1, minutes(2), {}}));
}

}  // namespace
}  // namespace weft::diagnosis
