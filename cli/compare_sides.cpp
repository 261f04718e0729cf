#include "cli/compare_sides.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "cli/commands.hpp"
#include "cli/lab_place.hpp"
#include "collectors/compare/built_fabric.hpp"
#include "probes/run/agents.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/lab/netns/lab_control.hpp"

namespace weft::cli {
namespace {

/// What a run does, unless --each or --variant say otherwise: all pairs load the fabric, as a job does. A
/// live fabric is loaded only where one of these says how much.
constexpr const char *kUsualBudget = "budget=2s", *kUsualPattern = "pattern=all-pairs",
                     *kUsualLoad = "load=full";
constexpr const char* kUsualOfLive = "load-time=200ms";  // a simulated round takes no time

using Texts = std::vector<std::string>;

/// Set by the comparison itself.
bool is_ours(std::string_view name) {
  constexpr std::array kOurs{"fabric",   "lab",  "save",   "observations", "seed",
                             "progress", "help", "output", "paths",        "dry-run"};
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

/// Later settings of a name replace earlier ones.
class SweepSettings {
 public:
  void add(const Texts& items, const std::set<std::string>& known) {
    for (const std::string& item : items) {
      const std::string name = item.substr(0, item.find('='));
      if (!known.contains(name)) continue;  // a usual one that this command lacks
      if (name != "fault" && name != "stall")
        std::erase_if(
            items_, [&](const std::string& other) { return other == name || other.starts_with(name + "="); });
      items_.push_back(item);
    }
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

 private:
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

Result<ComparedSide> side_of(const po::variables_map& values, const Target& target, std::size_t which) {
  const bool simulated = target.words.front() == "simulate";
  const auto known = names_of(simulated ? simulate_options() : sweep_options());
  SweepSettings settings;
  settings.add(target.is_live_fabric ? Texts{kUsualBudget} : Texts{kUsualBudget, kUsualPattern, kUsualLoad},
               known);
  settings.add({kUsualOfLive}, known);
  ComparedSide side{.name = target.name, .argv = {}, .env = {}};
  if (const auto each = text_option(values, "each")) {
    WEFT_TRY(const auto items, read_settings("each", *each, known));
    settings.add(items, known);
  }
  if (const auto variants = texts_of(values, "variant"); !variants.empty()) {
    WEFT_TRY(const auto items, read_settings("variant", variants[which], known));
    settings.add(items, known);
    side.name += ", " + variants[which];
  }
  if (const auto load = settings.value("load"); load && *load != "none" && !settings.value("pattern"))
    settings.add({kUsualPattern}, known);
  side.load = settings.value("load").value_or(target.is_live_fabric ? "none" : "full");
  WEFT_TRY(const auto program, run::own_program());
  side.argv = {program};
  side.argv.insert(side.argv.end(), target.words.begin(), target.words.end());
  const auto words = settings.words();
  side.argv.insert(side.argv.end(), words.begin(), words.end());
  return side;
}

/// What it is built for, as the sweep knows it. A lab of InfiniBand that is not up is refused by its sweep.
Result<std::shared_ptr<const compare::BuiltFabric>> built_of(const Target& target) {
  if (target.file) {
    WEFT_TRY(const auto file, files::read_fabric_file(*target.file));
    return std::make_shared<compare::BuiltFabric>(compare::built_fabric(file.fabric));
  }
  if (lab::ib_lab_exists(*target.lab, ib_lab_root())) {
    WEFT_TRY(const auto lab, lab::ib_lab_open(*target.lab, ib_lab_root()));
    return std::make_shared<compare::BuiltFabric>(compare::built_fabric(lab.fabric));
  }
  WEFT_TRY(const auto status, lab::lab_status(*target.lab, lab_state_root()));
  return std::make_shared<compare::BuiltFabric>(compare::built_fabric(status.lab.fabric_as_built()));
}

}  // namespace

Texts texts_of(const po::variables_map& values, const char* name) {
  return values.count(name) ? values[name].as<Texts>() : Texts();
}

Result<std::pair<ComparedSide, ComparedSide>> compared_sides(const po::variables_map& values) {
  WEFT_TRY(const auto targets, targets_of(values));
  std::pair<ComparedSide, ComparedSide> sides;
  WEFT_TRY(sides.first, side_of(values, targets[0], 0));
  WEFT_TRY(sides.second, side_of(values, targets[1], 1));
  WEFT_TRY(sides.first.built, built_of(targets[0]));
  WEFT_TRY(sides.second.built, built_of(targets[1]));
  return sides;
}

}  // namespace weft::cli
