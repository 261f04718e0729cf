// How often the cause of a hang is named, over simulated jobs of 512 ranks of 8 rails that leave real dumps
// of 40 entries, RAS documents and tables of queue pairs, some dumps missing or cut short; and what reading
// the dumps of a large job costs against Python's pickle.load alone.
//
//   bench_hang [SEEDS]    seeds a kind, 100 by default
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/bench/support/figures.hpp"
#include "tests/support/hung_job.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft {
namespace {

using nccl::HangCause;

struct Kind {
  const char* figure;
  std::vector<JobFault> faults;  // in turn
  std::vector<HangCause> causes;
  const char* target;
};

struct Tally {
  int right = 0;
  int by_ranks = 0;     // without the queue pairs: what dumps and RAS tell alone
  int wrong = 0;        // a rank or link is named that is not at fault
  int false_links = 0;  // of faults that are no link's
  int sets = 0;         // the link is one of a set
};

bool names_link(const HungJob& job, const nccl::HangVerdict& told) {
  return told.links.size() == 1 &&
         told.links[0].link == job.fabric.name_of(Fabric::link_of(*job.faulty_channel));
}

void judge(const Kind& kind, JobFault fault, std::uint64_t seed, Tally& tally) {
  HungJobSpec spec{.fault = fault, .seed = seed, .lost_dumps = 0.01, .cut_dumps = 0.005, .lost_tables = 0.03};
  const HungJob job(spec);
  auto input = job.input();
  const nccl::JobFabric fabric{&job.fabric, &job.paths, nullptr};
  const auto told = nccl::explain_hang(input, fabric);
  const bool cause = std::ranges::count(kind.causes, told.cause) > 0;
  bool right = false;
  if (job.faulty_channel) {
    right = cause && names_link(job, told);
    if (told.links.empty() && !told.alternatives.empty()) ++tally.sets;
    if (!told.links.empty() && !names_link(job, told)) ++tally.wrong;
    if (!told.ranks.empty()) ++tally.wrong;
    input.qps.clear();
    tally.by_ranks += names_link(job, nccl::explain_hang(input, fabric));
  } else {
    right = cause && told.ranks == std::vector{*job.faulty_rank} && told.links.empty();
    if (!told.links.empty()) ++tally.false_links;
    if (!told.ranks.empty() && told.ranks != std::vector{*job.faulty_rank}) ++tally.wrong;
  }
  tally.right += right;
  if (!right) fmt::print("    {} seed {}: {}\n", kind.figure, seed, told.sentence);
}

void verdicts(int seeds, bench::Figures& figures) {
  const std::vector<Kind> kinds{
      {"right_missing", {JobFault::never_entered}, {HangCause::never_entered}, "at least .97"},
      {"right_dead", {JobFault::dead}, {HangCause::dead}, "at least .97"},
      {"right_mismatch", {JobFault::mismatch}, {HangCause::mismatch}, "at least .97"},
      {"right_host", {JobFault::host_stopped, JobFault::gpu_stuck}, {HangCause::host}, "at least .97"},
      {"right_link", {JobFault::black_hole, JobFault::loss}, {HangCause::network}, "at least .97"},
      {"right_straggler",
       {JobFault::slow_channel, JobFault::slow_gpu},
       {HangCause::slow_network, HangCause::slow_rank},
       "at least .97"},
  };
  int false_links = 0;
  int wrong = 0;
  for (const Kind& kind : kinds) {
    Tally tally;
    for (int seed = 1; seed <= seeds; ++seed)
      judge(kind, kind.faults[static_cast<std::size_t>(seed) % kind.faults.size()],
            static_cast<std::uint64_t>(seed), tally);
    figures.add(kind.figure, static_cast<double>(tally.right) / seeds, kind.target);
    if (std::string_view(kind.figure) == "right_link") {
      figures.add("right_link_by_ranks", static_cast<double>(tally.by_ranks) / seeds);
      figures.add("link_in_a_set", static_cast<double>(tally.sets) / seeds);
    }
    false_links += tally.false_links;
    wrong += tally.wrong;
  }
  figures.add("false_link", false_links, "0");
  figures.add("wrong_names", wrong);
}

double children_cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// CPU seconds and seconds by the clock.
std::pair<double, double> cost_of(const std::string& command) {
  const double before = children_cpu_s();
  double ms = 0;
  int status = 0;
  ms = bench::milliseconds([&] { status = std::system(command.c_str()); });  // NOLINT: our own words
  if (status != 0 && status != 3 << 8) fmt::print("    status {}: {}\n", status, command);
  return {children_cpu_s() - before, ms / 1e3};
}

void costs(bench::Figures& figures) {
  constexpr nccl::Rank kRanks = 1024;
  constexpr std::size_t kEntries = 2000;
  constexpr std::size_t kFrames = 150;
  const auto scratch = os::ScratchDirectory::make();
  if (!scratch) return fmt::print("    {}\n", scratch.error().message);
  std::uintmax_t bytes = 0;
  for (nccl::Rank rank = 0; rank < kRanks; ++rank) {
    const std::string dump = large_dump(rank, kEntries, kFrames);
    bytes += dump.size();
    std::ofstream(scratch->path() / fmt::format("nccl_trace_rank_{}", rank), std::ios::binary) << dump;
  }
  const std::string folder = scratch->path().string();
  const std::string weft = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weft").string();
  const auto ours = cost_of(fmt::format("'{}' nccl hang '{}' >/dev/null", weft, folder));
  const auto theirs = cost_of(fmt::format(
      "python3 -c 'import os,pickle,sys\nfor f in os.listdir(sys.argv[1]): pickle.load(open(os.path.join("
      "sys.argv[1],f),\"rb\"))' '{}'",
      folder));
  figures.add("fr_bytes", static_cast<double>(bytes));
  figures.add("fr_python_cpu_s", theirs.first);
  figures.add("fr_cpu_s", ours.first);
  figures.add("fr_vs_python", ours.first / theirs.first, "at most 3");
  figures.add("fr_1024_s", ours.second, "at most 8");
}

int run(int seeds) {
  bench::Figures figures("hang");
  verdicts(seeds, figures);
  costs(figures);
  return figures.write();
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::run(argc > 1 ? std::atoi(argv[1]) : 100); }
