// The interfaces of a host with their addresses, as JSON: `weft topology show --nics` writes it on a host,
// and whoever discovers a fabric reads it. Reading trusts nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/ip.hpp"
#include "topology/base/units.hpp"
#include "topology/files/document.hpp"

namespace weft::files {

struct ListedNic {
  std::string interface;
  std::vector<IpAddress> addresses;
  std::optional<std::string> rdma_device = std::nullopt;
  std::optional<Bandwidth> rate = std::nullopt;
  bool up = true;
};
struct NicList {
  std::string host;
  std::vector<ListedNic> nics;
  std::optional<IpAddress> reached_by = std::nullopt;  // its own address on the way from who asks
};

/// weft.nics/1
std::string nic_list_json(const NicList& list, const DocumentStamp& stamp);
Result<NicList> parse_nic_list(std::string_view text, std::string_view what);

}  // namespace weft::files
