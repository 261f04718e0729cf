#include "cli/infiniband_reading.hpp"

#include <algorithm>
#include <set>

namespace weft {

Result<std::vector<std::vector<ChannelId>>> expected_paths(const LabelPaths& label,
                                                           const FabricMatch& match) {
  if (label.end != RouteEnd::arrived) return fail(ErrorKind::absent, "{}", to_string(label.end));
  if (label.too_many)
    return fail(ErrorKind::not_supported, "adaptive routing gives it more than {} paths", kMostPathsOfLabel);
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

Result<InfinibandReading> read_infiniband(Mads& mads, const Fabric& expected) {
  auto discovery = discover_subnet(mads);
  if (!discovery) return pass_on(discovery);
  auto found = build_infiniband_fabric(discovery->subnet, expected.name());
  if (!found) return pass_on(found);
  auto match = match_fabrics(expected, found->fabric);
  auto tables = read_tables(mads, *found, discovery->routes);
  if (!tables) return pass_on(tables);
  auto counters = read_counters(mads, *found);
  if (!counters) return pass_on(counters);
  return InfinibandReading{std::move(*found), std::move(discovery->routes), std::move(match),
                           std::move(*tables), std::move(*counters)};
}

std::map<std::string, std::size_t> adopt_paths(PathLearner& learner, const InfinibandReading& reading,
                                               const std::vector<PortId>& nics) {
  std::map<std::string, std::size_t> without;
  AdaptiveRoutes routes(reading.found.fabric, reading.tables.tables);
  for (const PortId src : nics)
    for (const PortId dst : nics) {
      const auto from = reading.match.found_nic[src.value()];
      const auto to = reading.match.found_nic[dst.value()];
      const auto lids = to ? reading.tables.tables.lids_of(*to) : std::nullopt;
      if (src == dst || !from || !lids) continue;
      for (std::uint32_t i = 0; i < lids->count(); ++i) {
        const Lid lid(static_cast<std::uint16_t>(lids->base.value() + i));
        if (const auto paths = expected_paths(routes.walk(*from, lid), reading.match))
          learner.adopt(src, dst, PathLabel(lid.value()), *paths);
        else
          ++without[paths.error().message];
      }
    }
  return without;
}

std::size_t changed_routes(const InfinibandReading& reading, const ForwardingTables& now,
                           const std::vector<PortId>& nics) {
  std::size_t changed = 0;
  for (const PortId src : nics)
    for (const PortId dst : nics) {
      const auto from = reading.match.found_nic[src.value()];
      const auto to = reading.match.found_nic[dst.value()];
      const auto lids = to ? now.lids_of(*to) : std::nullopt;
      for (std::uint32_t i = 0; src != dst && from && lids && i < lids->count(); ++i) {
        const Lid lid(static_cast<std::uint16_t>(lids->base.value() + i));
        const LidRoute before = reading.tables.tables.walk(*from, lid);
        const LidRoute after = now.walk(*from, lid);
        if (!std::ranges::equal(before.path(), after.path())) ++changed;
      }
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

std::vector<std::string> routing_notes(const InfinibandReading& reading, const std::string& routes_command) {
  std::vector<std::string> notes;
  const RoutingReport report = report_routing(reading.found, reading.tables.tables);
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

}  // namespace weft
