#include "probes/diagnosis/host/host_check.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "topology/model/clos.hpp"

namespace weft::diagnosis {
namespace {

/// Four hosts of two NICs (rails), all alike: a run in which nothing is odd until a test makes it so.
struct AlikeHosts {
  Fabric fabric = *make_rails({.groups = 2, .hosts_per_group = 2, .rails = 2, .spines = 2});
  std::vector<JoinedHost> hosts;
  HostExpectations expectations;

  AlikeHosts() {
    for (const NodeId host : fabric.hosts()) {
      JoinedHost joined{host, {}, {}};
      for (const PortId port : fabric.ports_of(host)) add_nic(joined, port);
      for (int gpu = 0; gpu < 4; ++gpu)
        joined.inventory.gpus.push_back({fmt::format("0000:{}8:00.0", gpu), "10de:2330", 0, link(), {}});
      hosts.push_back(std::move(joined));
    }
  }
  NicInventory& nic(std::size_t host, std::size_t nic) { return hosts[host].inventory.nics[nic]; }
  std::vector<HostEvidence> check() const { return check_hosts(fabric, hosts, expectations); }

  static PcieLink link() { return {16, PcieSpeed::giga_transfers(32), 16, PcieSpeed::giga_transfers(32)}; }
  void add_nic(JoinedHost& host, PortId port) {
    const auto name = fmt::format("eth{}", host.nics.size());
    host.nics.push_back({port, name});
    NicInventory nic{.interface = name, .rdma_device = "mlx5_" + std::to_string(host.nics.size() - 1)};
    nic.pci = fmt::format("0000:{}a:00.0", host.nics.size());
    nic.model = "15b3:1021";
    nic.serves = true;
    nic.link = link();
    nic.firmware = "28.39.2048";
    nic.mtu = Bytes(4200);
    nic.up = true;
    nic.port_state = "ACTIVE";
    nic.rate = Bandwidth::gbit(400);
    nic.link_layer = "Ethernet";
    nic.gids = GidCounts{2, 2};
    nic.settings = {{"PFC priorities", "3"}, {"DSCP to priority", "24-31:3 48:6"}, {"trust", "dscp"}};
    host.inventory.nics.push_back(std::move(nic));
  }
};

/// The one finding there is; fails when there are more or none.
HostEvidence only(const std::vector<HostEvidence>& found) {
  for (const auto& each : found) SCOPED_TRACE(each.text);
  EXPECT_EQ(found.size(), 1u) << (found.empty() ? "" : found[0].text);
  return found.empty() ? HostEvidence{} : found[0];
}
testing::AssertionResult says(const HostEvidence& found, std::vector<std::string> words) {
  for (const std::string& word : words)
    if (found.text.find(word) == std::string::npos)
      return testing::AssertionFailure() << "no '" << word << "' in: " << found.text;
  return testing::AssertionSuccess();
}

TEST(HostCheck, HostsThatAreAlikeAreFine) { EXPECT_TRUE(AlikeHosts().check().empty()); }

TEST(HostCheck, AMissingGpuIsNamedByItsPlace) {
  AlikeHosts run;
  run.hosts[2].inventory.gpus.erase(run.hosts[2].inventory.gpus.begin() + 1);
  const auto found = only(run.check());
  EXPECT_EQ(run.fabric.name_of(found.host), "host3");
  EXPECT_EQ(found.verdict, Verdict::failed);
  EXPECT_FALSE(found.nic);
  EXPECT_TRUE(says(found, {"3 GPUs", "3 of 4 hosts have 4", "0000:18:00.0"}));
}

TEST(HostCheck, AMissingNicIsNamedByTheFabricAndByItsPlace) {
  AlikeHosts run;
  run.hosts[1].inventory.nics.pop_back();
  const auto found = run.check();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(says(found[0], {"1 NICs", "0000:2a:00.0"}));
  EXPECT_EQ(found[1].nic, run.hosts[1].nics[1].nic);
  EXPECT_TRUE(says(found[1], {"no NIC 'eth1'"}));
  EXPECT_EQ(found[1].cause, Cause::down);
}

TEST(HostCheck, ANarrowOrSlowPcieLinkIsDegraded) {
  AlikeHosts run;
  run.nic(0, 1).link.lanes = 8;
  const auto narrow = only(run.check());
  EXPECT_EQ(narrow.nic, run.hosts[0].nics[1].nic);
  EXPECT_EQ(narrow.verdict, Verdict::degraded);
  EXPECT_EQ(narrow.cause, Cause::rate);
  EXPECT_TRUE(says(narrow, {"eth1", "x8 at 32 GT/s", "x16 at 32 GT/s"}));
  run.nic(0, 1).link = AlikeHosts::link();
  run.nic(0, 1).link.speed = PcieSpeed::giga_transfers(16);
  EXPECT_TRUE(says(only(run.check()), {"x16 at 16 GT/s"}));
}

TEST(HostCheck, AnIdleGpuMayRunItsLinkSlowlyButNotNarrow) {
  AlikeHosts run;
  auto& link = run.hosts[3].inventory.gpus[0].link;
  link.speed = PcieSpeed::giga_transfers(2.5);
  EXPECT_TRUE(run.check().empty());
  link.lanes = 4;
  EXPECT_TRUE(says(only(run.check()), {"GPU 0000:08:00.0", "x4"}));
}

TEST(HostCheck, RoceNeedsAGidOfItsSecondVersion) {
  AlikeHosts run;
  run.nic(2, 0).gids = GidCounts{2, 0};
  const auto found = only(run.check());
  EXPECT_EQ(found.verdict, Verdict::failed);
  EXPECT_TRUE(says(found, {"no RoCE v2", "mlx5_0"}));
}

TEST(HostCheck, AnMtuBelowTheFabricsOrUnlikeTheOthersIsNamed) {
  AlikeHosts run;
  run.nic(1, 0).mtu = Bytes(1500);
  const auto odd = only(run.check());
  EXPECT_EQ(odd.cause, Cause::mtu);
  EXPECT_TRUE(says(odd, {"1500", "7 of 8", "4200"}));
  run.expectations.mtu = Bytes(4200);
  EXPECT_TRUE(says(only(run.check()), {"eth0 is 1500", "the fabric's is 4200"}));
  run.nic(1, 0).mtu = Bytes(9000);
  EXPECT_TRUE(run.check().empty()) << "more than the fabric's is no fault";
}

TEST(HostCheck, MixedFirmwareIsComparedWithinAModel) {
  AlikeHosts run;
  run.nic(3, 1).firmware = "28.36.1010";
  EXPECT_TRUE(says(only(run.check()), {"the firmware is 28.36.1010", "7 of 8", "28.39.2048"}));
  run.nic(3, 1).model = "15b3:101d";  // a ConnectX-6 has firmware of its own
  EXPECT_TRUE(run.check().empty());
}

TEST(HostCheck, APortThatIsDownOrSlowIsNamed) {
  AlikeHosts run;
  run.nic(0, 0).port_state = "INIT";
  const auto down = only(run.check());
  EXPECT_EQ(down.verdict, Verdict::failed);
  EXPECT_EQ(down.cause, Cause::down);
  EXPECT_TRUE(says(down, {"mlx5_0 is INIT"}));
  run.nic(0, 0).port_state = "ACTIVE";
  run.nic(0, 0).rate = Bandwidth::gbit(200);
  const auto slow = only(run.check());
  EXPECT_EQ(slow.cause, Cause::rate);
  EXPECT_TRUE(says(slow, {"200 Gbit/s", "400 Gbit/s"}));
}

TEST(HostCheck, TheOddOneOutOfASettingIsNamedWithWhatDiffers) {
  AlikeHosts run;
  run.nic(2, 1).settings["PFC priorities"] = "none";
  const auto found = only(run.check());
  EXPECT_EQ(found.nic, run.hosts[2].nics[1].nic);
  EXPECT_EQ(found.verdict, Verdict::degraded);
  EXPECT_TRUE(says(found, {"PFC priorities is none", "on 7 of 8", "it is 3"}));
}

TEST(HostCheck, WithoutAMajorityAllThatDifferAreNamed) {
  AlikeHosts run;
  for (const std::size_t host : {0u, 1u}) {
    run.nic(host, 0).settings["trust"] = "pcp";
    run.nic(host, 1).settings["trust"] = "pcp";
  }
  const auto found = run.check();
  EXPECT_EQ(found.size(), 8u);
  EXPECT_TRUE(says(found[0], {"trust is pcp", "4 of 8", "no value is on most"}));
}

TEST(HostCheck, WhatAHostDoesNotTellIsNoFault) {
  AlikeHosts run;
  for (JoinedHost& host : run.hosts)
    for (NicInventory& nic : host.inventory.nics) nic = {.interface = nic.interface, .serves = true};
  for (JoinedHost& host : run.hosts) host.inventory.gpus.clear();
  EXPECT_TRUE(run.check().empty());
  run.nic(0, 0).settings["trust"] = "dscp";  // one of eight tells
  EXPECT_TRUE(run.check().empty());
}

TEST(HostCheck, HostsOfOneSharedMachineAreNotComparedByTheirDevices) {
  AlikeHosts run;
  for (JoinedHost& host : run.hosts) host.inventory.shares_machine = true;
  run.hosts[0].inventory.gpus.clear();
  EXPECT_TRUE(run.check().empty());
}

TEST(HostCheck, DoesNotDependOnTheOrderOfHosts) {
  AlikeHosts run;
  run.nic(2, 1).settings["PFC priorities"] = "none";
  run.nic(0, 0).port_state = "DOWN";
  run.hosts[3].inventory.gpus.pop_back();
  const auto texts = [](const AlikeHosts& of) {
    std::vector<std::string> all;
    for (const auto& found : of.check()) all.push_back(found.text);
    return all;
  };
  const auto forward = texts(run);
  EXPECT_EQ(forward.size(), 3u);
  std::ranges::reverse(run.hosts);
  EXPECT_EQ(texts(run), forward);
}

TEST(HostCheckAlone, JudgesOneHostByItself) {
  AlikeHosts run;
  EXPECT_TRUE(check_alone(run.hosts[0].inventory).empty());
  run.nic(0, 0).gids = GidCounts{1, 0};
  run.nic(0, 1).link.lanes = 4;
  NicInventory unused{.interface = "eth9", .up = false};
  run.hosts[0].inventory.nics.push_back(unused);
  EXPECT_EQ(check_alone(run.hosts[0].inventory).size(), 2u);
}

}  // namespace
}  // namespace weft::diagnosis
