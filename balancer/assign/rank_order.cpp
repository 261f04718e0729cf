#include "balancer/assign/rank_order.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "balancer/assign/routes.hpp"
#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

constexpr std::size_t kMaxParallelisms = 6;

/// The layer that holds groups of `span` ranks: whole groups must fit, so its size is a multiple.
std::size_t layer_of(std::uint64_t span, const std::vector<Layer>& layers) {
  for (std::size_t l = 0; l < layers.size(); ++l)
    if (layers[l].ranks >= span && layers[l].ranks % span == 0) return l;
  return layers.size() - 1;
}

std::vector<Placed> nest(const std::vector<Parallelism>& order, const std::vector<Layer>& layers) {
  std::vector<Placed> placed;
  std::uint64_t stride = 1;
  for (const Parallelism& parallelism : order) {
    const std::uint64_t span = stride * parallelism.degree;
    placed.push_back({parallelism, stride, layer_of(span, layers)});
    stride = span;
  }
  return placed;
}

double sum_of_rates(const Fabric& fabric, std::span<const ChannelId> channels) {
  double sum = 0;
  for (const ChannelId channel : channels) sum += fabric.rate(channel).bits_per_second();
  return sum;
}

/// Hosts below a leaf, a pod and the whole, and the uplink rate of the first two per host.
struct Sizes {
  std::uint64_t leaf_hosts = 0;
  std::uint64_t pod_hosts = 0;
  double leaf_up = 0;
  double pod_up = 0;
  double host = 0;
};

Sizes sizes_of(const Fabric& fabric) {
  const Routes routes(fabric, Capacities(fabric));
  std::vector<std::uint64_t> by_leaf(routes.leaf_count()), by_pod(routes.pod_count());
  Sizes sizes;
  for (const NodeId host : fabric.hosts()) {
    double rate = 0;
    std::optional<LeafId> leaf;
    for (const PortId port : fabric.ports_of(host)) {
      if (!fabric.port(port).link) continue;
      if (!leaf) leaf = routes.leaf_of(port);
      rate += fabric.link(*fabric.port(port).link).rate.bits_per_second();
    }
    if (!leaf) continue;
    sizes.host = sizes.host == 0 ? rate : std::min(sizes.host, rate);
    sizes.leaf_hosts = std::max(sizes.leaf_hosts, ++by_leaf[leaf->value()]);
    sizes.pod_hosts = std::max(sizes.pod_hosts, ++by_pod[routes.pod_of(*leaf)]);
  }
  std::vector<std::uint64_t> nics_of_leaf(routes.leaf_count());
  for (const PortId nic : fabric.nics())
    if (const auto leaf = routes.leaf_of(nic)) ++nics_of_leaf[leaf->value()];
  const double nics_per_host = fabric.hosts().empty() ? 1
                                                      : static_cast<double>(fabric.nics().size()) /
                                                            static_cast<double>(fabric.hosts().size());
  const auto least = [](double& place, double value) { place = place == 0 ? value : std::min(place, value); };
  for (std::uint32_t l = 0; l < routes.leaf_count(); ++l)
    least(sizes.leaf_up, sum_of_rates(fabric, routes.uplinks(LeafId(l))) /
                             static_cast<double>(nics_of_leaf[l]) * nics_per_host);
  for (std::uint32_t p = 0; p < routes.pod_count(); ++p)
    if (by_pod[p] > 0)
      least(sizes.pod_up, sum_of_rates(fabric, routes.core_uplinks(p)) / static_cast<double>(by_pod[p]));
  return sizes;
}

}  // namespace

std::vector<NodeId> rank_order(const Fabric& fabric, std::span<const NodeId> hosts) {
  const Routes routes(fabric, Capacities(fabric));
  const auto leaf_of = [&](NodeId host) {
    for (const PortId port : fabric.ports_of(host))
      if (fabric.port(port).link)
        if (const auto leaf = routes.leaf_of(port)) return leaf->value();
    return static_cast<std::uint32_t>(routes.leaf_count());
  };
  std::map<std::uint32_t, std::size_t> of_leaf, of_pod;
  const auto pod_of = [&](std::uint32_t leaf) {
    return leaf < routes.leaf_count() ? routes.pod_of(LeafId(leaf))
                                      : static_cast<std::uint32_t>(routes.pod_count());
  };
  for (const NodeId host : hosts) {
    ++of_leaf[leaf_of(host)];
    ++of_pod[pod_of(leaf_of(host))];
  }
  std::vector<NodeId> order(hosts.begin(), hosts.end());
  std::ranges::stable_sort(order, {}, [&](NodeId host) {
    const auto leaf = leaf_of(host);
    const auto pod = pod_of(leaf);
    return std::tuple(hosts.size() - of_pod[pod], pod, hosts.size() - of_leaf[leaf], leaf);
  });
  return order;
}

std::vector<Layer> layers_of(const Fabric& fabric, std::uint32_t gpus_per_host, Bandwidth nvlink_per_gpu) {
  const Sizes sizes = sizes_of(fabric);
  const double gpus = gpus_per_host;
  const double nic = sizes.host / gpus;
  const double across_leaves = std::min(nic, sizes.leaf_up / gpus);
  const double across_pods = std::min(across_leaves, sizes.pod_up > 0 ? sizes.pod_up / gpus : across_leaves);
  std::vector<Layer> layers{{"host", gpus_per_host, nvlink_per_gpu},
                            {"leaf", sizes.leaf_hosts * gpus_per_host, Bandwidth::bit(nic)}};
  if (sizes.pod_hosts < fabric.hosts().size())
    layers.push_back({"pod", sizes.pod_hosts * gpus_per_host, Bandwidth::bit(across_leaves)});
  layers.push_back({"fabric", fabric.hosts().size() * gpus_per_host, Bandwidth::bit(across_pods)});
  return layers;
}

double seconds_of(const std::vector<Placed>& placed, const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Placed& each : placed)
    if (each.parallelism.degree > 1)
      sum += static_cast<double>(each.parallelism.bytes.count()) * 8 /
             layers[each.layer].per_rank.bits_per_second();
  return sum;
}

Result<std::vector<Placed>> place_groups(const std::vector<Parallelism>& parallelisms,
                                         const std::vector<Layer>& layers) {
  if (parallelisms.empty() || parallelisms.size() > kMaxParallelisms || layers.empty())
    return fail(ErrorKind::usage, "{} kinds of parallelism: expected 1 to {}", parallelisms.size(),
                kMaxParallelisms);
  std::uint64_t ranks = 1;
  for (const Parallelism& parallelism : parallelisms) ranks *= std::max(parallelism.degree, 1U);
  if (ranks > layers.back().ranks)
    return fail(ErrorKind::usage, "the job has {} ranks, the fabric holds {}", ranks, layers.back().ranks);
  auto order = parallelisms;
  std::ranges::sort(order, {}, &Parallelism::name);
  auto best = nest(order, layers);
  while (std::ranges::next_permutation(order, {}, &Parallelism::name).found)
    if (auto each = nest(order, layers); seconds_of(each, layers) < seconds_of(best, layers))
      best = std::move(each);
  return best;
}

}  // namespace weft::assign
