// Fits: what the rows of a sweep say of each kind of fault, by fits of the benchmark's own. A fit answers one
// question: how well do the rows go with faults on these channels alone, each of the size that suits them
// best?
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tests/bench/verdicts/additive_fit.hpp"
#include "topology/findings/observation.hpp"
#include "topology/model/fabric.hpp"

namespace weft::bench {

using Channels = std::vector<bool>;  // by channel id

class Fit {
 public:
  virtual ~Fit() = default;
  /// Log-likelihood, up to a constant, of the rows with faults of this kind on the `open` channels alone.
  virtual double nats(const Channels& open) = 0;
};

/// Loss and down: one-way counts, additive hazards, and what is known of a channel besides (a channel that no
/// traced flow took).
class LossFit final : public Fit {
 public:
  /// `background`: healthy channels lose from a tenth of it up to it; none: next to nothing.
  LossFit(const Fabric& fabric, const Observations& seen, Fraction background);
  double nats(const Channels& open) override;
  /// Share of packets that a path lets through, in the best fit of all channels.
  double survival(const PathTable& paths, PathSetId set);

 private:
  AdditiveFit fit_;
  std::vector<double> all_;       // best amounts with every channel open
  std::vector<double> evidence_;  // by channel, nats that are lost where it is not at fault
};

/// Delay: median round trips, added one way, over a base that all round trips of the same lengths and packet
/// size share. What all of those share is in the base, so no channel answers for it.
class RoundTripFit final : public Fit {
 public:
  RoundTripFit(const Fabric& fabric, const Observations& seen);
  double nats(const Channels& open) override;
  bool has_rows() const { return !fit_.rows().empty(); }

 private:
  std::size_t channels_;
  std::size_t bases_ = 0;
  AdditiveFit fit_;
  std::vector<double> all_;
};

/// Rate, by elimination: a channel passes at least the most that it was seen to carry. A flow that was held
/// back needs a channel which carried no more in any other round.
class RateFit final : public Fit {
 public:
  RateFit(const Fabric& fabric, const Observations& seen, LossFit& losses);
  double nats(const Channels& open) override;

 private:
  struct Flow {
    std::vector<std::uint32_t> channels;
    std::uint32_t round = 0;
    double offered = 0;  // bits per second
    double arrived = 0;  // the same, without what was lost at random
  };
  std::vector<Flow> flows_;
  std::vector<double> rate_;                              // by channel, as designed
  std::vector<double> most_;                              // by channel, carried in one round
  std::vector<std::map<std::uint32_t, double>> carried_;  // by channel and round
};

}  // namespace weft::bench
