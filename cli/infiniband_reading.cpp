#include "cli/infiniband_reading.hpp"

#include <algorithm>
#include <set>

#include "probes/plan/scope.hpp"

namespace weft::cli {

Result<std::vector<std::vector<ChannelId>>> expected_paths(const routing::LabelPaths& label,
                                                           const discover::FabricMatch& match) {
  if (label.end != routing::RouteEnd::arrived) return fail(ErrorKind::absent, "{}", to_string(label.end));
  if (label.too_many)
    return fail(ErrorKind::not_supported, "adaptive routing gives it more than {} paths",
                routing::kMaxPathsOfLabel);
  std::vector<std::vector<ChannelId>> paths;
  for (const auto& found : label.paths) {
    auto& path = paths.emplace_back();
    for (const ChannelId channel : found) {
      const auto expected = match.expected[channel.value()];
      if (!expected) return fail(ErrorKind::not_found, "it takes links that are not in the fabric file");
      path.push_back(*expected);
    }
  }
  return paths;
}

Result<InfinibandReading> read_infiniband_routes(mad::Mads& mads, const Fabric& expected,
                                                 const std::stop_token& stop) {
  WEFT_TRY(auto discovery, discover::discover_subnet(mads, {}, stop));
  WEFT_TRY(auto found, build_infiniband_fabric(discovery.subnet, expected.name()));
  auto match = discover::match_fabrics(expected, found.fabric);
  WEFT_TRY(auto tables, read_tables(mads, found, discovery.routes, {}, stop));
  return InfinibandReading{
      std::move(found), std::move(discovery.routes), std::move(match), std::move(tables), {}};
}

Result<InfinibandReading> read_infiniband(mad::Mads& mads, const Fabric& expected) {
  WEFT_TRY(auto reading, read_infiniband_routes(mads, expected));
  WEFT_TRY(reading.counters, counters::read_counters(mads, reading.found));
  return reading;
}

namespace {

/// The NICs of a pair as they were found, and the LIDs of the second.
struct FoundPair {
  PortId from;
  LidRange lids;
};
std::optional<FoundPair> found_pair(const InfinibandReading& reading, const routing::ForwardingTables& tables,
                                    const plan::NicPair& pair) {
  const auto from = reading.match.found_nic[pair.src.value()];
  const auto to = reading.match.found_nic[pair.dst.value()];
  const auto lids = to ? tables.lids_of(*to) : std::nullopt;
  return from && lids ? std::optional(FoundPair{*from, *lids}) : std::nullopt;
}

template <class F>
void for_each_lid(const LidRange& lids, F visit) {
  for (std::uint32_t i = 0; i < lids.count(); ++i)
    visit(Lid(static_cast<std::uint16_t>(lids.base.value() + i)));
}

/// The channels of the fabric file on the ways of all labels of a pair.
std::vector<ChannelId> ways_of(const InfinibandReading& reading, const plan::NicPair& pair) {
  const routing::ForwardingTables& tables = reading.tables.tables;
  std::vector<ChannelId> channels;
  const auto found = found_pair(reading, tables, pair);
  if (!found) return channels;
  for_each_lid(found->lids, [&](Lid lid) {
    const routing::LidRoute route = tables.walk(found->from, lid);
    for (const ChannelId channel : route.path())
      if (const auto known = reading.match.expected[channel.value()]) channels.push_back(*known);
  });
  return channels;
}

}  // namespace

std::vector<bool> scope_of(const InfinibandReading& reading, const Fabric& expected,
                           const std::vector<PortId>& nics) {
  return plan::channels_in_scope(expected, nics,
                                 [&](const plan::NicPair& pair) { return ways_of(reading, pair); });
}

std::vector<plan::NicPair> pairs_to_probe(const InfinibandReading& reading, const Fabric& expected,
                                          const std::vector<PortId>& without,
                                          const std::vector<bool>& scope) {
  const routing::ForwardingTables& tables = reading.tables.tables;
  const auto load = report_routing(reading.found, tables).load;
  std::vector<bool> used(expected.channel_count(), false);
  for (std::uint32_t c = 0; c < used.size(); ++c)
    if (const auto found = reading.match.found[c])
      used[c] = load[found->value()] > 0 && (scope.empty() || scope[c]);
  std::size_t labels = 1;
  for (const PortId nic : expected.nics())
    if (const auto found = reading.match.found_nic[nic.value()])
      if (const auto lids = tables.lids_of(*found)) labels = std::max<std::size_t>(labels, lids->count());
  return plan::choose_table_pairs(
      expected, used, labels, [&](const plan::NicPair& pair) { return ways_of(reading, pair); }, without);
}

bool is_reached(const InfinibandReading& reading, PortId from, PortId to) {
  const routing::ForwardingTables& tables = reading.tables.tables;
  const auto found = found_pair(reading, tables, {from, to});
  if (!found) return false;
  bool arrives = false;
  for_each_lid(found->lids, [&](Lid lid) {
    arrives = arrives || tables.walk(found->from, lid).end == routing::RouteEnd::arrived;
  });
  return arrives;
}

std::vector<plan::Echo> possible_echoes(const InfinibandReading& reading, const Fabric& expected,
                                        const std::vector<PortId>& askers) {
  const routing::ForwardingTables& tables = reading.tables.tables;
  std::vector<plan::Echo> echoes;
  routing::AdaptiveRoutes routes(reading.found.fabric, tables);
  // Of a label that adaptive routing gives several ways nobody knows which one an echo took.
  const auto way = [&](PortId from, Lid to) -> std::vector<ChannelId> {
    const auto paths = expected_paths(routes.walk(from, to), reading.match);
    return paths && paths->size() == 1 ? paths->front() : std::vector<ChannelId>();
  };
  for (const PortId asker : askers)
    for (const PortId nic : expected.nics()) {
      if (std::ranges::find(askers, nic) != askers.end()) continue;
      const auto there = found_pair(reading, tables, {asker, nic});
      const auto back = found_pair(reading, tables, {nic, asker});
      if (!there || !back) continue;
      const Lid home = back->lids.base;  // questions leave with the first LID of their port
      for_each_lid(there->lids, [&](Lid lid) {
        plan::Echo echo{{asker, nic}, PathLabel(lid.value()), PathLabel(home.value()), {}, {}};
        echo.there = way(there->from, lid);
        echo.back = way(back->from, home);
        if (!echo.there.empty() && !echo.back.empty()) echoes.push_back(std::move(echo));
      });
    }
  return echoes;
}

std::map<std::string, std::size_t> adopt_paths(plan::PathLearner& learner, const InfinibandReading& reading,
                                               const std::vector<plan::NicPair>& pairs) {
  std::map<std::string, std::size_t> without;
  routing::AdaptiveRoutes routes(reading.found.fabric, reading.tables.tables);
  for (const plan::NicPair& pair : pairs) {
    const auto found = found_pair(reading, reading.tables.tables, pair);
    if (!found) continue;
    for_each_lid(found->lids, [&](Lid lid) {
      if (const auto paths = expected_paths(routes.walk(found->from, lid), reading.match))
        learner.adopt(pair.src, pair.dst, PathLabel(lid.value()), *paths);
      else
        ++without[paths.error().message];
    });
  }
  return without;
}

std::size_t changed_routes(const InfinibandReading& reading, const routing::ForwardingTables& now,
                           const std::vector<plan::NicPair>& pairs) {
  std::size_t changed = 0;
  for (const plan::NicPair& pair : pairs) {
    const auto found = found_pair(reading, now, pair);
    if (!found) continue;
    for_each_lid(found->lids, [&](Lid lid) {
      const routing::LidRoute before = reading.tables.tables.walk(found->from, lid);
      const routing::LidRoute after = now.walk(found->from, lid);
      if (!std::ranges::equal(before.path(), after.path())) ++changed;
    });
  }
  return changed;
}

AddressBook gids_of(const InfinibandReading& reading, const Fabric& expected) {
  std::vector<std::optional<IpAddress>> gids(expected.port_count());
  std::set<Guid> seen;  // no two ports have one; what a device says of itself is not to be trusted
  for (const PortId nic : expected.nics())
    if (const auto found = reading.match.found_nic[nic.value()])
      if (const Guid guid = reading.found.inventory.ports[found->value()].port_guid; seen.insert(guid).second)
        gids[nic.value()] = gid_address(guid);
  return AddressBook(std::move(gids));
}

std::optional<LidRange> lids_of(const InfinibandReading& reading, PortId nic) {
  const auto found = reading.match.found_nic[nic.value()];
  return found ? reading.found.inventory.ports[found->value()].lids : std::nullopt;
}

std::vector<std::string> match_notes(const discover::FabricMatch& match, const std::string& check_command) {
  constexpr std::size_t kMaxShown = 4;
  std::vector<std::string> notes;
  const auto shown = std::min(match.remarks.size(), kMaxShown);
  for (std::size_t i = 0; i < shown; ++i) notes.push_back(to_string(match.remarks[i]));
  if (match.remarks.size() > shown)
    notes.push_back(fmt::format("{} more are renamed or replaced: {} tells which",
                                match.remarks.size() - shown, check_command));
  return notes;
}

std::vector<std::string> routing_notes(const InfinibandReading& reading, const std::string& routes_command) {
  std::vector<std::string> notes;
  const routing::RoutingReport report = report_routing(reading.found, reading.tables.tables);
  if (report.unreachable > 0)
    notes.push_back(fmt::format("{} of {} routes do not arrive, {} of them run in circles: {} tells which",
                                report.unreachable, report.routes, report.looping, routes_command));
  if (!report.credit_loop.empty())
    notes.push_back(
        fmt::format("{} channels wait for each other in a ring: full buffers would stop it for good",
                    report.credit_loop.size()));
  if (report.adaptive.on > 0) notes.push_back("adaptive routing is " + describe_adaptive(report.adaptive));
  return notes;
}

}  // namespace weft::cli
