#include "probes/watch/route_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "probes/watch/assignment_json.hpp"
#include "topology/base/check.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/model/fabric.hpp"

namespace weft::watch {

RouteChecks::RouteChecks(const Fabric& fabric, const AddressBook* addresses, const StandingPlan& plan)
    : fabric_(&fabric), addresses_(addresses), plan_(&plan), hops_(plan.rows, 0) {
  if (addresses == nullptr) return;
  std::vector<double> asked(fabric.node_count(), 0.0);  // a second, were each NIC to trace once in it
  for (const StandingNic& nic : plan.nics) {
    std::vector<NodeId> answer;
    for (std::uint32_t s = 0; s < nic.streams.size(); ++s) {
      const std::uint32_t row = nic.first_row + s;
      hops_[row] = hop_to_ask(row, nic.streams[s]);
      if (hops_[row] == 0) continue;
      const auto path = plan.paths.channels(plan.paths.paths(nic.streams[s].there).front());
      answer.push_back(fabric.target_node(path[hops_[row] - 1u]));
    }
    for (const NodeId node : answer) asked[node.value()] += 1.0 / static_cast<double>(answer.size());
  }
  const double most = asked.empty() ? 0.0 : *std::ranges::max_element(asked);
  if (most > 0) rate_ = std::max(std::min(kTracesASecond, kAnswersASecond / most), kMinTraces);
}

/// The switch in the middle of the way, where ways up end: in a Clos fabric it tells the way there. The port
/// by which the next switch is entered tells, too, which of several cables down was taken: half of the rows
/// ask that one, where it has an address of its own.
std::uint8_t RouteChecks::hop_to_ask(std::uint32_t row, const StandingStream& stream) const {
  const auto path = plan_->paths.channels(plan_->paths.paths(stream.there).front());
  if (path.size() <= 2) return 0;  // one switch: there is no other way
  const std::size_t middle = (path.size() + 1) / 2;
  const auto is_port = [&](std::size_t hop) {
    return hop < path.size() && hop <= kMaxTraceHop &&
           addresses_->address_of(fabric_->target(path[hop - 1])).has_value();
  };
  if (mix_bits(row) % 2 == 1 && is_port(middle + 1)) return static_cast<std::uint8_t>(middle + 1);
  const bool answers = is_port(middle) || addresses_->address_of(fabric_->target_node(path[middle - 1]));
  return answers && middle <= kMaxTraceHop ? static_cast<std::uint8_t>(middle) : 0;
}

void RouteChecks::add_to(Assignment& assignment, NodeId host) const {
  const auto nics = plan_->nics_of(host);
  WEFT_CHECK(assignment.nics.size() == nics.size());
  for (std::size_t n = 0; n < nics.size(); ++n) {
    NicSchedule& schedule = assignment.nics[n];
    schedule.traces_per_second = rate_;
    for (std::uint32_t s = 0; s < schedule.streams.size(); ++s)
      schedule.streams[s].trace_hop = hops_[nics[n].first_row + s];
  }
}

/// Of a route that the fabric sprays any of its paths fits.
HopSays RouteChecks::says(const StandingStream& stream, std::uint8_t hop, const IpAddress& from) const {
  const auto port = addresses_->port_of(from);
  const auto node = port ? std::optional(fabric_->port(*port).node) : addresses_->node_of(from);
  if (!node || fabric_->is_host(*node)) return HopSays::nothing;
  bool comes_before = false;
  for (const PathId id : plan_->paths.paths(stream.there)) {
    const auto path = plan_->paths.channels(id);
    for (std::size_t i = 0; i < std::min<std::size_t>(hop, path.size()); ++i) {
      const bool is_there = port ? fabric_->target(path[i]) == *port : fabric_->target_node(path[i]) == *node;
      if (is_there && i + 1 == hop) return HopSays::fits;
      comes_before |= is_there;
    }
  }
  return comes_before ? HopSays::nothing : HopSays::elsewhere;
}

HopSays RouteChecks::says(const MovedRoute& answer) const {
  if (addresses_ == nullptr) return HopSays::nothing;
  for (const StandingNic& nic : plan_->nics_of(fabric_->port(answer.src).node))
    for (const StandingStream& stream : nic.streams)
      if (nic.nic == answer.src && stream.peer == answer.dst && stream.label == answer.label)
        return says(stream, answer.hop, answer.from);
  return HopSays::nothing;
}

std::optional<MovedRoute> RouteChecks::take(std::uint32_t row, const IpAddress& from) {
  if (addresses_ == nullptr || hops_[row] == 0) return std::nullopt;
  const StandingNic& nic = plan_->nics[plan_->nic_of(row)];
  const StandingStream& stream = nic.streams[row - nic.first_row];
  const HopSays said = says(stream, hops_[row], from);
  if (said == HopSays::fits) moved_.erase(row);
  if (said != HopSays::elsewhere) return std::nullopt;
  moved_.insert(row);
  return MovedRoute{nic.nic, stream.peer, stream.label, hops_[row], from};
}

std::string moved_text(const Fabric& fabric, const AddressBook& addresses, const MovedRoute& moved) {
  const auto port = addresses.port_of(moved.from);
  const auto channel = port ? fabric.channel_into(*port) : std::nullopt;
  const auto node = addresses.node_of(moved.from);
  const std::string way = channel ? "by " + fabric.name_of(*channel)
                                  : "to " + (node ? fabric.name_of(*node) : to_string(moved.from));
  return fmt::format("routes moved: label {} from {} to {} goes {} at hop {}; paths are mapped again",
                     moved.label.value(), fabric.name_of_nic(moved.src), fabric.name_of_nic(moved.dst), way,
                     moved.hop);
}

}  // namespace weft::watch
