// Hosts that do not run for a while: probes to them are answered too late, which is no fault of a cable.
#include <gmock/gmock.h>

#include <algorithm>
#include <deque>

#include "probes/watch/watcher.hpp"
#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

/// What an agent tells of a stall: nothing until it is over, then that it was.
struct Stall {
  NodeId host;
  Nanoseconds from{}, until{};
};

class StalledFleet {
 public:
  explicit StalledFleet(const Fabric& fabric, const FleetOptions& options = {})
      : run(fabric, options), fabric_(&fabric) {
    run.between = [this](std::vector<SentWindow>& windows) { change(windows); };
  }

  FleetRun run;
  std::vector<Stall> stalls;

 private:
  void change(std::vector<SentWindow>& windows) {
    for (SentWindow& sent : windows) {
      const Nanoseconds begin = sent.window.begin - seconds(1000), end = begin + seconds(1);
      for (const Stall& stall : stalls)
        if (stall.host != sent.host)
          lose(sent, stall, begin);
        else if (stall.from < end && begin < stall.until)
          sent.window.stalled = true, sent.arrival = std::max(sent.arrival, stall.until + milliseconds(250));
      held_.push_back(std::move(sent));
    }
    // Each agent's own in order.
    std::ranges::stable_sort(held_, {}, &SentWindow::arrival);
    const auto later = std::ranges::find_if(
        held_, [&](const SentWindow& sent) { return sent.arrival > run.now() + milliseconds(250); });
    windows.assign(std::make_move_iterator(held_.begin()), std::make_move_iterator(later));
    held_.erase(held_.begin(), later);
  }

  /// What the host answers when it runs again is later than the answer wait; it counted it.
  void lose(SentWindow& sent, const Stall& stall, Nanoseconds begin) const {
    const auto nics = run.plan().nics_of(sent.host);
    for (NicWindow& window : sent.window.nics) {
      const StandingNic& nic = nics[window.nic];
      for (std::uint32_t p = 0; p < window.count; ++p) {
        const auto& stream = nic.streams[(window.first + p) % nic.streams.size()];
        const auto at = begin + Nanoseconds(static_cast<std::int64_t>(p / nic.packets_per_second * 1e9));
        const bool late = at >= stall.from && at < stall.until - milliseconds(200);
        if (!late || fabric_->port(stream.peer).node != stall.host) continue;
        if (std::ranges::find(window.lost, p, &LostProbe::offset) == window.lost.end())
          window.lost.push_back({p, LostWay::back});
      }
      std::ranges::sort(window.lost, {}, &LostProbe::offset);
    }
  }

  const Fabric* fabric_;
  std::deque<SentWindow> held_;
};

Fabric lab() { return *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}); }

FleetFault lossy(const Fabric& fabric, std::string_view channel, double share, Nanoseconds from) {
  const ChannelId at = *fabric.find_channel(channel);
  return {{.link = Fabric::link_of(at), .channel = at, .loss = Fraction(share)}, from};
}

std::vector<std::vector<ChannelId>> opened(const std::vector<IncidentEvent>& events) {
  std::vector<std::vector<ChannelId>> places;
  for (const IncidentEvent& event : events)
    if (event.change == IncidentChange::opened) places.push_back(event.incident.place.channels);
  return places;
}

TEST(StalledHosts, OpenNoIncident) {
  const Fabric fabric = lab();
  for (const int ms : {300, 500, 800, 1200, 1500, 2500}) {
    StalledFleet fleet(fabric, {.seed = static_cast<std::uint64_t>(ms)});
    const NodeId host = *fabric.find_node("host2");
    for (int i = 0; i < 12; ++i) {
      const auto from = seconds(10 + 5 * i) + milliseconds(137 * i % 1000);
      fleet.stalls.push_back({host, from, from + milliseconds(ms)});
    }
    const auto events = fleet.run.advance(90);
    EXPECT_THAT(opened(events), IsEmpty()) << ms;
    if (ms > 2000) continue;  // a host of which nothing is heard for three seconds may be down
    EXPECT_THAT(events, IsEmpty()) << ms << ": not even suspected";
    fleet.run.advance(45);
    EXPECT_EQ(fleet.run.state().verdict, Verdict::healthy) << ms << ": it runs again for long";
  }
}

TEST(StalledHosts, AllOfThemAtDrawnTimesOpenNoIncident) {
  const Fabric fabric = lab();
  StalledFleet fleet(fabric);
  std::mt19937_64 random(5);
  for (const NodeId host : fabric.hosts())
    for (Nanoseconds at = seconds(8); at < seconds(110);) {
      at += milliseconds(random() % 8000);
      const auto length = milliseconds(150 + random() % 1300);
      fleet.stalls.push_back({host, at, at + length});
      at += length;
    }
  EXPECT_THAT(opened(fleet.run.advance(140)), IsEmpty());
}

TEST(StalledHosts, HideNoLossyCableElsewhere) {
  const Fabric fabric = lab();
  StalledFleet fleet(fabric);
  const NodeId host = *fabric.find_node("host2");
  for (int i = 0; i < 15; ++i)
    fleet.stalls.push_back({host, seconds(10 + 2 * i), seconds(10 + 2 * i) + milliseconds(900)});
  fleet.run.advance(15);
  const auto fault = lossy(fabric, "host7->leaf2", 0.01, fleet.run.now());
  fleet.run.fleet().put(fault);
  const auto events = fleet.run.advance(20);
  EXPECT_THAT(opened(events), ElementsAre(ElementsAre(*fault.fault.channel)));
}

TEST(StalledHosts, TheirOwnLossyCableIsNamedOnceTheyRunAgain) {
  const Fabric fabric = lab();
  for (const char* channel : {"host2->leaf1", "leaf1->host2"}) {
    StalledFleet fleet(fabric);
    const NodeId host = *fabric.find_node("host2");
    for (int i = 0; i < 30; ++i)
      fleet.stalls.push_back({host, seconds(10 + i), seconds(10 + i) + milliseconds(700)});
    fleet.run.advance(12);
    fleet.run.fleet().put(lossy(fabric, channel, 0.01, fleet.run.now()));
    EXPECT_THAT(opened(fleet.run.advance(28)), IsEmpty());
    EXPECT_NE(fleet.run.state().verdict, Verdict::healthy) << "what is not known is not healthy";
    std::vector<std::vector<ChannelId>> places;
    for (int i = 0; i < 12 && places.empty(); ++i) places = opened(fleet.run.advance(1));
    EXPECT_THAT(places, ElementsAre(ElementsAre(*fabric.find_channel(channel))));
  }
}

// A host sees what is lost on its way there; one that tells of a stall in just those seconds hides its cable.
TEST(StalledHosts, WhoSaysSoWheneverHeLosesIsNotHealthy) {
  const Fabric fabric = lab();
  for (const double loss : {0.002, 0.01, 0.1}) {
    FleetRun run(fabric, {});
    const NodeId host = *fabric.find_node("host2");
    run.between = [&](std::vector<SentWindow>& windows) {
      const bool loses = std::ranges::any_of(windows, [&](const SentWindow& sent) {
        const auto nics = run.plan().nics_of(sent.host);
        return std::ranges::any_of(sent.window.nics, [&](const NicWindow& window) {
          const auto& streams = nics[window.nic].streams;
          return std::ranges::any_of(window.lost, [&](const LostProbe& lost) {
            return fabric.port(streams[(window.first + lost.offset) % streams.size()].peer).node == host;
          });
        });
      });
      for (SentWindow& sent : windows) sent.window.stalled |= loses && sent.host == host;
    };
    run.advance(10);
    EXPECT_EQ(run.state().verdict, Verdict::healthy);
    run.fleet().put(lossy(fabric, "leaf1->host2", loss, run.now()));
    run.advance(60);
    const ChannelId hidden = *fabric.find_channel("leaf1->host2");
    EXPECT_NE(run.state().channels[hidden.value()].verdict, Verdict::healthy) << loss;
    EXPECT_NE(run.state().verdict, Verdict::healthy) << loss;
  }
}

// What was counted as passed before the host told, too.
TEST(StalledHosts, WhoSaysSoLateIsNotHealthy) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  const NodeId host = *fabric.find_node("host2");
  run.advance(10);
  std::deque<SentWindow> held;
  run.between = [&](std::vector<SentWindow>& windows) {
    for (SentWindow& sent : windows)
      if (sent.host == host) {
        sent.window.stalled = true;
        sent.arrival += milliseconds(2500);
        held.push_back(std::move(sent));
      }
    std::erase_if(windows, [&](const SentWindow& sent) { return sent.host == host; });
    while (!held.empty() && held.front().arrival <= run.now() + milliseconds(250)) {
      windows.push_back(std::move(held.front()));
      held.pop_front();
    }
  };
  run.fleet().put(lossy(fabric, "leaf1->host2", 0.01, run.now()));
  run.advance(60);
  const ChannelId hidden = *fabric.find_channel("leaf1->host2");
  EXPECT_NE(run.state().channels[hidden.value()].verdict, Verdict::healthy);
}

TEST(StalledHosts, WhoIsStalledAllTheTimeIsNotHealthy) {
  const Fabric fabric = lab();
  StalledFleet fleet(fabric);
  fleet.run.advance(10);
  EXPECT_EQ(fleet.run.state().verdict, Verdict::healthy);
  const NodeId host = *fabric.find_node("host2");
  for (int i = 0; i < 60; ++i)
    fleet.stalls.push_back(
        {host, fleet.run.now() + i * seconds(1), fleet.run.now() + i * seconds(1) + milliseconds(600)});
  EXPECT_THAT(opened(fleet.run.advance(20)), IsEmpty());
  const auto state = fleet.run.state();
  EXPECT_EQ(state.verdict, Verdict::unknown);
  for (const ChannelId channel : fabric.channels_at(host))
    EXPECT_EQ(state.channels[channel.value()].verdict, Verdict::unknown);
}

}  // namespace
}  // namespace weft::watch
