// Cables as records and traces tell them, and the fabric that they make: its nodes in their tiers, its ports
// with their numbers, names and addresses. Internal to discover/.
#pragma once

#include "probes/discover/found_fabric.hpp"
#include "probes/discover/switch_names.hpp"

namespace weft::discover {

struct FoundEnd {
  std::string node;
  std::string port;  // its name; of a NIC its interface
  std::optional<IpAddress> address = std::nullopt;
};
struct FoundCable {
  FoundEnd a;
  FoundEnd b;
  std::optional<Bandwidth> rate = std::nullopt;
  std::string source = {};  // of records
  bool refused = false;
};

/// What is told beside the cables, in words.
struct CableRemarks {
  std::vector<std::string> gaps;
  std::vector<std::string> disagreements;
  std::map<std::string, std::vector<IpAddress>> open;  // by what may have them (OpenAddresses)
};

/// What traces found, with the names of their switches.
struct NamedTraces {
  /// `sources.traced` is there, and outlives it.
  explicit NamedTraces(const FoundSources& sources);

  const std::string& name_of(std::uint32_t at) const { return names.names[at]; }
  /// The records' cables stand, though it may be one of several of their devices.
  bool is_left_open(std::uint32_t at) const { return names.untold[at] && names.records_stand; }
  /// For the operator: the address at the end of a cable that nobody can place.
  void leave_open(const TracedEnd& end, CableRemarks& remarks) const;

  const FoundSources& in;
  const TracedCabling& traced;
  TracedNics nics;
  SwitchNames names;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<TracedCable>> between;  // two switches
};
/// The traced cables between switches, joined with those of records or added to them. Where packets enter by
/// a port whose record leads elsewhere, they are believed. Returns the pairs of switches, in words, between
/// which traces alone find several.
std::vector<std::string> add_switch_cables(const NamedTraces& traces, std::vector<FoundCable>& cables,
                                           CableRemarks& remarks);

struct CabledFabric {
  Fabric fabric;
  AddressBook addresses;
  std::size_t rates_assumed = 0;  // cables whose rate nobody told
};

bool is_host(const FoundSources& sources, const std::string& node);

/// `switches`: names of the traced switches. Errors: invalid_input (no cable; a name that no node can have).
Result<CabledFabric> fabric_of_cables(const FoundSources& sources, std::vector<FoundCable> cables,
                                      const std::vector<std::string>& switches);

}  // namespace weft::discover
