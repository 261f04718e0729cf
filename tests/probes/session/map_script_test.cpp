// The paths of a fabric and nothing else: what a watcher plans by.
#include "probes/session/map_script.hpp"

#include <gmock/gmock.h>

#include "probes/engine/sim/sim_fabric.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "topology/model/addressing.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

struct Mapped {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 2});
  AddressBook book = plan_addresses(fabric, IpFamily::v4)->book;
  MapScript script{fabric, book, {.answers_per_second = 100'000}, RunId(1)};

  /// `without`: no agent serves this host.
  explicit Mapped(const std::string& without = {}) {
    const auto world = sim::SimFabric::make(fabric, book, {});
    std::vector<ExpectedHost> expected;
    std::vector<std::string> names;
    for (const NodeId host : fabric.hosts()) {
      if (fabric.name_of(host) == without) continue;
      const PortId nic = fabric.ports_of(host)[0];
      expected.push_back({host, {{to_string(*book.address_of(nic)), nic}}});
      names.push_back(fabric.name_of(host));
    }
    Coordinator coordinator(fabric, script, {RunId(1), {}}, expected);
    const auto open = [&](const NicAssignment& nic, const packet::RunSecrets&,
                          const datapath::SharedNics&) -> Result<NicEngines> {
      const auto engine = world->engine(nic.nic);
      return NicEngines{engine, engine};
    };
    EXPECT_TRUE(coordinate_in_process(coordinator, names, open, [](const auto&) {}, {}));
  }
};

TEST(MapScript, FindsEveryPathBothWaysAndSendsNothingElse) {
  Mapped made;
  std::vector<bool> crossed(made.fabric.channel_count());
  for (const plan::PairRoutes& pair : made.script.learner().pairs())
    for (const plan::Route& route : pair.routes) {
      EXPECT_TRUE(route.reached);
      for (const PathId path : made.script.learner().table().paths(route.paths))
        for (const ChannelId channel : made.script.learner().table().channels(path))
          crossed[channel.value()] = true;
    }
  EXPECT_THAT(crossed, testing::Each(true));
  EXPECT_THAT(made.script.out(), testing::IsEmpty());
  EXPECT_TRUE(made.script.next_wave().empty());
}

TEST(MapScript, LeavesOutWhoTakesNoPart) {
  Mapped made("host3");
  const PortId nic = *made.fabric.find_nic("host3");
  EXPECT_THAT(made.script.out(), testing::ElementsAre(nic));
  for (const plan::PairRoutes& pair : made.script.learner().pairs()) {
    EXPECT_NE(pair.src, nic);
    EXPECT_NE(pair.dst, nic);
  }
}

}  // namespace
}  // namespace weft::session
