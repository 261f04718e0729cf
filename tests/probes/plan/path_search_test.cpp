#include "probes/plan/path_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::plan {
namespace {

/// One pair, and answers to what is asked of it by a choice of the test's own.
struct Rig {
  explicit Rig(Fabric made) : fabric(std::move(made)) {}
  Fabric fabric;
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  PathTable table;
  PathLearner learner{fabric, addresses.book, table};
  NicPair pair{fabric.nics().front(), fabric.nics().back()};
  PathSearch search{learner, fabric, addresses.book, {pair}, {}};
  std::size_t asked = 0;

  std::vector<datapath::HopAnswer> answers(const PathSearch::Asking& asking, std::size_t choice) {
    const auto path = path_by_choice(fabric, learner.ways(), pair.src, pair.dst, choice);
    std::vector<datapath::HopAnswer> told;
    for (const auto& answer : answers_along(fabric, addresses.book, path, path.size()))
      if (answer.hop >= asking.hops.first && answer.hop <= asking.hops.last) told.push_back(answer);
    return told;
  }
  template <class Answers>
  PathSearch::State run(Answers answers_to) {
    for (int waves = 0; waves < 2000; ++waves) {
      const auto askings = search.next();
      if (askings.empty()) return search.states().front();
      for (const auto& asking : askings) {
        ++asked;
        search.take(asking, answers_to(asking));
      }
    }
    ADD_FAILURE() << "it does not end";
    return search.states().front();
  }
};

Fabric two_tiers() { return *make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 2}); }

TEST(PathSearch, TheHopThatDecidesIsTheSpineInTwoTiersAndTheCoreInThree) {
  Rig two(two_tiers());
  const auto ways = ways_of_pair(two.fabric, two.learner.ways(), two.addresses.book, two.pair);
  ASSERT_TRUE(ways);
  EXPECT_EQ(ways->paths, 4u);
  EXPECT_EQ(ways->deciding, (HopRange{2, 2, false}));
  EXPECT_EQ(ways->all, (HopRange{1, 4, true}));
  Rig three(*make_pod_clos({.pods = 2, .leaves = 2, .spines = 4, .cores = 16, .hosts_per_leaf = 2}));
  const auto deep = ways_of_pair(three.fabric, three.learner.ways(), three.addresses.book, three.pair);
  ASSERT_TRUE(deep);
  EXPECT_EQ(deep->paths, 16u);
  EXPECT_EQ(deep->deciding, (HopRange{3, 3, false}));
}

TEST(PathSearch, ASwitchWithOneAddressForAllItsPortsLeavesLinksSideBySideToTheNextHop) {
  FabricBuilder builder("two links side by side", FabricKind::roce);
  const NodeId a = *builder.add_node({"a", NodeKind::host, Tier::host});
  const NodeId b = *builder.add_node({"b", NodeKind::host, Tier::host});
  const NodeId x = *builder.add_node({"x", NodeKind::switch_, Tier::leaf});
  const NodeId y = *builder.add_node({"y", NodeKind::switch_, Tier::leaf});
  const auto port = [&](NodeId node, std::uint16_t number) {
    return *builder.add_port(node, PortNumber(number));
  };
  const auto rate = Bandwidth::gbit(100);
  ASSERT_TRUE(builder.add_link(port(a, 1), port(x, 1), rate));
  ASSERT_TRUE(builder.add_link(port(b, 1), port(y, 1), rate));
  ASSERT_TRUE(builder.add_link(port(x, 2), port(y, 2), rate));
  ASSERT_TRUE(builder.add_link(port(x, 3), port(y, 3), rate));
  const Fabric fabric = std::move(builder).build();
  routing::ShortestPathCache ways(fabric);
  const auto exact = plan_addresses(fabric, IpFamily::v4)->book;
  const NicPair pair{fabric.nics().front(), fabric.nics().back()};
  EXPECT_EQ(ways_of_pair(fabric, ways, exact, pair)->deciding, (HopRange{2, 2, false}));
  std::vector<std::optional<IpAddress>> by_node(fabric.node_count());
  by_node[x.value()] = IpAddress(IpAddress::V4{10, 9, 0, 1});
  by_node[y.value()] = IpAddress(IpAddress::V4{10, 9, 0, 2});
  const AddressBook loopbacks(std::vector<std::optional<IpAddress>>(fabric.ports().size()), by_node);
  EXPECT_EQ(ways_of_pair(fabric, ways, loopbacks, pair)->paths, 2u);
  const auto by_ports = telling_hops(fabric, ways, exact, pair);
  EXPECT_EQ(by_ports.alone, std::vector<std::uint8_t>{2});
  EXPECT_TRUE(by_ports.together);
  const auto by_switches = telling_hops(fabric, ways, loopbacks, pair);
  EXPECT_TRUE(by_switches.alone.empty()) << "either link leads to the same answer";
  EXPECT_FALSE(by_switches.together);
}

TEST(PathSearch, EndsWhenAllPathsOfTheFileAreSeen) {
  Rig rig(two_tiers());
  const auto state = rig.run([&](const auto& asking) { return rig.answers(asking, asking.label.value()); });
  EXPECT_EQ(state.end, SearchEnd::all_seen);
  EXPECT_EQ(state.paths_seen, 4u);
  EXPECT_EQ(state.sprayed, 0u);
}

TEST(PathSearch, WhereAPathIsNeverTakenItEndsByTheStoppingRuleAndSaysSo) {
  Rig rig(two_tiers());
  const auto state =
      rig.run([&](const auto& asking) { return rig.answers(asking, asking.label.value() % 3); });
  EXPECT_EQ(state.end, SearchEnd::enough_asked);
  EXPECT_EQ(state.paths_seen, 3u);
  EXPECT_GE(state.labels, labels_to_see_all(4, Fraction(0.99)));
  EXPECT_LT(state.labels, 2 * labels_to_see_all(4, Fraction(0.99)));
}

TEST(PathSearch, ASwitchThatSpraysIsFoundByAskingALabelTwice) {
  Rig rig(two_tiers());
  std::size_t turn = 0;
  const auto state = rig.run([&](const auto& asking) { return rig.answers(asking, turn++); });
  EXPECT_EQ(state.sprayed, 1u);
  const auto& routes = rig.learner.find(rig.pair.src, rig.pair.dst)->routes;
  EXPECT_TRUE(
      std::ranges::any_of(routes, [&](const Route& r) { return rig.table.paths(r.paths).size() == 2; }));
}

TEST(PathSearch, AnswersFromAddressesOfNobodyAreNoPathAndEndIt) {
  Rig rig(two_tiers());
  std::uint8_t next = 0;
  const auto state = rig.run([&](const auto& asking) {
    return std::vector<datapath::HopAnswer>{
        {.hop = asking.hops.first, .from = IpAddress(IpAddress::V4{192, 168, 7, ++next})}};
  });
  EXPECT_EQ(state.paths_seen, 0u);
  EXPECT_LT(rig.asked, 2000u);
}

TEST(PathSearch, AnswersOfASwitchThatIsNotOnTheWayAreOddAndBounded) {
  Rig rig(two_tiers());
  const auto elsewhere =
      *rig.addresses.book.address_of(rig.fabric.target(*rig.fabric.channel_from(rig.pair.src)));
  const auto state = rig.run([&](const auto& asking) {
    return std::vector<datapath::HopAnswer>{{.hop = asking.hops.first, .from = elsewhere}};
  });
  EXPECT_EQ(state.paths_seen, 0u);
  EXPECT_GT(state.odd, 0u);
  EXPECT_LT(rig.asked, 2000u);
}

TEST(PathSearch, WhoIsSilentForGoodIsGivenUp) {
  Rig rig(two_tiers());
  const auto state = rig.run([](const auto&) { return std::vector<datapath::HopAnswer>(); });
  EXPECT_EQ(state.end, SearchEnd::silent);
  EXPECT_LT(rig.asked, 400u);
}

TEST(PathSearch, OfAPairWithOnePathThePeerAloneIsAsked) {
  Rig rig(*make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}));
  const auto state = rig.run([&](const auto& asking) { return rig.answers(asking, 0); });
  EXPECT_EQ(state.end, SearchEnd::all_seen);
  EXPECT_EQ(rig.asked, 1u);
}

}  // namespace
}  // namespace weft::plan
