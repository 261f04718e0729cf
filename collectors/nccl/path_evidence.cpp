#include "collectors/nccl/path_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "probes/diagnosis/diagnose.hpp"
#include "topology/model/fabric.hpp"

namespace weft::nccl {
namespace {

// What a queue pair says of its path, as probes of which all or none were lost: a NIC sends a packet again
// seven times before it gives up (retry_cnt of NCCL), and each try is one more.
constexpr std::uint64_t kTries = 8;
constexpr std::size_t kMaxSets = 8;  // alternatives that are told

class PathEvidence {
 public:
  PathEvidence(const JobFabric& fabric, std::span<const JudgedQp> qps)
      : in_(fabric), places_(fabric), qps_(qps) {
    if (fabric.paths != nullptr) observations_.paths = fabric.paths->table;
    for (const JudgedQp& judged : qps_) {
      const QpRecord& qp = *judged.record;
      if (const auto nic = places_.nic(qp)) by_number_[{nic->value(), qp.number.value()}] = &qp;
    }
  }

  NetworkFindings find() && {
    std::size_t unplaced = 0;
    std::size_t against = 0;
    for (const JudgedQp& qp : qps_) {
      if (qp.says == QpSays::nothing) continue;
      const bool bad = qp.says == QpSays::bad;
      if (!add(*qp.record, qp.says))
        unplaced += bad ? 1 : 0;
      else
        against += bad ? 1 : 0;
    }
    NetworkFindings found;
    if (unplaced > 0)
      found.evidence.push_back(
          fmt::format("of {} such queue pairs the path is not known: --fabric and --paths must have their "
                      "NICs and labels",
                      unplaced));
    if (against == 0) return found;
    if (silent_host(found)) return found;
    add_findings(diagnosis::assess(*in_.fabric, observations_).diagnosis, found);
    return found;
  }

 private:
  std::optional<PathSetId> paths_of(PortId src, PortId dst, const std::optional<PathLabel>& label) {
    const auto paths = places_.paths(src, dst, label);
    return paths.empty() ? std::nullopt : std::optional(observations_.paths.intern_set(paths));
  }

  std::optional<PathSetId> reported_path(const QpRecord& qp, PortId src, PortId dst) {
    std::vector<ChannelId> channels;
    for (const std::string& name : qp.path) {
      const auto channel = in_.fabric->find_channel(name);
      if (!channel) return std::nullopt;
      if (!channels.empty() && in_.fabric->target_node(channels.back()) != in_.fabric->source_node(*channel))
        return std::nullopt;
      channels.push_back(*channel);
    }
    if (channels.empty() || in_.fabric->source(channels.front()) != src ||
        in_.fabric->target(channels.back()) != dst)
      return std::nullopt;
    return observations_.paths.only(observations_.paths.intern(channels));
  }

  bool add(const QpRecord& record, QpSays says) {
    const bool bad = says == QpSays::bad;
    const auto src = places_.nic(record);
    const auto dst = places_.peer_nic(record);
    if (!src || !dst || *src == *dst) return false;
    const auto there =
        record.path.empty() ? paths_of(*src, *dst, record.label) : reported_path(record, *src, *dst);
    if (!there) return false;
    Observation made{.path = *there, .sent = kTries, .lost = bad ? kTries : 0};
    // Acknowledgements come back under the label of the peer's queue pair.
    std::optional<PathLabel> back_label;
    if (record.peer_number)
      if (const auto peer = by_number_.find({dst->value(), record.peer_number->value()});
          peer != by_number_.end())
        back_label = peer->second->label;
    if (says != QpSays::good_there) made.back = paths_of(*dst, *src, back_label);
    if (record.label) made.pair = LabelledPair{*src, *dst, *record.label};
    observations_.probes.push_back(made);
    Inbound& host = inbound_[in_.fabric->port(*dst).node];
    ++(bad ? host.bad : host.good);
    if (bad) host.nics.insert(*dst), host.from.insert(in_.fabric->port(*src).node);
    reporting_.insert(in_.fabric->port(*src).node);
    return true;
  }

  /// A host to which nothing gets through on any of its NICs, and that says nothing itself, is off or cut
  /// off: its cables are not at fault one by one.
  bool silent_host(NetworkFindings& found) const {
    for (const auto& [node, host] : inbound_) {
      if (host.good > 0 || host.nics.size() < 2 || host.from.size() < 2 || reporting_.contains(node))
        continue;
      found.evidence.push_back(
          fmt::format("{} acknowledges nothing on any of {} NICs, and has no table of its own: it is down or "
                      "cut off",
                      in_.fabric->name_of(node), host.nics.size()));
      found.host = in_.fabric->name_of(node);
      return true;
    }
    return false;
  }

  void add_findings(const Diagnosis& diagnosis, NetworkFindings& found) const {
    const Fabric& fabric = *in_.fabric;
    const auto from = [&](const std::optional<ChannelId>& channel) {
      return channel ? fabric.name_of(fabric.source_node(*channel)) : std::string();
    };
    for (const LinkFinding& link : diagnosis.links)
      found.links.push_back({fabric.name_of(link.link), from(link.channel), link.confidence});
    for (const HostFinding& host : diagnosis.hosts)
      if (host.link)
        found.links.push_back({fabric.name_of(*host.link), from(host.channel), host.confidence.value_or(0)});
    const auto add_set = [&](const auto& channels, std::vector<std::string>& set) {
      for (const ChannelId channel : channels) set.push_back(fabric.name_of(channel));
    };
    for (const GroupFinding& group : diagnosis.groups)
      for (const NodeId node : group.nodes)
        found.evidence.push_back(
            fmt::format("many links of {} at once: the switch itself, with confidence "
                        "{:.2f}",
                        fabric.name_of(node), group.confidence));
    for (const auto& group : diagnosis.ambiguous)
      if (found.alternatives.size() < kMaxSets && !is_one_link(group))
        add_set(group, found.alternatives.emplace_back());
    for (const OpenSet& set : diagnosis.sets) {
      if (found.alternatives.size() == kMaxSets) break;
      std::vector<std::string> names;
      for (const auto& alternative : set.alternatives) add_set(alternative, names);
      std::ranges::sort(names);
      names.erase(std::ranges::unique(names).begin(), names.end());
      // What the probes cannot tell apart stands above with all its channels.
      const auto is_told = [&](std::vector<std::string> told) {
        std::ranges::sort(told);
        return set.more && std::ranges::includes(told, names);
      };
      if (std::ranges::none_of(found.alternatives, is_told)) found.alternatives.push_back(std::move(names));
    }
  }

  /// Its two directions: the link is known, and told with its finding.
  static bool is_one_link(const std::vector<ChannelId>& channels) {
    return std::ranges::all_of(channels, [&](ChannelId channel) {
      return Fabric::link_of(channel) == Fabric::link_of(channels.front());
    });
  }

  struct Inbound {
    std::size_t bad = 0;
    std::size_t good = 0;
    std::set<PortId> nics;
    std::set<NodeId> from;
  };
  JobFabric in_;
  QpPlaces places_;
  std::span<const JudgedQp> qps_;
  Observations observations_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, const QpRecord*> by_number_;  // NIC and number
  std::map<NodeId, Inbound> inbound_;
  std::set<NodeId> reporting_;
};

}  // namespace

NetworkFindings locate_links(const JobFabric& fabric, std::span<const JudgedQp> qps) {
  return PathEvidence(fabric, qps).find();
}

}  // namespace weft::nccl
