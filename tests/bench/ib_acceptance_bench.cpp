// Acceptance on InfiniBand: labs of 6 leaves and 4 spines in ibsim under OpenSM with LMC 2, two hosts a leaf,
// agents on one of them. Sweeps of the healthy lab, of each of five faults alone, and of all pairs of them.
// Counts the sweeps that name exactly what is wrong. Then other shapes, as data centres have them: hosts of 4
// and 8 NICs, names of 64 characters, names that makers gave; one healthy sweep each and faults alone and in
// pairs. usage: bench_ib_acceptance [CLEAN SWEEPS (20)] [few]; `few`: each fault alone, no pairs, no other
// shapes. `shape NAME`: that shape alone. Exit status 1 when any sweep was wrong.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/bench/support/figures.hpp"
#include "tests/places.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/child_process.hpp"

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

std::string six_leaves(bool half_width) {
  return fmt::format(
      "clos: {{leaves: 6, spines: 4, hosts_per_leaf: 2, link: 200G}}\nlab: {{routing: minhop, lmc: 2{}}}\n",
      half_width ? ", slow_links: {leaf1--spine2: 100G}" : "");
}

class Lab {
 public:
  /// `text`: the fabric file without its name and kind.
  explicit Lab(const std::string& text)
      : name_(fmt::format("ibaccept{}", getpid())), named_by_makers_(text.find("Infiniscale") != text.npos) {
    const auto file = scratch(".yaml");
    std::ofstream(file) << "fabric: ib-accept\nkind: infiniband\n" << text;
    set_up({"lab", "up", file, "--name", name_});
    std::filesystem::remove(file);
  }
  ~Lab() { weft({"lab", "down", "--name", name_}); }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  /// Sweeps with these faults in force, heals, and says whether exactly they were named. A counter alone is
  /// none: it has to be noted at its channel. One whose cause is
  /// "renamed" or "replaced" is no finding: it has to be said beside them.
  bool names(const std::vector<Fault>& faults) {
    Named expected, noted;
    std::vector<std::string> remarks;
    for (const Fault& fault : faults) {
      if (fault.cause == "renamed" || fault.cause == "replaced") {
        remarks.push_back(fmt::format("{}: {} ", fault.cause, fault.link));
        continue;
      }
      if (fault.cause == "counter") {
        const auto middle = fault.link.find("--");
        const auto a = fault.link.substr(0, middle), b = fault.link.substr(middle + 2);
        noted.insert(fault.from == a ? a + "->" + b : b + "->" + a);
      } else {
        expected.insert(named(fault.link, fault.from, fault.cause));
      }
      if (fault.words.empty()) continue;
      std::vector<std::string> words{"lab", "fault", fault.link, "--name", name_};
      words.insert(words.end(), fault.words.begin(), fault.words.end());
      if (!fault.from.empty()) words.insert(words.end(), {"--from", fault.from});
      set_up(words);
    }
    const auto text = weft({"sweep", "--lab=" + name_, "--budget", kBudget, "-o", "json"});
    const auto errors = errors_;
    weft({"lab", "heal", "--name", name_});
    const auto found = nlohmann::json::parse(text, nullptr, false);
    const auto said = [&errors](const std::string& remark) {
      return errors.find(remark) != std::string::npos;
    };
    const bool remarked = std::all_of(remarks.begin(), remarks.end(), said) &&
                          (named_by_makers_ || (said("renamed: ") || said("replaced: ")) == !remarks.empty());
    const bool right = is_set_up_ && found.is_object() && found["groups"].empty() &&
                       found_in(found) == expected && noted_in(found) == noted && remarked &&
                       (found["verdict"] == "healthy") == expected.empty();
    hung_ += text.empty() ? 1 : 0;
    false_ += expected.empty() && found.is_object() && found["verdict"] != "healthy" ? 1 : 0;
    if (!right)
      fmt::print(stderr, "expected {} {}; said {}; found {}\n", fmt::join(expected, ", "),
                 fmt::join(remarks, ", "), errors,
                 found.is_object() ? found["links"].dump() + found["hosts"].dump() + found["groups"].dump()
                                   : "no answer: " + text);
    return right;
  }

  int hung() const { return hung_; }            // sweeps that gave no answer
  int healthy_false() const { return false_; }  // sweeps of a sound lab that found something

 private:
  static Named noted_in(const nlohmann::json& found) {
    Named result;
    for (const auto& note : found.value("counters", nlohmann::json::array())) result.insert(note["channel"]);
    return result;
  }
  /// Of a host its cable.
  static Named found_in(const nlohmann::json& found) {
    Named result;
    for (const auto& link : found["links"])
      result.insert(named(link["link"], link.value("from", ""), link["cause"]));
    for (const auto& host : found["hosts"])
      result.insert(named(host.value("link", "host " + host.value("host", "")), host.value("from", ""),
                          host.value("cause", "")));
    return result;
  }

  std::filesystem::path scratch(const char* suffix) const {
    return std::filesystem::temp_directory_path() / (name_ + suffix);
  }

  /// A lab without its fault proves nothing: no sweep of it is right.
  void set_up(const std::vector<std::string>& arguments) {
    weft(arguments);
    if (status_ == 0) return;
    is_set_up_ = false;
    fmt::print(stderr, "weft {}: {}", fmt::join(arguments, " "), errors_);
  }

  /// Runs weft; its stdout, whatever its exit status.
  std::string weft(const std::vector<std::string>& arguments) {
    const auto out = scratch(".out");
    const auto errors = scratch(".err");
    os::ChildSpec spec{
        .argv = {WEFT_BINARY_DIR "/weft"}, .output = os::ToFile{out}, .errors = os::ToFile{errors}};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    auto child = os::ChildProcess::start(spec);
    if (!child) {
      fmt::print(stderr, "{}\n", child.error().message);
      return {};
    }
    const auto ended = child->wait_for(kLimit);
    status_ = ended && *ended ? (*ended)->shell_status() : -1;
    errors_ = taken(errors);
    return taken(out);
  }

  static std::string taken(const std::filesystem::path& path) {
    std::string text = text_of(path);
    std::filesystem::remove(path);
    return text;
  }

  std::string name_;
  bool named_by_makers_;
  std::string errors_;  // what the last command said there
  int status_ = 0;      // its exit status; -1: it hung
  bool is_set_up_ = true;
  int hung_ = 0;
  int false_ = 0;
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

/// A fabric as data centres have them, and where its faults go.
struct FabricShape {
  std::string name;
  std::string text;  // without `lab:`
  std::string switch_cable, host_cable, counter, half_width, renamed, replaced;
  std::string lab;  // more of `lab:`, ending in ", "
};

std::string rails(int nics) {
  return fmt::format("rails: {{groups: 2, hosts_per_group: 4, rails: {}, spines: 4, link: 200G}}\n", nics);
}

std::string long_name(int host) { return fmt::format("gpu{}-{}", host, std::string(59, 'n')); }

/// Four leaves and two spines; hosts of 64 characters.
std::string long_names() {
  std::string nodes = "nodes:\n";
  std::string links = "links:\n";
  for (int leaf = 1; leaf <= 4; ++leaf) nodes += fmt::format("  - {{name: leaf{}, tier: leaf}}\n", leaf);
  for (int spine = 1; spine <= 2; ++spine)
    nodes += fmt::format("  - {{name: spine{}, tier: spine}}\n", spine);
  for (int host = 1; host <= 8; ++host) {
    nodes += fmt::format("  - {{name: {}, kind: host}}\n", long_name(host));
    links += fmt::format("  - {{a: {}, b: leaf{}, rate: 200G}}\n", long_name(host), (host + 1) / 2);
  }
  for (int leaf = 1; leaf <= 4; ++leaf)
    for (int spine = 1; spine <= 2; ++spine)
      links += fmt::format("  - {{a: leaf{}, b: spine{}, rate: 200G}}\n", leaf, spine);
  return nodes + links;
}

/// 500 adapters at 36 leaves under 4 spines: 40 switches.
std::string large() { return "clos: {leaves: 36, spines: 4, hosts_per_leaf: 14, link: 200G}\n"; }

std::vector<FabricShape> shapes() {
  const FabricShape tree{"",
                         "clos: {leaves: 6, spines: 4, hosts_per_leaf: 2, link: 200G}\n",
                         "leaf6--spine2",
                         "host11--leaf6",
                         "leaf4--spine1",
                         "leaf1--spine2",
                         "host3",
                         "host5",
                         ""};
  FabricShape factory = tree;
  factory.name = "factory_names";
  factory.lab =
      "descriptions: {spine1: Infiniscale, spine2: Infiniscale, leaf3: Infiniscale, host7: ubuntu "
      "mlx5_0, host8: ubuntu mlx5_1}, ";
  FabricShape big = tree;
  big.name = "of_500_adapters";
  big.text = large();
  big.host_cable = "host200--leaf15";  // of a host without an agent
  return {{"rails_of_4", rails(4), "leaf6--spine2", "host7--leaf8", "leaf4--spine1", "leaf1--spine2", "host3",
           "host5/p1", ""},
          {"rails_of_8", rails(8), "leaf6--spine2", "host7--leaf16", "leaf4--spine1", "leaf1--spine2",
           "host3", "host5/p1", ""},
          {"long_names", long_names(), "leaf4--spine2", long_name(3) + "--leaf2", "leaf3--spine1",
           "leaf1--spine2", long_name(7), long_name(5), ""},
          factory,
          big};
}

/// What stands in the fabric file of a lab, then what is done to one.
std::vector<Fault> faults_of(const FabricShape& shape) {
  return {{"half_width", shape.half_width, "", "rate", {}},
          {"renamed", shape.renamed, "", "renamed", {}},
          {"replaced", shape.replaced, "", "replaced", {}},
          {"switch_cable", shape.switch_cable, "", "down", {"--down"}},
          {"host_cable", shape.host_cable, "", "down", {"--down"}},
          {"counter", shape.counter, "spine1", "counter", {"--counter", "SymbolErrorCounter=300"}}};
}

std::string file_of(const FabricShape& shape, const std::vector<Fault>& faults) {
  std::string lab;
  std::string descriptions = shape.lab;
  for (const Fault& fault : faults) {
    if (fault.name == "half_width") lab += fmt::format("slow_links: {{{}: 100G}}, ", fault.link);
    if (fault.name == "replaced") lab += fmt::format("replaced: [{}], ", fault.link);
    if (fault.name != "renamed") continue;
    const auto other = fmt::format("{}: \"MT4123 ConnectX6   Mellanox Technologies\"", fault.link);
    if (descriptions.empty())
      descriptions = fmt::format("descriptions: {{{}}}, ", other);
    else
      descriptions.insert(descriptions.find('{') + 1, other + ", ");
  }
  return shape.text + "lab: {" + lab + descriptions + "lmc: 1}\n";
}

/// A healthy sweep, each fault alone, and all pairs. Names that were given by a maker from the start are
/// remarks from the start: there only the findings count.
void sweep_shape(const FabricShape& shape, Score& score, int& healthy_false, int& hung) {
  const auto faults = faults_of(shape);
  std::vector<std::vector<Fault>> sets{{}};
  for (std::size_t a = 0; a < faults.size(); ++a) {
    sets.push_back({faults[a]});
    for (std::size_t b = a + 1; b < faults.size(); ++b) sets.push_back({faults[a], faults[b]});
  }
  for (const auto& set : sets) {
    Lab lab(file_of(shape, set));
    score.add(lab.names(set));
    healthy_false += lab.healthy_false();
    hung += lab.hung();
  }
}

bool measure_shapes(Figures& figures, const std::string& only) {
  int healthy_false = 0;
  int hung = 0;
  bool all = true;
  for (const FabricShape& shape : shapes()) {
    if (!only.empty() && shape.name != only) continue;
    Score score;
    sweep_shape(shape, score, healthy_false, hung);
    figures.add(shape.name + "_right", score.right, fmt::format("{}", score.of));
    all = all && score.right == score.of;
  }
  figures.add("healthy_false", healthy_false, "sweeps");
  figures.add("hang", hung, "sweeps");
  return all && healthy_false == 0 && hung == 0;
}

int measure(int clean_sweeps, bool pairs) {
  Score clean, alone, together;
  for (const bool half_width : {false, true}) {
    Lab lab(six_leaves(half_width));
    for (int i = 0; !half_width && i < clean_sweeps; ++i) clean.add(lab.names({}));
    sweep_faults(half_width, pairs, lab, alone, together);
  }
  Figures figures("ib_acceptance");
  figures.add("clean_sweeps_right", clean.right, fmt::format("{}", clean.of));
  figures.add("faults_alone_right", alone.right, fmt::format("{}", alone.of));
  if (pairs) figures.add("fault_pairs_right", together.right, fmt::format("{}", together.of));
  bool all = clean.right == clean.of && alone.right == alone.of && together.right == together.of;
  if (pairs) all &= measure_shapes(figures, "");
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
  if (words.size() == 2 && words[0] == "shape") {
    weft::bench::Figures figures("ib_acceptance_" + words[1]);
    const bool all = weft::bench::measure_shapes(figures, words[1]);
    const int written = figures.write();
    return all ? written : 1;
  }
  const int clean = words.empty() ? 20 : std::max(1, std::atoi(words[0].c_str()));
  return weft::bench::measure(clean, !few);
}
