// What else explains late round trips where all of a length cross a fault: then their base may be lower than
// the fastest of them says, and other channels late. For small fabrics; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probes/diagnosis/delay/delay_causes.hpp"

namespace weft::diagnosis {

/// An explanation with bases of its own that fits as well as the one found.
struct OtherBases {
  std::vector<double> bases;       // by kind of row
  std::vector<DelayCause> causes;  // at work
  bool is_likelier = false;
};

/// The likeliest one of which hosts' cables are a part, if it is about as likely as what was found. `seen`:
/// by channel, round trips that cross it.
std::optional<OtherBases> explained_from_hosts(const Fabric& fabric, const DelayRows& rows,
                                               const std::vector<std::uint32_t>& seen,
                                               const std::vector<DelayCause*>& found);

/// To the options of each cause of `found` that is none of `others`, those of `others` that are none of
/// `found`: all of these at once, where they are several.
void add_instead(const std::vector<DelayCause>& others, const std::vector<DelayCause*>& found);

}  // namespace weft::diagnosis
