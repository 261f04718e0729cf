#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

#include "tests/support/test_lab.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft {
namespace {

Fabric small_clos() { return make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value(); }

/// Every host's first NIC reaches every other's.
void expect_all_reach_all(const TestLab& lab) {
  for (const NodeId from : lab.fabric().hosts())
    for (const NodeId to : lab.fabric().hosts())
      if (from != to) {
        EXPECT_EQ(arrived(lab, {.from = lab.fabric().name_of(from), .to = lab.fabric().name_of(to)}), 1)
            << lab.fabric().name_of(from) << " to " << lab.fabric().name_of(to);
      }
}

/// Sends with each label where the kernel says it goes, and looks whether every channel counted it.
/// Interfaces of IPv6 say a little of their own (multicast listeners), so eight packets tell, not one.
void expect_packets_follow_the_kernels_word(const TestLab& lab, std::string_view from, std::string_view to,
                                            std::set<std::vector<ChannelId>>& paths) {
  for (std::uint16_t label = 49152; label < 49152 + 64; ++label) {
    const auto path = kernel_path(lab, from, to, label);
    std::vector<std::uint64_t> before;
    for (const ChannelId channel : path) before.push_back(packets_at(lab, lab.fabric().target(channel)).in);
    ASSERT_EQ(arrived(lab, {.from = from, .to = to, .label = label, .count = 8}), 8);
    for (std::size_t i = 0; i < path.size(); ++i) {
      const auto counted = packets_at(lab, lab.fabric().target(path[i])).in - before[i];
      EXPECT_TRUE(counted >= 8 && counted < 16)
          << "label " << label << " at " << lab.fabric().name_of(path[i]) << ": " << counted;
    }
    paths.insert(path);
  }
}

TEST(Lab, LetsEveryHostReachEveryOther) {
  const TestLab lab(small_clos());
  expect_all_reach_all(lab);
}

TEST(Lab, CarriesEveryLabelWhereTheKernelSaysItGoes) {
  const TestLab lab(small_clos());
  std::set<std::vector<ChannelId>> paths;
  expect_packets_follow_the_kernels_word(lab, "host1", "host4", paths);
  EXPECT_EQ(paths.size(), 2U) << "64 labels over two spines";
}

TEST(Lab, OfThreeTiersUsesEveryPathBecauseEachDeviceHasASeedOfItsOwn) {
  const TestLab lab(
      make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 1}).value());
  expect_all_reach_all(lab);
  std::set<std::vector<ChannelId>> paths;
  expect_packets_follow_the_kernels_word(lab, "host1", "host4", paths);
  EXPECT_EQ(paths.size(), 4U) << "64 labels over two spines with two cores each";
}

TEST(Lab, OfIpv6CarriesEveryLabelWhereTheKernelSaysItGoes) {
  const TestLab lab(small_clos(), {.family = IpFamily::v6});
  expect_all_reach_all(lab);
  std::set<std::vector<ChannelId>> paths;
  expect_packets_follow_the_kernels_word(lab, "host1", "host4", paths);
  EXPECT_EQ(paths.size(), 2U);
}

TEST(Lab, SendsWhatComesFromANicOverThatNicsRail) {
  const TestLab lab(make_rails({.groups = 2, .hosts_per_group = 2, .rails = 2, .spines = 2}).value());
  for (const char* rail : {"p1", "p2"}) {
    const std::string from = fmt::format("host1/{}", rail);
    for (const std::string& to : {fmt::format("host2/{}", rail), fmt::format("host4/{}", rail)}) {
      const auto before = packets_at(lab, lab.nic(from)).out;
      EXPECT_EQ(arrived(lab, {.from = from, .to = to, .count = 10}), 10) << from << " to " << to;
      EXPECT_EQ(packets_at(lab, lab.nic(from)).out, before + 10);
    }
  }
  EXPECT_EQ(arrived(lab, {.from = "host1/p1", .to = "host3/p2", .count = 3}), 3) << "from rail to rail";
}

TEST(Lab, TakesAFabricGivenLinkByLinkWithUnequalGroupsAndParallelCables) {
  FabricBuilder builder("odd", FabricKind::roce);
  const auto add = [&](const char* name, NodeKind kind, Tier tier) {
    return *builder.add_node({.name = name, .kind = kind, .tier = tier});
  };
  const NodeId leaf1 = add("leaf1", NodeKind::switch_, Tier::leaf);
  const NodeId leaf2 = add("leaf2", NodeKind::switch_, Tier::leaf);
  const NodeId spine1 = add("spine1", NodeKind::switch_, Tier::spine);
  const NodeId spine2 = add("spine2", NodeKind::switch_, Tier::spine);
  const Bandwidth rate = Bandwidth::gbit(100);
  builder.connect(add("a", NodeKind::host, Tier::host), leaf1, rate);
  builder.connect(add("b", NodeKind::host, Tier::host), leaf2, rate);
  builder.connect(leaf1, spine1, rate);
  builder.connect(leaf1, spine1, rate);
  builder.connect(leaf1, spine2, rate);
  builder.connect(spine1, leaf2, rate);
  const TestLab lab(std::move(builder).build());
  std::set<std::vector<ChannelId>> paths;
  expect_packets_follow_the_kernels_word(lab, "a", "b", paths);
  EXPECT_EQ(paths.size(), 2U) << "spine2 has no cable to leaf2, spine1 two from leaf1";
  EXPECT_EQ(arrived(lab, {.from = "b", .to = "a", .count = 20}), 20);
}

TEST(Lab, GivesFramesOfFourKilobytesAndTheirHeadersAWay) {
  const TestLab lab(small_clos());
  EXPECT_EQ(arrived(lab, {.from = "host1", .to = "host3", .count = 5, .size = 4200}), 5);
}

TEST(Lab, AnswersNoPortUnreachableForRoceBecauseTheNicOwnsThatPort) {
  const TestLab lab(small_clos());
  const auto before = packets_at(lab, lab.nic("host1")).in;
  EXPECT_EQ(arrived(lab, {.from = "host1", .to = "host3", .count = 20}), 20);
  EXPECT_EQ(packets_at(lab, lab.nic("host1")).in, before) << "something came back";
}

TEST(Lab, JoinsHostsAndCoordinatorByAManagementNetwork) {
  const TestLab lab(small_clos(), {.family = IpFamily::v6});
  for (const NodeId host : lab.fabric().hosts()) {
    const auto ping =
        lab.run_in(lab.fabric().name_of(host), {"ping", "-c1", "-W2", to_string(lab->coordinator_address())});
    EXPECT_TRUE(ping) << ping.error().message;
  }
  const auto other =
      lab.run_in("host1", {"ping", "-c1", "-W2", to_string(lab->management_address(lab.node("host4")))});
  EXPECT_TRUE(other) << other.error().message;
}

TEST(Lab, TellsAnAgentWhatItsNicIs) {
  const TestLab lab(small_clos());
  const lab::LabNic nic = lab->nic(lab.nic("host3"));
  EXPECT_EQ(nic.interface, "p1");
  EXPECT_EQ(to_string(nic.address), "10.0.2.1");
  EXPECT_EQ(to_string(nic.gateway), "10.0.2.0");
  const auto link = lab.run_in("host3", {"ip", "-o", "link", "show", "p1"});
  ASSERT_TRUE(link);
  EXPECT_NE(link->find(nic.mac), std::string::npos) << *link;
  const auto neighbour = lab.run_in("host3", {"ip", "neighbour", "show", to_string(nic.gateway)});
  ASSERT_TRUE(neighbour);
  EXPECT_NE(neighbour->find(nic.gateway_mac), std::string::npos) << *neighbour;
}

TEST(Lab, AnswersTraceProbesWithTheAddressOfTheInterfaceTheyCameInBy) {
  for (const IpFamily family : {IpFamily::v4, IpFamily::v6}) {
    const TestLab lab(small_clos(), {.family = family});
    for (std::uint16_t label = 49152; label < 49152 + 16; ++label) {
      const auto path = kernel_path(lab, "host1", "host4", label);
      for (int hops = 1; hops <= 3; ++hops) {
        const auto expected = lab->addresses().book.address_of(lab.fabric().target(path[hops - 1]));
        const auto answer = answer_after(lab, {.from = "host1", .to = "host4", .label = label}, hops);
        ASSERT_TRUE(answer) << "label " << label << ", hop " << hops;
        EXPECT_EQ(to_string(*answer), to_string(*expected)) << "label " << label << ", hop " << hops;
      }
    }
  }
}

TEST(Lab, AnswersAsManyTraceProbesAsAreAsked) {
  for (const IpFamily family : {IpFamily::v4, IpFamily::v6}) {
    const TestLab lab(small_clos(), {.link_rate = std::nullopt, .family = family});
    const auto before = packets_at(lab, lab.nic("host1")).in;
    ASSERT_TRUE(answer_after(lab, {.from = "host1", .to = "host4", .count = 3000}, 2));
    for (int i = 0; i < 200 && packets_at(lab, lab.nic("host1")).in < before + 3000; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_GE(packets_at(lab, lab.nic("host1")).in, before + 3000)
        << "the kernel's own limit is 1,000 a second";
  }
}

}  // namespace
}  // namespace weft
