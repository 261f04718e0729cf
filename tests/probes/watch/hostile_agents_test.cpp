// Agents that lie: what they report, and which probes of others they answer. None of them has a link between
// switches named, whatever else is wrong in the fabric.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;

Fabric lab() { return *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}); }

bool crosses(const StandingPlan& plan, PathSetId set, ChannelId channel) {
  const auto path = plan.paths.channels(plan.paths.paths(set).front());
  return std::ranges::find(path, channel) != path.end();
}

/// Opened incidents that name a cable between switches, or a switch.
std::vector<std::string> switches_named(const Fabric& fabric, const std::vector<IncidentEvent>& events) {
  std::vector<std::string> named;
  for (const IncidentEvent& event : events) {
    if (event.change != IncidentChange::opened) continue;
    for (const ChannelId channel : all_channels(event.incident.place))
      if (fabric.between_switches(Fabric::link_of(channel))) named.push_back(fabric.name_of(channel));
    for (const NodeId node : event.incident.place.nodes)
      if (!fabric.is_host(node)) named.push_back(fabric.name_of(node));
  }
  return named;
}

/// Adds a loss on the way there to one in `one_in` of the probes of a host that cross a channel.
class Liar {
 public:
  Liar(const FleetRun& run, NodeId host, ChannelId blamed, std::uint32_t one_in)
      : run_(&run), host_(host), blamed_(blamed), one_in_(one_in) {}

  void operator()(std::vector<SentWindow>& windows) {
    for (SentWindow& sent : windows) {
      if (sent.host != host_) continue;
      NicWindow& told = sent.window.nics.front();
      const StandingNic& nic = run_->plan().nics_of(host_).front();
      std::vector<LostProbe> lost;
      for (std::uint32_t i = 0; i < told.count; ++i) {
        const auto known = std::ranges::find(told.lost, i, &LostProbe::offset);
        const auto& stream = nic.streams[(told.first + i) % nic.streams.size()];
        if (known != told.lost.end())
          lost.push_back(*known);
        else if (crosses(run_->plan(), stream.there, blamed_) && ++count_ % one_in_ == 0)
          lost.push_back({i, LostWay::there});
      }
      told.lost = lost;
    }
  }

 private:
  const FleetRun* run_;
  NodeId host_;
  ChannelId blamed_;
  std::uint32_t one_in_;
  std::uint32_t count_ = 0;
};

TEST(HostileAgents, ALieBesideAFaultThatAllSeeNamesNothing) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {.background = 1e-5, .delays = false});
  run.fleet().put({{.link = *fabric.find_link("host9--leaf3"), .loss = Fraction(0.02)}, seconds(5)});
  run.between = Liar(run, *fabric.find_node("host6"), *fabric.find_channel("leaf2->spine1"), 50);
  run.advance(100);
  EXPECT_THAT(switches_named(fabric, run.events()), IsEmpty());
}

TEST(HostileAgents, LossesThatOneAloneTellsOfAreNoHealthEither) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {.delays = false});
  run.between = Liar(run, *fabric.find_node("host6"), *fabric.find_channel("leaf2->spine1"), 50);
  run.advance(30);
  for (int second = 0; second < 30; ++second) {
    run.advance(1);
    EXPECT_EQ(run.state().verdict, Verdict::unknown) << second;
  }
  EXPECT_THAT(run.events(), IsEmpty());
}

TEST(HostileAgents, LossesOfTheBackgroundAreHealth) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {.background = 1e-5, .delays = false});
  run.advance(30);
  for (int second = 0; second < 120; ++second) {
    run.advance(1);
    EXPECT_EQ(run.state().verdict, Verdict::healthy) << second;
  }
}

/// Windows of others as if a host dropped one in `one_in` of their probes that came over a channel.
class DeafResponder {
 public:
  DeafResponder(const Fabric& fabric, const FleetRun& run, NodeId host, ChannelId blamed,
                std::uint32_t one_in)
      : fabric_(&fabric), run_(&run), host_(host), blamed_(blamed), one_in_(one_in) {}

  void operator()(std::vector<SentWindow>& windows) {
    for (SentWindow& sent : windows) {
      NicWindow& told = sent.window.nics.front();
      const StandingNic& nic = run_->plan().nics_of(sent.host).front();
      std::vector<LostProbe> lost;
      for (std::uint32_t i = 0; i < told.count; ++i) {
        const auto known = std::ranges::find(told.lost, i, &LostProbe::offset);
        const auto& stream = nic.streams[(told.first + i) % nic.streams.size()];
        const bool is_to_it = fabric_->port(stream.peer).node == host_;
        if (known != told.lost.end())
          lost.push_back(*known);
        else if (is_to_it && crosses(run_->plan(), stream.there, blamed_) && ++count_ % one_in_ == 0)
          lost.push_back({i, LostWay::there});
      }
      told.lost = lost;
    }
  }

 private:
  const Fabric* fabric_;
  const FleetRun* run_;
  NodeId host_;
  ChannelId blamed_;
  std::uint32_t one_in_;
  std::uint32_t count_ = 0;
};

TEST(HostileAgents, OneThatDoesNotAnswerWhatCameOverALinkHasItNotNamed) {
  const Fabric fabric = lab();
  for (const std::uint32_t one_in : {1, 10}) {
    FleetRun run(fabric, {.delays = false});
    run.between =
        DeafResponder(fabric, run, *fabric.find_node("host6"), *fabric.find_channel("spine1->leaf2"), one_in);
    run.advance(60);
    EXPECT_THAT(switches_named(fabric, run.events()), IsEmpty()) << "one in " << one_in;
    EXPECT_NE(run.state().verdict, Verdict::healthy) << "one in " << one_in;
  }
}

}  // namespace
}  // namespace weft::watch
