// A fabric that nobody described, found by traces between its NICs alone.
#include "probes/session/discover_script.hpp"

#include <gmock/gmock.h>

#include "tests/support/simulated_traces.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::session {
namespace {

using discover::GapKind;

std::vector<GapKind> kinds(const discover::TracedCabling& found) {
  std::vector<GapKind> all;
  for (const auto& gap : found.gaps) all.push_back(gap.kind);
  return all;
}

void expect_all_found(const Fabric& fabric) {
  for (const IpFamily family : {IpFamily::v4, IpFamily::v6}) {
    const auto plan = plan_addresses(fabric, family).value();
    const SimulatedDiscovery run(fabric, plan.book);
    const auto got = score(fabric, plan.book, run.script.found());
    EXPECT_EQ(got.right, got.claimed);
    EXPECT_EQ(got.found, got.cables);
    EXPECT_EQ(run.script.found().switches.size(), fabric.node_count() - fabric.hosts().size());
    EXPECT_THAT(kinds(run.script.found()), testing::IsEmpty());
  }
}

TEST(DiscoverScript, FindsAllOfTwoTiersOfThreeAndOfRails) {
  expect_all_found(*make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}));
  expect_all_found(*make_pod_clos({.pods = 4, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 4}));
  expect_all_found(*make_rails({.groups = 2, .hosts_per_group = 4, .rails = 4, .spines = 4}));
}

/// Every switch answers from one address, and these are numbered in a row.
AddressBook one_address_each(const Fabric& fabric, const AddressBook& ports) {
  std::vector<std::optional<IpAddress>> by_port(fabric.port_count()), by_node(fabric.node_count());
  for (const PortId nic : fabric.nics()) by_port[nic.value()] = ports.address_of(nic);
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
    if (!fabric.is_host(NodeId(n)))
      by_node[n] = IpAddress(
          IpAddress::V4{10, 255, static_cast<std::uint8_t>(n / 256), static_cast<std::uint8_t>(n % 256)});
  return AddressBook(by_port, by_node);
}

TEST(DiscoverScript, SwitchesThatAnswerFromOneAddressAreFoundWithOneCableEach) {
  const auto fabric =
      make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 2}).value();
  const auto book = one_address_each(fabric, plan_addresses(fabric, IpFamily::v4)->book);
  const SimulatedDiscovery run(fabric, book);
  const auto got = score(fabric, book, run.script.found());
  EXPECT_EQ(got.right, got.claimed);
  EXPECT_EQ(got.found, got.cables);
  EXPECT_THAT(kinds(run.script.found()), testing::Each(GapKind::cables_as_one));
}

TEST(DiscoverScript, ASpineThatNeverAnswersIsAGapAtEachLeafAndNothingElse) {
  const auto fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value();
  const auto book = plan_addresses(fabric, IpFamily::v4)->book;
  const SimulatedDiscovery run(fabric, book, {.silent = {*fabric.find_node("spine2")}});
  const auto got = score(fabric, book, run.script.found());
  EXPECT_EQ(got.right, got.claimed);
  EXPECT_EQ(got.found, got.cables - 4);
  EXPECT_EQ(kinds(run.script.found()), std::vector(4, GapKind::silent_above));
}

TEST(DiscoverScript, ALeafThatNeverAnswersStandsBetweenItsHosts) {
  const auto fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value();
  const auto book = plan_addresses(fabric, IpFamily::v4)->book;
  const SimulatedDiscovery run(fabric, book, {.silent = {*fabric.find_node("leaf2")}});
  const auto got = score(fabric, book, run.script.found());
  EXPECT_EQ(got.right, got.claimed);
  EXPECT_EQ(got.found, got.cables);
  EXPECT_EQ(kinds(run.script.found()), std::vector{GapKind::silent_switch});
}

TEST(DiscoverScript, ACableThatLeadsElsewhereIsFoundAsItIs) {
  // Leaf 1's cable to spine 2 and leaf 2's to spine 3 have changed places at the spines.
  const auto design = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value();
  const auto real =
      with_swapped(design, *design.find_link("leaf1--spine2"), *design.find_link("leaf2--spine3"));
  const auto book = plan_addresses(design, IpFamily::v4)->book;
  const SimulatedDiscovery run(real, book);
  const auto got = score(real, book, run.script.found());
  EXPECT_EQ(got.right, got.claimed);
  EXPECT_EQ(got.found, got.cables);
  EXPECT_EQ(run.script.found().switches.size(), 8u);
}

TEST(DiscoverScript, ParallelCablesArePairedByTheirNumbers) {
  FabricBuilder builder("bundles", FabricKind::roce);
  std::vector<NodeId> leaves, spines;
  for (int i = 1; i <= 3; ++i) leaves.push_back(*builder.add_node({fmt::format("leaf{}", i)}));
  for (int i = 1; i <= 2; ++i)
    spines.push_back(*builder.add_node({fmt::format("spine{}", i), NodeKind::switch_, Tier::spine}));
  for (int i = 0; i < 6; ++i)
    builder.connect(*builder.add_node({fmt::format("host{}", i + 1), NodeKind::host, Tier::host}),
                    leaves[static_cast<std::size_t>(i / 2)], Bandwidth::gbit(100));
  for (const NodeId leaf : leaves)
    for (const NodeId spine : spines)
      for (int i = 0; i < 2; ++i) builder.connect(leaf, spine, Bandwidth::gbit(100));
  expect_all_found(std::move(builder).build());
}

TEST(DiscoverScript, WhereTheFabricSpraysOnlyLeavesAreTold) {
  const auto fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value();
  const auto book = plan_addresses(fabric, IpFamily::v4)->book;
  SimulatedDiscovery run(fabric, book);
  auto traces = run.script.traces();
  std::vector<std::optional<IpAddress>> middles;
  for (const auto& trace : traces)
    if (trace.hops.size() == 3) middles.push_back(trace.hops[1]);
  std::size_t next = 0;  // each packet by a path of its own: the middle hop is another trace's
  for (auto& trace : traces)
    if (trace.hops.size() == 3) trace.hops[1] = middles[(next += 7) % middles.size()];
  std::vector<discover::TracedNic> nics(fabric.nics().size());
  const auto found = discover::cabling_of_traces(nics, traces);
  EXPECT_THAT(kinds(found), testing::Contains(GapKind::sprayed));
  const auto got = score(fabric, book, found);
  EXPECT_EQ(got.right, got.claimed);
  EXPECT_EQ(got.found, 16u) << "the cables of the hosts";
}

TEST(TraceOf, ARouterThatAnswersForAllHopsBeyondItCountsOnce) {
  const auto a = IpAddress::parse("10.0.0.1").value(), b = IpAddress::parse("10.0.0.3").value();
  const auto trace =
      trace_of(0, 1, PathLabel(50000), {{.hop = 3, .from = b}, {.hop = 1, .from = a}, {.hop = 2, .from = b}});
  EXPECT_FALSE(trace.reached);
  EXPECT_THAT(trace.hops, testing::ElementsAre(a, b));
}

}  // namespace
}  // namespace weft::session
