// Acceptance on InfiniBand: labs of 6 leaves and 4 spines in ibsim under OpenSM with LMC 2, two hosts a leaf,
// agents on one of them. Sweeps of the healthy lab, of each of five faults alone, and of all pairs of them.
// Counts the sweeps that name exactly what is wrong. usage: bench_ib_acceptance [CLEAN SWEEPS (20)]
// [few]; `few`: each fault alone, no pairs. Exit status 1 when any sweep was wrong.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/bench/support/figures.hpp"
#include "topology/lab/child_process.hpp"

namespace weft::bench {
namespace {

constexpr auto kLimit = std::chrono::minutes(2);  // for one command
constexpr const char* kBudget = "5s";

struct Fault {
  std::string name;
  std::string link;
  std::string from;                // the node its channel leaves; empty: the link
  std::string cause;               // as the document says it
  std::vector<std::string> words;  // of `weft lab fault`; empty: it stands in the fabric file
};

const std::vector<Fault> kFaults{
    {"loss", "leaf2--spine3", "leaf2", "loss", {"--loss", "5"}},
    {"symbols", "leaf4--spine1", "spine1", "counter", {"--counter", "SymbolErrorCounter=300"}},
    {"waiting", "leaf5--spine4", "leaf5", "congestion", {"--counter", "PortXmitWait=2000000000"}},
    {"unlinked", "leaf6--spine2", "", "down", {"--down"}},
    {"half_width", "leaf1--spine2", "", "rate", {}},
};

/// What a finding says of itself, to be compared: link, the way, cause.
using Named = std::set<std::string>;
std::string named(const std::string& link, const std::string& from, const std::string& cause) {
  return fmt::format("{}{} {}", link, from.empty() ? "" : " from " + from, cause);
}

class Lab {
 public:
  explicit Lab(bool half_width) : name_(fmt::format("ibaccept{}{}", getpid(), half_width ? "h" : "")) {
    const auto file = scratch(".yaml");
    std::ofstream(file) << "fabric: ib-accept\nkind: infiniband\n"
                           "clos: {leaves: 6, spines: 4, hosts_per_leaf: 2, link: 200G}\n"
                           "lab: {routing: minhop, lmc: 2"
                        << (half_width ? ", slow_links: {leaf1--spine2: 100G}" : "") << "}\n";
    weft({"lab", "up", file, "--name", name_});
    std::filesystem::remove(file);
  }
  ~Lab() { weft({"lab", "down", "--name", name_}); }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  /// Sweeps with these faults in force, heals, and says whether exactly they were named.
  bool names(const std::vector<Fault>& faults) {
    Named expected;
    for (const Fault& fault : faults) {
      expected.insert(named(fault.link, fault.from, fault.cause));
      if (fault.words.empty()) continue;
      std::vector<std::string> words{"lab", "fault", fault.link, "--name", name_};
      words.insert(words.end(), fault.words.begin(), fault.words.end());
      if (!fault.from.empty()) words.insert(words.end(), {"--from", fault.from});
      weft(words);
    }
    const auto text = weft({"sweep", "--lab=" + name_, "--budget", kBudget, "-o", "json"});
    weft({"lab", "heal", "--name", name_});
    const auto found = nlohmann::json::parse(text, nullptr, false);
    const bool right = found.is_object() && found["hosts"].empty() && found["groups"].empty() &&
                       links_of(found) == expected && (found["verdict"] == "healthy") == faults.empty();
    if (!right)
      fmt::print(stderr, "expected {}; found {}\n", fmt::join(expected, ", "),
                 found.is_object() ? found["links"].dump() + found["hosts"].dump() + found["groups"].dump()
                                   : "no answer: " + text);
    return right;
  }

 private:
  static Named links_of(const nlohmann::json& found) {
    Named result;
    for (const auto& link : found["links"])
      result.insert(named(link["link"], link.value("from", ""), link["cause"]));
    return result;
  }

  std::filesystem::path scratch(const char* suffix) const {
    return std::filesystem::temp_directory_path() / (name_ + suffix);
  }

  /// Runs weft; its stdout, whatever its exit status.
  std::string weft(const std::vector<std::string>& arguments) const {
    const auto out = scratch(".out");
    ChildSpec spec{.argv = {WEFT_BINARY_DIR "/weft"}, .output = ToFile{out}};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    auto child = ChildProcess::start(spec);
    if (!child) {
      fmt::print(stderr, "{}\n", child.error().message);
      return {};
    }
    [[maybe_unused]] const auto ended = child->wait_for(kLimit);
    std::ifstream file(out, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(out);
    return text;
  }

  std::string name_;
};

struct Score {
  int right = 0;
  int of = 0;
  void add(bool is_right) { right += is_right, ++of; }
};

/// Each fault alone and, if asked, with each later one. A lab has the link of half width from the start or
/// not at all.
void sweep_faults(bool half_width, bool pairs, Lab& lab, Score& alone, Score& together) {
  const Fault& half = kFaults.back();
  if (half_width) alone.add(lab.names({half}));
  for (std::size_t a = 0; a + 1 < kFaults.size(); ++a) {
    if (!half_width) alone.add(lab.names({kFaults[a]}));
    if (!pairs) continue;
    if (half_width) together.add(lab.names({kFaults[a], half}));
    for (std::size_t b = a + 1; !half_width && b + 1 < kFaults.size(); ++b)
      together.add(lab.names({kFaults[a], kFaults[b]}));
  }
}

int measure(int clean_sweeps, bool pairs) {
  Score clean, alone, together;
  for (const bool half_width : {false, true}) {
    Lab lab(half_width);
    for (int i = 0; !half_width && i < clean_sweeps; ++i) clean.add(lab.names({}));
    sweep_faults(half_width, pairs, lab, alone, together);
  }
  Figures figures("ib_acceptance");
  figures.add("clean_sweeps_right", clean.right, fmt::format("{}", clean.of));
  figures.add("faults_alone_right", alone.right, fmt::format("{}", alone.of));
  if (pairs) figures.add("fault_pairs_right", together.right, fmt::format("{}", together.of));
  const bool all = clean.right == clean.of && alone.right == alone.of && together.right == together.of;
  const int written = figures.write();
  return all ? written : 1;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  for (const char* program : {"/usr/bin/ibsim", "/usr/sbin/opensm", "/usr/sbin/nats-server"})
    if (access(program, X_OK) != 0) return fmt::print("skipped: {} is not installed\n", program), 77;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool few = std::find(words.begin(), words.end(), "few") != words.end();
  const int clean = words.empty() ? 20 : std::max(1, std::atoi(words[0].c_str()));
  return weft::bench::measure(clean, !few);
}
