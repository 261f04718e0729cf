// Fabrics as nobody designs them (cables missing or changed over, switches that are silent or answer from one
// address, any tree), found by traces: whatever is claimed of them is right.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/draws.hpp"
#include "tests/support/simulated_traces.hpp"

namespace weft::session {
namespace {

constexpr Bandwidth kRate = Bandwidth::gbit(100);

struct Drawn {
  std::string words;  // how to draw it again, and what is odd
  Fabric fabric;
  AddressBook book;
  sim::SimOptions options;
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed), builder_("drawn", FabricKind::roce) {}

  Drawn draw() {
    const auto shape = below(4);
    if (shape < 2) tiers(shape + 2);
    if (shape == 2) rails();
    if (shape == 3) tree();
    Drawn drawn{fmt::format("shape {}", shape), std::move(builder_).build(), {}, {}};
    number(drawn);
    if (below(3) == 0) change_cables_over(drawn);
    if (below(3) == 0)
      for (const NodeId at : switches(drawn.fabric))
        if (below(5) == 0) {
          drawn.options.silent.push_back(at);
          drawn.words += " silent " + drawn.fabric.name_of(at);
        }
    if (below(4) == 0) drawn.options.answers_lost = Fraction::percent(10 + below(30));
    drawn.options.seed = random_();
    return drawn;
  }

 private:
  std::uint32_t below(std::size_t n) { return static_cast<std::uint32_t>(random_() % n); }
  NodeId add_switch(const std::string& name, Tier tier) {
    return *builder_.add_node({name, NodeKind::switch_, tier});
  }
  void add_hosts(NodeId at, std::uint32_t count) {
    for (; count > 0; --count)
      builder_.connect(*builder_.add_node({fmt::format("host{}", ++hosts_), NodeKind::host, Tier::host}), at,
                       kRate);
  }
  static std::vector<NodeId> switches(const Fabric& fabric) {
    std::vector<NodeId> all;
    for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
      if (!fabric.is_host(NodeId(n))) all.push_back(NodeId(n));
    return all;
  }

  /// Two tiers, or pods below cores; some cables may be missing, some doubled, a host may be further up.
  void tiers(std::uint32_t count) {
    const auto pods = count == 3 ? 2 + below(3) : 1;
    const auto cores_per_spine = count == 3 ? 1 + below(3) : 0;
    const auto spines_per_pod = 1 + below(count == 3 ? 3 : 6);
    const bool is_damaged = below(3) == 0;
    const auto connect = [&](NodeId a, NodeId b) {
      if (!is_damaged || below(8) != 0) builder_.connect(a, b, kRate);
    };
    std::vector<NodeId> cores;
    for (std::uint32_t i = 0; i < spines_per_pod * cores_per_spine; ++i)
      cores.push_back(add_switch(fmt::format("core{}", i + 1), Tier::core));
    for (std::uint32_t p = 1; p <= pods; ++p) {
      std::vector<NodeId> spines;
      for (std::uint32_t i = 0; i < spines_per_pod; ++i) {
        spines.push_back(add_switch(fmt::format("spine{}p{}", i + 1, p), Tier::spine));
        for (std::uint32_t c = 0; c < cores_per_spine; ++c)
          connect(spines.back(), cores[i * cores_per_spine + c]);
      }
      const auto leaves = 1 + below(5);
      const auto bundle = below(4) == 0 ? 2U : 1U;
      for (std::uint32_t i = 1; i <= leaves; ++i) {
        const NodeId leaf = add_switch(fmt::format("leaf{}p{}", i, p), Tier::leaf);
        for (const NodeId spine : spines)
          for (std::uint32_t k = 0; k < bundle; ++k) connect(leaf, spine);
        add_hosts(leaf, 1 + below(4));
      }
    }
    if (below(6) == 0) add_hosts(cores.empty() ? *builder_.find_node("spine1p1") : cores[0], 1);
  }

  void rails() {
    const auto rails = 2 + below(3), groups = 1 + below(3), spines = 1 + below(4);
    std::vector<NodeId> tops;
    for (std::uint32_t i = 1; i <= spines; ++i)
      tops.push_back(add_switch(fmt::format("spine{}", i), Tier::spine));
    for (std::uint32_t g = 1; g <= groups; ++g) {
      std::vector<NodeId> leaves;
      for (std::uint32_t r = 1; r <= rails; ++r) {
        leaves.push_back(add_switch(fmt::format("leaf{}g{}", r, g), Tier::leaf));
        for (const NodeId top : tops) builder_.connect(leaves.back(), top, kRate);
      }
      for (auto more = 2 + below(3); more > 0; --more) {
        add_hosts(leaves[0], 1);
        const NodeId host = *builder_.find_node(fmt::format("host{}", hosts_));
        for (std::uint32_t r = 1; r < rails; ++r) builder_.connect(host, leaves[r], kRate);
      }
    }
  }

  /// Any tree of switches, some cables doubled. (Of a mesh traces tell less: docs/discover.md.)
  void tree() {
    std::vector<NodeId> all;
    for (auto more = 2 + below(7); more > 0; --more) {
      all.push_back(add_switch(fmt::format("sw{}", all.size() + 1), Tier::leaf));
      if (all.size() == 1) continue;
      const NodeId above = all[below(all.size() - 1)];
      for (auto cables = below(4) == 0 ? 2U : 1U; cables > 0; --cables)
        builder_.connect(all.back(), above, kRate);
    }
    for (const NodeId at : all) add_hosts(at, below(3));
    add_hosts(all[0], 2);
  }

  /// Both ends of a cable in one /31; or addresses whose numbers tell nothing; some switches may have one.
  void number(Drawn& drawn) {
    const Fabric& fabric = drawn.fabric;
    const auto plan = plan_addresses(fabric, below(2) ? IpFamily::v4 : IpFamily::v6)->book;
    std::vector<std::optional<IpAddress>> by_port(fabric.port_count()), by_node(fabric.node_count());
    std::vector<std::uint32_t> numbers(fabric.port_count());
    for (std::uint32_t p = 0; p < fabric.port_count(); ++p) {
      by_port[p] = plan.address_of(PortId(p));
      numbers[p] = p * 8;
    }
    const auto numbered = [](std::uint8_t net, std::uint32_t number) {
      return IpAddress(IpAddress::V4{10, net, static_cast<std::uint8_t>(number / 256),
                                     static_cast<std::uint8_t>(number % 256)});
    };
    std::ranges::shuffle(numbers, random_);
    const bool is_scattered = below(3) == 0, has_mixed_switches = below(4) == 0;
    drawn.words += is_scattered ? " scattered" : "";
    for (const NodeId at : switches(fabric)) {
      const bool answers_from_one = has_mixed_switches && below(2) == 0;
      if (answers_from_one) by_node[at.value()] = numbered(255, at.value());
      if (answers_from_one) drawn.words += " one " + fabric.name_of(at);
      for (const PortId port : fabric.ports_of(at)) {
        if (is_scattered) by_port[port.value()] = numbered(200, numbers[port.value()]);
        if (answers_from_one) by_port[port.value()].reset();
      }
    }
    drawn.book = AddressBook(by_port, by_node);
  }

  /// The cables of two switches; where numbers are trusted (docs/discover.md), of two leaves or of one pair
  /// of switches, they would lie.
  void change_cables_over(Drawn& drawn) {
    const Fabric& fabric = drawn.fabric;
    std::set<NodeId> leaves;
    for (const PortId nic : fabric.nics()) leaves.insert(fabric.target_node(*fabric.channel_from(nic)));
    std::erase_if(leaves, [&](NodeId leaf) { return fabric.node(leaf).tier != Tier::leaf; });
    if (leaves.size() < 3) return;
    const LinkId one(below(fabric.link_count())), other(below(fabric.link_count()));
    const auto ends = [&](LinkId link) {
      return std::pair(fabric.port(fabric.link(link).a).node, fabric.port(fabric.link(link).b).node);
    };
    const auto [a, b] = ends(one);
    const auto [c, d] = ends(other);
    if (fabric.is_host(a) || fabric.is_host(b) || fabric.is_host(c) || fabric.is_host(d)) return;
    if (a == d || c == b || (a == c && b == d)) return;
    drawn.words += fmt::format(" changed over {} {}", fabric.name_of(one), fabric.name_of(other));
    drawn.fabric = with_swapped(fabric, one, other);
  }

  std::mt19937_64 random_;
  FabricBuilder builder_;
  std::uint32_t hosts_ = 0;
};

TEST(DrawnDiscovery, WhatIsClaimedIsRightAndNoPortHasTwoCables) {
  for (int seed = 0; seed < draws(400); ++seed) {
    const auto drawn = Draw(static_cast<std::uint64_t>(seed)).draw();
    const SimulatedDiscovery run(drawn.fabric, drawn.book, drawn.options);
    const auto got = score(drawn.fabric, drawn.book, run.script.found());
    EXPECT_EQ(got.right, got.claimed) << "seed " << seed << ": " << drawn.words;
    std::set<IpAddress> ports;
    for (const auto& cable : run.script.found().cables)
      for (const auto& end : {cable.a, cable.b})
        EXPECT_TRUE(!end.port || ports.insert(*end.port).second)
            << "seed " << seed << ": " << to_string(*end.port) << " twice: " << drawn.words;
  }
}

}  // namespace
}  // namespace weft::session
