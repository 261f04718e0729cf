// Which cables can be isolated by what UFM tells of them.
#include "balancer/export/ufm_links.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/model/clos.hpp"

namespace weft::exports {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using State = UfmLinks::State;

/// A fabric, and what UFM tells of it.
struct Rig {
  explicit Rig(Result<Fabric> made) : fabric(std::move(made).value()) {
    for (const Link& link : fabric.links())
      for (const auto& [port, far] : {std::pair(link.a, link.b), std::pair(link.b, link.a)})
        add({id_of(port), fabric.name_of(fabric.port(port).node), true, id_of(far)});
  }
  void add(const UfmPort& port) { ports.emplace(port.id, port); }
  UfmPortId id_of(PortId port) const {
    const Port& its = fabric.port(port);
    if (fabric.is_host(its.node)) return {Guid(0x1000 + port.value()), PortNumber(1)};
    return {Guid(0x2000 + its.node.value()), its.number};
  }
  LinkId link(const char* name) const { return fabric.find_link(name).value(); }
  UfmPortId end(const char* name, bool second = false) const {
    const Link& its = fabric.link(link(name));
    return id_of(second ? its.b : its.a);
  }
  UfmPort& port(const UfmPortId& id) { return ports.at(id); }
  void isolate(const UfmPortId& id, const char* condition = "MANUAL") {
    unhealthy.emplace(id, UnhealthyPort{id, {condition}, port(id).peer});
  }
  UfmLinks links(std::size_t max_isolated = 8) const { return {fabric, ports, unhealthy, max_isolated}; }
  std::string why_not(const char* name) const {
    const auto end = links().end_to_isolate(link(name));
    return end ? "" : end.error().message;
  }

  Fabric fabric;
  UfmPorts ports;
  UnhealthyPorts unhealthy;
};

Rig clos(std::uint32_t spines = 2) {
  return Rig(make_clos(
      {.name = "f", .kind = FabricKind::infiniband, .leaves = 2, .spines = spines, .hosts_per_leaf = 1}));
}

TEST(UfmLinks, ShowHowACableStands) {
  auto rig = clos(4);
  rig.port(rig.end("leaf1--spine1")).is_active = false;
  rig.isolate(rig.end("leaf1--spine2"));
  rig.isolate(rig.end("leaf1--spine3", true), "FLAPPING");
  rig.ports.erase(rig.end("leaf2--spine4"));
  const auto links = rig.links();
  EXPECT_EQ(links.seen(rig.link("leaf2--spine1")).state, State::up);
  EXPECT_EQ(links.seen(rig.link("leaf1--spine1")).state, State::down);
  const auto isolated = links.seen(rig.link("leaf1--spine2"));
  EXPECT_EQ(isolated.state, State::isolated);
  EXPECT_EQ(isolated.text, isolated_at(rig.end("leaf1--spine2")));
  const auto reported = links.seen(rig.link("leaf1--spine3"));
  EXPECT_EQ(reported.state, State::reported);
  EXPECT_THAT(reported.text, AllOf(HasSubstr("spine3/p"), HasSubstr("FLAPPING")));
  EXPECT_EQ(links.seen(rig.link("leaf2--spine4")).state, State::unknown);
}

TEST(UfmLinks, AreIsolatedAtASwitchAndNeverTheLastWay) {
  auto rig = clos(2);
  auto links = rig.links();
  const auto first = links.end_to_isolate(rig.link("leaf1--spine1"));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->id, rig.end("leaf1--spine1"));
  links.take_out(rig.link("leaf1--spine1"));
  const auto second = links.end_to_isolate(rig.link("leaf1--spine2"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict);
  EXPECT_THAT(second.error().message, HasSubstr("the last way between leaf1 and leaf2"));
  // Up one spine and down the other there is no way.
  EXPECT_FALSE(links.end_to_isolate(rig.link("leaf2--spine2")));
  links.restart();
  EXPECT_TRUE(links.end_to_isolate(rig.link("leaf1--spine2")));
}

TEST(UfmLinks, CountWhatOthersIsolatedAsNoWay) {
  auto rig = clos(2);
  rig.isolate(rig.end("leaf2--spine1", true));
  EXPECT_THAT(rig.why_not("leaf1--spine2"), HasSubstr("the last way"));
  EXPECT_EQ(rig.why_not("leaf1--spine1"), "");
  rig.unhealthy.clear();
  rig.isolate(rig.end("leaf2--spine1", true), "UNRESPONSIVE");
  EXPECT_THAT(rig.why_not("leaf1--spine2"), HasSubstr("the last way"));
}

TEST(UfmLinks, CountACableThatIsElsewhereAsNoWay) {
  auto rig = clos(2);
  std::swap(rig.port(rig.end("leaf1--spine1", true)).peer, rig.port(rig.end("leaf2--spine1", true)).peer);
  EXPECT_THAT(rig.why_not("leaf1--spine2"), HasSubstr("the last way"));
}

/// A host that the file does not have may be that of the subnet manager.
TEST(UfmLinks, KeepTheWayOfASwitchWithAHostThatTheFileDoesNotHave) {
  Rig rig(make_pod_clos({.name = "f",
                         .kind = FabricKind::infiniband,
                         .pods = 2,
                         .leaves = 1,
                         .spines = 2,
                         .cores = 2,
                         .hosts_per_leaf = 1}));
  const Fabric& fabric = rig.fabric;
  std::vector<LinkId> of_core;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i)
    for (const PortId port : {fabric.link(LinkId(i)).a, fabric.link(LinkId(i)).b})
      if (fabric.name_of(fabric.port(port).node) == "core1") of_core.emplace_back(i);
  ASSERT_EQ(of_core.size(), 2u);
  EXPECT_TRUE(rig.links().end_to_isolate(of_core[0])) << "there is another core";
  const auto core = fabric.find_node("core1").value();
  rig.add(
      {{Guid(0x2000 + core.value()), PortNumber(9)}, "core1", true, UfmPortId{Guid(0x9999), PortNumber(1)}});
  EXPECT_FALSE(rig.links().end_to_isolate(of_core[0]));
}

TEST(UfmLinks, LeaveAHostItsLastCable) {
  auto rig = clos();
  EXPECT_THAT(rig.why_not("host1--leaf1"), HasSubstr("the last cable of host1"));
  Rig rails(make_rails({.name = "f",
                        .kind = FabricKind::infiniband,
                        .groups = 1,
                        .hosts_per_group = 2,
                        .rails = 2,
                        .spines = 2}));
  auto links = rails.links();
  const auto name = rails.fabric.name_of(*rails.fabric.port(rails.fabric.nics()[0]).link);
  const auto other = rails.fabric.name_of(*rails.fabric.port(rails.fabric.nics()[1]).link);
  const auto end = links.end_to_isolate(rails.link(name.c_str()));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_GE(end->id.guid, Guid(0x2000)) << "at the switch, not at the host";
  links.take_out(rails.link(name.c_str()));
  EXPECT_FALSE(links.end_to_isolate(rails.link(other.c_str())));
}

TEST(UfmLinks, AreLeftWhereAnotherCableIs) {
  auto rig = clos(4);
  rig.port(rig.end("leaf1--spine1")).peer = rig.end("leaf1--spine2", true);
  EXPECT_THAT(rig.why_not("leaf1--spine1"), HasSubstr("where the fabric file has it"));
  rig.port(rig.end("leaf1--spine3")).peer.reset();
  EXPECT_THAT(rig.why_not("leaf1--spine3"), HasSubstr("UFM sees none there"));
  rig.port(rig.end("leaf2--spine1")).is_active = false;
  EXPECT_THAT(rig.why_not("leaf2--spine1"), HasSubstr("it is not up: down"));
  // A host's port where the file has a switch's.
  rig.port(rig.end("leaf2--spine2")).peer = UfmPortId{Guid(0x1000), PortNumber(1)};
  EXPECT_THAT(rig.why_not("leaf2--spine2"), HasSubstr("where the fabric file has it"));
}

TEST(UfmLinks, OfAHostAreLeftWhereThoseOfAnotherAre) {
  Rig rig(make_rails({.name = "f",
                      .kind = FabricKind::infiniband,
                      .groups = 1,
                      .hosts_per_group = 2,
                      .rails = 2,
                      .spines = 2}));
  const auto rails_of = [&](const char* host) {
    std::vector<LinkId> links;
    for (const ChannelId channel : rig.fabric.channels_from(rig.fabric.find_node(host).value()))
      links.push_back(Fabric::link_of(channel));
    return links;
  };
  const auto at_leaf = [&](LinkId link) -> UfmPort& {
    const Link& its = rig.fabric.link(link);
    return rig.port(rig.id_of(rig.fabric.is_host(rig.fabric.port(its.a).node) ? its.b : its.a));
  };
  const LinkId one = rails_of("host1")[0], other = rails_of("host2")[0];
  ASSERT_TRUE(rig.links().end_to_isolate(one));
  std::swap(at_leaf(one).peer, at_leaf(other).peer);
  for (const LinkId link : {one, other}) {
    const auto end = rig.links().end_to_isolate(link);
    ASSERT_FALSE(end);
    EXPECT_THAT(end.error().message, HasSubstr("where the fabric file has it"));
  }
  EXPECT_THAT(rig.why_not(rig.fabric.name_of(rails_of("host1")[1]).c_str()),
              HasSubstr("the last cable of host1"));
}

TEST(UfmLinks, HaveACapThatCountsEachCableOnceByWhomeverItIsIsolated) {
  auto rig = clos(4);
  rig.isolate(rig.end("leaf1--spine1"));
  rig.isolate(rig.end("leaf1--spine1", true));
  rig.isolate(rig.end("leaf2--spine1"), "FLAPPING");
  UfmLinks links(rig.fabric, rig.ports, rig.unhealthy, 2);
  ASSERT_TRUE(links.end_to_isolate(rig.link("leaf1--spine3"))) << "one is isolated by hand";
  links.take_out(rig.link("leaf1--spine3"));
  const auto more = links.end_to_isolate(rig.link("leaf1--spine4"));
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message, HasSubstr("2 cables are isolated in UFM"));
  links.give_back();
  EXPECT_TRUE(links.end_to_isolate(rig.link("leaf1--spine4")));
  EXPECT_FALSE(rig.links(0).end_to_isolate(rig.link("leaf1--spine3")));
}

TEST(UfmLinks, GoByNoNameThatTwoSwitchesHave) {
  auto rig = clos();
  rig.add({{Guid(0x7777), PortNumber(1)}, "leaf1", true});
  EXPECT_EQ(rig.links().seen(rig.link("leaf1--spine1")).state, State::unknown);
  EXPECT_EQ(rig.links().seen(rig.link("leaf2--spine1")).state, State::up);
}

TEST(UfmLinks, OfAFabricThatUfmDoesNotHaveAreUnknown) {
  auto rig = clos();
  rig.ports.clear();
  EXPECT_EQ(rig.links().seen(rig.link("leaf1--spine1")).state, State::unknown);
  EXPECT_THAT(rig.links().seen(rig.link("leaf1--spine1")).text, HasSubstr("UFM has no port leaf1/p"));
}

}  // namespace
}  // namespace weft::exports
