#include "tests/support/traffic.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "topology/base/check.hpp"

namespace weft {
namespace {

constexpr Bytes kFlow(1'000'000);

NodeId leaf_of(const Fabric& fabric, PortId nic) { return fabric.target_node(*fabric.channel_from(nic)); }

}  // namespace

Phase cross_leaf_permutation(const Fabric& fabric, std::uint64_t seed) {
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
  Phase phase{"permutation", {}};
  for (std::size_t i = 0; i < from.size(); ++i) phase.flows.push_back({from[i], to[i], kFlow});
  return phase;
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

}  // namespace weft
