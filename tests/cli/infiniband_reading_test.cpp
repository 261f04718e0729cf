#include "cli/infiniband_reading.hpp"

#include <gmock/gmock.h>

#include "topology/model/clos.hpp"
#include "topology/model/ib_design.hpp"
#include "topology/routing/min_hop_tables.hpp"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

/// The reading of a fabric of two leaves, two hosts each, with 4 LIDs a NIC, beside the file's.
InfinibandReading reading_of(const Fabric& expected, std::uint32_t spines) {
  InfinibandFabric found{.fabric = make_clos({.leaves = 2, .spines = spines, .hosts_per_leaf = 2}).value(),
                         .inventory = {},
                         .remarks = {}};
  found.inventory = design_inventory(found.fabric);
  EXPECT_TRUE(assign_lids(found.fabric, 2, found.inventory));
  auto match = match_fabrics(expected, found.fabric);
  auto tables = fill_min_hop(found);
  return {std::move(found), {}, std::move(match), {std::move(tables), {}, {}}, {}};
}

struct Learned {
  Fabric expected = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  AddressBook addresses;
  PathTable table;
  PathLearner learner{expected, addresses, table};

  /// Of a fabric with so many spines.
  std::map<std::string, std::size_t> adopt(std::uint32_t spines) {
    const auto nics = expected.nics();
    return adopt_paths(learner, reading_of(expected, spines), {nics.begin(), nics.end()});
  }
};

TEST(AdoptPaths, EveryLabelHasItsPathWhereTheFabricIsThatOfTheFile) {
  Learned at;
  EXPECT_THAT(at.adopt(2), IsEmpty());
  ASSERT_EQ(at.learner.pairs().size(), 4u * 3u);
  for (const PairRoutes& pair : at.learner.pairs()) EXPECT_EQ(pair.routes.size(), 4u);
}

TEST(AdoptPaths, LabelsOverLinksThatTheFileHasNotAreCounted) {
  Learned at;
  // Two of the four spines are not in the file: half of the labels between the leaves go over them.
  EXPECT_THAT(at.adopt(4), ElementsAre(Pair(HasSubstr("not in the fabric file"), 8 * 2)));
}

TEST(ExpectedPaths, SayWhyALabelHasNone) {
  const FabricMatch match;
  EXPECT_EQ(expected_paths({.end = RouteEnd::loop}, match).error().message, "loop");
  EXPECT_THAT(expected_paths({.end = RouteEnd::arrived, .too_many = true}, match).error().message,
              HasSubstr("more than 1024 paths"));
}

}  // namespace
}  // namespace weft
