#include "tests/bench/verdicts/draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "topology/base/check.hpp"
#include "topology/model/clos.hpp"
#include "topology/routing/ecmp_routing.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t kMinOfMany = 4;
constexpr int kRefinements = 6;  // more than the longest way between two nodes of these fabrics has hops

SmallFabric made(std::string name, const std::string& lines, Result<Fabric> fabric) {
  WEFT_CHECK(fabric.has_value());
  auto addresses = plan_addresses(*fabric, IpFamily::v4);
  WEFT_CHECK(addresses.has_value());
  return {name, fmt::format("fabric: {}\nkind: roce\n{}\n", name, lines), std::move(*fabric),
          std::move(*addresses)};
}

/// What stays the same when nodes are renamed: the colours of all nodes, each refined by those of its
/// neighbours and by which cables are marked.
std::uint64_t shape_of(const Fabric& fabric, const std::vector<LinkId>& marked) {
  std::vector<std::uint64_t> colour;
  for (const Node& node : fabric.nodes()) colour.push_back(mix_bits(static_cast<std::uint64_t>(node.tier)));
  for (int i = 0; i < kRefinements; ++i) {
    std::vector<std::uint64_t> sums(colour.size(), 0);
    for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
      const Link& link = fabric.link(LinkId(l));
      const std::uint64_t mark = std::ranges::find(marked, LinkId(l)) != marked.end() ? 0x5bd1e995 : 0;
      const auto a = fabric.port(link.a).node.value();
      const auto b = fabric.port(link.b).node.value();
      sums[a] += mix_bits(colour[b] ^ mark);
      sums[b] += mix_bits(colour[a] ^ mark);
    }
    for (std::size_t n = 0; n < colour.size(); ++n) colour[n] = mix_bits(colour[n] * 3 + sums[n]);
  }
  std::uint64_t all = 0;
  for (const std::uint64_t c : colour) all += mix_bits(c);
  return all;
}

/// Calls `visit` with every set of `size` links.
template <class Visit>
void for_each_set(std::size_t links, std::size_t size, Visit visit) {
  std::vector<LinkId> set(size);
  const auto fill = [&](const auto& self, std::size_t at, std::uint32_t from) -> void {
    if (at == size) return visit(set);
    for (std::uint32_t l = from; l < links; ++l) {
      set[at] = LinkId(l);
      self(self, at + 1, l + 1);
    }
  };
  fill(fill, 0, 0);
}

Kind one_of_four(Random& random) {
  return std::array{Kind::loss, Kind::down, Kind::rate, Kind::delay}[random() % 4];
}

DrawnFault draw_fault(const Fabric& fabric, LinkId cable, Kind kind, Random& random) {
  DrawnFault fault{{.link = cable}, Cause::loss};
  switch (kind == Kind::mixed ? one_of_four(random) : kind) {
    case Kind::loss:
    case Kind::mixed:
      fault.spec.loss = Fraction(std::round(log_uniform(random, 0.002, 0.05) * 1e6) / 1e6);
      break;
    case Kind::down:
      fault.cause = Cause::down;
      fault.spec.down = true;
      break;
    case Kind::rate:
      fault.cause = Cause::rate;
      fault.spec.rate = Bandwidth::mbit(
          std::round(uniform(random, 0.1, 0.8) * fabric.link(cable).rate.bits_per_second() / 1e6));
      break;
    case Kind::delay:
      fault.cause = Cause::delay;
      fault.spec.delay = std::chrono::microseconds(std::llround(log_uniform(random, 50, 5000)));
      break;
  }
  return fault;
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::loss:
      return "loss";
    case Kind::down:
      return "down";
    case Kind::rate:
      return "rate";
    case Kind::delay:
      return "delay";
    case Kind::mixed:
      return "mixed";
  }
  return "";
}

std::vector<SmallFabric> small_fabrics() {
  std::vector<SmallFabric> all;
  for (const auto& [leaves, spines] : {std::pair(2U, 2U), {2U, 4U}, {3U, 2U}, {4U, 4U}, {6U, 6U}}) {
    const auto name = fmt::format("{}x{}", leaves, spines);
    all.push_back(made(name,
                       fmt::format("clos: {{leaves: {}, spines: {}, hosts_per_leaf: 2}}", leaves, spines),
                       make_clos({.name = name, .leaves = leaves, .spines = spines, .hosts_per_leaf = 2})));
  }
  all.push_back(made(
      "pods", "clos: {pods: 2, leaves: 2, spines: 2, cores: 2, hosts_per_leaf: 2}",
      make_pod_clos({.name = "pods", .pods = 2, .leaves = 2, .spines = 2, .cores = 2, .hosts_per_leaf = 2})));
  all.push_back(
      made("rails", "rails: {groups: 2, hosts_per_group: 2, rails: 2, spines: 2}",
           make_rails({.name = "rails", .groups = 2, .hosts_per_group = 2, .rails = 2, .spines = 2})));
  return all;
}

SmallFabric three_pods() {
  return made(
      "three_pods", "clos: {pods: 3, leaves: 3, spines: 3, cores: 9, hosts_per_leaf: 3}",
      make_pod_clos(
          {.name = "three_pods", .pods = 3, .leaves = 3, .spines = 3, .cores = 9, .hosts_per_leaf = 3}));
}

std::vector<DrawnFault> draw_faults(const Fabric& fabric, const std::vector<LinkId>& cables, Kind kind,
                                    Ways ways, Random& random) {
  std::vector<DrawnFault> faults;
  for (const LinkId cable : cables) {
    DrawnFault fault = draw_fault(fabric, cable, kind, random);
    const bool from_a = random() % 2 == 0;
    const bool whole = ways == Ways::both || (ways == Ways::mixed && random() % 2 == 0);
    if (!whole) fault.spec.channel = from_a ? Fabric::a_to_b(cable) : Fabric::b_to_a(cable);
    faults.push_back(fault);
  }
  return faults;
}

std::vector<std::vector<LinkId>> sets_up_to_symmetry(const Fabric& fabric, std::size_t most,
                                                     std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<LinkId>> all;
  for (std::size_t size = 1; size <= 3; ++size) {
    std::set<std::uint64_t> known;
    std::vector<std::vector<LinkId>> fresh;
    for_each_set(fabric.link_count(), size, [&](const std::vector<LinkId>& set) {
      if (known.insert(shape_of(fabric, set)).second) fresh.push_back(set);
    });
    std::ranges::shuffle(fresh, random);
    if (fresh.size() > most) fresh.resize(most);
    all.insert(all.end(), fresh.begin(), fresh.end());
  }
  return all;
}

std::vector<LinkId> random_set(const Fabric& fabric, Random& random) {
  std::vector<LinkId> all;
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) all.emplace_back(l);
  std::ranges::shuffle(all, random);
  const std::size_t half = all.size() / 2;
  all.resize(kMinOfMany + random() % (half - kMinOfMany + 1));
  std::ranges::sort(all);
  return all;
}

}  // namespace weft::bench
