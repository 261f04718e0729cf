#include "topology/base/readable.hpp"

#include <array>
#include <span>

namespace weft {
namespace {

struct Unit {
  double size;
  const char* name;
};

/// In the largest unit that leaves it at 1 or more once it is rounded.
std::string in_units(double number, std::span<const Unit> units, char space) {
  constexpr double kRounds = 0.9995;  // 999.5 of a unit is 1 of the next
  const Unit* unit = &units.front();
  for (const Unit& larger : units)
    if (number >= larger.size * kRounds) unit = &larger;
  const double value = number / unit->size;
  // Seconds and bits are the last and the first unit: what is beyond needs more digits, not an exponent.
  const auto text = value >= 999.5 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
  return fmt::format("{}{}{}", text, space, unit->name);
}

}  // namespace

std::string readable(Bandwidth rate, char space) {
  constexpr std::array<Unit, 5> kUnits{
      {{1, "bit/s"}, {1e3, "kbit/s"}, {1e6, "Mbit/s"}, {1e9, "Gbit/s"}, {1e12, "Tbit/s"}}};
  return in_units(rate.bits_per_second(), kUnits, space);
}

std::string readable(Bytes size, char space) {
  constexpr std::int64_t kExactBelow = 10'000;
  constexpr std::array<Unit, 5> kUnits{{{1, "bytes"}, {1e3, "KB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};
  if (size.count() == 1) return fmt::format("1{}byte", space);
  if (size.count() < kExactBelow) return fmt::format("{}{}bytes", size.count(), space);
  return in_units(static_cast<double>(size.count()), kUnits, space);
}

std::string readable(Nanoseconds time, char space) {
  constexpr std::array<Unit, 3> kUnits{{{1e3, "us"}, {1e6, "ms"}, {1e9, "s"}}};
  return in_units(static_cast<double>(time.count()), kUnits, space);
}

}  // namespace weft
