#include "topology/files/time_span.hpp"

namespace weft::files {

Result<Nanoseconds> parse_span(std::string_view text) {
  constexpr std::int64_t kHoursOfADay = 24;
  const bool days = text.ends_with('d');
  const auto read =
      days ? parse_duration(std::string(text.substr(0, text.size() - 1)) + 'h') : parse_duration(text);
  const auto refused = fail(ErrorKind::invalid_input,
                            "'{}' is no time: expected a number above 0 and s, m, h or d, as in 7d", text);
  if (!read || *read <= Nanoseconds()) return refused;
  if (!days) return *read;
  if (*read > Nanoseconds::max() / kHoursOfADay) return refused;
  return *read * kHoursOfADay;
}

}  // namespace weft::files
