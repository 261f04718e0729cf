// How many spares a job needs, by simulation, and where its hosts and spares stand: in each leaf group, pod
// and rail.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "balancer/reliability/plan_parts.hpp"

namespace weft::reliability {
namespace {

constexpr std::array kAsked{0.99, 0.999, 0.9999};
constexpr double kUsual = 0.999;
constexpr double kOneSided = 1.644854;  // 95 % of a normal distribution
constexpr double kMinShort = 3;         // restarts without all hosts that there should be, to tell of them
// More histories where those asked for have too few restarts to tell of rare ones: about a second's work.
constexpr double kShortExpected = 4;
constexpr double kMaxMoreFailures = 1'000'000;
constexpr double kMaxMoreParts = 30'000'000;  // in all of these histories

/// The least number with which so many restarts had all hosts, by how many were out at each: with 95 %
/// confidence, where whole histories are what was drawn. Absent: so few restarts tell nothing of so rare a
/// thing.
std::optional<Index> spares_for(double asked, const std::vector<Outcome>& outcomes) {
  std::size_t most = 0;
  double all = 0;
  for (const Outcome& each : outcomes) {
    most = std::max(most, each.missing.size());
    all += each.restarts;
  }
  if (all * (1 - asked) < kMinShort) return std::nullopt;
  std::vector<double> without(outcomes.size());  // restarts of each history that lacked a host
  for (std::size_t h = 0; h < outcomes.size(); ++h) without[h] = outcomes[h].restarts;
  for (std::size_t spares = 0; spares < most; ++spares) {
    double sum = 0, square = 0;
    for (std::size_t h = 0; h < outcomes.size(); ++h) {
      if (spares < outcomes[h].missing.size()) without[h] -= outcomes[h].missing[spares];
      sum += without[h];
    }
    const double share = sum / all;
    for (std::size_t h = 0; h < outcomes.size(); ++h)
      square += std::pow(without[h] - share * outcomes[h].restarts, 2);
    if (share + kOneSided * std::sqrt(square) / all <= 1 - asked) return static_cast<Index>(spares);
  }
  return std::nullopt;
}

/// By number of spares: the share of restarts that lacked a host, until none did.
std::vector<double> short_of(const std::vector<Outcome>& outcomes) {
  double all = 0;
  std::vector<double> lacking;  // by hosts that were out
  for (const Outcome& each : outcomes) {
    all += each.restarts;
    if (lacking.size() < each.missing.size()) lacking.resize(each.missing.size(), 0);
    for (std::size_t out = 0; out < each.missing.size(); ++out) lacking[out] += each.missing[out];
  }
  if (all <= 0) return {};
  double left = all;
  for (double& each : lacking) left -= each, each = std::max(left, 0.0) / all;
  return lacking;
}

/// So many that .9999 can be told, or what is cheap.
std::size_t histories_for_spares(const HistorySource& source, const PlanRequest& request,
                                 double interruptions) {
  const Plant& plant = source.plant();
  const double restarts = std::max(interruptions, 1e-9);
  const double failures = std::max(source.expected_failures(request.length), 1e-9);
  constexpr double kAgeing = 20;  // what drawing a part that ages takes, over one that does not
  const double parts = static_cast<double>(plant.hosts + plant.switches.size() + plant.cables.size()) +
                       kAgeing * static_cast<double>(source.ageing_parts());
  const double wanted = kShortExpected / (1 - kAsked.back()) / restarts;
  const double most = std::min({wanted, kMaxMoreFailures / failures, kMaxMoreParts / parts});
  return std::max(request.histories, static_cast<std::size_t>(std::min(most, double{kMaxHistories})));
}

/// A larger pool has more hosts out: the second look is at a pool of the size that the first one found.
SpareSearch search_in(Trials& trials, const Drawn& drawn, Job job, Index wanted) {
  job.spares = wanted;
  const auto first = trials.run(drawn, job);
  SpareSearch found{.steps = {}, .short_of = short_of(first)};
  for (const double asked : kAsked) {
    SpareStep step{.asked = asked, .spares = spares_for(asked, first), .independent = 0};
    // Below one leaf a pool is out with all its spares, however many: it must reach beyond.
    const Index most = drawn.source.plant().hosts - job.hosts;
    for (Index tried = step.spares.value_or(0); step.spares; tried = std::max(*step.spares, tried * 2)) {
      job.spares = std::min(tried, most);
      step.spares = spares_for(asked, trials.run(drawn, job));
      const Index least = step.spares.value_or(0);
      if (job.spares == most || (least <= tried + tried / 8 + 1 && least < job.pool())) break;
    }
    found.steps.push_back(step);
  }
  return found;
}

/// Hosts of each group, by host; each host once in a group.
using Groups = std::vector<std::vector<Index>>;

Groups leaf_groups(const Plant& plant) {
  std::map<std::vector<Index>, bool> seen;
  for (const Index leaf : plant.of_tier[0])
    if (!plant.switches[leaf].hosts.empty()) seen.emplace(plant.switches[leaf].hosts, true);
  Groups groups;
  for (const auto& [hosts, yes] : seen) groups.push_back(hosts);
  return groups;
}

/// Of the leaves that have that number.
Groups groups_by(const Plant& plant, std::optional<Index> Switch::*number) {
  std::map<Index, std::vector<Index>> of;
  for (const Index leaf : plant.of_tier[0]) {
    const Switch& what = plant.switches[leaf];
    if (what.*number)
      of[*(what.*number)].insert(of[*(what.*number)].end(), what.hosts.begin(), what.hosts.end());
  }
  Groups groups;
  for (auto& [key, hosts] : of) {
    std::ranges::sort(hosts);
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    groups.push_back(std::move(hosts));
  }
  return groups;
}

/// In those of the groups that have a host of the pool at all.
Span span_of(const Groups& groups, const Job& job, bool spares_alone) {
  Span span{.least = job.pool(), .most = 0};
  for (const auto& hosts : groups) {
    Index all = 0, spares = 0;
    for (const Index host : hosts)
      if (host < job.pool()) ++all, spares += job.is_spare(host) ? 1 : 0;
    if (all == 0) continue;
    const Index count = spares_alone ? spares : all;
    span = {std::min(span.least, count), std::max(span.most, count)};
  }
  return {std::min(span.least, span.most), span.most};
}

Index groups_with_hosts(const Groups& groups, Index pool) {
  return static_cast<Index>(std::ranges::count_if(groups, [&](const auto& hosts) {
    return std::ranges::any_of(hosts, [&](Index host) { return host < pool; });
  }));
}

}  // namespace

/// Where the fabric has no room for that many, a larger one of its form is looked at.
SpareSearch look_for_spares(Trials& trials, const Drawn& drawn, const PlanRequest& request, const Job& job,
                            double interruptions) {
  const Plant& plant = drawn.source.plant();
  const Index room = plant.hosts - job.hosts, wanted = std::max<Index>(job.hosts / 32, 16);
  const auto look_in = [&](const HistorySource& source) {
    const std::size_t count = histories_for_spares(source, request, interruptions);
    trials.begin("looking for spares", 8 * count);
    if (&source == &drawn.source && count == drawn.histories.size())
      return search_in(trials, drawn, job, wanted);
    return search_in(trials, trials.draw(source, count), job, wanted);
  };
  if (room >= wanted) return look_in(drawn.source);
  const auto large = enlarged(plant, (std::uint64_t{job.hosts} + wanted) * plant.gpus_per_host);
  return large ? look_in(HistorySource(*large, drawn.source.rates())) : SpareSearch();
}

/// Where too few restarts tell of it, as many as the one needed that lacked most.
Index usual_spares(const SpareSearch& found, Index room) {
  const auto lacked = static_cast<Index>(std::max<std::size_t>(found.short_of.size(), 1) - 1);
  const auto usual = std::ranges::find(found.steps, kUsual, &SpareStep::asked);
  return usual == found.steps.end() ? 0 : std::min(room, usual->spares.value_or(lacked));
}

std::vector<PodRow> pods_of(const Plant& plant, const Job& job) {
  std::map<Index, PodRow> pods;
  std::vector<bool> seen(job.pool(), false);
  for (const Index leaf : plant.of_tier[0]) {
    const Switch& what = plant.switches[leaf];
    if (!what.pod) continue;
    for (const Index host : what.hosts) {
      if (host >= seen.size() || seen[host]) continue;
      seen[host] = true;
      PodRow& row = pods[*what.pod];
      row.pod = *what.pod;
      ++row.hosts, row.spares += job.is_spare(host) ? 1 : 0;
    }
  }
  std::vector<PodRow> rows;
  for (const auto& [pod, row] : pods) rows.push_back(row);
  return rows;
}

std::vector<WhereRow> where_hosts_stand(const Plant& plant, const Job& job,
                                        const std::vector<SpareStep>& steps) {
  std::vector<WhereRow> rows;
  const auto add = [&](const char* kind, const Groups& groups) {
    if (groups.empty()) return;
    WhereRow row{.kind = kind,
                 .groups = groups_with_hosts(groups, job.pool()),
                 .hosts = span_of(groups, job, false),
                 .spares = span_of(groups, job, true),
                 .of_step = {}};
    for (const SpareStep& each : steps) {
      Job other = job;
      if (each.spares) other.spares = *each.spares;
      const bool fits = each.spares && other.pool() <= plant.hosts;
      row.of_step.push_back(fits ? std::optional(span_of(groups, other, true)) : std::nullopt);
    }
    rows.push_back(std::move(row));
  };
  add("leaf group", leaf_groups(plant));
  add("pod", groups_by(plant, &Switch::pod));
  add("rail", groups_by(plant, &Switch::rail));
  return rows;
}

}  // namespace weft::reliability
