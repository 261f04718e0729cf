#include "probes/watch/look.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "topology/model/fabric.hpp"
#include "topology/routing/shortest_paths.hpp"

namespace weft::watch {
namespace {

constexpr std::uint64_t kMinSent = 10;   // probes: so many do not all get lost by chance
constexpr double kUnreachable = 0.9;     // of the probes to a host that does not answer
constexpr std::size_t kMany = 8;         // findings of a look
constexpr int kMaxAlone = 3;             // hosts that are disbelieved in one look
constexpr std::uint32_t kOfOthers = 10;  // one in so many losses, at least, others must have seen

/// The batch's prior odds of a fault of one channel between switches (count_priors.cpp).
double odds_of_batch(const Fabric& fabric) {
  double between = 0;
  for (std::uint32_t link = 0; link < fabric.link_count(); ++link)
    between += fabric.between_switches(LinkId(link)) ? 2 : 0;
  return std::min(1.1 / std::max(between, 1.0), 0.005);
}

/// Of `rows`, ascending, those that lost.
template <class Visit>
void for_each_lost_of(const std::vector<std::uint32_t>& rows, const ScaleSums& sums, Visit visit) {
  auto at = rows.begin();
  for (const auto& [row, lost] : sums.lost) {
    at = std::lower_bound(at, rows.end(), row);
    if (at == rows.end()) return;
    if (*at == row) visit(row, lost);
  }
}

/// A row that passed what it was asked, and then nothing more: what came through before it died says nothing
/// of now, and would make a dead channel of one that loses some.
bool died(std::uint64_t known, const RowLosses& losses) {
  constexpr std::uint32_t kInARow = 5;
  return losses.open >= kInARow && std::uint64_t{kOfOthers} * (losses.there + losses.back) <= known;
}

}  // namespace

/// What says nothing in a look.
struct Looker::Left {
  std::vector<bool> out;      // by node: hosts whose probes, and probes to whom, are left out
  std::vector<bool> reports;  // by node: hosts whose probes count
  std::vector<bool> rows;     // by row: left out; empty: none
};

Looker::Looker(const Fabric& fabric, const StandingPlan& plan, const Tolerance& tolerance, std::size_t whole)
    : fabric_(&fabric),
      plan_(&plan),
      tolerance_(tolerance),
      whole_(whole),
      odds_of_batch_(odds_of_batch(fabric)),
      rows_(plan, fabric.channel_count()) {
  observations_.paths = plan.paths;
}

double Looker::log_prior(Nanoseconds between) const {
  const double days = std::chrono::duration<double, std::ratio<86400>>(between).count();
  return std::min(0.0, std::log(kFaultsADay * std::max(days, 1e-9) / odds_of_batch_));
}

/// Hosts that are silent, and none of whose NICs answer anybody: one finding each, and no link is blamed. All
/// hosts of a leaf at once are the leaf.
void Looker::find_down(const ScaleSums& sums, const std::vector<HostNews>& news, Left& left,
                       LookAnswer& answer) const {
  struct Asked {
    std::uint64_t sent = 0, lost = 0;
  };
  std::map<NodeId, Asked> asked;
  const auto may_be_down = [](HostNews host) { return host == HostNews::silent || host == HostNews::late; };
  if (std::ranges::none_of(news, may_be_down)) return;
  for (std::uint32_t n = 0; n < plan_->nics.size(); ++n) {
    const StandingNic& nic = plan_->nics[n];
    if (left.out[nic.host.value()]) continue;
    for (std::uint32_t s = 0; s < nic.streams.size(); ++s) {
      const NodeId peer = fabric_->port(nic.streams[s].peer).node;
      if (!may_be_down(news[peer.value()])) continue;
      asked[peer].sent += sums.telling(n, nic, s);
    }
  }
  for (const auto& [row, lost] : sums.lost) {
    const auto peer = asked.find(fabric_->port(plan_->stream(row).peer).node);
    if (peer != asked.end() && !left.out[plan_->nics[plan_->nic_of(row)].host.value()])
      peer->second.lost += lost.all();
  }
  std::map<NodeId, std::vector<NodeId>> by_leaf;
  for (const auto& [host, seen] : asked) {
    if (seen.sent < kMinSent ||
        static_cast<double>(seen.lost) < kUnreachable * static_cast<double>(seen.sent))
      continue;
    left.out[host.value()] = true;
    answer.unreachable.push_back(host);
    if (news[host.value()] != HostNews::silent) continue;
    const auto nics = plan_->nics_of(host);
    const NodeId leaf = routing::edge_switch(*fabric_, nics.front().nic);
    by_leaf[nics.size() == 1 ? leaf : host].push_back(host);
  }
  for (const auto& [at, hosts] : by_leaf) {
    std::size_t under = 0;
    for (const StandingNic& nic : plan_->nics) under += routing::edge_switch(*fabric_, nic.nic) == at ? 1 : 0;
    const bool whole = hosts.size() > 1 && hosts.size() == under;
    const auto add_trouble = [&](NodeId node, std::string text) {
      answer.findings.push_back({.place = {{}, {node}},
                                 .cause = Cause::down,
                                 .verdict = Verdict::failed,
                                 .confidence = 0.99,
                                 .evidence = {std::move(text)},
                                 .sure = true});
    };
    if (whole)
      add_trouble(at, fmt::format("its {} hosts are silent and none of them answers", hosts.size()));
    else
      for (const NodeId host : hosts)
        add_trouble(host, fmt::format("its agent is silent, and its NICs answered {} of {} probes",
                                      asked[host].sent - asked[host].lost, asked[host].sent));
  }
}

/// The channels that something lost may have been lost on; empty: of too many rows to leave any out.
std::vector<bool> Looker::suspects(const ScaleSums& sums) const {
  if (plan_->rows <= whole_) return {};
  std::vector<bool> suspects(fabric_->channel_count(), false);
  std::size_t rows = 0;
  const auto suspect = [&](PathSetId set) {
    for (const PathId path : plan_->paths.paths(set))
      for (const ChannelId channel : plan_->paths.channels(path)) {
        if (!suspects[channel.value()]) rows += rows_.of(channel).size();
        suspects[channel.value()] = true;
      }
  };
  for (const auto& [row, lost] : sums.lost) {
    const StandingStream& stream = plan_->stream(row);
    if (lost.there + lost.open > 0) suspect(stream.there);
    if (lost.back + lost.open > 0) suspect(stream.back);
    if (rows > plan_->rows) return {};
  }
  return suspects;
}

void Looker::fill(const ScaleSums& sums, const Left& left, const PathSums* delays,
                  const std::vector<bool>& suspects) {
  auto& probes = observations_.probes;
  probes.clear();
  observations_.hosts.clear();
  const auto crosses = [&](PathSetId set) {
    if (suspects.empty()) return true;
    return std::ranges::any_of(plan_->paths.paths(set), [&](PathId path) {
      return std::ranges::any_of(plan_->paths.channels(path),
                                 [&](ChannelId c) { return suspects[c.value()]; });
    });
  };
  auto lost = sums.lost.begin();
  for (std::uint32_t n = 0; n < plan_->nics.size(); ++n) {
    const StandingNic& nic = plan_->nics[n];
    if (left.out[nic.host.value()] || !left.reports[nic.host.value()]) continue;
    for (std::uint32_t s = 0; s < nic.streams.size(); ++s) {
      const std::uint32_t row = nic.first_row + s;
      const StandingStream& stream = nic.streams[s];
      const std::uint64_t sent = sums.telling(n, nic, s);
      if (sent == 0 || left.out[fabric_->port(stream.peer).node.value()]) continue;
      if (!left.rows.empty() && left.rows[row]) continue;
      const bool there = crosses(stream.there), back = crosses(stream.back);
      if (!there && !back) continue;
      while (lost != sums.lost.end() && lost->first < row) ++lost;
      RowLosses losses = lost != sums.lost.end() && lost->first == row ? lost->second : RowLosses{};
      // Sums of ranges may be off by one (SentRanges): no more is lost than was sent.
      losses.there = static_cast<std::uint32_t>(std::min<std::uint64_t>(losses.there, sent));
      losses.back = static_cast<std::uint32_t>(std::min<std::uint64_t>(losses.back, sent - losses.there));
      losses.open =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(losses.open, sent - losses.there - losses.back));
      const LabelledPair pair{nic.nic, stream.peer, stream.label};
      // Open losses are the last of their row, behind its last echo: what was sent before is known by way.
      // Of the ones the product over both ways counts, of the others each way by itself.
      if (const std::uint64_t known = sent - losses.open; known > 0 && !died(known, losses)) {
        if (there)
          probes.push_back({.path = stream.there, .sent = known, .lost = losses.there, .pair = pair});
        if (back && known > losses.there)
          probes.push_back({.path = stream.back, .sent = known - losses.there, .lost = losses.back});
      }
      if (losses.open > 0)
        probes.push_back(
            {.path = stream.there, .back = stream.back, .sent = losses.open, .lost = losses.open});
      if (delays != nullptr && delays->delays(row).at > sums.from)
        probes.push_back({.path = stream.there, .back = stream.back, .rtt = delays->delays(row).rtt});
    }
  }
}

std::vector<bool> Looker::leave_out(const std::vector<ChannelId>& channels, ScaleSums& sums) const {
  if (channels.empty()) return {};
  std::vector<bool> out(plan_->rows, false);
  for (const ChannelId channel : channels)
    for (const std::uint32_t row : rows_.of(channel)) out[row] = true;
  std::erase_if(sums.lost, [&](const auto& one) { return out[one.first]; });
  return out;
}

bool Looker::is_heard(std::uint32_t row, const Left& left) const {
  if (!left.rows.empty() && left.rows[row]) return false;
  const NodeId host = plan_->nics[plan_->nic_of(row)].host;
  const NodeId peer = fabric_->port(plan_->stream(row).peer).node;
  return !left.out[host.value()] && left.reports[host.value()] && !left.out[peer.value()];
}

/// Whether nothing came through it lately: all rows over one of its channels end in losses behind which no
/// echo came. What came through earlier in the span came before the fault.
bool Looker::passes_nothing(const ScaleSums& sums, const Left& left, const LookFinding& finding) const {
  constexpr double kMaxThatPasses = 0.1;  // then so many in a row get lost once in a thousand times
  const double enough = std::log(1e-3) / std::log(1 - kMaxThatPasses);
  return std::ranges::any_of(finding.place.channels, [&](ChannelId channel) {
    std::uint64_t open = 0, others = 0;
    for (const std::uint32_t row : rows_.of(channel)) {
      const std::uint32_t n = plan_->nic_of(row);
      const StandingNic& nic = plan_->nics[n];
      if (!is_heard(row, left) || sums.telling(n, nic, row - nic.first_row) == 0) continue;
      const auto lost =
          std::ranges::lower_bound(sums.lost, row, {}, [](const auto& one) { return one.first; });
      if (lost == sums.lost.end() || lost->first != row || lost->second.open == 0) return false;
      open += lost->second.open, others += lost->second.there + lost->second.back;
    }
    return static_cast<double>(open) >= enough && others * kOfOthers <= open;
  });
}

std::vector<std::uint32_t> Looker::rows_over(const IncidentPlace& place) const {
  std::vector<std::uint32_t> rows;
  for (const ChannelId channel : channels_at(*fabric_, place))
    std::ranges::copy(rows_.of(channel), std::back_inserter(rows));
  std::ranges::sort(rows);
  rows.erase(std::ranges::unique(rows).begin(), rows.end());
  return rows;
}

/// A host none but whose probes told of a finding that is not its own cable: it may be lying.
std::optional<NodeId> Looker::reported_alone(const ScaleSums& sums, const Left& left,
                                             const LookFinding& finding) const {
  if (finding.cause == Cause::delay || finding.cause == Cause::congestion) return std::nullopt;
  std::map<NodeId, std::uint64_t> by_host;
  std::uint64_t all = 0;
  for_each_lost_of(rows_over(finding.place), sums, [&](std::uint32_t row, const RowLosses& lost) {
    if (!is_heard(row, left)) return;
    by_host[plan_->nics[plan_->nic_of(row)].host] += lost.all();
    all += lost.all();
  });
  if (by_host.empty()) return std::nullopt;
  const auto most = std::ranges::max_element(by_host, {}, &std::pair<const NodeId, std::uint64_t>::second);
  const std::uint64_t others = all - most->second;
  const bool is_its_own = std::ranges::all_of(channels_at(*fabric_, finding.place), [&](ChannelId channel) {
    return fabric_->source_node(channel) == most->first || fabric_->target_node(channel) == most->first;
  });
  if (is_its_own || (others >= 2 && others * kOfOthers >= all)) return std::nullopt;
  return most->first;
}

/// What a place loses of what crosses it and no other finding's place, where there is such: a row over both
/// may have lost it at the other.
double Looker::share_of(const ScaleSums& sums, const Left& left, const LookFinding& finding,
                        const std::vector<LookFinding>& all) const {
  const auto channels = channels_at(*fabric_, finding.place);
  std::vector<bool> skipped = left.rows.empty() ? std::vector<bool>(plan_->rows, false) : left.rows;
  for (const LookFinding& other : all)
    if (other.cause != Cause::delay && !overlaps(channels, channels_at(*fabric_, other.place)))
      for (const std::uint32_t row : rows_over(other.place)) skipped[row] = true;
  std::uint64_t sent = 0, gone = 0;
  const auto rows = rows_over(finding.place);
  for (const std::uint32_t row : rows) {
    const std::uint32_t n = plan_->nic_of(row);
    if (!skipped[row]) sent += sums.telling(n, plan_->nics[n], row - plan_->nics[n].first_row);
  }
  for_each_lost_of(rows, sums, [&](std::uint32_t row, const RowLosses& lost) {
    if (!skipped[row]) gone += lost.all();
  });
  if (sent == 0 && all.size() > 1) return share_of(sums, left, finding, {});
  return static_cast<double>(gone) / static_cast<double>(std::max<std::uint64_t>(sent, 1));
}

/// Whether a finding passes nothing, and whether a host at its end lived on when the losses began: if it did
/// not, it may be the host that is down, and its cable is not named yet. `places`: by row, how many findings
/// it may cross; one of several may have lost it at another.
void Looker::judge(const ScaleSums& sums, const Left& left, const LookContext& context,
                   const std::vector<std::uint16_t>& places, LookFinding& finding) const {
  if (finding.cause != Cause::loss && finding.cause != Cause::down) return;
  struct Began {
    Nanoseconds at;
    NodeId peer;  // who answers the row
  };
  std::vector<Began> began, its_own;
  for_each_lost_of(rows_over(finding.place), sums, [&](std::uint32_t row, const RowLosses& lost) {
    (places[row] > 1 ? began : its_own).push_back({lost.first, fabric_->port(plan_->stream(row).peer).node});
  });
  if (!its_own.empty()) began = std::move(its_own);
  if (finding.cause == Cause::loss && passes_nothing(sums, left, finding))
    finding.cause = Cause::down, finding.verdict = Verdict::failed, finding.estimate.reset();
  if (began.empty()) return;
  // The third row that lost: the first ones may be the background's.
  const auto third = began.begin() + std::min<std::ptrdiff_t>(2, std::ssize(began) - 1);
  std::ranges::nth_element(began, third, {}, &Began::at);
  finding.since = third->at;
  // Who answers a row may say yet that it did not run when that began to be lost: of a quarter of the rows,
  // or of three, that must be past.
  const auto is_told = [&](const Began& row) { return context.told_until[row.peer.value()] > row.at; };
  const auto told = std::ranges::count_if(began, is_told);
  if (!is_at_host(*fabric_, finding.place) || told > std::max(third - began.begin(), std::ssize(began) / 4))
    return;
  finding.sure = false;
  finding.early |= std::ranges::any_of(began, [&](const Began& row) {
    return !is_told(row) && context.news[row.peer.value()] != HostNews::silent;
  });
}

diagnosis::Assessment Looker::assess(const ScaleSums& sums, const Left& left, const PathSums* delays,
                                     Nanoseconds between) {
  // What else explains the same is asked of few faults: of many it takes seconds, and their number is news
  // enough.
  const auto purpose = many_ ? diagnosis::Purpose::settling : diagnosis::Purpose::verdict;
  const auto look_at = [&](const std::vector<bool>& suspected) {
    fill(sums, left, delays, suspected);
    return diagnosis::assess(*fabric_, observations_, tolerance_,
                             {.purpose = purpose, .log_prior = log_prior(between), .reach = false});
  };
  const auto suspected = delays == nullptr ? suspects(sums) : std::vector<bool>();
  auto assessment = look_at(suspected);
  const Diagnosis& found = assessment.diagnosis;
  const bool plain =
      found.groups.empty() && found.sets.empty() && found.fabric.empty() && found.ambiguous.empty() &&
      std::ranges::none_of(found.hosts, [](const HostFinding& host) { return host.cause && !host.link; });
  if (suspected.empty() || plain) return assessment;
  return look_at({});
}

/// A host's only cable, bad both ways, looks as the host does, and its leaf where there is no other host: the
/// cable is what is named.
void Looker::settle_on_cable(LookFinding& finding) const {
  IncidentPlace& place = finding.place;
  if (place.nodes.empty()) return;
  std::vector<ChannelId> channels = place.channels;
  if (channels.empty() && fabric_->is_host(place.nodes.front()))
    channels = fabric_->channels_at(place.nodes.front());
  const auto is_of_first = [&](ChannelId channel) {
    return Fabric::link_of(channel) == Fabric::link_of(channels.front());
  };
  if (channels.empty() || !std::ranges::all_of(channels, is_of_first)) return;
  std::ranges::sort(channels);
  place = {std::move(channels), {}};
}

LookAnswer Looker::look(const ScaleSums& sums, Nanoseconds between, const LookContext& context,
                        const PathSums* delays) {
  Left left{std::vector<bool>(fabric_->node_count(), false), std::vector<bool>(fabric_->node_count(), true),
            context.out};
  for (std::size_t node = 0; node < context.news.size(); ++node)
    left.out[node] = context.news[node] == HostNews::gone;
  LookAnswer answer;
  find_down(sums, context.news, left, answer);
  const std::vector<LookFinding> down = answer.findings;
  for (int alone = 0;; ++alone) {
    const auto assessment = assess(sums, left, delays, between);
    answer.findings = findings_of(assessment.diagnosis);
    many_ = answer.findings.size() > kMany || !assessment.diagnosis.fabric.empty();
    answer.account = assessment.diagnosis.account;
    answer.everywhere = !assessment.diagnosis.fabric.empty();
    std::optional<NodeId> liar;
    for (LookFinding& finding : answer.findings) {
      const auto teller = reported_alone(sums, left, finding);
      if (!teller) continue;
      finding.sure = false;
      liar = teller;
    }
    if (!liar || alone == kMaxAlone) break;
    left.reports[liar->value()] = false;
    answer.disbelieved.push_back(*liar);
  }
  std::ranges::sort(answer.disbelieved);
  std::vector<std::uint16_t> places(plan_->rows, 0);
  for (LookFinding& finding : answer.findings) {
    // One that loses no more than a healthy path may stands for something else.
    if (finding.cause == Cause::loss && finding.estimate && finding.estimate->high < tolerance_.loss.value())
      finding.sure = false;
    settle_on_cable(finding);
    if (finding.cause != Cause::delay)
      for (const std::uint32_t row : rows_over(finding.place)) ++places[row];
  }
  for (LookFinding& finding : answer.findings) judge(sums, left, context, places, finding);
  for (LookFinding& finding : answer.findings)
    if (finding.cause == Cause::loss && !finding.estimate)
      finding.share = share_of(sums, left, finding, answer.findings);
  std::ranges::copy(down, std::back_inserter(answer.findings));
  return answer;
}

}  // namespace weft::watch
