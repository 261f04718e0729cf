// The written form of a node or one of its ports: "leaf1", "leaf1/p3".
#pragma once

#include <optional>
#include <string_view>

#include "topology/base/ids.hpp"

namespace weft {

struct PortName {
  std::string_view node;
  std::optional<PortNumber> port;
};

/// "leaf1/p3" or "leaf1" taken apart; absent when what follows the slash is no port. Views into `name`.
std::optional<PortName> split_port(std::string_view name);

}  // namespace weft
