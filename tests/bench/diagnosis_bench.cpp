// The evaluation of the diagnosis: `./bootstrap bench diagnosis [--seeds N] [--only NAME] [--base SEED]`.
// Names of --only: mid, low, limit, pareto, healthy, nics, removed, 120x90, rails, classes, switch, doubts,
// causes, calibration, speed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "probes/diagnosis/report.hpp"
#include "tests/bench/diagnosis/comparators.hpp"
#include "tests/bench/diagnosis/score.hpp"
#include "tests/bench/diagnosis/special.hpp"
#include "tests/bench/support/figures.hpp"

namespace weft::bench {
namespace {

struct Options {
  std::size_t seeds = 100;
  std::string only;
  std::uint64_t base = 1;
  bool wants(std::string_view name) const { return only.empty() || only == name; }
};

const Scenario kMid{};
const Scenario kLow{.probes = 100000, .least_loss = 0.001, .most_loss = 0.002};
const Scenario kLimit{.least_loss = 0.001, .most_loss = 0.002};
const Scenario kPareto{.sizes = {.packets = 56, .shape = 1.05, .cap = 10000}};

void print_header() {
  fmt::print("{:<26} {:>6} {:>7} {:>9} {:>7}   {}\n", "scenario", "seeds", "faults", "precision", "recall",
             "recall by nats: <6, 6-10, 10-16, >=16 (faults)");
}

void print_row(const std::string& name, const Score& score) {
  std::string bands;
  for (std::size_t band = 0; band < Score::kBands.size(); ++band)
    bands += score.in_band[band] == 0
                 ? "  -"
                 : fmt::format("  {:.3f} ({})", score.recall_in_band(band), score.in_band[band]);
  fmt::print("{:<26} {:>6} {:>7} {:>9.4f} {:>7.4f} {}\n", name, score.seeds, score.faults, score.precision(),
             score.recall(), bands);
  std::fflush(stdout);
}

class Evaluation {
 public:
  explicit Evaluation(Options options) : options_(std::move(options)), k10_(fat_tree_k10()) {}

  int run() {
    print_header();
    headline("mid", kMid);
    headline("low", kLow);
    headline("limit", kLimit);
    headline("pareto", kPareto);
    other_fabrics();
    healthy();
    calibration();
    if (in_sixteen_ > 0) figures_.add("recall_16nats", right_in_sixteen_ / in_sixteen_, "0.99");
    if (options_.wants("switch"))
      figures_.add("switch_as_one", switch_as_one(k10_, options_.seeds, options_.base), "0.95");
    doubts();
    classes();
    causes();
    speed();
    return figures_.write();
  }

 private:
  Score evaluate(const Fabric& fabric, const Scenario& scenario, std::size_t seeds, bool bound = true) {
    Score score;
    for (std::size_t i = 0; i < seeds; ++i) {
      World world(fabric, scenario, options_.base + i);
      const Diagnosis diagnosis = diagnose(fabric, world.run().observations);
      const auto nats = bound ? information(fabric, world.run()) : std::vector<double>();
      score.add(world.run(), names_of(diagnosis), nats);
    }
    if (bound) {
      in_sixteen_ += static_cast<double>(score.in_band.back());
      right_in_sixteen_ += static_cast<double>(score.right_in_band.back());
    }
    return score;
  }

  void headline(const std::string& name, const Scenario& scenario) {
    if (!options_.wants(name)) return;
    const Score score = evaluate(k10_, scenario, options_.seeds);
    print_row("k=10 " + name, score);
    const bool at_limit = name == "limit";
    figures_.add("precision_" + name, score.precision(), at_limit || name == "pareto" ? "0.99" : "0.995");
    figures_.add("recall_" + name, score.recall(),
                 at_limit           ? "0.65"
                 : name == "pareto" ? "0.95"
                 : name == "low"    ? "0.99"
                                    : "0.995");
    if (at_limit)
      figures_.add("recall_at_090",
                   static_cast<double>(score.right_at_090) / static_cast<double>(score.faults));
    if (name != "pareto") compare(name, scenario);
  }

  void compare(const std::string& name, const Scenario& scenario) {
    Pool vote, bouncer, flock, weft;
    Score bound;
    for (std::size_t i = 0; i < options_.seeds; ++i) {
      World world(k10_, scenario, options_.base + i);
      const Names own = names_of(diagnose(k10_, world.run().observations));
      weft.add({{"", own.stated}}, world.run());
      vote.add(rank_007(k10_, world.run()), world.run());
      bouncer.add(rank_netbouncer(k10_, world.run()), world.run());
      flock.add(rank_flock(k10_, world.run()), world.run());
      Names names;
      for (const auto& [channel, odds] : rank_oracle(k10_, world.run(), scenario).at(""))
        if (odds >= std::log(kNamed / (1 - kNamed))) names.channels.push_back(channel);
      bound.add(world.run(), names, information(k10_, world.run()));
    }
    print_best("weft, its best too", weft.best());
    const std::pair<const char*, const Pool*> pools[] = {
        {"007", &vote}, {"netbouncer", &bouncer}, {"flock", &flock}};
    for (const auto& [who, pool] : pools) {
      const BestOfAll best = pool->best();
      print_best(who, best);
      if (name == "mid") figures_.add(fmt::format("precision_mid_{}", who), best.precision);
      figures_.add(fmt::format("recall_{}_{}", name, who), best.recall);
    }
    print_row("  bound: knows all else", bound);
    in_sixteen_bound_ += static_cast<double>(bound.in_band.back());
    right_in_sixteen_bound_ += static_cast<double>(bound.right_in_band.back());
  }

  static void print_best(const std::string& who, const BestOfAll& best) {
    fmt::print("  {:<24} {:>24.4f} {:>7.4f}   {} from {:.4g}\n", who, best.precision, best.recall,
               best.setting, best.threshold);
  }

  void other_fabrics() {
    const std::size_t few = std::max<std::size_t>(options_.seeds / 5, 1);
    if (options_.wants("removed"))
      for (const auto& [name, base] :
           {std::pair("mid", kMid), std::pair("low", kLow), std::pair("limit", kLimit)}) {
        Scenario scenario = base;
        scenario.removed = 0.02;
        print_row(fmt::format("k=10 less 2 % {}", name), evaluate(k10_, scenario, options_.seeds));
      }
    if (options_.wants("nics"))
      for (const auto& [name, base] : {std::pair("mid", kMid), std::pair("low", kLow)}) nic_row(name, base);
    if (options_.wants("120x90")) large("120x90", leaf_spine_120x90(), 1080000, few);
    if (options_.wants("rails")) large("rails", rails_24576(), 1500000, few);
  }

  void large(const std::string& name, const Fabric& fabric, std::size_t probes, std::size_t seeds) {
    for (const double removed : {0.0, 0.02}) {
      Scenario scenario = kMid;
      scenario.probes = probes;
      scenario.removed = removed;
      print_row(name + (removed > 0 ? " less 2 % mid" : " mid"), evaluate(fabric, scenario, seeds));
    }
  }

  void nic_row(const std::string& name, Scenario scenario) {
    scenario.kind = FaultyKind::nic_channels;
    const ClassScore score = score_classes(k10_, scenario, options_.seeds, options_.base);
    print_classes("k=10 NICs " + name, score);
  }

  static void print_classes(const std::string& name, const ClassScore& score) {
    const double named = static_cast<double>(score.right + score.wrong);
    fmt::print("{:<26} {:>14} {:>9.4f} {:>7.4f}   {:.1f} channels an answer\n", name, score.faults,
               named > 0 ? static_cast<double>(score.right) / named : 1.0,
               score.faults > 0 ? static_cast<double>(score.right) / static_cast<double>(score.faults) : 1.0,
               score.members);
    std::fflush(stdout);
  }

  void healthy() {
    if (!options_.wants("healthy")) return;
    const std::vector<std::pair<std::string, Scenario>> all{
        {"25 k", {.most_faults = 0}},
        {"100 k", {.probes = 100000, .most_faults = 0}},
        {"1 M", {.probes = 1000000, .most_faults = 0}},
        {"Pareto", {.sizes = kPareto.sizes, .most_faults = 0}},
        {"zero and 20 strays", {.most_faults = 0, .background = 0, .stray = 20}},
        {"background x 10", {.most_faults = 0, .background = 1e-3}}};
    std::size_t wrong = 0;
    std::size_t seeds = 0;
    for (const auto& [name, scenario] : all) {
      const Score score = evaluate(k10_, scenario, (options_.seeds + 1) / 2, false);
      fmt::print("{:<26} {:>6} {:>7} false names {}\n", "healthy " + name, score.seeds, 0, score.wrong);
      std::fflush(stdout);
      wrong += score.wrong;
      seeds += score.seeds;
    }
    figures_.add("false_names_per_300", 300.0 * static_cast<double>(wrong) / static_cast<double>(seeds),
                 "at most 1");
  }

  void calibration() {
    if (!options_.wants("calibration")) return;
    Score score;
    for (std::size_t i = 0; i < 16 * options_.seeds; ++i) {
      World world(k10_, kLimit, options_.base + 1000000 + i);
      score.add(world.run(), names_of(diagnose(k10_, world.run().observations)), {});
    }
    double gap = 0;
    for (std::size_t bin = 0; bin < Score::kBins.size(); ++bin) {
      if (score.in_bin[bin] == 0) continue;
      const double count = static_cast<double>(score.in_bin[bin]);
      const double stated = score.stated_in_bin[bin] / count;
      const double truly = static_cast<double>(score.true_in_bin[bin]) / count;
      fmt::print("stated from {:.2f}: {:>5} verdicts, stated {:.3f}, true {:.3f}\n", Score::kBins[bin],
                 score.in_bin[bin], stated, truly);
      gap = std::max(gap, std::abs(stated - truly));
    }
    figures_.add("calibration_gap", gap, "at most 0.05");
  }

  void doubts() {
    if (!options_.wants("doubts")) return;
    const Settled settled = settle_doubts(k10_, options_.seeds, options_.base);
    fmt::print("doubts: {} in {} seeds, settled {}, second round {:.1f} % of the first\n", settled.doubts,
               options_.seeds, settled.settled, 100 * settled.packets);
    if (settled.doubts > 0)
      figures_.add("doubts_settled",
                   static_cast<double>(settled.settled) / static_cast<double>(settled.doubts), "0.95");
  }

  void classes() {
    if (!options_.wants("classes")) return;
    const std::size_t few = std::max<std::size_t>(options_.seeds / 5, 1);
    Scenario trips = kMid;
    trips.seen = Seen::round_trips;
    print_classes("k=10 round trips mid", score_classes(k10_, trips, few, options_.base));
    Scenario sets = kMid;
    sets.seen = Seen::sets;
    print_classes("k=10 path sets mid", score_classes(k10_, sets, few, options_.base));
  }

  void causes() {
    if (!options_.wants("causes")) return;
    for (const auto& [cause, named] : confuse_causes(options_.seeds, options_.base)) {
      fmt::print("{:<12}", cause);
      for (const auto& [what, count] : named) fmt::print("  {} {}", what, count);
      fmt::print("\n");
    }
  }

  void speed() {
    if (!options_.wants("speed")) return;
    const Speed speed = measure_speed();
    figures_.add("seconds_k10", speed.seconds_k10, "0.1");
    figures_.add("seconds_24576", speed.seconds_24576, "3");
    figures_.add("seconds_24576_half", speed.seconds_24576_half);
    figures_.add("gb_24576", speed.gb_24576, "2");
    figures_.add("read_lines_per_s", speed.read_lines_per_s, "500000");
  }

  Options options_;
  Fabric k10_;
  Figures figures_{"diagnosis"};
  double in_sixteen_ = 0;
  double right_in_sixteen_ = 0;
  double in_sixteen_bound_ = 0;  // of one who knows everything else
  double right_in_sixteen_bound_ = 0;
};

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  weft::bench::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    if (word == "--seeds") options.seeds = std::max(std::strtoul(argv[i + 1], nullptr, 10), 1ul);
    if (word == "--base") options.base = std::strtoull(argv[i + 1], nullptr, 10);
    if (word == "--only") options.only = argv[i + 1];
  }
  return weft::bench::Evaluation(options).run();
}
