// The script of a report: files of the live page in one, which ask for nothing. And values for it, as they
// may stand in a page.
#pragma once

#include <string>
#include <string_view>

namespace weft::web {

/// Draws, searches and saves.
std::string report_script();

/// As the policy of a page names what may run: "sha256-..." (base64).
std::string source_hash(std::string_view script);

/// Within a script element: nothing in it ends the element.
std::string harmless_json(std::string_view json);

}  // namespace weft::web
