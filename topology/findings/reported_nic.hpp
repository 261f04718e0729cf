// A NIC as the standing agent of its host told of it last. A value.
#pragma once

#include <optional>
#include <string>

#include "topology/base/units.hpp"

namespace weft {

struct ReportedNic {
  std::string nic;  // its port in the fabric
  std::string host;
  std::string interface, driver, firmware;        // of its host; empty: not told
  std::string pci, pci_id;                        // its address; vendor and device: "15b3:101d"
  std::optional<Bandwidth> speed = std::nullopt;  // of the link; absent: it was down
  std::string module_part, module_serial;
  std::string agent;   // the version of the agent
  Nanoseconds told{};  // since 1970, on the clock of its host
  friend bool operator==(const ReportedNic&, const ReportedNic&) = default;
};

}  // namespace weft
