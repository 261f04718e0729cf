// What one recorded run of a benchmark says: its values by cell. A cell is what was measured (the work, its
// settings, the size); two values are comparable where their cells are the same.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/units.hpp"

namespace weft::compare {

enum class Metric {
  time,       // in seconds: less is better
  bandwidth,  // in bits per second: more is better
  arrived,    // the share of packets that arrived, or of NICs that were reached: more is better
  ways,       // how many different ways there are: more is better
};
std::string_view to_string(Metric metric);
/// "s", "bit/s"; "1" of shares and counts.
std::string_view unit_of(Metric metric);

struct Cell {
  std::vector<std::string> work;  // its name first, then its settings: all_reduce, float, sum, in-place
  Bytes size;
  Metric metric = Metric::time;
  friend auto operator<=>(const Cell&, const Cell&) = default;
};

struct Value {
  double number = 0;
  double grain = 0;  // one unit of the last digit that was printed, as a share of `number`; 0: exact
  /// Of packets that were counted: the variance that counting alone gives the logarithm of `number`. None
  /// lost of few proves less than none lost of many, though both scatter by nothing.
  double counted = 0;
};

/// Above zero, and such that no ratio of two leaves the range of a double: of what a benchmark measures all.
constexpr bool is_comparable(double number) { return number >= 1e-30 && number <= 1e30; }

/// When a run was taken, and at which temperature.
struct Moment {
  Nanoseconds at{};  // since 1970, UTC
  std::optional<double> celsius = std::nullopt;
};

struct Run {
  std::string name;
  std::map<Cell, Value> cells;       // of a cell's rows the median
  std::size_t wrong_rows = 0;        // rows with wrong results: they do not count
  std::size_t empty_tables = 0;      // without a row, where there should be one: their jobs ended early
  std::set<std::string> mtus;        // that it says it had, as it prints them
  std::vector<std::string> remarks;  // what does not count, a sentence each
  std::optional<Moment> moment = std::nullopt;
};

}  // namespace weft::compare
