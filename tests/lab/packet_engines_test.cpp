// The same cases over both engines of packets: AF_PACKET sockets, and DPDK with its driver of such sockets.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>

#include <thread>

#include "probes/engine/dpdk/dpdk_engine.hpp"
#include "probes/engine/raw/packet_socket.hpp"
#include "probes/engine/raw/raw_engine.hpp"
#include "probes/nic/kernel_next_hops.hpp"
#include "probes/packet/probe_frame.hpp"
#include "tests/places.hpp"
#include "tests/support/router_chain.hpp"
#include "topology/os/run_program.hpp"

namespace weft {
namespace {

using fakes::InNamespace;
using fakes::RouterChain;

constexpr PortId kFirst{1};
constexpr PortId kSecond{2};
const packet::RunSecrets kSecrets{.run = RunId(7), .key = {std::byte{1}, std::byte{2}}};

datapath::SharedNics nics_of(bool v6) {
  return std::make_shared<const datapath::RunNics>(std::vector<datapath::RunNic>{
      {kFirst, RouterChain::address(1, v6)}, {kSecond, RouterChain::address(2, v6)}});
}

/// A chain of two routers with an engine at each end.
struct Rig {
  std::unique_ptr<RouterChain> chain;
  std::unique_ptr<nic::PacketEngine> first;
  std::unique_ptr<nic::PacketEngine> second;
};

enum class Engine { raw, dpdk };

Result<std::unique_ptr<nic::PacketEngine>> open_engine(Engine engine, const nic::HostNic& nic, PortId self,
                                                       bool v6) {
  if (engine == Engine::raw) return raw::open_raw_engine(nic, kSecrets, self, nics_of(v6));
  WEFT_TRY(auto arguments, dpdk::parse_dpdk_arguments(dpdk::kUsualArguments));
  WEFT_TRY(auto opened,
           dpdk::open_dpdk_engine(nic, {std::move(arguments), WEFT_BINARY_DIR "/libweft_dpdk.so"}, kSecrets,
                                  self, nics_of(v6)));
  return std::move(opened.engine);
}

Result<std::unique_ptr<nic::PacketEngine>> open_at(Engine engine, const RouterChain& chain, int host,
                                                   bool v6) {
  const InNamespace here(chain.name(host == 1 ? "h1" : "h2"));
  const nic::HostNic nic{.interface = host == 1 ? "r1" : "r2", .address = RouterChain::address(host, v6)};
  return open_engine(engine, nic, host == 1 ? kFirst : kSecond, v6);
}

void build(Rig& rig, Engine engine, bool v6) {
  auto chain = RouterChain::make();
  ASSERT_TRUE(chain) << chain.error().message;
  rig.chain = std::move(*chain);
  auto first = open_at(engine, *rig.chain, 1, v6);
  if (!first && first.error().kind == ErrorKind::not_supported) GTEST_SKIP() << first.error().message;
  ASSERT_TRUE(first) << first.error().message;
  rig.first = std::move(*first);
  auto second = open_at(engine, *rig.chain, 2, v6);
  ASSERT_TRUE(second) << second.error().message;
  rig.second = std::move(*second);
}

datapath::Peer second_peer(bool v6) { return {kSecond, RouterChain::address(2, v6)}; }

/// What the responder has of a batch once it has `packets` in all; flow packets may still be on their way
/// when their sender is done.
std::vector<datapath::ReceivedTally> received_in_time(nic::PacketEngine& engine, BatchId batch,
                                                      std::uint64_t packets) {
  for (int look = 0; look < 100; ++look) {
    const auto received = *engine.received(batch);
    std::uint64_t sum = 0;
    for (const auto& tally : received) sum += tally.packets;
    if (sum >= packets) return received;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return *engine.received(batch);
}

class PacketEnginesTest : public ::testing::TestWithParam<std::tuple<Engine, bool>> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "network namespaces of our own need root";
    ASSERT_NO_FATAL_FAILURE(build(rig_, engine(), v6()));
  }
  static Engine engine() { return std::get<0>(GetParam()); }
  static bool v6() { return std::get<1>(GetParam()); }
  Rig rig_;
};

INSTANTIATE_TEST_SUITE_P(Engines, PacketEnginesTest,
                         ::testing::Combine(::testing::Values(Engine::raw, Engine::dpdk),
                                            ::testing::Values(false, true)),
                         [](const auto& which) {
                           return std::string(std::get<0>(which.param) == Engine::raw ? "Raw" : "Dpdk") +
                                  (std::get<1>(which.param) ? "IPv6" : "IPv4");
                         });

TEST_P(PacketEnginesTest, ATraceNamesEveryHopAndThePeer) {
  datapath::TraceRequest request{.run = kSecrets.run, .batch = BatchId(1), .peers = {second_peer(v6())}};
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

TEST_P(PacketEnginesTest, APingIsAnsweredAndCountedAtTheFarEnd) {
  const datapath::PingRequest request{
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

datapath::PingRequest ping_of(BatchId batch, bool v6, std::uint32_t count, Bytes size = Bytes(128)) {
  return {
      .run = kSecrets.run,
      .batch = batch,
      .peers = {second_peer(v6)},
      .specs = {{.label = PathLabel(50001), .back_label = PathLabel(50002), .count = count, .size = size}},
      .pace = {.packets_per_second = 5000}};
}

TEST_P(PacketEnginesTest, FlowsArriveAndTheirBytesAreCounted) {
  const datapath::FlowRequest request{
      .run = kSecrets.run,
      .batch = BatchId(9),
      .peers = {second_peer(v6())},
      .specs = {{.label = PathLabel(50001), .rate = Bandwidth::mbit(40)},
                {.label = PathLabel(50002), .rate = Bandwidth::mbit(10)},
                {.label = PathLabel(50003), .rate = Bandwidth::mbit(10), .size = Bytes(1024)}},
      .duration = std::chrono::milliseconds(200)};
  const auto sent = rig_.first->run(request, {});
  ASSERT_TRUE(sent) << sent.error().message;
  ASSERT_EQ(sent->size(), 3u);
  const auto received = received_in_time(*rig_.second, BatchId(9),
                                         (*sent)[0].packets + (*sent)[1].packets + (*sent)[2].packets);
  ASSERT_EQ(received.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GT((*sent)[i].packets, 10u);
    EXPECT_EQ(received[i].packets, (*sent)[i].packets);
    EXPECT_EQ(received[i].bytes, (*sent)[i].bytes);
    EXPECT_EQ(received[i].corrupt, 0u);
    EXPECT_GT(received[i].last, received[i].first);
  }
}

TEST_P(PacketEnginesTest, OneWayLossIsSeenByTheFarEndAlone) {
  // r1 drops every fourth probe towards h2, and none of the echoes.
  ASSERT_TRUE(
      rig_.chain->shell("r1",
                        "nft 'add table inet t; add chain inet t c { type filter hook forward priority 0; };"
                        " add rule inet t c oifname r2 udp dport 4791 numgen inc mod 4 0 drop'"));
  const auto tallies = rig_.first->ping(ping_of(BatchId(1), v6(), 400), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ((*tallies)[0].sent, 400u);
  EXPECT_EQ((*tallies)[0].answered, 300u);
  EXPECT_EQ(rig_.second->received(BatchId(1))->at(0).packets, 300u);
}

TEST_P(PacketEnginesTest, CorruptionOnTheWayIsCountedByTheFarEnd) {
  // r1 overwrites two bytes of padding in every second probe: 150 bytes behind the UDP header's start.
  ASSERT_TRUE(
      rig_.chain->shell("r1",
                        "nft 'add table inet t; add chain inet t c { type filter hook forward priority 0; };"
                        " add rule inet t c oifname r2 udp dport 4791 numgen inc mod 2 0"
                        " @th,1200,16 set 0xdead'"));
  const auto tallies = rig_.first->ping(ping_of(BatchId(1), v6(), 100, Bytes(512)), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ((*tallies)[0].answered, 50u);
  const auto received = rig_.second->received(BatchId(1));
  EXPECT_EQ(received->at(0).packets, 50u);
  EXPECT_EQ(received->at(0).corrupt, 50u);
}

TEST_P(PacketEnginesTest, AnMtuBlackHoleSwallowsLargeProbesAndNotSmallOnes) {
  ASSERT_TRUE(rig_.chain->ip("r1", "link set r2 mtu 1400"));
  auto request = ping_of(BatchId(1), v6(), 50, Bytes(4096));
  request.specs.push_back(request.specs[0]);
  request.specs[1].size = Bytes(1400);
  const auto tallies = rig_.first->ping(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ((*tallies)[0].sent, 50u);
  EXPECT_EQ((*tallies)[0].answered, 0u);
  EXPECT_EQ((*tallies)[1].answered, 50u);
}

TEST_P(PacketEnginesTest, WithoutAnEngineAtTheFarEndTheSwitchesAnswerAndThePeerDoesNot) {
  rig_.second.reset();
  const datapath::TraceRequest request{.run = kSecrets.run,
                                       .batch = BatchId(1),
                                       .peers = {second_peer(v6())},
                                       .specs = {{.label = PathLabel(50000)}},
                                       .pace = {.answer_wait = std::chrono::milliseconds(50)}};
  const auto answers = rig_.first->trace(request, {});
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->size(), 2u);
  EXPECT_FALSE((*answers)[0].is_peer || (*answers)[1].is_peer);
}

TEST_P(PacketEnginesTest, ARouterWithoutARouteNamesItself) {
  ASSERT_TRUE(rig_.chain->ip("r2", v6() ? "route del fd77:2::/64 dev h2" : "route del 10.77.2.0/24 dev h2"));
  const datapath::TraceRequest request{.run = kSecrets.run,
                                       .batch = BatchId(1),
                                       .peers = {second_peer(v6())},
                                       .specs = {{.label = PathLabel(50000), .max_hops = 3}},
                                       .pace = {.answer_wait = std::chrono::milliseconds(50)}};
  const auto answers = rig_.first->trace(request, {});
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->size(), 3u);
  EXPECT_FALSE((*answers)[2].is_peer);
  EXPECT_NE((*answers)[1].from, (*answers)[0].from);
}

TEST_P(PacketEnginesTest, ReplayedAndForgedProbesAreNotCounted) {
  ASSERT_TRUE(rig_.first->ping(ping_of(BatchId(1), v6(), 10), {}));
  const auto before = *rig_.second->received(BatchId(1));
  const InNamespace here(rig_.chain->name("h1"));
  const nic::HostNic nic{.interface = "r1", .address = RouterChain::address(1, v6())};
  const auto kernel = look_up_nic(nic);
  ASSERT_TRUE(kernel);
  const auto hops = nic::KernelNextHops::open(nic, *kernel)->next_hop(RouterChain::address(2, v6()));
  ASSERT_TRUE(hops);
  const auto socket = raw::PacketSocket::open(nic, *kernel, nic::PacketRole::sender);
  ASSERT_TRUE(socket);
  const packet::ProbeRoute route{.from_mac = kernel->local.mac,
                                 .to_mac = *hops,
                                 .from = nic.address,
                                 .to = RouterChain::address(2, v6()),
                                 .label = UdpPort(50001)};
  const auto inject = [&](std::uint32_t sequence, const packet::RunKey& key) {
    std::vector<std::byte> frame(packet::kEthernetSize + 128);
    encode_probe_frame(route, {.run = kSecrets.run, .batch = BatchId(1), .nic = kFirst, .sequence = sequence},
                       key, 128, frame);
    const ByteSpan frames[] = {frame};
    ASSERT_EQ((*socket)->send(frames)->taken, 1u);
  };
  for (std::uint32_t i = 0; i < 10; ++i) inject(i, kSecrets.key);       // as one who recorded the probes
  for (std::uint32_t i = 10; i < 20; ++i) inject(i, packet::RunKey{});  // as one without the key
  for (int look = 0; look < 100 && rig_.second->rejects().foreign < 10; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(rig_.second->rejects().repeated, 10u);
  EXPECT_EQ(rig_.second->rejects().foreign, 10u);
  EXPECT_EQ(*rig_.second->received(BatchId(1)), before);
}

TEST_P(PacketEnginesTest, AStopEndsARunThatWouldTakeAMinute) {
  auto request = ping_of(BatchId(1), v6(), 60'000);
  request.pace.packets_per_second = 1000;
  std::stop_source stop;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  const auto tallies = rig_.first->ping(request, stop.get_token());
  ASSERT_TRUE(tallies);
  EXPECT_GT((*tallies)[0].sent, 0u);
  EXPECT_LT((*tallies)[0].sent, 10'000u);
}

TEST_P(PacketEnginesTest, AnInterfaceThatGoesAwayDuringARunIsAnErrorThatNamesIt) {
  std::jthread remover([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    (void)rig_.chain->ip("h1", "link del r1");
  });
  const auto tallies = rig_.first->ping(ping_of(BatchId(1), v6(), 10'000), {});
  ASSERT_FALSE(tallies);
  EXPECT_NE(tallies.error().message.find("r1"), std::string::npos) << tallies.error().message;
}

TEST_P(PacketEnginesTest, TwoEnginesOfOneNicAreAConflictAndTheErrorSaysOverWhat) {
  const auto again = open_at(engine(), *rig_.chain, 1, v6());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::conflict);
  EXPECT_NE(again.error().message.find("4791"), std::string::npos);
}

TEST_P(PacketEnginesTest, WhatCannotBeOpenedSaysWhy) {
  rig_.first.reset();
  const InNamespace here(rig_.chain->name("h1"));
  const auto opened = [&](const std::string& interface, const IpAddress& address) {
    return open_engine(engine(), {.interface = interface, .address = address}, kFirst, v6());
  };
  const auto mine = RouterChain::address(1, v6());
  const auto gone = opened("eth7", mine);
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().message.find("no interface eth7"), std::string::npos) << gone.error().message;
  const auto loopback = opened("lo", mine);
  ASSERT_FALSE(loopback);
  EXPECT_NE(loopback.error().message.find("no Ethernet"), std::string::npos) << loopback.error().message;
  const auto foreign = opened("r1", RouterChain::address(2, v6()));
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message.find("no address of this host"), std::string::npos)
      << foreign.error().message;
  ASSERT_TRUE(rig_.chain->ip("h1", "link set r1 down"));
  const auto down = opened("r1", mine);
  ASSERT_FALSE(down);
  EXPECT_NE(down.error().message.find("r1 is down"), std::string::npos) << down.error().message;
}

TEST_P(PacketEnginesTest, WithoutARouteTheErrorNamesTheDestination) {
  ASSERT_TRUE(rig_.chain->ip("h1", v6() ? "route del default via fd77:1::1" : "route del default"));
  const auto tallies = rig_.first->ping(ping_of(BatchId(1), v6(), 1), {});
  ASSERT_FALSE(tallies);
  EXPECT_NE(tallies.error().message.find("no route"), std::string::npos) << tallies.error().message;
  EXPECT_NE(tallies.error().message.find(to_string(RouterChain::address(2, v6()))), std::string::npos);
}

TEST_P(PacketEnginesTest, WithoutTheRightToRawSocketsTheErrorSaysWhichAndWhatWorks) {
  rig_.first.reset();
  std::string message;
  ErrorKind kind = ErrorKind::internal;
  std::thread([&] {
    const InNamespace here(rig_.chain->name("h1"));
    // Of this thread alone.
    __user_cap_header_struct form{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> rights{};
    ASSERT_EQ(::syscall(SYS_capget, &form, rights.data()), 0);
    auto fewer = rights;
    fewer[0].effective &= ~(1U << CAP_NET_RAW);
    ASSERT_EQ(::syscall(SYS_capset, &form, fewer.data()), 0);
    const auto opened =
        open_engine(engine(), {.interface = "r1", .address = RouterChain::address(1, v6())}, kFirst, v6());
    ASSERT_EQ(::syscall(SYS_capset, &form, rights.data()), 0);
    ASSERT_FALSE(opened);
    kind = opened.error().kind;
    message = opened.error().message;
  }).join();
  EXPECT_EQ(kind, ErrorKind::permission);
  EXPECT_NE(message.find("CAP_NET_RAW"), std::string::npos) << message;
  EXPECT_NE(message.find("simulate"), std::string::npos) << message;
}

/// Who is root in a user namespace and nowhere else, with namespaces and directories of its own.
TEST(OrdinaryUser, BothEnginesDoAllThisInAUserNamespace) {
  if (::geteuid() != 0) GTEST_SKIP() << "to become another user needs root";
  const auto all = os::run_program(
      {"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "unshare", "-Urnmpf", "sh", "-c",
       "mount -t tmpfs t /run && mount -t proc p /proc && mount -t tmpfs t /tmp && cd /tmp && "
       "HOME=/tmp exec \"$0\" --gtest_filter='*PacketEnginesTest.*:DpdkEngineTest.*'",
       std::filesystem::read_symlink("/proc/self/exe")},
      "", std::chrono::seconds(300));
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_NE(all->find("[  PASSED  ]"), std::string::npos) << *all;
  const bool has_dpdk = std::filesystem::exists(WEFT_BINARY_DIR "/libweft_dpdk.so");
  EXPECT_TRUE(!has_dpdk || all->find("SKIPPED") == std::string::npos) << *all;
}

}  // namespace
}  // namespace weft
