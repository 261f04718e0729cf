// Speed and memory of a sweep and what it rests on: labs, the raw engine, a sweep of the demo's lab, a
// simulated sweep of 24,576 NICs, an idle agent. Needs root. usage: bench_sweep [FIGURE...] (all of them
// without)
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "probes/run/nats_server.hpp"
#include "tests/bench/support/figures.hpp"
#include "tests/bench/support/raw_figures.hpp"
#include "tests/places.hpp"
#include "topology/lab/netns/lab_control.hpp"
#include "topology/model/clos.hpp"

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLimit = std::chrono::minutes(5);
const std::string kWeft = WEFT_BINARY_DIR "/weft";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void give_up(const Error& error) {
  fmt::print(stderr, "bench_sweep: {}\n", error.message);
  std::exit(70);
}

template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// A directory for state and files, gone at the end.
struct Scratch {
  os::ScratchDirectory directory = must(os::ScratchDirectory::make());
  std::filesystem::path file(const char* name) const { return directory.path() / name; }
  std::string write(const char* name, std::string_view text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }
};

double lab_up_seconds(const ClosSpec& spec, const Scratch& scratch) {
  const auto name = fmt::format("bench{}", getpid());
  const auto fabric = must(make_clos(spec));
  const auto start = Clock::now();
  must(lab::lab_up(name, fabric, {}, scratch.directory.path()));
  const double seconds = seconds_since(start);
  must(lab::lab_down(name, scratch.directory.path()));
  return seconds;
}

struct Ran {
  double seconds = 0;
  double peak_gb = 0;
};

/// Runs weft to its end; output away.
Ran run_weft(const std::vector<std::string>& arguments) {
  os::ChildSpec spec{.argv = {kWeft}, .output = os::ToNothing{}};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  const auto start = Clock::now();
  auto child = must(os::ChildProcess::start(spec));
  Ran ran;
  // The peak of that process, read while it lives: children reaped before would count in rusage.
  while (!must(child.wait_for(std::chrono::milliseconds(50)))) {
    std::ifstream status(fmt::format("/proc/{}/status", child.pid()));
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmHWM:")) ran.peak_gb = std::max(ran.peak_gb, std::stod(line.substr(6)) / 1e6);
    if (seconds_since(start) > std::chrono::duration<double>(kLimit).count())
      give_up({ErrorKind::timeout, "weft " + arguments[0] + " took too long"});
  }
  ran.seconds = seconds_since(start);
  return ran;
}

constexpr const char* kDemoFabric =
    "fabric: roce-a\nkind: roce\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4, link: 400G}\nlab: "
    "{link_rate: 50M}\n";
constexpr const char* kBigFabric =
    "fabric: big\nkind: roce\n"
    "rails: {groups: 4, hosts_per_group: 96, rails: 8, spines: 32, pods: 8, cores: 128, link: 400G}\n";

double sweep_lab_seconds(const Scratch& scratch) {
  const auto name = fmt::format("bench{}", getpid());
  run_weft({"lab", "up", scratch.write("demo.yaml", kDemoFabric), "--name", name});
  const Ran ran = run_weft({"sweep", "--lab=" + name, "-o", "json"});
  run_weft({"lab", "down", "--name", name});
  return ran.seconds;
}

Ran simulate_24576(const Scratch& scratch) {
  return run_weft({"simulate", scratch.write("big.yaml", kBigFabric), "--load", "none", "-o", "json",
                   "--fault", "leaf1--spine2:loss=0.5%,from=leaf1", "--fault", "leaf100--spine100:delay=2ms",
                   "--fault", "leaf200--spine200:mtu=1000", "--fault", "spine40--core29:down"});
}

/// Proportional set size of an agent that has said hello and waits, in MB.
double agent_idle_mb() {
  const auto server = must(run::NatsServer::start({must(IpAddress::parse("127.0.0.1"))}, RunId(1), {"h"}));
  const bus::NatsAddress& bus = server.address_for("h");
  os::ChildSpec spec{
      .argv = {kWeft, "agent", "--server", bus.url, "--run", "1", "--host", "h", "--nic", "lo=127.0.0.1"}};
  spec.env = {"WEFT_BUS_TOKEN=" + credential_line(bus.credential)};
  spec.output = os::ToNothing{};
  spec.errors = os::ToNothing{};
  auto agent = must(os::ChildProcess::start(spec));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  std::ifstream rollup(fmt::format("/proc/{}/smaps_rollup", agent.pid()));
  for (std::string line; std::getline(rollup, line);)
    if (line.starts_with("Pss:")) return std::stod(line.substr(4)) / 1e3;
  give_up({ErrorKind::absent, "no Pss of the agent: did it end?"});
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  const std::set<std::string> only(argv + 1, argv + argc);
  const auto wanted = [&](const char* figure) { return only.empty() || only.contains(figure); };
  const Scratch scratch;
  Figures figures("sweep");
  if (wanted("lab_up_80_s"))
    figures.add("lab_up_80_s", lab_up_seconds({.leaves = 4, .spines = 4, .hosts_per_leaf = 16}, scratch),
                "at most 1");
  if (wanted("lab_up_544_s"))
    figures.add("lab_up_544_s", lab_up_seconds({.leaves = 16, .spines = 16, .hosts_per_leaf = 32}, scratch),
                "at most 8");
  if (wanted("raw")) {
    const auto raw = must(measure_raw());
    figures.add("pathmap_pair_ms", raw.pathmap_pair_ms, "at most 5");
    figures.add("raw_probes_per_s", raw.raw_probes_per_s, "250,000");
  }
  if (wanted("sweep_lab_s")) figures.add("sweep_lab_s", sweep_lab_seconds(scratch), "at most 35");
  if (wanted("simulate_24576")) {
    const Ran ran = simulate_24576(scratch);
    figures.add("simulate_24576_s", ran.seconds, "at most 60");
    figures.add("simulate_24576_gb", ran.peak_gb, "at most 4");
  }
  if (wanted("agent_idle_mb")) figures.add("agent_idle_mb", agent_idle_mb(), "at most 15");
  return figures.write();
}
