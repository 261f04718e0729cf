// Which fields of a packet move its path: by a coordinator over simulated switches.
#include "probes/session/field_script.hpp"
#include "probes/plan/field_trial.hpp"

#include <gtest/gtest.h>

#include "probes/engine/sim/sim_fabric.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

/// Two pods of 4 spines with 4 cores each.
Fabric three_tiers() {
  return *make_pod_clos({.pods = 2, .leaves = 2, .spines = 4, .cores = 16, .hosts_per_leaf = 2});
}

struct Tried {
  Fabric fabric = three_tiers();
  AddressPlan addresses;
  plan::NicPair pair{fabric.nics().front(), fabric.nics().back()};
  FieldScript script;
  FieldFindings findings;
  std::shared_ptr<sim::SimFabric> world;

  explicit Tried(const std::string& hash, sim::SimOptions options = {.seed = 3},
                 IpFamily family = IpFamily::v4)
      : addresses(*plan_addresses(fabric, family)),
        script(fabric, addresses.book, {.answers_per_second = 1000}, RunId(1), pair) {
    options.hash = routing::parse_hash(hash).value();
    world = sim::SimFabric::make(fabric, addresses.book, options);
    const NodeId host = fabric.port(pair.src).node;
    Coordinator coordinator(fabric, script, {RunId(1), {}}, {{host, {{"src", pair.src}, {"dst", pair.dst}}}});
    const auto open = [&](const NicAssignment& nic, const packet::RunSecrets&,
                          const datapath::SharedNics&) -> Result<NicEngines> {
      return run::engines_of(world->engine(nic.interface == "src" ? pair.src : pair.dst));
    };
    EXPECT_TRUE(coordinate_in_process(coordinator, {fabric.name_of(host)}, open, [](const Progress&) {}, {}));
    findings = script.findings();
  }
  MovesPath moves(PacketField field) const { return findings.moves(field); }
};

TEST(FieldScript, SwitchesThatHashTheSourcePortAloneAreMovedByNothingElse) {
  for (const char* hash : {"structureless", "crc16", "crc32", "toeplitz", "xor", "crc16:threshold"}) {
    const Tried tried(hash);
    EXPECT_EQ(tried.moves(PacketField::source_port), MovesPath::yes) << hash;
    for (const auto field : {PacketField::queue_pair, PacketField::traffic_class, PacketField::size})
      EXPECT_EQ(tried.moves(field), MovesPath::no) << hash << ", " << to_string(field);
    EXPECT_EQ(tried.findings.fields.size(), 4u) << "IPv4 has no flow label";
    EXPECT_FALSE(tried.findings.sprays());
    EXPECT_EQ(tried.findings.repeats, 32u);
  }
}

TEST(FieldScript, AQueuePairThatIsHashedMovesThePathAndSoDoesATrafficClass) {
  for (const char* family : {"structureless", "crc16", "crc32", "toeplitz", "xor"}) {
    const Tried by_qp(std::string(family) + ":qp");
    EXPECT_EQ(by_qp.moves(PacketField::queue_pair), MovesPath::yes) << family;
    EXPECT_EQ(by_qp.moves(PacketField::traffic_class), MovesPath::no) << family;
    const Tried by_class(std::string(family) + ":class");
    EXPECT_EQ(by_class.moves(PacketField::queue_pair), MovesPath::no) << family;
    EXPECT_EQ(by_class.moves(PacketField::traffic_class), MovesPath::yes) << family;
  }
}

TEST(FieldScript, NamesTheSwitchesThatChose) {
  const Tried tried("crc32:qp");
  const auto& at = tried.findings.fields[1].at;
  EXPECT_EQ(tried.findings.fields[1].field, PacketField::queue_pair);
  EXPECT_TRUE(std::ranges::count(at, *tried.fabric.find_node("leaf1")));
  for (const NodeId node : at) EXPECT_FALSE(tried.fabric.is_host(node));
}

TEST(FieldScript, OfIpv6TheFlowLabelIsTriedToo) {
  const Tried tried("crc32", {.seed = 3}, IpFamily::v6);
  EXPECT_EQ(tried.findings.fields.size(), 5u);
  EXPECT_EQ(tried.moves(PacketField::flow_label), MovesPath::no);
}

TEST(FieldScript, WherePacketsThatDifferInNothingGoDifferentWaysNoFieldTells) {
  const Fabric fabric = three_tiers();
  const Tried sprayed("crc32", {.seed = 3, .spraying = {*fabric.find_node("leaf1")}});
  EXPECT_TRUE(sprayed.findings.sprays());
  for (const FieldFinding& finding : sprayed.findings.fields) EXPECT_EQ(finding.moves, MovesPath::unknown);
  const Tried changed("crc32", {.seed = 3, .routes_change = std::chrono::milliseconds(300)});
  EXPECT_TRUE(changed.findings.sprays()) << "routes that change on the way";
}

TEST(FieldScript, LostAnswersAndSilentSwitchesCostCertaintyAndNothingIsFalse) {
  const Fabric fabric = three_tiers();
  const std::vector<NodeId> spines{*fabric.find_node("spine1"), *fabric.find_node("spine2")};
  for (const std::string hash : {"crc32", "crc32:qp"})
    for (const sim::SimOptions& options : {sim::SimOptions{.seed = 4, .answers_lost = Fraction(0.3)},
                                           {.seed = 5, .silent = spines},
                                           {.seed = 6, .anonymous = spines},
                                           {.seed = 7, .answers_per_second = 100}}) {
      const Tried tried(hash, options);
      EXPECT_NE(tried.moves(PacketField::queue_pair), hash == "crc32" ? MovesPath::yes : MovesPath::no);
      EXPECT_NE(tried.moves(PacketField::source_port), MovesPath::no);
      EXPECT_NE(tried.moves(PacketField::size), MovesPath::yes);
      EXPECT_FALSE(tried.findings.sprays());
    }
}

TEST(FieldScript, WhereNobodyAnswersEverythingIsUnknown) {
  const Tried tried("crc32", {.seed = 4, .answers_lost = Fraction(1)});
  for (const FieldFinding& finding : tried.findings.fields) EXPECT_EQ(finding.moves, MovesPath::unknown);
  EXPECT_TRUE(tried.script.learner().pairs().empty());
}

TEST(FieldScript, ItsPathMapIsOfPacketsAsUsual) {
  const Tried tried("crc32:qp");
  std::vector<ChannelId> truth;
  const PathMap map = tried.script.learner().path_map();
  ASSERT_EQ(map.pairs.size(), 1u);
  std::size_t labels = 0;
  for (const LabelledPath& path : map.pairs[0].paths)
    for (const PathLabel label : path.labels) {
      ++labels;
      tried.world->world().path_of(tried.pair.src, tried.pair.dst, label, truth);
      EXPECT_TRUE(std::ranges::equal(map.table.channels(path.path), truth)) << label.value();
    }
  EXPECT_GT(labels, 60u);
}

TEST(FieldScript, OfNicsOfOneLeafThereIsNothingToTry) {
  const Fabric fabric = three_tiers();
  const auto addresses = *plan_addresses(fabric, IpFamily::v4);
  routing::ShortestPathCache ways(fabric);
  EXPECT_FALSE(plan::hops_of_trial(fabric, ways, addresses.book, {fabric.nics()[0], fabric.nics()[1]}));
}

}  // namespace
}  // namespace weft::session
