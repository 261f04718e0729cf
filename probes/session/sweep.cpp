#include "probes/session/sweep.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "probes/hostcheck/nic_counter_evidence.hpp"
#include "probes/pathmap/dark_channels.hpp"
#include "probes/plan/pattern_plan.hpp"
#include "probes/session/counter_stage.hpp"
#include "probes/session/load_stage.hpp"
#include "probes/session/map_stage.hpp"
#include "probes/session/ping_stage.hpp"
#include "probes/wire/mad_probe.hpp"

namespace weft {
namespace {

// Small probes carry no payload to speak of; large ones are what a 4096-byte RoCE MTU makes; the sizes
// between say where a black hole begins (the usual path MTUs 1024, 1500 and 2048, and the headers of IP, UDP,
// BTH and DETH).
constexpr Bytes kSmall(128);
constexpr Bytes kLarge(4160);
constexpr std::array kBetween{Bytes(576), Bytes(1500), Bytes(2112)};

// Shares of the budget. The load rounds take what is left.
constexpr double kMadShare = 0.7;  // where all probes are management datagrams
constexpr double kSmallShare = 0.35;
constexpr double kLargeShare = 0.10;
constexpr double kBetweenShare = 0.03;  // each
constexpr double kLoadShare = 0.30;
constexpr double kSettlingShare = 0.12;

constexpr std::uint32_t kFewestPackets = 10;
constexpr std::uint32_t kMostPackets = 20'000;
constexpr std::uint32_t kPacketsOverDeadWays = 50;  // all of them lost: more would say no more
constexpr std::size_t kMostSized = 64;              // ways on which sizes are tried
constexpr std::uint32_t kTimesLoaded = 2;
constexpr std::size_t kMostDoubts = 16;
constexpr std::size_t kPingsPerDoubt = 8;
// Of what a flow has a right to. Not all of it: headers would overfill a link that a healthy path crosses,
// and packets that leave one full link at its own pace meet the next full one always at the same moment of
// its turn, where one flow of several may win them all.
constexpr double kFullLoad = 0.95;
constexpr double kLightLoad = 0.25;
constexpr int kMostLoadings = 3;   // of a channel whose flows their senders held back
constexpr int kMostSettlings = 3;  // load rounds may fall to stalled senders; pings need no second try

/// Offers that set a slow channel, which passes all that is below its ceiling and never more, apart from one
/// that is shared: just below what it passed, and up to twice a link.
Press press_for(double passes) {
  const double below = std::clamp(0.85 * passes, 0.1, 0.85);
  return {.alone = {below, 1.0, std::midpoint(below, 1.0)}, .together = {1.0, 0.75, 0.5}};
}

}  // namespace

Sweep::Sweep(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options, RunId run)
    : state_(fabric, addresses, options) {
  state_.run = run;
  if (options.nic_counters) stages_.push_back(std::make_unique<CounterStage>(state_, counters_before_));
  stages_.push_back(std::make_unique<MapStage>(state_));
}

Sweep::~Sweep() = default;

std::vector<WorkItem> Sweep::next_wave() {
  while (part_ != Part::done) {
    while (!stages_.empty()) {
      auto wave = stages_.front()->next_wave();
      if (!wave.empty()) return wave;
      stages_.pop_front();
    }
    begin_next_part();
  }
  return {};
}

void Sweep::take(const WorkItem& item, const TaskAnswer* answer) {
  if (!stages_.empty()) stages_.front()->take(item, answer);
}

void Sweep::meet(const std::vector<JoinedHost>& hosts) {
  for (HostEvidence& evidence : check_hosts(state_.fabric, hosts, expectations_)) blame(std::move(evidence));
}

std::string_view Sweep::doing() const { return stages_.empty() ? "diagnosing" : stages_.front()->name(); }

void Sweep::skip_mapping() {
  stages_.clear();
  paths_known_ = true;
}

void Sweep::begin_next_part() {
  switch (part_) {
    case Part::mapping:
      part_ = Part::probing;
      if (!paths_known_) note_dark_channels();
      plan_probing();
      break;
    case Part::probing:
      part_ = Part::sizing;
      plan_sizing();
      break;
    case Part::sizing:
      part_ = Part::loading;
      plan_loading();
      break;
    case Part::loading:
      if (load_again()) break;
      part_ = Part::counting;
      if (state_.options.nic_counters)
        stages_.push_back(std::make_unique<CounterStage>(state_, counters_after_));
      break;
    case Part::counting:
      part_ = Part::settling;
      note_counters();
      note_slow_nics();
      plan_settling();
      break;
    case Part::settling:
      if (settlings_ < kMostSettlings) plan_settling();
      if (stages_.empty()) part_ = Part::done;
      break;
    case Part::done:
      break;
  }
}

double Sweep::budget_seconds(double share) const {
  return std::chrono::duration<double>(state_.options.budget).count() * share;
}

double Sweep::large_probes_per_second() const {
  Bandwidth slowest = Bandwidth::gbit(1'000'000);
  for (const Link& link : state_.fabric.links()) slowest = std::min(slowest, link.rate);
  const double affordable = slowest.bits_per_second() * state_.options.large_probe_share.value() /
                            (static_cast<double>(kLarge.count()) * 8);
  return std::min(affordable, state_.options.probes_per_second);
}

/// Packets each ping may send so that the busiest NIC is done in `seconds`.
std::uint32_t Sweep::packets_for(const std::vector<PlannedPing>& pings, double packets_per_second,
                                 double seconds) {
  std::map<PortId, std::uint64_t> per_nic;
  std::uint64_t most = 1;
  for (const PlannedPing& ping : pings) most = std::max(most, ++per_nic[ping.pair.src]);
  const double packets = packets_per_second * seconds / static_cast<double>(most);
  return static_cast<std::uint32_t>(std::clamp(packets, double{kFewestPackets}, double{kMostPackets}));
}

void Sweep::add_pings(const std::vector<PlannedPing>& pings, Bytes size, double packets_per_second,
                      double share) {
  const auto packets = packets_for(pings, packets_per_second, budget_seconds(share));
  std::vector<CountedPing> counted;
  for (const PlannedPing& ping : pings)
    counted.push_back({ping, ping.reached ? packets : std::min(packets, kPacketsOverDeadWays)});
  stages_.push_back(std::make_unique<PingStage>(state_, std::move(counted), size, packets_per_second));
}

void Sweep::plan_probing() {
  pings_ = plan_pings(state_.learner);
  if (paths_known_) return add_pings(pings_, kMadProbeSize, state_.options.probes_per_second, kMadShare);
  add_pings(pings_, kSmall, state_.options.probes_per_second, kSmallShare);
  auto alive = pings_;
  std::erase_if(alive, [](const PlannedPing& ping) { return !ping.reached; });
  add_pings(alive, kLarge, large_probes_per_second(), kLargeShare);
}

/// Where large packets all vanished on a way that small ones pass, the sizes between say where the black hole
/// begins.
void Sweep::plan_sizing() {
  std::set<PathSetId> passed;
  std::set<PathSetId> swallowed;
  for (const Observation& seen : state_.observations.probes) {
    if (seen.sent == 0) continue;
    if (seen.size == kSmall && seen.lost < seen.sent) passed.insert(seen.path);
    if (seen.size == kLarge && seen.lost == seen.sent && seen.sent >= kFewestPackets)
      swallowed.insert(seen.path);
  }
  std::vector<PlannedPing> pings;
  for (const PlannedPing& ping : pings_)
    if (pings.size() < kMostSized && ping.reached && passed.contains(ping.path) &&
        swallowed.contains(ping.path))
      pings.push_back(ping);
  if (pings.empty()) return;
  for (const Bytes size : kBetween) add_pings(pings, size, large_probes_per_second(), kBetweenShare);
}

void Sweep::plan_loading() {
  if (state_.options.load == LoadLevel::none || paths_known_) return;
  const double seconds_a_round =
      std::chrono::duration<double>(state_.options.load_round + state_.options.drain).count();
  const auto most = static_cast<std::size_t>(std::max(2.0, budget_seconds(kLoadShare) / seconds_a_round));
  to_load_ = state_.options.pattern == LoadPattern::links
                 ? plan_load_rounds(state_.fabric, state_.learner, kTimesLoaded, most, state_.options.seed)
                 // Who asks for a pattern wants every receiver, or every pair, of a small fabric, whatever
                 // the budget.
                 : plan_pattern_rounds(state_.fabric, state_.learner, state_.options.pattern,
                                       std::max(most, kMostPatternNics), state_.options.seed);
  add_load(to_load_, true);
}

/// Flows that their senders held back tell nothing of the channels they cross. Those of a pattern belong
/// together and are not repeated one by one. False: nothing is to be loaded again.
bool Sweep::load_again() {
  for (LoadRound& round : to_load_)
    std::erase_if(round, [this](const PlannedFlow& flow) {
      return !state_.takes_part(flow.pair.src) || !state_.takes_part(flow.pair.dst);
    });
  const PathTable& table = state_.learner.table();
  unloaded_ = channels_not_loaded(table, to_load_, state_.observations.loads);
  if (unloaded_.empty() || state_.options.pattern != LoadPattern::links || ++loadings_ == kMostLoadings)
    return false;
  add_load(merge_rounds(table, rounds_over(table, to_load_, unloaded_)), true);
  return true;
}

void Sweep::add_load(std::vector<LoadRound> rounds, bool keeps_results) {
  if (rounds.empty()) return;
  const double share = state_.options.load == LoadLevel::light ? kLightLoad : kFullLoad;
  const auto first = std::exchange(rounds_run_, rounds_run_ + static_cast<std::uint32_t>(rounds.size()));
  stages_.push_back(std::make_unique<LoadStage>(state_, std::move(rounds), first, share, keeps_results));
}

void Sweep::plan_settling() {
  auto doubts = assess(state_.fabric, state_.observations).doubts;
  if (doubts.size() > kMostDoubts) doubts.resize(kMostDoubts);
  if (settlings_++ == 0) ping_doubts(doubts);
  press_doubts(doubts);
}

void Sweep::ping_doubts(const std::vector<Doubt>& doubts) {
  std::map<Bytes, std::vector<CountedPing>> pings;  // by size
  const double affordable = budget_seconds(kSettlingShare) * state_.options.probes_per_second;
  for (const Doubt& doubt : doubts)
    for (const ChannelId channel : doubt.channels) {
      if (doubt.packets == 0) continue;
      const auto chosen = pings_over(state_.learner.table(), pings_, channel, doubt.channels, kPingsPerDoubt);
      for (const PlannedPing& ping : chosen) {
        const double packets =
            std::min(static_cast<double>(doubt.packets) / static_cast<double>(chosen.size()), affordable);
        pings[paths_known_            ? kMadProbeSize
              : doubt.size == Bytes() ? kSmall
                                      : doubt.size]
            .push_back({ping, static_cast<std::uint32_t>(packets) + 1});
      }
    }
  for (auto& [size, counted] : pings) {
    const double speed =
        size > kSmall && !paths_known_ ? large_probes_per_second() : state_.options.probes_per_second;
    stages_.push_back(std::make_unique<PingStage>(state_, std::move(counted), size, speed));
  }
}

void Sweep::press_doubts(const std::vector<Doubt>& doubts) {
  if (state_.options.load == LoadLevel::none || paths_known_) return;
  std::vector<LoadRound> rounds;
  for (const Doubt& doubt : doubts)
    for (const ChannelId channel : doubt.channels) {
      if (doubt.packets > 0) continue;
      auto pressing = plan_press_rounds(state_.fabric, state_.learner, channel, press_for(doubt.passes));
      std::ranges::move(pressing, std::back_inserter(rounds));
    }
  add_load(merge_rounds(state_.learner.table(), rounds), false);
}

/// Who held a pattern back.
void Sweep::note_slow_nics() {
  if (state_.options.pattern == LoadPattern::links) return;
  for (const SlowNic& slow : slow_nics(state_.flows.flows))
    blame({state_.fabric.port(slow.nic).node, slow.nic, Verdict::degraded, Cause::rate,
           fmt::format("slow in {}: {} of its {} flows got less than {:.0f} % of what is usual",
                       slow.receives ? "receiving" : "sending", slow.slow, slow.flows, kSlowFlow * 100)});
}

/// A channel that none of many flows took, though each could have: its near end does not use it.
void Sweep::note_dark_channels() {
  const auto seen = sights(state_.fabric, state_.learner);
  const double sure =
      std::log((1 - state_.options.confidence.value()) / static_cast<double>(state_.fabric.channel_count()));
  for (std::uint32_t c = 0; c < seen.size(); ++c) {
    if (seen[c].seen > 0 || seen[c].log_missed > sure) continue;
    state_.observations.channels.push_back(
        {ChannelId(c), Cause::down, -seen[c].log_missed,
         fmt::format("none of {} traced flows took it, though each could have", seen[c].chances)});
  }
}

void Sweep::note_counters() {
  for (const auto& [nic, after] : counters_after_)
    if (const auto before = counters_before_.find(nic); before != counters_before_.end())
      if (auto steps = steps_between(nic, before->second, after)) nic_counters_.push_back(std::move(*steps));
  auto evidence = nic_counter_evidence(state_.fabric, nic_counters_);
  for (ChannelEvidence& sign : evidence.channels) note(std::move(sign));
  for (HostEvidence& sign : evidence.hosts) blame(std::move(sign));
}

Coverage Sweep::coverage() {
  Coverage covered{.channels = state_.fabric.channel_count()};
  std::vector<bool> crossed(state_.fabric.channel_count(), false);
  std::set<PathId> paths;
  for (const Observation& seen : state_.observations.probes)
    for (const auto& ways : {std::optional(seen.path), seen.back}) {
      if (!ways || (seen.sent == 0 && !seen.back)) continue;
      for (const PathId path : state_.learner.table().paths(*ways)) {
        paths.insert(path);
        for (const ChannelId channel : state_.learner.table().channels(path)) crossed[channel.value()] = true;
      }
    }
  const auto left_out = [this](ChannelId channel) {
    return left_out_.contains(state_.fabric.source(channel)) ||
           left_out_.contains(state_.fabric.target(channel));
  };
  for (std::uint32_t c = 0; c < crossed.size(); ++c)
    if (crossed[c])
      ++covered.probed;
    else if (!left_out(ChannelId(c)))
      covered.missing.emplace_back(c);
  covered.paths = paths.size();
  covered.unloaded = unloaded_;
  covered.complete = covered.missing.empty() && covered.unloaded.empty();
  return covered;
}

SweepReport Sweep::finish() {
  SweepReport report{assess(state_.fabric, state_.observations).diagnosis, state_.sent, state_.lost};
  report.diagnosis.coverage = coverage();
  report.diagnosis.verdict = run_verdict(report.diagnosis);
  return report;
}

}  // namespace weft
