#include "topology/files/fabric_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::files {
namespace {

using testing::HasSubstr;

FabricFile parsed(std::string_view text) {
  auto file = parse_fabric_file(text, "f.yaml");
  EXPECT_TRUE(file) << file.error().message;
  return std::move(file).value();
}

std::string refusal(std::string_view text) {
  const auto file = parse_fabric_file(text, "f.yaml");
  return file ? "accepted" : file.error().message;
}

void expect_same(const Fabric& one, const Fabric& other) {
  EXPECT_EQ(one.name(), other.name());
  EXPECT_EQ(one.kind(), other.kind());
  ASSERT_EQ(one.node_count(), other.node_count());
  ASSERT_EQ(one.link_count(), other.link_count());
  ASSERT_EQ(one.port_count(), other.port_count());
  for (std::uint32_t n = 0; n < one.node_count(); ++n) {
    const Node& a = one.node(NodeId(n));
    const Node& b = other.node(NodeId(n));
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.tier, b.tier);
    EXPECT_EQ(a.pod, b.pod);
    EXPECT_EQ(a.plane, b.plane);
    EXPECT_EQ(a.guid, b.guid);
    EXPECT_EQ(one.ports_of(NodeId(n)).size(), other.ports_of(NodeId(n)).size());
  }
  for (std::uint32_t l = 0; l < one.link_count(); ++l) {
    EXPECT_EQ(one.name_of(LinkId(l)), other.name_of(LinkId(l)));
    EXPECT_EQ(one.link(LinkId(l)).rate, other.link(LinkId(l)).rate);
    EXPECT_EQ(one.link(LinkId(l)).a, other.link(LinkId(l)).a);
    EXPECT_EQ(one.link(LinkId(l)).b, other.link(LinkId(l)).b);
  }
}

TEST(FabricFile, ReadsTwoTiersAndTheLabsSettings) {
  const auto file = parsed(
      "fabric: roce-a\n"
      "kind: roce\n"
      "clos: {leaves: 4, spines: 2, hosts_per_leaf: 3, link: 100G}\n"
      "lab: {link_rate: 20M, family: ipv6, mtu: 9000}\n");
  expect_same(
      file.fabric,
      *make_clos(
          {.name = "roce-a", .leaves = 4, .spines = 2, .hosts_per_leaf = 3, .link = Bandwidth::gbit(100)}));
  EXPECT_EQ(file.lab.link_rate, Bandwidth::mbit(20));
  EXPECT_EQ(file.lab.family, IpFamily::v6);
  EXPECT_EQ(file.lab.mtu, Bytes(9000));
}

TEST(FabricFile, ReadsThreeTiers) {
  const auto file = parsed(
      "fabric: a\nkind: infiniband\nclos: {pods: 2, leaves: 2, spines: 2, cores: 4, hosts_per_leaf: 4}\n");
  expect_same(file.fabric, *make_pod_clos({.name = "a",
                                           .kind = FabricKind::infiniband,
                                           .pods = 2,
                                           .leaves = 2,
                                           .spines = 2,
                                           .cores = 4,
                                           .hosts_per_leaf = 4}));
}

TEST(FabricFile, ReadsRailsOfTwoAndThreeTiers) {
  expect_same(parsed("fabric: a\nrails: {groups: 2, hosts_per_group: 4, rails: 8, spines: 8}\n").fabric,
              *make_rails({.name = "a", .groups = 2, .hosts_per_group = 4, .rails = 8, .spines = 8}));
  expect_same(
      parsed("fabric: a\nrails: {groups: 1, hosts_per_group: 2, rails: 2, spines: 2, pods: 2, cores: 2}\n")
          .fabric,
      *make_rails(
          {.name = "a", .groups = 1, .hosts_per_group = 2, .rails = 2, .spines = 2, .pods = 2, .cores = 2}));
}

TEST(FabricFile, ReadsNodesAndLinksOneByOne) {
  const auto file = parsed(
      "fabric: odd\n"
      "lab: {link_rate: none}\n"
      "nodes:\n"
      "  - {name: host1, kind: host}\n"
      "  - {name: host2, kind: host}\n"
      "  - {name: tor, kind: switch}\n"
      "  - {name: agg, kind: switch, guid: 0x0002c90300a1b2c3}\n"
      "links:\n"
      "  - {a: host1/p1, b: tor/p7, rate: 200G}\n"
      "  - {a: host2, b: tor}\n"
      "  - {a: tor/p1, b: agg/p1}\n"
      "  - {a: tor, b: agg}\n");
  const Fabric& fabric = file.fabric;
  EXPECT_EQ(file.lab.link_rate, std::nullopt);
  EXPECT_EQ(fabric.name_of(LinkId(0)), "host1--tor");
  EXPECT_EQ(fabric.link(LinkId(0)).rate, Bandwidth::gbit(200));
  EXPECT_EQ(fabric.port(fabric.link(LinkId(1)).b).number, PortNumber(8))
      << "the next after the highest named";
  EXPECT_EQ(fabric.name_of(LinkId(3)), "tor/p9--agg/p2");
  EXPECT_EQ(fabric.node(*fabric.find_node("tor")).tier, Tier::leaf);
  EXPECT_EQ(fabric.node(*fabric.find_node("agg")).tier, Tier::spine);
  EXPECT_EQ(fabric.node(*fabric.find_node("agg")).guid, Guid(0x0002c90300a1b2c3));
}

TEST(FabricFile, WhatIsWrittenReadsBackTheSame) {
  const auto original = *make_rails({.name = "rails \"x\"",
                                     .kind = FabricKind::infiniband,
                                     .groups = 1,
                                     .hosts_per_group = 2,
                                     .rails = 2,
                                     .spines = 2,
                                     .pods = 2,
                                     .cores = 2,
                                     .link = Bandwidth::bit(53'125'000'001)});
  const LabSettings lab{.link_rate = std::nullopt, .family = IpFamily::v6, .mtu = Bytes(1500)};
  const auto again = parsed(write_fabric_file(original, lab));
  expect_same(original, again.fabric);
  EXPECT_EQ(again.lab.link_rate, lab.link_rate);
  EXPECT_EQ(again.lab.family, lab.family);
  EXPECT_EQ(again.lab.mtu, lab.mtu);
}

constexpr const char* kSmall = "fabric: a\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\n";

TEST(FabricFile, SaysWhatIsToleratedOnItsLinks) {
  EXPECT_TRUE(parsed(kSmall).lab.tolerate.empty());
  const auto both = parsed(fmt::format("{}tolerate: {{loss: 0.02%, delay: 2ms}}\n", kSmall)).lab.tolerate;
  EXPECT_EQ(both.loss, Fraction::percent(0.02));
  EXPECT_EQ(both.delay, std::chrono::milliseconds(2));
  const auto one = parsed(fmt::format("{}tolerate: {{delay: 0s}}\n", kSmall)).lab.tolerate;
  EXPECT_FALSE(one.loss);
  EXPECT_EQ(one.delay, Nanoseconds(0));
}

TEST(FabricFile, WhatIsToleratedReadsBackExactly) {
  for (const char* said : {"loss: 0.02%", "delay: 1500us", "loss: 4.9999999999%, delay: 999999999ns",
                           "loss: 0.0123456789012345%", "loss: 1e-7%", "loss: 0.07%", "loss: 0.29%"}) {
    const auto file = parsed(fmt::format("{}tolerate: {{{}}}\n", kSmall, said));
    const auto text = write_fabric_file(file.fabric, file.lab);
    const auto again = parsed(text);
    EXPECT_EQ(again.lab.tolerate.loss, file.lab.tolerate.loss) << text;
    EXPECT_EQ(again.lab.tolerate.delay, file.lab.tolerate.delay) << text;
    EXPECT_EQ(write_fabric_file(again.fabric, again.lab), text);
  }
}

TEST(FabricFile, SaysByWhichFieldsItsSwitchesChoose) {
  EXPECT_TRUE(parsed(kSmall).lab.hashed.empty());
  const auto file = parsed(fmt::format("{}hashed: [source_port, queue_pair]\n", kSmall));
  EXPECT_EQ(file.lab.hashed, (std::vector{PacketField::source_port, PacketField::queue_pair}));
  EXPECT_EQ(parsed(write_fabric_file(file.fabric, file.lab)).lab.hashed, file.lab.hashed);
  EXPECT_THAT(refusal(fmt::format("{}hashed: [port]\n", kSmall)), HasSubstr("f.yaml:3: hashed: expected"));
  EXPECT_THAT(refusal(fmt::format("{}hashed: [size, size]\n", kSmall)), HasSubstr("each once"));
  EXPECT_THAT(refusal(fmt::format("{}hashed: size\n", kSmall)), HasSubstr("f.yaml:3: "));
}

TEST(FabricFile, AToleranceThatIsNoneIsNamedWithItsLine) {
  const auto said = [](const char* tolerate) { return refusal(fmt::format("{}{}\n", kSmall, tolerate)); };
  EXPECT_EQ(said("tolerate: {loss: 5%}"), "f.yaml:3: loss: 5% is not between 0% and 5%");
  EXPECT_THAT(said("tolerate: {loss: 0}"), HasSubstr("f.yaml:3: loss: 0 is not between"));
  EXPECT_THAT(said("tolerate: {loss: much}"), HasSubstr("f.yaml:3: loss: 'much' is no percentage"));
  EXPECT_THAT(said("tolerate: {loss: nan}"), HasSubstr("f.yaml:3: loss: 'nan' is no percentage"));
  EXPECT_THAT(said("tolerate: {loss: [1%]}"), HasSubstr("f.yaml:3: loss: "));
  EXPECT_THAT(said("tolerate:\n  delay: 2 days"), HasSubstr("f.yaml:4: delay: '2 days' is no time"));
  EXPECT_EQ(said("tolerate: {delay: 1001ms}"), "f.yaml:3: delay: 1001ms is not between 0s and 1s");
  EXPECT_THAT(said("tolerate: {delay: -1ms}"), HasSubstr("'-1ms' is no time"));
  EXPECT_THAT(said("tolerate: {los: 1%}"), HasSubstr("did you mean 'loss'?"));
  EXPECT_THAT(said("tolerate: 1%"), HasSubstr("f.yaml:3: "));
  EXPECT_THAT(said("tolerate: {loss: 1%, loss: 2%}"), HasSubstr("f.yaml:3: "));
}

TEST(FabricFile, NamesThatYamlWouldTakeForOtherThingsAndFreePortsReadBackToo) {
  FabricBuilder builder("null", FabricKind::roce);
  const auto host = *builder.add_node({.name = "true", .kind = NodeKind::host, .tier = Tier::host});
  const auto leaf = *builder.add_node({.name = "0:x", .guid = Guid(1)});
  ASSERT_TRUE(builder.add_port(leaf, PortNumber(9)));
  builder.connect(host, leaf, Bandwidth::gbit(1));
  const auto original = std::move(builder).build();
  const auto again = parsed(write_fabric_file(original)).fabric;
  EXPECT_EQ(again.name(), "null");
  EXPECT_EQ(again.name_of(LinkId(0)), "true--0:x");
  EXPECT_EQ(again.ports_of(leaf).size(), 2u);
  EXPECT_EQ(write_fabric_file(again), write_fabric_file(original));
}

TEST(FabricFile, AMistypedKeyIsNamedWithItsLineAndTheWordMeant) {
  EXPECT_EQ(
      refusal("fabric: a\nclos:\n  leaves: 4\n  spine: 4\n  hosts_per_leaf: 4\n"),
      "f.yaml:4: clos: 'spine' is not known here; expected pods, leaves, spines, cores, hosts_per_leaf, "
      "link: did you mean 'spines'?");
  EXPECT_THAT(refusal("fabrik: a\n"), HasSubstr("did you mean 'fabric'?"));
}

TEST(FabricFile, AWrongValueIsNamedWithItsLineAndWhatWasExpected) {
  EXPECT_EQ(refusal("fabric: a\nclos: {leaves: four, spines: 4, hosts_per_leaf: 4}\n"),
            "f.yaml:2: leaves: expected a whole number, zero or more, found 'four'");
  EXPECT_EQ(refusal("fabric: a\nclos: {leaves: -1, spines: 4, hosts_per_leaf: 4}\n"),
            "f.yaml:2: leaves: expected a whole number, zero or more, found '-1'");
  EXPECT_EQ(refusal("fabric: a\nclos: {leaves: 4, spines: 4}\n"),
            "f.yaml:2: clos: 'hosts_per_leaf' is missing");
  EXPECT_EQ(
      refusal("fabric: a\nclos: [1, 2]\n"),
      "f.yaml:2: clos: expected a map with pods, leaves, spines, cores, hosts_per_leaf, link, found a list");
  EXPECT_EQ(refusal("fabric: a\nkind: ethernet\nclos: {}\n"),
            "f.yaml:2: kind: expected roce or infiniband, found 'ethernet'");
  EXPECT_EQ(refusal("fabric: a\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4, link: fast}\n"),
            "f.yaml:2: link: expected a bandwidth as in 400G, found 'fast'");
  EXPECT_EQ(refusal("fabric: a\nlab: {mtu: 100}\nclos: {}\n"),
            "f.yaml:2: mtu: expected 1280 to 65535 bytes, found '100'");
  EXPECT_THAT(refusal("fabric: a\nlab: {family: ipx}\nclos: {}\n"), HasSubstr("expected ipv4 or ipv6"));
  EXPECT_THAT(refusal("fabric: \"\"\nclos: {}\n"), HasSubstr("expected a name"));
}

TEST(FabricFile, PortsHaveTheNamesThatTheirSwitchGivesThem) {
  const auto file = parsed(
      "fabric: a\n"
      "nodes:\n"
      "  - {name: h1, kind: host}\n"
      "  - {name: leaf1, kind: switch, port_names: {7: Ethernet1/7}}\n"
      "  - {name: spine1, kind: switch}\n"
      "links:\n"
      "  - {a: h1, b: leaf1/Ethernet1/6}\n"
      "  - {a: leaf1/Ethernet1/7, b: spine1/et-0/0/1:2}\n"
      "  - {a: leaf1/p3, b: spine1}\n"
      "addresses: {ports: {h1: 10.0.0.1, leaf1/Ethernet1/6: 10.0.0.0}}\n");
  const Fabric& fabric = file.fabric;
  EXPECT_EQ(fabric.name_of(LinkId(0)), "h1--leaf1");
  EXPECT_EQ(fabric.name_of(fabric.link(LinkId(0)).b), "leaf1/Ethernet1/6");
  EXPECT_EQ(fabric.port(fabric.link(LinkId(0)).b).number, PortNumber(8));
  EXPECT_EQ(fabric.name_of(LinkId(1)), "leaf1/Ethernet1/7--spine1/et-0/0/1:2");
  EXPECT_EQ(fabric.name_of(LinkId(2)), "leaf1/p3--spine1/p2");
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
    EXPECT_EQ(fabric.find_link(fabric.name_of(LinkId(l))), LinkId(l));
  EXPECT_EQ(fabric.find_link("leaf1/p7--spine1"), LinkId(1));
  EXPECT_EQ(fabric.find_port("leaf1/Ethernet1/6"), fabric.link(LinkId(0)).b);
  EXPECT_TRUE(file.addresses.address_of(fabric.link(LinkId(0)).b));
  const auto written = write_fabric_file(fabric, file.lab, file.addresses);
  EXPECT_THAT(written, HasSubstr("b: leaf1/Ethernet1/6"));
  const auto again = parsed(written);
  EXPECT_EQ(write_fabric_file(again.fabric, again.lab, again.addresses), written);
}

TEST(FabricFile, PortNamesThatCannotBeAreRefused) {
  const std::string nodes = "fabric: a\nnodes:\n  - {name: h, kind: host}\n  - {name: s, ";
  const std::string links = "}\nlinks:\n  - {a: h, b: s/";
  EXPECT_THAT(refusal(nodes + "port_names: {1: \"Eth 1\"}" + links + "p2}\n"),
              HasSubstr("f.yaml:4: port name 'Eth 1' of s cannot be used"));
  EXPECT_THAT(refusal(nodes + "port_names: {1: a/1, 2: a/1}" + links + "p2}\n"),
              HasSubstr("f.yaml:4: two ports of s are called a/1"));
  EXPECT_THAT(refusal(nodes + "port_names: [1]" + links + "p2}\n"),
              HasSubstr("expected a map by port numbers"));
  EXPECT_THAT(refusal(nodes + "pod: 1" + links + "7}\n"), HasSubstr("expected NODE/PORT as in leaf1/p3"));
  EXPECT_THAT(refusal(nodes + "pod: 1" + links + "a--b}\n"), HasSubstr("expected NODE/PORT as in leaf1/p3"));
  EXPECT_THAT(refusal(nodes + "pod: 1" + links + "e1}\n  - {a: h, b: s/e1}\n"),
              HasSubstr("f.yaml:7: port s/e1 has two cables"));
}

TEST(FabricFile, WhatContradictsIsRefused) {
  EXPECT_THAT(refusal("fabric: a\n"), HasSubstr("expected one of clos, rails"));
  EXPECT_THAT(refusal("fabric: a\nclos: {}\nrails: {}\n"), HasSubstr("found more than one"));
  EXPECT_THAT(refusal("fabric: a\nnodes: []\n"), HasSubstr("'links' is missing beside 'nodes'"));
  EXPECT_THAT(refusal("fabric: a\nfabric: b\n"), HasSubstr("f.yaml:2: a fabric file: 'fabric' stands twice"));
  EXPECT_THAT(refusal("fabric: a\nclos: {leaves: 0, spines: 4, hosts_per_leaf: 4}\n"),
              HasSubstr("f.yaml:2: "));
  EXPECT_THAT(refusal("fabric: a\nclos: {pods: 2, leaves: 2, spines: 2, cores: 3, hosts_per_leaf: 4}\n"),
              HasSubstr("multiple of spines"));
  const std::string nodes = "fabric: a\nnodes:\n  - {name: h, kind: host}\n  - {name: s}\n";
  EXPECT_THAT(refusal(nodes + "  - {name: s}\nlinks: []\n"),
              HasSubstr("f.yaml:5: node 's' stands twice, first in line 4"));
  EXPECT_THAT(refusal(nodes + "  - {name: t, kind: host, tier: leaf}\nlinks: []\n"),
              HasSubstr("a host cannot be of tier leaf"));
  EXPECT_THAT(refusal(nodes + "links:\n  - {a: h, b: x}\n"),
              HasSubstr("f.yaml:6: b: no node 'x' stands under nodes"));
  EXPECT_THAT(refusal(nodes + "links:\n  - {a: h/p1, b: s/p1}\n  - {a: h/p1, b: s/p2}\n"),
              HasSubstr("f.yaml:7: port h/p1 has two cables"));
  EXPECT_THAT(refusal(nodes + "links:\n  - {a: s, b: s}\n"), HasSubstr("joins a node to itself"));
  EXPECT_THAT(refusal(nodes + "links:\n  - {a: h/p0, b: s}\n"), HasSubstr("expected NODE/PORT"));
  EXPECT_THAT(refusal(nodes + "links:\n  - {a: h/p65535, b: s}\n  - {a: h, b: s}\n"),
              HasSubstr("no port number left"));
}

TEST(FabricFile, AFabricTooLargeIsRefusedBeforeItIsBuilt) {
  EXPECT_THAT(
      refusal("fabric: a\nclos: {leaves: 4000000000, spines: 4000000000, hosts_per_leaf: 4000000000}\n"),
      HasSubstr("more than 2000000 links"));
  EXPECT_THAT(refusal("fabric: a\nclos: {leaves: 99999999999, spines: 4, hosts_per_leaf: 4}\n"),
              HasSubstr("expected a whole number"));
}

TEST(FabricFile, MalformedYamlIsRefusedWithItsLine) {
  EXPECT_THAT(refusal("fabric: a\nclos: {leaves: 4\n"), HasSubstr("f.yaml:3: not YAML: "));
  EXPECT_EQ(refusal(""), "f.yaml: the file is empty");
  EXPECT_EQ(refusal("# nothing\n"), "f.yaml: the file is empty");
  EXPECT_THAT(refusal("just text\n"), HasSubstr("f.yaml:1: a fabric file: expected a map"));
  EXPECT_THAT(refusal("fabric: a\n---\nfabric: b\n"), HasSubstr("found a second"));
  EXPECT_THAT(refusal(std::string("fabric: \0\x01\xff\n", 13)), HasSubstr("f.yaml"));
}

TEST(FabricFile, ADeepOrSelfMultiplyingFileIsRefusedAtOnce) {
  EXPECT_THAT(refusal("nodes: " + std::string(100'000, '[')), HasSubstr("nested more than 16 deep"));
  EXPECT_THAT(refusal("nodes: \n" + std::string(8'000'000, '{')), HasSubstr(":2: nested more than 16 deep"));
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i) {
    const auto before = std::to_string(i - 1);
    bomb += fmt::format("a{}: &a{} [*a{}, *a{}]\n", i, i, before, before);
  }
  EXPECT_THAT(refusal(bomb), HasSubstr("'a0' is not known here"));
  EXPECT_THAT(refusal("fabric: a\nnodes: &n [*n, *n]\nlinks: []\n"), HasSubstr("a node: expected a map"));
}

TEST(FabricFile, AnAliasStandsForWhatItNames) {
  const auto file = parsed(
      "fabric: &name a\nnodes:\n  - {name: *name, kind: host}\n  - {name: s}\nlinks: [{a: a, b: s}]\n");
  EXPECT_EQ(file.fabric.name_of(LinkId(0)), "a--s");
}

TEST(FabricFile, AFileThatCannotBeReadIsNamed) {
  const auto missing = read_fabric_file("/nonexistent/f.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent/f.yaml"));
  EXPECT_THAT(read_fabric_file("/").error().message, HasSubstr("is a folder"));
}

TEST(FabricFile, AnImportedDumpThatIsNotThereIsNamed) {
  const auto file = parse_fabric_file("fabric: a\nimport: {ibnetdiscover: /nonexistent/x.dump}\n", "f.yaml");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("/nonexistent/x.dump"));
}

constexpr const char* kGuidFile =
    "fabric: g\nkind: infiniband\nnodes:\n"
    "  - {{name: host1, kind: host, guid: {}, port_guids: {{1: {}, 2: 0x12}}}}\n"
    "  - {{name: leaf1, guid: 0x20}}\nlinks:\n  - {{a: host1/p1, b: leaf1}}\n"
    "lab: {{descriptions: {{host1: \"MT4123 \\\"x\\\"\"}}, replaced: [host1/p1]}}\n";

TEST(FabricFile, KnowsPortsByTheirGuidsAndWritesThemAsItReadsThem) {
  const auto file = parse_fabric_file(fmt::format(kGuidFile, "0x10", "0x11"), "g");
  ASSERT_TRUE(file) << file.error().message;
  const auto written = write_fabric_file(file->fabric, file->lab);
  const auto again = parse_fabric_file(written, "again");
  ASSERT_TRUE(again) << again.error().message;
  for (const auto& each : {*file, *again}) {
    EXPECT_EQ(each.fabric.port(*each.fabric.find_port("host1/p1")).guid, Guid(0x11));
    EXPECT_EQ(each.fabric.port(*each.fabric.find_port("host1/p2")).guid, Guid(0x12));
    ASSERT_EQ(each.lab.descriptions.size(), 1u);
    EXPECT_EQ(each.lab.descriptions[0].second, "MT4123 \"x\"");
    EXPECT_EQ(each.lab.replaced, std::vector<std::string>{"host1/p1"});
  }
}

TEST(FabricFile, NamesInALabAreWrittenAsTheyReadOrRefused) {
  const std::string base =
      "fabric: f\nkind: infiniband\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\nlab: ";
  for (const std::string lab :
       {"{slow_links: {\"a: b, {#\": 200G}}", "{descriptions: {\"host1, \\\"x\": \"y: \\e[31m\"}}",
        "{replaced: [\"a: b]\"]}"}) {
    const auto file = parse_fabric_file(base + lab + "\n", "f");
    ASSERT_TRUE(file) << file.error().message;
    const auto written = write_fabric_file(file->fabric, file->lab);
    const auto again = parse_fabric_file(written, "again");
    ASSERT_TRUE(again) << again.error().message << written;
    EXPECT_EQ(write_fabric_file(again->fabric, again->lab), written);
  }
  const std::string longest(300, 'n');
  for (const auto& lab : {"{slow_links: {" + longest + ": 200G}}", "{descriptions: {" + longest + ": x}}",
                          "{replaced: [" + longest + "]}", std::string("{replaced: [\"\"]}")})
    EXPECT_FALSE(parse_fabric_file(base + lab + "\n", "f")) << lab;
}

TEST(FabricFile, RefusesAGuidOfZeroAndOneOfTwoNodesOrPorts) {
  for (const auto& [node, port] :
       {std::pair{"0x0", "0x11"}, {"0x20", "0x11"}, {"0x10", "0x12"}, {"0x10", "0"}}) {
    const auto file = parse_fabric_file(fmt::format(kGuidFile, node, port), "g");
    ASSERT_FALSE(file) << node << " " << port;
    EXPECT_NE(file.error().message.find("GUID"), std::string::npos) << file.error().message;
  }
}

}  // namespace
}  // namespace weft::files
