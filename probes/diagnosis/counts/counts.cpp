#include "probes/diagnosis/counts/counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "probes/diagnosis/counts/count_findings.hpp"
#include "probes/diagnosis/counts/flow_paths.hpp"
#include "probes/diagnosis/counts/tally.hpp"
#include "topology/base/readable.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr int kMaxPasses = 4;
constexpr double kHides = 10.0;       // times what is tolerated: as much as the least fault loses
constexpr double kMinExcused = 10.0;  // packets: fewer hide nothing that would be named

/// The NIC for which an observation's packets were; of round trips their sender's.
PortId receiver_of(const Fabric& fabric, const PathTable& paths, const Observation& probe) {
  return fabric.target(paths.channels(paths.paths(probe.back.value_or(probe.path)).front()).back());
}

/// The NIC that sent an observation's packets.
PortId sender_of(const Fabric& fabric, const PathTable& paths, const Observation& probe) {
  return fabric.source(paths.channels(paths.paths(probe.path).front()).front());
}

/// As many of `all` packets as a fault loses, and enough to be named.
bool may_hide_a_fault(std::uint64_t packets, std::uint64_t all, const Tolerance& tolerance) {
  const double hides = kHides * tolerance.loss.value() * static_cast<double>(all);
  return static_cast<double>(packets) > std::max(hides, kMinExcused);
}

/// Echoes that a host let go too late, as it counted, are neither lost nor passed. But of a host that did so
/// with as many as a fault loses nothing is known: it may hide one. All of them.
std::uint64_t report_held(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance,
                          Report& report) {
  struct Sent {
    std::uint64_t all = 0;
    std::uint64_t held = 0;
  };
  const auto is_held = [](const Observation& probe) { return probe.held > 0; };
  if (std::ranges::none_of(observations.probes, is_held)) return 0;
  std::map<PortId, Sent> by_sender;
  Sent sum;
  for (const Observation& probe : observations.probes) {
    if (probe.sent + probe.held == 0) continue;
    for (Sent* const each : {&by_sender[sender_of(fabric, observations.paths, probe)], &sum})
      each->all += probe.sent + probe.held, each->held += probe.held;
  }
  for (const auto& [nic, sent] : by_sender)
    if (may_hide_a_fault(sent.held, sent.all, tolerance))
      report.add(
          HostEvidence{fabric.port(nic).node, nic, Verdict::unknown, std::nullopt,
                       fmt::format("it did not run for a while, and answered {} packets too late, as it "
                                   "counted: too busy to tell what its cable loses",
                                   share_text(sent.held, sent.all))});
  return sum.held;
}

/// What hosts dropped themselves, by their own counts, blames no channel. But a host that dropped as much as
/// a fault loses may hide one: of it nothing is known then. What others dropped is taken off as they counted.
struct Excuses {
  std::uint64_t counted = 0;  // by the hosts
  std::uint64_t beside = 0;   // lost in rows that tell of nothing for it
};
Excuses report_excuses(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance,
                       Counting& counting, Report& report) {
  struct Received {
    std::uint64_t sent = 0;
    Excuses excused;
  };
  const auto has_excuse = [](const Observation& probe) { return probe.excused > 0; };
  if (std::ranges::none_of(observations.probes, has_excuse)) return {};
  std::map<PortId, Received> at;
  Excuses all;
  for (const Observation& probe : observations.probes) {
    if (probe.sent == 0) continue;
    Received& here = at[receiver_of(fabric, observations.paths, probe)];
    const std::uint64_t excused = excused_of(probe);
    const std::uint64_t counted = std::min(probe.excused, excused);
    here.sent += probe.sent;
    for (Excuses* sum : {&here.excused, &all}) sum->counted += counted, sum->beside += excused - counted;
  }
  std::set<PortId> busy;
  for (const auto& [nic, received] : at) {
    const std::uint64_t hidden = received.excused.counted + received.excused.beside;
    if (!may_hide_a_fault(hidden, received.sent, tolerance)) continue;
    busy.insert(nic);
    report.add(HostEvidence{fabric.port(nic).node, nic, Verdict::unknown, std::nullopt,
                            fmt::format("it dropped {} packets itself, as it counted: too busy to tell what "
                                        "its cable loses",
                                        share_text(received.excused.counted, received.sent))});
  }
  // Where a host dropped most of what came, a row of which nothing came tells of no channel, however little
  // of it the host's share was.
  counting.swallowed.resize(observations.probes.size(), false);
  for (std::size_t i = 0; i < observations.probes.size(); ++i) {
    const Observation& probe = observations.probes[i];
    const PortId nic = receiver_of(fabric, observations.paths, probe);
    counting.takes_off.push_back(probe.excused == 0 || !busy.contains(nic));
    if (probe.sent == 0 || probe.lost < probe.sent || 2 * at[nic].excused.counted < at[nic].sent) continue;
    counting.swallowed[i] = true;
    all.beside += probe.sent - excused_of(probe);
  }
  return all;
}

/// Known to let nothing through, or no packet of some size and more.
bool swallows(const CountFindings::Reported& told) {
  if (!told.found) return false;
  const Cause cause = told.found->cause;
  return (cause == Cause::down || cause == Cause::mtu) && told.found->probability >= named_from(cause);
}

/// Leaves out what is swallowed, by and by.
class Swallowing {
 public:
  Swallowing(const Fabric& fabric, const Observations& observations, Counting counting)
      : fabric_(fabric), observations_(observations), counting_(std::move(counting)) {}

  const Counting& counting(bool whole_flows) {
    counting_.whole_flows = whole_flows;
    return counting_;
  }
  const std::vector<ChannelId>& dead() const { return dead_; }

  void note(const Found& found) {
    const Bytes passes(found.cause == Cause::mtu ? static_cast<std::int64_t>(found.estimate->high) : -1);
    const auto add = [&](ChannelId channel) { passes_.try_emplace(channel, passes); };
    std::ranges::for_each(found.channels, add);
    if (!found.alternatives.empty())
      sets_.push_back({found.alternatives, passes});
    else if (found.channels.empty())
      for (const NodeId node : found.nodes) std::ranges::for_each(fabric_.channels_at(node), add);
    const bool one = found.channels.size() == 1;
    if (one && found.cause == Cause::down) dead_.push_back(found.channels.front());
    std::ranges::sort(dead_);
  }

  /// Observations of packets of this size and more.
  void leave_out_from(Bytes size) {
    counting_.swallowed.resize(observations_.probes.size(), false);
    for (std::size_t i = 0; i < observations_.probes.size(); ++i)
      if (observations_.probes[i].size >= size) counting_.swallowed[i] = true;
  }

  /// Observations that lost all, over paths that may cross what was noted. Their packets.
  std::uint64_t leave_out() {
    std::uint64_t packets = 0;
    counting_.swallowed.resize(observations_.probes.size(), false);
    for (std::size_t i = 0; i < observations_.probes.size(); ++i) {
      const Observation& probe = observations_.probes[i];
      const Counts counts = counts_of(probe, counting_.what);
      if (counts.k == 0 || counts.k < counts.n || counting_.swallowed[i]) continue;
      if (!crosses(probe.path, probe.size) && !(probe.back && crosses(*probe.back, probe.size))) continue;
      counting_.swallowed[i] = true;
      packets += counts.k;
    }
    return packets;
  }

 private:
  /// A channel of the set's paths for which `is_it` holds.
  template <class Is>
  bool any_channel(PathSetId set, Is is_it) const {
    return std::ranges::any_of(observations_.paths.paths(set), [&](PathId path) {
      return std::ranges::any_of(observations_.paths.channels(path), is_it);
    });
  }

  bool crosses(PathSetId set, Bytes size) const {
    const auto is_passed = [&](ChannelId channel) {
      const auto at = passes_.find(channel);
      return at != passes_.end() && size > at->second;
    };
    // Whichever alternative is true, it crosses some of it.
    const auto is_in_all = [&](const Alternatives& one) {
      return size > one.passes && std::ranges::all_of(one.channels, [&](const auto& alternative) {
               return any_channel(set, [&](ChannelId channel) {
                 return std::ranges::find(alternative, channel) != alternative.end();
               });
             });
    };
    return any_channel(set, is_passed) || std::ranges::any_of(sets_, is_in_all);
  }

  struct Alternatives {
    std::vector<std::vector<ChannelId>> channels;
    Bytes passes;
  };
  const Fabric& fabric_;
  const Observations& observations_;
  Counting counting_;
  std::map<ChannelId, Bytes> passes_;  // by what swallows: the largest packet that passes
  std::vector<Alternatives> sets_;
  std::vector<ChannelId> dead_;  // ascending
};

/// The channels of what is at fault: of a switch those out of it, of which each path through it takes one; of
/// what may as well be elsewhere the likeliest.
std::vector<ChannelId> crossed_once(const Fabric& fabric, const Found& found) {
  if (!found.channels.empty()) return found.channels;
  if (!found.alternatives.empty()) return found.alternatives.front();
  std::vector<ChannelId> channels;
  for (const NodeId node : found.nodes) {
    for (const ChannelId out : fabric.channels_from(node)) {
      channels.push_back(out);
      if (fabric.is_host(node)) channels.push_back(Fabric::reverse(out));
    }
  }
  return channels;
}

/// What is found to lose packets, as far as it is sure.
std::vector<FlowLoss> losses_found(const Fabric& fabric, const CountFindings& findings) {
  std::vector<FlowLoss> by_channel(fabric.channel_count());
  for (std::uint32_t i = 0; i < findings.told.size(); ++i) {
    const auto& told = findings.told[i];
    if (!told.found) continue;
    const Found& found = *told.found;
    if (told.one_of.empty() && found.probability < named_from(found.cause)) continue;
    const bool has_limit = found.cause == Cause::mtu;
    const bool is_share = found.estimate && !has_limit;
    const bool one_of = !told.one_of.empty() || !found.alternatives.empty() || found.channels.size() > 1;
    for (const ChannelId channel : told.one_of.empty() ? crossed_once(fabric, found) : told.one_of) {
      FlowLoss& known = by_channel[channel.value()];
      if (known.share > 0 && !known.one_of) continue;
      known = {is_share ? found.estimate->value : 1.0,
               Bytes(has_limit ? static_cast<std::int64_t>(found.estimate->high) : -1), i, one_of};
    }
  }
  return by_channel;
}

/// What was told before, and of it: what seemed to pass nothing may be found to pass some once it is known
/// which of several paths flows took.
void add_finding(CountFindings::Reported told, std::vector<CountFindings::Reported>& all) {
  if (told.found && told.found->cause == Cause::loss && told.found->channels.size() == 1 &&
      told.found->probability >= named_from(Cause::loss))
    std::erase_if(all, [&](const CountFindings::Reported& before) {
      return before.found && before.found->cause == Cause::down &&
             before.found->channels == told.found->channels;
    });
  all.push_back(std::move(told));
}

/// Every path of the fabric harms all packets of some size and more.
struct LimitOfAll {
  Bytes from;                // the least size of which no packet passed unharmed
  Bytes below;               // the size sent below it
  std::uint64_t harmed = 0;  // packets
};

/// Of three hosts any two at fault harm all packets, which makes a set of three. Of more it is a fault the
/// less for each, and what all paths share is the likelier.
constexpr std::size_t kManyHosts = 4;

/// The least size from which on all is harmed, and the size below it.
std::optional<LimitOfAll> limit_of(const Observations& observations, Counted counted) {
  std::map<Bytes, Counts> by_size;
  for (const Observation& probe : observations.probes) {
    const Counts counts = counts_of(probe, counted);
    if (counts.n == 0) continue;
    by_size[probe.size].n += counts.n;
    by_size[probe.size].k += counts.k;
  }
  LimitOfAll limit;
  for (auto at = by_size.rbegin(); at != by_size.rend(); ++at) {
    limit.below = at->first;
    if (at->second.k < at->second.n) break;
    limit.from = at->first;
    limit.harmed += at->second.k;
  }
  if (limit.harmed == 0 || limit.below >= limit.from) return std::nullopt;
  return limit;
}

/// None where some such packet passed, where one channel or node is crossed by all of them, or where few
/// hosts took part: what it is can be told then, or stands in a set. Paths that harm half of the smaller
/// packets too, or that carried none, tell nothing of a size; nor does a fabric in which no packet passed.
std::optional<LimitOfAll> limit_of_all(const Fabric& fabric, const Observations& observations,
                                       Counted counted) {
  const auto limit = limit_of(observations, counted);
  if (!limit) return std::nullopt;
  std::map<PathSetId, Counts> smaller;
  for (const Observation& probe : observations.probes) {
    if (probe.size >= limit->from) continue;
    const Counts counts = counts_of(probe, counted);
    smaller[probe.path].n += counts.n;
    smaller[probe.path].k += counts.k;
  }
  std::set<NodeId> hosts;
  std::vector<std::size_t> crossed(fabric.channel_count() + fabric.node_count(), 0);
  std::size_t large = 0;
  const PathTable& table = observations.paths;
  for (const Observation& probe : observations.probes) {
    if (probe.size < limit->from || counts_of(probe, counted).n == 0) continue;
    if (const Counts& small = smaller[probe.path]; small.n <= 2 * small.k) continue;
    ++large;
    std::set<std::size_t> its;
    for (const PathId path : table.paths(probe.path))
      for (const ChannelId channel : table.channels(path))
        for (const NodeId node : {fabric.source_node(channel), fabric.target_node(channel)}) {
          its.insert({channel.value(), fabric.channel_count() + node.value()});
          if (fabric.is_host(node)) hosts.insert(node);
        }
    for (const std::size_t place : its) ++crossed[place];
  }
  if (hosts.size() < kManyHosts || std::ranges::find(crossed, large) != crossed.end()) return std::nullopt;
  return limit;
}

FabricFinding finding_of(const LimitOfAll& limit, Counted counted) {
  const bool of_loss = counted == Counted::loss;
  FabricFinding all{.cause = of_loss ? Cause::mtu : Cause::corruption, .confidence = kSure};
  const auto passes = static_cast<double>(limit.below.count());
  all.estimate =
      of_loss ? Estimate{passes, passes, static_cast<double>(limit.from.count() - 1)} : Estimate{1, 1, 1};
  all.verdict = verdict_of(all.cause, all.estimate->value);
  all.evidence = {
      fmt::format("{} packets of {} and more {}: all of them, over every path, and nothing tells why",
                  grouped(limit.harmed), readable(limit.from), of_loss ? "lost" : "corrupt"),
      fmt::format("packets of {} and less pass", readable(limit.below))};
  return all;
}

}  // namespace

void report_counts(const Fabric& fabric, const Observations& observations, Counting counting,
                   const Tolerance& tolerance, Report& report) {
  const Counted counted = counting.what;
  AccountLine& account = counted == Counted::loss ? report.account().lost : report.account().corrupt;
  const bool of_loss = counted == Counted::loss;
  const Excuses excused =
      of_loss ? report_excuses(fabric, observations, tolerance, counting, report) : Excuses{};
  const std::uint64_t held = of_loss ? report_held(fabric, observations, tolerance, report) : 0;
  Swallowing swallowing(fabric, observations, std::move(counting));
  std::optional<Observations> narrowed;
  std::uint64_t swallowed = 0;
  if (const auto limit = limit_of_all(fabric, observations, counted)) {
    swallowing.leave_out_from(limit->from);
    swallowed = limit->harmed;
    report.add(finding_of(*limit, counted));
  }
  std::vector<CountFindings::Reported> all;
  for (int pass = 1;; ++pass) {
    CountFindings findings = count_findings(fabric, narrowed ? *narrowed : observations,
                                            swallowing.counting(pass == 1), swallowing.dead(), tolerance);
    const auto losses = losses_found(fabric, findings);
    const auto rest = std::ranges::partition(findings.told, swallows);
    const bool found_more = rest.begin() != findings.told.begin();
    const bool is_all = rest.empty() && !findings.even_loss && findings.account.unexplained == 0;
    if (pass == kMaxPasses || (!findings.is_rough && (is_all || !found_more))) {
      for (auto& told : findings.told) add_finding(std::move(told), all);
      if (findings.even_loss) report.add(std::move(*findings.even_loss));
      account = findings.account;
      break;
    }
    if (findings.is_rough && !narrowed) {
      narrowed = observations;
      if (narrow_paths(*narrowed, counted, losses)) continue;
      narrowed.reset();
    }
    for (auto at = findings.told.begin(); at != rest.begin(); ++at) {
      swallowing.note(*at->found);
      add_finding(std::move(*at), all);
    }
    const std::uint64_t more = swallowing.leave_out();
    swallowed += more;
    if (more > 0 || findings.is_rough) continue;
    // Nothing is left out that was not before: another pass would say the same again.
    for (auto& told : rest) add_finding(std::move(told), all);
    if (findings.even_loss) report.add(std::move(*findings.even_loss));
    account = findings.account;
    break;
  }
  for (CountFindings::Reported& told : all) {
    if (told.found) report.add(std::move(*told.found));
    if (told.hypothesis) report.add(std::move(*told.hypothesis));
  }
  account.found += swallowed;
  account.excused = excused.counted + held;
  account.unexplained += excused.beside;
  account.all += swallowed + excused.counted + excused.beside + held;
}

}  // namespace weft::diagnosis
