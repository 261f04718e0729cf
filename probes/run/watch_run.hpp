// A watcher at work: the pure Watcher with a bus, clocks and agents that serve its mapping runs. It holds the
// lease of its fabric while it is the active one of several; the others follow the events and take over. The
// loop has one thread; mapping, which waits for answers, has another.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#include "collectors/bus/nats_bus.hpp"
#include "collectors/bus/watch_streams.hpp"
#include "collectors/counters/counter_file.hpp"
#include "probes/run/agent_options.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "probes/session/watch_subjects.hpp"
#include "probes/watch/seams.hpp"
#include "probes/watch/watcher.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/model/addressing.hpp"

namespace weft::run {

/// Under which all watchers of a fabric share its mutes (mutes_text).
inline constexpr std::string_view kMutesKey = "mutes";

/// What is watched, and by whom. All references outlive the watch.
struct WatchPlace {
  const Fabric& fabric;
  const AddressBook& addresses;
  std::vector<session::ExpectedHost> hosts;  // whose agents may come
  std::vector<datapath::RunNic> nics;        // of these
  bus::NatsAddress bus;                      // with the login of a watcher
  bus::NatsAddress runs;                     // the same server, with the login of who coordinates runs
};

/// A plan, with the NICs that it is for.
struct MappedPlan {
  watch::StandingPlan plan;
  std::size_t left_out = 0;  // NICs of the fabric that take no part
};

/// A plan between these NICs over paths that are known without a trace, as of now. A thread of its own calls.
using ReadPlan =
    std::function<Result<MappedPlan>(const std::vector<PortId>& nics, const std::stop_token& stop)>;

struct WatchOptions {
  std::string name = std::string(session::kWatcher);  // of this watcher among several
  bus::StreamLimits streams = {};                     // of the bus, where it has none yet
  watch::WatcherOptions watcher = {.tolerance = {}, .book = {.verify_paths = true}};
  watch::PlanLimits limits;
  double answers_per_second = 100;  // hop answers asked of a switch while paths are mapped
  ReadPlan read_plan = nullptr;     // of a fabric whose paths its switches tell; else the agents trace them
  /// Called each time that the watch has gone round: some times a second, as long as it works.
  std::function<void()> went_round = [] {};
  /// For agents to come before the first plan is made without those that did not.
  Nanoseconds gather = std::chrono::seconds(10);
};

/// Who is told. Called by the thread of run_watch, which waits meanwhile.
class WatchListener {
 public:
  virtual ~WatchListener() = default;
  /// Before all else: what the watchers of this fabric share. Whoever keeps it may use it from any thread.
  virtual void on_shared(const std::shared_ptr<watch::SharedValue>& /*values*/) {}
  /// An event of this fabric, in the order of the stream that keeps them; `stored`: as it stands there.
  /// `followed`: another watcher wrote it, or this one in an earlier life.
  virtual void on_event(const IncidentEvent& event, const watch::StoredEvent& stored, bool followed) = 0;
  /// The same, of a place that the fabric file no longer has.
  virtual void on_event_elsewhere(const files::EventReport& /*event*/, const watch::StoredEvent& /*stored*/,
                                  bool /*followed*/) {}
  /// The highest number of an incident that is kept: a new one gets a higher one. 0: none is.
  virtual std::uint64_t last_incident() { return 0; }
  /// Some times a second while it is the active one, for questions that its state does not answer.
  virtual void on_pass(const watch::Watcher& /*watcher*/, Nanoseconds /*steady_now*/) {}
  /// What the agent of a host told of the counters of its NICs, which nobody has looked at yet (counters::
  /// read_host_counters): to every watcher, active or not.
  virtual void on_counters(counters::HostPorts own, std::string text) = 0;
  /// Once a second.
  virtual void on_state(const watch::WatchState& state) = 0;
  /// What happens to the watch itself, in words: paths are mapped, the lease is lost.
  virtual void on_note(std::string_view text) = 0;
};

/// Of a watch that started its agents, and a server between: called some times a second, it looks after both
/// and says which agents have gone. Its error ends the watch.
using TendWatch = std::function<Result<std::vector<session::GoneAgent>>()>;

/// Blocks until `stop` is requested (success), the bus refuses this watcher, or all agents that it started
/// are gone. Errors: those of connect_watch_link and of `tend`, absent (no agent is left).
Result<void> run_watch(const WatchPlace& place, const WatchOptions& options, WatchListener& listener,
                       const TendWatch& tend, std::stop_token stop);

}  // namespace weft::run
