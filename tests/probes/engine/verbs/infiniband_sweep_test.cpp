// A sweep of an InfiniBand fabric by queue pairs, from the plan to the diagnosis: the tables that a subnet
// manager would fill, engines as agents open them, and fake adapters that lose what a bad cable would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/simulate_infiniband.hpp"
#include "probes/engine/verbs/verbs_engine.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "tests/fakes/fake_exchange.hpp"
#include "tests/fakes/fake_verbs.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/ib_design.hpp"

namespace weft::verbs {
namespace {

using fakes::FakeVerbs;
using std::chrono::milliseconds;

constexpr std::uint8_t kLmc = 1;

std::string first_finding(const Fabric& fabric, const Diagnosis& diagnosis) {
  for (const LinkFinding& link : diagnosis.links)
    return fabric.name_of(link.link) + ": " + (link.evidence.empty() ? "" : link.evidence[0]);
  for (const HostFinding& host : diagnosis.hosts)
    return fabric.name_of(host.host) + ": " + (host.evidence.empty() ? "" : host.evidence[0]);
  return "no finding";
}

class Subnet {
 public:
  explicit Subnet(datapath::ProbeTransport probes) : probes_(probes) {
    for (const NodeId host : fabric_.hosts()) {
      session::ExpectedHost expected{host, {}};
      for (const PortId port : fabric_.ports_of(host)) {
        const auto gid = gid_address(design_.ports[port.value()].port_guid);
        expected.nics.push_back({to_string(gid), port});
        reports_.push_back({to_string(gid), gid});
        nics_.push_back(port);
      }
      hosts_.push_back(expected);
    }
    std::vector<IpAddress> gids;
    std::vector<std::optional<IpAddress>> by_port(fabric_.port_count());
    for (std::size_t i = 0; i < nics_.size(); ++i) {
      gids.push_back(reports_[i].address);
      by_port[nics_[i].value()] = reports_[i].address;
    }
    addresses_ = AddressBook(by_port);
    fake_ = std::make_unique<FakeVerbs>(gids);
    for (std::size_t i = 0; i < nics_.size(); ++i) fake_->join_subnet(i, tables().lids_of(nics_[i]).value());
  }

  /// One in three of the probes whose route crosses the channel are lost.
  void break_cable(ChannelId channel) {
    for (std::size_t i = 0; i < nics_.size(); ++i)
      for (const PortId dst : nics_) {
        const LidRange lids = tables().lids_of(dst).value();
        for (std::uint32_t lid = lids.base.value(); lid < lids.end(); ++lid) {
          const Lid to(static_cast<std::uint16_t>(lid));
          const routing::LidRoute route = tables().walk(nics_[i], to);
          if (dst != nics_[i] && std::ranges::count(route.path(), channel) > 0) fake_->lose(i, to, 3);
        }
      }
  }

  Diagnosis sweep(session::LoadLevel load) {
    session::SweepOptions options{.load = load, .budget = milliseconds(500)};
    options.load_round = milliseconds(100);
    session::Sweep sweep(fabric_, addresses_, options, RunId(1));
    know_simulated_subnet(sweep, fabric_, simulated_, {});
    session::Coordinator coordinator(fabric_, sweep, {RunId(1), {}}, hosts_);
    std::vector<datapath::RunNic> targets;
    for (std::size_t i = 0; i < nics_.size(); ++i)
      targets.push_back({nics_[i], reports_[i].address, tables().lids_of(nics_[i])});
    coordinator.name_targets(targets);
    std::vector<std::string> names;
    for (const session::ExpectedHost& host : hosts_) names.push_back(fabric_.name_of(host.host));
    fakes::FakeExchange exchange;
    const auto engines = run::verbs_engines(
        reports_,
        [](const std::string&) -> Result<run::FlowMemory> {
          return run::FlowMemory{run::host_memory, {}};
        },
        {.packets = {}, .probes = probes_},
        [this](const VerbsOptions& wanted) { return open_verbs_engine(fake_->library(), wanted); });
    const auto open = [&](const session::NicAssignment& nic, const packet::RunSecrets& secrets,
                          const datapath::SharedNics& of_run) {
      auto opened = engines(nic, secrets, of_run);
      if (opened) exchange.join(nic.nic, *opened->peers);
      return opened;
    };
    const auto done = coordinate_in_process(coordinator, names, open, [](const session::Progress&) {}, {});
    EXPECT_TRUE(done) << done.error().message;
    return sweep.finish().diagnosis;
  }

  ChannelId from_leaf() const {
    const auto link = fabric_.find_link("leaf1--spine2").value();
    return Fabric::a_to_b(link);
  }
  const Fabric& fabric() const { return fabric_; }

 private:
  const routing::ForwardingTables& tables() const { return *simulated_.tables; }
  Fabric fabric_ = make_clos({.kind = FabricKind::infiniband,
                              .leaves = 3,
                              .spines = 2,
                              .hosts_per_leaf = 1,
                              .link = Bandwidth::mbit(10)})
                       .value();
  InfinibandInventory design_ = design_inventory(fabric_);
  cli::SimulatedTables simulated_ = cli::simulated_tables(fabric_, kLmc, {}).value();
  datapath::ProbeTransport probes_;
  std::vector<session::ExpectedHost> hosts_;
  std::vector<session::NicReport> reports_;
  std::vector<PortId> nics_;
  AddressBook addresses_;
  std::unique_ptr<FakeVerbs> fake_;
};

class QueuePairSweep : public ::testing::TestWithParam<datapath::ProbeTransport> {};
INSTANTIATE_TEST_SUITE_P(OfInfiniband, QueuePairSweep,
                         ::testing::Values(datapath::ProbeTransport::datagram,
                                           datapath::ProbeTransport::connected),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST_P(QueuePairSweep, FindsAHealthyFabricHealthyUnderLoad) {
  Subnet subnet(GetParam());
  const Diagnosis diagnosis = subnet.sweep(session::LoadLevel::light);
  EXPECT_EQ(first_finding(subnet.fabric(), diagnosis), "no finding");
  EXPECT_TRUE(diagnosis.groups.empty() && diagnosis.sets.empty());
  // Three hosts' threads share the processors there are: that round trips are late, some or all, or that
  // senders held all flows of a channel back, is the machine's doing, and is said.
  const AccountLine& late = diagnosis.account.late;
  for (const FabricFinding& finding : diagnosis.fabric)
    EXPECT_EQ(finding.cause, Cause::delay) << finding.evidence.front();
  const Coverage& coverage = diagnosis.coverage;
  const bool is_starved = !coverage.unloaded.empty() || !coverage.fell_short.empty();
  EXPECT_EQ(coverage.complete, !is_starved);
  if (late.all == late.tolerated && diagnosis.fabric.empty()) {
    EXPECT_EQ(diagnosis.verdict, is_starved ? Verdict::unknown : Verdict::healthy);
  }
  EXPECT_EQ(diagnosis.account.lost.unexplained + diagnosis.account.slow.unexplained, 0u);
  EXPECT_TRUE(coverage.missing.empty());
}

TEST_P(QueuePairSweep, NamesTheChannelThatOnlySomeLidsCross) {
  Subnet subnet(GetParam());
  const ChannelId bad = subnet.from_leaf();
  subnet.break_cable(bad);
  const Diagnosis diagnosis = subnet.sweep(session::LoadLevel::none);
  // Three hosts' threads share the processors there are: a round trip that is late is the machine's doing.
  auto links = diagnosis.links;
  std::erase_if(links, [](const auto& link) { return link.cause == Cause::delay; });
  ASSERT_EQ(links.size(), 1u) << first_finding(subnet.fabric(), diagnosis);
  EXPECT_EQ(links[0].channel, bad) << first_finding(subnet.fabric(), diagnosis);
  EXPECT_EQ(links[0].cause, Cause::loss);
}

}  // namespace
}  // namespace weft::verbs
