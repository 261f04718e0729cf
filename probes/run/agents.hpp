// The agents of a run: as a rule one process a host, started by whatever reaches its hosts, ended with the
// object.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <stop_token>
#include <string>
#include <vector>

#include "collectors/bus/nats_bus.hpp"
#include "probes/run/agent_options.hpp"
#include "probes/run/launch_template.hpp"
#include "probes/run/relay.hpp"
#include "probes/run/start_window.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::run {

struct AgentNic {
  session::NicReport report;                    // as its host knows it
  PortId nic;                                   // as the fabric does
  std::optional<LidRange> lids = std::nullopt;  // as the subnet does
};
struct AgentHost {
  NodeId host;
  std::vector<AgentNic> nics;
  std::string agent = {};  // as in ExpectedHost
};
std::string agent_name(const Fabric& fabric, const AgentHost& host);

/// Starts `agent`, a program with its words and its input, where it serves these NICs.
using Launcher = std::function<Result<os::ChildProcess>(const AgentHost& where, os::ChildSpec agent)>;

/// Hosts, and how agents come to run on them.
struct AgentSite {
  std::vector<AgentHost> hosts;
  Launcher launch;
  std::string program;       // weft, as the hosts know it
  bool one_machine = false;  // all hosts are this machine: a lab
  AgentOptions agent_options = {};
  /// By this hosts that were reached start the agents of others, and `launch` those that they cannot start;
  /// absent: `launch` starts all.
  std::optional<LaunchTemplate> tree = std::nullopt;
};

/// The path of this very program, for hosts that have the same files.
Result<std::string> own_program();
/// A module that belongs to this very program, by its file name: beside it where it was built, in lib/weft
/// where it was installed.
std::filesystem::path module_file(const char* name);

std::vector<session::ExpectedHost> expected_hosts(const AgentSite& site);
/// All NICs of the site.
std::vector<datapath::RunNic> nics_of(const AgentSite& site);

/// The bus as the agent of this host finds it.
using BusOfHost = std::function<bus::NatsAddress(const std::string& host)>;

class Agents {
 public:
  /// Starts one on each of the first hosts, the others as `tend` is called; none once `stop` is requested or
  /// the time given is over. The site and the fabric must outlive it. Each reads its credential for the bus
  /// from its input; what it says on stderr is kept. An Error: the launcher itself cannot be run.
  static Result<Agents> start(const Fabric& fabric, const AgentSite& site, const BusOfHost& bus, RunId run,
                              std::stop_token stop, const std::optional<session::TimeLimit>& limit = {});
  Agents(Agents&&) = default;
  Agents& operator=(Agents&&) = delete;
  /// Waits a little for those that end by themselves, for they were told to; then ends what is left.
  ~Agents();

  /// Starts more where those on their way have come. Those that have ended by failing since this was asked
  /// last, could not be started, or were ended because they say without end, with their last words.
  /// `is_awaited`: the coordinator has not heard of it.
  std::vector<session::GoneAgent> tend(const std::function<bool(const std::string&)>& is_awaited);

 private:
  struct Agent {
    std::string host;
    os::ChildProcess process;
    bool ended = false;
  };
  /// A host that starts the agents of others.
  struct Relay {
    std::vector<std::size_t> hosts;  // of the site; the first is its own
    os::ChildProcess process;
    os::FileDescriptor output;
    RelayLines lines;
    std::chrono::steady_clock::time_point heard;
  };
  /// What the agents are started with.
  struct Order {
    const Fabric* fabric;
    const AgentSite* site;
    BusOfHost bus;
    RunId run;
    std::stop_token stop;
    std::optional<session::TimeLimit> limit;
  };
  Agents(os::ScratchDirectory logs, Order order)
      : logs_(std::move(logs)), order_(std::move(order)), window_(window_for(*order_.site)) {}
  static StartWindow window_for(const AgentSite& site);
  const AgentHost& take_next();
  /// What starts the agent of a host, on that host.
  RelayedHost start_of(const AgentHost& host) const;
  Result<void> start(const AgentHost& host);
  Result<void> start_relays();
  Result<Relay> start_relay(std::vector<std::size_t> hosts) const;
  /// Takes what relays told; hosts that one could not reach are started directly if they are awaited.
  std::vector<session::GoneAgent> hear_relays(const std::function<bool(const std::string&)>& is_awaited);
  bool hear(Relay& relay, std::vector<RelayedAnswer>& told) const;
  bool may_start() const;
  std::filesystem::path log_of(const std::string& host) const;
  std::string last_words_of(const std::string& host) const;
  std::vector<session::GoneAgent> end_talkers();

  os::ScratchDirectory logs_;
  Order order_;
  StartWindow window_;
  std::deque<std::size_t> next_;  // of the site's hosts, to be started directly
  std::vector<Agent> agents_;
  std::list<Relay> relays_;
  std::chrono::steady_clock::time_point next_look_{};  // at what they have said
};

}  // namespace weft::run
