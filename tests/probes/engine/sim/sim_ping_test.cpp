#include "probes/engine/sim/sim_ping.hpp"

#include <gtest/gtest.h>

#include "topology/model/addressing.hpp"
#include "topology/model/clos.hpp"

namespace weft::sim {
namespace {

/// host1 - leaf1 - spine1 - leaf2 - host2, of which some channels lose this share of what passes.
class PingsOverALine {
 public:
  explicit PingsOverALine(const std::vector<std::string>& lossy = {}, Fraction loss = Fraction(1))
      : world_(fabric_, plan_.book, options_of(lossy, loss)) {}

  datapath::PingRequest request(const IpAddress& to) const {
    datapath::PingRequest asked{.batch = BatchId(1), .peers = {{nic("host2"), to}}};
    asked.specs = {{.peer = 0, .label = PathLabel(50'000), .back_label = PathLabel(50'000), .count = 10}};
    return asked;
  }
  datapath::PingRequest request() const { return request(*plan_.book.address_of(nic("host2"))); }
  SimPingResult sent(const datapath::PingRequest& asked, std::stop_token stop = {}) const {
    return simulate_ping(world_, nic("host1"), asked, Nanoseconds(0), std::move(stop));
  }
  SimPingResult sent() const { return sent(request()); }
  PortId nic(std::string_view name) const { return *fabric_.find_nic(name); }

  static std::uint64_t arrived(const SimPingResult& result) {
    std::uint64_t packets = 0;
    for (const SimReceipt& receipt : result.receipts) packets += receipt.packets;
    return packets;
  }

 private:
  SimOptions options_of(const std::vector<std::string>& lossy, Fraction loss) const {
    SimOptions options;
    for (const std::string& name : lossy) {
      const ChannelId channel = *fabric_.find_channel(name);
      options.faults.push_back({.link = Fabric::link_of(channel), .channel = channel, .loss = loss});
    }
    return options;
  }

  Fabric fabric_ = *make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1});
  AddressPlan plan_ = *plan_addresses(fabric_, IpFamily::v4);
  SimWorld world_;
};

TEST(SimPing, OverAHealthyFabricEachProbeArrivesAndIsAnswered) {
  const PingsOverALine line;
  const auto result = line.sent();
  ASSERT_EQ(result.tallies.size(), 1u);
  EXPECT_EQ(result.tallies[0].sent, 10u);
  EXPECT_EQ(result.tallies[0].answered, 10u);
  EXPECT_TRUE(result.tallies[0].rtt.has_value());
  EXPECT_EQ(PingsOverALine::arrived(result), 10u);
  EXPECT_EQ(result.receipts.at(0).from, line.nic("host1"));
  EXPECT_EQ(result.receipts.at(0).to, line.nic("host2"));
}

TEST(SimPing, AProbeThatIsLostOnTheWayThereNeitherArrivesNorIsAnswered) {
  const auto result = PingsOverALine({"leaf1->spine1"}).sent();
  EXPECT_EQ(result.tallies.at(0).sent, 10u);
  EXPECT_EQ(result.tallies.at(0).answered, 0u);
  EXPECT_FALSE(result.tallies.at(0).rtt.has_value());
  EXPECT_EQ(PingsOverALine::arrived(result), 0u);
}

TEST(SimPing, AProbeWhoseEchoIsLostArrived) {
  const auto result = PingsOverALine({"spine1->leaf1"}).sent();
  EXPECT_EQ(result.tallies.at(0).answered, 0u);
  EXPECT_EQ(PingsOverALine::arrived(result), 10u);
}

TEST(SimPing, AnAddressThatNobodyHasDoesNotAnswer) {
  const PingsOverALine line;
  const auto result = line.sent(line.request(*IpAddress::parse("192.0.2.1")));
  EXPECT_EQ(result.tallies.at(0).answered, 0u);
  EXPECT_EQ(PingsOverALine::arrived(result), 0u);
}

TEST(SimPing, TheSameRequestHasTheSameAnswer) {
  const PingsOverALine line({"leaf1->spine1"}, Fraction(0.5));
  auto asked = line.request();
  asked.specs[0].count = 1000;
  const auto once = line.sent(asked);
  EXPECT_GT(once.tallies.at(0).answered, 0u);
  EXPECT_LT(once.tallies[0].answered, 1000u);
  EXPECT_EQ(line.sent(asked).tallies, once.tallies);
}

}  // namespace
}  // namespace weft::sim
