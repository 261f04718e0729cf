#include "tests/bench/diagnosis/plots.hpp"

#include <fmt/format.h>

#include <fstream>

#include "tests/bench/diagnosis/evaluate.hpp"
#include "tests/bench/support/figures.hpp"
#include "tests/bench/support/svg_plot.hpp"

namespace weft::bench {
namespace {

struct Point {
  double x;
  std::string name;
  Scenario scenario;
};

constexpr double kMinPrecision = 0.8;

void print_point(const std::string& name, const std::string& who, double precision, double recall) {
  fmt::print("{:<12} {:<26} {:.3f} {:.3f}\n", name, who, precision, recall);
  std::fflush(stdout);
}

bool draw(const std::string& file, Plot plot, const std::vector<Point>& points, const Fabric& fabric,
          const Seeds& seeds) {
  Panel precision{.title = "precision", .lowest = kMinPrecision};
  Panel recall{.title = "recall"};
  const std::vector<std::string> names{"weft (defaults)", "007 (tuned)", "NetBouncer (tuned)",
                                       "Flock (tuned)"};
  for (Panel* panel : {&precision, &recall})
    for (const auto& name : names) panel->lines.push_back({name, {}});
  for (const Point& point : points) {
    plot.x.push_back(point.x);
    plot.x_names.push_back(point.name);
    const auto judged = evaluate(fabric, point.scenario, seeds, {.nats = false, .comparators = true});
    const auto add = [&](std::size_t line, double right, double found) {
      precision.lines[line].y.push_back(right);
      recall.lines[line].y.push_back(found);
      print_point(point.name, names[line], right, found);
    };
    const Score score = score_of(judged);
    add(0, score.precision(), score.recall());
    for (std::size_t i = 0; i < std::size(kComparators); ++i) {
      const BestOfAll best = pool_of(judged, kComparators[i]).best();
      add(i + 1, best.precision, best.recall);
    }
  }
  plot.panels = {precision, recall};
  std::ofstream out(bench_folder() / file);
  out << svg(plot);
  out.flush();
  return out.good();
}

}  // namespace

bool plot_loss_rates(const Fabric& fabric, const Seeds& seeds) {
  std::vector<Point> points;
  for (const double loss : {0.0005, 0.001, 0.0015, 0.002, 0.005, 0.01, 0.02})
    points.push_back({loss, fmt::format("{:g} %", 100 * loss), {.least_loss = loss, .most_loss = loss}});
  return draw("diagnosis_loss.svg",
              {.title = "k=10 fat tree, 25,000 probes of 100 packets", .x_title = "loss of a faulty channel"},
              points, fabric, seeds);
}

bool plot_probes(const Fabric& fabric, const Seeds& seeds) {
  std::vector<Point> points;
  for (const std::size_t probes : {6250, 12500, 25000, 50000, 100000})
    points.push_back({static_cast<double>(probes),
                      fmt::format("{:g}k", static_cast<double>(probes) / 1000),
                      {.probes = probes, .least_loss = 0.001, .most_loss = 0.002}});
  return draw("diagnosis_probes.svg",
              {.title = "k=10 fat tree, faults of 0.1 to 0.2 %", .x_title = "probes of 100 packets"}, points,
              fabric, seeds);
}

}  // namespace weft::bench
