// A HostInventory as JSON and back: the document weft.host/1 and the part of an agent's first message.
// Reading trusts nothing: counts, lengths and ranges are bounded and an Error names the place.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "topology/files/document.hpp"
#include "topology/findings/host_inventory.hpp"

namespace weft::files {

nlohmann::json host_inventory_value(const HostInventory& inventory);
Result<HostInventory> host_inventory_from(const nlohmann::json& value);

/// The document: {"schema":"weft.host/1","generated_at","tool_version","host",...}.
std::string host_inventory_json(const std::string& host, const HostInventory& inventory,
                                const DocumentStamp& stamp);

}  // namespace weft::files
