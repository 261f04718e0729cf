// The network as Slurm's topology/tree has it: by hand, and over drawn fabrics against what cables join.
#include "balancer/export/slurm_topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <random>

#include "probes/discover/against_tree.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::exports {
namespace {

using ::testing::HasSubstr;
using Names = std::vector<std::string>;

Fabric fabric_of(const std::string& text) {
  auto file = files::parse_fabric_file(text, "test");
  EXPECT_TRUE(file) << file.error().message;
  return std::move(file->fabric);
}

/// Two leaves and a spine; an island leaf; a host beside a spine; one without a cable.
Fabric odd_fabric() {
  return fabric_of(
      "fabric: odd\n"
      "nodes: [{name: host1, kind: host}, {name: host2, kind: host}, {name: host3, kind: host},\n"
      "        {name: host4, kind: host}, {name: host5, kind: host}, {name: leaf1, kind: switch, tier: "
      "leaf},\n"
      "        {name: leaf2, kind: switch, tier: leaf}, {name: leaf3, kind: switch, tier: leaf},\n"
      "        {name: spine1, kind: switch, tier: spine}]\n"
      "links: [{a: host1, b: leaf1}, {a: host2, b: leaf2}, {a: host3, b: leaf3}, {a: host4, b: spine1},\n"
      "        {a: leaf1, b: spine1}, {a: leaf2, b: spine1}]\n");
}

TEST(SlurmTopology, IsLeavesUnderWhatJoinsThem) {
  const auto topology =
      slurm_topology(fabric_of("fabric: f\nclos: {leaves: 2, spines: 3, hosts_per_leaf: 2}\n"), {});
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology_conf(*topology),
            "SwitchName=leaf1 Nodes=host1,host2\nSwitchName=leaf2 Nodes=host3,host4\n"
            "SwitchName=spine1-spine3 Switches=leaf1,leaf2\n");
  EXPECT_EQ(topology->roots, Names{"spine1-spine3"});
  const auto yaml = YAML::Load(topology_yaml(*topology))[0];
  EXPECT_TRUE(yaml["cluster_default"].as<bool>());
  const auto switches = yaml["tree"]["switches"];
  ASSERT_EQ(switches.size(), 3u);
  EXPECT_EQ(switches[1]["nodes"].as<std::string>(), "host3,host4");
  EXPECT_EQ(switches[2]["children"].as<std::string>(), "leaf1,leaf2");
}

TEST(SlurmTopology, HostsThatSlurmDoesNotHaveAreLeftOutWithWhatIsAboveThemAlone) {
  const auto fabric = fabric_of(
      "fabric: f\nrails: {pods: 2, groups: 2, hosts_per_group: 2, rails: 2, spines: 1, cores: 2}\n");
  const auto topology = slurm_topology(fabric, Names{"host1", "host3", "host8"});
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology_conf(*topology),
            "SwitchName=leaf1-leaf2 Nodes=host1\nSwitchName=leaf3-leaf4 Nodes=host3\n"
            "SwitchName=leaf7-leaf8 Nodes=host8\nSwitchName=spine1 Switches=leaf1-leaf2,leaf3-leaf4\n"
            "SwitchName=core1-core2 Switches=spine1,leaf7-leaf8\n");
}

TEST(SlurmTopology, ANodeOfSlurmThatIsNoHostIsRefusedByName) {
  const auto fabric = fabric_of("fabric: f\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\n");
  const auto refused = slurm_topology(fabric, Names{"host1", "login1", "leaf1"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("leaf1, login1: no host of fabric f"));
  EXPECT_THAT(slurm_topology(fabric, Names{"a", "b", "c", "d", "e", "f", "g"}).error().message,
              HasSubstr("a, b, c, d, e and 2 more: "));
  EXPECT_FALSE(slurm_topology(fabric, Names{})) << "nothing to write";
}

TEST(SlurmTopology, PartsAndHostsWithoutACableAreNamed) {
  const auto topology = slurm_topology(odd_fabric(), {});
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology->roots, (Names{"spine1", "leaf3"}));
  EXPECT_EQ(topology->unconnected, Names{"host5"});
  EXPECT_EQ(topology_conf(*topology),
            "SwitchName=leaf1 Nodes=host1\nSwitchName=leaf2 Nodes=host2\nSwitchName=leaf3 Nodes=host3\n"
            "SwitchName=spine1_nodes Nodes=host4\nSwitchName=spine1 Switches=leaf1,leaf2,spine1_nodes\n");
}

TEST(SlurmTopology, ANameThatSlurmReadsOtherwiseIsRefused) {
  const auto fabric = fabric_of(
      "fabric: f\nnodes: [{name: \"host:1\", kind: host}, {name: leaf1, kind: switch, tier: leaf}]\n"
      "links: [{a: \"host:1\", b: leaf1}]\n");
  const auto refused = slurm_topology(fabric, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'host:1' is no name"));
}

/// The shape that `random` draws, with a fifth of the links between switches cut.
Fabric drawn_fabric(std::mt19937_64& random) {
  const auto pick = [&](unsigned most) { return 1 + random() % most; };
  const auto shape =
      pick(2) == 1 ? fmt::format("clos: {{pods: {}, leaves: {}, spines: 2, cores: 2, hosts_per_leaf: {}}}",
                                 1 + pick(3), pick(3), pick(3))
                   : fmt::format("rails: {{groups: {}, hosts_per_group: {}, rails: {}, spines: 2}}", pick(4),
                                 pick(3), 1 + pick(3));
  const Fabric whole = fabric_of("fabric: f\n" + shape + "\n");
  std::string text = "fabric: f\nnodes:\n";
  for (const Node& node : whole.nodes())
    text += fmt::format("  - {{name: {}, kind: {}{}}}\n", node.name,
                        node.kind == NodeKind::host ? "host" : "switch",
                        node.kind == NodeKind::host ? "" : fmt::format(", tier: {}", to_string(node.tier)));
  text += "links:\n";
  for (std::uint32_t i = 0; i < whole.link_count(); ++i)
    if (const Link& link = whole.link(LinkId(i)); pick(5) > 1 || !whole.between_switches(LinkId(i)))
      text += fmt::format("  - {{a: {}, b: {}}}\n", whole.name_of(whole.port(link.a).node),
                          whole.name_of(whole.port(link.b).node));
  return fabric_of(text);
}

/// The root above each node, having seen each name beneath one switch at most.
std::map<std::string, std::string> roots_of(const SlurmTopology& topology) {
  std::map<std::string, std::string> above;
  for (const SlurmSwitch& one : topology.switches) {
    EXPECT_NE(one.nodes.empty(), one.switches.empty()) << one.name << ": nodes or switches, not both";
    for (const auto& names : {one.nodes, one.switches})
      for (const std::string& name : names) EXPECT_TRUE(above.emplace(name, one.name).second) << name;
  }
  std::map<std::string, std::string> roots;
  for (const auto& [name, parent] : above) {
    std::string root = parent;
    for (auto at = above.find(root); at != above.end(); at = above.find(root)) root = at->second;
    roots.emplace(name, root);
  }
  return roots;
}

TEST(SlurmTopology, OfDrawnFabricsHasEachHostOnceAndOneRootForWhatCablesJoin) {
  std::mt19937_64 random(11);
  for (int draw = 0; draw < 200; ++draw) {
    const Fabric fabric = drawn_fabric(random);
    const auto topology = slurm_topology(fabric, {});
    ASSERT_TRUE(topology) << topology.error().message;
    const auto roots = roots_of(*topology);
    // By walking cables, whatever the tiers.
    std::vector<std::uint32_t> part(fabric.node_count(), 0);
    for (std::uint32_t start = 0, next = 1; start < part.size(); ++start) {
      std::vector<std::uint32_t> open{start};
      if (part[start] != 0) continue;
      for (part[start] = next++; !open.empty();) {
        const NodeId at(open.back());
        open.pop_back();
        for (const ChannelId channel : fabric.channels_from(at))
          if (const auto to = fabric.target_node(channel).value(); part[to] == 0)
            part[to] = part[at.value()], open.push_back(to);
      }
    }
    for (const NodeId a : fabric.hosts())
      for (const NodeId b : fabric.hosts())
        ASSERT_EQ(roots.at(fabric.name_of(a)) == roots.at(fabric.name_of(b)),
                  part[a.value()] == part[b.value()])
            << "draw " << draw << ": " << fabric.name_of(a) << ", " << fabric.name_of(b) << "\n"
            << topology_conf(*topology);
  }
}

TEST(SlurmTopology, OfDrawnFabricsAgreesWithTheirCables) {
  std::mt19937_64 random(12);
  for (int draw = 0; draw < 300; ++draw) {
    const Fabric fabric = drawn_fabric(random);
    const auto topology = slurm_topology(fabric, {}).value();
    for (const auto& text : {topology_conf(topology), topology_yaml(topology)}) {
      const auto tree = files::parse_switch_tree(text, "tree");
      ASSERT_TRUE(tree) << tree.error().message << "\n" << text;
      const auto compared = discover::compare_with_tree(fabric, *tree);
      EXPECT_THAT(compared.disagreements, ::testing::IsEmpty()) << "draw " << draw << "\n" << text;
    }
  }
}

}  // namespace
}  // namespace weft::exports
