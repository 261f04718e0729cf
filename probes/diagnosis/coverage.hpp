// What of a fabric the observations of a run show: one definition for all commands.
#pragma once

#include <optional>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"
#include "topology/findings/diagnosis.hpp"
#include "topology/findings/observation.hpp"

namespace weft {
class Fabric;
}

namespace weft::diagnosis {

/// The smallest faults that a run is asked to show. Absent: what its packets allow, but never less than a
/// loss that is `failed` (5 %).
struct Detect {
  std::optional<Fraction> loss = std::nullopt;
  std::optional<Fraction> rate = std::nullopt;  // missing share of a link's rate
  friend bool operator==(const Detect&, const Detect&) = default;
};

/// The share of packets that paths lose with no fault on them, as far as a run tells.
double background_of(const Observations& observations, const AccountLine& lost);

/// The loss of a channel that so many packets over it show with probability .99, where their paths lose the
/// share `background` anyway: so many more are lost than that as the odds of a fault take (7 nats by
/// Chernoff's bound), and three at the least (P(X >= 3) = .99 of a Poisson variable of mean 8.41).
double loss_shown(double packets, double background);
/// Packets over a channel that show a loss of this share so.
double packets_to_show(double loss, double background);

/// The packets that crossed each channel; of a path known only as a set, each counts with its share.
std::vector<double> packets_over(const Fabric& fabric, const Observations& observations);

/// `probed`: channels crossed by packets enough for `detect`. `thin`: crossed, by fewer. `missing`: neither a
/// probe nor a flow crossed them. `complete` when none is thin or missing.
Coverage coverage_of(const Fabric& fabric, const Observations& observations, double background,
                     const Detect& detect = {});

/// Notes as `masked` the channels of which packets enough are known, but too few that came through without
/// meeting a channel or host of a finding, of an ambiguous class or of a set. Those few alone tell of a
/// channel that is not at fault: the loss that the run shows is what they show.
void note_masked(const Fabric& fabric, const Observations& observations, Diagnosis& diagnosis);

/// The coverage of a diagnosis, held against what was asked; what could not be judged of rates, and beside
/// findings, stays.
void cover(const Fabric& fabric, const Observations& observations, const Detect& asked, Diagnosis& diagnosis);

/// Of a run that loaded the fabric, or was to, once the scope is known: notes as `unloaded` the channels
/// asked about that probes crossed and of whose rate no flow tells, as none that its sender kept up surely
/// crossed them.
void note_unloaded(const Fabric& fabric, const Observations& observations, Coverage& covered);

/// Once hosts that took no part, scope and ends are known: whether all was done that was asked, and in
/// `fell_short` what was not.
void conclude(const Fabric& fabric, const Observations& observations, const Detect& asked,
              Diagnosis& diagnosis);

/// The NICs at the ends of paths observed, ids ascending.
std::vector<PortId> nics_seen(const Fabric& fabric, const Observations& observations);

/// Leaves out what is not in scope (by channel).
void limit_to(Coverage& covered, const std::vector<bool>& scope);

/// The loss that packets over the channel least crossed would have shown, of channels that were; absent when
/// no packet was sent.
std::optional<double> least_loss_shown(const std::vector<double>& packets, double background);

}  // namespace weft::diagnosis
