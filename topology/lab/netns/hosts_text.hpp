// The names of a lab's nodes as the text of /etc/hosts.
#pragma once

#include <string>

#include "topology/model/addressing.hpp"
#include "topology/model/fabric.hpp"

namespace weft::lab {

/// A node's name is its first port that has an address (of a switch that has one of its own: that); every
/// port is "p2.host1", and by the switch's name for it nothing: that may have a slash. Addresses of the
/// fabric, not of the management network.
std::string hosts_text(const Fabric& fabric, const AddressBook& addresses);

}  // namespace weft::lab
