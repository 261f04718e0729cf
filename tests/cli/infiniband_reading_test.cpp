#include "cli/infiniband_reading.hpp"

#include <gmock/gmock.h>

#include <set>

#include "topology/model/clos.hpp"
#include "topology/model/ib_design.hpp"
#include "topology/routing/min_hop_tables.hpp"

namespace weft::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

/// The reading of a fabric with 4 LIDs a NIC, beside the file's.
InfinibandReading reading_of(const Fabric& expected, const ClosSpec& is) {
  InfinibandFabric found{.fabric = make_clos(is).value(), .inventory = {}, .remarks = {}};
  found.inventory = design_inventory(found.fabric);
  EXPECT_TRUE(assign_lids(found.fabric, 2, found.inventory));
  auto match = discover::match_fabrics(expected, found.fabric);
  auto tables = routing::fill_min_hop(found);
  return {std::move(found), {}, std::move(match), {std::move(tables), {}, {}}, {}};
}

struct Learned {
  Fabric expected = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  AddressBook addresses;
  PathTable table;
  plan::PathLearner learner{expected, addresses, table};

  /// Of a fabric with so many spines.
  std::map<std::string, std::size_t> adopt(std::uint32_t spines) {
    std::vector<plan::NicPair> pairs;
    for (const PortId src : expected.nics())
      for (const PortId dst : expected.nics())
        if (src != dst) pairs.push_back({src, dst});
    return adopt_paths(learner, reading_of(expected, {.leaves = 2, .spines = spines, .hosts_per_leaf = 2}),
                       pairs);
  }
};

TEST(AdoptPaths, EveryLabelHasItsPathWhereTheFabricIsThatOfTheFile) {
  Learned at;
  EXPECT_THAT(at.adopt(2), IsEmpty());
  ASSERT_EQ(at.learner.pairs().size(), 4u * 3u);
  for (const plan::PairRoutes& pair : at.learner.pairs()) EXPECT_EQ(pair.routes.size(), 4u);
}

TEST(AdoptPaths, LabelsOverLinksThatTheFileHasNotAreCounted) {
  Learned at;
  // Two of the four spines are not in the file: half of the labels between the leaves go over them.
  EXPECT_THAT(at.adopt(4), ElementsAre(Pair(HasSubstr("not in the fabric file"), 8 * 2)));
}

TEST(PairsToProbe, AreFewAndCrossAllThatRoutesTake) {
  const ClosSpec is{.leaves = 4, .spines = 4, .hosts_per_leaf = 6};
  const Fabric expected = make_clos(is).value();
  const auto reading = reading_of(expected, is);
  const PortId left_out = expected.nics()[0];
  const auto pairs = pairs_to_probe(reading, expected, {left_out});
  EXPECT_LT(pairs.size(), 24u * 23u / 2);
  AddressBook addresses;
  PathTable table;
  plan::PathLearner learner(expected, addresses, table);
  EXPECT_THAT(adopt_paths(learner, reading, pairs), IsEmpty());
  std::set<ChannelId> crossed;
  for (const plan::PairRoutes& pair : learner.pairs()) {
    EXPECT_NE(pair.src, left_out);
    EXPECT_NE(pair.dst, left_out);
    for (const plan::Route& route : pair.routes)
      for (const PathId path : table.paths(route.paths))
        for (const ChannelId channel : table.channels(path)) crossed.insert(channel);
  }
  EXPECT_EQ(crossed.size(), 2u * (4 * 4 + 23)) << "every channel but those of the NIC left out";
}

TEST(Gids, AreOfTheNicsThatWereFound) {
  const Fabric expected = make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 2}).value();
  const auto reading = reading_of(expected, {.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const auto gids = gids_of(reading, expected);
  std::size_t known = 0;
  for (const PortId nic : expected.nics())
    if (const auto gid = gids.address_of(nic)) {
      ++known;
      EXPECT_TRUE(port_of_gid(*gid));
      EXPECT_EQ(lids_of(reading, nic).value().count(), 4u);
    }
  EXPECT_EQ(known, 4u);
  EXPECT_FALSE(lids_of(reading, expected.nics().back())) << "it was not found";
}

TEST(Gids, ThatTwoPortsClaimAreOfTheFirst) {
  const Fabric expected = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  auto reading = reading_of(expected, {.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  for (IbPort& port : reading.found.inventory.ports) port.port_guid = Guid(7);
  const auto gids = gids_of(reading, expected);
  EXPECT_EQ(gids.address_of(expected.nics()[0]), gid_address(Guid(7)));
  EXPECT_EQ(gids.address_of(expected.nics()[1]), std::nullopt);
}

TEST(ExpectedPaths, SayWhyALabelHasNone) {
  const discover::FabricMatch match;
  EXPECT_EQ(expected_paths({.end = routing::RouteEnd::loop}, match).error().message, "loop");
  EXPECT_THAT(expected_paths({.end = routing::RouteEnd::arrived, .too_many = true}, match).error().message,
              HasSubstr("more than 1024 paths"));
}

}  // namespace
}  // namespace weft::cli
