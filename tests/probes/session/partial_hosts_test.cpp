// Sweeps of some hosts of a fabric: what lies between these is all that is asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "probes/plan/scope.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "probes/session/sweep.hpp"
#include "tests/support/draws.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

std::vector<NodeId> drawn_hosts(const Fabric& fabric, std::mt19937& random) {
  std::vector<NodeId> hosts(fabric.hosts().begin(), fabric.hosts().end());
  std::ranges::shuffle(hosts, random);
  const std::size_t most = random() % 2 == 0 ? 3 : hosts.size();
  hosts.resize(2 + random() % (most - 1));
  return hosts;
}

SweepReport swept(const Fabric& fabric, const std::vector<NodeId>& chosen, std::uint64_t seed,
                  const std::vector<FaultSpec>& faults = {}) {
  const auto addresses = plan_addresses(fabric, IpFamily::v4).value();
  std::vector<ExpectedHost> hosts;
  std::vector<std::string> names;
  std::vector<PortId> nics;
  for (const NodeId host : chosen) {
    hosts.push_back({host, {}});
    names.push_back(fabric.name_of(host));
    for (const PortId nic : fabric.ports_of(host)) {
      hosts.back().nics.push_back({fabric.name_of_nic(nic), nic});
      nics.push_back(nic);
    }
  }
  Sweep sweep(fabric, addresses.book,
              {.load = LoadLevel::light, .seed = seed, .answers_per_second = 1e5, .probes_per_second = 1500},
              RunId(seed));
  for (const PortId nic : fabric.nics())
    if (std::ranges::find(nics, nic) == nics.end()) sweep.leave_out(nic);
  sweep.limit_to(plan::channels_in_scope(fabric, nics));
  Coordinator coordinator(fabric, sweep, {RunId(seed), {}}, hosts);
  const auto open = run::simulated_engines(fabric, addresses.book, faults, seed);
  EXPECT_TRUE(coordinate_in_process(coordinator, names, open, [](const Progress&) {}, {}));
  return sweep.finish();
}

TEST(PartialHosts, AnyTwoAndMoreOfAHealthyFabricAreHealthy) {
  const std::vector<Fabric> fabrics{
      *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}),
      *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 8}),
      *make_pod_clos({.pods = 3, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 3}),
      *make_rails({.groups = 2, .hosts_per_group = 3, .rails = 4, .spines = 2})};
  std::mt19937 random(14);
  int healthy = 0;
  for (int draw = 0; draw < draws(200); ++draw) {
    const Fabric& fabric = fabrics[static_cast<std::size_t>(draw) % fabrics.size()];
    const auto hosts = drawn_hosts(fabric, random);
    const auto report = swept(fabric, hosts, static_cast<std::uint64_t>(draw) + 1);
    const Coverage& covered = report.diagnosis.coverage;
    EXPECT_EQ(covered.channels + covered.out_of_scope, fabric.channel_count());
    EXPECT_GE(covered.channels, 4u);
    EXPECT_EQ(covered.in_scope.size(), covered.out_of_scope > 0 ? covered.channels : 0);
    healthy += report.diagnosis.verdict == Verdict::healthy;
    if (report.diagnosis.verdict == Verdict::healthy) continue;
    std::string names;
    for (const NodeId host : hosts) names += fabric.name_of(host) + " ";
    for (const ChannelId channel : covered.missing) names += fabric.name_of(channel) + " ";
    ADD_FAILURE() << draw << ": " << names << to_string(report.diagnosis.verdict);
  }
  EXPECT_EQ(healthy, draws(200)) << "partial_hosts_healthy";
}

TEST(PartialHosts, AFaultOnTheirWayIsStillFound) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const std::vector<NodeId> hosts{fabric.hosts()[0], fabric.hosts()[5]};
  const auto faults = {parse_fault(fabric, "leaf1--spine2:loss=5%,from=leaf1").value()};
  EXPECT_NE(swept(fabric, hosts, 1, faults).diagnosis.verdict, Verdict::healthy);
}

}  // namespace
}  // namespace weft::session
