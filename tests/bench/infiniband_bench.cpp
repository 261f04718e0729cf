// InfiniBand at size, side by side with infiniband-diags: one ibsim with OpenSM, the tools and weft in turn.
// `bench_infiniband [small] [alternations]`: small is 1,024 adapters and 96 switches; the default is 8,192
// and 640; `hold` instead of a number keeps the fabric up for a profiler. Each timed run is a process of its
// own; ours is this program again, as `--worker JOB`.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#include "collectors/counters/counter_reading.hpp"
#include "probes/discover/subnet_tables.hpp"
#include "probes/engine/umad/umad_mads.hpp"
#include "probes/mad/mad_attributes.hpp"
#include "tests/bench/support/figures.hpp"
#include "tests/support/text_of.hpp"
#include "topology/files/ibnetdiscover.hpp"
#include "topology/lab/ibsim/ib_simulator.hpp"
#include "topology/model/fabric_builder.hpp"
#include "topology/model/ib_design.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;
using std::chrono::steady_clock;

constexpr auto kToolLimit = std::chrono::minutes(10);
constexpr unsigned kPaths = 2'000'000;
constexpr unsigned kBareQuestions = 200'000;

struct Size {
  unsigned pods, leaves, spines, cores, hosts_per_leaf;
};
constexpr Size kFull{8, 32, 32, 128, 32};  // 8,192 adapters, 256 + 256 + 128 switches of 64 ports
constexpr Size kSmall{4, 16, 16, 32, 16};  // 1,024 adapters, 64 + 64 + 32 switches

/// A fat tree without oversubscription: spine s of each pod joins the cores of group s mod (cores / spine's
/// uplinks), so that a core has hosts_per_leaf... ports as a leaf has.
Fabric fat_tree(const Size& size) {
  FabricBuilder builder("bench", FabricKind::infiniband);
  const auto rate = Bandwidth::gbit(200);
  std::vector<NodeId> hosts, leaves, spines, cores;
  const auto add = [&](std::vector<NodeId>& to, const char* name, unsigned count, NodeKind kind, Tier tier) {
    for (unsigned i = 1; i <= count; ++i)
      to.push_back(
          builder.add_node({.name = fmt::format("{}{}", name, i), .kind = kind, .tier = tier}).value());
  };
  add(hosts, "host", size.pods * size.leaves * size.hosts_per_leaf, NodeKind::host, Tier::host);
  add(leaves, "leaf", size.pods * size.leaves, NodeKind::switch_, Tier::leaf);
  add(spines, "spine", size.pods * size.spines, NodeKind::switch_, Tier::spine);
  add(cores, "core", size.cores, NodeKind::switch_, Tier::core);
  for (std::size_t h = 0; h < hosts.size(); ++h)
    builder.connect(hosts[h], leaves[h / size.hosts_per_leaf], rate);
  const unsigned uplinks = size.leaves;  // of a spine: as many as it has leaves
  const unsigned groups = size.cores / uplinks;
  for (unsigned p = 0; p < size.pods; ++p)
    for (unsigned s = 0; s < size.spines; ++s) {
      const NodeId spine = spines[p * size.spines + s];
      for (unsigned l = 0; l < size.leaves; ++l) builder.connect(leaves[p * size.leaves + l], spine, rate);
      for (unsigned c = 0; c < uplinks; ++c) builder.connect(spine, cores[s % groups * uplinks + c], rate);
    }
  return std::move(builder).build();
}

double peak_gb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e6;
}

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "bench: {}\n", result.error().message);
  std::exit(70);
}

/// Two million walks between random pairs.
double walk_paths(const InfinibandFabric& fabric, const routing::ForwardingTables& tables) {
  std::mt19937 random(1);
  const auto nics = fabric.fabric.nics();
  std::uniform_int_distribution<std::size_t> pick(0, nics.size() - 1);
  std::vector<std::pair<PortId, Lid>> asked;
  for (unsigned i = 0; i < kPaths; ++i) {
    const auto lids = tables.lids_of(nics[pick(random)]);
    if (!lids) std::exit(70);
    asked.emplace_back(nics[pick(random)], lids->base);
  }
  std::size_t hops = 0;
  const auto start = steady_clock::now();
  for (const auto& [source, lid] : asked) {
    const routing::LidRoute route = tables.walk(source, lid);
    if (route.end != routing::RouteEnd::arrived) std::exit(70);
    hops += route.hops;
  }
  const double seconds = Seconds(steady_clock::now() - start).count();
  fmt::print(stderr, "{} hops\n", hops);
  return seconds;
}

/// One question, asked again and again.
class Again : public mad::MadDialogue {
 public:
  Again(mad::MadQuestion question, unsigned times) : question_(std::move(question)), left_(times) {}
  std::optional<mad::MadQuestion> next() override {
    if (left_ == 0) return std::nullopt;
    --left_;
    return question_;
  }
  void answered(const mad::MadQuestion&, const mad::MadAnswer& answer) override {
    if (answer.outcome != mad::MadOutcome::answered) return;
    ++answered_;
    if (const auto info = mad::decode_port_info(answer.data); info && info->lid) lid_ = *info->lid;
    if (const auto counters = mad::decode_port_counters(answer.data)) counters_ = *counters;
  }
  unsigned answers() const { return answered_; }
  Lid lid() const { return lid_; }
  std::uint64_t counter(mad::IbCounter which) const { return counters_[static_cast<std::size_t>(which)]; }

 private:
  mad::MadQuestion question_;
  unsigned left_;
  unsigned answered_ = 0;
  Lid lid_;
  mad::IbCounters counters_{};
};

/// MADs that left our adapter so far, by its own counter; it does not count the one that asks.
std::uint64_t count_sent(mad::Mads& mads) {
  Again lid({.attribute = mad::MadAttribute::port_info, .modifier = 1}, 1);
  must(converse(mads, lid));
  Again counters({.to = lid.lid(),
                  .mad_class = mad::MadClass::performance,
                  .attribute = mad::MadAttribute::port_counters,
                  .port = 1},
                 1);
  must(converse(mads, counters));
  return counters.counter(mad::IbCounter::xmit_packets);
}

/// What ibsim answers at most: the same question over one hop, time after time, with nothing else to do.
double most_per_second(mad::Mads& mads) {
  Again again({.to = mad::DirectedRoute().then(1), .attribute = mad::MadAttribute::node_info},
              kBareQuestions);
  const auto start = steady_clock::now();
  must(converse(mads, again));
  return again.answers() / Seconds(steady_clock::now() - start).count();
}

/// Writes "mads paths_s peak_gb unread links" to stdout, or one number.
int work(const std::string& job) {
  const auto mads = must(umad::open_umad({}));
  if (job == "sent") return fmt::print("{}\n", count_sent(*mads)), 0;
  if (job == "most") return fmt::print("{}\n", most_per_second(*mads)), 0;
  const auto found = must(discover::discover_subnet(*mads));
  const auto fabric = must(build_infiniband_fabric(found.subnet, "bench"));
  double paths = 0;
  std::size_t unread = 0;
  std::uint64_t sent = found.tally.sent;
  if (job == "discovery") {
    std::ofstream("weft.dump") << files::write_ibnetdiscover(fabric.fabric, fabric.inventory);
  } else if (job == "counters") {
    const auto counters = must(counters::read_counters(*mads, fabric));
    unread = counters.unread;
    sent += counters.tally.sent;
  } else if (job == "tables" || job == "paths") {
    const auto tables = must(discover::read_tables(*mads, fabric, found.routes));
    sent += tables.tally.sent;
    unread = tables.remarks.size();
    if (job == "paths") paths = walk_paths(fabric, tables.tables);
  }
  fmt::print("{} {} {} {} {}\n", sent, paths, peak_gb(), unread, fabric.fabric.link_count());
  return 0;
}

/// One timed process in the simulated fabric.
struct Run {
  double seconds = 0;
  std::string output;
};

class Bench {
 public:
  Bench(const Fabric& fabric, const fs::path& directory, std::string name)
      : fabric_(fabric),
        inventory_(design_inventory(fabric, lab::kFastestInIbsim)),
        directory_(directory),
        name_(std::move(name)),
        simulator_(must(lab::IbSimulator::start(
            fabric_, inventory_,
            {.directory = directory_, .name = name_, .limit = std::chrono::minutes(20)}))) {}

  Run run(std::vector<std::string> argv, bool dead = false) {
    const auto out = directory_ / "out.txt";
    const auto start = steady_clock::now();
    auto child = must(os::ChildProcess::start({.argv = lab::in_directory(directory_, argv),
                                               .env = environment(),
                                               .output = os::ToFile{out},
                                               .errors = os::ToFile{directory_ / "err.txt"}}));
    const auto status = must(child.wait_for(kToolLimit));
    const double seconds = Seconds(steady_clock::now() - start).count();
    if (!status || (!status->success() && !dead)) fmt::print(stderr, "bench: {} did not succeed\n", argv[0]);
    return {seconds, text_of(out)};
  }
  std::vector<std::string> environment() const {
    return lab::ibsim_environment(name_, inventory_.ports[fabric_.nics()[0].value()].node_guid, false);
  }
  static std::vector<std::string> our_words(const char* job) {
    return {fs::read_symlink("/proc/self/exe").string(), "--worker", job};
  }
  Run ours(const char* job) { return run(our_words(job)); }

  /// MADs that this sends from our adapter, by the adapter's own counter.
  double mads_of(const std::vector<std::string>& argv) {
    const double before = std::stod(ours("sent").output);
    run(argv);
    return std::stod(ours("sent").output) - before;
  }

  void command(const std::string& text) {
    if (const auto done = lab::ibsim_command(directory_, text); !done) must(Result<int>(pass_on(done)));
  }
  std::string adapter(std::size_t nic) const {
    return fmt::format("\"H-{:016x}\"[1]", inventory_.ports[fabric_.nics()[nic].value()].node_guid.value());
  }

 private:
  const Fabric& fabric_;
  InfinibandInventory inventory_;
  fs::path directory_;
  std::string name_;
  lab::IbSimulator simulator_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double worker_figure(const Run& run, unsigned index) {
  std::istringstream words(run.output);
  double value = 0;
  for (unsigned i = 0; i <= index; ++i) words >> value;
  return value;
}

/// Keeps the fabric up until standard input ends, for who wants to profile: says how to reach it.
int hold(const Size& size) {
  const Fabric fabric = fat_tree(size);
  const auto directory = fs::temp_directory_path() / fmt::format("weft-bench-ib-{}", getpid());
  {
    Bench bench(fabric, directory, fmt::format("weft-bench-{}", getpid()));
    fmt::print("cd {} && {}\n", directory.string(), fmt::join(bench.environment(), " "));
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
  }
  std::error_code ignored;
  fs::remove_all(directory, ignored);
  return 0;
}

int measure(const Size& size, unsigned alternations) {
  const Fabric fabric = fat_tree(size);
  const auto directory = fs::temp_directory_path() / fmt::format("weft-bench-ib-{}", getpid());
  bench::Figures figures("infiniband");
  {
    const auto start = steady_clock::now();
    Bench bench(fabric, directory, fmt::format("weft-bench-{}", getpid()));
    fmt::print("{} adapters, {} links up under OpenSM in {:.1f} s\n", fabric.nics().size(),
               fabric.link_count(), Seconds(steady_clock::now() - start).count());
    std::vector<double> serial, o64, ours, errors, counters, dump, tables, paths;
    double peak = 0, counters_sent = 0;
    for (unsigned i = 0; i < alternations; ++i) {
      o64.push_back(bench.run({"ibnetdiscover", "-o", "64"}).seconds);
      ours.push_back(bench.ours("discovery").seconds);
      errors.push_back(bench.run({"ibqueryerrors"}, true).seconds);
      const auto counted = bench.ours("counters");
      counters.push_back(counted.seconds);
      counters_sent = worker_figure(counted, 0);
      dump.push_back(bench.run({"dump_fts"}).seconds);
      tables.push_back(bench.ours("tables").seconds);
      const auto walked = bench.ours("paths");
      paths.push_back(worker_figure(walked, 1));
      peak = std::max({peak, worker_figure(walked, 2), worker_figure(counted, 2)});
      if (worker_figure(counted, 3) > 0) fmt::print("{} ports without counters\n", worker_figure(counted, 3));
      fmt::print(
          "o64 {:.2f} ours {:.2f} | ibqueryerrors {:.2f} ours {:.2f} | dump_fts {:.2f} ours {:.2f} s\n",
          o64.back(), ours.back(), errors.back(), counters.back(), dump.back(), tables.back());
    }
    serial.push_back(bench.run({"ibnetdiscover"}).seconds);
    bench.command("Error " + bench.adapter(fabric.nics().size() / 2) + " 100");
    std::vector<double> dead;
    for (unsigned i = 0; i < std::max(alternations / 2, 1U); ++i)
      dead.push_back(bench.ours("discovery").seconds);
    const double theirs_sent = bench.mads_of({"ibnetdiscover", "-o", "64"});
    const double ours_sent = bench.mads_of(bench.our_words("discovery"));
    const double most = std::stod(bench.ours("most").output);
    figures.add("adapters", static_cast<double>(fabric.nics().size()));
    figures.add("discovery_s", median(ours));
    figures.add("discovery_vs_ibnetdiscover_o64", median(o64) / median(ours), "2.5");
    figures.add("discovery_mads_vs_ibnetdiscover", ours_sent / theirs_sent, "at most 0.85");
    figures.add("discovery_vs_ibnetdiscover", median(serial) / median(ours));
    figures.add("counters_vs_ibqueryerrors", median(errors) / median(counters), "6");
    figures.add("tables_vs_dump_fts", median(dump) / median(tables), "8");
    figures.add("counters_kmads", counters_sent / 1e3);
    figures.add("ibsim_kmads_per_s", most / 1e3);
    figures.add("counters_vs_ibqueryerrors_if_only_ibsim_took_time", median(errors) / (counters_sent / most));
    figures.add("paths_2m_s", median(paths), "at most 0.3");
    figures.add("peak_gb", peak, "at most 1");
    figures.add("dead_node_extra_s", median(dead) - median(ours), "at most one timeout, 0.6");
  }
  std::error_code ignored;
  fs::remove_all(directory, ignored);
  return figures.write();
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "--worker") return weft::work(words[1]);
  const bool small = !words.empty() && words[0] == "small";
  if (words.size() == 2 && words[1] == "hold") return weft::hold(small ? weft::kSmall : weft::kFull);
  const unsigned alternations = words.size() > 1 ? static_cast<unsigned>(std::atoi(words[1].c_str())) : 5;
  return weft::measure(small ? weft::kSmall : weft::kFull, std::max(alternations, 1U));
}
