#include "topology/base/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace weft {
namespace {

struct Scaled {
  double number;
  std::string_view suffix;
};

/// Splits "12.5M" into 12.5 and "M"; nothing where no finite, non-negative number stands at the front.
std::optional<Scaled> split_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  return Scaled{number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

struct Suffix {
  std::string_view name;
  double factor;
};

template <std::size_t N>
std::optional<double> factor_of(std::string_view suffix, const std::array<Suffix, N>& known) {
  for (const auto& candidate : known)
    if (candidate.name == suffix) return candidate.factor;
  return std::nullopt;
}

// Of a cable or a flow; beyond these the share of one in another means nothing.
constexpr double kMinRate = 1;
constexpr double kMaxRate = 1e18;
constexpr std::array<Suffix, 5> kBandwidthSuffixes{
    {{"", 1}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}};

/// "G" of "G", "Gbit", "Gbit/s" and " Gbit/s": as people are told a rate, so they may say it.
std::string_view prefix_of_rate(std::string_view suffix) {
  if (suffix.starts_with(' ')) suffix.remove_prefix(1);
  for (const std::string_view unit : {"bit/s", "bit"})
    if (suffix.ends_with(unit)) suffix.remove_suffix(unit.size());
  return suffix == "k" ? "K" : suffix;
}
constexpr std::array<Suffix, 8> kByteSuffixes{{{"", 1},
                                               {"B", 1},
                                               {"KB", 1e3},
                                               {"MB", 1e6},
                                               {"GB", 1e9},
                                               {"KiB", 1024},
                                               {"MiB", 1048576},
                                               {"GiB", 1073741824}}};
constexpr std::array<Suffix, 6> kTimeSuffixes{
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 6e10}, {"h", 3.6e12}}};

/// "12.5" with at most three decimals, without trailing zeros.
std::string trimmed(double number) {
  auto text = fmt::format("{:.3f}", number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

/// The number in the largest unit of `units` that leaves it at 1 or more.
template <std::size_t N>
std::string in_largest(double number, const std::array<Suffix, N>& units, std::string_view unit_of_zero) {
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit)
    if (number >= unit->factor) return trimmed(number / unit->factor) + std::string(unit->name);
  return trimmed(number) + std::string(unit_of_zero);
}

}  // namespace

Result<Bandwidth> parse_bandwidth(std::string_view text) {
  const auto scaled = split_number(text);
  const auto factor = scaled ? factor_of(prefix_of_rate(scaled->suffix), kBandwidthSuffixes) : std::nullopt;
  const double rate = factor ? scaled->number * *factor : 0;
  if (rate < kMinRate || rate > kMaxRate)
    return fail(ErrorKind::invalid_input,
                "'{}' is no bandwidth: expected 1 to 1000000T bits per second, with K, M, G or T, as in 400G",
                text);
  return Bandwidth::bit(scaled->number * *factor);
}

Result<Bytes> parse_bytes(std::string_view text) {
  const auto scaled = split_number(text);
  const auto factor = scaled ? factor_of(scaled->suffix, kByteSuffixes) : std::nullopt;
  if (!factor || scaled->number * *factor > 9e18)
    return fail(ErrorKind::invalid_input,
                "'{}' is no size: expected a number and B, KB, MB, GB, KiB, MiB or GiB, as in 10MB", text);
  return Bytes(static_cast<std::int64_t>(scaled->number * *factor));
}

Result<Fraction> parse_percent(std::string_view text) {
  const auto scaled = split_number(text);
  if (!scaled || (!scaled->suffix.empty() && scaled->suffix != "%") || scaled->number > 100)
    return fail(ErrorKind::invalid_input, "'{}' is no percentage: expected 0 to 100, as in 0.5%", text);
  return Fraction::percent(scaled->number);
}

Result<Nanoseconds> parse_duration(std::string_view text) {
  const auto scaled = split_number(text);
  const auto factor = scaled ? factor_of(scaled->suffix, kTimeSuffixes) : std::nullopt;
  if (!factor || scaled->number * *factor > 9e18)
    return fail(ErrorKind::invalid_input,
                "'{}' is no time: expected a number and ns, us, ms, s, m or h, as in 2ms", text);
  return Nanoseconds(static_cast<std::int64_t>(scaled->number * *factor));
}

std::string to_string(Bandwidth rate) { return in_largest(rate.bits_per_second(), kBandwidthSuffixes, ""); }

std::string to_string(Bytes size) {
  constexpr std::array<Suffix, 4> units{{{"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}}};
  return in_largest(static_cast<double>(size.count()), units, "B");
}

std::string to_string(Fraction share) { return trimmed(share.as_percent()) + "%"; }

std::string to_string(Nanoseconds time) {
  constexpr std::array<Suffix, 4> units{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  return in_largest(static_cast<double>(time.count()), units, "ns");
}

}  // namespace weft
