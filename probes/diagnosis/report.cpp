#include "probes/diagnosis/report.hpp"

#include <algorithm>
#include <set>

#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  for (const T& value : from)
    if (std::ranges::find(to, value) == to.end()) to.push_back(value);
}

template <class Finding>
bool same_fault(const Finding& a, const Finding& b) {
  return a.link == b.link && a.cause == b.cause && a.channel && b.channel && *a.channel != *b.channel;
}

/// Of what both directions of a cable pass or lose, what hurts more: the least rate or packet size, the most
/// of all else.
std::optional<Estimate> worse_of(Cause cause, const std::optional<Estimate>& a,
                                 const std::optional<Estimate>& b) {
  if (!a || !b) return a ? a : b;
  const bool less_is_worse = cause == Cause::rate || cause == Cause::congestion || cause == Cause::mtu;
  return (a->value < b->value) == less_is_worse ? a : b;
}

/// What is known of the host's cable goes by the finding that decides; of both directions, by the less sure.
/// A host that is at fault as a whole has no link: one of its cables may be told beside it.
void join_cables(HostFinding& into, const HostFinding& other) {
  const bool same = into.link && into.link == other.link && into.cause == other.cause;
  if (same && into.channel != other.channel &&
      (into.verdict == Verdict::unknown) == (other.verdict == Verdict::unknown)) {
    into.channel = std::nullopt;
    into.confidence = std::min(into.confidence, other.confidence);
    if (into.cause) into.estimate = worse_of(*into.cause, into.estimate, other.estimate);
    if (!into.intermittent) into.intermittent = other.intermittent;
  } else if (!into.confidence || (other.confidence && other.verdict > into.verdict)) {
    into.channel = other.channel;
    into.estimate = other.estimate;
    into.confidence = other.confidence;
    into.intermittent = other.intermittent;
    if (other.link) into.link = other.link;
  } else if (!into.link) {
    into.link = other.link;
  }
}

/// What other traffic explains of the same channel joins it.
template <class Finding>
void join_to_congestion(std::vector<Finding>& findings, auto is_of_same) {
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].cause != Cause::congestion) continue;
    for (std::size_t j = 0; j < findings.size();) {
      const bool explained = is_of_same(findings[i], findings[j]) &&
                             findings[j].channel == findings[i].channel &&
                             (findings[j].cause == Cause::delay || findings[j].cause == Cause::loss);
      if (!explained) {
        ++j;
        continue;
      }
      append(findings[i].evidence, findings[j].evidence);
      findings.erase(findings.begin() + static_cast<std::ptrdiff_t>(j));
      if (j < i) --i;
    }
  }
}

}  // namespace

double named_from(Cause cause) {
  switch (cause) {
    case Cause::loss:
    case Cause::down:
    case Cause::mtu:
    case Cause::corruption:
      return 0.875;  // of those named at the limit .995 are at fault then (docs/diagnosis.md)
    case Cause::rate:
    case Cause::congestion:
    case Cause::delay:
    case Cause::counter:
      return kSure;
  }
  return kSure;
}

Verdict Report::verdict_of_found(const Found& found) const {
  if (found.probability < named_from(found.cause)) return Verdict::unknown;
  return verdict_of(found.cause, found.estimate ? found.estimate->value : 0.0);
}

std::optional<NodeId> host_of(const Fabric& fabric, const Found& found) {
  std::optional<NodeId> host;
  for (const NodeId node : found.nodes) {
    if (!fabric.is_host(node) || (host && *host != node)) return std::nullopt;
    host = node;
  }
  for (const ChannelId channel : found.channels) {
    const NodeId from = fabric.source_node(channel);
    const NodeId end = fabric.is_host(from) ? from : fabric.target_node(channel);
    if (!fabric.is_host(end) || (host && *host != end)) return std::nullopt;
    host = end;
  }
  return host;
}

std::optional<ChannelId> one_channel_of(const Fabric& fabric, const Found& found) {
  if (found.channels.size() == 1) return found.channels.front();
  if (!found.channels.empty() || found.nodes.size() != 1 || !fabric.is_host(found.nodes.front()))
    return std::nullopt;
  const auto ports = fabric.ports_of(found.nodes.front());
  return ports.size() == 1 ? fabric.channel_from(ports.front()) : std::nullopt;
}

/// Channels, or nodes between them: one of the channels is at fault, as far as the probes tell, and no switch
/// is named. Where both directions of a cable are among them a node as a whole fits as well.
bool are_rivals(const Found& found) {
  const auto is_there_and_back = [&](ChannelId channel) {
    return std::ranges::find(found.channels, Fabric::reverse(channel)) != found.channels.end();
  };
  return found.alternatives.empty() && found.channels.size() > 1 && !found.nodes.empty() &&
         std::ranges::none_of(found.channels, is_there_and_back);
}

/// Alternatives become a set, the likeliest of them; what the finding is about is the sum of all, also of
/// those that the set does not list: one of these may be the truth.
void Report::add_set(Found& found) {
  for (const auto& alternative : found.alternatives) append(found.channels, alternative);
  std::ranges::sort(found.channels);
  const bool too_many = found.alternatives.size() > kMaxListed;
  if (too_many) found.alternatives.resize(kMaxListed);
  OpenSet set{.cause = found.cause,
              .verdict = verdict_of_found(found),
              .alternatives = found.alternatives,
              .confidence = found.probability,
              .more = found.more || too_many};
  for (auto& alternative : set.alternatives) std::ranges::sort(alternative);
  const auto is_same = [&](const OpenSet& other) {
    return other.cause == set.cause && other.alternatives == set.alternatives;
  };
  if (std::ranges::none_of(diagnosis_.sets, is_same)) diagnosis_.sets.push_back(std::move(set));
}

void Report::note_pauses(Found& found) const {
  if (stopped_.empty() ||
      (found.cause != Cause::rate && found.cause != Cause::delay && found.cause != Cause::congestion))
    return;
  std::vector<ChannelId> all = found.channels;
  for (const auto& alternative : found.alternatives) append(all, alternative);
  std::set<std::string> told;
  for (const ChannelId channel : all)
    if (const auto at = stopped_.find(channel); at != stopped_.end() && told.insert(at->second).second)
      found.evidence.push_back(at->second);
}

void Report::add(Found found) {
  note_pauses(found);
  if (found.estimate) {  // bounds come from a search of their own
    found.estimate->low = std::min(found.estimate->low, found.estimate->value);
    found.estimate->high = std::max(found.estimate->high, found.estimate->value);
  }
  found_.push_back(found);
  if (found.alternatives.size() == 1) {
    append(found.channels, found.alternatives.front());
    found.alternatives.clear();
  }
  if (are_rivals(found)) {
    for (const ChannelId channel : found.channels) found.alternatives.push_back({channel});
    found.nodes.clear();
    found.channels.clear();
  }
  if (!found.alternatives.empty()) add_set(found);
  if (const auto host = host_of(fabric_, found)) return add_host(*host, std::move(found));
  const auto link_of = [](ChannelId channel) { return Fabric::link_of(channel); };
  const bool one_link =
      !found.channels.empty() && found.nodes.empty() && std::ranges::all_of(found.channels, [&](ChannelId c) {
        return link_of(c) == link_of(found.channels.front());
      });
  if (one_link) return add_link(std::move(found));
  add_group(std::move(found));
}

/// One of which is at fault. A set of several channels an alternative stands among the sets alone.
void Report::note_ambiguous(const Found& found) {
  const auto several = [](const std::vector<ChannelId>& alternative) { return alternative.size() > 1; };
  if (found.channels.size() > 1 && std::ranges::none_of(found.alternatives, several))
    diagnosis_.ambiguous.push_back(found.channels);
}

void Report::add_host(NodeId host, Found found) {
  HostFinding finding{.host = host, .verdict = verdict_of_found(found), .cause = found.cause};
  finding.evidence = std::move(found.evidence);
  std::vector<PortId> nics;
  for (const ChannelId channel : found.channels) {
    const PortId from = fabric_.source(channel);
    append(nics, {fabric_.port(from).node == host ? from : fabric_.target(channel)});
  }
  if (nics.size() == 1) finding.nic = nics.front();
  const auto same_link = [&](ChannelId c) {
    return Fabric::link_of(c) == Fabric::link_of(found.channels.front());
  };
  if (std::ranges::all_of(found.channels, same_link)) {  // of a host as a whole there are none
    finding.estimate = found.estimate;
    finding.confidence = found.probability;
    finding.intermittent = found.intermittent;
    if (!found.channels.empty()) finding.link = Fabric::link_of(found.channels.front());
    if (found.channels.size() == 1) finding.channel = found.channels.front();
  }
  if (found.channels.size() > 1) note_ambiguous(found);
  diagnosis_.hosts.push_back(std::move(finding));
}

void Report::add_link(Found found) {
  LinkFinding finding{.link = Fabric::link_of(found.channels.front()),
                      .verdict = verdict_of_found(found),
                      .cause = found.cause,
                      .estimate = found.estimate,
                      .confidence = found.probability};
  finding.evidence = std::move(found.evidence);
  if (found.channels.size() == 1) {
    finding.channel = found.channels.front();
  } else {
    finding.evidence.push_back("the probes cannot tell its two directions apart");
    note_ambiguous(found);
  }
  finding.intermittent = found.intermittent;
  diagnosis_.links.push_back(std::move(finding));
}

void Report::add_group(Found found) {
  // Of a switch with two cables these are the alternatives, and it is none.
  const auto has_two_cables = [&](NodeId node) {
    return !fabric_.is_host(node) && fabric_.channels_at(node).size() <= 4;
  };
  // One of these channels, of which some are none of the node's: the node itself is not what was found.
  const auto is_of_nodes = [&](ChannelId channel) {
    return std::ranges::any_of(found.nodes, [&](NodeId node) {
      return node == fabric_.source_node(channel) || node == fabric_.target_node(channel);
    });
  };
  if (!found.channels.empty() &&
      (std::ranges::all_of(found.nodes, has_two_cables) || !std::ranges::all_of(found.channels, is_of_nodes)))
    found.nodes.clear();
  GroupFinding finding{.nodes = found.nodes, .channels = found.channels, .cause = found.cause};
  finding.verdict = verdict_of_found(found);
  finding.confidence = found.probability;
  finding.evidence = std::move(found.evidence);
  if (!found.channels.empty()) {
    if (found.alternatives.empty())
      finding.evidence.push_back(
          fmt::format("one of {} channels: the probes cannot tell which", found.channels.size()));
    note_ambiguous(found);
  }
  if (found.channels.empty())
    for (const NodeId node : found.nodes)
      for (const ChannelId channel : fabric_.channels_at(node)) finding.channels.push_back(channel);
  std::ranges::sort(finding.channels);
  finding.channels.erase(std::unique(finding.channels.begin(), finding.channels.end()),
                         finding.channels.end());
  diagnosis_.groups.push_back(std::move(finding));
}

void Report::add(const HostEvidence& evidence) {
  diagnosis_.hosts.push_back({.host = evidence.host,
                              .nic = evidence.nic,
                              .verdict = evidence.verdict,
                              .cause = evidence.cause,
                              .evidence = {evidence.text}});
}

bool Report::has(ChannelId channel, Cause cause) const {
  return std::ranges::any_of(diagnosis_.links, [&](const LinkFinding& finding) {
    return finding.cause == cause && finding.link == Fabric::link_of(channel) &&
           (!finding.channel || *finding.channel == channel);
  });
}

bool Report::explains(ChannelId channel) const {
  for (const LinkFinding& finding : diagnosis_.links)
    if (finding.link == Fabric::link_of(channel) && (!finding.channel || *finding.channel == channel) &&
        finding.verdict != Verdict::unknown)
      return true;
  for (const auto& members : diagnosis_.ambiguous)
    if (std::ranges::find(members, channel) != members.end()) return true;
  return false;
}

bool Report::speaks_of(ChannelId channel) const {
  const auto holds = [&](const std::vector<ChannelId>& channels) {
    return std::ranges::find(channels, channel) != channels.end();
  };
  return std::ranges::any_of(found_, [&](const Found& found) {
    return holds(found.channels) || std::ranges::any_of(found.alternatives, holds) ||
           std::ranges::any_of(found.nodes, [&](NodeId node) { return holds(fabric_.channels_at(node)); });
  });
}

void Report::explain_by_congestion() {
  join_to_congestion(diagnosis_.links,
                     [](const LinkFinding& a, const LinkFinding& b) { return a.link == b.link; });
  join_to_congestion(diagnosis_.hosts, [](const HostFinding& a, const HostFinding& b) {
    return a.host == b.host && a.nic == b.nic && a.channel.has_value();
  });
}

/// Both directions of a cable with the same fault are one finding without a direction.
void Report::join_directions() {
  auto& links = diagnosis_.links;
  for (std::size_t i = 0; i < links.size(); ++i)
    for (std::size_t j = i + 1; j < links.size(); ++j) {
      if (!same_fault(links[i], links[j])) continue;
      if (links[i].verdict == Verdict::unknown || links[j].verdict == Verdict::unknown) continue;
      for (LinkFinding* finding : {&links[i], &links[j]})
        for (std::string& text : finding->evidence)
          text = fmt::format("{}: {}", fabric_.name_of(*finding->channel), text);
      LinkFinding& worse = links[j].verdict > links[i].verdict ? links[j] : links[i];
      const LinkFinding other = &worse == &links[i] ? links[j] : links[i];
      append(worse.evidence, other.evidence);
      worse.confidence = std::min(worse.confidence, other.confidence);
      worse.estimate = worse_of(worse.cause, worse.estimate, other.estimate);
      worse.channel = std::nullopt;
      if (&worse != &links[i]) links[i] = worse;
      links.erase(links.begin() + static_cast<std::ptrdiff_t>(j));
      break;
    }
}

/// One entry a host and NIC: what is known of it first, then what was measured.
void Report::join_hosts() {
  auto& hosts = diagnosis_.hosts;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    for (std::size_t j = i + 1; j < hosts.size();) {
      const bool one = hosts[i].host == hosts[j].host &&
                       (!hosts[i].nic || !hosts[j].nic || *hosts[i].nic == *hosts[j].nic);
      if (!one) {
        ++j;
        continue;
      }
      if (same_fault(hosts[i], hosts[j]))
        for (HostFinding* finding : {&hosts[i], &hosts[j]})  // the figures: what else is said is of the host
          if (!finding->evidence.empty())
            finding->evidence.front() =
                fmt::format("{}: {}", fabric_.name_of(*finding->channel), finding->evidence.front());
      join_cables(hosts[i], hosts[j]);
      if (hosts[j].verdict > hosts[i].verdict || !hosts[i].cause) hosts[i].cause = hosts[j].cause;
      hosts[i].verdict = std::max(hosts[i].verdict, hosts[j].verdict);
      if (!hosts[i].nic) hosts[i].nic = hosts[j].nic;
      append(hosts[i].evidence, hosts[j].evidence);
      hosts.erase(hosts.begin() + static_cast<std::ptrdiff_t>(j));
    }
}

Assessment Report::finish(Coverage coverage) && {
  join_directions();
  join_hosts();
  const auto worst_first = [](const LinkFinding& a, const LinkFinding& b) {
    if (a.verdict != b.verdict) return a.verdict > b.verdict;
    if (a.confidence != b.confidence) return a.confidence > b.confidence;
    return a.link < b.link;
  };
  std::ranges::stable_sort(diagnosis_.links, worst_first);
  std::ranges::stable_sort(diagnosis_.hosts, std::ranges::greater{}, &HostFinding::verdict);
  std::ranges::stable_sort(diagnosis_.groups, std::ranges::greater{}, &GroupFinding::verdict);
  std::ranges::sort(diagnosis_.ambiguous);
  diagnosis_.ambiguous.erase(std::unique(diagnosis_.ambiguous.begin(), diagnosis_.ambiguous.end()),
                             diagnosis_.ambiguous.end());
  std::ranges::stable_sort(hypotheses_, std::ranges::greater{}, &Hypothesis::probability);
  diagnosis_.coverage = std::move(coverage);
  diagnosis_.coverage.rate_untested = std::move(rate_untested_);
  diagnosis_.verdict = run_verdict(diagnosis_);
  return {std::move(diagnosis_), std::move(hypotheses_)};
}

}  // namespace weft::diagnosis
