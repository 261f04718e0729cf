// The frame of a page that is looked at without a server: one file, one style sheet for light, dark and
// paper, a policy that names all that may run by its hash and lets nothing be asked for. Pure.
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// All up to the page's content. `script_hash` ("sha256-...", base64): the one script that may run; empty:
/// none may.
std::string html_head(std::string_view title, std::string_view script_hash = {});

inline constexpr std::string_view kHtmlEnd = "</body></html>\n";

std::string_view html_style();
/// As the policy names it; a test holds it against the style sheet.
std::string_view html_style_hash();

}  // namespace weft
