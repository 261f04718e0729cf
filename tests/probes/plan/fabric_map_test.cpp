#include "tests/support/fabric_map.hpp"

#include <gtest/gtest.h>

#include "probes/engine/sim/sim_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::plan {
namespace {

/// Four pods of 4 leaves, 4 spines and 8 hosts a leaf: 128 NICs, each with eight peers.
struct Rig {
  explicit Rig(routing::HashOptions hash) : sim(make(hash, 3)) {}

  Fabric fabric = *make_pod_clos({.pods = 4, .leaves = 4, .spines = 4, .cores = 16, .hosts_per_leaf = 8});
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  std::shared_ptr<sim::SimFabric> sim;
  FabricMap map{fabric, addresses.book, peers(), kHashConfidence, 1};
  std::uint32_t batch = 0;
  std::mt19937_64 random{9};

  std::shared_ptr<sim::SimFabric> make(routing::HashOptions hash, std::uint64_t seed) {
    return sim::SimFabric::make(fabric, addresses.book,
                                {.seed = seed, .hash = hash, .answers_lost = Fraction(0.05)});
  }
  std::vector<std::vector<PortId>> peers() const {
    const auto nics = fabric.nics();
    std::vector<std::vector<PortId>> peers(nics.size());
    for (std::size_t i = 0; i < nics.size(); ++i)
      for (std::size_t k = 1; k <= 8; ++k) peers[i].push_back(nics[(i + 13 * k) % nics.size()]);
    return peers;
  }
  std::size_t learn() {
    for (int rounds = 0; rounds < 100; ++rounds) {
      const auto askings = map.next_round();
      if (askings.empty()) break;
      for (const auto& asking : askings) {
        const auto& [first, last, to_peer] = asking.hops;
        const datapath::TraceRequest request{
            .batch = BatchId(++batch),
            .peers = {{asking.pair.dst, *addresses.book.address_of(asking.pair.dst)}},
            .specs = {{0, asking.label, last, first, to_peer}},
            .attempts = 1};
        map.take(asking, *sim->engine(asking.pair.src)->trace(request, {}));
      }
    }
    return map.asked();
  }
  /// Of 500 random pairs and labels: those told, each as it goes.
  std::size_t told() {
    const auto nics = fabric.nics();
    std::size_t told = 0;
    for (int i = 0; i < 500; ++i) {
      const NicPair pair{nics[random() % nics.size()], nics[random() % nics.size()]};
      if (pair.src == pair.dst) continue;
      const PathLabel label(kFirstRoceLabel + static_cast<std::uint32_t>(random() % kRoceLabels));
      const auto way = map.hashes().walk(pair, label, true);
      if (!way.arrives) continue;
      std::vector<ChannelId> path;
      sim->world().path_of(pair.src, pair.dst, label, path);
      EXPECT_EQ(way.channels, path);
      ++told;
    }
    return told;
  }
};

TEST(FabricMap, SomeTracesOfEachNicTellTheWayOfAnyLabelOfAnyPair) {
  Rig rig({routing::HashFamily::crc32});
  const std::size_t asked = rig.learn();
  EXPECT_LT(asked, 128u * 20u);
  EXPECT_GE(rig.told(), 490u);
}

TEST(FabricMap, WithoutStructureEveryNextHopIsSeenAndNothingIsPredicted) {
  Rig rig({});
  const std::size_t asked = rig.learn();
  EXPECT_LT(asked, 128u * 40u);
  // Pairs at one leaf have one way.
  EXPECT_LT(rig.told(), 100u);
}

TEST(FabricMap, ARefreshWhereNothingChangedAsksLittleAndKeepsAll) {
  Rig rig({routing::HashFamily::toeplitz});
  const std::size_t first = rig.learn();
  rig.map.refresh();
  const std::size_t again = rig.learn();
  EXPECT_LT(again, first / 4);
  EXPECT_EQ(rig.map.hashes().changed(), 0u);
  EXPECT_GE(rig.told(), 490u);
}

TEST(FabricMap, ARefreshLearnsSwitchesAnewThatHashOtherwise) {
  Rig rig({routing::HashFamily::crc32});
  rig.learn();
  rig.sim = rig.make({routing::HashFamily::toeplitz}, 8);
  rig.map.refresh();
  rig.learn();
  EXPECT_GT(rig.map.hashes().changed(), 0u);
  EXPECT_GE(rig.told(), 450u);
}

}  // namespace
}  // namespace weft::plan
