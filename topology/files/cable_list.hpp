// What a site's own records say of cables: LLDP tables of hosts and switches, configurations, an inventory's
// export. Every reader gives a CableList; probes/discover holds them against each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/base/ip.hpp"
#include "topology/base/units.hpp"

namespace weft::files {

struct CableEnd {
  std::string node;
  std::string port;  // as its device calls it; empty: not told
  friend auto operator<=>(const CableEnd&, const CableEnd&) = default;
};

struct Cable {
  CableEnd a;
  CableEnd b;
  std::optional<Bandwidth> rate = std::nullopt;
  friend bool operator==(const Cable&, const Cable&) = default;
};

struct PortAddress {
  CableEnd port;  // without a port: the device's own
  IpAddress address;
  friend bool operator==(const PortAddress&, const PortAddress&) = default;
};

struct CableList {
  std::string source;   // for messages: "LLDP of leaf1 (leaf1.json)"
  bool is_live = true;  // seen on the wire; else planned
  std::vector<Cable> cables;
  std::vector<PortAddress> addresses = {};
  std::vector<PortAddress> known_by =
      {};                                 // an address of the device, which its probes' answers need not bear
  std::vector<std::string> devices = {};  // whose own tables are here, whole as far as could be read
  std::vector<std::string> switches = {};  // that are said to forward packets
  std::vector<std::string> hosts = {};     // that are said not to
  std::vector<std::string> remarks = {};   // what is odd in it
};

}  // namespace weft::files
