#include "cli/compare_sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "cli/commands.hpp"
#include "cli/lab_place.hpp"
#include "collectors/compare/built_fabric.hpp"
#include "probes/run/agents.hpp"
#include "topology/base/host_list.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/lab/netns/lab_control.hpp"

namespace weft::cli {
namespace {

/// What a run does, unless --each or --variant say otherwise: all pairs load the fabric, as a job does. A
/// live fabric is loaded only where one of these says how much.
constexpr const char *kUsualBudget = "budget=2s", *kUsualPattern = "pattern=all-pairs",
                     *kUsualLoad = "load=full", *kNoLoad = "load=none";
constexpr const char* kUsualOfLive = "load-time=200ms";  // a simulated round takes no time
/// Of live InfiniBand, as a sweep has it; said, lest a configuration file says something else than is
/// compared.
constexpr const char* kUsualEngine = "engine=umad";

using Texts = std::vector<std::string>;

/// Set by the comparison itself.
bool is_ours(std::string_view name) {
  constexpr std::array kOurs{"fabric", "lab",   "save",    "observations", "seed",         "progress", "help",
                             "output", "paths", "dry-run", "html",         "metrics-file", "plot"};
  return std::ranges::find(kOurs, name) != kOurs.end();
}

/// 'qps=4,message=64KiB': options of a sweep. What stands behind a comma and begins with no name of one goes
/// on with the one before: 'fault=leaf1--spine2:loss=1%,from=leaf1'.
Result<Texts> read_settings(std::string_view option, std::string_view text,
                            const std::set<std::string>& known) {
  Texts items;
  for (std::string_view rest = text; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string item(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::string name = item.substr(0, item.find('='));
    if (known.contains(name))
      items.push_back(item);
    else if (items.empty())
      return fail(ErrorKind::usage, "--{} {}: '{}' is no option of a sweep, as in qps=4 or budget=5s", option,
                  text, name);
    else
      items.back() += "," + item;
    if (is_ours(name))
      return fail(ErrorKind::usage, "--{} {}: '{}' is set by the comparison itself", option, text, name);
  }
  if (items.empty()) return fail(ErrorKind::usage, "--{}: expected settings, as in qps=4", option);
  return items;
}

/// Of the options that a command knows. Later settings of a name replace earlier ones.
class SweepSettings {
 public:
  explicit SweepSettings(std::set<std::string> known) : known_(std::move(known)) {}

  void add(const Texts& items) {
    for (const std::string& item : items) {
      const std::string name = item.substr(0, item.find('='));
      if (!known_.contains(name)) continue;  // a usual one that this command lacks
      if (name != "fault" && name != "stall")
        std::erase_if(items_, [&](const std::string& other) { return is_of(other, name); });
      items_.push_back(item);
    }
  }
  /// Where nothing is said of it yet.
  void add_usual(std::string_view name, const char* item) {
    if (std::ranges::none_of(items_, [&](const std::string& other) { return is_of(other, name); }))
      add({item});
  }
  std::optional<std::string> value(std::string_view name) const {
    for (const std::string& item : items_)
      if (item.starts_with(name) && item.substr(name.size()).starts_with('='))
        return item.substr(name.size() + 1);
    return std::nullopt;
  }
  Texts words() const {
    Texts words;
    for (const std::string& item : items_) words.push_back("--" + item);
    return words;
  }
  const std::set<std::string>& known() const { return known_; }

 private:
  static bool is_of(std::string_view item, std::string_view name) {
    return item.substr(0, item.find('=')) == name;
  }

  std::set<std::string> known_;
  Texts items_;
};

std::set<std::string> names_of(const OptionParser& parser) {
  std::set<std::string> names;
  for (const OptionText& option : parser.texts()) names.insert(option.name);
  return names;
}

/// What is swept: words of the command, and how the side is called.
struct Target {
  Texts words;
  std::string name;
  bool is_live_fabric = false;
  std::optional<std::string> file, lab = std::nullopt;  // one of them

  bool is_simulated() const { return words.front() == "simulate"; }
  bool is_infiniband_lab() const { return lab && lab::ib_lab_exists(*lab, ib_lab_root()); }
};

Result<std::vector<Target>> targets_of(const po::variables_map& values) {
  std::vector<Target> targets;
  const bool simulated = values.count("simulate") != 0;
  for (const std::string& lab : texts_of(values, "lab"))
    targets.push_back({{"sweep", "--lab=" + lab}, "lab " + lab, false, std::nullopt, lab});
  if (simulated && !targets.empty())
    return fail(ErrorKind::usage, "--simulate is for fabric files: a lab is no simulation");
  for (const std::string& file : texts_of(values, "fabric"))
    targets.push_back({{simulated ? "simulate" : "sweep", "--fabric=" + file}, file, !simulated, file});
  const auto variants = texts_of(values, "variant");
  if (!variants.empty() && variants.size() != 2)
    return fail(ErrorKind::usage, "--variant stands {} times: expected twice, for A and for B",
                variants.size());
  if (targets.size() == 1 && variants.size() == 2) targets.push_back(targets.front());
  if (targets.size() != 2)
    return fail(
        ErrorKind::usage,
        "{} to compare: expected two (A.yaml B.yaml, or --lab=a --lab=b), or one with --variant twice",
        targets.size());
  return targets;
}

/// Absent of labs.
using KnownFile = std::optional<files::FabricFile>;

/// Of a side: what a run does anyway, but for its load, and what --each and --variant say.
Result<SweepSettings> settings_of(const po::variables_map& values, const Target& target, std::size_t which) {
  SweepSettings settings(names_of(target.is_simulated() ? simulate_options() : sweep_options()));
  settings.add({kUsualBudget, kUsualOfLive});
  if (const auto each = text_option(values, "each")) {
    WEFT_TRY(const auto items, read_settings("each", *each, settings.known()));
    settings.add(items);
  }
  if (const auto variants = texts_of(values, "variant"); !variants.empty()) {
    WEFT_TRY(const auto items, read_settings("variant", variants[which], settings.known()));
    settings.add(items);
  }
  return settings;
}

bool is_infiniband(const KnownFile& file) { return file && file->fabric.kind() == FabricKind::infiniband; }

/// A live fabric of InfiniBand is swept by management datagrams, unless queue pairs are asked for.
bool is_swept_by_mads(const Target& target, const KnownFile& file, const SweepSettings& settings) {
  return target.is_live_fabric && is_infiniband(file) && settings.value("engine") != "verbs";
}

/// Management datagrams of InfiniBand are all that a lab of it carries, and all that the simulator sends over
/// it. Two simulated or live fabrics of InfiniBand have round trips of these to compare; RoCE has none of
/// that size.
compare::ProbesAlone probes_alone_of(const Target& target, const KnownFile& file, const KnownFile& other,
                                     const SweepSettings& settings) {
  if (target.is_infiniband_lab()) return compare::ProbesAlone::infiniband_lab;
  if (!is_infiniband(file) || is_infiniband(other)) return compare::ProbesAlone::no;
  if (target.is_simulated()) return compare::ProbesAlone::simulated_infiniband;
  return is_swept_by_mads(target, file, settings) ? compare::ProbesAlone::live_infiniband
                                                  : compare::ProbesAlone::no;
}

/// Why no side may be loaded.
using NoLoad = std::optional<const char*>;
constexpr const char* kMadsAreNoLoad =
    "InfiniBand is one of the sides, and a lab or the simulator carries management datagrams there and no "
    "data: only probes can be compared";
constexpr const char* kMadsOfLiveAreNoLoad =
    "InfiniBand is one of the sides, and its sweep sends management datagrams, which carry no data: only "
    "probes can be compared, unless engine=verbs sends by queue pairs (--each engine=verbs for both sides)";

Result<ComparedSide> side_of(const po::variables_map& values, const Target& target, std::size_t which,
                             SweepSettings settings, const NoLoad& no_load) {
  if (!target.is_live_fabric || no_load) settings.add_usual("load", no_load ? kNoLoad : kUsualLoad);
  ComparedSide side{.name = target.name, .argv = {}, .env = {}};
  if (const auto variants = texts_of(values, "variant"); !variants.empty())
    side.name += ", " + variants[which];
  if (const auto load = settings.value("load"); load && *load != "none") {
    if (no_load) return fail(ErrorKind::usage, "load={}: {}", *load, *no_load);
    settings.add_usual("pattern", kUsualPattern);
  }
  side.load = settings.value("load").value_or("none");
  WEFT_TRY(const auto program, run::own_program());
  side.argv = {program};
  side.argv.insert(side.argv.end(), target.words.begin(), target.words.end());
  const auto words = settings.words();
  side.argv.insert(side.argv.end(), words.begin(), words.end());
  return side;
}

/// As the sweep knows it. A lab of InfiniBand that is not up is refused by its sweep.
Result<std::shared_ptr<const Fabric>> fabric_of(const Target& target, const KnownFile& file) {
  if (file) return std::make_shared<const Fabric>(file->fabric);
  if (target.is_infiniband_lab()) {
    WEFT_TRY(const auto lab, lab::ib_lab_open(*target.lab, ib_lab_root()));
    return std::make_shared<const Fabric>(lab.fabric);
  }
  WEFT_TRY(const auto status, lab::lab_status(*target.lab, lab_state_root()));
  return std::make_shared<const Fabric>(status.lab.fabric_as_built());
}

constexpr std::string_view kHosts = "{hosts}";

std::string replaced(std::string text, std::string_view place, std::string_view by) {
  for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at + by.size()))
    text.replace(at, place.size(), by);
  return text;
}

/// The lists of --hosts for A and B: 'A:LIST', or one for both.
Result<std::array<std::string, 2>> host_lists(const po::variables_map& values) {
  std::array<std::string, 2> lists;
  for (const std::string& text : texts_of(values, "hosts")) {
    const bool is_a = text.starts_with("A:"), is_b = text.starts_with("B:");
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if ((is_a && i == 1) || (is_b && i == 0)) continue;
      if (!lists[i].empty())
        return fail(ErrorKind::usage, "--hosts {}: {} has a list already", text, i == 0 ? "A" : "B");
      lists[i] = is_a || is_b ? text.substr(2) : text;
    }
  }
  return lists;
}

/// The names of the side's hosts. `file` is empty where it has none.
Result<Texts> hosts_of_side(const std::string& list, const std::string& file, char side) {
  Texts names;
  if (!list.empty()) {
    auto expanded = expand_hosts(list);
    if (!expanded) return fail(ErrorKind::usage, "--hosts: {}", expanded.error().message);
    names = std::move(*expanded);
  } else if (!file.empty()) {
    WEFT_TRY(const auto read, files::read_fabric_file(file));
    for (const NodeId host : read.fabric.hosts()) {
      names.push_back(read.fabric.name_of(host));
      if (const auto same = expand_hosts(names.back()); !same || *same != Texts{names.back()})
        return fail(ErrorKind::usage, "{}: '{}' is no host's name to a shell", file, names.back());
    }
  }
  if (names.empty())
    return fail(
        ErrorKind::usage,
        "--run: {{hosts}} stands in the command, and nothing tells the hosts of {0}: give fabric files "
        "(A.yaml B.yaml), or --hosts {0}:LIST",
        side);
  return names;
}

}  // namespace

Result<std::pair<ComparedSide, ComparedSide>> benchmark_sides(const po::variables_map& values,
                                                              const std::string& command) {
  const bool has_hosts = command.find(kHosts) != std::string::npos;
  WEFT_TRY(const auto lists, host_lists(values));
  const auto files = texts_of(values, "fabric");
  if (!has_hosts && (values.count("hosts") || !files.empty()))
    return fail(ErrorKind::usage,
                "--{} with --run tells the hosts of a side: the command has no {{hosts}} to stand for them",
                values.count("hosts") ? "hosts" : "fabric");
  std::array<ComparedSide, 2> sides;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    std::string words = replaced(command, "{side}", i == 0 ? "a" : "b");
    sides[i].name = fmt::format("'{}'", words);
    if (has_hosts) {
      const std::string file = files.empty() ? std::string() : files[std::min(i, files.size() - 1)];
      WEFT_TRY(const auto hosts, hosts_of_side(lists[i], file, i == 0 ? 'A' : 'B'));
      words = replaced(words, kHosts, fmt::format("{}", fmt::join(hosts, ",")));
      sides[i].name += ", hosts of " + (lists[i].empty() ? file : lists[i]);
    }
    sides[i].argv = {"/bin/sh", "-c", std::move(words)};
  }
  return std::pair(std::move(sides[0]), std::move(sides[1]));
}

Texts texts_of(const po::variables_map& values, const char* name) {
  return values.count(name) ? values[name].as<Texts>() : Texts();
}

Result<std::pair<ComparedSide, ComparedSide>> compared_sides(const po::variables_map& values) {
  WEFT_TRY(const auto targets, targets_of(values));
  std::array<KnownFile, 2> files;
  std::vector<SweepSettings> settings;
  NoLoad no_load;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (targets[i].file) {
      WEFT_TRY(files[i], files::read_fabric_file(*targets[i].file));
    }
    WEFT_TRY(auto of_side, settings_of(values, targets[i], i));
    if (is_swept_by_mads(targets[i], files[i], of_side)) {
      of_side.add_usual("engine", kUsualEngine);
      no_load = kMadsOfLiveAreNoLoad;
    }
    settings.push_back(std::move(of_side));
  }
  std::array<compare::ProbesAlone, 2> alone{};
  for (std::size_t i = 0; i < alone.size(); ++i) {
    alone[i] = probes_alone_of(targets[i], files[i], files[1 - i], settings[i]);
    if (alone[i] != compare::ProbesAlone::no && !no_load) no_load = kMadsAreNoLoad;
  }
  std::array<ComparedSide, 2> sides;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    WEFT_TRY(sides[i], side_of(values, targets[i], i, std::move(settings[i]), no_load));
    WEFT_TRY(sides[i].fabric, fabric_of(targets[i], files[i]));
    sides[i].built = std::make_shared<compare::BuiltFabric>(compare::built_fabric(*sides[i].fabric));
    sides[i].probes_alone = alone[i];
  }
  return std::pair(std::move(sides[0]), std::move(sides[1]));
}

}  // namespace weft::cli
