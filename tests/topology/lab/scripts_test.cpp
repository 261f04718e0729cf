#include "topology/lab/netns/scripts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "topology/model/clos.hpp"

namespace weft::lab {
namespace {

struct Written {
  explicit Written(Fabric made, const LabSettings& settings = {})
      : fabric(std::move(made)),
        plan(plan_addresses(fabric, settings.family).value()),
        scripts(LabScripts::make(fabric, settings, plan).value()) {}
  NodeId node(std::string_view name) const { return fabric.find_node(name).value(); }
  PortId port(std::string_view name) const { return fabric.find_port(name).value(); }

  Fabric fabric;
  AddressPlan plan;
  LabScripts scripts;
};

Written small() { return Written(make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value()); }

bool has_line(const std::string& script, const std::string& line) {
  return ("\n" + script).find("\n" + line + "\n") != std::string::npos;
}

std::string value_of(const std::vector<Sysctl>& sysctls, std::string_view path) {
  const auto found = std::ranges::find(sysctls, path, &Sysctl::path);
  return found == sysctls.end() ? "" : found->value;
}

TEST(LabScripts, RouteAllHostsOfAnotherLeafByOneGroupOfNexthops) {
  const Written lab = small();
  EXPECT_EQ(lab.scripts.routes(lab.node("leaf1"), {}),
            "nexthop replace id 2 via 10.128.0.1 dev p2\n"
            "nexthop replace id 3 via 10.128.0.3 dev p3\n"
            "nexthop replace id 100000 group 2/3\n"
            "route replace 10.0.2.0/24 nhid 100000\n");
  EXPECT_EQ(lab.scripts.routes(lab.node("spine1"), {}),
            "nexthop replace id 1 via 10.128.0.0 dev p1\n"
            "nexthop replace id 2 via 10.128.0.4 dev p2\n"
            "route replace 10.0.1.0/24 nhid 1\n"
            "route replace 10.0.2.0/24 nhid 2\n");
  EXPECT_EQ(lab.scripts.routes(lab.node("host1"), {}), "");
}

TEST(LabScripts, LeaveOutWhatLiesBehindACableThatIsDown) {
  const Written lab = small();
  const LinkId one = lab.fabric.find_link("leaf1--spine1").value();
  const LinkId two = lab.fabric.find_link("leaf1--spine2").value();
  EXPECT_EQ(lab.scripts.routes(lab.node("leaf1"), {one}),
            "nexthop replace id 3 via 10.128.0.3 dev p3\n"
            "nexthop replace id 100000 group 3\n"
            "route replace 10.0.2.0/24 nhid 100000\n")
      << "the same group number, so that healing finds it";
  EXPECT_EQ(lab.scripts.routes(lab.node("leaf1"), {one, two}), "");
  EXPECT_FALSE(lab.scripts.routes(lab.node("spine1"), {one}).find("10.0.1.0/24") != std::string::npos);
}

TEST(LabScripts, GiveEverySwitchAHashSeedOfItsOwnThatIsNeverZero) {
  const Written lab(
      make_pod_clos({.pods = 4, .leaves = 4, .spines = 4, .cores = 16, .hosts_per_leaf = 1}).value());
  std::set<std::string> seeds;
  for (std::uint32_t i = 0; i < lab.fabric.node_count(); ++i)
    if (!lab.fabric.is_host(NodeId(i)))
      seeds.insert(value_of(lab.scripts.sysctls(NodeId(i)), "net/ipv4/fib_multipath_hash_seed"));
  EXPECT_EQ(seeds.size(), 48U);
  EXPECT_FALSE(seeds.contains("0"));
  EXPECT_FALSE(seeds.contains(""));
}

TEST(LabScripts, MakeSwitchesForwardAndAnswerEveryProbeAndHostsNeither) {
  const Written lab = small();
  const auto of_switch = lab.scripts.sysctls(lab.node("spine1"));
  EXPECT_EQ(value_of(of_switch, "net/ipv4/ip_forward"), "1");
  EXPECT_EQ(value_of(of_switch, "net/ipv4/fib_multipath_hash_policy"), "1");
  EXPECT_EQ(value_of(of_switch, "net/ipv4/icmp_ratelimit"), "0");
  EXPECT_EQ(value_of(of_switch, "net/ipv4/icmp_errors_use_inbound_ifaddr"), "1");
  EXPECT_EQ(value_of(lab.scripts.sysctls(lab.node("host1")), "net/ipv4/ip_forward"), "");
}

TEST(LabScripts, JoinEveryLinkAndEveryHostToTheManagementNetwork) {
  const Written lab = small();
  const auto cables = lab.scripts.cables(
      [&](std::optional<NodeId> node) { return node ? lab.fabric.name_of(*node) : std::string("M"); });
  EXPECT_EQ(std::ranges::count(cables, '\n'), 6 + 2);
  EXPECT_NE(cables.find("netns leaf1 type veth peer name p1 "), std::string::npos) << cables;
  EXPECT_TRUE(has_line(cables, "link add name mgmt netns host2 type veth peer name m1 netns M"));
}

TEST(LabScripts, SendWhatComesFromANicByThatNicsOwnTable) {
  const Written lab(make_rails({.groups = 1, .hosts_per_group = 1, .rails = 2, .spines = 1}).value());
  EXPECT_TRUE(has_line(lab.scripts.node(lab.node("host1")), "rule add pref 1002 from 10.0.2.1 lookup 1002"));
  const auto second = lab.scripts.port(lab.port("host1/p2"));
  EXPECT_TRUE(has_line(second, "route replace default via 10.0.2.0 dev p2 table 1002"));
  EXPECT_FALSE(second.find("src") != std::string::npos);
  EXPECT_TRUE(has_line(lab.scripts.port(lab.port("host1/p1")),
                       "route replace default via 10.0.1.0 dev p1 src 10.0.1.1"));
}

TEST(LabScripts, ShapeEveryPortToTheLabsRateOrNoneAtAll) {
  const Written lab = small();
  EXPECT_EQ(lab.scripts.shaping(lab.node("host1")),
            "qdisc replace dev p1 root tbf rate 50000000bit burst 16384 limit 125000\n");
  EXPECT_EQ(std::ranges::count(lab.scripts.shaping(lab.node("spine1")), '\n'), 2);
  const Written bare(make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value(),
                     {.link_rate = std::nullopt});
  EXPECT_EQ(bare.scripts.shaping(bare.node("spine1")), "");
}

TEST(LabScripts, NeverHoldLessThanFourteenFramesInAQueue) {
  EXPECT_EQ(LabScripts::shape("p1", Bandwidth::mbit(1)),
            "qdisc replace dev p1 root tbf rate 1000000bit burst 16384 limit 60000\n");
  EXPECT_EQ(LabScripts::shape("p1", std::nullopt), "qdisc del dev p1 root\n");
}

TEST(LabScripts, SpeakIpv6WithAddressesThatNeedNoProbing) {
  const Written lab(make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value(),
                    {.family = IpFamily::v6});
  EXPECT_STREQ(lab.scripts.family_option(), "-6");
  EXPECT_TRUE(has_line(lab.scripts.port(lab.port("host1/p1")),
                       "address replace fd00:77:6566:7401::101/127 dev p1 nodad"));
  EXPECT_EQ(value_of(lab.scripts.sysctls(lab.node("leaf1")), "net/ipv6/conf/all/forwarding"), "1");
}

}  // namespace
}  // namespace weft::lab
