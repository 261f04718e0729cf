// Where the server of a run listens, so that agents on other machines reach it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/ip.hpp"

namespace weft::run {

struct ListenAddress {
  IpAddress address;
  std::optional<std::uint16_t> port = std::nullopt;  // absent: any free one
};

/// "10.0.0.5", "10.0.0.5:4222", "fd00::5" or "[fd00::5]:4222".
Result<ListenAddress> parse_listen_address(std::string_view text);

/// This machine's address on the way to the first of these hosts whose name resolves; the first few are
/// tried. An Error says to give --listen.
Result<IpAddress> address_towards(const std::vector<std::string>& hosts);

}  // namespace weft::run
