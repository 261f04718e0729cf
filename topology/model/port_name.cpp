#include "topology/model/port_name.hpp"

#include <charconv>

namespace weft {

std::optional<PortName> split_port(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return PortName{name, std::nullopt};
  const auto tail = name.substr(slash + 1);
  std::uint16_t number = 0;
  if (tail.size() < 2 || tail.front() != 'p') return std::nullopt;
  const auto [end, error] = std::from_chars(tail.data() + 1, tail.data() + tail.size(), number);
  if (error != std::errc{} || end != tail.data() + tail.size()) return std::nullopt;
  return PortName{name.substr(0, slash), PortNumber(number)};
}

}  // namespace weft
