// Verdicts of sweeps over real packets: labs with one to four faults each, named cases and twenty drawn sets
// of faults of different kinds. Needs root. usage: bench_lab_verdicts [RUNS (1) [FIRST SEED (1) [CASE...]]]
//
// Of a case that is not wholly right the observations stay beside the figures, for `weft diagnose`. What
// others take of the CPUs meanwhile is told with it: a machine that is busy with other work delays packets.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

#include "tests/bench/lab_verdicts/score_sweep.hpp"
#include "tests/bench/support/figures.hpp"
#include "tests/bench/support/weft_command.hpp"
#include "tests/support/lab_user.hpp"
#include "topology/lab/netns/lab_control.hpp"

namespace weft::bench {
namespace {

// From this share of all CPUs on that others take, a run counts as disturbed.
constexpr double kDisturbed = 0.2;

/// Seconds of CPU time in user mode, niced or not: of the machine (proc(5), /proc/stat) and of us with what
/// we ran. The kernel's part is left out: it forwards the packets of the lab in nobody's name.
struct UserSeconds {
  double machine = 0;
  double ours = 0;
  static UserSeconds now() {
    std::ifstream file("/proc/stat");
    std::string word;
    double user = 0;
    double nice = 0;
    file >> word >> user >> nice;
    UserSeconds seconds{(user + nice) / static_cast<double>(sysconf(_SC_CLK_TCK)), 0};
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
      rusage usage{};
      getrusage(who, &usage);
      seconds.ours +=
          static_cast<double>(usage.ru_utime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec) / 1e6;
    }
    return seconds;
  }
};

class LabBench {
 public:
  void run(const LabCase& one) {
    std::ofstream(fabric_) << fabric_text(one);
    weft_output({"lab", "up", fabric_, "--name", lab_});
    if (!one.outage) put(one);
    const auto began = std::chrono::steady_clock::now();
    const auto cpu = UserSeconds::now();
    const auto seen = bench_folder() / fmt::format("lab_verdicts-{}-{}.jsonl", one.name, one.seed);
    const auto text = swept(one, seen);
    const auto said = files::parse_diagnosis(text, one.name);
    const auto cpu_then = UserSeconds::now();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    weft_output({"lab", "down", "--name", lab_});
    const double others = (cpu_then.machine - cpu.machine - cpu_then.ours + cpu.ours) / took.count() /
                          static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
    LabScore score = said ? score_sweep(one, *said) : no_answer(one);
    add(one, score, said ? words_of(*said) : std::vector{text}, others, took.count());
    if (score.failures.empty()) std::filesystem::remove(seen);
  }

  void add_to(Figures& figures) const {
    const auto share = [](const auto& part) {
      return static_cast<double>(part.right) / static_cast<double>(part.faults);
    };
    for (const auto& [kind, part] : by_kind_) figures.add("lab_right_" + kind, share(part));
    figures.add("lab_right", share(all_), ".97");
    figures.add("lab_false_healthy", static_cast<double>(false_healthy_), "0");
    figures.add("lab_wrong_names", static_cast<double>(all_.wrong_names), "0");
    figures.add("lab_runs", static_cast<double>(runs_));
    figures.add("lab_runs_disturbed", static_cast<double>(disturbed_), "0");
  }
  ~LabBench() {
    weft_output({"lab", "down", "--name", lab_});
    std::filesystem::remove(fabric_);
  }

 private:
  /// `weft lab fault` in the words of the case.
  void put(const LabCase& one) const {
    for (const std::string& fault : one.faults) {
      const auto colon = fault.find(':');
      std::vector<std::string> words{"lab", "fault", fault.substr(0, colon), "--name", lab_};
      for (auto rest = fault.substr(colon + 1); !rest.empty();) {
        const auto setting = rest.substr(0, rest.find(','));
        const auto equals = setting.find('=');
        words.push_back("--" + setting.substr(0, equals));
        if (equals != std::string::npos) words.push_back(setting.substr(equals + 1));
        rest.erase(0, setting.size() + 1);
      }
      weft_output(words);
    }
  }

  std::string swept(const LabCase& one, const std::filesystem::path& seen) const {
    const std::vector<std::string> common{"-o", "json", "--seed", std::to_string(one.seed), "--observations",
                                          seen};
    std::vector<std::string> words{"sweep", "--lab=" + lab_};
    std::vector<std::string> before;
    if (!one.hosts.empty()) {
      // A lab is swept whole; as a cluster it is swept from where its head node would stand.
      const auto lab = lab::Lab::open(lab_, lab::kLabsOfRoot);
      if (!lab) return lab.error().message;
      words = {"sweep",
               "--fabric",
               fabric_,
               "--hosts",
               one.hosts,
               "--listen",
               to_string(lab->coordinator_address()),
               "--answer-rate",
               "10000",
               "--load",
               "full",
               "--launcher",
               fmt::format("{} lab exec {{host}} --name {} --", WeftCommand::kProgram, lab_)};
      before = {"nsenter", "--net=" + lab->management_namespace().string()};
    }
    words.insert(words.end(), common.begin(), common.end());
    WeftCommand sweep(words, before);
    if (one.outage) {
      wait_for_probes(sweep);
      std::this_thread::sleep_for(one.outage->after);
      put(one);
      std::this_thread::sleep_for(one.outage->length);
      weft_output({"lab", "heal", "--name", lab_});
    }
    return sweep.output();
  }

  /// On a busy machine agents take seconds to come: an outage that is over by then is none of the sweep's.
  static void wait_for_probes(const WeftCommand& sweep) {
    const auto agent = child_with_word(sweep.pid(), "agent");
    if (!agent || !probes_from(*agent, 100)) fmt::print(stderr, "no probes were seen to begin\n");
  }

  static LabScore no_answer(const LabCase& one) {
    return {.faults = std::max<std::size_t>(one.faults.size(), 1), .failures = {"no answer"}};
  }

  void add(const LabCase& one, const LabScore& score, const std::vector<std::string>& words, double others,
           double seconds) {
    ++runs_;
    disturbed_ += others > kDisturbed ? 1 : 0;
    false_healthy_ += score.false_healthy ? 1 : 0;
    const auto kind = one.name.starts_with("drawn") ? "drawn" : one.name;
    for (LabScore* sum : {&all_, &by_kind_[kind]}) {
      sum->faults += score.faults;
      sum->right += score.right;
      sum->wrong_names += score.wrong_names;
    }
    fmt::print(stderr, "{} {}: {} of {} right, {:.0f} s, others took {:.0f} % of the CPUs\n", one.name,
               one.seed, score.right, score.faults, seconds, 100 * others);
    if (score.failures.empty()) return;
    for (const auto& fault : one.faults) fmt::print(stderr, "    fault {}\n", fault);
    if (one.outage)
      fmt::print(stderr, "    from {} on for {}\n", to_string(one.outage->after),
                 to_string(one.outage->length));
    for (const auto& failure : score.failures) fmt::print(stderr, "  {}\n", failure);
    for (const auto& word : words) fmt::print(stderr, "    said: {}\n", word);
  }

  const std::string lab_ = fmt::format("verdict{}", getpid());
  const std::string fabric_ = std::filesystem::temp_directory_path() / (lab_ + ".yaml");
  LabScore all_;
  std::map<std::string, LabScore> by_kind_;
  std::size_t runs_ = 0;
  std::size_t disturbed_ = 0;
  std::size_t false_healthy_ = 0;
};

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  const std::vector<std::string> given(argv + 1, argv + argc);
  const auto number = [&](std::size_t i) {
    return given.size() > i ? std::max<std::uint64_t>(1, std::strtoull(given[i].c_str(), nullptr, 10)) : 1;
  };
  const auto wanted = [&](const LabCase& one) {
    return given.size() < 3 || std::find(given.begin() + 2, given.end(), one.name) != given.end();
  };
  LabBench bench;
  for (std::uint64_t seed = number(1); seed < number(1) + number(0); ++seed)
    for (const LabCase& one : lab_cases(seed))
      if (wanted(one)) bench.run(one);
  Figures figures("lab_verdicts");
  bench.add_to(figures);
  return figures.write();
}
