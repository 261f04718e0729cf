// Reading the members of a JSON object into values, for readers in .cpp files.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"
#include "topology/base/utc.hpp"
#include "topology/files/json_view.hpp"

namespace weft::files {

/// Puts what `read` makes of a member into `place`; without the member `place` keeps what it has.
template <class T, class Read>
Result<void> read_member(const JsonView& object, std::string_view key, T& place, Read read) {
  const auto member = object.find(key);
  if (!member) return {};
  WEFT_TRY(auto value, read(*member));
  place = T(std::move(value));
  return {};
}

/// As read_member, but the member must be there.
template <class T, class Read>
Result<void> need_member(const JsonView& object, std::string_view key, T& place, Read read) {
  WEFT_TRY(const auto member, object.need(key));
  WEFT_TRY(auto value, read(member));
  place = T(std::move(value));
  return {};
}

/// The values of JSON Lines, each by `parse(line, where)`; empty lines are passed over. `where`:
/// "WHAT:NUMBER".
template <class T, class Parse>
Result<std::vector<T>> read_lines(std::string_view text, std::string_view what, Parse parse) {
  std::vector<T> values;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    WEFT_TRY(auto value, parse(line, fmt::format("{}:{}", what, number)));
    values.push_back(std::move(value));
  }
  return values;
}

// Readers of one value.
Result<std::string> as_text(const JsonView& view);
Result<double> as_number(const JsonView& view);
Result<double> as_share(const JsonView& view);  // 0 to 1
Result<std::uint64_t> as_count(const JsonView& view);
Result<std::uint16_t> as_short(const JsonView& view);
Result<bool> as_boolean(const JsonView& view);
Result<UtcTime> as_time(const JsonView& view);
Result<Nanoseconds> as_instant(const JsonView& view);  // parse_instant

/// A reader of a word that `parse` knows.
template <class T>
auto as_word(std::optional<T> (*parse)(std::string_view), std::string_view expected) {
  return [parse, expected](const JsonView& view) -> Result<T> {
    WEFT_TRY(const auto text, view.text());
    const auto value = parse(text);
    if (!value) return view.error("expected {}, found '{}'", expected, text.substr(0, 40));
    return *value;
  };
}

}  // namespace weft::files
