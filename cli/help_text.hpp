// Help pages that fit a terminal: long lines are broken at spaces. Pure.
#pragma once

#include <string>
#include <string_view>

namespace weft::cli {

inline constexpr unsigned kHelpColumns = 80;

/// Every line of `text` broken so that none is longer than kHelpColumns, where it has spaces to break at;
/// what follows a break is indented by `indent`.
std::string fit_prose(std::string_view text, unsigned indent = 0);

/// The same for command lines: broken with a backslash, as a shell reads them.
std::string fit_commands(std::string_view text);

}  // namespace weft::cli
