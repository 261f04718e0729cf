// What a discovery of a RoCE fabric found, for people, for programs, and as a fabric file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "probes/discover/found_fabric.hpp"
#include "topology/files/document.hpp"

namespace weft::report {

struct Discovery {
  discover::FoundFabric found;
  std::size_t traces = 0;
  std::size_t records = 0;               // files that told of cables
  std::vector<std::string> troubles;     // hosts that took no part, and why
  std::vector<std::string> differences;  // from the design
  std::string against = {};              // the design's file; empty: none was given
};

/// In lines of `columns`, but those to be pasted.
std::string discovery_table(const Discovery& discovery, std::size_t columns);
/// A fabric file; what is not known stands in it as comments.
std::string discovery_yaml(const Discovery& discovery);
/// weft.discovery/1
std::string discovery_json(const Discovery& discovery, const files::DocumentStamp& stamp);

}  // namespace weft::report
