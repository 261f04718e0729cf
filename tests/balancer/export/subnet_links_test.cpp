// Which links of an InfiniBand subnet can be disabled: against an oracle that takes links out and looks.
#include "balancer/export/subnet_links.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/fakes/fake_subnet.hpp"

namespace weft::exports {
namespace {

using ::testing::HasSubstr;
using State = SubnetLinks::State;
using weft::fakes::FakeSubnet;
using weft::fakes::make_subnet;

/// A subnet, its fabric as it was built, and what is read of it now.
class Rig {
 public:
  Rig(unsigned leaves, unsigned spines, unsigned hosts)
      : subnet_(make_subnet(leaves, spines, hosts)),
        built_(build_infiniband_fabric(subnet_.subnet(), "ib").value()) {}

  const Fabric& fabric() const { return built_.fabric; }
  FakeSubnet& subnet() { return subnet_; }
  LinkId link(const std::string& name) const { return fabric().find_link(name).value(); }

  /// Out of use at both of its ends; `disabled`: at this one by somebody.
  void unplug(const std::string& name, std::optional<std::string> disabled = std::nullopt) {
    const Link& its = fabric().link(link(name));
    for (const PortId port : {its.a, its.b}) {
      auto& about = port_of(port);
      about.peer.reset();
      about.state = IbPortState::down;
      about.disabled = disabled && fabric().name_of(fabric().port(port).node) == *disabled;
    }
  }
  /// Its first end goes to a port of the same switch that the file does not have; the port that it leaves.
  IbSubnetPort& move_cable(const std::string& name) {
    constexpr std::uint8_t kOtherPort = 40;
    const Link& its = fabric().link(link(name));
    auto& node = subnet_.node(*fabric().node(fabric().port(its.a).node).guid);
    node.about.port_count = kOtherPort;
    node.ports[kOtherPort] = port_of(its.a);
    port_of(its.b).peer->port = kOtherPort;
    return port_of(its.a);
  }
  IbSubnetPort& port_of(PortId port) {
    const auto& its = fabric().port(port);
    return subnet_.node(*fabric().node(its.node).guid).ports[static_cast<std::uint8_t>(its.number.value())];
  }

  /// As minimum hop has it, spread over the spines by LID.
  void route() {
    const auto now = build_infiniband_fabric(subnet_.subnet(), "ib").value();
    const Fabric& is = now.fabric;
    for (std::uint32_t n = 0; n < is.node_count(); ++n) {
      const NodeId target(n);
      std::vector<LidRange> lids;
      if (!is.is_host(target) && now.inventory.nodes[n].lids) lids.push_back(*now.inventory.nodes[n].lids);
      for (const PortId port : is.ports_of(target))
        if (is.is_host(target) && now.inventory.ports[port.value()].lids)
          lids.push_back(*now.inventory.ports[port.value()].lids);
      for (const LidRange& range : lids) spread(now, target, range);
    }
  }

  SubnetLinks read() {
    auto discovery = discover::discover_subnet(subnet_).value();
    auto found = build_infiniband_fabric(discovery.subnet, "ib").value();
    auto tables = read_tables(subnet_, found, discovery.routes).value();
    return {fabric(), std::move(discovery), std::move(found), std::move(tables.tables)};
  }

 private:
  void spread(const InfinibandFabric& now, NodeId target, const LidRange& range) {
    const Fabric& is = now.fabric;
    std::vector<unsigned> far(is.node_count(), ~0U);
    std::vector<NodeId> next{target};
    far[target.value()] = 0;
    for (std::size_t i = 0; i < next.size(); ++i)
      for (const ChannelId channel : is.channels_from(next[i])) {
        const NodeId to = is.target_node(channel);
        if (far[to.value()] != ~0U || (is.is_host(next[i]) && i > 0)) continue;
        far[to.value()] = far[next[i].value()] + 1;
        next.push_back(to);
      }
    for (std::uint32_t n = 0; n < is.node_count(); ++n) {
      const NodeId node(n);
      if (is.is_host(node)) continue;
      std::vector<std::uint8_t> ports;
      for (const ChannelId channel : is.channels_from(node))
        if (far[is.target_node(channel).value()] + 1 == far[n])
          ports.push_back(static_cast<std::uint8_t>(is.port(is.source(channel)).number.value()));
      auto& table = subnet_.tables[*is.node(node).guid];
      table.resize(std::max<std::size_t>(table.size(), range.end()), routing::ForwardingTables::kNone);
      for (std::uint32_t lid = range.base.value(); lid < range.end(); ++lid)
        table[lid] = node == target  ? 0
                     : ports.empty() ? routing::ForwardingTables::kNone
                                     : ports[lid % ports.size()];
    }
  }

  FakeSubnet subnet_;
  InfinibandFabric built_;
};

std::string why_not(const SubnetLinks& links, LinkId link) {
  const auto end = links.end_to_disable(link);
  return end ? "" : end.error().message;
}

TEST(SubnetLinks, SeeWhatStandsAtEachEnd) {
  Rig rig(3, 4, 2);
  rig.unplug("leaf1--spine1", "leaf1"), rig.unplug("leaf2--spine1");
  rig.route();
  auto links = rig.read();
  EXPECT_EQ(links.seen(rig.link("leaf3--spine1")).state, State::up);
  EXPECT_EQ(links.seen(rig.link("leaf2--spine1")).state, State::down);
  EXPECT_THAT(why_not(links, rig.link("leaf2--spine1")), HasSubstr("it is down"));
  const auto disabled = links.seen(rig.link("leaf1--spine1"));
  EXPECT_EQ(disabled.state, State::disabled);
  ASSERT_EQ(disabled.disabled.size(), 1u);
  EXPECT_THAT(disabled.text, HasSubstr("disabled at leaf1/p"));
  rig.unplug("leaf3--spine1");
  EXPECT_EQ(rig.read().seen(rig.link("leaf3--spine1")).state, State::unknown) << "spine1 is not there";
  EXPECT_EQ(rig.read().seen(rig.link("leaf1--spine1")).state, State::disabled) << "known at its other end";
}

TEST(SubnetLinks, DoNotTakeAPortThatDoesNotTellForOneThatIsInUse) {
  Rig rig(3, 4, 2);
  rig.unplug("leaf2--spine1", "leaf2");
  rig.route();
  rig.subnet().ignored = {
      {*rig.fabric().node(rig.fabric().find_node("leaf2").value()).guid, mad::MadAttribute::port_info}};
  EXPECT_EQ(rig.read().seen(rig.link("leaf2--spine1")).state, State::unknown);
}

TEST(SubnetLinks, SeeAPortThatIsDisabledThoughItsCableWasMoved) {
  Rig rig(2, 4, 1);
  auto& left = rig.move_cable("leaf1--spine1");
  left.peer.reset(), left.disabled = true;
  rig.route();
  EXPECT_EQ(rig.read().seen(rig.link("leaf1--spine1")).state, State::disabled);
}

TEST(SubnetLinks, CountNoCableThatTheManagerHasNotActivated) {
  Rig rig(2, 2, 1);
  for (const PortId port :
       {rig.fabric().link(rig.link("leaf2--spine1")).a, rig.fabric().link(rig.link("leaf2--spine1")).b})
    rig.port_of(port).state = IbPortState::init;
  rig.route();
  EXPECT_THAT(why_not(rig.read(), rig.link("leaf2--spine2")), HasSubstr("last way"));
}

TEST(SubnetLinks, KeepALeafWhoseHostsAreAllOff) {
  Rig rig(3, 2, 1);
  const NodeId host = rig.fabric().find_node("host2").value();
  rig.subnet().node(*rig.fabric().node(host).guid).ports.at(1).peer.reset();
  rig.port_of(rig.fabric().target(rig.fabric().channels_from(host).front())).peer.reset();
  rig.unplug("leaf2--spine1");
  rig.route();
  EXPECT_THAT(why_not(rig.read(), rig.link("leaf2--spine2")), HasSubstr("last way"));
}

TEST(SubnetLinks, ChooseAnEndThatTheTablesLeadToWithoutTheLink) {
  Rig rig(3, 4, 2);
  rig.route();
  auto links = rig.read();
  // From a host at leaf1 its own leaf is always reached without its uplinks.
  for (const char* spine : {"spine1", "spine2", "spine3", "spine4"}) {
    const auto end = links.end_to_disable(rig.link(std::string("leaf1--") + spine));
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_THAT(end->name, HasSubstr("leaf1/"));
  }
  // The tables of leaf1 lead to leaf2 over one spine; of that spine's cable to leaf2 the spine's end remains.
  std::size_t at_leaf = 0, at_spine = 0;
  for (const char* spine : {"spine1", "spine2", "spine3", "spine4"}) {
    const auto end = links.end_to_disable(rig.link(std::string("leaf2--") + spine));
    ASSERT_TRUE(end) << end.error().message;
    ++(end->name.starts_with("leaf2/") ? at_leaf : at_spine);
  }
  EXPECT_GE(at_spine, 1u);
  EXPECT_GE(at_leaf, 2u);
}

TEST(SubnetLinks, KeepTheLastWayOfALeafOfTheManagerAndOfOurselves) {
  Rig rig(3, 2, 2);
  rig.unplug("leaf2--spine1"), rig.unplug("leaf1--spine2");
  rig.route();
  auto links = rig.read();
  EXPECT_THAT(why_not(links, rig.link("leaf2--spine2")), HasSubstr("last way between"));
  EXPECT_THAT(why_not(links, rig.link("leaf1--spine1")), HasSubstr("leaf1 (where the subnet manager is)"));
  EXPECT_THAT(why_not(links, rig.link("leaf3--spine1")), HasSubstr("last way between")) << "leaf1 to leaf3";
  rig.subnet().has_manager = false;
  EXPECT_THAT(why_not(rig.read(), rig.link("leaf3--spine2")), HasSubstr("no subnet manager"));
}

TEST(SubnetLinks, CountWhatWasTakenOutBefore) {
  Rig rig(2, 3, 1);
  rig.route();
  auto links = rig.read();
  for (const char* spine : {"spine1", "spine2"}) {
    const LinkId link = rig.link(std::string("leaf1--") + spine);
    EXPECT_EQ(why_not(links, link), "");
    links.take_out(link);
  }
  EXPECT_THAT(why_not(links, rig.link("leaf1--spine3")), HasSubstr("last way"));
  EXPECT_THAT(why_not(links, rig.link("leaf2--spine3")), HasSubstr("last way"));
}

TEST(SubnetLinks, RefuseACableThatIsElsewhereThanTheFileHasIt) {
  Rig rig(2, 4, 1);
  rig.move_cable("leaf1--spine1").peer.reset();
  rig.route();
  EXPECT_THAT(why_not(rig.read(), rig.link("leaf1--spine1")), HasSubstr("is not at leaf1/p"));
}

/// Which switches with hosts reach which by up, then down: by trying all spines.
bool all_joined(const std::vector<std::vector<bool>>& has) {
  for (std::size_t a = 0; a < has.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      bool joined = false;
      for (std::size_t s = 0; s < has[a].size(); ++s) joined = joined || (has[a][s] && has[b][s]);
      if (!joined) return false;
    }
  return true;
}

TEST(SubnetLinks, OfDrawnSubnetsNoneIsCutAndTheEndStaysReachable) {
  std::mt19937 random(19);
  std::size_t allowed = 0, refused = 0;
  for (int draw = 0; draw < 60; ++draw) {
    const unsigned leaves = 2 + random() % 4, spines = 1 + random() % 4;
    Rig rig(leaves, spines, 1 + random() % 2);
    std::vector has(leaves, std::vector<bool>(spines, true));
    const auto name = [](std::size_t leaf, std::size_t spine) {
      return fmt::format("leaf{}--spine{}", leaf + 1, spine + 1);
    };
    for (unsigned i = random() % 4; i > 0; --i) {
      const std::size_t leaf = random() % leaves, spine = random() % spines;
      has[leaf][spine] = false;
      if (all_joined(has))
        rig.unplug(name(leaf, spine));
      else
        has[leaf][spine] = true;
    }
    rig.route();
    auto links = rig.read();
    for (int tries = 0; tries < 8; ++tries) {
      const std::size_t leaf = random() % leaves, spine = random() % spines;
      if (!has[leaf][spine]) continue;
      has[leaf][spine] = false;
      const bool may = all_joined(has);
      const auto end = links.end_to_disable(rig.link(name(leaf, spine)));
      if (!may) {
        EXPECT_FALSE(end) << draw << ": " << name(leaf, spine) << " cuts " << leaves << "x" << spines;
        ++refused;
      } else if (!end) {
        // Only for the tables, which still lead over what was taken out before.
        EXPECT_THAT(end.error().message, HasSubstr("forwarding tables")) << draw;
      }
      if (!end) {
        has[leaf][spine] = true;
        continue;
      }
      links.take_out(rig.link(name(leaf, spine)));
      ++allowed;
    }
  }
  EXPECT_GT(allowed, 50u);
  EXPECT_GT(refused, 20u);
}

}  // namespace
}  // namespace weft::exports
