#include "balancer/demand/collectives.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "topology/base/host_list.hpp"
#include "topology/model/fabric.hpp"

namespace weft::demand {
namespace {

struct Named {
  Collective collective;
  std::string_view name;
};
constexpr auto kNames = std::to_array<Named>({{Collective::ring, "ring"},
                                              {Collective::recursive_doubling, "recursive-doubling"},
                                              {Collective::halving_doubling, "halving-doubling"},
                                              {Collective::tree, "tree"},
                                              {Collective::all_to_all, "all-to-all"},
                                              {Collective::reduce_scatter, "reduce-scatter"},
                                              {Collective::all_gather, "all-gather"},
                                              {Collective::pipeline, "pipeline"}});

using Ranks = std::span<const PortId>;

/// `numerator / denominator` of `size`, at least one byte.
Bytes share(Bytes size, std::size_t numerator, std::size_t denominator) {
  const double exact =
      static_cast<double>(size.count()) * static_cast<double>(numerator) / static_cast<double>(denominator);
  return Bytes(std::max<std::int64_t>(1, static_cast<std::int64_t>(exact)));
}

Demand one_phase(std::string_view name, std::vector<Flow> flows) {
  return Demand{{Phase{std::string(name), std::move(flows)}}};
}

Demand pass_round(std::string_view name, Ranks ranks, Bytes bytes) {
  auto demand = make_shift(ranks, 1, bytes);
  demand.phases.front().name = name;
  return demand;
}

/// Every rank below the greatest power of two exchanges `bytes` with the rank `distance` away.
Phase exchange(Ranks ranks, std::size_t distance, Bytes bytes) {
  Phase phase{fmt::format("exchange at distance {}", distance), {}};
  const std::size_t core = std::bit_floor(ranks.size());
  for (std::size_t i = 0; i < core; ++i) phase.flows.push_back({ranks[i], ranks[i ^ distance], bytes});
  return phase;
}

/// Ranks past the greatest power of two hand their buffer to a rank below it, or get the result from there.
void fold(Demand& demand, Ranks ranks, Bytes size, bool before) {
  const std::size_t core = std::bit_floor(ranks.size());
  if (core == ranks.size()) return;
  Phase phase{before ? "fold in" : "hand out", {}};
  for (std::size_t i = core; i < ranks.size(); ++i)
    phase.flows.push_back(before ? Flow{ranks[i], ranks[i - core], size}
                                 : Flow{ranks[i - core], ranks[i], size});
  demand.phases.push_back(std::move(phase));
}

Demand recursive_doubling(Ranks ranks, Bytes size) {
  Demand demand;
  fold(demand, ranks, size, true);
  for (std::size_t d = 1; d < std::bit_floor(ranks.size()); d *= 2)
    demand.phases.push_back(exchange(ranks, d, size));
  fold(demand, ranks, size, false);
  return demand;
}

Demand halving_doubling(Ranks ranks, Bytes size) {
  Demand demand;
  fold(demand, ranks, size, true);
  const std::size_t core = std::bit_floor(ranks.size());
  for (std::size_t d = core / 2, part = 2; d >= 1; d /= 2, part *= 2)
    demand.phases.push_back(exchange(ranks, d, share(size, 1, part)));
  for (std::size_t d = 1, part = core; d < core; d *= 2, part /= 2)
    demand.phases.push_back(exchange(ranks, d, share(size, 1, part)));
  fold(demand, ranks, size, false);
  return demand;
}

/// Child and parent of every edge of an in-order binary tree over the ranks [low, high). Its leaves are the
/// even ranks, so that a shift by one gives a second tree in which they are inner nodes.
void tree_edges(std::size_t low, std::size_t high, std::optional<std::size_t> parent,
                std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  if (low >= high) return;
  const std::size_t half = std::bit_floor(high - low);
  const std::size_t root = low + half - 1;
  if (parent) edges.emplace_back(root, *parent);
  tree_edges(low, root, root, edges);
  tree_edges(root + 1, high, root, edges);
}

Demand double_tree(Ranks ranks, Bytes size) {
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  const std::size_t n = ranks.size();
  tree_edges(0, n, std::nullopt, edges);
  std::vector<Flow> flows;
  const Bytes half = share(size, 1, 2);
  for (const std::size_t shift : {std::size_t{0}, std::size_t{1}})
    for (const auto& [child, parent] : edges) {
      const PortId a = ranks[(child + shift) % n];
      const PortId b = ranks[(parent + shift) % n];
      flows.push_back({a, b, half});
      flows.push_back({b, a, half});
    }
  return one_phase("tree", std::move(flows));
}

/// In turn k rank i sends to rank i + k: every turn is a permutation, so that no rank receives from two at
/// once. Flows of a turn stand together, as whoever colours them in order expects.
Demand all_to_all(Ranks ranks, Bytes size) {
  std::vector<Flow> flows;
  const std::size_t n = ranks.size();
  const Bytes part = share(size, 1, n);
  for (std::size_t turn = 1; turn < n; ++turn)
    for (std::size_t i = 0; i < n; ++i)
      flows.push_back({ranks[i], ranks[(i + turn) % n], part, static_cast<std::uint32_t>(turn)});
  return one_phase("all-to-all", std::move(flows));
}

Demand pipeline(Ranks ranks, Bytes size) {
  std::vector<Flow> flows;
  for (std::size_t i = 0; i + 1 < ranks.size(); ++i) {
    flows.push_back({ranks[i], ranks[i + 1], size});
    flows.push_back({ranks[i + 1], ranks[i], size});
  }
  return one_phase("pipeline", std::move(flows));
}

}  // namespace

std::string_view to_string(Collective collective) {
  for (const Named& named : kNames)
    if (named.collective == collective) return named.name;
  return "";
}

std::optional<Collective> parse_collective(std::string_view text) {
  for (const Named& named : kNames)
    if (named.name == text) return named.collective;
  return std::nullopt;
}

std::string collective_names() {
  std::string all;
  for (const Named& named : kNames) all += (all.empty() ? "" : ", ") + std::string(named.name);
  return all;
}

Demand make_collective(Collective collective, std::span<const PortId> ranks, Bytes size) {
  const std::size_t n = ranks.size();
  if (n < 2) return {};
  switch (collective) {
    case Collective::ring:
      return pass_round("ring", ranks, share(size, 2 * (n - 1), n));
    case Collective::recursive_doubling:
      return recursive_doubling(ranks, size);
    case Collective::halving_doubling:
      return halving_doubling(ranks, size);
    case Collective::tree:
      return double_tree(ranks, size);
    case Collective::all_to_all:
      return all_to_all(ranks, size);
    case Collective::reduce_scatter:
      return pass_round("reduce-scatter", ranks, share(size, n - 1, n));
    case Collective::all_gather:
      return pass_round("all-gather", ranks, share(size, n - 1, n));
    case Collective::pipeline:
      return pipeline(ranks, size);
  }
  return {};
}

Demand make_shift(std::span<const PortId> ranks, std::size_t distance, Bytes bytes) {
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const PortId to = ranks[(i + distance) % ranks.size()];
    if (to != ranks[i]) flows.push_back({ranks[i], to, bytes});
  }
  return one_phase(fmt::format("shift by {}", distance), std::move(flows));
}

Demand make_hierarchical(const Fabric& fabric, std::span<const NodeId> hosts, Collective collective,
                         Bytes size) {
  const auto rails = rails_of(fabric, hosts);
  std::vector<Demand> jobs;
  for (const auto& rail : rails)
    jobs.push_back(make_collective(collective, rail, share(size, 1, rails.size())));
  Demand all = combine(jobs);
  if (!jobs.empty())
    for (std::size_t i = 0; i < all.phases.size() && i < jobs.front().phases.size(); ++i)
      all.phases[i].name = jobs.front().phases[i].name;
  return all;
}

std::vector<std::vector<PortId>> rails_of(const Fabric& fabric, std::span<const NodeId> hosts) {
  std::vector<std::vector<PortId>> rails;
  for (const NodeId host : hosts) {
    std::size_t rail = 0;
    for (const PortId port : fabric.ports_of(host)) {
      if (!fabric.port(port).link) continue;
      if (rail == rails.size()) rails.emplace_back();
      rails[rail++].push_back(port);
    }
  }
  return rails;
}

Result<std::vector<NodeId>> first_hosts(const Fabric& fabric, std::size_t count) {
  const auto all = fabric.hosts();
  if (count < 2 || count > all.size())
    return fail(ErrorKind::usage, "{} hosts asked for: expected 2 to {}, the hosts of fabric {}", count,
                all.size(), fabric.name());
  return std::vector<NodeId>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
}

Result<std::vector<NodeId>> parse_hosts(const Fabric& fabric, std::string_view text) {
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc{} && end == text.data() + text.size()) return first_hosts(fabric, count);
  std::string expanded;
  if (text.find('[') != std::string_view::npos) {
    WEFT_TRY(const auto names, expand_hosts(text));
    text = expanded = fmt::format("{}", fmt::join(names, ","));
  }
  std::vector<NodeId> hosts;
  std::vector<bool> seen(fabric.node_count());
  while (true) {
    const auto comma = text.find(',');
    const auto name = text.substr(0, comma);
    const auto node = fabric.find_node(name);
    if (!node) return pass_on(node, "hosts");
    if (!fabric.is_host(*node))
      return fail(ErrorKind::usage, "hosts: '{}' is a switch: expected a host", name);
    if (seen[node->value()]) return fail(ErrorKind::usage, "hosts: '{}' stands twice", name);
    seen[node->value()] = true;
    hosts.push_back(*node);
    if (comma == std::string_view::npos) return hosts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace weft::demand
