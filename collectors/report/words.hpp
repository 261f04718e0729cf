// Words of reports: counts with their nouns, and lists.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/readable.hpp"
#include "topology/base/text.hpp"

namespace weft::report {

/// "1 host", "2 hosts". `space` stands between the two: kNoBreak where the text is wrapped.
inline std::string counted(std::size_t count, std::string_view what, char space = kNoBreak) {
  return fmt::format("{}{}{}{}", count, space, what, count == 1 ? "" : "s");
}

/// "4.4 ms", for text that is wrapped.
inline std::string duration(Nanoseconds time) { return readable(time, kNoBreak); }

inline std::string joined(const std::vector<std::string>& names, std::string_view separator) {
  return fmt::format("{}", fmt::join(names, separator));
}

/// `text` in which no line ends between a number and its unit, as in evidence that others wrote.
inline std::string with_units_kept(std::string text) {
  constexpr std::string_view kDigits = "0123456789";
  for (auto space = text.find(' '); space != std::string::npos; space = text.find(' ', space + 1)) {
    if (space == 0 || kDigits.find(text[space - 1]) == std::string_view::npos) continue;
    const auto end = std::min(text.find_first_of(" ,;:)", space + 1), text.size());
    const auto word = std::string_view(text).substr(space + 1, end - space - 1);
    for (const std::string_view unit : {"Mbit/s", "Gbit/s", "s", "ms", "us", "%", "bytes"})
      if (word == unit) text[space] = kNoBreak;
  }
  return text;
}

}  // namespace weft::report
