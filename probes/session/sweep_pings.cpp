#include "probes/session/sweep_pings.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "probes/mad/mad_probe.hpp"
#include "probes/session/ping_stage.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

// Large probes are what a 4096-byte RoCE MTU makes; the sizes between say where a black hole begins (the
// usual path MTUs 1024, 1500 and 2048, and the headers of IP, UDP, BTH and DETH).
constexpr Bytes kLarge(4160);
constexpr std::array kBetween{Bytes(576), Bytes(1500), Bytes(2112)};

// Shares of the budget.
constexpr double kMadShare = 0.7;  // where all probes are management datagrams
constexpr double kSmallShare = 0.35;
constexpr double kLargeShare = 0.10;
constexpr double kBetweenShare = 0.03;  // each
constexpr double kSettlingShare = 0.12;

constexpr std::uint32_t kMinPackets = 10;
constexpr std::uint32_t kMaxPackets = 20'000;
constexpr std::uint32_t kPacketsOverDeadWays = 50;  // all of them lost: more would say no more
constexpr std::size_t kMaxSized = 64;               // ways on which sizes are tried
constexpr std::size_t kPingsPerHypothesis = 8;
constexpr double kFirstLook = 5;  // seconds of probes, after which a sweep that is cut short knows something

/// Packets each ping may send so that the busiest NIC is done in `seconds`.
std::uint32_t packets_for(const std::vector<plan::PlannedPing>& pings, double packets_per_second,
                          double seconds) {
  std::map<PortId, std::uint64_t> per_nic;
  std::uint64_t most = 1;
  for (const plan::PlannedPing& ping : pings) most = std::max(most, ++per_nic[ping.pair.src]);
  const double packets = packets_per_second * seconds / static_cast<double>(most);
  return static_cast<std::uint32_t>(std::clamp(packets, double{kMinPackets}, double{kMaxPackets}));
}

/// The shares of `seconds` in which pings of so many packets each are sent: of kFirstLook, and then each as
/// long as all before it. A sweep that is cut short knows what came of those that are over. So few packets
/// that a part would tell nothing stay together, and so does what takes no longer than the default's.
std::vector<double> parts_of(double seconds, double packets) {
  if (seconds < 3 * kFirstLook) return {1};
  std::vector<double> parts;
  double done = 0;
  for (double part = kFirstLook; seconds - done - part >= kFirstLook; part = done) {
    if (packets * part < kMinPackets * seconds) break;
    parts.push_back(part / seconds);
    done += part;
  }
  parts.push_back(1 - done / seconds);
  return parts;
}

}  // namespace

std::vector<std::unique_ptr<Stage>> SweepPings::probe() {
  results_->learner.suppose_silent();
  results_->learner.narrow_ended();
  results_->learner.sort();
  pings_ = plan_pings(results_->learner);
  const double small_per_second = in_->options.probes_per_second;
  const bool mads = in_->options.mads_alone;
  const double share = mads ? kMadShare : kSmallShare;
  const double seconds = in_->options.budget_seconds(share);
  std::vector<std::unique_ptr<Stage>> stages;
  for (const double part : parts_of(seconds, packets_for(pings_, small_per_second, seconds)))
    stages.push_back(stage(pings_, mads ? mad::kMadProbeSize : kSmallProbe, small_per_second, share * part));
  if (mads) return stages;
  auto alive = pings_;
  std::erase_if(alive, [](const plan::PlannedPing& ping) { return !ping.reached; });
  stages.push_back(stage(alive, kLarge, large_probes_per_second(), kLargeShare));
  return stages;
}

std::vector<std::unique_ptr<Stage>> SweepPings::size() {
  std::set<PathSetId> passed;
  std::set<PathSetId> swallowed;
  for (const Observation& seen : results_->observations.probes) {
    if (seen.sent == 0) continue;
    if (seen.size == kSmallProbe && seen.lost < seen.sent) passed.insert(seen.path);
    if (seen.size == kLarge && seen.lost == seen.sent && seen.sent >= kMinPackets)
      swallowed.insert(seen.path);
  }
  std::vector<plan::PlannedPing> pings;
  for (const plan::PlannedPing& ping : pings_)
    if (pings.size() < kMaxSized && ping.reached && passed.contains(ping.path) &&
        swallowed.contains(ping.path))
      pings.push_back(ping);
  std::vector<std::unique_ptr<Stage>> stages;
  if (pings.empty()) return stages;
  for (const Bytes size : kBetween)
    stages.push_back(stage(pings, size, large_probes_per_second(), kBetweenShare));
  // Once more: an outage that swallowed all of them is no limit.
  stages.push_back(stage(pings, kLarge, large_probes_per_second(), kBetweenShare));
  return stages;
}

std::vector<std::unique_ptr<Stage>> SweepPings::settle(const std::vector<diagnosis::Hypothesis>& hypotheses) {
  std::map<Bytes, std::vector<CountedPing>> pings;  // by size
  const double affordable = in_->options.budget_seconds(kSettlingShare) * in_->options.probes_per_second;
  for (const diagnosis::Hypothesis& hypothesis : hypotheses)
    for (const ChannelId channel : hypothesis.channels) {
      if (hypothesis.packets == 0) continue;
      const auto chosen =
          pings_over(results_->learner.table(), pings_, channel, hypothesis.channels, kPingsPerHypothesis);
      for (const plan::PlannedPing& ping : chosen) {
        const double packets = std::min(
            static_cast<double>(hypothesis.packets) / static_cast<double>(chosen.size()), affordable);
        pings[in_->options.mads_alone      ? mad::kMadProbeSize
              : hypothesis.size == Bytes() ? kSmallProbe
                                           : hypothesis.size]
            .push_back({ping, static_cast<std::uint32_t>(packets) + 1});
      }
    }
  std::vector<std::unique_ptr<Stage>> stages;
  for (auto& [size, counted] : pings) {
    const double speed = size > kSmallProbe && !in_->options.mads_alone ? large_probes_per_second()
                                                                        : in_->options.probes_per_second;
    stages.push_back(std::make_unique<PingStage>(*in_, *results_, std::move(counted), size, speed));
  }
  return stages;
}

std::unique_ptr<Stage> SweepPings::stage(const std::vector<plan::PlannedPing>& pings, Bytes size,
                                         double packets_per_second, double share) const {
  const auto packets = packets_for(pings, packets_per_second, in_->options.budget_seconds(share));
  std::vector<CountedPing> counted;
  for (const plan::PlannedPing& ping : pings)
    counted.push_back({ping, ping.reached ? packets : std::min(packets, kPacketsOverDeadWays)});
  return std::make_unique<PingStage>(*in_, *results_, std::move(counted), size, packets_per_second);
}

double SweepPings::large_probes_per_second() const {
  Bandwidth slowest = Bandwidth::gbit(1'000'000);
  for (const Link& link : in_->fabric.links()) slowest = std::min(slowest, link.rate);
  const double affordable = slowest.bits_per_second() * in_->options.large_probe_share.value() /
                            (static_cast<double>(kLarge.count()) * 8);
  return std::min(affordable, in_->options.probes_per_second);
}

}  // namespace weft::session
