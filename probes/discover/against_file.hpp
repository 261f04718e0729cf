// A fabric that was found, held against the file that says how it should be: cables that lead elsewhere.
#pragma once

#include <string>
#include <vector>

#include "topology/files/fabric_file.hpp"

namespace weft::discover {

/// Each in words, with what the file says and what was found. Switches are matched by the addresses of their
/// ports, else by their hosts, else by name; of those that match none nothing is said.
std::vector<std::string> differences_from_file(const Fabric& found, const AddressBook& addresses,
                                               const files::FabricFile& design);

}  // namespace weft::discover
