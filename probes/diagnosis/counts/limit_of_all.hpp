// limit_of_all: whether every path of a fabric harms all packets of some size and more.
#pragma once

#include <optional>

#include "probes/diagnosis/counts/count_problem.hpp"

namespace weft::diagnosis {

struct LimitOfAll {
  Bytes from;                // the least size of which no packet passed unharmed
  Bytes below;               // the size sent below it
  std::uint64_t harmed = 0;  // packets
};

/// None where some such packet passed, where one channel or node is crossed by all of them, or where few
/// hosts took part: what it is can be told then, or stands in a set. Nothing is told of a fabric in which no
/// packet of any size passed.
std::optional<LimitOfAll> limit_of_all(const Fabric& fabric, const Observations& observations,
                                       Counted counted);

}  // namespace weft::diagnosis
