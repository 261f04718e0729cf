// A trace of all labels of a pair: over simulated switches, by a coordinator.
#include <gtest/gtest.h>

#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "probes/session/trace_script.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

struct Mapped {
  Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 2});
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  plan::NicPair pair{fabric.nics().front(), fabric.nics().back()};
  TraceScript script;

  explicit Mapped(routing::HashOptions hash)
      : script(fabric, addresses.book, {.answers_per_second = 100'000}, RunId(1), {pair, {}}, {},
               {.all_labels = true}) {
    const NodeId host = fabric.port(pair.src).node;
    Coordinator coordinator(fabric, script, {RunId(1), {}}, {{host, {{"a", pair.src}, {"b", pair.dst}}}});
    const auto open = run::simulated_engines(fabric, addresses.book, {}, 1, nullptr, {}, {}, hash);
    const auto done =
        coordinate_in_process(coordinator, {fabric.name_of(host)}, open, [](const Progress&) {}, {});
    EXPECT_TRUE(done.has_value());
  }
  plan::LabelMap::Tally tally() { return script.label_map()->tally(pair); }
};

TEST(TraceMap, OfALinearHashAllLabelsAreKnownFromSomeTensOfTraces) {
  Mapped mapped({routing::HashFamily::crc32});
  EXPECT_EQ(mapped.tally().open, 0u);
  EXPECT_LT(mapped.script.labels_traced(), 60u);
  EXPECT_EQ(mapped.tally().seen, mapped.script.labels_traced());
}

TEST(TraceMap, OfAHashWithoutStructureNothingIsPredictedAndItEndsWhenAllPathsAreSeen) {
  Mapped mapped({});
  EXPECT_EQ(mapped.tally().predicted, 0u);
  EXPECT_LT(mapped.script.labels_traced(), 64u);
  const auto* pair = mapped.script.learner().find(mapped.pair.src, mapped.pair.dst);
  std::set<PathSetId> paths;
  for (const plan::Route& route : pair->routes) paths.insert(route.paths);
  EXPECT_EQ(paths.size(), 4u);
}

TEST(TraceMap, WhatIsPredictedStaysOutOfTheMapThatLoadsGoBy) {
  Mapped mapped({routing::HashFamily::toeplitz});
  std::size_t labels = 0;
  const PathMap map = mapped.script.learner().path_map();
  for (const auto& path : map.pairs.at(0).paths) labels += path.labels.size();
  EXPECT_EQ(labels, mapped.script.labels_traced());
}

}  // namespace
}  // namespace weft::session
