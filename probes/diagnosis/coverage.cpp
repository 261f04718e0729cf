#include "probes/diagnosis/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probes/diagnosis/load/load_rounds.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kMinLost = 3.0;    // lost packets that tell of a fault
constexpr double kFaultNats = 7.0;  // more than the prior of a fault takes
constexpr double kQuantile99 = 2.326;
constexpr double kSkew = 1.38;  // of the quantile of a Poisson variable of a few, beside its deviation

/// The fewest losses that tell of a fault where so many are expected without.
double least_telling(double expected) {
  double lost = std::max(kMinLost, std::ceil(expected));
  while (expected > 0 && lost * std::log(lost / expected) - (lost - expected) < kFaultNats) ++lost;
  return lost;
}

template <class Visit>
void for_each_crossing(const PathTable& paths, PathSetId set, Visit visit) {
  for (const PathId path : paths.paths(set)) visit(path);
}

void add(const PathTable& paths, PathSetId set, double packets, std::vector<double>& over) {
  const double share = packets / static_cast<double>(paths.paths(set).size());
  for_each_crossing(paths, set, [&](PathId path) {
    for (const ChannelId channel : paths.channels(path)) over[channel.value()] += share;
  });
}

void add_probe(const PathTable& paths, const Observation& probe, std::vector<double>& over) {
  add(paths, probe.path, static_cast<double>(probe.sent), over);
  if (probe.back) add(paths, *probe.back, static_cast<double>(probe.sent), over);
}

}  // namespace

double background_of(const Observations& observations, const AccountLine& lost) {
  double sent = 0;
  for (const Observation& probe : observations.probes) sent += static_cast<double>(probe.sent);
  return sent > 0 ? static_cast<double>(lost.tolerated) / sent : 0.0;
}

double loss_shown(double packets, double background) {
  const double expected = packets * background;
  const double lost = least_telling(expected);
  return std::min((lost + kQuantile99 * std::sqrt(lost) + kSkew - expected) / packets, 1.0);
}

double packets_to_show(double loss, double background) {
  constexpr double kStep = 1.05;
  constexpr int kSteps = 600;
  double packets = std::ceil((kMinLost + kQuantile99 * std::sqrt(kMinLost) + kSkew) / std::max(loss, 1e-12));
  for (int step = 0; step < kSteps && loss_shown(packets, background) > loss; ++step)
    packets = std::ceil(packets * kStep);
  return packets;
}

std::vector<double> packets_over(const Fabric& fabric, const Observations& observations) {
  std::vector<double> over(fabric.channel_count(), 0.0);
  for (const Observation& probe : observations.probes)
    if (probe.sent > 0) add_probe(observations.paths, probe, over);
  return over;
}

Coverage coverage_of(const Fabric& fabric, const Observations& observations, double background,
                     const Detect& detect) {
  const PathTable& table = observations.paths;
  const auto packets = packets_over(fabric, observations);
  const double enough = packets_to_show(detect.loss ? detect.loss->value() : kFailedLoss, background);
  std::vector<bool> used(table.path_count(), false);
  std::vector<bool> crossed(fabric.channel_count(), false);
  const auto note = [&](PathSetId set) {
    for_each_crossing(table, set, [&](PathId path) {
      if (used[path.value()]) return;
      used[path.value()] = true;
      for (const ChannelId channel : table.channels(path)) crossed[channel.value()] = true;
    });
  };
  for (const Observation& probe : observations.probes) {
    if (probe.sent == 0 && !probe.rtt) continue;
    note(probe.path);
    if (probe.back) note(*probe.back);
  }
  for (const LoadObservation& load : observations.loads) note(load.path);
  Coverage coverage{.channels = packets.size()};
  coverage.paths = static_cast<std::size_t>(std::ranges::count(used, true));
  for (std::uint32_t c = 0; c < packets.size(); ++c) {
    if (!crossed[c])
      coverage.missing.emplace_back(c);
    else if (packets[c] < enough)
      coverage.thin.emplace_back(c);
    else
      ++coverage.probed;
  }
  coverage.complete = coverage.missing.empty() && coverage.thin.empty();
  return coverage;
}

namespace {

/// By channel: named in a finding, or it may be what is at fault.
std::vector<bool> suspected_of(const Fabric& fabric, const Diagnosis& diagnosis) {
  std::vector<bool> suspected(fabric.channel_count(), false);
  const auto suspect = [&](const std::vector<ChannelId>& channels) {
    for (const ChannelId channel : channels) suspected[channel.value()] = true;
  };
  for (const LinkFinding& finding : diagnosis.links)
    suspect({Fabric::a_to_b(finding.link), Fabric::b_to_a(finding.link)});
  for (const HostFinding& finding : diagnosis.hosts) suspect(fabric.channels_at(finding.host));
  for (const GroupFinding& finding : diagnosis.groups) {
    suspect(finding.channels);
    for (const NodeId node : finding.nodes) suspect(fabric.channels_at(node));
  }
  for (const auto& channels : diagnosis.ambiguous) suspect(channels);
  for (const OpenSet& set : diagnosis.sets)
    for (const auto& channels : set.alternatives) suspect(channels);
  return suspected;
}

}  // namespace

void note_masked(const Fabric& fabric, const Observations& observations, Diagnosis& diagnosis) {
  const auto suspected = suspected_of(fabric, diagnosis);
  if (std::ranges::find(suspected, true) == suspected.end()) return;
  const PathTable& table = observations.paths;
  const auto is_suspected = [&](ChannelId channel) { return suspected[channel.value()]; };
  const auto meets_none = [&](PathSetId set) {
    return std::ranges::none_of(table.paths(set), [&](PathId path) {
      return std::ranges::any_of(table.channels(path), is_suspected);
    });
  };
  std::vector<double> met(fabric.channel_count(), 0.0), unmet(fabric.channel_count(), 0.0);
  for (const Observation& probe : observations.probes) {
    if (probe.sent == 0) continue;
    const bool is_witness =
        probe.lost < probe.sent && meets_none(probe.path) && (!probe.back || meets_none(*probe.back));
    add_probe(table, probe, is_witness ? unmet : met);
  }
  const double background = background_of(observations, diagnosis.account.lost);
  const double enough = packets_to_show(kFailedLoss, background);
  for (std::uint32_t c = 0; c < unmet.size(); ++c) {
    if (suspected[c] || met[c] + unmet[c] < enough) continue;
    if (unmet[c] < enough)
      diagnosis.coverage.masked.emplace_back(c);
    else if (auto& shown = diagnosis.sensitivity.loss)
      shown = std::max(*shown, loss_shown(unmet[c], background));
  }
}

void cover(const Fabric& fabric, const Observations& observations, const Detect& asked,
           Diagnosis& diagnosis) {
  Coverage& covered = diagnosis.coverage;
  auto untested = std::move(covered.rate_untested), masked = std::move(covered.masked);
  covered = coverage_of(fabric, observations, background_of(observations, diagnosis.account.lost), asked);
  covered.rate_untested = std::move(untested);
  covered.masked = std::move(masked);
}

void note_unloaded(const Fabric& fabric, const Observations& observations, Coverage& covered) {
  std::vector<bool> open(fabric.channel_count(), covered.out_of_scope == 0);
  for (const ChannelId channel : covered.in_scope) open[channel.value()] = true;
  for (const LoadObservation& load : observations.loads) {
    if (load.sender_stalled || load.offered <= Bandwidth()) continue;
    for (const ChannelId channel : shared_channels(observations.paths, load.path))
      open[channel.value()] = false;
  }
  const auto packets = packets_over(fabric, observations);
  covered.unloaded.clear();
  for (std::uint32_t c = 0; c < open.size(); ++c)
    if (open[c] && packets[c] > 0) covered.unloaded.emplace_back(c);
}

namespace {

/// A finding says that nothing passes the channel: it has no rate to test.
bool is_down(const Diagnosis& diagnosis, ChannelId channel) {
  const auto is_of = [channel](const auto& finding, LinkId link) {
    return finding.cause == Cause::down && link == Fabric::link_of(channel) &&
           finding.channel.value_or(channel) == channel;
  };
  return std::ranges::any_of(diagnosis.links, [&](const auto& it) { return is_of(it, it.link); }) ||
         std::ranges::any_of(diagnosis.hosts, [&](const auto& it) { return it.link && is_of(it, *it.link); });
}

}  // namespace

void conclude(const Fabric& fabric, const Observations& observations, const Detect& asked,
              Diagnosis& diagnosis) {
  Coverage& covered = diagnosis.coverage;
  std::erase_if(covered.unloaded, [&](ChannelId channel) { return is_down(diagnosis, channel); });
  const Sensitivity& shown = diagnosis.sensitivity;
  const auto fell_short = [&]<class... Args>(fmt::format_string<Args...> text, Args&&... args) {
    covered.fell_short.push_back(fmt::format(text, std::forward<Args>(args)...));
  };
  constexpr double kMaxShortfall = 1.01;  // of what was asked: rounding is no shortfall
  const double loss = asked.loss ? asked.loss->value() : kFailedLoss;
  if (!covered.thin.empty())
    fell_short("a loss of {:.3g} % shows by {:.0f} packets over a channel; {} had fewer", 100 * loss,
               std::ceil(packets_to_show(loss, background_of(observations, diagnosis.account.lost))),
               covered.thin.size());
  else if (asked.loss && shown.loss && *shown.loss > kMaxShortfall * loss)
    fell_short(
        "a loss of {:.3g} % was asked for; one from {:.3g} % on would have shown, by what is tolerated or "
        "met other faults",
        100 * loss, 100 * *shown.loss);
  if (asked.rate) {
    const double rate = 100 * asked.rate->value();
    if (!shown.rate)
      fell_short("a rate {:.3g} % too low was asked for; no flow tells of rates", rate);
    else if (*shown.rate > kMaxShortfall * asked.rate->value())
      fell_short("a rate {:.3g} % too low was asked for; the flows show one from {:.3g} % on", rate,
                 100 * *shown.rate);
    else if (!covered.unloaded.empty())
      fell_short("a rate {:.3g} % too low was asked for; no flow tells of {} channels, as {}", rate,
                 covered.unloaded.size(), fabric.name_of(covered.unloaded.front()));
  }
  covered.complete = covered.missing.empty() && covered.thin.empty() && covered.unloaded.empty() &&
                     covered.rate_untested.empty() && covered.not_tested.empty() && !covered.cut_short &&
                     covered.fell_short.empty();
}

std::vector<PortId> nics_seen(const Fabric& fabric, const Observations& observations) {
  std::vector<bool> is_seen(fabric.port_count(), false);
  const auto note = [&](PathSetId set) {
    const auto path = observations.paths.channels(observations.paths.paths(set).front());
    is_seen[fabric.source(path.front()).value()] = is_seen[fabric.target(path.back()).value()] = true;
  };
  for (const Observation& probe : observations.probes) note(probe.path);
  for (const LoadObservation& load : observations.loads) note(load.path);
  std::vector<PortId> nics;
  for (std::uint32_t port = 0; port < is_seen.size(); ++port)
    if (is_seen[port] && fabric.is_host(fabric.port(PortId(port)).node)) nics.emplace_back(port);
  return nics;
}

void limit_to(Coverage& covered, const std::vector<bool>& scope) {
  const auto is_outside = [&](ChannelId channel) { return !scope[channel.value()]; };
  covered.channels = static_cast<std::size_t>(std::ranges::count(scope, true));
  covered.out_of_scope = scope.size() - covered.channels;
  for (std::uint32_t c = 0; c < scope.size() && covered.out_of_scope > 0; ++c)
    if (scope[c]) covered.in_scope.emplace_back(c);
  std::erase_if(covered.missing, is_outside);
  std::erase_if(covered.thin, is_outside);
  covered.probed = covered.channels - covered.missing.size() - covered.thin.size();
}

std::optional<double> least_loss_shown(const std::vector<double>& packets, double background) {
  double least = 0;
  for (const double count : packets)
    if (count > 0 && (least == 0 || count < least)) least = count;
  if (least == 0) return std::nullopt;
  return loss_shown(least, background);
}

}  // namespace weft::diagnosis
