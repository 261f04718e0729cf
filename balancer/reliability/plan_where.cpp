// Where spares stand: in each leaf group, pod and rail. And how often a sweep would pay if something were
// silent.
#include <algorithm>
#include <map>
#include <set>

#include "balancer/blacklist/capacity.hpp"
#include "balancer/reliability/planner.hpp"

namespace weft::reliability {
namespace {

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

/// Of a blacklist: what may be taken out for being slow.
void Planner::note_caps() {
  const std::size_t cables = plant_.cables.size();
  plan_.drains_allowed = blacklist::hosts_allowed({}, plant_.hosts);
  plan_.cable_drains_allowed =
      cables == 0 ? 0 : blacklist::allowed_of(blacklist::Caps().fabric_links, 1, cables);
  plan_.job.most_drained = static_cast<Index>(plan_.drains_allowed);
  plan_.job.caps = true;
}

void Planner::note_pods() {
  std::map<Index, PodRow> pods;
  std::vector<bool> seen(plan_.job.pool(), false);
  for (const Index leaf : plant_.of_tier[0]) {
    const Switch& what = plant_.switches[leaf];
    if (!what.pod) continue;
    for (const Index host : what.hosts) {
      if (host >= seen.size() || seen[host]) continue;
      seen[host] = true;
      PodRow& row = pods[*what.pod];
      row.pod = *what.pod;
      ++row.hosts, row.spares += plan_.job.is_spare(host) ? 1 : 0;
    }
  }
  for (const auto& [pod, row] : pods) plan_.pods.push_back(row);
}

void Planner::note_where() {
  const auto add = [&](const char* kind, const Groups& groups) {
    if (groups.empty()) return;
    WhereRow row{.kind = kind,
                 .groups = groups_with_hosts(groups, plan_.job.pool()),
                 .hosts = span_of(groups, plan_.job, false),
                 .spares = span_of(groups, plan_.job, true),
                 .of_step = {}};
    for (const SpareStep& each : plan_.steps) {
      Job job = plan_.job;
      if (each.spares) job.spares = *each.spares;
      const bool fits = each.spares && job.pool() <= plant_.hosts;
      row.of_step.push_back(fits ? std::optional(span_of(groups, job, true)) : std::nullopt);
    }
    plan_.where.push_back(std::move(row));
  };
  add("leaf group", leaf_groups(plant_));
  add("pod", groups_by(plant_, &Switch::pod));
  add("rail", groups_by(plant_, &Switch::rail));
}

/// Of this fabric: a name that it does not have changes nothing.
void Planner::note_offenders() {
  constexpr double kProbable = 0.5;
  for (const files::ClassRates& each : rates_.classes) {
    std::set<std::string> names;
    if (!each.known.empty())
      for (Index part = 0; part < plant_.count(each.part); ++part)
        names.insert(plant_.name_of(each.part, part));
    for (const files::KnownPart& one : each.known)
      if (one.offender >= kProbable && names.contains(one.name))
        plan_.offenders.push_back({each.part, one.name, one.events, one.ratio, one.offender});
  }
  std::ranges::stable_sort(plan_.offenders, std::ranges::greater(), &OffenderRow::offender);
}

/// What is silent is counted by nobody who does not look for it, so that rates without it are no proof.
void Planner::note_if_silent() {
  double rate = 0, slowdown = 0;
  for (const files::ClassRates& each : rates_.classes) {
    if (each.part != PartClass::nic && each.part != PartClass::host_cable &&
        each.part != PartClass::switch_cable)
      continue;
    const double failures = source_.expected_of(static_cast<std::size_t>(each.part), request_.length) /
                            request_.length.count() *
                            share_of_job(static_cast<std::size_t>(each.part), Of::job);
    rate += failures, slowdown += failures * lost_to(each, plan_.job);
  }
  if (!(slowdown > 0)) return;
  for (const double share : {0.01, 0.1, 1.0})
    plan_.if_silent.push_back({share, sweep_interval(plan_.job.sweeps.cost, rate * share, slowdown / rate)});
}

}  // namespace weft::reliability
