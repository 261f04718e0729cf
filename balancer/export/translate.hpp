// Translation of a blacklist into what a target can express. Pure: ledger and fabric in, demands out; what
// has to change for them, plan.hpp says.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "balancer/blacklist/capacity.hpp"
#include "balancer/export/target.hpp"

namespace weft::exports {

/// An entry wants this to stand.
struct Demand {
  EntryId entry{};
  std::string object, set;
  blacklist::Effect effect{};  // what it takes out of use
  friend bool operator==(const Demand&, const Demand&) = default;
};

struct Translation {
  std::vector<Demand> demands;
  std::vector<std::string> advice;  // what the target cannot express, for people
};

struct SlurmOptions {
  blacklist::NicAction nic_action = blacklist::NicAction::host;
  blacklist::Caps caps{};
};

/// For a scheduler of nodes. A host, a leaf (its hosts), a NIC and its cable (its host, or that rail) are
/// drained; of links between switches it hears nothing, but where a leaf falls below its floor there is
/// advice.
Translation translate_for_slurm(const blacklist::Ledger& ledger, const Fabric& fabric,
                                const SlurmOptions& options);

}  // namespace weft::exports
