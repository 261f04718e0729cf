// A watcher's loop over a bus in memory, by a clock of the test's own: who is active, what is written, what
// is told.
#include "probes/run/watch_loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/run/shared_plan.hpp"
#include "probes/watch/assignment_json.hpp"
#include "tests/fakes/fake_watch_bus.hpp"
#include "tests/support/standing_fleet.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/model/clos.hpp"

namespace weft::run {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// What a watcher told whoever listens.
class Reported : public WatchListener {
 public:
  void on_event(const IncidentEvent& event, const watch::StoredEvent& stored, bool followed) override {
    (followed ? read : written).push_back(stored.sequence);
    last = event;
  }
  void on_event_elsewhere(const files::EventReport& event, const watch::StoredEvent&, bool) override {
    elsewhere.push_back(event.number);
  }
  void on_counters(counters::HostPorts own, std::string text) override {
    heard.emplace_back(std::move(own), std::move(text));
  }
  void on_state(const watch::WatchState& state) override { states.push_back(state); }
  void on_note(std::string_view text) override { notes.emplace_back(text); }
  int count(std::string_view text) const {
    return static_cast<int>(std::ranges::count_if(
        notes, [&](const std::string& note) { return note.find(text) != std::string::npos; }));
  }
  /// Of states that say so.
  std::ptrdiff_t said_active(bool active) const {
    return std::ranges::count(states, active, &watch::WatchState::active);
  }

  std::vector<std::uint64_t> written, read, elsewhere;
  std::vector<watch::WatchState> states;
  std::vector<std::string> notes;
  std::vector<std::pair<counters::HostPorts, std::string>> heard;  // of counters
  std::optional<IncidentEvent> last;
};

/// Passes on what it is asked; the clock goes on by `takes` with each append.
class SlowEvents : public watch::EventLog {
 public:
  SlowEvents(std::unique_ptr<watch::EventLog> to, Nanoseconds& now, const Nanoseconds& takes)
      : to_(std::move(to)), now_(now), takes_(takes) {}
  Result<std::uint64_t> append(std::uint64_t incident, std::uint64_t last, std::string_view text) override {
    auto done = to_->append(incident, last, text);
    now_ += takes_;
    return done;
  }
  Result<std::vector<watch::StoredEvent>> read_behind(std::uint64_t sequence, std::size_t most) override {
    return to_->read_behind(sequence, most);
  }
  Result<std::optional<watch::StoredEvent>> last_of(std::uint64_t incident) override {
    return to_->last_of(incident);
  }

 private:
  std::unique_ptr<watch::EventLog> to_;
  Nanoseconds& now_;
  const Nanoseconds& takes_;
};

/// A fabric, its bus, its agents (simulated) and the clock of all.
class Rig {
 public:
  Rig() {
    bus.clock = [this] { return now; };
    for (const NodeId host : fabric.hosts()) agents.push_back(bus.agent(fabric.name_of(host)));
    place.nics.clear();
    for (const auto& [nic, end] : fleet_ends(fabric, plan)) place.nics.push_back(end.at);
  }

  WatchParts parts() {
    bus::WatchLink link{bus.feed(), std::make_unique<SlowEvents>(bus.event_log(), now, append_takes),
                        bus.lease(), bus.values()};
    const auto map = [this](const HeardHosts& heard, const std::stop_token&) -> Result<MappedPlan> {
      heard_hosts = static_cast<int>(heard.size());
      ++mappings;
      return MappedPlan{plan};
    };
    return {std::move(link), map, [this] { return now; }, [this] { return now + wall_offset; }, 0ns};
  }

  /// What the agents of this plan send in a second, over a fabric with `fault`.
  void agents_send(watch::PlanVersion version) {
    if (!fleet_ || version != version_) {
      fleet_.emplace(fabric, plan, version, FleetOptions{.background = 0});
      is_put_ = false;
    }
    version_ = version;
    if (fault && !std::exchange(is_put_, true)) {
      fleet_->put({*fault});
      if (another) fleet_->put({*another});
    }
    for (SentWindow& sent : fleet_->second()) {
      if (change) change(sent);
      const auto node = std::ranges::find(fabric.hosts(), sent.host);
      const auto at = static_cast<std::size_t>(node - fabric.hosts().begin());
      const watch::MessageId id{sent.window.boot + 1000 * version.value(), sent.window.number};
      static_cast<void>(agents[at]->publish(id, watch::encode_window(sent.window)));
    }
  }
  /// The plan that the first host was assigned last.
  std::optional<watch::Assignment> assigned() {
    std::optional<watch::Assignment> last;
    while (auto word = agents.front()->next_word(0ns).value()) last = watch::read_assignment(*word).value();
    return last;
  }

  Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  watch::StandingPlan plan = fleet_plan(fabric, {});
  AddressBook addresses;
  WatchPlace place{fabric, addresses, {}, {}, {}, {}};
  WatchOptions options;
  ::weft::fakes::FakeWatchBus bus;
  std::vector<std::unique_ptr<watch::AgentLink>> agents;
  Nanoseconds now = 1000s, wall_offset = 1'769'860'800s, append_takes{};
  std::optional<FaultSpec> fault;
  std::optional<FaultSpec> another;  // with it
  std::function<void(SentWindow&)> change;
  std::atomic<int> mappings = 0;
  std::atomic<int> heard_hosts = 0;  // as of the last mapping

  /// The agent of this host, by its number, says that it is there.
  void send_hello(std::size_t agent) {
    const auto text = watch::to_json_text(watch::AgentHello{.host = fabric.name_of(fabric.hosts()[agent]),
                                                            .version = "1",
                                                            .boot = 1,
                                                            .plan = {},
                                                            .interfaces = {}});
    ASSERT_TRUE(agents[agent]->send_text(text));
  }

 private:
  std::optional<StandingFleet> fleet_;
  watch::PlanVersion version_;
  bool is_put_ = false;
};

struct Watch {
  explicit Watch(Rig& its) : rig(its), loop(its.place, its.options, told, its.parts()) {}
  /// Turns, a tenth of a second each; agents send by the plan that they were assigned.
  void run_for(Nanoseconds time) {
    for (const auto until = rig.now + time; rig.now < until; rig.now += 100ms) {
      if (auto assignment = rig.assigned()) version = assignment->plan;
      if (rig.now % 1s < 100ms && version != watch::PlanVersion()) rig.agents_send(version);
      loop.turn();
      if (told.states.empty() || !rig.mappings) std::this_thread::sleep_for(1ms);  // the thread that maps
    }
  }
  void run_until_planned() {
    for (int i = 0; i < 1000 && told.count("plan ") == 0; ++i) {
      loop.turn();
      std::this_thread::sleep_for(1ms);
    }
    ASSERT_EQ(told.count("plan "), 1);
  }

  Rig& rig;
  Reported told;
  watch::PlanVersion version;
  WatchLoop loop;
};

FaultSpec dead(const Fabric& fabric, std::string_view link) {
  return {.link = fabric.find_link(link).value(), .down = true};
}

TEST(WatchLoop, TakesOverWithIncidentsAndPlanAndMapsNothingBeforeItSees) {
  Rig rig;
  Watch first(rig);
  first.run_until_planned();
  first.run_for(5s);
  rig.fault = dead(rig.fabric, "leaf1--spine1");
  first.run_for(10s);
  ASSERT_TRUE(first.told.last);
  ASSERT_EQ(first.told.last->incident.state, IncidentState::open);
  const auto before = rig.bus.events().size();
  const int mapped = rig.mappings;

  Watch second(rig);  // the first has its last turn behind it: kill -9
  const auto killed = rig.now;
  while (second.told.count("as the active watcher") == 0 && rig.now < killed + 10s) second.run_for(100ms);
  EXPECT_LE(rig.now - killed, kLeaseTime + 1s);
  EXPECT_EQ(second.told.count("plan 2"), 1) << "that of the first, under a version of its own";
  EXPECT_EQ(rig.mappings, mapped);
  EXPECT_THAT(second.told.read, SizeIs(before));
  second.run_for(5s);
  ASSERT_FALSE(second.told.states.empty());
  EXPECT_THAT(second.told.states.back().incidents, SizeIs(1)) << "neither lost nor doubled";
  EXPECT_EQ(second.told.states.back().incidents[0].id, IncidentId(1));
  EXPECT_EQ(second.version, watch::PlanVersion(2)) << "the agents work by it";
  EXPECT_GT(second.told.states.back().windows, 0u);
  for (const auto& agent : second.told.states.back().agents)
    EXPECT_EQ(agent.refused, 0u) << "older plans: no offence";
  for (const auto& event : rig.bus.events()) EXPECT_EQ(event.incident, 1u);
}

TEST(WatchLoop, ARouteThatMovedIsToldAndPathsAreMappedAgainSoon) {
  Rig rig;
  rig.addresses = plan_addresses(rig.fabric, IpFamily::v4).value().book;
  Watch only(rig);
  only.run_until_planned();
  const auto told = rig.assigned();
  ASSERT_TRUE(told);
  EXPECT_GT(told->nics.at(0).traces_per_second, 0);
  std::optional<std::uint32_t> traced;
  for (std::uint32_t s = 0; s < told->nics[0].streams.size(); ++s)
    if (told->nics[0].streams[s].trace_hop == 2) traced = s;
  ASSERT_TRUE(traced);
  only.version = told->plan;
  only.run_for(6s);
  EXPECT_EQ(only.told.states.back().verdict, Verdict::healthy);
  const int mapped = rig.mappings;
  // The answer of a spine's port that no way from that host enters.
  const auto elsewhere =
      rig.addresses.address_of(rig.fabric.target(*rig.fabric.find_channel("leaf2->spine1")));
  rig.change = [&](SentWindow& sent) {
    if (sent.host == rig.fabric.hosts()[0]) sent.window.nics.at(0).traced = {{*traced, *elsewhere}};
  };
  only.run_for(3s);  // less than ten seconds after the last mapping
  EXPECT_EQ(only.told.count("routes moved: label "), 1);
  EXPECT_EQ(only.told.count("goes by leaf2->spine1 at hop 2"), 1);
  EXPECT_TRUE(only.told.states.back().routes_moved);
  EXPECT_EQ(only.told.states.back().verdict, Verdict::unknown);
  rig.change = nullptr;
  const auto until = rig.now + 15s;
  while (rig.mappings == mapped && rig.now < until) only.run_for(100ms);
  EXPECT_GT(rig.mappings, mapped) << "not only after a minute";
  only.run_for(3s);
  EXPECT_FALSE(only.told.states.back().routes_moved);
  EXPECT_EQ(only.told.states.back().verdict, Verdict::healthy);
}

TEST(WatchLoop, AFrozenOneThatThawsWritesNothingAndTellsItsStateOnce) {
  Rig rig;
  Watch first(rig);
  first.run_until_planned();
  first.run_for(5s);
  rig.fault = dead(rig.fabric, "leaf1--spine1");
  first.run_for(1s);
  const auto before = first.told.written;
  Watch second(rig);
  rig.now += 4s;
  second.run_for(12s);
  ASSERT_EQ(second.told.said_active(true) > 0, true);
  const auto written = rig.bus.events().size();
  ASSERT_GT(written, 0u);

  const auto states = first.told.states.size();
  first.run_for(2s);  // SIGCONT; shorter than the lease of the second, which does nothing meanwhile
  EXPECT_EQ(rig.bus.events().size(), written);
  EXPECT_EQ(first.told.written, before);
  EXPECT_EQ(first.told.count("no longer the active watcher"), 1);
  EXPECT_EQ(first.told.states.size(), states + 1);
  EXPECT_FALSE(first.told.states.back().active);
}

TEST(WatchLoop, ALeaseThatRanOutBetweenTwoWritesStopsTheSecond) {
  Rig rig;
  Watch only(rig);
  only.run_until_planned();
  only.run_for(5s);
  rig.append_takes = 4s;  // as if it were stopped in the midst of it
  rig.another = dead(rig.fabric, "host3--leaf2");
  rig.fault = dead(rig.fabric, "host1--leaf1");
  while (rig.bus.events().empty() && rig.now < 1100s) only.run_for(100ms);
  // It suspects two in one look; the second event was due after the lease.
  EXPECT_THAT(only.told.written, SizeIs(1));
  EXPECT_THAT(rig.bus.events(), SizeIs(1));
  EXPECT_EQ(only.told.count("its lease ran out"), 1);
  rig.append_takes = 0s;
  only.run_for(1s);
  EXPECT_THAT(rig.bus.events(), SizeIs(::testing::Ge(2u))) << "nobody else came: it goes on with what waited";
}

TEST(WatchLoop, OneWhoseEventIsRefusedReadsWhatTheOtherWroteAndBeginsWithThat) {
  Rig rig;
  Watch first(rig);
  first.run_until_planned();
  first.run_for(5s);
  rig.fault = dead(rig.fabric, "leaf1--spine1");
  first.run_for(10s);
  ASSERT_THAT(first.told.written, SizeIs(::testing::Ge(2u)));
  auto other = *first.told.last;
  other.incident.state = IncidentState::closed;
  other.change = IncidentChange::closed;
  rig.bus.write_event(1, files::event_line(files::report_of(rig.fabric, other)));
  rig.bus.set_away(true);
  first.run_for(4s);
  rig.bus.set_away(false);
  first.run_for(8s);
  EXPECT_EQ(first.told.read.size(), 1u);
  ASSERT_FALSE(first.told.states.empty());
  for (const Incident& incident : first.told.states.back().incidents)
    EXPECT_NE(incident.id, IncidentId(1)) << "the other closed it";
}

TEST(WatchLoop, AnEventIsItsOwnAlsoWhereTheAnswerThatItIsKeptWasLost) {
  for (const Nanoseconds away : {0s, 5s}) {  // longer than the lease: it takes over from itself
    Rig rig;
    Watch only(rig);
    only.run_until_planned();
    only.run_for(5s);
    rig.bus.lost_answers = 1;
    rig.fault = dead(rig.fabric, "leaf1--spine1");
    while (rig.bus.events().empty() && rig.now < 1100s) only.run_for(100ms);
    rig.bus.set_away(away > 0s);
    only.run_for(away);
    rig.bus.set_away(false);
    only.run_for(10s);
    EXPECT_THAT(only.told.read, IsEmpty()) << "it would be told to nobody";
    EXPECT_THAT(only.told.written, SizeIs(rig.bus.events().size()));
    EXPECT_EQ(only.told.count("another watcher wrote"), 0);
  }
}

TEST(WatchLoop, MutesHoldAlsoAfterItWasDemotedAndBeganAnew) {
  Rig rig;
  const Mute mute{rig.fabric.find_node("spine1").value(), rig.wall_offset, rig.wall_offset + 3600s, "optics",
                  "ann"};
  ASSERT_TRUE(rig.bus.values()->put(kMutesKey, 0, files::mutes_text(rig.fabric, {mute})));
  Watch first(rig);
  first.run_until_planned();
  first.run_for(5s);
  rig.bus.write_event(9, "{}");  // another wrote meanwhile
  rig.bus.set_away(true);
  first.run_for(4s);
  rig.bus.set_away(false);
  first.run_for(5s);
  rig.fault = dead(rig.fabric, "leaf1--spine1");
  first.run_for(10s);
  ASSERT_TRUE(first.told.last);
  EXPECT_EQ(first.told.last->incident.muted_by, "optics");
}

TEST(WatchLoop, AWallClockThatStepsDecidesNothing) {
  Rig rig;
  Watch only(rig);
  only.run_until_planned();
  only.run_for(5s);
  rig.wall_offset -= 3600s;
  only.run_for(5s);
  rig.wall_offset += 2 * 3600s;
  only.run_for(5s);
  EXPECT_EQ(only.told.count("no longer"), 0);
  EXPECT_THAT(rig.bus.events(), IsEmpty());
  EXPECT_EQ(only.told.states.back().verdict, Verdict::healthy);
  rig.fault = dead(rig.fabric, "leaf1--spine1");
  only.run_for(5s);
  ASSERT_TRUE(only.told.last);
  rig.wall_offset -= 7200s;
  only.run_for(5s);
  EXPECT_EQ(only.told.states.back().incidents.at(0).state, IncidentState::open);
  EXPECT_GE(only.told.states.back().incidents.at(0).last_seen,
            only.told.states.back().incidents.at(0).first_seen);
}

TEST(WatchLoop, AnAgentOfAnotherProtocolIsNamedOnceAndToldNothing) {
  Rig rig;
  Watch only(rig);
  only.run_until_planned();
  static_cast<void>(rig.assigned());
  const auto text = watch::to_json_text(watch::AgentHello{.host = rig.fabric.name_of(rig.fabric.hosts()[0]),
                                                          .version = "0.1",
                                                          .boot = 1,
                                                          .plan = {},
                                                          .interfaces = {},
                                                          .protocol = watch::kWatchProtocol + 1});
  only.loop.turn();
  static_cast<void>(rig.assigned());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(rig.agents[0]->send_text(text));
    only.loop.turn();
  }
  EXPECT_EQ(only.told.count("speaks protocol 2"), 1);
  EXPECT_FALSE(rig.assigned());
}

TEST(WatchLoop, NicsWhoseAgentsHaveAnotherEngineAreNotProbedAndMovedQueuePairsAreToldToTheOthers) {
  Rig rig;
  Watch only(rig);
  only.run_until_planned();
  const auto hosts = rig.fabric.hosts();
  const auto say = [&](std::size_t agent, const char* engine, std::optional<std::uint32_t> qp,
                       std::vector<std::string> troubles = {}) {
    watch::AgentHello hello{.host = rig.fabric.name_of(hosts[agent]),
                            .version = "1",
                            .boot = 1,
                            .plan = only.version,
                            .interfaces = {},
                            .troubles = std::move(troubles),
                            .engine = engine};
    const auto nic = rig.fabric.nics()[agent];
    for (const datapath::RunNic& one : rig.place.nics)
      if (qp && one.nic == nic)
        hello.interfaces = {{"eth0", {one.address}, packet::UdPair{QpNum(*qp), packet::QueueKey(7)}}};
    ASSERT_TRUE(rig.agents[agent]->send_text(watch::to_json_text(hello)));
  };
  const auto last = hosts.size() - 1;
  for (std::size_t i = 0; i < last; ++i) say(i, "verbs", 100 + static_cast<std::uint32_t>(i));
  say(last, "raw", {}, {"eth1: no such interface"});
  only.run_for(15s);
  EXPECT_EQ(only.told.count("pairs of NICs are not probed"), 1) << "of a plan once";
  EXPECT_EQ(only.told.count(": eth1: no such interface"), 1);
  EXPECT_EQ(only.told.count("plan 2: "), 1);
  const auto pairs_told = [&] {
    const auto told = rig.assigned();
    return told ? told->pairs : packet::UdPairs();
  };
  say(0, "verbs", 100);  // of a plan before: it is assigned again
  only.loop.turn();
  const auto pairs = pairs_told();
  EXPECT_EQ(pairs.size(), last - 1) << "of the NICs that it probes or that probe it, not of the raw one";
  static_cast<void>(rig.assigned());
  say(1, "verbs", 200);
  only.loop.turn();
  const auto moved = pairs_told();
  ASSERT_EQ(moved.size(), pairs.size());
  EXPECT_EQ(std::ranges::count(moved, QpNum(200), [](const auto& one) { return one.second.qp; }), 1);
  EXPECT_EQ(only.told.count("plan 3: "), 0) << "no plan begins anew";
}

TEST(WatchLoop, PathsThatAreReadAreReadOnceAllAgentsCameOrTheTimeForItIsOver) {
  for (const bool all_come : {true, false}) {
    Rig rig;
    for (const NodeId host : rig.fabric.hosts()) rig.place.hosts.push_back({host, {}, {}});
    rig.options.read_plan = [](const std::vector<PortId>&, const std::stop_token&) -> Result<MappedPlan> {
      return MappedPlan{};
    };
    Watch only(rig);
    only.loop.turn();
    for (std::size_t i = 0; i + 1 < rig.agents.size(); ++i) rig.send_hello(i);
    only.run_for(5s);
    EXPECT_EQ(rig.mappings, 0) << "one is missing";
    if (all_come) rig.send_hello(rig.agents.size() - 1);
    only.run_for(all_come ? 1s : 6s);
    only.run_until_planned();
    EXPECT_EQ(rig.mappings, 1);
    EXPECT_EQ(rig.heard_hosts, static_cast<int>(rig.agents.size()) - (all_come ? 0 : 1));
  }
}

TEST(WatchLoop, CountersAreOfTheHostWhoseSubjectTheyCameByWhetherItLeadsOrNot) {
  Rig rig;
  rig.addresses = plan_addresses(rig.fabric, IpFamily::v4).value().book;
  Watch leads(rig), follows(rig);
  for (int i = 0; i < 3; ++i) leads.loop.turn(), follows.loop.turn();
  ASSERT_TRUE(rig.agents[1]->report_counters("anything"));
  ASSERT_TRUE(rig.bus.agent("nobody")->report_counters("a host that the fabric does not have"));
  ASSERT_TRUE(rig.bus.agent("leaf1")->report_counters("a switch has no agent"));
  const auto host = rig.fabric.hosts()[1];
  for (Watch* watch : {&leads, &follows}) {
    watch->loop.turn();
    ASSERT_THAT(watch->told.heard, SizeIs(1));
    const auto& [own, text] = watch->told.heard[0];
    EXPECT_EQ(text, "anything");
    EXPECT_EQ(own.source, "agent " + rig.fabric.name_of(host));
    ASSERT_THAT(own.ports, SizeIs(rig.fabric.ports_of(host).size()));
    for (const auto& [address, port] : own.ports) {
      EXPECT_EQ(rig.fabric.port(port).node, host);
      EXPECT_EQ(address, to_string(*rig.addresses.address_of(port)));
    }
  }
}

TEST(WatchLoop, AFabricFileThatChangedIsMappedAnewAndOldEventsOfNamesThatAreGoneAreSaid) {
  Rig rig;
  {
    Watch first(rig);
    first.run_until_planned();
    first.run_for(5s);
    rig.fault = dead(rig.fabric, "leaf1--spine2");
    first.run_for(10s);
    ASSERT_FALSE(rig.bus.events().empty());
  }
  const auto before = rig.bus.events();
  const Fabric smaller = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 2}).value();
  WatchPlace place{smaller, rig.addresses, {}, {}, {}, {}};
  Reported told;
  WatchParts parts = rig.parts();
  int mappings = 0;
  parts.map = [&](const HeardHosts&, const std::stop_token&) -> Result<MappedPlan> {
    ++mappings;
    return fail(ErrorKind::timeout, "not now");
  };
  WatchLoop second(place, rig.options, told, std::move(parts));
  for (int i = 0; i < 50; ++i, rig.now += 100ms) second.turn();
  EXPECT_EQ(told.count("spine2"), static_cast<int>(before.size()));
  const auto after = rig.bus.events();
  ASSERT_EQ(after.size(), before.size() + 1) << "of what is gone nobody would ever say that it is over";
  const auto end = files::parse_event(after.back().text, "the end");
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->change, IncidentChange::closed);
  EXPECT_EQ(end->number, files::parse_event(before.back().text, "")->number + 1);
  EXPECT_THAT(told.elsewhere, SizeIs(before.size() + 1));
  EXPECT_EQ(told.count("plan 2"), 0) << "the plan of another fabric is not taken over";
  EXPECT_EQ(told.count("mapping paths"), 1);
}

IncidentEvent event_of(const Fabric& fabric, std::uint64_t incident, std::uint64_t number) {
  IncidentEvent event{.number = number, .incident = {.id = IncidentId(incident)}};
  event.incident.place.channels = {*fabric.find_channel("leaf1->spine1")};
  event.incident.state = IncidentState::open;
  event.incident.opened = 1s;
  return event;
}

TEST(WatchEvents, GoOnInAStreamThatWasMadeAnewAndNumberIncidentsAboveAllThatWereRead) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  ::weft::fakes::FakeWatchBus bus;
  Reported told;
  const auto log = bus.event_log();
  WatchEvents events(fabric, *log, told);
  bus.write_event(9, "{}");  // unreadable
  ASSERT_TRUE(events.follow([] {}));
  events.add({event_of(fabric, 1, 0), event_of(fabric, 1, 1)});
  EXPECT_EQ(events.write([] { return true; }), WatchEvents::Written::as_far_as_it_goes);
  EXPECT_EQ(events.last_incident(), 9u);
  bus.make_events_anew();
  events.add({event_of(fabric, 1, 2), event_of(fabric, 1, 3)});
  EXPECT_EQ(events.write([] { return true; }), WatchEvents::Written::as_far_as_it_goes);
  EXPECT_EQ(told.written, (std::vector<std::uint64_t>{2, 3, 1, 2}));
  bus.write_event(1, files::event_line(files::report_of(fabric, event_of(fabric, 1, 4))));
  events.add({event_of(fabric, 1, 4)});
  EXPECT_EQ(events.write([] { return true; }), WatchEvents::Written::as_far_as_it_goes) << "it is there";
  events.add({event_of(fabric, 1, 5)});
  bus.write_event(1, "{}");
  EXPECT_EQ(events.write([] { return true; }), WatchEvents::Written::refused) << "another wrote";
}

TEST(SharedPlan, IsReadWholeOrNotAtAll) {
  ::weft::fakes::FakeWatchBus bus;
  const auto values = bus.values();
  SharedPlan one(*values), other(*values);
  EXPECT_FALSE(other.read()) << "there is none";
  const std::string first(2'000'000, 'a'), second(1'900'000, 'b');
  ASSERT_TRUE(one.set(first));
  ASSERT_TRUE(one.write_some());
  EXPECT_FALSE(other.read()) << "a part of three";
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(one.write_some());
  EXPECT_EQ(other.read(), first);
  ASSERT_TRUE(other.set(second));
  ASSERT_TRUE(other.write_some());
  EXPECT_FALSE(one.read()) << "parts of two";
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(other.write_some());
  EXPECT_EQ(one.read(), second);
  ASSERT_TRUE(one.set("short"));
  ASSERT_TRUE(one.write_some());
  EXPECT_EQ(other.read(), "short");
  EXPECT_EQ(one.set(std::string(kMaxSharedPlan + 1, 'x')).error().kind, ErrorKind::not_supported);
  for (const char* wrong : {"", "x", "0 0\n", "0 1\n", "0 99999999\nabc", "0123456789abcdef 1\nshort"}) {
    const auto revision = values->get("plan-part-0")->revision;
    ASSERT_TRUE(values->put("plan-part-0", revision, wrong));
    EXPECT_FALSE(other.read()) << wrong;
  }
}

}  // namespace
}  // namespace weft::run
