#include <fmt/format.h>

#include <cmath>
#include <random>
#include <vector>

#include "probes/diagnosis/counters/count_weight.hpp"
#include "tests/bench/counters/pieces.hpp"

namespace weft::bench::counters {
namespace {

using diagnosis::ProbedChannel;

constexpr int kPorts = 40'000, kFaults = 40, kRuns = 10;
constexpr int kWindows = 10;
constexpr double kSeconds = 600;
constexpr double kCodewords = 78e6;  // a second, of a port of 400 Gb/s
constexpr double kFrames = 12e6;     // a second: half of its rate in frames of 2 KB
constexpr double kProbes = 10;       // a second, over each channel
constexpr double kElsewhere = 5e-6;  // loss that a probe meets beside
constexpr double kNamed = 0.95;

struct Port {
  double loss = 0;  // of frames
  bool on_wire = true;
  std::vector<ChannelCount> counts;
  ProbedChannel probed;
};

/// 12 % tell none, 2 % went back (that says none either), 2 % are stuck, .3 % count what is no loss.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::vector<Port> ports(int faults) {
    std::vector<Port> all(kPorts);
    for (int i = 0; i < faults; ++i) {
      Port& port = all[random_() % kPorts];
      port.loss = std::pow(10.0, -9 + 7 * uniform());
      port.on_wire = uniform() < 0.75;
    }
    for (Port& port : all) {
      const double wire = port.on_wire ? port.loss : 0.0;
      count(port, CounterKind::codewords, kCodewords, 2.0, 0.5, wire);
      count(port, CounterKind::frames, kFrames, 1.0, 0.0, wire);
      const double lost = poisson(kProbes * kSeconds * port.loss);
      port.probed = {kProbes * kSeconds - lost, lost + poisson(kProbes * kSeconds * kElsewhere), kElsewhere};
    }
    return all;
  }
  double uniform() { return std::uniform_real_distribution(0.0, 1.0)(random_); }
  double poisson(double mean) {
    return mean <= 0 ? 0.0 : static_cast<double>(std::poisson_distribution<long long>(mean)(random_));
  }

 private:
  void count(Port& port, CounterKind kind, double a_second, double gain, double spread, double loss) {
    const double fate = uniform();
    if (fate < 0.14) return;
    const bool stuck = fate<0.16, lies = fate> 0.997;
    const double own_gain = gain * std::exp(spread * std::normal_distribution()(random_));
    const bool always = uniform() < 0.1;
    const double extra = std::pow(10.0, 7 * uniform());
    const auto window = static_cast<int>(random_() % kWindows);
    for (int w = 0; w < kWindows; ++w) {
      const double exposure = a_second * kSeconds / kWindows;
      double errors = poisson(exposure * loss / own_gain);
      if (lies && always) errors += poisson(extra / kWindows);
      if (lies && !always && w == window) errors += extra;
      port.counts.push_back({.channel = ChannelId(0),
                             .kind = kind,
                             .errors = stuck ? 0 : static_cast<std::uint64_t>(errors),
                             .exposure = exposure,
                             .gain = {gain, spread},
                             .source = "modelled"});
    }
  }

  std::mt19937_64 random_;
};

/// As the search for losses has it: of probes alone.
double by_probes(const ProbedChannel& probed) {
  double fault = 0;
  int points = 0;
  for (double h = 1e-9; h < 1; h *= 1.3, ++points)
    fault += std::exp(-probed.passed * h + probed.lossy_rows * std::log1p(h / probed.elsewhere));
  const double odds = fault / points * diagnosis::kLossyChannels / (1 - diagnosis::kLossyChannels);
  return odds / (1 + odds);
}

bool counted_any(const Port& port) {
  for (const ChannelCount& count : port.counts)
    if (count.errors > 0) return true;
  return false;
}

double fused(const Port& port) {
  const double alone = by_probes(port.probed);
  if (!counted_any(port)) return alone;
  const auto judged = diagnosis::judge_channel(port.counts, port.probed);
  // A drop inside the switch is none of these counters' business: the probes' own answer stands.
  return judged ? std::max(judged->probability, judged->alone ? 0.0 : alone) : alone;
}

struct Score {
  double named = 0, right = 0, found = 0;
  void add(bool is_named, const Port& port) {
    const bool faulty = port.loss > 0;
    named += is_named, right += is_named && faulty;
    found += is_named && faulty && port.on_wire && port.loss >= 1e-8;
  }
  double precision() const { return named > 0 ? right / named : 1.0; }
};

struct Bin {
  double stated = 0, true_ones = 0, all = 0;
};

}  // namespace

void measure_fused(Figures& figures) {
  Score by_all, by_probes_alone, believed;
  double to_find = 0;
  std::vector<Bin> bins(10);
  for (int run = 0; run < kRuns; ++run)
    for (const Port& port : Draw(1000 + run).ports(kFaults)) {
      const double probability = fused(port);
      by_all.add(probability >= kNamed, port);
      by_probes_alone.add(by_probes(port.probed) >= kNamed, port);
      believed.add(counted_any(port), port);
      to_find += port.loss >= 1e-8 && port.on_wire;
      if (probability < 0.05) continue;
      Bin& bin = bins[std::min<std::size_t>(static_cast<std::size_t>(probability * 10), 9)];
      bin.stated += probability, bin.true_ones += port.loss > 0, bin.all += 1;
    }
  double error = 0, all = 0;
  for (const Bin& bin : bins) {
    if (bin.all == 0) continue;
    fmt::print("  stated {:.3f} true {:.3f} ({:.0f})\n", bin.stated / bin.all, bin.true_ones / bin.all,
               bin.all);
    error += std::abs(bin.stated - bin.true_ones), all += bin.all;
  }
  figures.add("fused_precision", by_all.precision(), "at least 0.98");
  figures.add("fused_recall", by_all.found / to_find, "at least 0.70");
  figures.add("calibration_error", error / all, "at most 0.05");
  figures.add("probes_alone_recall", by_probes_alone.found / to_find);
  figures.add("believed_precision", believed.precision());
  figures.add("believed_recall", believed.found / to_find);
}

void measure_healthy(Figures& figures) {
  double named = 0, believed = 0;
  for (int run = 0; run < kRuns; ++run)
    for (const Port& port : Draw(5000 + run).ports(0)) {
      named += fused(port) >= kNamed;
      believed += counted_any(port);
    }
  figures.add("healthy_names", named / kRuns, "at most 0.15 a run");
  figures.add("believed_healthy_names", believed / kRuns);
}

void measure_contradicted(Figures& figures) {
  int named = 0, both = 0, said = 0;
  Draw draw(9);
  for (int i = 0; i < 1000; ++i) {
    std::vector<ChannelCount> counts;
    const ProbedChannel probed{1e6, 0, kElsewhere};
    for (const CounterKind kind : {CounterKind::codewords, CounterKind::frames}) {
      const double exposure = std::pow(10.0, 6 + 4 * draw.uniform());
      counts.push_back({.channel = ChannelId(0),
                        .kind = kind,
                        .errors = static_cast<std::uint64_t>(draw.poisson(exposure * 1e-3)),
                        .exposure = exposure,
                        .gain = {1.0, 0.3},
                        .source = "modelled"});
      const auto judged = diagnosis::judge_channel(counts, probed);
      (counts.size() == 1 ? named : both) += judged->probability >= kNamed;
      said += counts.size() == 1 && judged->excluded;
    }
  }
  figures.add("contradicted", named, "0 of 1000");
  figures.add("contradicted_both", both);
  figures.add("contradicted_said", said, "1000");
}

void measure_false_exporter(Figures& figures) {
  int named = 0;
  Draw draw(10);
  for (int i = 0; i < 1000; ++i) {
    const double hazard = std::pow(10.0, -9 + 5 * draw.uniform());
    std::vector<ChannelCount> counts;
    for (const CounterKind kind : {CounterKind::codewords, CounterKind::frames})
      for (int w = 0; w < kWindows; ++w) {
        const double exposure = kFrames * kSeconds / kWindows;
        counts.push_back({.channel = ChannelId(0),
                          .kind = kind,
                          .errors = static_cast<std::uint64_t>(draw.poisson(exposure * hazard)),
                          .exposure = exposure,
                          .source = "false: a counter"});
      }
    const auto judged = diagnosis::judge_channel(counts, {kProbes * kSeconds, 0, kElsewhere});
    named += judged->probability >= kNamed || !judged->alone;
  }
  figures.add("false_exporter_named", named, "0 of 1000");
  Score told_by_one;
  double to_find = 0;
  for (Port& port : Draw(1000).ports(kFaults)) {
    for (ChannelCount& count : port.counts) count.source = "one: a counter";
    told_by_one.add(fused(port) >= kNamed, port);
    to_find += port.loss >= 1e-8 && port.on_wire;
  }
  figures.add("one_exporter_recall", told_by_one.found / to_find);
}

}  // namespace weft::bench::counters
