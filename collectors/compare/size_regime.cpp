#include "collectors/compare/size_regime.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <optional>

#include "topology/base/readable.hpp"

namespace weft::compare {
namespace {

constexpr std::size_t kMinSizes = 4;      // two are always on a line
constexpr double kMinSpan = 16;           // of sizes, else a line says nothing of either end
constexpr double kMaxResidual = 1.0 / 3;  // root mean square of relative errors: beyond it this is no line

/// Seconds by size, of one work.
using Times = std::map<Bytes, double>;

std::map<std::vector<std::string>, Times> times_of(std::span<const Run> runs) {
  std::map<Cell, std::pair<double, double>> sums;  // of logarithms, and how many
  for (const Run& run : runs) {
    auto at = sums.begin();  // both are in order, and runs mostly have the same cells
    for (const auto& [cell, value] : run.cells) {
      if (cell.metric != Metric::time || cell.size <= Bytes(0)) continue;
      while (at != sums.end() && at->first < cell) ++at;
      if (at == sums.end() || at->first != cell) at = sums.try_emplace(at, cell);
      at->second.first += std::log(value.number), ++at->second.second;
      ++at;
    }
  }
  std::map<std::vector<std::string>, Times> works;
  for (const auto& [cell, sum] : sums) works[cell.work][cell.size] = std::exp(sum.first / sum.second);
  return works;
}

/// Errors relative to the time: each size counts the same.
std::optional<SizeRegime> line_through(const Times& times) {
  double ones = 0, sizes = 0, squares = 0, constant = 0, slope = 0;
  for (const auto& [size, time] : times) {
    const double one = 1 / time, x = static_cast<double>(size.count()) / time;
    ones += one * one, sizes += one * x, squares += x * x, constant += one, slope += x;
  }
  const double determinant = ones * squares - sizes * sizes;
  if (!(determinant > 0)) return std::nullopt;
  const double start_up = (constant * squares - slope * sizes) / determinant;
  const double per_byte = (ones * slope - sizes * constant) / determinant;
  if (!(start_up > 0) || !(per_byte > 0)) return std::nullopt;
  double residuals = 0;
  for (const auto& [size, time] : times) {
    const double off = (start_up + per_byte * static_cast<double>(size.count())) / time - 1;
    residuals += off * off;
  }
  if (std::sqrt(residuals / static_cast<double>(times.size())) > kMaxResidual) return std::nullopt;
  return SizeRegime{start_up, 8 / per_byte};
}

}  // namespace

std::vector<RegimePair> size_regimes(std::span<const Run> a, std::span<const Run> b) {
  const auto of_a = times_of(a), of_b = times_of(b);
  std::vector<RegimePair> pairs;
  for (const auto& [work, times] : of_a) {
    const auto other = of_b.find(work);
    if (other == of_b.end()) continue;
    Times mine, theirs;
    for (const auto& [size, time] : times)
      if (const auto at = other->second.find(size); at != other->second.end())
        mine[size] = time, theirs[size] = at->second;
    if (mine.size() < kMinSizes) continue;
    const auto span =
        static_cast<double>(mine.rbegin()->first.count()) / static_cast<double>(mine.begin()->first.count());
    const auto line_a = line_through(mine), line_b = line_through(theirs);
    if (span >= kMinSpan && line_a && line_b) pairs.push_back({work, *line_a, *line_b});
  }
  return pairs;
}

std::string to_string(const RegimePair& pair) {
  const auto micros = [](const SizeRegime& of) { return of.start_up * 1e6; };
  const auto gigabits = [](const SizeRegime& of) { return of.bandwidth / 1e9; };
  return fmt::format(
      "{}: by a line through time against size it starts in {:.3g} us on A, {:.3g} on B (B/A {:.2f}), and "
      "gets {:.3g} Gbit/s of A at large sizes, {:.3g} of B ({:.2f}); half of that at {} and {}",
      fmt::join(pair.work, " "), micros(pair.a), micros(pair.b), micros(pair.b) / micros(pair.a),
      gigabits(pair.a), gigabits(pair.b), gigabits(pair.b) / gigabits(pair.a), readable(pair.a.half()),
      readable(pair.b.half()));
}

}  // namespace weft::compare
