#include "topology/base/instant.hpp"

#include <limits>

#include "topology/base/utc.hpp"

namespace weft {

std::string instant_text(Nanoseconds since_1970) {
  const auto second = std::chrono::floor<std::chrono::seconds>(since_1970);
  std::string text = to_string(UtcTime(second));
  if (since_1970 == second) return text;
  std::string digits = fmt::format("{:09}", (since_1970 - second).count());
  digits.erase(digits.find_last_not_of('0') + 1);
  text.back() = '.';
  return text + digits + 'Z';
}

Result<Nanoseconds> parse_instant(std::string_view text) {
  constexpr std::size_t kWhole = std::string_view("2026-01-31T12:00:00").size();
  const auto refused = fail(ErrorKind::invalid_input, "'{}' is no time: expected UTC as in {}",
                            text.substr(0, 40), "2026-01-31T12:00:00.25Z");
  std::string_view digits;
  std::string second(text);
  if (text.size() > kWhole && text[kWhole] == '.') {
    digits = text.substr(kWhole + 1);
    if (digits.size() < 2 || digits.size() > 10 || digits.back() != 'Z') return refused;
    digits.remove_suffix(1);
    second = std::string(text.substr(0, kWhole)) + 'Z';
  }
  const auto whole = parse_utc(second);
  if (!whole) return refused;
  std::int64_t part = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    const char digit = i < digits.size() ? digits[i] : '0';
    if (digit < '0' || digit > '9') return refused;
    part = part * 10 + (digit - '0');
  }
  const auto seconds = whole->time_since_epoch();
  const auto last = std::chrono::floor<std::chrono::seconds>(Nanoseconds::max());
  if (seconds.count() < 0 || seconds >= last) return refused;
  return Nanoseconds(seconds) + Nanoseconds(part);
}

}  // namespace weft
