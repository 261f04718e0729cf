// The balancer's figures: how near to the bound, how fast, how few moves. Traffic is a random permutation in
// which every flow crosses leaves, unless said otherwise; ratios are the worst of 20 seeds, times CPU times
// of one thread, the median of five runs, without reading or writing files.
#include <algorithm>
#include <numeric>
#include <random>

#include "balancer/assign/assign.hpp"
#include "balancer/demand/collectives.hpp"
#include "balancer/flowsim/strategies.hpp"
#include "tests/bench/support/figures.hpp"
#include "tests/support/traffic.hpp"
#include "topology/base/check.hpp"
#include "topology/model/clos.hpp"

namespace weft {
namespace {

constexpr std::uint64_t kSeeds = 20;
constexpr double kShareDown = 0.02;

struct Worst {
  double ratio = 0;
  double over = 0;
  void see(const assign::PhaseAssignment& answer) {
    ratio = std::max(ratio, answer.load.ratio);
    over = std::max(over, static_cast<double>(answer.load.leaves_over_own_bound));
    WEFT_CHECK(answer.unassigned.empty());
  }
};

Worst over_seeds(const Fabric& fabric, std::uint32_t qps, double share_down, bool weighted = false) {
  Worst worst;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    assign::AssignOptions options{.qps = qps, .weighted = weighted, .seed = seed};
    options.avoid = assign::without(random_uplinks(fabric, share_down, seed));
    worst.see(assign::assign(fabric, cross_leaf_permutation(fabric, seed), options));
  }
  return worst;
}

void healthy(bench::Figures& figures) {
  const auto two = *make_clos({.leaves = 32, .spines = 32, .hosts_per_leaf = 32});
  figures.add("ratio_2tier", over_seeds(two, 1, 0).ratio, "1.000");
  const auto three = *make_pod_clos({.pods = 8, .leaves = 8, .spines = 8, .cores = 64, .hosts_per_leaf = 8});
  figures.add("ratio_3tier", over_seeds(three, 1, 0).ratio, "1.000");
}

void degraded(bench::Figures& figures) {
  double over = 0;
  for (const std::uint32_t qps : {1U, 4U, 16U}) {
    Worst worst;
    for (const std::uint32_t hosts : {30U, 32U}) {
      const auto fabric = *make_clos({.leaves = 32, .spines = 32, .hosts_per_leaf = hosts});
      const auto one = over_seeds(fabric, qps, kShareDown);
      worst.ratio = std::max(worst.ratio, one.ratio);
      over = std::max(over, one.over);
    }
    figures.add(fmt::format("ratio_degraded_{}qp", qps), worst.ratio, "1.000");
  }
  figures.add("leaves_over_own_bound", over, "0");
  double weighted = 0;
  for (const std::uint32_t hosts : {30U, 32U})
    weighted = std::max(
        weighted,
        over_seeds(*make_clos({.leaves = 32, .spines = 32, .hosts_per_leaf = hosts}), 4, kShareDown, true)
            .ratio);
  figures.add("ratio_degraded_4qp_weighted", weighted, "at most 1.02");
}

void mixed(bench::Figures& figures) {
  const auto fabric = *make_clos({.leaves = 32, .spines = 32, .hosts_per_leaf = 32});
  double slowest = 0;
  const auto worst = [&](std::uint32_t flows, std::uint32_t qps) {
    double ratio = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto phase = mixed_traffic(fabric, flows, seed);
      slowest = std::max(slowest, bench::cpu_milliseconds([&] {
                           ratio = std::max(
                               ratio, assign::assign(fabric, phase, {.qps = qps, .seed = seed}).load.ratio);
                         }));
    }
    return ratio;
  };
  figures.add("ratio_mixed_f4", worst(4, 1), "at most 1.02");
  figures.add("ratio_mixed_k4", worst(1, 4), "at most 1.03");
  figures.add("mixed_slowest_s", slowest / 1000, "at most 1");
}

struct Labelled {
  double ratio = 0;
  double reverse = 0;
};

Labelled with_labels(const Fabric& fabric, std::uint32_t qps, std::uint32_t labels, bool back,
                     std::uint64_t seeds) {
  Labelled worst;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto phase = cross_leaf_permutation(fabric, seed);
    const auto map = probed_path_map(fabric, phase, labels, back, seed);
    const auto answer =
        assign::assign(fabric, phase, {.qps = qps, .paths = &map, .reverse = back, .seed = seed});
    WEFT_CHECK(answer.unassigned.empty());
    worst.ratio = std::max(worst.ratio, answer.load.ratio);
    if (back) worst.reverse = std::max(worst.reverse, answer.reverse_load->ratio);
  }
  return worst;
}

void labels(bench::Figures& figures) {
  const auto two = *make_clos({.leaves = 32, .spines = 32, .hosts_per_leaf = 32});
  double reverse = 0;
  for (const std::uint32_t qps : {1U, 4U, 16U}) {
    const auto worst = with_labels(two, qps, 64, true, kSeeds);
    figures.add(fmt::format("ratio_64labels_{}qp", qps), worst.ratio, "1.000");
    reverse = std::max(reverse, worst.reverse);
  }
  figures.add("ratio_64labels_reverse", reverse, "1.000");
  // 256 paths a pair, of which 256 random labels know about 162; and 64 paths, of which they know 63.
  const auto wide =
      *make_pod_clos({.pods = 4, .leaves = 16, .spines = 16, .cores = 256, .hosts_per_leaf = 16});
  figures.add("ratio_3tier_256labels_16qp", with_labels(wide, 16, 256, false, kSeeds).ratio, "1.0625");
  const auto pods = *make_pod_clos({.pods = 8, .leaves = 8, .spines = 8, .cores = 64, .hosts_per_leaf = 8});
  figures.add("ratio_3tier_64paths_16qp", with_labels(pods, 16, 256, false, kSeeds).ratio, "1.0625");
}

/// QPs over either channel of a cable.
double crossing(const assign::PhaseAssignment& answer, LinkId link) {
  double count = 0;
  for (const assign::SteeredQp& qp : answer.qps)
    for (const ChannelId channel : qp.route.channels()) count += Fabric::link_of(channel) == link ? 1 : 0;
  return count;
}

struct Repair {
  double moves = 0;  // per QP that crossed the cable, mean
  double slowest_ms = 0;
};

/// 30 times: one cable of a healthy fabric goes down.
Repair one_cable_down(std::uint32_t hosts, std::uint32_t qps) {
  constexpr std::size_t kLinks = 30;
  const auto fabric = *make_clos({.leaves = 32, .spines = 32, .hosts_per_leaf = hosts});
  const auto phase = cross_leaf_permutation(fabric, 1);
  const auto healthy = assign::assign(fabric, phase, {.qps = qps});
  const auto before = assign::kept(phase, healthy);
  auto links = random_uplinks(fabric, 1.0, 1);
  std::erase_if(links, [&](LinkId link) { return crossing(healthy, link) == 0; });
  links.resize(kLinks);
  Repair repair;
  for (const LinkId link : links) {
    assign::AssignOptions options{.qps = qps};
    options.avoid = assign::without({&link, 1});
    assign::PhaseAssignment after;
    repair.slowest_ms =
        std::max(repair.slowest_ms,
                 bench::cpu_milliseconds([&] { after = reassign(fabric, phase, options, before); }));
    WEFT_CHECK(after.load.ratio < 1 + 1e-9);
    repair.moves += after.moves / crossing(healthy, link) / static_cast<double>(kLinks);
  }
  return repair;
}

/// The worst ratio while 20 cables fail one after another, each repaired from the assignment before.
double failures_in_succession() {
  const auto fabric = *make_clos({.leaves = 32, .spines = 32, .hosts_per_leaf = 30});
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto phase = cross_leaf_permutation(fabric, seed);
    assign::AssignOptions options{.qps = 4};
    auto answer = assign::assign(fabric, phase, options);
    auto links = random_uplinks(fabric, 1.0, seed);
    for (std::size_t failed = 1; failed <= 20; ++failed) {
      options.avoid = assign::without(std::span(links).first(failed));
      answer = assign::reassign(fabric, phase, options, assign::kept(phase, answer));
      worst = std::max(worst, answer.load.ratio);
    }
  }
  return worst;
}

void repairs(bench::Figures& figures) {
  const auto tight = one_cable_down(30, 4);
  const auto single = one_cable_down(30, 1);
  const auto roomy = one_cable_down(28, 4);
  figures.add("repair_ms", std::max({tight.slowest_ms, single.slowest_ms, roomy.slowest_ms}), "at most 50");
  figures.add("repair_moves_30_4qp", tight.moves, "at most 1.7");
  figures.add("repair_moves_30_1qp", single.moves, "at most 2.5");
  figures.add("repair_moves_28_4qp", roomy.moves, "at most 1.2");
  figures.add("ratio_after_20_failures", failures_in_succession(), "1.000");
}

/// A shift by one leaf on 8x8x8, 10 MB a host, in a fluid model.
void makespans(bench::Figures& figures) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  const auto demand = demand::make_shift(fabric.nics(), 8, Bytes(10'000'000));
  const auto ours = flowsim::simulate(fabric, demand, {flowsim::Spread::weft, 1}, {});
  figures.add("makespan_vs_bound", ours.over_bound, "at most 1.005");
  for (const std::uint32_t qps : {16U, 4U, 1U}) {
    double mean = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
      mean += flowsim::simulate(fabric, demand, {flowsim::Spread::ecmp, qps}, {.seed = seed}).seconds /
              static_cast<double>(kSeeds);
    figures.add(fmt::format("ecmp{}_vs_ours", qps), mean / ours.seconds,
                qps == 16  ? "at least 1.5"
                : qps == 4 ? "at least 2.1"
                           : "at least 3.3");
  }
}

/// 8x8x8, six of 64 cables drawn.
std::vector<LinkId> six_gone(const Fabric& fabric, std::uint64_t seed) {
  auto links = random_uplinks(fabric, 1.0, seed);
  links.resize(6);
  return links;
}

/// Against greedy: a shift by a leaf and a permutation, cables down and cables that the fabric never had.
void all_channels(bench::Figures& figures) {
  const auto whole = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  double mean_flow = 0;
  double squares = 0;
  const auto compare = [&](const Fabric& fabric, const demand::Demand& demand,
                           const assign::AssignOptions& options) {
    const auto ours = flowsim::simulate(fabric, demand, {flowsim::Spread::weft, options.qps}, options);
    const auto greedy = flowsim::simulate(fabric, demand, {flowsim::Spread::greedy, options.qps}, options);
    mean_flow = std::max(mean_flow, ours.mean_flow / greedy.mean_flow);
    squares = std::max(squares, ours.squares / greedy.squares);
  };
  for (const std::uint32_t qps : {1U, 4U, 16U})
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto gone = six_gone(whole, seed);
      for (const bool shift : {true, false}) {
        auto demand = demand::make_shift(whole.nics(), 8, Bytes(10'000'000));
        if (!shift) demand.phases = {cross_leaf_permutation(whole, seed)};
        compare(whole, demand, {.qps = qps, .avoid = assign::without(gone)});
        compare(without_cables(whole, gone), demand, {.qps = qps});
      }
    }
  figures.add("mean_flow_vs_greedy", mean_flow, "at most 1.00");
  figures.add("second_class", squares, "at most 1.00");
}

/// Packet by packet, over the same packets in the fluid model: shift, shift with six cables down, all-to-all.
void packets(bench::Figures& figures) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  const auto settings = flowsim::usual_packets(fabric);
  double worst = 0;
  const auto see = [&](const char* name, const demand::Demand& demand, const std::vector<LinkId>& gone) {
    double ratio = 0;
    for (const std::uint32_t qps : {1U, 4U}) {
      const auto run = simulate_packets(fabric, demand, {flowsim::Spread::weft, qps},
                                        {.avoid = assign::without(gone)}, settings);
      ratio = std::max(ratio, run.seconds / run.fluid);
    }
    figures.add(fmt::format("packets_vs_fluid_{}", name), ratio);
    return ratio;
  };
  const auto shift = demand::make_shift(fabric.nics(), 8, Bytes(10'000'000));
  const auto all = make_collective(demand::Collective::all_to_all, fabric.nics(), Bytes(10'000'000));
  worst = std::max(worst, see("shift", shift, {}));
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    worst = std::max(worst, see(fmt::format("degraded{}", seed).c_str(), shift, six_gone(fabric, seed)));
  worst = std::max(worst, see("all_to_all", all, {}));
  figures.add("packets_vs_fluid", worst, "at most 1.08");
  see("all_to_all_degraded", all, six_gone(fabric, 1));
}

/// All-to-all of 1,024 hosts at 4 QPs: 4.2 million of them.
void large_all_to_all(bench::Figures& figures) {
  const auto fabric = *make_clos({.leaves = 32, .spines = 32, .hosts_per_leaf = 32});
  const auto phase =
      make_collective(demand::Collective::all_to_all, fabric.nics(), Bytes(1'024'000'000)).phases[0];
  const auto seconds = [&](std::uint64_t seed) {
    assign::AssignOptions options{.qps = 4, .seed = seed};
    options.avoid = assign::without(random_uplinks(fabric, kShareDown, seed));
    return bench::cpu_milliseconds([&] {
             const auto answer = assign::assign(fabric, phase, options);
             WEFT_CHECK(answer.load.ratio < 1 + 1e-9);
           }) /
           1000;
  };
  figures.add("all_to_all_degraded_1024_4qp_s", std::max({seconds(1), seconds(2), seconds(3)}), "at most 6");
}

/// 100 small cases with 1 to 3 labels a pair: the bound that knows the labels, and the answer, over the least
/// that trying all assignments finds. The worst either way.
void label_bounds(bench::Figures& figures) {
  double low = 1;
  double answer_over = 1;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto n = static_cast<std::uint32_t>(seed);
    const auto fabric = *make_clos({.leaves = 2 + n % 3, .spines = 2 + n % 4, .hosts_per_leaf = 2 + n % 2});
    const auto phase = cross_leaf_permutation(fabric, seed);
    const auto map = probed_path_map(fabric, phase, 1 + n % 3, false, seed);
    const std::uint32_t qps = phase.flows.size() <= 6 ? 2 : 1;
    const auto answer = assign::assign(fabric, phase, {.qps = qps, .paths = &map});
    const double least = least_busiest(fabric, phase, qps, map);
    WEFT_CHECK(answer.labels->bound <= least * (1 + 1e-9));
    low = std::min(low, answer.labels->bound / least);
    answer_over = std::max(answer_over, answer.load.busiest / least);
  }
  figures.add("bound_by_labels", low, "1.00");
  figures.add("answer_by_labels", answer_over, "1.00");
}

double median_ms(const Fabric& fabric, std::uint32_t qps, double share_down, int runs = 5) {
  std::vector<double> times;
  for (int run = 0; run < runs; ++run) {
    const auto seed = static_cast<std::uint64_t>(run) + 1;
    const auto phase = cross_leaf_permutation(fabric, seed);
    assign::AssignOptions options{.qps = qps, .seed = seed};
    options.avoid = assign::without(random_uplinks(fabric, share_down, seed));
    times.push_back(bench::cpu_milliseconds([&] {
      const auto answer = assign::assign(fabric, phase, options);
      WEFT_CHECK(answer.load.ratio < 1.0 + 1e-9);
    }));
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

void times(bench::Figures& figures) {
  const auto middle = *make_clos({.leaves = 128, .spines = 64, .hosts_per_leaf = 64});
  figures.add("assign_131072_ms", median_ms(middle, 16, 0), "at most 100");
  figures.add("assign_131072_degraded_ms", median_ms(middle, 16, kShareDown), "at most 250");
  const auto large = *make_clos({.leaves = 512, .spines = 128, .hosts_per_leaf = 128});
  figures.add("assign_1048576_s", median_ms(large, 16, 0, 3) / 1000, "at most 2");
}

}  // namespace
}  // namespace weft

int main() {
  weft::bench::Figures figures("balancer");
  weft::healthy(figures);
  weft::degraded(figures);
  weft::labels(figures);
  weft::mixed(figures);
  weft::repairs(figures);
  weft::makespans(figures);
  weft::all_channels(figures);
  weft::packets(figures);
  weft::label_bounds(figures);
  weft::large_all_to_all(figures);
  weft::times(figures);
  return figures.write();
}
