#include "collectors/nccl/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "probes/diagnosis/diagnose.hpp"
#include "topology/base/readable.hpp"
#include "topology/model/fabric.hpp"

namespace weft::nccl {
namespace {

// What a queue pair says of its path, as probes of which all or none were lost: a NIC sends a packet again
// seven times before it gives up (retry_cnt of NCCL), and each try is one more.
constexpr std::uint64_t kTries = 8;
constexpr std::uint64_t kMinMoved = 1'000'000;  // bytes between two tables: the job is not at rest
constexpr Nanoseconds kMaxYoung = std::chrono::milliseconds(34);  // 4 MB at 1 Gbit/s, as kMinStall
constexpr double kBusy = 0.5;                                     // share of the time with work under way
constexpr double kBusyOverMedian = 2.0;     // and so many times that of the middle queue pair
constexpr double kQuietOverMedian = 1.25;   // without a queue: no more than this
constexpr std::size_t kMinBusySample = 8;   // queue pairs that move, to speak of a middle
constexpr double kMaxFailed = 0.1;          // with errors: of more, an abort flushed them
constexpr std::uint32_t kNcclTimeout = 20;  // NCCL_IB_TIMEOUT where a table does not tell
constexpr std::uint32_t kNcclRetries = 7;   // NCCL_IB_RETRY_CNT
constexpr std::size_t kMaxShown = 4;        // queue pairs that are told one by one
constexpr std::size_t kMaxSets = 8;         // alternatives that are told

using QpKey = std::tuple<std::string_view, std::uint64_t, QpNum>;

}  // namespace

QpView::QpView(const HangInput& input, const Job& job) {
  pair_tables(input, job);
  judge_stalls();
  judge_queues();
}

void QpView::pair_tables(const HangInput& input, const Job& job) {
  std::map<std::pair<std::string_view, std::uint64_t>, Rank> rank_of;  // by host and process
  for (const Rank rank : job.ranks())
    if (const RankPlace* place = job.place_of(rank); place != nullptr && place->pid)
      rank_of[{place->host, *place->pid}] = rank;
  std::map<QpKey, std::pair<std::size_t, std::pair<Nanoseconds, Nanoseconds>>> known;  // first and last time
  for (const QpTable& table : input.qps)
    for (const QpRecord& record : table.qps) {
      const auto [at, is_new] = known.try_emplace(QpKey(table.host, record.pid, record.number), qps_.size(),
                                                  std::pair(table.at, table.at));
      auto& [index, times] = at->second;
      if (is_new) {
        Qp made{.host = &table.host, .last = &record};
        made.rank = record.rank;
        if (const auto found = rank_of.find({table.host, record.pid}); !made.rank && found != rank_of.end())
          made.rank = found->second;
        qps_.push_back(made);
        continue;
      }
      Qp& qp = qps_[index];
      if (table.at > times.second) {
        if (qp.first == nullptr) qp.first = qp.last;
        qp.last = &record, times.second = table.at;
      } else if (table.at < times.first) {
        qp.first = &record, times.first = table.at;
      }
      qp.between = times.second - times.first;
    }
  for (Qp& qp : qps_)
    if (qp.first != nullptr && qp.between.count() > 0 && qp.last->bytes >= qp.first->bytes)
      qp.moved = qp.last->bytes - qp.first->bytes;
}

void QpView::judge_stalls() {
  Nanoseconds longest{};
  for (Qp& qp : qps_) {
    const QpRecord& last = *qp.last;
    const bool still = qp.moved == 0 && qp.first->outstanding > 0 && qp.between >= kMinStall;
    const bool old = last.oldest && *last.oldest >= kMinStall;
    qp.stalled = last.outstanding > 0 && (old || (!last.oldest && still));
    if (qp.stalled) longest = std::max(longest, last.oldest.value_or(qp.between));
    if (qp.moved.value_or(0) >= kMinMoved) ++moving_;
    if (last.errors > 0) ++failed_;
  }
  // A queue pair that gave up has nothing under way any more.
  const bool by_errors =
      longest.count() == 0 && static_cast<double>(failed_) <= kMaxFailed * static_cast<double>(qps_.size());
  for (Qp& qp : qps_) {
    if (by_errors && qp.last->errors > 0) qp.stalled = true;
    stalled_ += qp.stalled ? 1 : 0;
    // What was acknowledged before others began to wait says nothing of the time since.
    const bool since = qp.last->quiet ? *qp.last->quiet <= longest : qp.moved.value_or(0) > 0;
    // A message of some age is neither stalled nor acknowledged in time.
    const bool young = qp.last->outstanding == 0 || (qp.last->oldest && *qp.last->oldest <= kMaxYoung);
    qp.clean_stall = !qp.stalled && young && qp.last->errors == 0 && qp.last->bytes > 0 && since;
  }
}

void QpView::judge_queues() {
  std::vector<double> shares;
  for (Qp& qp : qps_) {
    if (!qp.moved || *qp.moved == 0 || !qp.last->busy || !qp.first->busy || *qp.last->busy < *qp.first->busy)
      continue;
    qp.busy_share = std::min(1.0, static_cast<double>((*qp.last->busy - *qp.first->busy).count()) /
                                      static_cast<double>(qp.between.count()));
    shares.push_back(*qp.busy_share);
  }
  if (shares.size() < kMinBusySample) return;
  const auto middle = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2);
  std::ranges::nth_element(shares, middle);
  const double median = *middle;
  for (Qp& qp : qps_) {
    if (!qp.busy_share) continue;
    qp.busy = *qp.busy_share >= std::max(kBusy, kBusyOverMedian * median);
    qp.clean_busy = *qp.busy_share <= kQuietOverMedian * median;
    busy_ += qp.busy ? 1 : 0;
  }
}

std::vector<Rank> QpView::senders() const {
  std::set<Rank> ranks;
  for (const Qp& qp : qps_)
    if (qp.stalled && qp.rank) ranks.insert(*qp.rank);
  return {ranks.begin(), ranks.end()};
}

std::vector<Rank> QpView::waiting() const {
  std::set<Rank> ranks;
  std::set<Rank> sending;
  for (const Qp& qp : qps_)
    if (qp.rank) (qp.last->outstanding > 0 || qp.stalled ? sending : ranks).insert(*qp.rank);
  std::vector<Rank> all;
  std::ranges::set_difference(ranks, sending, std::back_inserter(all));
  return all;
}

TimeLimit QpView::time_limit() const {
  std::optional<TimeLimit> first;
  for (const Qp& qp : qps_) {
    if (!qp.stalled) continue;
    const auto timeout = qp.last->timeout.value_or(kNcclTimeout);
    const auto retries = qp.last->retries.value_or(kNcclRetries);
    if (timeout == 0) continue;  // no limit
    const double seconds = 4.096e-6 * std::pow(2.0, timeout) * (retries + 1);
    const char* const told = qp.last->timeout ? "" : " (NCCL's own values)";
    if (!first || seconds < first->seconds)
      first = {"queue pair", seconds, fmt::format("4.096 us * 2^{} * {}{}", timeout, retries + 1, told)};
  }
  return first.value_or(TimeLimit{"queue pair", 0, "no limit"});
}

std::vector<std::string> QpView::remarks() const {
  std::vector<std::string> all;
  if (failed_ > 0) all.push_back(fmt::format("{} of {} queue pairs have errors", failed_, qps_.size()));
  return all;
}

/// The queue pairs as observations of their paths.
class PathEvidence {
 public:
  PathEvidence(const HangFabric& fabric, const QpView& view) : in_(fabric), view_(&view) {
    if (fabric.paths != nullptr) {
      observations_.paths = fabric.paths->table;
      for (const PairPaths& pair : fabric.paths->pairs) pairs_[key(pair.src, pair.dst)] = &pair;
    }
    for (const PortId nic : fabric.fabric->nics())
      if (const auto guid = fabric.fabric->port(nic).guid) by_guid_.emplace(*guid, nic);
    for (std::size_t i = 0; i < view.qps_.size(); ++i) {
      const QpRecord& qp = *view.qps_[i].last;
      if (const auto nic = nic_of(qp.nic, qp.gid)) by_number_[{nic->value(), qp.number.value()}] = i;
    }
  }

  NetworkFindings find(bool busy) && {
    std::size_t unplaced = 0;
    std::size_t against = 0;
    for (const QpView::Qp& qp : view_->qps_) {
      const bool bad = busy ? qp.busy : qp.stalled;
      const bool good = busy ? qp.clean_busy : qp.clean_stall;
      if (!bad && !good) continue;
      if (!add(qp, bad))
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
    tell(diagnosis::assess(*in_.fabric, observations_).diagnosis, found);
    return found;
  }

 private:
  static std::uint64_t key(PortId src, PortId dst) { return std::uint64_t{src.value()} << 32 | dst.value(); }

  std::optional<PortId> nic_of(const std::string& name, const std::optional<IpAddress>& gid) const {
    if (!name.empty()) {
      const auto found = in_.fabric->find_nic(name);
      return found ? std::optional(*found) : std::nullopt;
    }
    if (!gid) return std::nullopt;
    if (in_.addresses != nullptr)
      if (const auto port = in_.addresses->port_of(*gid)) return port;
    if (!gid->is_v6()) return std::nullopt;
    std::uint64_t low = 0;  // of an InfiniBand GID the port's GUID
    for (std::size_t i = 8; i < 16; ++i) low = low << 8 | gid->bytes()[i];
    const auto found = by_guid_.find(Guid(low));
    return found == by_guid_.end() ? std::nullopt : std::optional(found->second);
  }

  /// The paths that packets of a label take between two NICs; all of the pair's where the label is not known
  /// or none of them has it.
  std::optional<PathSetId> paths_of(PortId src, PortId dst, const std::optional<PathLabel>& label) {
    const auto pair = pairs_.find(key(src, dst));
    if (pair == pairs_.end()) return std::nullopt;
    std::vector<PathId> with_label;
    std::vector<PathId> all;
    for (const LabelledPath& path : pair->second->paths) {
      all.push_back(path.path);
      if (label && std::ranges::binary_search(path.labels, *label)) with_label.push_back(path.path);
    }
    if (all.empty()) return std::nullopt;
    return observations_.paths.intern_set(with_label.empty() ? all : with_label);
  }

  std::optional<PathSetId> told_path(const QpRecord& qp, PortId src, PortId dst) {
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

  bool add(const QpView::Qp& qp, bool bad) {
    const QpRecord& record = *qp.last;
    const auto src = nic_of(record.nic, record.gid);
    const auto dst = nic_of(record.peer_nic, record.peer_gid);
    if (!src || !dst || *src == *dst) return false;
    const auto there =
        record.path.empty() ? paths_of(*src, *dst, record.label) : told_path(record, *src, *dst);
    if (!there) return false;
    Observation made{.path = *there, .sent = kTries, .lost = bad ? kTries : 0};
    // Acknowledgements come back under the label of the peer's queue pair.
    std::optional<PathLabel> back_label;
    if (record.peer_number)
      if (const auto peer = by_number_.find({dst->value(), record.peer_number->value()});
          peer != by_number_.end())
        back_label = view_->qps_[peer->second].last->label;
    made.back = paths_of(*dst, *src, back_label);
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

  void tell(const Diagnosis& diagnosis, NetworkFindings& found) const {
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
      found.alternatives.push_back(std::move(names));
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
  HangFabric in_;
  const QpView* view_;
  Observations observations_;
  std::unordered_map<std::uint64_t, const PairPaths*> pairs_;
  std::unordered_map<Guid, PortId> by_guid_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> by_number_;  // NIC and number
  std::map<NodeId, Inbound> inbound_;
  std::set<NodeId> reporting_;
};

NetworkFindings QpView::locate(const HangFabric& fabric, bool busy) const {
  NetworkFindings found = PathEvidence(fabric, *this).find(busy);
  std::size_t shown = 0;
  for (const Qp& qp : qps_) {
    if (!(busy ? qp.busy : qp.stalled) || shown++ >= kMaxShown) continue;
    const QpRecord& last = *qp.last;
    std::string text =
        fmt::format("queue pair {} of process {} on {}", last.number.value(), last.pid, *qp.host);
    if (qp.rank) text += fmt::format(" (rank {})", *qp.rank);
    if (busy)
      text += fmt::format(": work under way {:.0f} % of the time", 100 * qp.busy_share.value_or(0));
    else if (last.errors > 0 && last.outstanding == 0)
      text += fmt::format(": {} completions with an error", last.errors);
    else
      text += fmt::format(": {} sends under way, nothing acknowledged for {}", last.outstanding,
                          last.oldest ? readable(*last.oldest) : "at least " + readable(qp.between));
    found.evidence.push_back(std::move(text));
  }
  const std::size_t all = busy ? busy_ : stalled_;
  if (all > kMaxShown) found.evidence.push_back(fmt::format("and {} queue pairs more", all - kMaxShown));
  return found;
}

}  // namespace weft::nccl
