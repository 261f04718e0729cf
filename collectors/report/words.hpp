// Words of reports: counts with their nouns, and lists.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "topology/base/text.hpp"

namespace weft::report {

/// "1 host", "2 hosts". `space` stands between the two: kNoBreak where the text is wrapped.
inline std::string counted(std::size_t count, std::string_view what, char space = kNoBreak) {
  return fmt::format("{}{}{}{}", count, space, what, count == 1 ? "" : "s");
}

inline std::string joined(const std::vector<std::string>& names, std::string_view separator) {
  return fmt::format("{}", fmt::join(names, separator));
}

}  // namespace weft::report
