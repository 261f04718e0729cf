// Slurm's topology.conf and topology.yaml: which hosts are under which switch.
#include "topology/files/switch_tree.hpp"

#include <gmock/gmock.h>

namespace weft::files {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SwitchTree tree_of(std::string_view text) {
  auto tree = parse_switch_tree(text, "tree");
  EXPECT_TRUE(tree) << tree.error().message;
  return tree ? std::move(*tree) : SwitchTree{};
}

std::string error_of(std::string_view text) {
  const auto tree = parse_switch_tree(text, "tree");
  return tree ? "none" : tree.error().message;
}

void expect_two_leaves(const SwitchTree& tree) {
  ASSERT_EQ(tree.switches.size(), 2u);
  EXPECT_EQ(tree.switches[0].name, "leaf1");
  EXPECT_THAT(tree.switches[0].hosts, ElementsAre("gpu1", "gpu2"));
  EXPECT_EQ(tree.switches[1].name, "leaf2");
  EXPECT_THAT(tree.switches[1].hosts, ElementsAre("gpu3", "gpu4", "login"));
}

TEST(SwitchTree, BothFormsTellTheSameHosts) {
  expect_two_leaves(
      tree_of("# by hand\nSwitchName=leaf1 Nodes=gpu[1-2]\n\nswitchname=leaf2 nodes=gpu[3-4],login "
              "LinkSpeed=1 # two\n"
              "SwitchName=spine Switches=leaf[1-2]\n"));
  expect_two_leaves(
      tree_of("# by hand\n---\n- topology: one\n  cluster_default: true\n  tree:\n    switches:\n"
              "      - switch: spine\n        children: leaf[1-2]\n"
              "      - switch: leaf1\n        nodes: gpu[1-2]\n"
              "      - switch: leaf2\n        nodes: \"gpu[3-4],login\"\n"));
}

TEST(SwitchTree, LinesGoOnAfterABackslashAndEndAsOnWindows) {
  expect_two_leaves(
      tree_of("SwitchName=leaf1 \\\r\n  Nodes=gpu[1-2]\r\nSwitchName=leaf2 Nodes=gpu[3-4],login\r\n"));
}

TEST(SwitchTree, IsReadAsSlurmReadsIt) {
  expect_two_leaves(tree_of(
      "\xEF\xBB\xBFSwitchName = leaf1 Nodes= gpu[1-2]\nSwitchName =leaf2\tNodes\t=\tgpu[3-4],login\n"));
  expect_two_leaves(
      tree_of("[{topology: t, tree: {switches: [{switch: spine, nodes: null, children: 'leaf[1-2]'}, "
              "{switch: top, nodes: ~}, {switch: leaf1, nodes: 'gpu[1-2]'}, "
              "{switch: leaf2, nodes: 'gpu[3-4],login'}]}}]\n"));
}

TEST(SwitchTree, WhatIsAboveIsReadFromBothForms) {
  for (const char* text :
       {"SwitchName=leaf1 Nodes=a\nSwitchName=leaf2 Nodes=b\nSwitchName=top Switches=leaf[1-2]\n",
        "- {topology: t, tree: {switches: [{switch: top, children: 'leaf[1-2]'}, {switch: leaf1, nodes: a}, "
        "{switch: leaf2, nodes: b}]}}\n"}) {
    const SwitchTree tree = tree_of(text);
    ASSERT_EQ(tree.above.size(), 1u);
    EXPECT_EQ(tree.above[0].name, "top");
    EXPECT_THAT(tree.above[0].children, ElementsAre("leaf1", "leaf2"));
    EXPECT_THAT(tree.remarks, IsEmpty());
  }
  EXPECT_THAT(tree_of("SwitchName=a Nodes=x\nSwitchName=b\nSwitchName=t Switches=a,b,c\n").remarks,
              ElementsAre("c is under t, and no line says what is under it"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=x\nSwitchName=b Switches=c\nSwitchName=c Switches=b\n"),
              HasSubstr("b is below itself"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=x\nSwitchName=b Switches=b\n"), HasSubstr("b is below itself"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=x\nSwitchName=b Switches=a\nSwitchName=c Switches=a\n"),
              HasSubstr("tree:3: a is under b and under c"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=x Switches=b\n"), HasSubstr("a has nodes and switches under it"));
}

TEST(SwitchTree, BlocksAreLeftOutWithARemark) {
  const auto conf = tree_of("BlockName=b1 Nodes=gpu[1-4]\nBlockSizes=4\nSwitchName=leaf1 Nodes=gpu1\n");
  EXPECT_EQ(conf.switches.size(), 1u);
  EXPECT_THAT(conf.remarks, ElementsAre(HasSubstr("NVLink domains")));
  const auto yaml = tree_of(
      "- topology: b\n  block:\n    block_sizes: [4]\n    blocks:\n      - block: b1\n        nodes: "
      "gpu[1-4]\n"
      "- topology: flat\n  flat: true\n"
      "- topology: t\n  tree: {switches: [{switch: leaf1, nodes: gpu1}]}\n");
  ASSERT_EQ(yaml.switches.size(), 1u);
  EXPECT_EQ(yaml.switches[0].name, "leaf1");
  EXPECT_THAT(yaml.remarks, ElementsAre(HasSubstr("NVLink domains")));
}

TEST(SwitchTree, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_THAT(error_of(""), HasSubstr("tree: it is empty"));
  EXPECT_THAT(error_of("# nothing\n"), HasSubstr("tree: it is empty"));
  EXPECT_THAT(error_of("SwitchName=a Switches=b\n"), HasSubstr("no switch of it has nodes"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=x\nSwitchName=b Nodes=y,x\n"),
              HasSubstr("tree:2: x is under a and under b"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=x\nSwitchName=a Nodes=y\n"),
              HasSubstr("tree:2: a is there twice"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=x[1-\n"), HasSubstr("tree:1:"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=x[1-999999]\n"), HasSubstr("more than 100000"));
  EXPECT_THAT(error_of("BlockName=b Nodes=x\n"), HasSubstr("it has blocks alone"));
  EXPECT_THAT(error_of("- {topology: b, block: {blocks: []}}\n"), HasSubstr("it has blocks alone"));
  EXPECT_THAT(error_of("SwitchName a Nodes=x\n"), HasSubstr("tree:1: 'a' is not known"));
  EXPECT_THAT(error_of("{topology: t}\n"), HasSubstr("expected a list of topologies"));
  EXPECT_THAT(error_of("Nodes=x\n"), HasSubstr("tree:1: a switch without a name"));
  EXPECT_THAT(error_of("NodeName=x CPUs=4\n"), HasSubstr("tree:1: 'nodename' is not known"));
  EXPECT_THAT(error_of("include /etc/slurm/rest.conf\n"), HasSubstr("tree:1: it includes another file"));
  EXPECT_THAT(error_of("- topology: t\n  tree: {switches: 4}\n"), HasSubstr("switches: expected a list"));
  EXPECT_THAT(error_of("- topology: t\n  tree: {switches: [4]}\n"),
              HasSubstr("expected a switch, found '4'"));
  EXPECT_THAT(error_of("- topology: flat\n  flat: true\n"), HasSubstr("no switch of it has nodes"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=x Nodes=y\n"), HasSubstr("tree:1: 'nodes' is there twice"));
  EXPECT_THAT(error_of("SwitchName=a[1 Nodes=x[1,3]\n"), HasSubstr("tree:1: a '[' is not closed"));
  EXPECT_THAT(error_of("SwitchName=a Nodes=x BlockName=b\n"), HasSubstr("tree:1: a switch and a block"));
  EXPECT_THAT(error_of("- {topology: a, tree: {switches: [{switch: s, nodes: x}]}}\n"
                       "- {topology: b, tree: {switches: [{switch: s, nodes: y}]}}\n"),
              HasSubstr("tree:2: it has several trees"));
  EXPECT_THAT(error_of("- {topology: a, tree: {switches: [{switch: s, node: x}]}}\n"), HasSubstr("'node'"));
  EXPECT_THAT(error_of("- {topology: a, tree: {switches: [{switch: s, nodes: [x, y]}]}}\n"),
              HasSubstr("found a list"));
  EXPECT_THAT(error_of("- {a: "), HasSubstr("tree:1"));
}

}  // namespace
}  // namespace weft::files
