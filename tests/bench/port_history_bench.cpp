// Rates invented from counters that lie: a million steps of simulated ports, whose counters are reset (told
// or not), wrap at 32 bits, stick, are read twice, late, out of order or by a source that stands still, and
// whose modules are changed. A window is wrong where it says another growth than the port really counted.
// Beside it, a difference that ignores all this, and one that takes a value below the last as a reset (as
// `increase` of Prometheus does).
#include <sys/resource.h>

#include <random>

#include "collectors/counters/counter_observations.hpp"
#include "collectors/counters/prometheus.hpp"
#include "tests/bench/support/figures.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/model/clos.hpp"

namespace weft {
namespace {

using counters::CounterPoint;
using counters::CounterSeries;
using counters::PortCounter;

constexpr std::uint64_t kSteps = 1'000'000;
constexpr std::uint64_t kReadings = 60;  // a port
constexpr double kUsualWindow = 60;      // seconds

struct Kind {
  PortCounter counter;
  double a_second;  // at 100 Gb/s
  bool may_be_narrow;
  std::uint64_t saturates;  // 0: never
};
constexpr std::array kKinds{
    Kind{PortCounter::fec_codewords, 19.5e6, false, 0}, Kind{PortCounter::bytes_in, 5e9, false, 0},
    Kind{PortCounter::frames_in, 1.2e6, true, 0}, Kind{PortCounter::fec_uncorrectable, 0.3, false, 65'535},
    Kind{PortCounter::fcs_errors, 0.2, true, 4'294'967'295}};

/// What one counter did: shown by its source, and in truth.
struct Simulated {
  CounterSeries shown;
  std::vector<std::pair<Nanoseconds, double>> truth;  // all that was counted by then
};

class SimulatedPort {
 public:
  explicit SimulatedPort(std::uint64_t seed) : random_(seed) {
    has_codewords_ = chance(0.6);
    narrow_ = chance(0.3);
    tells_epoch_ = chance(0.4);
    for (const Kind& kind : kKinds) {
      if (kind.counter == PortCounter::fec_codewords && !has_codewords_) continue;
      const bool narrow = narrow_ && kind.may_be_narrow;
      kinds_.push_back(kind);
      all_.push_back(
          {.shown = {.port = PortId(0), .key = {.counter = kind.counter}, .narrow = narrow && chance(0.7)}});
      narrow_counter_.push_back(narrow);
      value_.push_back(std::floor(kind.a_second * 3.6e5 * uniform()));
      total_.push_back(0);
    }
    for (std::uint64_t i = 0; i < kReadings; ++i) step();
    if (chance(0.1)) std::swap(all_[0].shown.points[5], all_[0].shown.points[9]);
    if (chance(0.02)) turn_clock_back();
  }

  const std::vector<Simulated>& all() const { return all_; }
  std::vector<CounterSeries> shown() const {
    std::vector<CounterSeries> series;
    for (const Simulated& one : all_) series.push_back(one.shown);
    return series;
  }

 private:
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  bool chance(double share) { return uniform() < share; }

  void count(double time, bool quiet) {
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const bool idle = kinds_[i].counter != PortCounter::fec_codewords && quiet;
      const bool steady = kinds_[i].counter == PortCounter::fec_codewords;  // one rate, by the line
      const double pace = steady ? 1 : 0.5 + uniform();
      const double grew = idle ? 0 : std::floor(kinds_[i].a_second * time * pace + 0.5 * uniform());
      value_[i] += grew;
      total_[i] += grew;
    }
  }

  /// One reading of all counters, after what happened meanwhile.
  void step() {
    const double time = chance(0.05) ? 10 + 890 * uniform() : kUsualWindow * (0.9 + 0.2 * uniform());
    const bool reset = chance(0.01), swapped = chance(0.004);
    const double before = reset || swapped ? uniform() : 1;
    const bool quiet = chance(0.1);
    count(time * before, quiet);
    if (reset || swapped) {
      std::ranges::fill(value_, 0);
      if (tells_epoch_) ++epoch_;
      count(time * (1 - before), quiet);
    }
    if (chance(0.003)) value_[kinds_.size() - 1] = 0;  // one counter alone is cleared
    now_ += std::chrono::nanoseconds(static_cast<std::int64_t>(time * 1e9));
    if (still_ > 0)
      --still_;
    else if (chance(0.01))
      still_ = 1 + static_cast<int>(4 * uniform());
    for (std::size_t i = 0; i < kinds_.size(); ++i) read(i);
  }

  void read(std::size_t i) {
    Simulated& one = all_[i];
    auto& points = one.shown.points;
    auto value = static_cast<std::uint64_t>(value_[i]);
    if (narrow_counter_[i]) value &= 0xffff'ffffU;
    if (kinds_[i].saturates > 0 && !narrow_counter_[i]) value = std::min(value, kinds_[i].saturates);
    if (still_ > 0 && !points.empty()) value = points.back().value;
    const bool same = !points.empty() && value == points.back().value;
    if (same && still_ == 0 && value > 0 && chance(0.02)) --value;
    const auto epoch = tells_epoch_ ? epoch_ : 0U;
    points.push_back({now_, value, still_ > 0 && !points.empty() ? points.back().epoch : epoch});
    one.truth.emplace_back(now_, total_[i]);
    if (chance(0.01)) points.push_back(points.back());
  }

  /// The source's clock is set back by ten minutes.
  void turn_clock_back() {
    for (Simulated& one : all_) {
      const auto turned = one.shown.points[one.shown.points.size() / 2].at;
      const auto turn = [&](Nanoseconds& at) {
        if (at >= turned) at -= std::chrono::minutes(10);
      };
      for (auto& point : one.shown.points) turn(point.at);
      for (auto& [at, total] : one.truth) turn(at);
      // Where times of before and after overlap, no window is right.
      const bool overlap = !std::ranges::is_sorted(one.truth);
      std::ranges::sort(one.truth);
      if (overlap)
        std::erase_if(one.truth, [&](const auto& each) {
          return each.first < turned && each.first >= turned - std::chrono::minutes(10);
        });
    }
  }

  SplitMix64 random_;
  bool has_codewords_ = false, narrow_ = false, tells_epoch_ = false;
  std::vector<Kind> kinds_;
  std::vector<bool> narrow_counter_;
  std::vector<double> value_, total_;
  std::vector<Simulated> all_;
  Nanoseconds now_ = std::chrono::hours(480'000);
  std::uint32_t epoch_ = 1;
  int still_ = 0;
};

/// What was really counted between two readings; absent where that is not known.
std::optional<double> truly(const Simulated& one, Nanoseconds from, Nanoseconds to) {
  const auto at = [&](Nanoseconds time) {
    return std::ranges::lower_bound(one.truth, time, {}, [](const auto& each) { return each.first; });
  };
  const auto first = at(from), last = at(to);
  if (first == one.truth.end() || last == one.truth.end() || first->first != from || last->first != to)
    return std::nullopt;
  return last->second - first->second;
}

struct Tally {
  std::uint64_t steps = 0, windows = 0, wrong = 0, plain_wrong = 0, increase_wrong = 0;
};

void compare_plain(const Simulated& one, Tally& tally) {
  const auto& points = one.shown.points;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto truth = truly(one, points[i - 1].at, points[i].at);
    const double difference = static_cast<double>(points[i].value) - static_cast<double>(points[i - 1].value);
    tally.plain_wrong += !truth || difference != *truth;
    tally.increase_wrong +=
        !truth || (difference < 0 ? static_cast<double>(points[i].value) : difference) != *truth;
  }
}

/// Three readings of one metric of every port, as a Prometheus answers; of errors one port in a hundred has
/// some.
std::string answer_of(const Fabric& fabric, bool of_errors) {
  std::string text = R"({"status":"success","data":{"resultType":"matrix","result":[)";
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p) {
    const Port& port = fabric.port(PortId(p));
    const std::uint32_t grew = of_errors && p % 100 != 0 ? 0 : 1'000'000;
    text += fmt::format(
        R"({}{{"metric":{{"__name__":"metric","instance":"{}.example.net:9100","job":"switches","device":"p{}"}},)"
        R"("values":[[1795846792.858,"{}"],[1795846852.862,"{}"],[1795846912.858,"{}"]]}})",
        p == 0 ? "" : ",", fabric.name_of(port.node), port.number.value(), p, p + grew, p + 2 * grew);
  }
  return text + "]}}";
}

std::int64_t resident_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

/// Ten metrics of 147,456 ports, from the answers of a server to counts of channels; what the server takes is
/// not in it.
void measure_large(bench::Figures& figures) {
  const Fabric fabric =
      make_pod_clos({.pods = 48, .leaves = 16, .spines = 32, .cores = 512, .hosts_per_leaf = 32}).value();
  const std::string traffic = answer_of(fabric, false), errors = answer_of(fabric, true);
  const auto before = resident_mb();
  auto preset = counters::find_preset("node_exporter").value();
  preset.boot_metric.clear();
  preset.rules.push_back({.metric = "fec", .key = {PortCounter::fec_uncorrectable}});
  counters::CounterTable table;
  std::size_t counts = 0;
  const double took = bench::cpu_milliseconds([&] {
    const auto read = read_prometheus(
        fabric, {.presets = {preset}},
        [&](const std::string& promql) {
          const bool of_traffic =
              promql.find("bytes") != promql.npos || promql.find("packets") != promql.npos;
          return Result<std::string>(of_traffic ? traffic : errors);
        },
        table);
    if (read) counts = counters::channel_counts(fabric, table).size();
  });
  figures.add("ports", static_cast<double>(fabric.port_count()));
  figures.add("counts", static_cast<double>(counts));
  figures.add("read_147456_cpu_s", took / 1e3, "at most 5");
  figures.add("read_147456_mb", static_cast<double>(resident_mb() - before), "at most 300");
}

int run() {
  bench::Figures figures("port_history");
  measure_large(figures);
  Tally tally;
  const double took = bench::milliseconds([&] {
    for (std::uint64_t seed = 1; tally.steps < kSteps; ++seed) {
      const SimulatedPort port(seed);
      const auto histories = counters::port_history(port.shown(), Bandwidth::gbit(100));
      for (std::size_t i = 0; i < histories.size(); ++i) {
        const Simulated& one = port.all()[i];
        tally.steps += one.shown.points.size() - 1;
        tally.windows += histories[i].windows.size();
        for (const auto& window : histories[i].windows) {
          const auto truth = truly(one, window.from, window.to);
          const bool wrong = !truth || static_cast<double>(window.grew) != *truth;
          tally.wrong += wrong;
        }
        compare_plain(one, tally);
      }
    }
  });
  figures.add("steps", static_cast<double>(tally.steps));
  figures.add("steps_wrong", static_cast<double>(tally.wrong), "0");
  figures.add("steps_with_a_window", static_cast<double>(tally.windows) / static_cast<double>(tally.steps));
  figures.add("difference_wrong", static_cast<double>(tally.plain_wrong));
  figures.add("increase_wrong", static_cast<double>(tally.increase_wrong));
  figures.add("microseconds_a_step", 1e3 * took / static_cast<double>(tally.steps));
  return figures.write();
}

}  // namespace
}  // namespace weft

int main() { return weft::run(); }
