#include "tests/bench/verdicts/drawn.hpp"

#include <map>

#include "tests/bench/diagnosis/seeds.hpp"
#include "tests/bench/verdicts/cases.hpp"
#include "topology/routing/ecmp_routing.hpp"

namespace weft::bench {
namespace {

/// What stands beside the faults.
enum class Beside { nothing, background, healthy_counters };

struct Case {
  const SmallFabric* fabric;
  std::vector<LinkId> cables;
  Kind kind;
  Ways ways;
  std::uint64_t seed;
  Beside beside;
};

enum class Size { few, many };
constexpr Size kSizes[] = {Size::few, Size::many};
const char* to_string(Size size) { return size == Size::few ? "few" : "many"; }

std::uint64_t seed_of(const SmallFabric& fabric, Kind kind, Size size, std::size_t index,
                      std::uint64_t base) {
  std::uint64_t seed = mix_bits(base);
  for (const char c : fabric.name) seed = mix_bits(seed + static_cast<unsigned char>(c));
  seed = mix_bits(seed ^ (static_cast<std::uint64_t>(kind) << 8 | static_cast<std::uint64_t>(size)));
  return mix_bits(seed + index) >> 16;  // short enough to type
}

using Orbits = std::vector<std::vector<LinkId>>;

/// Of few cables every orbit each way; of many, random sets, the ways in turn.
std::vector<Case> cases_of(const SmallFabric& fabric, const Orbits& orbits, Kind kind, Size size,
                           const VerdictOptions& options, Beside beside) {
  std::vector<Case> cases;
  const auto add = [&](std::vector<LinkId> cables, Ways ways, std::uint64_t seed) {
    cases.push_back({&fabric, std::move(cables), kind, ways, seed, beside});
  };
  if (size == Size::few) {
    for (const auto& set : orbits)
      for (const Ways ways : kWays) add(set, ways, seed_of(fabric, kind, size, cases.size(), options.base));
    return cases;
  }
  while (cases.size() < options.per_fabric) {
    const auto seed = seed_of(fabric, kind, size, cases.size(), options.base);
    Random random(seed);
    add(random_set(fabric.fabric, random), kWays[cases.size() % std::size(kWays)], seed);
  }
  return cases;
}

struct Shown {
  DrawnScore score;
  std::string text;  // empty: nothing failed
};

Shown run_case(const Case& one) {
  Random random(mix_bits(one.seed));
  const auto faults = draw_faults(one.fabric->fabric, one.cables, one.kind, one.ways, random);
  SweepCase swept_case{.fabric = one.fabric, .seed = one.seed};
  for (const DrawnFault& fault : faults) swept_case.faults.push_back(fault.spec);
  if (one.beside == Beside::background) swept_case.background = any_background(random);
  swept_case.healthy_counters = one.beside == Beside::healthy_counters;
  const Swept swept = sweep_simulated(swept_case);
  const Judgement judged = judge(one.fabric->fabric, faults, swept, swept_case.background);
  Shown shown{judged.score, {}};
  if (judged.failures.empty()) return shown;
  shown.text =
      fmt::format("\n{}\n  verdict {}\n", command_of(swept_case), to_string(swept.report.diagnosis.verdict));
  for (const auto& line : words_of(one.fabric->fabric, swept.report.diagnosis))
    shown.text += fmt::format("  found: {}\n", line);
  for (const auto& line : judged.failures) shown.text += fmt::format("  FAILED: {}\n", line);
  return shown;
}

class Drawn {
 public:
  Drawn(VerdictOptions options, Figures& figures, Beside beside)
      : options_(std::move(options)), figures_(figures), beside_(beside) {}

  void run() {
    fmt::print("\n{:<6} {:<5} {:<4} {:>6} {:>5} | {:>13} {:>13} {:>6} | {:>12} {:>6} {:>6}\n", "fabric",
               "kind", "size", "trials", "false", "told: named", "open: found", "hidden", "wrong names",
               "switch", "set of");
    for (const SmallFabric& fabric : small_fabrics())
      if (VerdictOptions::wants(options_.fabrics, fabric.name)) run(fabric);
    beside_ == Beside::nothing ? report()
                               : report_beside(beside_ == Beside::background ? "background" : "counters");
  }

 private:
  struct Key {
    std::string fabric;
    Size size;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  void run(const SmallFabric& fabric) {
    const Orbits orbits = sets_up_to_symmetry(fabric.fabric, options_.per_fabric, options_.base);
    if (beside_ == Beside::nothing)
      figures_.note("orbits_" + fabric.name, static_cast<double>(orbits.size()));
    for (const Size size : kSizes) {
      if (!VerdictOptions::wants(options_.sizes, to_string(size))) continue;
      for (const Kind kind : kKinds) {
        if (!VerdictOptions::wants(options_.kinds, to_string(kind))) continue;
        run(fabric, kind, size, cases_of(fabric, orbits, kind, size, options_, beside_));
      }
    }
  }

  void run(const SmallFabric& fabric, Kind kind, Size size, const std::vector<Case>& cases) {
    DrawnScore sum;
    const auto all =
        for_each_index(cases.size(), options_.threads, [&](std::size_t i) { return run_case(cases[i]); });
    for (const Shown& one : all) sum += one.score;
    pooled_[{fabric.name, size}] += sum;
    print_row(fabric.name, to_string(kind), size, sum);
    for (const Shown& one : all)
      if (!one.text.empty() && shown_ < options_.show) {
        fmt::print("{}", one.text);
        ++shown_;
      }
    std::fflush(stdout);
  }

  static Share sum_of(const std::array<Share, kCausesDrawn.size()>& shares) {
    Share all;
    for (const Share& share : shares) all += share;
    return all;
  }
  static std::string in_words(const Share& share) {
    return share.all == 0 ? "-" : fmt::format("{:.3f} ({})", share.value(), share.all);
  }
  static void print_row(const std::string& fabric, std::string_view kind, Size size,
                        const DrawnScore& score) {
    std::size_t hidden = 0;
    for (const std::size_t count : score.hidden) hidden += count;
    fmt::print("{:<6} {:<5} {:<4} {:>6} {:>5} | {:>13} {:>13} {:>6} | {:>4} of {:>5} {:>6} {:>6.2f}\n",
               fabric, kind, to_string(size), score.trials, score.false_healthy,
               in_words(sum_of(score.named)), in_words(sum_of(score.named_or_set)), hidden,
               score.wrong_names.good, score.wrong_names.all, score.cable_called_switch, mean_set(score));
  }
  static double mean_set(const DrawnScore& score) {
    return score.sets == 0 ? 0 : static_cast<double>(score.alternatives) / static_cast<double>(score.sets);
  }

  template <class Wanted>
  DrawnScore pool(Wanted wanted) const {
    DrawnScore sum;
    for (const auto& [key, score] : pooled_)
      if (wanted(key)) sum += score;
    return sum;
  }

  void add(const std::string& figure, const Share& share, const char* target) {
    if (share.all > 0) figures_.add(figure, share.value(), target);
  }

  void report_beside(std::string_view what) {
    const DrawnScore all = pool([](const Key&) { return true; });
    const auto figure = [&](std::string_view name) { return fmt::format("{}_{}", name, what); };
    fmt::print("\n");
    figures_.add(figure("false_healthy"), static_cast<double>(all.false_healthy), "0");
    figures_.note(figure("drawn_trials"), static_cast<double>(all.trials));
    add(figure("named"), sum_of(all.named), ".97");
    add(figure("named_or_set"), sum_of(all.named_or_set), ".90");
    add(figure("wrong_names"), all.wrong_names, "at most .02");
    figures_.add(figure("cable_called_switch"), static_cast<double>(all.cable_called_switch), "0");
  }

  void report() {
    const DrawnScore all = pool([](const Key&) { return true; });
    const DrawnScore few = pool([](const Key& key) { return key.size == Size::few; });
    const DrawnScore many = pool([](const Key& key) { return key.size == Size::many; });
    const auto many_of = [&](std::string_view fabrics) {
      return pool([&](const Key& key) {
        return key.size == Size::many && VerdictOptions::wants(std::string(fabrics), key.fabric);
      });
    };
    fmt::print("\n");
    figures_.add("false_healthy", static_cast<double>(all.false_healthy), "0");
    figures_.add("false_healthy_hidden", static_cast<double>(all.false_healthy_hidden));
    figures_.add("drawn_trials", static_cast<double>(all.trials));
    add("named_loss", all.named[index_of(Cause::loss)], ".99");
    add("named_down", all.named[index_of(Cause::down)], ".99");
    add("named_delay", all.named[index_of(Cause::delay)], ".97");
    add("named_rate_1to3", few.named[index_of(Cause::rate)], ".97");
    add("named_rate_4up", many.named[index_of(Cause::rate)], ".90");
    report_sets("1to3", few, {".98", ".99", ".97", ".97"});
    report_sets("4up_large", many_of("4x4,6x6"), {".97", ".97", ".90", ".97"});
    report_sets("4up_small", many_of("2x2,2x4,3x2"), {".90", ".90", ".90", ".90"});
    report_sets("4up_tiers", many_of("pods,rails"), {".90", ".90", ".90", ".90"});
    add("wrong_names_1to3", few.wrong_names, "at most .005");
    add("wrong_names_4up", many.wrong_names, "at most .02");
    figures_.note("wrong_causes", static_cast<double>(all.wrong_causes));
    add("rate_untested_said", all.untested, "");
    figures_.add("false_sets", static_cast<double>(all.false_sets));
    figures_.add("cable_called_switch", static_cast<double>(all.cable_called_switch), "0");
    report_fabrics();
  }

  void report_sets(const std::string& what, const DrawnScore& score,
                   const std::array<const char*, kCausesDrawn.size()>& targets) {
    for (std::size_t i = 0; i < kCausesDrawn.size(); ++i)
      add(fmt::format("named_or_set_{}_{}", to_string(kCausesDrawn[i]), what), score.named_or_set[i],
          targets[i]);
  }

  /// What the rows tell of the faults, by fabric.
  void report_fabrics() {
    std::map<std::string, DrawnScore> by_fabric;
    for (const auto& [key, score] : pooled_) by_fabric[key.fabric] += score;
    for (const auto& [fabric, score] : by_fabric) {
      for (std::size_t i = 0; i < kCausesDrawn.size(); ++i) {
        if (score.told[i].all == 0) continue;
        const auto cause = to_string(kCausesDrawn[i]);
        figures_.add(fmt::format("told_{}_{}", cause, fabric), score.told[i].value());
        figures_.note(fmt::format("hidden_{}_{}", cause, fabric), static_cast<double>(score.hidden[i]));
      }
      figures_.add("set_size_" + fabric, mean_set(score));
    }
  }

  const VerdictOptions options_;
  Figures& figures_;
  const Beside beside_;
  std::map<Key, DrawnScore> pooled_;
  std::size_t shown_ = 0;
};

void bench_drawn_beside(const VerdictOptions& options, Figures& figures, Beside beside) {
  VerdictOptions fewer = options;
  fewer.per_fabric = (options.per_fabric + 3) / 4;
  Drawn(fewer, figures, beside).run();
}

}  // namespace

void bench_drawn(const VerdictOptions& options, Figures& figures) {
  Drawn(options, figures, Beside::nothing).run();
}
void bench_drawn_background(const VerdictOptions& options, Figures& figures) {
  bench_drawn_beside(options, figures, Beside::background);
}
void bench_drawn_counters(const VerdictOptions& options, Figures& figures) {
  bench_drawn_beside(options, figures, Beside::healthy_counters);
}

}  // namespace weft::bench
