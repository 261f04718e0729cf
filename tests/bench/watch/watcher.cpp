// The watcher's core against a simulated fleet.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/bench/support/random_paths.hpp"
#include "tests/bench/watch/pieces.hpp"
#include "tests/support/standing_fleet.hpp"
#include "topology/base/check.hpp"
#include "topology/base/statistics.hpp"
#include "topology/model/clos.hpp"

namespace weft::bench {
namespace {

Fabric lab() { return *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}); }

struct Trials {
  std::vector<double> seconds;  // until an incident of the right channel opened; a minute: it did not
  int right = 0;                // one incident, of that channel and cause
  int all = 0;
};

/// A fault of a drawn channel of the lab's fabric; the incident within a minute, and what else opens in
/// twenty seconds behind it.
void try_fault(const Fabric& fabric, const FaultSpec& kind, Cause cause, std::uint64_t seed, Trials& trials) {
  std::mt19937_64 random(seed);
  FleetRun run(fabric, {.seed = seed});
  run.advance(20 + static_cast<int>(random() % 5));
  FaultSpec fault = kind;
  fault.channel = ChannelId(static_cast<std::uint32_t>(random() % fabric.channel_count()));
  fault.link = Fabric::link_of(*fault.channel);
  const Nanoseconds from = run.now() + std::chrono::milliseconds(random() % 1000);
  run.fleet().put({fault, from});
  // Which direction of a dead cable of a host it is no round trip tells: both are named.
  const bool both = cause == Cause::down && !fabric.between_switches(fault.link);
  const std::vector<ChannelId> place =
      both ? std::vector{Fabric::a_to_b(fault.link), Fabric::b_to_a(fault.link)}
           : std::vector{*fault.channel};
  const auto is_right = [&](const Incident& incident) {
    return incident.opened && incident.cause == cause && incident.place.nodes.empty() &&
           incident.place.channels == place;
  };
  double took = 60;
  for (int i = 0; i < 60 && took == 60; ++i)
    for (const IncidentEvent& event : run.advance(1))
      if (is_right(event.incident))
        took = std::min(took, std::chrono::duration<double>(event.at - from).count());
  run.advance(20);
  trials.seconds.push_back(took);
  const auto incidents = run.state().incidents;
  const bool right = incidents.size() == 1 && is_right(incidents[0]);
  trials.right += right ? 1 : 0;
  ++trials.all;
  if (!right || took == 60)
    fmt::print("  {}: {} incidents after {:.1f} s\n", fabric.name_of(*fault.channel), incidents.size(), took);
}

}  // namespace

void measure_detection(Figures& figures) {
  const Fabric fabric = lab();
  struct Kind {
    std::string_view figure;
    FaultSpec fault;
    Cause cause;
    std::string_view target;
  };
  const std::vector<Kind> kinds{
      {"detect_down_s", {.link = {}, .down = true}, Cause::down, "at most 3"},
      {"detect_loss1_s", {.link = {}, .loss = Fraction(0.01)}, Cause::loss, "at most 5"},
      {"detect_loss01_s", {.link = {}, .loss = Fraction(0.001)}, Cause::loss, "at most 30"}};
  int right = 0, all = 0;
  for (const Kind& kind : kinds) {
    Trials trials;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) try_fault(fabric, kind.fault, kind.cause, seed, trials);
    figures.add(kind.figure, quantile(trials.seconds, 0.95), kind.target);
    fmt::print("  right: {} of {}\n", trials.right, trials.all);
    right += trials.right, all += trials.all;
  }
  figures.add("right_incident", 100.0 * right / all, "at least 97");
}

void count_false_incidents(Figures& figures) {
  const Fabric fabric = lab();
  int opened = 0, suspected = 0;
  for (std::uint64_t day = 1; day <= 5; ++day) {
    FleetRun run(fabric, {.seed = day, .background = day == 5 ? 1e-5 : 1e-6, .delays = false});
    for (int i = 0; i < 24 * 60; ++i)
      for (const IncidentEvent& event : run.advance(60)) {
        opened += event.change == IncidentChange::opened ? 1 : 0;
        suspected += event.change == IncidentChange::suspected ? 1 : 0;
      }
  }
  figures.add("false_incidents_day", opened, "0");
  figures.add("false_suspicions_five_days", suspected);
}

void measure_ingest(Figures& figures) {
  const Fabric fabric = *make_rails({.groups = 2, .hosts_per_group = 8, .rails = 8, .spines = 8});
  const FleetOptions options{.labels = 32, .partners = 8};
  const watch::StandingPlan plan = fleet_plan(fabric, options);
  StandingFleet fleet(fabric, plan, watch::PlanVersion(1), options);
  struct Sent {
    NodeId host;
    Nanoseconds arrival;
    std::vector<std::byte> bytes;
  };
  std::vector<Sent> windows;
  for (int i = 0; i < 200; ++i)
    for (const SentWindow& sent : fleet.second())
      windows.push_back({sent.host, sent.arrival, watch::encode_window(sent.window)});
  watch::PathSums sums(plan, watch::PlanVersion(1), {});
  std::uint64_t rows = 0, refused = 0;
  const double took = cpu_milliseconds([&] {
    for (const Sent& sent : windows) {
      const auto window = watch::decode_window(sent.bytes);
      WEFT_CHECK(window.has_value());
      const watch::Taken taken = sums.take(sent.host, *window, sent.arrival);
      rows += taken.rows, refused += taken.refused ? 1 : 0;
    }
  });
  fmt::print("  {} windows of {} rows, {} refused\n", windows.size(), plan.rows, refused);
  figures.add("ingest_per_s", static_cast<double>(rows) / took * 1000, "at least 4000000");
}

void measure_look_24576(Figures& figures) {
  const Fabric fabric = rails_24576();
  const FleetOptions options{.labels = 16, .partners = 1, .delays = false};
  const watch::StandingPlan plan = fleet_plan(fabric, options);
  fmt::print("  {} rows, {} channels uncovered, {} thin\n", plan.rows, plan.uncovered.size(),
             plan.thin.size());
  StandingFleet fleet(fabric, plan, watch::PlanVersion(1), options);
  std::mt19937_64 random(1);
  for (int i = 0; i < 8; ++i) {
    const ChannelId channel(static_cast<std::uint32_t>(random() % fabric.channel_count()));
    fleet.put({{.link = Fabric::link_of(channel), .channel = channel, .loss = Fraction(0.01)}});
  }
  watch::PathSums sums(plan, watch::PlanVersion(1), {});
  for (int i = 0; i < 10; ++i)
    for (const SentWindow& sent : fleet.second()) (void)sums.take(sent.host, sent.window, sent.arrival);
  watch::Looker looker(fabric, plan, {});
  const watch::LookContext hosts{std::vector(fabric.node_count(), watch::HostNews::heard),
                                 std::vector<Nanoseconds>(fabric.node_count(), fleet.now())};
  std::size_t lossy = 0, found = 0;
  std::vector<double> took;
  for (int i = 0; i < 5; ++i)
    took.push_back(cpu_milliseconds([&] {
      const auto span = sums.sum(fleet.now(), std::chrono::seconds(8));
      lossy = span.lost.size();
      found = looker.look(span, std::chrono::seconds(2), hosts).findings.size();
    }));
  fmt::print("  {} findings from {} rows that lost; the first look took {:.0f} ms\n", found, lossy,
             took.front());
  figures.add("look_24576_ms", median(took), "at most 300");
}

void measure_detection_24576(Figures& figures) {
  const Fabric fabric = rails_24576();
  FleetRun run(fabric, {.labels = 16, .partners = 1, .delays = false});
  run.advance(4);
  std::mt19937_64 random(1);
  double slowest = 0;
  for (const Tier tier : {Tier::host, Tier::leaf, Tier::spine})
    for (int i = 0; i < 3; ++i) {
      ChannelId channel(0);
      do channel = ChannelId(static_cast<std::uint32_t>(random() % fabric.channel_count()));
      while (std::min(fabric.node(fabric.source_node(channel)).tier,
                      fabric.node(fabric.target_node(channel)).tier) != tier);
      const Nanoseconds from = run.now();
      run.fleet().put({{.link = Fabric::link_of(channel), .channel = channel, .loss = Fraction(0.01)}, from});
      double took = 60;
      for (int second = 0; second < 30 && took == 60; ++second)
        for (const IncidentEvent& event : run.advance(1))
          if (event.incident.opened && event.incident.place.channels == std::vector{channel})
            took = std::chrono::duration<double>(event.at - from).count();
      fmt::print("  {} ({}): {:.1f} s\n", fabric.name_of(channel), to_string(tier), took);
      slowest = std::max(slowest, took);
    }
  figures.add("detect_loss1_24576_s", slowest, "at most 15");
}

}  // namespace weft::bench
