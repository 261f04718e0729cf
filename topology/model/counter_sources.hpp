// CounterSources: where counters of a fabric's ports are read from (docs/counters.md).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topology/base/units.hpp"

namespace weft {

struct CounterSources {
  std::optional<std::string> prometheus = std::nullopt;  // http[s]://HOST[:PORT]
  std::vector<std::string> presets = {};                 // of exporters, by name
  std::optional<std::string> node_label = std::nullopt;  // which label names the switch or host
  std::optional<std::string> port_label = std::nullopt;
  std::string match = {};  // matchers beside, as job="switches"
  std::map<std::string, std::string> renames = {};
  std::vector<std::pair<std::string, std::string>> metrics =
      {};                                            // a counter of ours, what it is called there
  std::optional<Nanoseconds> window = std::nullopt;  // how far back
  std::optional<std::string> exec = std::nullopt;    // a command with {switch}
  bool operator==(const CounterSources&) const = default;
};

}  // namespace weft
