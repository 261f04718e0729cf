// What records claim of cables, settled: a claim that two tables tell is one cable; claims that contradict
// each other are named, and none of them is believed, but for what is on the wire against what is planned,
// and for the one that both of its ends tell. In whichever order they were read. Internal to discover/.
#pragma once

#include <set>

#include "topology/files/cable_list.hpp"

namespace weft::discover {

struct CableClaim {
  files::CableEnd a;
  files::CableEnd b;
  std::string source;
  bool is_live = true;
  std::set<std::string> told_by = {};  // of its ends: those whose own tables tell it
  std::optional<Bandwidth> rate = std::nullopt;
};

struct SettledClaims {
  std::vector<CableClaim> cables;  // no port is in two of them
  std::vector<std::string> disagreements;
};

/// `devices`: whose own tables are among the records; a port's name in its own table goes before others.
SettledClaims settle_claims(std::vector<CableClaim> claims, const std::set<std::string>& devices);

/// "leaf1 Ethernet4"; "leaf1" where the port is not told.
std::string text_of(const files::CableEnd& end);

}  // namespace weft::discover
