// Hosts that are not scheduled drop packets and count them: how many of each row's these are is an estimate,
// which blames nobody and hides nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "made_up_run.hpp"
#include "swept.hpp"
#include "tests/support/draws.hpp"
#include "topology/model/clos.hpp"

namespace weft::diagnosis {
namespace {

const std::array kShapes{ClosSpec{.leaves = 4, .spines = 2, .hosts_per_leaf = 2},
                         ClosSpec{.leaves = 2, .spines = 2, .hosts_per_leaf = 2},
                         ClosSpec{.leaves = 4, .spines = 4, .hosts_per_leaf = 2},
                         ClosSpec{.leaves = 3, .spines = 2, .hosts_per_leaf = 3}};
const std::array kLosses{"0.3%", "1%", "3%", "10%", "25%", "50%"};

/// A fabric in which one to three hosts stall for 1 to 20 seconds and one cable loses packets.
struct Drawn {
  explicit Drawn(std::uint64_t seed)
      : random(seed), fabric(make_clos(kShapes[seed % kShapes.size()]).value()) {
    stalled.assign(fabric.hosts().begin(), fabric.hosts().end());
    std::ranges::shuffle(stalled, random);
    stalled.resize(1 + random() % 3);
    for (const NodeId host : stalled) {
      constexpr std::array kLengths{"1s", "3s", "20s"};
      constexpr std::array kStarts{"500ms", "2s", "4s"};
      const auto* length = kLengths[random() % 3];
      const auto* start = kStarts[random() % 3];
      stalls.push_back(fmt::format("{}:at={},for={}", fabric.name_of(host), start, length));
    }
  }

  bool ends_at_stalled(LinkId link) const {
    const ChannelId one = Fabric::a_to_b(link);
    return std::ranges::any_of(stalled, [&](NodeId host) {
      return fabric.source_node(one) == host || fabric.target_node(one) == host;
    });
  }
  LinkId draw_link(bool of_stalled) {
    for (;;) {
      const LinkId link(static_cast<std::uint32_t>(random() % fabric.link_count()));
      if (ends_at_stalled(link) == of_stalled) return link;
    }
  }
  std::string fault_of(LinkId link, const std::string& what) {
    const ChannelId one = random() % 2 ? Fabric::a_to_b(link) : Fabric::b_to_a(link);
    const std::string way = random() % 2 ? ",from=" + fabric.name_of(fabric.source_node(one)) : "";
    return fmt::format("{}:{}{}", fabric.name_of(link), what, way);
  }

  std::mt19937_64 random;
  Fabric fabric;
  std::vector<NodeId> stalled;
  std::vector<std::string> stalls;
};

void expect_no_blame(const Drawn& drawn, const Diagnosis& found, LinkId bad) {
  const Fabric& fabric = drawn.fabric;
  const NodeId ends[] = {fabric.source_node(Fabric::a_to_b(bad)), fabric.target_node(Fabric::a_to_b(bad))};
  for (const HostFinding& finding : found.hosts)
    EXPECT_TRUE(finding.verdict <= Verdict::unknown || finding.host == ends[0] || finding.host == ends[1])
        << fabric.name_of(finding.host);
  for (const LinkFinding& finding : found.links)
    EXPECT_TRUE(finding.verdict <= Verdict::unknown || finding.link == bad) << fabric.name_of(finding.link);
}

TEST(DroppedByHosts, AStalledHostIsNotBlamedForWhatACableElsewhereLoses) {
  for (std::uint64_t seed = 1; seed <= draws(48u); ++seed) {
    Drawn drawn(seed);
    const LinkId bad = drawn.draw_link(false);
    const std::string fault = drawn.fault_of(bad, fmt::format("loss={}", kLosses[drawn.random() % 6]));
    SCOPED_TRACE(fmt::format("seed {}: {}, stalls {}", seed, fault, fmt::join(drawn.stalls, " ")));
    const Diagnosis found = swept(drawn.fabric, {fault}, {.seed = seed}, drawn.stalls);
    EXPECT_GT(found.verdict, Verdict::unknown);
    expect_no_blame(drawn, found, bad);
  }
}

TEST(DroppedByHosts, ALossyCableOfAStalledHostIsNeverHealthy) {
  std::size_t named = 0;
  constexpr std::size_t kSeeds = draws(24);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Drawn drawn(seed);
    const LinkId bad = drawn.draw_link(true);
    const std::string fault = drawn.fault_of(bad, fmt::format("loss={}", kLosses[drawn.random() % 6]));
    SCOPED_TRACE(fmt::format("seed {}: {}, stalls {}", seed, fault, fmt::join(drawn.stalls, " ")));
    const Diagnosis found = swept(drawn.fabric, {fault}, {.seed = seed}, drawn.stalls);
    EXPECT_GE(found.verdict, Verdict::unknown);
    named += found.verdict > Verdict::unknown ? 1 : 0;
    expect_no_blame(drawn, found, bad);
  }
  EXPECT_GE(10 * named, 8 * kSeeds) << "rows of the time when it did not stall tell";
}

/// As the echoes of a host that did not run at the end of the probing.
TEST(HeldByHosts, EchoesBlameNoCableAndAsManyAsAFaultLosesLeaveTheirHostUnknown) {
  for (const bool hides : {false, true}) {
    const std::uint64_t held = hides ? 40 : 1;
    std::size_t rows = 0;
    MadeUpRun run(7, {.leaves = 4, .spines = 2, .hosts_per_leaf = 2});
    run.probe(300, 1000);
    std::uint64_t all = 0;
    for (Observation& probe : run.seen.probes)
      if (run.seen.paths.channels(run.seen.paths.paths(probe.path).front()).front() ==
              run.channel("host1->leaf1") &&
          (hides || rows++ % 4 == 0))
        probe.sent -= held, probe.held = held, all += held;
    const Diagnosis found = run.diagnosed();
    EXPECT_TRUE(found.links.empty() && found.groups.empty() && found.sets.empty());
    EXPECT_EQ(found.account.lost.excused, all);
    EXPECT_EQ(found.account.lost.unexplained, 0u);
    EXPECT_EQ(found.account.lost.all, found.account.lost.tolerated + all);
    EXPECT_EQ(found.verdict, hides ? Verdict::unknown : Verdict::healthy);
    const auto named = std::ranges::find_if(found.hosts, [&](const HostFinding& finding) {
      return finding.host == *run.fabric.find_node("host1") && finding.verdict == Verdict::unknown;
    });
    EXPECT_EQ(named != found.hosts.end(), hides);
  }
}

/// So few that no fault hides behind them: what is left is told as if the host had dropped none.
TEST(DroppedByHosts, AFewDroppedPacketsHideNoLossOfTheHostsCable) {
  constexpr std::size_t kSeeds = draws(24), kLost = 30;
  std::size_t named = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    MadeUpRun run(seed, {.leaves = 4, .spines = 2, .hosts_per_leaf = 2});
    run.fault("leaf1->host1").loss = 0.0005;
    run.probe(300, 1000);
    std::vector<Observation*> into;
    for (Observation& probe : run.seen.probes)
      if (run.seen.paths.channels(run.seen.paths.paths(probe.path).front()).back() ==
          run.channel("leaf1->host1"))
        into.push_back(&probe);
    for (std::size_t i = 0; i < kLost; ++i) ++into[i % into.size()]->lost, ++into[i % into.size()]->excused;
    const Diagnosis found = run.diagnosed();
    named += !found.hosts.empty() && found.hosts.front().verdict == Verdict::degraded ? 1 : 0;
  }
  EXPECT_GE(10 * named, 9 * kSeeds);
}

/// Large packets of a whole wave neither pass the cable nor are read by the host: which of the two took which
/// row nobody knows.
TEST(DroppedByHosts, WhereNothingCameAndTheHostDroppedSomeOfItItsCableIsNotNamed) {
  for (std::uint64_t seed = 1; seed <= draws(24u); ++seed) {
    Drawn drawn(seed);
    const LinkId bad = drawn.draw_link(false);
    const std::string fault = drawn.fault_of(bad, "mtu=1000");
    SCOPED_TRACE(fmt::format("seed {}: {}, stalls {}", seed, fault, fmt::join(drawn.stalls, " ")));
    expect_no_blame(drawn, swept(drawn.fabric, {fault}, {.seed = seed}, drawn.stalls), bad);
  }
}

}  // namespace
}  // namespace weft::diagnosis
