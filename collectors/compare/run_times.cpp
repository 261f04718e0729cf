#include "collectors/compare/run_times.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "topology/base/instant.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/findings/nic_reading.hpp"

namespace weft::compare {
namespace {

/// What stands behind the last comma, taken off the line; nothing where there is none.
std::optional<std::string_view> take_last(std::string_view& line) {
  const auto comma = line.rfind(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto last = line.substr(comma + 1);
  line = line.substr(0, comma);
  return last;
}

}  // namespace

Result<RunTimes> parse_run_times(std::string_view text, std::string_view what) {
  RunTimes times;
  bool has_degrees = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto wrong = [&](std::string_view expected) {
      return fail(ErrorKind::invalid_input, "{}: line {}: expected {}", what, number, expected);
    };
    if (number == 1) {
      has_degrees = line == "file,time,celsius";
      if (!has_degrees && line != "file,time") return wrong("the columns file,time or file,time,celsius");
      continue;
    }
    if (line.empty()) continue;
    if (number > kMaxRunTimes) return wrong(fmt::format("{} lines at most", kMaxRunTimes));
    Moment moment;
    if (has_degrees) {
      const auto word = take_last(line);
      if (!word) return wrong("a file, a time and degrees");
      if (!word->empty()) {
        double celsius = 0;
        const auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), celsius);
        if (error != std::errc() || end != word->data() + word->size() || !is_celsius_of_electronics(celsius))
          return wrong(fmt::format("degrees from {:g} to {:g}, or nothing", kMinCelsius, kMaxCelsius));
        moment.celsius = celsius;
      }
    }
    const auto word = take_last(line);
    if (!word || line.empty()) return wrong("a file and a time");
    const auto at = parse_instant(*word);
    if (!at) return wrong("a time as in 2026-01-31T12:00:00Z");
    moment.at = *at;
    if (!times.try_emplace(outside_text(line), moment).second)
      return fail(ErrorKind::invalid_input, "{}: line {}: {} stands there twice", what, number,
                  outside_text(line));
  }
  if (times.empty()) return fail(ErrorKind::invalid_input, "{}: no run has a time there", what);
  return times;
}

}  // namespace weft::compare
