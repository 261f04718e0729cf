// Admission: which of the entries that could become active may, by the caps, and when the breaker trips.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "balancer/blacklist/capacity.hpp"

namespace weft::blacklist {

struct Candidate {
  Effect effect;
  bool is_new = true;    // not back from probation
  bool by_hand = false;  // an operator asks for it: the breaker does not hold it
  bool is_fresh = true;  // its evidence came to suffice in this step
};

struct Admission {
  std::vector<std::optional<std::string>> held_back;  // by candidate: why; absent: it may become active
  std::size_t drained = 0;                            // hosts, newly
  std::optional<std::string> breaker;                 // holds from now on
};

/// `candidates` in the order in which they are admitted. `capacity`: what is out of use before.
/// `drained_lately`: hosts newly drained within the hour; `hosts_allowed` of them may be. `breaker`: it holds
/// already; `may_trip`: more fresh ones at once than the caps let through are likelier our error, and trip
/// it.
Admission admit(std::span<const Candidate> candidates, const Capacity& capacity, std::size_t drained_lately,
                std::size_t hosts_allowed, const std::optional<std::string>& breaker, bool may_trip);

}  // namespace weft::blacklist
