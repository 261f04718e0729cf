// A watcher of 24,576 NICs at work: WatchLoop as it is, over a real nats-server, with 3,072 simulated agents
// that each have a connection of their own and send a window a second. The agents are another process, whose
// windows are made beforehand: what is measured is the watcher's alone.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <thread>

#include "collectors/bus/agent_link.hpp"
#include "collectors/bus/watch_link.hpp"
#include "probes/run/watch_loop.hpp"
#include "probes/run/watch_server.hpp"
#include "probes/session/watch_subjects.hpp"
#include "probes/watch/assignment_json.hpp"
#include "tests/bench/support/random_paths.hpp"
#include "tests/bench/watch/pieces.hpp"
#include "tests/support/standing_fleet.hpp"
#include "topology/base/check.hpp"
#include "topology/base/statistics.hpp"

namespace weft::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kSeconds = 300;
constexpr int kFaultsFrom = 60;  // of them
constexpr auto kSettle = 20s;    // after the plan, before the first figure

struct EncodedWindow {
  std::uint32_t host;  // among the fabric's hosts
  watch::MessageId id;
  Nanoseconds arrival;
  std::vector<std::byte> bytes;
};

std::vector<ChannelId> faulty_channels(const Fabric& fabric) {
  std::mt19937_64 random(24'576);
  std::vector<ChannelId> drawn;
  while (drawn.size() < 2) {
    const ChannelId channel(static_cast<std::uint32_t>(random() % fabric.channel_count()));
    if (fabric.between_switches(Fabric::link_of(channel))) drawn.push_back(channel);
  }
  return drawn;
}

std::vector<EncodedWindow> all_windows(const Fabric& fabric, const watch::StandingPlan& plan,
                                       const FleetOptions& options) {
  StandingFleet fleet(fabric, plan, watch::PlanVersion(1), options);
  for (const ChannelId channel : faulty_channels(fabric))
    fleet.put({{.link = Fabric::link_of(channel), .channel = channel, .loss = Fraction(0.01)},
               std::chrono::seconds(kFaultsFrom)});
  std::vector<std::uint32_t> index(fabric.node_count(), 0);
  for (std::uint32_t i = 0; i < fabric.hosts().size(); ++i) index[fabric.hosts()[i].value()] = i;
  std::vector<EncodedWindow> all;
  for (int second = 0; second < kSeconds; ++second)
    for (const SentWindow& sent : fleet.second())
      all.push_back({index[sent.host.value()],
                     {sent.window.boot, sent.window.number},
                     sent.arrival,
                     watch::encode_window(sent.window)});
  return all;
}

using Links = std::vector<std::unique_ptr<watch::AgentLink>>;

Links connect_all(const Fabric& fabric, const run::NatsServer& server) {
  Links links;
  for (const NodeId host : fabric.hosts()) {
    const std::string name(fabric.name_of(host));
    auto link = bus::connect_agent_link(server.address_for(name), fabric.name(), name);
    WEFT_CHECK(link.has_value());
    links.push_back(std::move(*link));
  }
  return links;
}

/// All agents have their assignment; they say hello until they do, as agents do.
void await_plan(const Fabric& fabric, Links& links) {
  std::vector<bool> has(links.size(), false);
  for (int round = 0; round < 120 && std::ranges::find(has, false) != has.end(); ++round) {
    for (std::size_t i = 0; i < links.size(); ++i) {
      const watch::AgentHello hello{
          .host = std::string(fabric.name_of(fabric.hosts()[i])), .version = "bench", .boot = 1};
      if (!has[i]) (void)links[i]->send_text(watch::to_json_text(watch::AgentSpeech(hello)));
    }
    const auto until = Clock::now() + 1s;
    while (Clock::now() < until)
      for (std::size_t i = 0; i < links.size(); ++i)
        if (const auto word = links[i]->next_word(0ns); word && *word) has[i] = true;
  }
  WEFT_CHECK(std::ranges::find(has, false) == has.end());
}

/// Sends each window when it is due; answers how many the server acknowledged.
std::uint64_t send_all(Links& links, const std::vector<EncodedWindow>& windows) {
  const auto start = Clock::now();
  std::uint64_t acknowledged = 0, late = 0;
  const auto settle = [&] {
    for (auto& link : links) {
      acknowledged += link->acknowledged().size();
      WEFT_CHECK(link->failed().empty());
    }
  };
  Nanoseconds settled{};
  for (const EncodedWindow& window : windows) {
    std::this_thread::sleep_until(start + window.arrival);
    late += Clock::now() > start + window.arrival + 100ms ? 1 : 0;
    WEFT_CHECK(links[window.host]->publish(window.id, window.bytes).has_value());
    if (window.arrival > settled + 1s) settled = window.arrival, settle();
  }
  for (int i = 0; i < 50 && acknowledged < windows.size(); ++i) {
    std::this_thread::sleep_for(100ms);
    settle();
  }
  fmt::print("  the agents sent {} of {} windows more than 100 ms late\n", late, windows.size());
  return acknowledged;
}

class Agents {
 public:
  /// Forks; call it while this process has one thread.
  template <class Work>
  explicit Agents(Work work) {
    WEFT_CHECK(::pipe(ends_) == 0);
    child_ = ::fork();
    WEFT_CHECK(child_ >= 0);
    if (child_ > 0) return;
    const std::uint64_t figure = work();
    std::fflush(stdout);
    ::_exit(::write(ends_[1], &figure, sizeof figure) == sizeof figure ? 0 : 1);
  }
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;
  ~Agents() {
    for (const int end : ends_) ::close(end);
  }
  bool is_over() {
    int status = 0;
    if (!status_ && ::waitpid(child_, &status, WNOHANG) > 0) status_ = status;
    return status_.has_value();
  }
  std::uint64_t answer() const {
    std::uint64_t figure = 0;
    WEFT_CHECK(status_ == 0 && ::read(ends_[0], &figure, sizeof figure) == sizeof figure);
    return figure;
  }

 private:
  int ends_[2]{};
  pid_t child_ = 0;
  std::optional<int> status_;
};

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_gb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e9;
}

class Listener : public run::WatchListener {
 public:
  void on_counters(counters::HostPorts /*own*/, std::string /*text*/) override {}
  void on_event(const IncidentEvent& event, const watch::StoredEvent&, bool) override {
    if (event.change == IncidentChange::opened) opened.push_back(event.incident.place);
  }
  void on_state(const watch::WatchState& state) override {
    if (state.windows == 0) return;
    const auto now = Clock::now();
    if (!first_) first_ = now;
    if (now < *first_ + kSettle) return;
    if (!began) began = now, cpu_before = cpu_seconds();
    Nanoseconds worst{};
    for (const watch::AgentState& agent : state.agents) worst = std::max(worst, agent.lag);
    lags.push_back(std::chrono::duration<double>(worst).count());
    windows = state.windows;
    refused = 0;
    for (const watch::AgentState& agent : state.agents) refused += agent.refused + agent.gaps;
  }
  void on_note(std::string_view text) override { fmt::print("  {}\n", text); }

  std::vector<IncidentPlace> opened;
  std::vector<double> lags;  // seconds; the slowest agent's, once a second
  std::optional<Clock::time_point> began;
  double cpu_before = 0;
  std::uint64_t windows = 0, refused = 0;

 private:
  std::optional<Clock::time_point> first_;
};

void allow_many_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

void measure_watch_24576(Figures& figures) {
  allow_many_files();
  const Fabric fabric = rails_24576();
  const auto addresses = plan_addresses(fabric, IpFamily::v4)->book;
  const FleetOptions options{.labels = 16, .partners = 1};
  watch::StandingPlan plan = fleet_plan(fabric, options);
  std::vector<std::string> names;
  std::vector<session::ExpectedHost> hosts;
  for (const NodeId host : fabric.hosts()) {
    names.emplace_back(fabric.name_of(host));
    hosts.push_back({host, {}});
  }
  auto server = run::start_watch_server({IpAddress(IpAddress::V4{127, 0, 0, 1})}, fabric.name(), names);
  WEFT_CHECK(server.has_value());
  Agents agents([&] {
    const auto windows = all_windows(fabric, plan, options);
    auto links = connect_all(fabric, *server);
    await_plan(fabric, links);
    return send_all(links, windows);
  });
  run::WatchPlace place{.fabric = fabric,
                        .addresses = addresses,
                        .hosts = std::move(hosts),
                        .nics = {},
                        .bus = server->address_for(session::kWatcher),
                        .runs = server->address_for(session::kCoordinator)};
  for (const PortId nic : fabric.nics()) place.nics.push_back({nic, *addresses.address_of(nic)});
  run::WatchOptions watch_options{.name = std::string(session::kWatcher)};
  watch_options.limits = options.limits;
  auto link = bus::connect_watch_link(place.bus, fabric.name(),
                                      {.name = watch_options.name, .lease_time = run::kLeaseTime});
  WEFT_CHECK(link.has_value());
  // Once: a second plan would begin while the first is measured.
  bool mapped = false;
  const auto map = [&](const run::HeardHosts&, const std::stop_token&) -> Result<run::MappedPlan> {
    if (std::exchange(mapped, true)) return fail(ErrorKind::absent, "this fabric is mapped once");
    return run::MappedPlan{std::move(plan)};
  };
  const auto steady = [] { return Nanoseconds(Clock::now().time_since_epoch()); };
  const auto wall = [] { return Nanoseconds(std::chrono::system_clock::now().time_since_epoch()); };
  Listener listener;
  run::WatchLoop loop(place, watch_options, listener, {std::move(*link), map, steady, wall});
  while (!agents.is_over()) loop.turn();
  WEFT_CHECK(listener.began.has_value());
  const double seconds = std::chrono::duration<double>(Clock::now() - *listener.began).count();
  fmt::print("  {} windows acknowledged, {} summed, {} refused or missing\n", agents.answer(),
             listener.windows, listener.refused);
  const auto faults = faulty_channels(fabric);
  const auto right = std::ranges::count_if(listener.opened, [&](const IncidentPlace& opened) {
    return opened.channels.size() == 1 && std::ranges::find(faults, opened.channels[0]) != faults.end();
  });
  figures.add("watch_24576_cores", (cpu_seconds() - listener.cpu_before) / seconds, "at most 1");
  figures.add("watch_24576_gb", resident_gb(), "at most 2");
  figures.add("watch_24576_lag_s", quantile(listener.lags, 0.95), "at most 2");
  figures.add("watch_24576_right", static_cast<double>(right), "2");
  figures.add("watch_24576_opened", static_cast<double>(listener.opened.size()), "2");
  figures.add("watch_24576_missing", static_cast<double>(listener.refused), "0");
}

}  // namespace weft::bench
