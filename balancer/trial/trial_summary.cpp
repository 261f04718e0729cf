#include "balancer/trial/trial_summary.hpp"

#include <algorithm>
#include <cmath>

#include "topology/model/fabric.hpp"

namespace weft::trial {
namespace {

/// What a trial may differ by: the fluid model knows no start, no queues and no other programs.
constexpr double kSameTime = 0.15;
/// Counters hold what was planned; a packet sent again by a busy machine is no error.
constexpr double kSameBytes = 0.01;
constexpr double kInForce = 1.0;  // seconds from a diagnosis

/// Of two middle values their mean, unlike weft::median: trials are few, and the upper would count as slow.
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

TrialTimes times_of(const std::vector<TrialSending>& sendings, bool steered) {
  TrialTimes times;
  std::vector<double> measured, predicted, by_packets;
  for (const TrialSending& sending : sendings) {
    if (sending.steered != steered) continue;
    measured.push_back(sending.measured);
    predicted.push_back(sending.predicted);
    by_packets.push_back(sending.by_packets);
    times.packets = sending.wanted;
    times.sent_again += sending.sent - std::min(sending.sent, sending.wanted);
    times.unfinished += sending.unfinished;
  }
  times.measured = median(measured);
  times.predicted = median(predicted);
  times.by_packets = median(by_packets);
  return times;
}

/// How far the counter is from the plan, as a share of the plan (of one packet where none was planned).
double distance(const ChannelBytes& bytes, double packet) {
  return std::abs(bytes.counted - bytes.planned) / std::max(bytes.planned, packet);
}

bool far(double measured, double predicted) {
  return !(std::abs(measured - predicted) <= kSameTime * predicted);
}

/// Of all channels the one farthest from its plan, over the steered ones of `sendings` together.
std::optional<ChannelBytes> farthest(const Fabric& fabric, std::span<const TrialSending> sendings,
                                     double packet) {
  std::optional<ChannelBytes> worst;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
    ChannelBytes sum{ChannelId(c)};
    for (const TrialSending& sending : sendings) {
      if (!sending.steered) continue;
      sum.planned += sending.planned[c];
      sum.counted += sending.counted[c];
    }
    if (!worst || distance(sum, packet) > distance(*worst, packet)) worst = sum;
  }
  return worst;
}

void judge_bytes(const Fabric& fabric, std::span<const TrialSending> sendings, double packet,
                 std::vector<std::string>& complaints) {
  const auto worst = farthest(fabric, sendings, packet);
  if (worst && distance(*worst, packet) > kSameBytes)
    complaints.push_back(fmt::format("{} carried {:.0f} bytes, not {:.0f}", fabric.name_of(worst->channel),
                                     worst->counted, worst->planned));
}

void judge_failure(const Fabric& fabric, LinkId link, const TrialAfterFailure& after,
                   std::vector<std::string>& complaints) {
  const std::string name = fabric.name_of(link);
  if (std::ranges::find(after.blamed, link) == after.blamed.end())
    complaints.push_back(fmt::format("the diagnosis does not name {}", name));
  if (after.again.error) complaints.push_back(*after.again.error);
  if (after.again.unfinished > 0)
    complaints.push_back(fmt::format("{} QPs unfinished after the change", after.again.unfinished));
  if (bytes_over(after.again, link) > 0)
    complaints.push_back(fmt::format("{:.0f} bytes crossed {}", bytes_over(after.again, link), name));
  if (after.unacknowledged > 0)
    complaints.push_back(fmt::format("{} of {} QPs were never acknowledged by their new labels",
                                     after.unacknowledged, after.again.qps));
  if (after.in_force && *after.in_force > kInForce)
    complaints.push_back(fmt::format("in force {:.2f} s after the diagnosis", *after.in_force));
}

}  // namespace

double bytes_over(const TrialSending& sending, LinkId link) {
  return sending.counted[Fabric::a_to_b(link).value()] + sending.counted[Fabric::b_to_a(link).value()];
}

TrialSummary summarize(const Fabric& fabric, const TrialOptions& options, const BalanceTrial& trial) {
  TrialSummary summary{.steered = times_of(trial.sendings(), true),
                       .hashed = times_of(trial.sendings(), false)};
  if (summary.steered.measured > 0)
    summary.gain_measured = summary.hashed.measured / summary.steered.measured;
  if (summary.steered.predicted > 0)
    summary.gain_predicted = summary.hashed.predicted / summary.steered.predicted;
  const auto packet = static_cast<double>(options.frames.data.count());
  summary.worst = farthest(fabric, trial.sendings(), packet);
  if (!trial.sendings().empty())
    summary.channels = static_cast<std::size_t>(
        std::ranges::count_if(trial.sendings()[0].planned, [](double bytes) { return bytes > 0; }));
  auto& complaints = summary.complaints;
  if (summary.steered.unfinished > 0)
    complaints.push_back(fmt::format("{} QPs with assigned labels unfinished", summary.steered.unfinished));
  for (const TrialSending& sending : trial.sendings())
    if (sending.error) complaints.push_back(*sending.error);
  judge_bytes(fabric, trial.sendings(), packet, complaints);
  if (far(summary.steered.measured, summary.steered.predicted))
    complaints.push_back("assigned flows did not take the time predicted");
  if (far(summary.gain_measured, summary.gain_predicted))
    complaints.push_back("the gain over random labels is not the one predicted");
  if (const auto& after = trial.after_failure()) {
    judge_failure(fabric, *options.fail, *after, complaints);
    judge_bytes(fabric, {&after->again, 1}, packet, complaints);
  }
  return summary;
}

}  // namespace weft::trial
