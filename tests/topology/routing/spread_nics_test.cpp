#include "topology/routing/spread_nics.hpp"

#include <gmock/gmock.h>

#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::routing {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> spread(const Fabric& fabric, std::size_t most) {
  std::vector<std::string> names;
  for (const PortId nic : spread_nics(fabric, most)) names.push_back(fabric.name_of_nic(nic));
  return names;
}

TEST(SpreadNics, TakeOneOfEachLeafAndStopWhenAllHaveOne) {
  const auto fabric = make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 4}).value();
  EXPECT_THAT(spread(fabric, 8), ElementsAre("host1", "host5", "host9"));
  EXPECT_THAT(spread(fabric, 2), ElementsAre("host1", "host5"));
}

TEST(SpreadNics, OfHostsWithSeveralUseAllHostsBeforeTheSecondNicOfOne) {
  const auto fabric = make_rails({.groups = 1, .hosts_per_group = 2, .rails = 4, .spines = 2}).value();
  EXPECT_THAT(spread(fabric, 8), ElementsAre("host1/p1", "host2/p2", "host1/p3", "host2/p4"));
}

TEST(SpreadNics, ReachEveryPodBeforeTheSecondLeafOfOne) {
  const auto fabric =
      make_pod_clos({.pods = 3, .leaves = 2, .spines = 2, .cores = 2, .hosts_per_leaf = 1}).value();
  EXPECT_THAT(spread(fabric, 4), ElementsAre("host1", "host3", "host5", "host2"));
}

TEST(SpreadNics, ThatReachNoOtherSwitchGetAPartnerOnTheirOwn) {
  FabricBuilder builder("rails only", FabricKind::infiniband);
  std::vector<NodeId> nodes;
  for (const auto* host : {"host1", "host2"})
    nodes.push_back(builder.add_node({.name = host, .kind = NodeKind::host, .tier = Tier::host}).value());
  for (const auto* leaf : {"leaf1", "leaf2"}) {
    const NodeId at = builder.add_node({.name = leaf}).value();
    for (const NodeId host : nodes) builder.connect(host, at, Bandwidth::gbit(200));
  }
  const auto fabric = std::move(builder).build();
  EXPECT_THAT(spread(fabric, 8), ElementsAre("host1/p1", "host2/p1", "host1/p2", "host2/p2"));
}

}  // namespace
}  // namespace weft::routing
