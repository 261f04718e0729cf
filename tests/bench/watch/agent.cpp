// What a standing agent costs: two of them over veth pairs, `weft agent --standing` as it is, with a
// nats-server between them and this program, which assigns and listens as a watcher does.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "collectors/bus/watch_link.hpp"
#include "probes/run/agent_options.hpp"
#include "probes/run/watch_server.hpp"
#include "probes/watch/assignment_json.hpp"
#include "probes/watch/key_epochs.hpp"
#include "probes/watch/window.hpp"
#include "tests/bench/watch/pieces.hpp"
#include "tests/places.hpp"
#include "tests/support/router_chain.hpp"

namespace weft::bench {
namespace {

using namespace std::chrono_literals;
using fakes::InNamespace;
using fakes::run_ip;
constexpr auto kWarmUp = 8s;
constexpr auto kTime = 30s;
constexpr std::uint32_t kStreams = 64;  // of a NIC: 512 paths with eight

IpAddress address(std::uint32_t nic, int host) {
  return *IpAddress::parse(fmt::format("10.99.{}.{}", nic, host));
}

/// Two hosts, a veth pair for each NIC, one more for the bus.
class TwoHosts {
 public:
  explicit TwoHosts(std::uint32_t nics) : prefix_(fmt::format("weft-agents-{}-", ::getpid())) {
    check(run_ip(fmt::format("netns add {0}a\nnetns add {0}b", prefix_)));
    std::string cables = fmt::format("link add bus netns {0}a type veth peer bus netns {0}b\n", prefix_);
    for (std::uint32_t nic = 0; nic < nics; ++nic)
      cables += fmt::format("link add n{1} netns {0}a mtu 9000 type veth peer n{1} netns {0}b mtu 9000\n",
                            prefix_, nic);
    check(run_ip(cables));
    for (int host : {1, 2}) {
      const InNamespace here(name(host));
      std::string lines =
          fmt::format("link set lo up\nlink set bus up\naddr add 10.98.0.{}/24 dev bus\n", host);
      for (std::uint32_t nic = 0; nic < nics; ++nic)
        lines +=
            fmt::format("link set n{0} up\naddr add {1}/24 dev n{0}\n", nic, to_string(address(nic, host)));
      check(run_ip(lines));
    }
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;
  ~TwoHosts() {
    for (int host : {1, 2}) static_cast<void>(run_ip("netns del " + name(host)));
  }
  std::string name(int host) const { return prefix_ + (host == 1 ? "a" : "b"); }

 private:
  static void check(const Result<void>& done) {
    if (!done) fmt::print(stderr, "{}\n", done.error().message);
    WEFT_CHECK(done.has_value());
  }
  std::string prefix_;
};

watch::Assignment assignment_of(int host, std::uint32_t nics) {
  watch::Assignment made{.plan = watch::PlanVersion(1)};
  std::vector<IpAddress> addresses;
  for (std::uint32_t nic = 0; nic < nics; ++nic) {
    const auto id = [&](int of) { return PortId(2 * nic + static_cast<std::uint32_t>(of)); };
    made.nics.push_back({.nic = id(host), .interface = fmt::format("n{}", nic)});
    for (std::uint32_t i = 0; i < kStreams; ++i)
      made.nics.back().streams.push_back({nic, PathLabel(50'000 + i), PathLabel(51'000 + i)});
    made.peers.push_back({id(3 - host), address(nic, 3 - host)});
    made.asked.push_back({id(3 - host), address(nic, 3 - host)});
    addresses.push_back(address(nic, host));
  }
  const auto node = [](int of) { return NodeId(static_cast<std::uint32_t>(of)); };
  watch::KeyEpochs({std::byte{1}}, 1h)
      .give(made, node(host), addresses, std::vector<NodeId>(made.peers.size(), node(3 - host)), {});
  return made;
}

os::ChildProcess agent_of(const TwoHosts& hosts, const run::NatsServer& server, int host,
                          std::uint32_t nics) {
  const std::string name = host == 1 ? "a" : "b";
  const auto bus = server.address_for(name);
  run::AgentWords words{.server = bus.url, .run = RunId(1), .host = name, .nics = {}, .shares_machine = true};
  words.agent_options.standing_for = "bench";
  for (std::uint32_t nic = 0; nic < nics; ++nic)
    words.nics.push_back({fmt::format("n{}", nic), address(nic, host)});
  auto arguments = run::agent_arguments(words);
  arguments.insert(arguments.begin(), WEFT_BINARY_DIR "/weft");
  auto started = os::ChildProcess::start({.argv = arguments,
                                          .input = bus::credential_line(bus.credential) + "\n",
                                          .network_namespace = "/run/netns/" + hosts.name(host)});
  WEFT_CHECK(started.has_value());
  return std::move(*started);
}

/// Seconds of CPU time of all its threads (sched-stats in the kernel's documentation).
double cpu_seconds(pid_t pid) {
  double nanoseconds = 0;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    double here = 0;
    std::ifstream(task.path() / "schedstat") >> here;
    nanoseconds += here;
  }
  return nanoseconds / 1e9;
}

double pss_mb(pid_t pid) {
  std::ifstream rollup(fmt::format("/proc/{}/smaps_rollup", pid));
  for (std::string word; rollup >> word;)
    if (double kilobytes = 0; word == "Pss:" && rollup >> kilobytes) return kilobytes / 1024;
  return 0;
}

struct Cost {
  double cpu_percent = 0;
  double pss = 0;
  double bytes_per_s = 0;
  double probes_per_s = 0;
  double lost = 0;
};

Cost cost_of(std::uint32_t nics) {
  const TwoHosts hosts(nics);
  const InNamespace here(hosts.name(1));
  auto server = run::start_watch_server({.address = *IpAddress::parse("10.98.0.1")}, "bench", {"a", "b"});
  WEFT_CHECK(server.has_value());
  auto link = bus::connect_watch_link(server->address_for("watcher"), "bench");
  WEFT_CHECK(link.has_value());
  auto first = agent_of(hosts, *server, 1, nics);
  auto second = agent_of(hosts, *server, 2, nics);
  std::this_thread::sleep_for(2s);
  for (int host : {1, 2})
    WEFT_CHECK(link->feed->send_to(host == 1 ? "a" : "b", watch::to_json_text(assignment_of(host, nics))));
  std::this_thread::sleep_for(kWarmUp);
  while (!link->feed->fetch(1000, 1ms).value_or(std::vector<watch::ReceivedWindow>()).empty()) {
  }
  const auto start = std::chrono::steady_clock::now();
  const auto before = cpu_seconds(first.pid());
  Cost cost;
  while (std::chrono::steady_clock::now() - start < kTime) {
    const auto windows = link->feed->fetch(100, 500ms);
    if (!windows) continue;
    for (const auto& received : *windows) {
      if (received.host != "a") continue;
      cost.bytes_per_s += static_cast<double>(received.bytes.size());
      const auto window = watch::decode_window(received.bytes);
      WEFT_CHECK(window.has_value());
      for (const auto& nic : window->nics)
        cost.probes_per_s += nic.count, cost.lost += static_cast<double>(nic.lost.size());
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  cost.cpu_percent = (cpu_seconds(first.pid()) - before) / seconds * 100;
  cost.pss = pss_mb(first.pid());
  cost.bytes_per_s /= seconds;
  cost.probes_per_s /= seconds;
  return cost;
}

}  // namespace

void measure_agent(Figures& figures) {
  const auto one = cost_of(1);
  figures.add("agent_cpu_percent", one.cpu_percent, "at most 2");
  figures.note("agent_probes_per_s", one.probes_per_s);
  figures.note("agent_lost", one.lost);
  const auto eight = cost_of(8);
  figures.add("agent_pss_mb", eight.pss, "at most 20");
  figures.add("window_bytes_per_s", eight.bytes_per_s, "at most 1500");
  figures.add("agent_8_nics_cpu_percent", eight.cpu_percent);
}

}  // namespace weft::bench
