// Text for XML documents (SVG).
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// For an element's content or an attribute in double quotes.
inline std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

}  // namespace weft
