#include "topology/base/utc.hpp"

#include <array>
#include <charconv>
#include <optional>

namespace weft {
namespace {

constexpr std::string_view kShape = "0000-00-00T00:00:00Z";

bool has_shape(std::string_view text) {
  if (text.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == '0' ? !digit : text[i] != kShape[i]) return false;
  }
  return true;
}

int number_at(std::string_view text, std::size_t at, std::size_t digits) {
  int number = 0;
  std::from_chars(text.data() + at, text.data() + at + digits, number);
  return number;
}

}  // namespace

std::string to_string(UtcTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", int(date.year()), unsigned(date.month()),
                     unsigned(date.day()), clock.hours().count(), clock.minutes().count(),
                     clock.seconds().count());
}

Result<UtcTime> parse_utc(std::string_view text) {
  const auto refused = fail(ErrorKind::invalid_input, "'{}' is no time: expected UTC as in {}",
                            text.substr(0, 40), "2026-01-31T12:00:00Z");
  if (!has_shape(text)) return refused;
  const std::chrono::year_month_day date{std::chrono::year(number_at(text, 0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number_at(text, 5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number_at(text, 8, 2)))};
  const int hour = number_at(text, 11, 2);
  const int minute = number_at(text, 14, 2);
  const int second = number_at(text, 17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return refused;
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

}  // namespace weft
