// All paths of many pairs, by a coordinator over simulated switches.
#include "probes/session/path_search_script.hpp"

#include <gtest/gtest.h>

#include "probes/engine/sim/sim_fabric.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using plan::SearchEnd;

/// Eight hosts at two leaves to eight at two others, over four spines.
struct Searched {
  Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  std::shared_ptr<sim::SimFabric> world;
  PathSearchScript script;

  explicit Searched(const sim::SimOptions& options)
      : world(sim::SimFabric::make(fabric, addresses.book, options)),
        script(fabric, addresses.book, {.answers_per_second = 100'000}, RunId(7), pairs()) {
    std::vector<ExpectedHost> expected;
    std::vector<std::string> names;
    for (const PortId nic : fabric.nics()) {
      expected.push_back({fabric.port(nic).node, {{std::to_string(nic.value()), nic}}});
      names.push_back(fabric.name_of(fabric.port(nic).node));
    }
    Coordinator coordinator(fabric, script, {RunId(7), {}}, expected);
    const auto open = [&](const NicAssignment& nic, const packet::RunSecrets&,
                          const datapath::SharedNics&) -> Result<NicEngines> {
      return run::engines_of(world->engine(PortId(static_cast<std::uint32_t>(std::stoul(nic.interface)))));
    };
    EXPECT_TRUE(coordinate_in_process(coordinator, names, open, [](const Progress&) {}, {}).has_value());
  }
  std::vector<plan::NicPair> pairs() const {
    std::vector<plan::NicPair> pairs;
    for (std::size_t src = 0; src < 8; ++src)
      for (std::size_t dst = 8; dst < 16; ++dst) pairs.push_back({fabric.nics()[src], fabric.nics()[dst]});
    return pairs;
  }
  std::size_t complete() const {
    std::size_t complete = 0;
    for (const auto& state : script.states())
      complete += state.end == SearchEnd::all_seen && state.paths_seen == 4;
    return complete;
  }
  /// Routes that are not as the world goes.
  std::size_t false_paths() const {
    std::size_t wrong = 0;
    std::vector<ChannelId> truth;
    const auto& table = script.learner().table();
    for (const plan::PairRoutes& pair : script.learner().pairs())
      for (const plan::Route& route : pair.routes) {
        const auto paths = table.paths(route.paths);
        if (paths.size() > 1) continue;
        world->world().path_of(pair.src, pair.dst, route.label, truth);
        wrong += !std::ranges::equal(table.channels(paths.front()), truth);
      }
    return wrong;
  }
};

TEST(PathSearchScript, FindsEveryPathWithLittleMoreThanTheLabelsItTakes) {
  const Searched searched({.seed = 3});
  EXPECT_EQ(searched.complete(), 64u);
  EXPECT_EQ(searched.false_paths(), 0u);
  // 64 pairs of 4 paths: 8.33 labels show all four, on average; and one is asked twice.
  EXPECT_LT(searched.script.probes_sent(), 64u * 11u);
}

TEST(PathSearchScript, LostAnswersTakeMoreLabelsAndNoPathIsFalse) {
  const Searched searched({.seed = 4, .answers_lost = Fraction(0.3)});
  EXPECT_EQ(searched.complete(), 64u);
  EXPECT_EQ(searched.false_paths(), 0u);
}

TEST(PathSearchScript, SwitchesThatAnswerAHundredTimesASecondAreAskedMoreSlowly) {
  const Searched searched({.seed = 5, .answers_per_second = 100, .answers_lost = Fraction(0.05)});
  EXPECT_EQ(searched.complete(), 64u);
  EXPECT_EQ(searched.false_paths(), 0u);
}

TEST(PathSearchScript, BehindASilentSpineTheNextSwitchTells) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const Searched searched({.seed = 6, .silent = {*fabric.find_node("spine2")}});
  EXPECT_EQ(searched.complete(), 64u);
  EXPECT_EQ(searched.false_paths(), 0u);
}

TEST(PathSearchScript, WhenAllSpinesAreSilentTheNextSwitchesTell) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  std::vector<NodeId> spines;
  for (const char* name : {"spine1", "spine2", "spine3", "spine4"}) spines.push_back(*fabric.find_node(name));
  const Searched searched({.seed = 6, .silent = spines});
  EXPECT_EQ(searched.complete(), 64u);
}

TEST(PathSearchScript, AnonymousSwitchesCostCertaintyAndNoPathIsFalse) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const Searched searched({.seed = 6, .anonymous = {*fabric.find_node("spine2")}});
  EXPECT_EQ(searched.false_paths(), 0u);
}

TEST(PathSearchScript, AtASwitchThatSpraysALabelIsNeverOnePathUnlessItIsAskedOnce) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const Searched searched({.seed = 6, .spraying = {*fabric.find_node("leaf1")}});
  std::size_t sprayed = 0, of_leaf1 = 0;
  for (const auto& state : searched.script.states()) {
    const bool from_leaf1 =
        fabric.target_node(*fabric.channel_from(state.pair.src)) == *fabric.find_node("leaf1");
    of_leaf1 += from_leaf1;
    EXPECT_TRUE(state.sprayed == 0 || from_leaf1);
    sprayed += state.sprayed > 0;
  }
  EXPECT_EQ(of_leaf1, 32u);
  EXPECT_GT(sprayed, of_leaf1 / 2) << "one label of each pair is asked twice: three in four go elsewhere";
}

TEST(PathSearchScript, RoutesThatChangeDuringTheSearchEndIt) {
  const Searched searched({.seed = 8, .routes_change = std::chrono::milliseconds(250)});
  for (const auto& state : searched.script.states()) EXPECT_NE(state.end, SearchEnd::searching);
}

TEST(PathSearchScript, WhereNobodyAnswersItEnds) {
  const Searched searched({.seed = 6, .answers_lost = Fraction(1)});
  EXPECT_EQ(searched.complete(), 0u);
}

}  // namespace
}  // namespace weft::session
