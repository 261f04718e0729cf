// The evaluation of the diagnosis: `./bootstrap bench diagnosis [--seeds N] [--only NAME,NAME...] [--base
// SEED]
// [--threads N]`. Run in pieces, it keeps the figures of the earlier pieces. The pieces are the names of
// kPieces below.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/bench/diagnosis/evaluate.hpp"
#include "tests/bench/diagnosis/plots.hpp"
#include "tests/bench/diagnosis/special.hpp"
#include "tests/bench/diagnosis/tables.hpp"
#include "tests/bench/support/figures.hpp"
#include "topology/model/fabric.hpp"

namespace weft::bench {
namespace {

struct Options {
  Seeds seeds{.threads = std::max(std::thread::hardware_concurrency(), 1u)};
  std::string only;
  bool wants(std::string_view name) const {
    return only.empty() || fmt::format(",{},", only).find(fmt::format(",{},", name)) != std::string::npos;
  }
};

const Scenario kMid{};
const Scenario kLow{.probes = 100000, .least_loss = 0.001, .most_loss = 0.002};
const Scenario kLimit{.least_loss = 0.001, .most_loss = 0.002};
const Scenario kPareto{.sizes = {.packets = 56, .shape = 1.05, .cap = 10000}};
constexpr std::size_t kSeedsAWorld = 10;   // in the large fabrics, whose paths take longest to draw
constexpr std::uint64_t kFresh = 1000000;  // apart from the seeds that any other piece uses
constexpr std::array kPrecisions{0.999, 0.995, 0.99, 0.98, 0.95};

class Evaluation {
 public:
  explicit Evaluation(Options options) : options_(std::move(options)), k10_(fat_tree_k10()) {}

  int run();

 private:
  void headline(const std::string& name, const Scenario& scenario, const char* precision,
                const char* recall) {
    const bool compared = name != "pareto";
    const auto judged = evaluate(k10_, scenario, options_.seeds, {.comparators = compared, .oracles = true});
    row(name, "k=10 " + name, judged, precision, recall);
    if (compared) compare(name, judged);
  }

  void compare(const std::string& name, const std::vector<Judged>& judged) {
    print_best("weft, its best threshold", pool_of(judged, kWeft).best());
    for (const char* who : kComparators) {
      const Pool pool = pool_of(judged, who);
      const BestOfAll best = pool.best();
      print_best(who, best);
      figures_.note(fmt::format("precision_{}_{}", name, who), best.precision);
      figures_.note(fmt::format("recall_{}_{}", name, who), best.recall);
      if (name == "mid") tuned_at_mid_[who] = best;
      if (name == "mid" || !tuned_at_mid_.contains(who)) continue;
      const BestOfAll kept = pool.with(tuned_at_mid_[who]);
      print_best(fmt::format("{} as tuned at mid", who), kept);
      figures_.note(fmt::format("precision_{}_{}_as_mid", name, who), kept.precision);
      figures_.note(fmt::format("recall_{}_{}_as_mid", name, who), kept.recall);
    }
  }

  void mid() { headline("mid", kMid, "0.995", "0.995"); }
  void low() { headline("low", kLow, "0.995", "0.99"); }
  void limit() { headline("limit", kLimit, "0.99", "0.65"); }
  void pareto() { headline("pareto", kPareto, "0.99", "0.95"); }

  /// At equal precision, where thresholds do not matter: how far weft and Flock, with the best of its
  /// settings for each precision, are from what the data can show.
  void bound() {
    Seeds fresh = options_.seeds;
    fresh.base += kFresh;
    fresh.count *= 4;
    const auto judged = evaluate(k10_, kLimit, fresh, {.nats = false, .comparators = true, .oracles = true});
    fmt::print("limit, {} fresh seeds: recall at a precision of", fresh.count);
    for (const double precision : kPrecisions) fmt::print(" {:>6}", precision);
    fmt::print("\n");
    for (const auto& [who, key] :
         {std::pair(kOracle, "bound"), std::pair(kHumbleOracle, "usual"), std::pair(kWeft, kWeft),
          std::pair("flock", "flock"), std::pair("007", "007"), std::pair("netbouncer", "netbouncer")}) {
      const Pool pool = pool_of(judged, who);
      fmt::print("  {:<48}", who);
      for (const double precision : kPrecisions) {
        fmt::print(" {:>6.3f}", pool.recall_at(precision));
        figures_.note(fmt::format("recall_limit_at_{}_{}", precision, key), pool.recall_at(precision));
      }
      fmt::print("\n");
    }
    std::fflush(stdout);
  }

  void removed() {
    for (const auto& [name, base] :
         {std::pair("mid", kMid), std::pair("low", kLow), std::pair("limit", kLimit)}) {
      Scenario scenario = base;
      scenario.removed = 0.02;
      row(fmt::format("{}_removed", name), fmt::format("k=10 less 2 % {}", name),
          evaluate(k10_, scenario, options_.seeds, {.oracles = true}));
    }
  }

  void large(const std::string& name, const Fabric& fabric, std::size_t probes) {
    for (const double removed : {0.0, 0.02}) {
      Scenario scenario = kMid;
      scenario.probes = probes;
      scenario.removed = removed;
      row(name + (removed > 0 ? "_removed" : ""), name + (removed > 0 ? " less 2 % mid" : " mid"),
          evaluate(fabric, scenario, options_.seeds, {.oracles = true, .a_world = kSeedsAWorld}));
    }
  }
  void leaf_spine() { large("120x90", leaf_spine_120x90(), 1080000); }
  void rails() { large("rails", rails_24576(), 1500000); }

  void nics() {
    for (const auto& [name, base] : {std::pair("mid", kMid), std::pair("low", kLow)}) {
      Scenario scenario = base;
      scenario.kind = FaultyKind::nic_channels;
      class_row(fmt::format("nics_{}", name), fmt::format("k=10 NICs {}", name), scenario);
      bounds(fmt::format("nics_{}", name), evaluate(k10_, scenario, options_.seeds, {.oracles = true}));
    }
  }

  void classes() {
    Scenario scenario = kMid;
    scenario.seen = Seen::sets;
    class_row("sets_mid", "k=10 path sets mid", scenario);
    scenario.seen = Seen::round_trips;
    class_row("trips_mid", "k=10 round trips mid", scenario);
    scenario = kLow;
    scenario.seen = Seen::round_trips;
    class_row("trips_low", "k=10 round trips low", scenario);
  }

  void healthy() {
    const std::vector<std::pair<std::string, Scenario>> all{
        {"25 k", {.most_faults = 0}},
        {"100 k", {.probes = 100000, .most_faults = 0}},
        {"1 M", {.probes = 1000000, .most_faults = 0}},
        {"Pareto", {.sizes = kPareto.sizes, .most_faults = 0}},
        {"zero and 20 strays", {.most_faults = 0, .background = 0, .stray = 20}},
        {"background x 10", {.most_faults = 0, .background = 1e-3}}};
    Seeds half = options_.seeds;
    half.count = (half.count + 1) / 2;
    std::size_t wrong = 0;
    for (const auto& [name, scenario] : all) {
      const Score score = score_of(evaluate(k10_, scenario, half, {.nats = false}));
      fmt::print("{:<26} {:>6} {:>7} false names {}\n", "healthy " + name, score.seeds, 0, score.wrong);
      std::fflush(stdout);
      wrong += score.wrong;
    }
    figures_.add("false_names_per_300",
                 300.0 * static_cast<double>(wrong) / static_cast<double>(half.count * all.size()),
                 "at most 1");
  }

  void calibration() {
    Seeds fresh = options_.seeds;
    fresh.base += 5 * kFresh;  // seeds that nothing was ever tuned on
    fresh.count *= 32;         // some 400 verdicts in the emptiest bin: its share is known to 2.5 %
    const Score score = score_of(evaluate(k10_, kLimit, fresh, {.nats = false}));
    double gap = 0;
    std::size_t fewest = ~std::size_t{0};
    for (std::size_t bin = 0; bin < Score::kBins.size(); ++bin) {
      fewest = std::min(fewest, score.in_bin[bin]);
      if (score.in_bin[bin] == 0) continue;
      const double count = static_cast<double>(score.in_bin[bin]);
      const double stated = score.stated_in_bin[bin] / count;
      const double truly = static_cast<double>(score.true_in_bin[bin]) / count;
      fmt::print("stated from {:.2f}: {:>5} verdicts, stated {:.3f}, true {:.3f}\n", Score::kBins[bin],
                 score.in_bin[bin], stated, truly);
      gap = std::max(gap, std::abs(stated - truly));
      figures_.note(fmt::format("stated_{}", Score::kBins[bin]), stated);
      figures_.note(fmt::format("true_{}", Score::kBins[bin]), truly);
      figures_.note(fmt::format("verdicts_{}", Score::kBins[bin]), count);
    }
    fmt::print("named: precision {:.4f}, recall {:.4f}\n", score.precision(), score.recall());
    figures_.note("precision_calibration", score.precision());
    figures_.note("recall_calibration", score.recall());
    figures_.add("calibration_gap", gap, "at most 0.05");
    figures_.add("calibration_fewest_verdicts", static_cast<double>(fewest), "100");
  }

  void switches() { figures_.add("switch_as_one", switch_as_one(k10_, options_.seeds), "0.95"); }

  void hypotheses() {
    const Settled settled = settle_hypotheses(k10_, options_.seeds);
    fmt::print("doubts: {} in {} seeds, settled {}, second round {:.1f} % of the first\n", settled.hypotheses,
               options_.seeds.count, settled.settled, 100 * settled.packets);
    figures_.note("doubts", static_cast<double>(settled.hypotheses));
    figures_.note("doubts_settled_right", static_cast<double>(settled.settled));
    figures_.note("second_round_share", settled.packets);
    if (settled.hypotheses > 0)
      figures_.add("doubts_settled",
                   static_cast<double>(settled.settled) / static_cast<double>(settled.hypotheses), "0.95");
  }

  void causes() {
    fmt::print("true cause, and how often what was named\n");
    for (const auto& [cause, named] : confuse_causes(options_.seeds)) {
      fmt::print("  {:<12}", cause);
      for (const auto& [what, count] : named) fmt::print("  {} {}", what, count);
      fmt::print("\n");
      const auto right = named.find(cause == "none" ? "nothing" : cause);
      figures_.note("right_" + cause, right == named.end() ? 0.0
                                                           : static_cast<double>(right->second) /
                                                                 static_cast<double>(options_.seeds.count));
    }
    std::fflush(stdout);
  }

  void plots() { drawn_ = plot_loss_rates(k10_, options_.seeds) && plot_probes(k10_, options_.seeds); }

  void speed() {
    const Speed speed = measure_speed();
    figures_.add("seconds_k10", speed.seconds_k10, "0.1");
    figures_.add("seconds_24576", speed.seconds_24576, "3");
    figures_.add("seconds_24576_half", speed.seconds_24576_half);
    figures_.add("gb_24576", speed.gb_24576, "2");
    figures_.add("read_lines_per_s", speed.read_lines_per_s, "500000");
  }

  static void print_header() {
    fmt::print("{:<26} {:>6} {:>7} {:>9} {:>7}   {}\n", "scenario", "seeds", "faults", "precision", "recall",
               "recall by nats: <6, 6-10, 10-16, >=16 (faults)");
  }
  template <class Counts>
  static std::string bands(const Counts& right, const Counts& all) {
    std::string text;
    for (std::size_t band = 0; band < all.size(); ++band)
      text += all[band] == 0
                  ? "  -"
                  : fmt::format("  {:.3f} ({})",
                                static_cast<double>(right[band]) / static_cast<double>(all[band]), all[band]);
    return text;
  }
  static void print_row(const std::string& name, const Score& score) {
    fmt::print("{:<26} {:>6} {:>7} {:>9.4f} {:>7.4f} {}\n", name, score.seeds, score.faults,
               score.precision(), score.recall(), bands(score.right_in_band, score.in_band));
    std::fflush(stdout);
  }
  static void print_best(const std::string& who, const BestOfAll& best) {
    fmt::print("  {:<24} {:>24.4f} {:>7.4f}   {} from {:.4g}\n", who, best.precision, best.recall,
               best.setting, best.threshold);
  }

  /// What weft reached, and below it what the oracles would name of the same data at the same probability.
  void row(const std::string& key, const std::string& name, const std::vector<Judged>& judged,
           const char* precision = "", const char* recall = "") {
    const Score score = score_of(judged);
    print_row(name, score);
    bounds(key, judged);
    figures_.add("precision_" + key, score.precision(), precision);
    figures_.add("recall_" + key, score.recall(), recall);
    if (key == "limit")
      figures_.add("recall_at_090",
                   static_cast<double>(score.right_at_090) / static_cast<double>(score.faults));
    note_bands(key, score.in_band, score.right_in_band);
  }

  void bounds(const std::string& key, const std::vector<Judged>& judged) {
    for (const auto& [oracle, bound] : {std::pair(kOracle, "_bound"), std::pair(kHumbleOracle, "_usual")}) {
      const Score score = score_of_oracle(judged, oracle);
      print_row(fmt::format("  {}", oracle), score);
      figures_.note("recall_" + key + bound, score.recall());
      note_bands(key + bound, score.in_band, score.right_in_band);
    }
  }

  using Bands = std::array<std::size_t, Score::kBands.size()>;
  /// Of each band the faults and those found, so that pieces of a run add up.
  void note_bands(const std::string& key, const Bands& all, const Bands& right) {
    for (std::size_t band = 0; band < all.size(); ++band) {
      const auto faults = static_cast<double>(all[band]);
      const auto found = static_cast<double>(right[band]);
      const auto note = [&](const char* what, double value) {
        figures_.note(fmt::format("{}_{}nats_{}", what, Score::kBands[band], key), value);
      };
      note("faults", faults);
      note("found", found);
      if (faults > 0) note("recall", found / faults);
    }
  }

  void class_row(const std::string& key, const std::string& name, const Scenario& scenario) {
    const ClassScore score = score_classes(k10_, scenario, options_.seeds);
    const auto share = [](std::size_t part, std::size_t whole) {
      return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    const double precision = share(score.answers, score.answers + score.wrong);
    const double recall = share(score.right, score.faults);
    fmt::print("{:<26} {:>6} {:>7} {:>9.4f} {:>7.4f} {}   {:.1f} channels an answer\n", name,
               options_.seeds.count, score.faults, precision, recall,
               bands(score.right_in_band, score.in_band), share(score.members, score.answers));
    std::fflush(stdout);
    figures_.note("precision_" + key, precision);
    figures_.note("recall_" + key, recall);
    note_bands(key, score.in_band, score.right_in_band);
  }

  /// Of this bound, or of weft, over all pieces that have been run.
  std::optional<double> sixteen_nats(const std::string& bound) {
    double faults = 0;
    double found = 0;
    for (const char* key : {"mid", "low", "limit", "pareto", "mid_removed", "low_removed", "limit_removed",
                            "120x90", "120x90_removed", "rails", "rails_removed"}) {
      const auto all = figures_.find(fmt::format("faults_16nats_{}{}", key, bound));
      const auto right = figures_.find(fmt::format("found_16nats_{}{}", key, bound));
      if (!all || !right || *all == 0) continue;
      faults += *all;
      found += *right;
    }
    return faults > 0 ? std::optional(found / faults) : std::nullopt;
  }

  void sixteen_nats() {
    if (const auto recall = sixteen_nats("")) figures_.add("recall_16nats", *recall, "0.99");
    for (const char* bound : {"_bound", "_usual"})
      if (const auto recall = sixteen_nats(bound))
        figures_.add(std::string("recall_16nats") + bound, *recall);
  }

  struct Piece {
    const char* name;
    void (Evaluation::*run)();
    double seconds;  // of one core, at 100 seeds
  };
  // Speed comes first: the memory that it reads is the most this process ever had.
  static constexpr Piece kPieces[] = {
      {"speed", &Evaluation::speed, 25},
      {"mid", &Evaluation::mid, 7},
      {"low", &Evaluation::low, 30},
      {"limit", &Evaluation::limit, 7},
      {"pareto", &Evaluation::pareto, 9},
      {"bound", &Evaluation::bound, 25},
      {"removed", &Evaluation::removed, 30},
      {"120x90", &Evaluation::leaf_spine, 300},
      {"rails", &Evaluation::rails, 450},
      {"nics", &Evaluation::nics, 50},
      {"classes", &Evaluation::classes, 160},
      {"healthy", &Evaluation::healthy, 150},
      {"calibration", &Evaluation::calibration, 110},
      {"switch", &Evaluation::switches, 4},
      {"doubts", &Evaluation::hypotheses, 12},
      {"causes", &Evaluation::causes, 4},
      {"plots", &Evaluation::plots, 120},
  };
  double expected_minutes() const;

  Options options_;
  Fabric k10_;
  Figures figures_{"diagnosis"};
  std::map<std::string, BestOfAll> tuned_at_mid_;
  bool drawn_ = true;
};

double Evaluation::expected_minutes() const {
  double seconds = 0;
  for (const Piece& piece : kPieces)
    if (options_.wants(piece.name)) seconds += piece.seconds;
  return seconds / 60 * static_cast<double>(options_.seeds.count) / 100 /
         static_cast<double>(options_.seeds.threads);
}

int Evaluation::run() {
  const auto began = std::chrono::steady_clock::now();
  fmt::print("about {:.0f} min, if {} of this machine's cores are free\n", expected_minutes(),
             options_.seeds.threads);
  print_header();
  for (const Piece& piece : kPieces)
    if (options_.wants(piece.name)) (this->*piece.run)();
  const std::chrono::duration<double, std::ratio<60>> took = std::chrono::steady_clock::now() - began;
  fmt::print("took {:.1f} min\n", took.count());
  figures_.keep_earlier();
  sixteen_nats();
  std::ofstream tables(bench_folder() / "diagnosis_tables.md");
  tables << diagnosis_tables(figures_);
  tables.flush();
  const int status = figures_.write();
  if (!drawn_ || !tables)
    fmt::print(stderr, "cannot write the plots and tables to {}\n", bench_folder().string());
  return drawn_ && tables ? status : 70;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  weft::bench::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    if (word == "--seeds") options.seeds.count = std::max(std::strtoul(argv[i + 1], nullptr, 10), 1ul);
    if (word == "--base") options.seeds.base = std::strtoull(argv[i + 1], nullptr, 10);
    if (word == "--threads") options.seeds.threads = std::max(std::strtoul(argv[i + 1], nullptr, 10), 1ul);
    if (word == "--only") options.only = argv[i + 1];
  }
  return weft::bench::Evaluation(options).run();
}
