// Compares a fabric as it is with the fabric it should be and says what a technician has to change. Nodes are
// matched as in matching.hpp; two nodes are joined rightly when as many cables run between them as there
// should, whatever ports these are on.
#pragma once

#include <string>
#include <vector>

#include "probes/discover/matching.hpp"
#include "probes/discover/subnet_firmware.hpp"

namespace weft::discover {

enum class CablingKind {
  missing_node,
  extra_node,
  missing_cable,
  extra_cable,
  miswired,        // a cable that should go elsewhere
  wrong_rate,      // fewer lanes or slower lanes than it should have
  mixed_model,     // another model or revision than most as far from the hosts: a line a model
  mixed_firmware,  // other firmware than most devices of the model have: a line a version
};
std::string_view to_string(CablingKind kind);

struct CablingFault {
  CablingKind kind = CablingKind::missing_cable;
  std::string where;                    // the node, or the port: host3/p1
  std::string should;                   // what should be there; empty: nothing
  std::string is;                       // what is there; empty: nothing
  std::vector<std::string> nodes = {};  // all that `where` speaks of, where it names a few
};

struct CablingReport {
  std::vector<CablingFault> faults;  // in the order of nodes, so that a technician walks the aisle once
  std::size_t links_right = 0;       // of those that should be there
  std::vector<MatchRemark> remarks;  // what is another than the file says, and no fault
};
/// Without faults: it is built as designed.
CablingReport check_cabling(const Fabric& expected, const InfinibandFabric& found);
/// The devices of `found` that have other firmware than most of their model, together where they have the
/// same; of as many, the newest counts as what they should have.
std::vector<CablingFault> check_firmware(const Fabric& found, const std::vector<DeviceFirmware>& devices);

}  // namespace weft::discover
