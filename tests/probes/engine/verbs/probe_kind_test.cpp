#include "probes/engine/verbs/verbs_engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::verbs {
namespace {

using ::testing::HasSubstr;

constexpr auto kAuto = datapath::ProbeTransport::by_device;
constexpr auto kDatagram = datapath::ProbeTransport::datagram;
constexpr auto kConnected = datapath::ProbeTransport::connected;

TEST(ProbeKind, IsDatagramsByItselfOnlyWhereTheirLabelsAreKnownToBeFollowed) {
  EXPECT_EQ(choose_probe_kind(kAuto, "rocep1s0f0", rdma::RdmaDriver::mlx5, false).value(),
            rdma::QpKind::datagram);
  EXPECT_EQ(choose_probe_kind(kAuto, "ibp1s0", rdma::RdmaDriver::other, true).value(),
            rdma::QpKind::datagram);
  EXPECT_EQ(choose_probe_kind(kAuto, "bnxt_re0", rdma::RdmaDriver::other, false).value(),
            rdma::QpKind::unreliable);
  EXPECT_EQ(choose_probe_kind(kAuto, "rxe0", rdma::RdmaDriver::soft_roce, false).value(),
            rdma::QpKind::unreliable);
}

TEST(ProbeKind, IsTheOperatorsChoiceWhereNothingSpeaksAgainstIt) {
  EXPECT_EQ(choose_probe_kind(kDatagram, "bnxt_re0", rdma::RdmaDriver::other, false).value(),
            rdma::QpKind::datagram);
  EXPECT_EQ(choose_probe_kind(kConnected, "ibp1s0", rdma::RdmaDriver::mlx5, true).value(),
            rdma::QpKind::unreliable);
}

TEST(ProbeKind, DatagramsOfSoftRoceAreRefusedBecauseNoLabelSteersThem) {
  const auto chosen = choose_probe_kind(kDatagram, "rxe0", rdma::RdmaDriver::soft_roce, false);
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().kind, ErrorKind::not_supported);
  EXPECT_THAT(chosen.error().message, HasSubstr("rxe0: soft-RoCE ties the port of a datagram"));
  EXPECT_THAT(chosen.error().message, HasSubstr("--probe-transport uc"));
}

TEST(ProbeKind, IsWrittenAsItIsRead) {
  for (const auto wish : {kAuto, kDatagram, kConnected})
    EXPECT_EQ(datapath::parse_probe_transport(to_string(wish)), wish);
  EXPECT_FALSE(datapath::parse_probe_transport("UD"));
  EXPECT_FALSE(datapath::parse_probe_transport(""));
}

}  // namespace
}  // namespace weft::verbs
