#include "balancer/blacklist/admission.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::blacklist {
namespace {

/// One after the other, as long as there is room.
Admission admit_by_caps(std::span<const Candidate> candidates, Capacity capacity, std::size_t drained_lately,
                        std::size_t hosts_allowed, const std::optional<std::string>& breaker) {
  Admission admission;
  for (const Candidate& candidate : candidates) {
    auto& held_back = admission.held_back.emplace_back();
    const std::size_t more = capacity.hosts_in_use(candidate.effect);
    const std::size_t drained = drained_lately + admission.drained + more;
    if (breaker && candidate.is_new && !candidate.by_hand) {
      held_back = breaker;
    } else if (candidate.is_new && more > 0 && drained > hosts_allowed) {
      held_back = fmt::format("hosts drained within an hour: {} would be, {} may be", drained, hosts_allowed);
    } else {
      held_back = capacity.broken_by(candidate.effect);
    }
    if (held_back) continue;
    capacity.take_out(candidate.effect);
    if (candidate.is_new) admission.drained += more;
  }
  return admission;
}

bool is_counted(const Candidate& candidate) {
  return candidate.is_fresh && candidate.is_new && !candidate.by_hand;
}

}  // namespace

Admission admit(std::span<const Candidate> candidates, const Capacity& capacity, std::size_t drained_lately,
                std::size_t hosts_allowed, const std::optional<std::string>& breaker, bool may_trip) {
  Admission admission = admit_by_caps(candidates, capacity, drained_lately, hosts_allowed, breaker);
  admission.breaker = breaker;
  const auto fresh = std::ranges::count_if(candidates, is_counted);
  std::size_t too_many = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    too_many += is_counted(candidates[i]) && admission.held_back[i] ? 1 : 0;
  if (breaker || !may_trip || fresh < 2 || too_many == 0) return admission;
  const auto tripped = fmt::format("{} entries at once, and the caps let {} through", fresh,
                                   static_cast<std::size_t>(fresh) - too_many);
  admission = admit_by_caps(candidates, capacity, drained_lately, hosts_allowed, tripped);
  admission.breaker = tripped;
  return admission;
}

}  // namespace weft::blacklist
