#include "probes/watch/crossings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "topology/model/fabric.hpp"

namespace weft::watch {
namespace {

/// What a channel is for the incident in question.
struct Role {
  bool is_mine = false;
  bool is_greater = false;  // an open incident that takes more is there
  double hazard = 0;        // -ln of what lesser open incidents there let through
};

std::vector<Role> roles(const Fabric& fabric, const WatchedIncident& mine,
                        std::span<const WatchedIncident> all) {
  std::vector<Role> roles(fabric.channel_count());
  for (const ChannelId channel : channels_at(fabric, mine.incident->place))
    roles[channel.value()].is_mine = true;
  for (const WatchedIncident& other : all) {
    if (other.incident->id == mine.incident->id || other.incident->state != IncidentState::open) continue;
    const bool is_greater =
        other.loss > mine.loss || (other.loss == mine.loss && other.incident->id < mine.incident->id);
    for (const ChannelId channel : channels_at(fabric, other.incident->place)) {
      Role& role = roles[channel.value()];
      if (role.is_mine) continue;
      role.is_greater |= is_greater && other.loss > 0;
      role.hazard += -std::log1p(-std::min(other.loss, 1 - 1e-9));
    }
  }
  return roles;
}

class Crossing {
 public:
  Crossing(const Fabric& fabric, const WatchedIncident& mine, std::span<const WatchedIncident> all)
      : fabric_(&fabric),
        mine_(&mine),
        roles_(roles(fabric, mine, all)),
        passed_(fabric.channel_count(), 0) {}

  void add(const PlanSecond& second, const std::vector<bool>& told) {
    const StandingPlan& plan = *second.plan;
    const auto& nodes = mine_->incident->place.nodes;
    auto lost_at = second.sums.lost.begin();
    for (const std::uint32_t row : second.looker->rows_over(mine_->incident->place)) {
      const std::uint32_t n = plan.nic_of(row);
      const StandingNic& nic = plan.nics[n];
      const std::uint32_t s = row - nic.first_row;
      const NodeId peer = fabric_->port(nic.streams[s].peer).node;
      const std::uint64_t sent = second.sums.telling(n, nic, s);
      if (sent == 0 || (!told[peer.value()] && std::ranges::find(nodes, peer) == nodes.end())) continue;
      lost_at = std::ranges::lower_bound(lost_at, second.sums.lost.end(), row, {},
                                         [](const auto& one) { return one.first; });
      const bool lost_some = lost_at != second.sums.lost.end() && lost_at->first == row;
      add_row(RowChannels(plan.paths, roles_.size()), nic.streams[s], sent,
              lost_some ? lost_at->second : RowLosses{});
    }
  }

  Crossed told(const StandingPlan& plan) const {
    Crossed all{.lost = lost_, .beside = beside_};
    std::optional<std::uint64_t> fewest;
    for (std::size_t c = 0; c < roles_.size(); ++c)
      if (roles_[c].is_mine && plan.crossings[c] > 0) fewest = std::min(fewest.value_or(~0ull), passed_[c]);
    all.passed = fewest.value_or(0);
    return all;
  }

 private:
  void add_row(const RowChannels& rows, const StandingStream& stream, std::uint64_t sent,
               const RowLosses& lost) {
    double hazard = 0;
    bool is_greater = false;
    for (const PathSetId set : {stream.there, stream.back})
      rows.for_each(set, [&](ChannelId channel) {
        hazard += roles_[channel.value()].hazard;
        is_greater |= roles_[channel.value()].is_greater;
      });
    if (is_greater) return;
    const auto left = [](std::uint64_t of, std::uint64_t less) { return of - std::min(of, less); };
    const std::uint64_t came = left(sent, lost.there + lost.open);
    pass(rows, stream.there, came);
    pass(rows, stream.back, left(came, lost.back));
    std::uint32_t here = 0;
    rows.for_each_lost(stream, lost, [&](ChannelId channel, std::uint32_t gone) {
      if (roles_[channel.value()].is_mine) here = std::max(here, gone);
    });
    if (hazard == 0) {
      lost_ += here;
    } else {
      // By Bayes' rule: lost where both are bad, over lost where the others alone are.
      const double others = -std::expm1(-hazard);
      beside_ += here * std::log((1 - (1 - mine_->loss) * (1 - others)) / others);
    }
  }

  void pass(const RowChannels& rows, PathSetId set, std::uint64_t passed) {
    rows.for_each(set, [&](ChannelId channel) {
      if (roles_[channel.value()].is_mine) passed_[channel.value()] += passed;
    });
  }

  const Fabric* fabric_;
  const WatchedIncident* mine_;
  std::vector<Role> roles_;
  std::vector<std::uint64_t> passed_;
  std::uint64_t lost_ = 0;
  double beside_ = 0;
};

}  // namespace

Crossed crossed(const Fabric& fabric, std::span<const PlanSecond> seconds, const std::vector<bool>& told,
                const WatchedIncident& mine, std::span<const WatchedIncident> all) {
  Crossing crossing(fabric, mine, all);
  for (const PlanSecond& second : seconds) crossing.add(second, told);
  return crossing.told(*seconds.front().plan);
}

}  // namespace weft::watch
