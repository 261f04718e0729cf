// What a whole sweep makes of signs that are no packets: traces that contradict the fabric, memory that
// changed behind every checksum.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/engine/sim/sim_fabric.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "probes/session/sweep.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"
#include "topology/routing/switch_hash.hpp"

namespace weft::session {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

/// The diagnosis of a sweep that takes `fabric` for what stands there, over agents with these engines.
Diagnosis swept(const Fabric& fabric, const AddressBook& addresses, const OpenEngines& open,
                const Sweep::ComputingLimit& limit = {}, std::uint64_t seed = 1) {
  std::vector<ExpectedHost> hosts;
  std::vector<std::string> names;
  for (const NodeId host : fabric.hosts()) {
    hosts.push_back({host, {{"p1", fabric.find_nic(fabric.name_of(host)).value()}}});
    names.push_back(fabric.name_of(host));
  }
  Sweep sweep(fabric, addresses,
              {.load = LoadLevel::full, .seed = seed, .answers_per_second = 1e5, .probes_per_second = 1500},
              RunId(1));
  sweep.limit_computing(limit);
  Coordinator coordinator(fabric, sweep, {RunId(1), {}}, hosts);
  EXPECT_TRUE(coordinate_in_process(coordinator, names, open, [](const Progress&) {}, {}));
  return sweep.finish().diagnosis;
}

/// The same nodes and ports; of the two links the second ends have changed places.
Fabric with_swapped_cables(const Fabric& fabric, LinkId first, LinkId second) {
  FabricBuilder builder(fabric.name(), fabric.kind());
  for (const Node& node : fabric.nodes()) EXPECT_TRUE(builder.add_node(node));
  for (const Port& port : fabric.ports()) EXPECT_TRUE(builder.add_port(port.node, port.number));
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
    const LinkId id(l);
    const LinkId other = id == first ? second : id == second ? first : id;
    EXPECT_TRUE(builder.add_link(fabric.link(id).a, fabric.link(other).b, fabric.link(id).rate));
  }
  return std::move(builder).build();
}

std::vector<std::string> links_of(const Fabric& fabric, const Diagnosis& diagnosis) {
  std::vector<std::string> names;
  for (const LinkFinding& finding : diagnosis.links) names.push_back(fabric.name_of(finding.link));
  return names;
}

struct FourByFour {
  Fabric fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 2}).value();
  AddressBook addresses = plan_addresses(fabric, IpFamily::v4).value().book;
};

TEST(SweepFindings, TwoSwappedCablesAreNamedThoughNoPacketIsLost) {
  const FourByFour rig;
  const auto first = rig.fabric.find_link("leaf1--spine1").value();
  const auto second = rig.fabric.find_link("leaf2--spine1").value();
  const Fabric stands = with_swapped_cables(rig.fabric, first, second);
  const auto found = swept(rig.fabric, rig.addresses, run::simulated_engines(stands, rig.addresses, {}, 1));
  EXPECT_EQ(found.verdict, Verdict::failed);
  EXPECT_THAT(links_of(rig.fabric, found), UnorderedElementsAre("leaf1--spine1", "leaf2--spine1"));
  for (const LinkFinding& finding : found.links)
    EXPECT_THAT(finding.evidence,
                AllOf(Not(testing::IsEmpty()), Each(testing::EndsWith(std::string(kMiswired)))))
        << "whoever reads of anything else takes the cable out of use";
}

TEST(SweepFindings, NothingIsMiswiredWhereTheFabricIsAsItsFileSays) {
  const FourByFour rig;
  const auto found =
      swept(rig.fabric, rig.addresses, run::simulated_engines(rig.fabric, rig.addresses, {}, 1));
  EXPECT_EQ(found.verdict, Verdict::healthy);
}

struct PodsBehindOneHash {
  Fabric fabric = make_pod_clos({.pods = 3,
                                 .leaves = 1,
                                 .spines = 2,
                                 .cores = 4,
                                 .hosts_per_leaf = 1,
                                 .link = Bandwidth::gbit(100)})
                      .value();
  AddressBook addresses = plan_addresses(fabric, IpFamily::v4).value().book;

  Diagnosis swept_hashed_by(routing::HashFamily family, const std::vector<FaultSpec>& faults = {}) const {
    const auto open =
        run::simulated_engines(fabric, addresses, faults, 9029, nullptr, {}, {}, {.family = family});
    return swept(fabric, addresses, open, {}, 9029);
  }
};

/// Where each switch's hash follows from that of the switch before, no label takes some channels.
TEST(SweepFindings, ChannelsThatAHashLeavesOutAreNotDown) {
  const PodsBehindOneHash rig;
  for (const auto family : {routing::HashFamily::xor_fold, routing::HashFamily::crc32}) {
    const auto found = rig.swept_hashed_by(family);
    EXPECT_NE(found.verdict, Verdict::failed);
    EXPECT_THAT(links_of(rig.fabric, found), testing::IsEmpty());
  }
}

TEST(SweepFindings, OfAHashThatLeavesChannelsOutOneThatIsDownIsNamedAllTheSame) {
  const PodsBehindOneHash rig;
  const auto down = rig.fabric.find_link("leaf1--spine1").value();
  const auto found = rig.swept_hashed_by(routing::HashFamily::xor_fold, {{.link = down, .down = true}});
  EXPECT_EQ(found.verdict, Verdict::failed);
  EXPECT_THAT(links_of(rig.fabric, found), Contains("leaf1--spine1"));
}

/// Flows whose receivers look at what came; what some NICs send arrives changed.
class LookedAt final : public datapath::FlowEngine {
 public:
  LookedAt(std::shared_ptr<datapath::FlowEngine> real, bool changes)
      : real_(std::move(real)), changes_(changes) {}
  Result<std::vector<datapath::FlowTally>> run(const datapath::FlowRequest& request,
                                               std::stop_token stop) override {
    auto tallies = real_->run(request, stop);
    if (tallies)
      for (datapath::FlowTally& tally : *tallies) {
        tally.measure = datapath::FlowMeasure{tally.packets, tally.bytes, {}};
        tally.corrupted = changes_;
        if (changes_) tally.error = "what came is not what was sent";
      }
    return tallies;
  }

 private:
  std::shared_ptr<datapath::FlowEngine> real_;
  bool changes_;
};

TEST(SweepFindings, TheOneHostThatSendsChangedBytesIsNamedNotAllWhoReceiveFromIt) {
  const FourByFour rig;
  const PortId bad = rig.fabric.find_nic("host3").value();
  const auto simulated = run::simulated_engines(rig.fabric, rig.addresses, {}, 1);
  const auto open = [&](const NicAssignment& nic, const packet::RunSecrets& secrets,
                        const datapath::SharedNics& nics) {
    auto engines = simulated(nic, secrets, nics);
    if (engines) engines->flows = std::make_shared<LookedAt>(engines->flows, nic.nic == bad);
    return engines;
  };
  const auto found = swept(rig.fabric, rig.addresses, open);
  EXPECT_EQ(found.verdict, Verdict::failed);
  ASSERT_EQ(found.hosts.size(), 1u);
  EXPECT_EQ(found.hosts[0].nic, bad);
  EXPECT_EQ(found.hosts[0].cause, Cause::corruption);
  EXPECT_THAT(found.hosts[0].evidence, ElementsAre(HasSubstr("sent from it")));
}

TEST(SweepFindings, OfADiagnosisThatTimeCutShortNothingIsNamedAndWhyIsSaid) {
  const FourByFour rig;
  const ChannelId lossy = *rig.fabric.find_channel("leaf2->spine3");
  const auto open =
      run::simulated_engines(rig.fabric, rig.addresses,
                             {{.link = Fabric::link_of(lossy), .channel = lossy, .loss = Fraction(0.02)}}, 1);
  ASSERT_EQ(swept(rig.fabric, rig.addresses, open).links.size(), 1u);
  const auto is_over = [] { return true; };
  const auto cut = swept(rig.fabric, rig.addresses, open, {is_over, is_over, "time is over"});
  EXPECT_EQ(cut.verdict, Verdict::unknown);
  EXPECT_EQ(cut.coverage.cut_short, "time is over");
  EXPECT_FALSE(cut.coverage.complete);
  for (const LinkFinding& finding : cut.links) EXPECT_EQ(finding.verdict, Verdict::unknown);
}

TEST(SweepFindings, RatesBehindSwitchesThatAnswerNoTracesAreNotTested) {
  const FourByFour rig;
  sim::SimOptions options;
  for (std::uint32_t node = 0; node < rig.fabric.node_count(); ++node)
    if (!rig.fabric.is_host(NodeId(node))) options.silent.emplace_back(node);
  const auto open = [world = sim::SimFabric::make(rig.fabric, rig.addresses, options)](
                        const NicAssignment& assigned, const packet::RunSecrets&,
                        const datapath::SharedNics&) -> Result<NicEngines> {
    return run::engines_of(world->engine(assigned.nic));
  };
  const auto found = swept(rig.fabric, rig.addresses, open);
  EXPECT_EQ(found.verdict, Verdict::unknown);
  EXPECT_TRUE(found.links.empty() && found.hosts.empty() && found.coverage.fell_short.empty());
  EXPECT_EQ(found.coverage.unloaded.size(), 32u) << "all between switches: no flow's path is known";
  for (const ChannelId channel : found.coverage.unloaded) EXPECT_TRUE(rig.fabric.between_switches(channel));
}

}  // namespace
}  // namespace weft::session
