// The `addresses` of a fabric file: which address each NIC probes from, and from which the switches answer.
#pragma once

#include <string_view>

#include "topology/files/yaml_tree.hpp"
#include "topology/model/addressing.hpp"

namespace weft::files {

/// `where`: {plan: ipv4|ipv6}, {file: FILE}, or {ports: {NODE/pN: ADDRESS, SWITCH: ADDRESS}}. A relative FILE
/// lies beside `file`, the fabric file.
Result<AddressBook> read_addresses(YamlView where, const Fabric& fabric, std::string_view file);

/// "ipv4" or "ipv6".
Result<IpFamily> yaml_family(YamlView value, std::string_view key);

}  // namespace weft::files
