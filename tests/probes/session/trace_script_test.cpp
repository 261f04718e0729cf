// What a trace asks its agents for, one wave after the other, and what it keeps of their answers.
#include "probes/session/trace_script.hpp"

#include <gmock/gmock.h>

#include <set>

#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using ::testing::IsEmpty;

constexpr std::uint32_t kQueuePairs = 8;

struct ScriptOfAPair {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 1});
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  plan::NicPair pair{*fabric.find_nic("host1"), *fabric.find_nic("host2")};
  TraceScript script;

  explicit ScriptOfAPair(AuditOrder audit)
      : script(fabric, addresses.book, {.answers_per_second = 1000}, RunId(1),
               {pair, plan::spread_labels(16)}, audit) {}

  /// Every label's path by its number; its labels.
  std::set<PathLabel> answer(const WorkItem& item) {
    routing::ShortestPathCache ways(fabric);
    const auto& specs = std::get<datapath::TraceRequest>(item.work).specs;
    std::set<PathLabel> labels;
    std::vector<datapath::HopAnswer> hops;
    for (std::uint32_t i = 0; i < specs.size(); ++i) {
      labels.insert(specs[i].label);
      const auto path = path_by_choice(fabric, ways, pair.src, pair.dst, specs[i].label.value() / 1024 % 4);
      for (datapath::HopAnswer hop : answers_along(fabric, addresses.book, path, path.size())) {
        hop.spec = i;
        hops.push_back(hop);
      }
    }
    const TaskAnswer all = std::move(hops);
    script.take(item, &all);
    return labels;
  }
  /// The device gives them all one port; the last does not move.
  void answer_audit(const WorkItem& item, PathLabel chosen) {
    std::vector<datapath::FlowTally> tallies;
    for (std::uint32_t i = 0; i < kQueuePairs; ++i)
      tallies.push_back(
          {.spec = i,
           .chosen = chosen,
           .moved = datapath::LabelChange{i + 1 < kQueuePairs, i + 1 < kQueuePairs ? "it did" : "no"}});
    const TaskAnswer all = std::move(tallies);
    script.take(item, &all);
  }
};

TEST(TraceScript, WithoutAnAuditTracesItsLabelsOnce) {
  ScriptOfAPair made({});
  const auto wave = made.script.next_wave();
  ASSERT_EQ(wave.size(), 1u);
  EXPECT_EQ(made.answer(wave[0]).size(), 16u);
  EXPECT_THAT(made.script.next_wave(), IsEmpty());
}

TEST(TraceScript, AnAuditTracesThePortsThatTheDeviceChoseToo) {
  ScriptOfAPair made({.queue_pairs = kQueuePairs});
  made.answer(made.script.next_wave().at(0));
  const auto audit = made.script.next_wave();
  ASSERT_EQ(audit.size(), 1u);
  for (const datapath::FlowSpec& spec : std::get<datapath::FlowRequest>(audit[0].work).specs) {
    EXPECT_FALSE(spec.label) << "the device's own choice";
    EXPECT_FALSE(spec.then);
  }
  made.answer_audit(audit[0], PathLabel(60'001));
  EXPECT_EQ(made.answer(made.script.next_wave().at(0)), (std::set<PathLabel>{PathLabel(60'001)}));
  EXPECT_THAT(made.script.next_wave(), IsEmpty());
  EXPECT_EQ(made.script.audited().size(), kQueuePairs);
}

TEST(TraceScript, AMoveSendsTheAuditedQueuePairsEvenlyOverThePathsItTraced) {
  ScriptOfAPair made({.queue_pairs = kQueuePairs, .move = true});
  const auto traced = made.answer(made.script.next_wave().at(0));
  const auto audit = made.script.next_wave();
  ASSERT_EQ(audit.size(), 1u);
  std::map<std::uint32_t, std::size_t> by_path;
  for (const datapath::FlowSpec& spec : std::get<datapath::FlowRequest>(audit[0].work).specs) {
    EXPECT_FALSE(spec.label);
    ASSERT_TRUE(spec.then);
    EXPECT_TRUE(traced.contains(*spec.then));
    ++by_path[spec.then->value() / 1024 % 4];
  }
  EXPECT_EQ(by_path.size(), 4u);
  for (const auto& [path, queue_pairs] : by_path) EXPECT_EQ(queue_pairs, kQueuePairs / 4);
  made.answer_audit(audit[0], *traced.begin());
  EXPECT_THAT(made.script.next_wave(), IsEmpty()) << "the port they had is traced already";
  const auto& audited = made.script.audited();
  ASSERT_EQ(audited.size(), kQueuePairs);
  EXPECT_TRUE(audited.front().has_moved());
  EXPECT_FALSE(audited.back().has_moved());
  EXPECT_EQ(audited.front().then, std::get<datapath::FlowRequest>(audit[0].work).specs[0].then);
}

TEST(TraceScript, AMoveWithNoPathToGoToIsAnAuditStill) {
  ScriptOfAPair made({.queue_pairs = kQueuePairs, .move = true});
  const auto wave = made.script.next_wave();
  made.script.take(wave.at(0), nullptr);
  const auto audit = made.script.next_wave();
  ASSERT_EQ(audit.size(), 1u);
  for (const datapath::FlowSpec& spec : std::get<datapath::FlowRequest>(audit[0].work).specs)
    EXPECT_FALSE(spec.then);
}

TEST(TraceScript, AHostThatDoesNotTakePartIsNotAudited) {
  ScriptOfAPair made({.queue_pairs = kQueuePairs});
  made.answer(made.script.next_wave().at(0));
  made.script.exclude(made.pair.dst);
  EXPECT_THAT(made.script.next_wave(), IsEmpty());
}

}  // namespace
}  // namespace weft::session
