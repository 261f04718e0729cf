#include "balancer/assign/ecmp_spread.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "balancer/assign/capacities.hpp"
#include "balancer/assign/routes.hpp"
#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

// As many draws as fit into some tenths of a second and tens of megabytes: two hundred give the twentieth
// parts to one draw in ten.
constexpr std::size_t kMaxDraws = 200;
constexpr std::size_t kMinDraws = 5;
constexpr std::size_t kMaxSteps = 10'000'000;  // a QP in a draw
constexpr std::size_t kMaxLoads = 4'000'000;   // a channel in a draw

std::size_t draws_for(const Fabric& fabric, const demand::Demand& demand, std::uint32_t qps) {
  std::size_t items = 1;
  for (const demand::Phase& phase : demand.phases) items += phase.flows.size() * qps;
  return std::clamp(std::min(kMaxSteps / items, kMaxLoads / (fabric.channel_count() + 1)), kMinDraws,
                    kMaxDraws);
}

class Draws {
 public:
  Draws(const Fabric& fabric, const AssignOptions& options, std::size_t count)
      : capacities_(fabric, options.avoid),
        routes_(fabric, capacities_),
        qps_(options.qps),
        random_(options.seed),
        loads_(count, std::vector<double>(fabric.channel_count())),
        sums_(count) {}

  /// The flows of one pair of leaves after another: routes are found once for a pair.
  void add(const demand::Phase& phase) {
    struct Item {
      LeafId from, to;
      const demand::Flow* flow;
    };
    std::vector<Item> items;
    for (const demand::Flow& flow : phase.flows) {
      const auto from = routes_.leaf_of(flow.src);
      const auto to = routes_.leaf_of(flow.dst);
      if (from && to && *from != *to) items.push_back({*from, *to, &flow});
    }
    std::ranges::stable_sort(items, {}, [](const Item& i) { return std::pair(i.from, i.to); });
    std::vector<SwitchRoute> between;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i == 0 || items[i].from != items[i - 1].from || items[i].to != items[i - 1].to)
        between = routes_.between(items[i].from, items[i].to);
      has_choice_ = has_choice_ || between.size() > 1;
      if (!between.empty()) spread(*items[i].flow, between);
    }
    end_phase();
  }

  std::vector<double> sums() && { return has_choice_ ? std::move(sums_) : std::vector<double>(); }

 private:
  void spread(const demand::Flow& flow, const std::vector<SwitchRoute>& between) {
    const double bytes = static_cast<double>(flow.bytes.count()) / qps_;
    for (auto& load : loads_)
      for (std::uint32_t q = 0; q < qps_; ++q)
        for (const ChannelId channel : between[random_() % between.size()].channels())
          load[channel.value()] += bytes;
  }

  void end_phase() {
    for (std::size_t d = 0; d < loads_.size(); ++d) {
      double busiest = 0;
      for (std::uint32_t c = 0; c < loads_[d].size(); ++c) {
        if (loads_[d][c] > 0)
          busiest = std::max(
              busiest, loads_[d][c] * capacities_.reference().bits_per_second() / capacities_[ChannelId(c)]);
        loads_[d][c] = 0;
      }
      sums_[d] += busiest;
    }
  }

  Capacities capacities_;
  Routes routes_;
  std::uint32_t qps_;
  std::mt19937_64 random_;
  std::vector<std::vector<double>> loads_;  // by draw, then channel: of this phase
  std::vector<double> sums_;                // by draw: of the phases before
  bool has_choice_ = false;
};

}  // namespace

EcmpSpread ecmp_spread(const Fabric& fabric, const demand::Demand& demand, const AssignOptions& options) {
  Draws draws(fabric, options, draws_for(fabric, demand, options.qps));
  for (const demand::Phase& phase : demand.phases) draws.add(phase);
  auto sums = std::move(draws).sums();
  if (sums.empty()) return {};
  std::ranges::sort(sums);
  const auto at = [&](double share) {
    return sums[static_cast<std::size_t>(std::lround(share * static_cast<double>(sums.size() - 1)))];
  };
  return {.draws = static_cast<std::uint32_t>(sums.size()),
          .mean = std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(sums.size()),
          .low = at(0.05),
          .high = at(0.95)};
}

}  // namespace weft::assign
