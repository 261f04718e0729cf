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

/// Tells of a loss on the way there what `wanted(stream)` asks for, beside what was lost.
template <class Wanted>
void tell_losses(const FleetRun& run, SentWindow& sent, Wanted wanted) {
  NicWindow& told = sent.window.nics.front();
  const StandingNic& nic = run.plan().nics_of(sent.host).front();
  std::vector<LostProbe> lost;
  for (std::uint32_t i = 0; i < told.count; ++i) {
    const auto known = std::ranges::find(told.lost, i, &LostProbe::offset);
    if (known != told.lost.end())
      lost.push_back(*known);
    else if (wanted(nic.streams[(told.first + i) % nic.streams.size()]))
      lost.push_back({i, LostWay::there});
  }
  told.lost = lost;
}

/// One in `one_in` of the probes of a host that cross a channel is told as lost.
auto liar(const FleetRun& run, NodeId host, ChannelId blamed, std::uint32_t one_in) {
  return [&run, host, blamed, one_in, count = 0u](std::vector<SentWindow>& windows) mutable {
    for (SentWindow& sent : windows)
      if (sent.host == host)
        tell_losses(run, sent, [&](const auto& stream) {
          return crosses(run.plan(), stream.there, blamed) && ++count % one_in == 0;
        });
  };
}

TEST(HostileAgents, ALieBesideAFaultThatAllSeeNamesNothing) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {.background = 1e-5, .delays = false});
  run.fleet().put({{.link = *fabric.find_link("host9--leaf3"), .loss = Fraction(0.02)}, seconds(5)});
  run.between = liar(run, *fabric.find_node("host6"), *fabric.find_channel("leaf2->spine1"), 50);
  run.advance(100);
  EXPECT_THAT(switches_named(fabric, run.events()), IsEmpty());
}

TEST(HostileAgents, LossesThatOneAloneTellsOfAreNoHealthEither) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {.delays = false});
  run.between = liar(run, *fabric.find_node("host6"), *fabric.find_channel("leaf2->spine1"), 50);
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
auto deaf_responder(const Fabric& fabric, const FleetRun& run, NodeId host, ChannelId blamed,
                    std::uint32_t one_in) {
  return [&fabric, &run, host, blamed, one_in, count = 0u](std::vector<SentWindow>& windows) mutable {
    for (SentWindow& sent : windows)
      tell_losses(run, sent, [&](const auto& stream) {
        return fabric.port(stream.peer).node == host && crosses(run.plan(), stream.there, blamed) &&
               ++count % one_in == 0;
      });
  };
}

TEST(HostileAgents, OneThatDoesNotAnswerWhatCameOverALinkHasItNotNamed) {
  const Fabric fabric = lab();
  for (const std::uint32_t one_in : {1, 10}) {
    FleetRun run(fabric, {.delays = false});
    run.between = deaf_responder(fabric, run, *fabric.find_node("host6"),
                                 *fabric.find_channel("spine1->leaf2"), one_in);
    run.advance(60);
    EXPECT_THAT(switches_named(fabric, run.events()), IsEmpty()) << "one in " << one_in;
    EXPECT_NE(run.state().verdict, Verdict::healthy) << "one in " << one_in;
  }
}

}  // namespace
}  // namespace weft::watch
