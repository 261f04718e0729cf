#include "tests/support/traffic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "balancer/assign/routes.hpp"
#include "topology/base/check.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft {
namespace {

constexpr Bytes kFlow(1'000'000);

NodeId leaf_of(const Fabric& fabric, PortId nic) { return fabric.target_node(*fabric.channel_from(nic)); }

}  // namespace

demand::Phase cross_leaf_permutation(const Fabric& fabric, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<PortId> from(fabric.nics().begin(), fabric.nics().end());
  auto to = from;
  std::ranges::shuffle(to, random);
  const auto inside = [&](std::size_t i, std::size_t j) {
    return leaf_of(fabric, from[i]) == leaf_of(fabric, to[j]);
  };
  // A flow that stays inside its leaf trades its destination with any other that both may keep.
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::size_t tries = 0; inside(i, i); ++tries) {
      WEFT_CHECK(tries < 1'000'000);
      const auto j = static_cast<std::size_t>(random() % from.size());
      if (!inside(i, j) && !inside(j, i)) std::swap(to[i], to[j]);
    }
  demand::Phase phase{"permutation", {}};
  for (std::size_t i = 0; i < from.size(); ++i) phase.flows.push_back({from[i], to[i], kFlow});
  return phase;
}

demand::Phase mixed_traffic(const Fabric& fabric, std::uint32_t flows, std::uint64_t seed) {
  std::mt19937_64 random(seed ^ 0x517Eull);
  std::uniform_int_distribution<std::int64_t> size(1'000'000, 10'000'000);
  demand::Phase phase{"mixed", {}};
  for (std::uint32_t f = 0; f < flows; ++f)
    for (demand::Flow flow : cross_leaf_permutation(fabric, seed * 100 + f).flows) {
      flow.bytes = Bytes(size(random));
      phase.flows.push_back(flow);
    }
  return phase;
}

PathMap probed_path_map(const Fabric& fabric, const demand::Phase& phase, std::uint32_t labels, bool back,
                        std::uint64_t seed) {
  const assign::Routes routes(fabric, assign::Capacities(fabric));
  std::mt19937_64 random(seed ^ 0x1AB31ull);
  PathMap map;
  const auto probe = [&](PortId src, PortId dst) {
    const auto ways = routes.between(*routes.leaf_of(src), *routes.leaf_of(dst));
    std::vector<std::vector<PathLabel>> found(ways.size());
    for (std::uint32_t label = 0; label < labels; ++label)
      found[random() % ways.size()].push_back(PathLabel(0xC000 + label));
    PairPaths& pair = map.pairs.emplace_back(PairPaths{src, dst, {}});
    for (std::size_t w = 0; w < ways.size(); ++w) {
      if (found[w].empty()) continue;
      std::vector<ChannelId> channels{*fabric.channel_from(src)};
      channels.insert(channels.end(), ways[w].channels().begin(), ways[w].channels().end());
      channels.push_back(*fabric.channel_into(dst));
      pair.paths.push_back({map.table.intern(channels), std::move(found[w])});
    }
  };
  for (const demand::Flow& flow : phase.flows) {
    probe(flow.src, flow.dst);
    if (back) probe(flow.dst, flow.src);
  }
  return map;
}

std::vector<LinkId> random_uplinks(const Fabric& fabric, double share, std::uint64_t seed) {
  std::vector<LinkId> uplinks;
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
    if (fabric.between_switches(LinkId(l))) uplinks.push_back(LinkId(l));
  std::mt19937_64 random(seed ^ 0x5EEDF00Dull);
  std::ranges::shuffle(uplinks, random);
  uplinks.resize(static_cast<std::size_t>(std::lround(share * static_cast<double>(uplinks.size()))));
  return uplinks;
}

Fabric without_cables(const Fabric& fabric, const std::vector<LinkId>& gone) {
  FabricBuilder builder(fabric.name(), fabric.kind());
  for (const Node& node : fabric.nodes()) WEFT_CHECK(builder.add_node(node).has_value());
  for (const Port& port : fabric.ports()) WEFT_CHECK(builder.add_port(port.node, port.number).has_value());
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
    const Link& link = fabric.link(LinkId(l));
    if (std::ranges::find(gone, LinkId(l)) == gone.end())
      WEFT_CHECK(builder.add_link(link.a, link.b, link.rate).has_value());
  }
  return std::move(builder).build();
}

double least_busiest(const Fabric& fabric, const demand::Phase& phase, std::uint32_t qps,
                     const PathMap& map) {
  struct Qp {
    const PairPaths* pair;
    double bytes;
  };
  std::vector<Qp> all;
  for (const demand::Flow& flow : phase.flows)
    for (std::uint32_t qp = 0; qp < qps; ++qp)
      for (const PairPaths& pair : map.pairs)
        if (pair.src == flow.src && pair.dst == flow.dst)
          all.push_back({&pair, static_cast<double>(flow.bytes.count()) / qps});
  std::vector<double> load(fabric.channel_count());
  double least = std::numeric_limits<double>::infinity();
  const auto place = [&](const auto& self, std::size_t at, double busiest) -> void {
    if (busiest >= least) return;
    if (at == all.size()) return void(least = busiest);
    for (const LabelledPath& path : all[at].pair->paths) {
      const auto channels =
          map.table.channels(path.path).subspan(1, map.table.channels(path.path).size() - 2);
      double most = busiest;
      for (const ChannelId c : channels) most = std::max(most, load[c.value()] += all[at].bytes);
      self(self, at + 1, most);
      for (const ChannelId c : channels) load[c.value()] -= all[at].bytes;
    }
  };
  place(place, 0, 0);
  return least;
}

}  // namespace weft
