#include "collectors/report/wrapped.hpp"

#include <algorithm>

namespace weft {

std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string lines;
  const std::size_t room = columns > indent + 20 ? columns - indent : 20;
  while (!text.empty()) {
    std::size_t end = text.size();
    if (end > room) {
      end = text.rfind(' ', room);
      if (end == std::string_view::npos || end == 0) end = std::min(text.find(' '), text.size());
    }
    lines += std::string(indent, ' ') + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::ranges::replace(lines, kNoBreak, ' ');
  return lines;
}

}  // namespace weft
