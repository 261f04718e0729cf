// Translation of a blacklist into what a target can express. Pure: ledger and fabric in, demands out; what
// has to change for them, plan.hpp says.
#pragma once

#include "balancer/export/kubernetes_words.hpp"

namespace weft::exports {

/// How Slurm keeps jobs off a host: by a drain, or by a reservation, in which whoever mends it may run jobs.
enum class HostMark : std::uint8_t { drain, reservation };

/// For a scheduler of nodes. A host, a leaf (its hosts), a NIC and its cable (its host, or that rail) are
/// drained; of links between switches it hears nothing, but where a leaf falls below its floor there is
/// advice.
Translation translate_for_slurm(const blacklist::Ledger& ledger, const Fabric& fabric,
                                const blacklist::Policy& policy, HostMark mark = HostMark::drain);

/// The same for Kubernetes: a node's taint and condition, or the label of that rail.
Translation translate_for_kubernetes(const blacklist::Ledger& ledger, const Fabric& fabric,
                                     const blacklist::Policy& policy, const KubernetesKeys& keys);

/// For OpenSM: links between switches leave the routes. Hosts and their NICs are a scheduler's.
Translation translate_for_opensm(const blacklist::Ledger& ledger, const Fabric& fabric,
                                 const blacklist::Policy& policy);

/// For UFM: the same, and with NicAction::rail the cables of NICs. Objects are links.
Translation translate_for_ufm(const blacklist::Ledger& ledger, const Fabric& fabric,
                              const blacklist::Policy& policy);

/// For a program of the site, which may do anything: all that effect_of() takes out of use, by its name in
/// the fabric: hosts, NICs (by rail) and links between switches. The mark is that of Slurm's reasons.
Translation translate_for_program(const blacklist::Ledger& ledger, const Fabric& fabric,
                                  const blacklist::Policy& policy);

}  // namespace weft::exports
