// The fabric that traces and a site's records show together, with what they leave open and where they
// contradict each other.
#pragma once

#include "probes/discover/host_nics.hpp"
#include "probes/discover/listed_cables.hpp"
#include "probes/discover/traced_cabling.hpp"

namespace weft::discover {

struct FoundSources {
  std::string name = "discovered";   // of the fabric
  std::vector<HostNics> hosts = {};  // in whose order the NICs of the traces are
  std::optional<TracedCabling> traced = std::nullopt;
  ListedCables listed = {};
  Bandwidth rate = Bandwidth::gbit(400);  // of cables whose rate nobody tells
};

/// Addresses that answered, and the switches that may have them: they are all behind the same.
struct OpenAddresses {
  std::vector<IpAddress> addresses;
  std::string of;  // in words: "a switch above leaf1"
};

struct FoundFabric {
  Fabric fabric;
  AddressBook addresses;
  std::vector<std::string> gaps;           // in words
  std::vector<std::string> disagreements;  // in words, each with both sources
  std::vector<OpenAddresses> open;         // for the operator to complete the file
  std::size_t rates_assumed = 0;           // cables that have the rate of FoundSources for want of their own
  Bandwidth assumed_rate = Bandwidth::gbit(400);
};

/// Errors: invalid_input (nothing was found; a name that no node can have).
Result<FoundFabric> found_fabric(const FoundSources& sources);

}  // namespace weft::discover
