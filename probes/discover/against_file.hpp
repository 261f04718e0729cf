// A fabric that was found, held against the file that says how it should be: nodes and cables of one of
// them only, cables that lead elsewhere. A pure function.
#pragma once

#include <string>
#include <vector>

#include "topology/files/fabric_file.hpp"

namespace weft::discover {

/// Each in words. Hosts are matched by name; switches by name where `found` has names of their ports or no
/// address of a NIC (no traces: every name is a record's), else by their hosts, addresses and neighbours. Of
/// switches of the file that these do not tell apart none is named alone. A node of one side has one line,
/// its cables none.
std::vector<std::string> differences_from_file(const Fabric& found, const AddressBook& addresses,
                                               const files::FabricFile& design);

}  // namespace weft::discover
