#include "probes/engine/sim/sim_ping.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "probes/engine/sim/random_stream.hpp"
#include "probes/engine/sim/sim_schedule.hpp"
#include "probes/engine/sim/sim_world.hpp"
#include "topology/findings/loss_runs.hpp"

namespace weft::sim {
namespace {

/// The two ways of a row; one that does not arrive swallows all.
struct RowWays {
  PortId from;
  PortId to;
  std::span<const ChannelId> there;
  std::span<const ChannelId> back;
  bool arrives = false;
  bool returns = false;
  Bytes size;
  std::uint32_t count = 0;
  TimeWindow window;
  Nanoseconds holds{};     // so long the hosts' sockets hold what nobody reads
  Nanoseconds gives_up{};  // when the sender waits for echoes no more
};

/// In the order in which it may happen to a packet.
enum class Fate : std::uint8_t {
  answered,
  lost_there,
  dropped_there,  // by the host it was for
  corrupt_there,
  lost_back,
  dropped_back,
  corrupt_back,
  too_late  // its echo left when nobody waited any more
};
constexpr std::size_t kFates = 8;

/// The host that it was for answered it.
bool is_echoed(Fate fate) { return fate == Fate::answered || fate >= Fate::lost_back; }

struct RowOutcome {
  std::array<std::uint32_t, kFates> packets{};  // by fate
  std::uint32_t late = 0;                       // echoes that left late
  std::uint32_t late_answered = 0;              // and came in time
  std::optional<std::vector<LossRun>> missing;  // there, up to the last that came; absent: not known
  std::vector<LossRun> unanswered;              // empty where there are some: not known
  /// Round trips of the answered, without waits: what the middle one and the slowest hundredth take.
  Nanoseconds fixed_p50{};
  Nanoseconds fixed_p99{};

  std::uint32_t of(Fate fate) const { return packets[static_cast<std::size_t>(fate)]; }
};

/// Scratch space of a thread, used again row by row.
class RowSimulation {
 public:
  explicit RowSimulation(const SimWorld& world) : world_(world) {}

  /// `order` draws which packets were lost where that has no bearing on how many were.
  RowOutcome run(const RowWays& ways, RandomStream& random, RandomStream order);

 private:
  struct Look;  // the ways at one time
  bool varies(const RowWays& ways) const;
  RowOutcome all_at_once(const RowWays& ways, RandomStream& random) const;
  RowOutcome one_by_one(const RowWays& ways, RandomStream& random);
  Look look(const RowWays& ways, Nanoseconds at, RandomStream& random);
  void scatter(const RowOutcome& outcome, std::uint32_t count, RandomStream& order);
  void read_runs(RowOutcome& outcome, std::uint32_t count) const;

  const SimWorld& world_;
  std::vector<Fate> fates_;  // of the packets, in the order in which they are sent
  std::vector<ChannelState> states_;
};

/// A channel's loss in runs as the packets of one row meet it: alternating renewal, with gaps that are
/// geometric and runs of one length, so that the share lost is the channel's; begun in its steady state.
class RunsOfLoss {
 public:
  RunsOfLoss(const LossInRuns& loss, RandomStream& random) : length_(loss.length) {
    const double in_the_mean = loss.share + loss.length * (1 - loss.share);
    begins_ = loss.share / in_the_mean;
    if (random.uniform() < loss.share) left_ = 1 + static_cast<std::uint32_t>(random.uniform() * loss.length);
  }
  bool takes_next(RandomStream& random) {
    if (left_ == 0 && random.uniform() < begins_) left_ = length_;
    return left_ > 0 && left_-- > 0;
  }

 private:
  std::uint32_t length_;
  double begins_ = 0;       // the chance that a run begins with a packet outside of one
  std::uint32_t left_ = 0;  // of the run in hand
};

bool takes_next(std::vector<RunsOfLoss>& runs, RandomStream& random) {
  bool taken = false;
  for (RunsOfLoss& each : runs) taken |= each.takes_next(random);
  return taken;
}

bool happens(double chance, RandomStream& random) {
  return chance > 0 && (chance >= 1 || random.uniform() < chance);
}

/// The round trips of a row whose packets found the ways in different states.
class FixedTimes {
 public:
  void add(Nanoseconds time, std::uint32_t packets) {
    if (packets > 0) times_.emplace_back(time, packets);
  }
  /// Nearest rank.
  Nanoseconds quantile(double share) {
    std::ranges::sort(times_);
    double all = 0;
    for (const auto& [time, packets] : times_) all += packets;
    double sum = 0;
    for (const auto& [time, packets] : times_) {
      sum += packets;
      if (sum >= share * all) return time;
    }
    return Nanoseconds(0);
  }

 private:
  std::vector<std::pair<Nanoseconds, std::uint32_t>> times_;
};

struct RowSimulation::Look {
  Nanoseconds until{};
  double lost_there = 0, corrupt_there = 0, lost_back = 0, corrupt_back = 0;
  bool dropped_there = false, dropped_back = false;
  std::optional<Nanoseconds> answers_at;  // what comes waits until then
  std::vector<RunsOfLoss> runs_there, runs_back;
  Nanoseconds fixed{};

  Fate next(RandomStream& random) {
    const bool in_run = takes_next(runs_there, random);
    if (happens(lost_there, random) || in_run) return Fate::lost_there;
    if (dropped_there) return Fate::dropped_there;
    if (happens(corrupt_there, random)) return Fate::corrupt_there;
    const bool in_run_back = takes_next(runs_back, random);
    if (happens(lost_back, random) || in_run_back) return Fate::lost_back;
    if (dropped_back) return Fate::dropped_back;
    if (happens(corrupt_back, random)) return Fate::corrupt_back;
    return Fate::answered;
  }
};

RowOutcome RowSimulation::run(const RowWays& ways, RandomStream& random, RandomStream order) {
  if (!varies(ways)) {
    RowOutcome outcome = all_at_once(ways, random);
    const auto fixed = world_.latency(ways.there, ways.size) + world_.latency(ways.back, ways.size);
    outcome.fixed_p50 = outcome.fixed_p99 = fixed;
    const std::uint32_t unanswered = ways.count - outcome.of(Fate::answered);
    if (unanswered > kMaxLossRuns && outcome.of(Fate::lost_there) < ways.count) return outcome;
    scatter(outcome, ways.count, order);
    read_runs(outcome, ways.count);
    return outcome;
  }
  RowOutcome outcome = one_by_one(ways, random);
  read_runs(outcome, ways.count);
  return outcome;
}

bool RowSimulation::varies(const RowWays& ways) const {
  const auto& channels = world_.channels();
  return channels.varies(ways.there) || channels.varies(ways.back) || world_.stalls(ways.from) ||
         world_.stalls(ways.to);
}

RowOutcome RowSimulation::all_at_once(const RowWays& ways, RandomStream& random) const {
  RowOutcome outcome;
  const auto set = [&outcome](Fate fate, std::uint64_t packets) {
    outcome.packets[static_cast<std::size_t>(fate)] = static_cast<std::uint32_t>(packets);
  };
  const auto& channels = world_.channels();
  const auto pass = [&](bool arrives, std::span<const ChannelId> path, std::uint64_t packets, Fate lost,
                        Fate corrupt) -> std::uint64_t {
    if (packets == 0 || !arrives) return set(lost, packets), 0;
    const auto came = packets - random.binomial(packets, 1 - channels.probe_survival(path, ways.size));
    const auto damaged = random.binomial(came, channels.corruption(path));
    set(lost, packets - came);
    set(corrupt, damaged);
    return came - damaged;
  };
  const auto good = pass(ways.arrives, ways.there, ways.count, Fate::lost_there, Fate::corrupt_there);
  // A responder answers what it can read.
  const auto answered = pass(ways.returns, ways.back, good, Fate::lost_back, Fate::corrupt_back);
  set(Fate::answered, answered);
  return outcome;
}

RowSimulation::Look RowSimulation::look(const RowWays& ways, Nanoseconds at, RandomStream& random) {
  const auto& channels = world_.channels();
  Look now{.until = Nanoseconds::max()};
  const auto way = [&](std::span<const ChannelId> path, bool arrives, double& lost, double& corrupt,
                       std::vector<RunsOfLoss>& runs) {
    states_.clear();
    channels.look(path, at, states_);
    lost = arrives ? 1 - probe_survival(states_, ways.size) : 1;
    corrupt = corruption(states_);
    for (const LossInRuns& loss : channels.runs_lost(path, at)) runs.emplace_back(loss, random);
    now.until = channels.change_after(path, at, now.until);
    now.fixed += SimWorld::latency(states_, ways.size);
  };
  way(ways.there, ways.arrives, now.lost_there, now.corrupt_there, now.runs_there);
  way(ways.back, ways.returns, now.lost_back, now.corrupt_back, now.runs_back);
  const HostStall* const there = world_.stall_at(ways.to, at);
  const HostStall* const back = world_.stall_at(ways.from, at);
  now.dropped_there = there != nullptr && at >= there->start + ways.holds;
  now.dropped_back = back != nullptr && at >= back->start + ways.holds;
  if (there != nullptr) now.answers_at = there->start + there->length;
  for (const PortId nic : {ways.from, ways.to})
    now.until = world_.stall_change_after(nic, at, ways.holds, now.until);
  return now;
}

RowOutcome RowSimulation::one_by_one(const RowWays& ways, RandomStream& random) {
  RowOutcome outcome;
  FixedTimes times;
  fates_.clear();
  Look now{.until = Nanoseconds::min()};
  std::uint32_t answered = 0;  // in this state
  for (std::uint32_t packet = 0; packet < ways.count; ++packet) {
    const Nanoseconds at = send_time(ways.window, packet, ways.count);
    if (at >= now.until) {
      times.add(now.fixed, answered);
      answered = 0;
      now = look(ways, at, random);
    }
    Fate fate = now.next(random);
    if (now.answers_at && fate == Fate::answered && *now.answers_at > ways.gives_up) fate = Fate::too_late;
    if (now.answers_at && is_echoed(fate) && *now.answers_at - at >= datapath::kLateEcho) {
      ++outcome.late;
      outcome.late_answered += fate == Fate::answered ? 1 : 0;
    }
    answered += fate == Fate::answered ? 1 : 0;
    ++outcome.packets[static_cast<std::size_t>(fate)];
    fates_.push_back(fate);
  }
  times.add(now.fixed, answered);
  outcome.fixed_p50 = times.quantile(0.5);
  outcome.fixed_p99 = times.quantile(0.99);
  return outcome;
}

/// Gives the packets fates that come to the counts of `outcome`.
void RowSimulation::scatter(const RowOutcome& outcome, std::uint32_t count, RandomStream& order) {
  const bool all_lost = outcome.of(Fate::lost_there) == count;
  fates_.assign(count, all_lost ? Fate::lost_there : Fate::answered);
  if (all_lost) return;
  for (std::size_t fate = 1; fate < kFates; ++fate)
    for (std::uint32_t left = outcome.packets[fate]; left > 0;) {
      Fate& place = fates_[static_cast<std::size_t>(order.uniform() * count)];
      if (place != Fate::answered) continue;
      place = static_cast<Fate>(fate);
      --left;
    }
}

void RowSimulation::read_runs(RowOutcome& outcome, std::uint32_t count) const {
  const auto is_missing = [this](std::uint32_t packet) {
    return fates_[packet] == Fate::lost_there || fates_[packet] == Fate::dropped_there;
  };
  std::uint32_t came = count;  // one behind the last that did
  while (came > 0 && is_missing(came - 1)) --came;
  outcome.missing = loss_runs(came, is_missing);
  auto unanswered = loss_runs(count, [this](std::uint32_t packet) {
    return fates_[packet] != Fate::answered && fates_[packet] != Fate::corrupt_back;
  });
  if (unanswered) outcome.unanswered = std::move(*unanswered);
}

constexpr std::uint64_t kPingKey = 0x9146;
constexpr std::uint64_t kOrderKey = 0x04DE4;

class PingSimulation {
 public:
  PingSimulation(const SimWorld& world, PortId from, const datapath::PingRequest& request, Nanoseconds begin)
      : world_(world), from_(from), request_(request), schedule_(request, begin), rows_(world) {
    for (const datapath::Peer& peer : request.peers) nics_.push_back(world.nic_at(peer.address));
  }

  void add(std::uint32_t index, SimPingResult& result) {
    const datapath::PingSpec& spec = request_.specs[index];
    if (!world_.can_send(from_)) return result.tallies.push_back({.spec = index});
    datapath::PingTally tally{.spec = index, .sent = spec.count, .window = schedule_.window(index)};
    if (const auto to = spec.peer < nics_.size() ? nics_[spec.peer] : std::nullopt; to)
      add_row(index, *to, tally, result);
    else if (spec.count > 0)
      tally.unanswered = {{0, spec.count}};
    result.tallies.push_back(std::move(tally));
  }

 private:
  void add_row(std::uint32_t index, PortId to, datapath::PingTally& tally, SimPingResult& result) {
    const datapath::PingSpec& spec = request_.specs[index];
    const auto key = [&](std::uint64_t purpose) {
      return RandomStream({world_.options().seed, purpose, request_.batch.value(), from_.value(), index,
                           to.value(), spec.label.value()});
    };
    RandomStream random = key(kPingKey);
    const SentPacket sent{{.number = mix_bits(std::uint64_t{request_.batch.value()} << 32 | index)},
                          tally.window->start};
    const bool arrives = world_.path_of(from_, to, spec.label, forward_, sent);
    const bool returns = world_.path_of(to, from_, spec.back_label, backward_, sent);
    RowOutcome row = rows_.run({.from = from_,
                                .to = to,
                                .there = forward_,
                                .back = backward_,
                                .arrives = arrives,
                                .returns = returns,
                                .size = spec.size,
                                .count = spec.count,
                                .window = *tally.window,
                                .holds = holds(spec),
                                .gives_up = schedule_.end() + request_.pace.answer_wait + datapath::kMaxLate},
                               random, key(kOrderKey));
    tally.answered = row.of(Fate::answered);
    tally.corrupt = row.of(Fate::corrupt_back);
    tally.late = row.late_answered;
    if (tally.answered > 0)
      tally.rtt = with_jitter({row.fixed_p50, row.fixed_p99}, forward_.size() + backward_.size(),
                              tally.answered, random);
    result.dropped += row.of(Fate::dropped_back);
    SimReceipt receipt{.from = from_,
                       .to = to,
                       .spec = index,
                       .packets = spec.count - row.of(Fate::lost_there) - row.of(Fate::dropped_there) -
                                  row.of(Fate::corrupt_there),
                       .corrupt = row.of(Fate::corrupt_there),
                       .size = spec.size,
                       .start = tally.window->start,
                       .span = tally.window->length,
                       .missing = std::move(row.missing),
                       .dropped = row.of(Fate::dropped_there),
                       .late = row.late};
    if (receipt.packets + receipt.corrupt + receipt.dropped > 0)
      result.receipts.push_back(std::move(receipt));
    tally.unanswered = std::move(row.unanswered);
  }

  /// About as many probes come to a host as it sends.
  Nanoseconds holds(const datapath::PingSpec& spec) const {
    return SimWorld::holds(spec.size, 1e9 / static_cast<double>(interval_of(request_.pace).count()));
  }

  const SimWorld& world_;
  PortId from_;
  const datapath::PingRequest& request_;
  PingSchedule schedule_;
  RowSimulation rows_;
  std::vector<std::optional<PortId>> nics_;  // of the request's peers
  std::vector<ChannelId> forward_;           // scratch
  std::vector<ChannelId> backward_;
};

}  // namespace

/// Waits are taken as exponential; a sample of n gives quantiles that scatter about the true ones with the
/// standard deviation sqrt(q(1-q)/n) / density (order statistics, Mosteller 1946).
RttQuantiles with_jitter(const RttQuantiles& fixed, std::size_t channels, std::uint32_t answered,
                         RandomStream& random) {
  const auto mean = std::chrono::duration<double, std::nano>(SimWorld::jitter(channels));
  const double root = std::sqrt(static_cast<double>(answered));
  const auto wait = [&](double q) {
    const double scattered = -std::log1p(-q) + random.normal() * std::sqrt(q / (1 - q)) / root;
    return std::chrono::duration_cast<Nanoseconds>(mean * std::max(0.0, scattered));
  };
  const auto p50 = fixed.p50 + wait(0.5);
  return {.p50 = p50, .p99 = answered == 1 ? p50 : std::max(p50, fixed.p99 + wait(0.99))};
}

SimPingResult simulate_ping(const SimWorld& world, PortId from, const datapath::PingRequest& request,
                            Nanoseconds begin, std::stop_token stop) {
  SimPingResult result;
  result.tallies.reserve(request.specs.size());
  result.receipts.reserve(request.specs.size());
  PingSimulation simulation(world, from, request, begin);
  for (std::uint32_t index = 0; index < request.specs.size() && !stop.stop_requested(); ++index)
    simulation.add(index, result);
  for (datapath::PingTally& tally : result.tallies) tally.dropped = result.dropped;
  return result;
}

}  // namespace weft::sim
