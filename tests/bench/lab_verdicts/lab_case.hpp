// The cases of `./bootstrap bench lab_verdicts`: a lab's shape and the faults put in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/units.hpp"
#include "topology/model/clos.hpp"

namespace weft::bench {

/// The faults come so long after the first probes, and go again.
struct Outage {
  Nanoseconds after;
  Nanoseconds length;
};

struct LabCase {
  std::string name;
  std::uint64_t seed = 1;           // of the sweep, and of what is drawn
  std::vector<std::string> faults;  // as parse_fault reads them
  std::uint32_t leaves = 4;
  std::uint32_t spines = 4;
  std::uint32_t hosts_per_leaf = 4;
  std::optional<Outage> outage = std::nullopt;  // absent: they are there all the time
  std::string hosts = {};                       // of --hosts; empty: all
};

Fabric fabric_of(const LabCase& one);
/// What `weft lab up` builds.
std::string fabric_text(const LabCase& one);

/// One of each named case and the drawn ones, for the seed.
std::vector<LabCase> lab_cases(std::uint64_t seed);

}  // namespace weft::bench
