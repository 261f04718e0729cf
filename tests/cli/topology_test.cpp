// `weft topology` as a user calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/topology.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;

const std::string kClos = "fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1}\n";

TEST(TopologyGenerate, WritesAFileThatReadsBackAsAskedFor) {
  const auto short_form = call(
      topology_command, {"generate", "--clos", "leaves=2,spines=3,hosts=4", "--link", "200G", "--name", "x"});
  EXPECT_EQ(short_form.status, 0) << short_form.err;
  const auto file = files::parse_fabric_file(short_form.out, "generated");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->fabric.name(), "x");
  EXPECT_EQ(file->fabric.nics().size(), 8u);
  EXPECT_EQ(file->fabric.link(LinkId(0)).rate, Bandwidth::gbit(200));
  const auto all = call(topology_command, {"generate", "--rails", "groups=1,hosts=2,rails=2,spines=2",
                                           "--explicit", "--family", "ipv6", "--lab-rate", "none"});
  const auto rails = files::parse_fabric_file(all.out, "generated");
  ASSERT_TRUE(rails) << rails.error().message;
  EXPECT_EQ(rails->fabric.nics().size(), 4u);
  EXPECT_EQ(rails->lab.family, IpFamily::v6);
  EXPECT_EQ(rails->lab.link_rate, std::nullopt);
}

TEST(TopologyGenerate, RefusesWhatMakesNoFabric) {
  for (const Arguments& words :
       std::vector<Arguments>{{"generate"},
                              {"generate", "--clos", "leafs=2"},
                              {"generate", "--clos", "leaves=2"},
                              {"generate", "--clos", "leaves=-2,spines=1,hosts=1"},
                              {"generate", "--clos", "leaves=2,spines=2,hosts=0"},
                              {"generate", "--clos", "leaves=2", "--rails", "groups=2"},
                              {"generate", "--clos", "leaves=2,spines=2,hosts=1", "--name", "a\nb"}}) {
    const auto outcome = call(topology_command, words);
    EXPECT_EQ(outcome.status, 64) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("weft: "));
  }
}

TEST(TopologyShow, PrintsTheFabricInEveryFormat) {
  const ScratchFile file(kClos);
  EXPECT_THAT(call(topology_command, {"show", file.path()}).out,
              HasSubstr("6 nodes, 2 NICs, 6 links, 12 channels"));
  const auto json = call(topology_command, {"show", file.path(), "-o", "json"});
  EXPECT_EQ(json.status, 0);
  expect_matches_schema(json.out, "fabric");
  const auto yaml = call(topology_command, {"show", file.path(), "-o", "yaml"});
  EXPECT_TRUE(files::parse_fabric_file(yaml.out, "shown"));
  EXPECT_EQ(call(topology_command, {"show", file.path(), "-o", "xml"}).status, 64);
  EXPECT_EQ(call(topology_command, {"show", "/nonexistent.yaml"}).status, 64);
  EXPECT_EQ(call(topology_command, {"show"}).status, 64);
}

TEST(TopologyCheck, SaysWhatIsOdd) {
  const ScratchFile sound(kClos);
  const auto good = call(topology_command, {"check", sound.path()});
  EXPECT_EQ(good.status, 0);
  EXPECT_THAT(good.out, HasSubstr("nothing odd"));
  const ScratchFile torn(
      "fabric: a\nnodes: [{name: h1, kind: host}, {name: h2, kind: host}, {name: s}, {name: t}, {name: u}]\n"
      "links: [{a: h1, b: s}, {a: h2, b: t}]\n");
  const auto odd = call(topology_command, {"check", torn.path()});
  EXPECT_EQ(odd.status, 1);
  EXPECT_THAT(odd.out, HasSubstr("odd: NIC h2 has no way to h1\n"));
  EXPECT_THAT(odd.out, HasSubstr("odd: u has no cable\n"));
  const ScratchFile narrow(
      "fabric: a\nnodes: [{name: h1, kind: host}, {name: h2, kind: host}, {name: l1, tier: leaf}, {name: l2, "
      "tier: "
      "leaf}, {name: s, tier: spine}]\n"
      "links: [{a: h1, b: l1}, {a: h2, b: l2}, {a: l1, b: s, rate: 400G}, {a: l2, b: s, rate: 100G}]\n");
  EXPECT_THAT(call(topology_command, {"check", narrow.path()}).out,
              HasSubstr("odd: l2 has 100 Gbit/s up, others of its tier 400 Gbit/s\n"));
  const ScratchFile broken("fabric: a\nclos: {leaves: 2}\n");
  const auto refused = call(topology_command, {"check", broken.path()});
  EXPECT_EQ(refused.status, 64);
  EXPECT_THAT(refused.err, HasSubstr(":2: clos: 'spines' is missing"));
}

TEST(Topology, AnUnknownWordIsAnsweredWithTheNearest) {
  const auto outcome = call(topology_command, {"shw"});
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("unknown word 'topology shw': did you mean 'show'?"));
  EXPECT_EQ(call(topology_command, {}).status, 64);
  EXPECT_EQ(call(topology_command, {"--help"}).status, 0);
  EXPECT_EQ(call(topology_command, {"discover"}).status, 69);
}

}  // namespace
}  // namespace weft::cli
