// Sensitivity and small faults: what a healthy run says that it would have shown is put in, and must show;
// and no fault hides in the losses that healthy channels have too.
#include <cmath>

#include "tests/bench/verdicts/cases.hpp"
#include "tests/bench/verdicts/pieces.hpp"
#include "topology/findings/rarest_burst.hpp"

namespace weft::bench {
namespace {

constexpr double kMinSmallLoss = 0.001;
constexpr double kMaxSmallLoss = 0.003;
constexpr std::uint32_t kBurst = 100;  // packets

enum class Stated { loss, bursts, delay, rate };

/// What `stated` tells as the smallest fault of a kind, on this channel; absent: it tells none.
std::optional<FaultSpec> smallest_fault(const Fabric& fabric, const Sensitivity& stated, Stated what,
                                        ChannelId channel) {
  FaultSpec fault = fault_on(channel);
  switch (what) {
    case Stated::loss:
      if (stated.loss) fault.loss = Fraction(*stated.loss);
      return stated.loss ? std::optional(fault) : std::nullopt;
    case Stated::bursts:
      if (!stated.loss) return std::nullopt;
      fault.burst = kBurst;
      fault.loss = Fraction(std::min(kBurst / packets_per_burst(*stated.loss), 1.0));
      return fault;
    case Stated::delay:
      fault.delay = stated.delay;
      return stated.delay ? std::optional(fault) : std::nullopt;
    case Stated::rate:
      if (stated.rate) fault.rate = fabric.rate(channel) * (1 - *stated.rate);
      return stated.rate ? std::optional(fault) : std::nullopt;
  }
  return std::nullopt;
}

/// A case with the smallest fault that a run without one says it would have shown. No fault: that run was not
/// healthy, or tells of none.
SweepCase at_the_limit(const SmallFabric& fabric, Random& random, Stated what, bool with_background) {
  SweepCase one{.fabric = &fabric, .seed = random() >> 16};
  if (with_background) one.background = any_background(random);
  const Diagnosis sound = sweep_simulated(one).report.diagnosis;
  if (sound.verdict != Verdict::healthy) return one;
  const ChannelId channel = any_channel(fabric.fabric, random);
  if (const auto fault = smallest_fault(fabric.fabric, sound.sensitivity, what, channel))
    one.faults.push_back(*fault);
  return one;
}

std::optional<bool> is_not_healthy(const SweepCase& one, const Swept& swept) {
  if (one.faults.empty()) return std::nullopt;
  return swept.report.diagnosis.verdict != Verdict::healthy;
}

}  // namespace

void bench_sensitivity(const VerdictOptions& options, Figures& figures) {
  const auto fabrics = fabrics_of(options);
  constexpr std::pair<Stated, const char*> kStated[] = {
      {Stated::loss, "loss"}, {Stated::bursts, "bursts"}, {Stated::delay, "delay"}, {Stated::rate, "rate"}};
  for (const bool with_background : {false, true})
    for (const auto& kind : kStated) {
      const Share share = run_cases(
          options, "sensitivity", options.seeds, fabrics,
          [&](const SmallFabric& fabric, Random& random) {
            return at_the_limit(fabric, random, kind.first, with_background);
          },
          is_not_healthy);
      const auto figure =
          fmt::format("sensitivity_honest_{}{}", kind.second, with_background ? "_background" : "");
      if (share.all > 0) figures.add(figure, share.value(), ".97");
      figures.note(figure + "_cases", static_cast<double>(share.all));
    }
}

namespace {

/// Of losses that the run says it would have shown.
std::optional<bool> is_not_healthy_or_not_shown(const SweepCase& one, const Swept& swept) {
  const auto shown = swept.report.diagnosis.sensitivity.loss;
  if (shown && one.faults.front().loss->value() < *shown) return std::nullopt;
  return is_not_healthy(one, swept);
}

}  // namespace

void bench_small_loss(const VerdictOptions& options, Figures& figures) {
  const auto fabrics = fabrics_of(options);
  const Share share = run_cases(
      options, "small_loss", options.seeds, fabrics,
      [](const SmallFabric& fabric, Random& random) {
        SweepCase one{
            .fabric = &fabric, .background = any_background(random), .load = session::LoadLevel::none};
        one.faults.push_back(fault_on(any_channel(fabric.fabric, random)));
        one.faults.back().loss = Fraction(log_uniform(random, kMinSmallLoss, kMaxSmallLoss));
        return one;
      },
      is_not_healthy_or_not_shown);
  if (share.all > 0)
    figures.add("false_healthy_small_loss", static_cast<double>(share.all - share.good), "0");
}

}  // namespace weft::bench
