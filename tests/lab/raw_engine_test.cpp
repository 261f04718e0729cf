#include "probes/engine/raw/raw_engine.hpp"

#include <gtest/gtest.h>

#include "tests/support/router_chain.hpp"

namespace weft {
namespace {

using testing::InNamespace;
using testing::RouterChain;

constexpr PortId kFirst{1};
constexpr PortId kSecond{2};
const RunSecrets kSecrets{.run = RunId(7), .key = {std::byte{1}, std::byte{2}}};

/// A chain of two routers with an engine at each end.
struct Rig {
  std::unique_ptr<RouterChain> chain;
  std::unique_ptr<RawEngine> first;
  std::unique_ptr<RawEngine> second;
};

Result<std::unique_ptr<RawEngine>> open_at(const RouterChain& chain, int host, bool v6,
                                           const RunSecrets& secrets) {
  const InNamespace here(chain.name(host == 1 ? "h1" : "h2"));
  const RawNic nic{.interface = host == 1 ? "r1" : "r2", .address = RouterChain::address(host, v6)};
  return open_raw_engine(nic, secrets, host == 1 ? kFirst : kSecond);
}

void build(Rig& rig, bool v6) {
  auto chain = RouterChain::make();
  ASSERT_TRUE(chain) << chain.error().message;
  rig.chain = std::move(*chain);
  auto first = open_at(*rig.chain, 1, v6, kSecrets);
  ASSERT_TRUE(first) << first.error().message;
  rig.first = std::move(*first);
  auto second = open_at(*rig.chain, 2, v6, kSecrets);
  ASSERT_TRUE(second) << second.error().message;
  rig.second = std::move(*second);
}

Peer second_peer(bool v6) { return {kSecond, RouterChain::address(2, v6)}; }

class RawEngineTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "network namespaces of our own need root";
    ASSERT_NO_FATAL_FAILURE(build(rig_, v6()));
  }
  bool v6() const { return GetParam(); }
  Rig rig_;
};

INSTANTIATE_TEST_SUITE_P(Families, RawEngineTest, ::testing::Values(false, true),
                         [](const auto& family) { return family.param ? "IPv6" : "IPv4"; });

TEST_P(RawEngineTest, ATraceNamesEveryHopAndThePeer) {
  TraceRequest request{.run = kSecrets.run, .batch = BatchId(1), .peers = {second_peer(v6())}};
  for (std::uint32_t label = 0; label < 8; ++label)
    request.specs.push_back({.label = PathLabel(50000 + label)});
  const auto answers = rig_.first->trace(request, {});
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->size(), 24u);
  const auto r1 = *IpAddress::parse(v6() ? "fd77:1::1" : "10.77.1.1");
  const auto r2 = *IpAddress::parse(v6() ? "fd77:12::2" : "10.77.12.2");
  for (std::uint32_t spec = 0; spec < 8; ++spec) {
    const auto* hops = &(*answers)[spec * 3];
    EXPECT_EQ(hops[0].from, r1);
    EXPECT_EQ(hops[1].from, r2);
    EXPECT_EQ(hops[2].from, RouterChain::address(2, v6()));
    for (std::uint8_t i = 0; i < 3; ++i) {
      EXPECT_EQ(hops[i].spec, spec);
      EXPECT_EQ(hops[i].hop, i + 1);
      EXPECT_EQ(hops[i].is_peer, i == 2);
      EXPECT_GT(hops[i].rtt.count(), 0);
    }
  }
}

TEST_P(RawEngineTest, APingIsAnsweredAndCountedAtTheFarEnd) {
  const PingRequest request{
      .run = kSecrets.run,
      .batch = BatchId(2),
      .peers = {second_peer(v6())},
      .specs =
          {{.label = PathLabel(50001), .back_label = PathLabel(50002), .count = 200},
           {.label = PathLabel(50003), .back_label = PathLabel(50004), .count = 50, .size = Bytes(4096)}},
      .pace = {.packets_per_second = 5000}};
  const auto tallies = rig_.first->ping(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  ASSERT_EQ(tallies->size(), 2u);
  EXPECT_EQ((*tallies)[0].sent, 200u);
  EXPECT_EQ((*tallies)[0].answered, 200u);
  EXPECT_EQ((*tallies)[1].answered, 50u);
  ASSERT_TRUE((*tallies)[0].rtt);
  EXPECT_GT((*tallies)[0].rtt->p50.count(), 0);
  EXPECT_LE((*tallies)[0].rtt->p50, (*tallies)[0].rtt->p99);
  const auto received = rig_.second->received(BatchId(2));
  ASSERT_TRUE(received);
  ASSERT_EQ(received->size(), 2u);
  EXPECT_EQ((*received)[0].from, kFirst);
  EXPECT_EQ((*received)[0].packets, 200u);
  EXPECT_EQ((*received)[0].bytes, 200u * 128);
  EXPECT_EQ((*received)[1].bytes, 50u * 4096);
  EXPECT_GT((*received)[0].last, (*received)[0].first);
  EXPECT_TRUE(rig_.second->received(BatchId(3))->empty());
}

}  // namespace
}  // namespace weft
