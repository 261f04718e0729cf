#include "topology/findings/nic_counters.hpp"

#include <limits>

namespace weft {

std::optional<std::uint64_t> NicCounterSteps::grew(const std::string& counter) const {
  const auto found = steps.find(counter);
  if (found == steps.end()) return std::nullopt;
  const auto* advanced = std::get_if<Advanced>(&found->second);
  return advanced ? std::optional(advanced->by) : std::nullopt;
}

std::optional<NicCounterSteps> steps_between(PortId nic, const NicCounters& before,
                                             const NicCounters& after) {
  if (before.device != after.device || before.port != after.port || after.at <= before.at)
    return std::nullopt;
  NicCounterSteps all{nic, after.device, after.port, after.at - before.at, {}};
  for (const auto& [name, value] : after.values)
    if (const auto then = before.values.find(name); then != before.values.end())
      all.steps.emplace(name, counter_step(then->second, value, std::numeric_limits<std::uint64_t>::max()));
  return all;
}

}  // namespace weft
