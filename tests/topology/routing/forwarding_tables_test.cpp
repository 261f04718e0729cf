#include "topology/routing/forwarding_tables.hpp"

#include <gmock/gmock.h>

#include <set>

#include "tests/fakes/fake_subnet.hpp"
#include "topology/model/fabric.hpp"
#include "topology/routing/adaptive_routes.hpp"
#include "topology/routing/routing_report.hpp"

namespace weft::routing {
namespace {

/// Three leaves, two spines, two hosts a leaf, LMC 1: DLID offset i goes over spine i + 1.
struct Routed {
  InfinibandFabric fabric = build_infiniband_fabric(fakes::make_subnet(3, 2, 2, 1), "routed").value();
  ForwardingTables tables{fabric};

  Routed() {
    for (std::size_t s = 0; s < tables.switch_count(); ++s) fill(tables.switch_at(s));
  }
  PortId nic(const char* host) const { return fabric.fabric.find_nic(host).value(); }
  Lid lid(const char* host, unsigned offset = 0) const {
    return Lid(static_cast<std::uint16_t>(tables.lids_of(nic(host))->base.value() + offset));
  }
  std::uint8_t port_to(NodeId from, NodeId to) const {
    for (const PortId port : fabric.fabric.ports_of(from))
      if (const auto out = fabric.fabric.channel_from(port); out && fabric.fabric.target_node(*out) == to)
        return static_cast<std::uint8_t>(fabric.fabric.port(port).number.value());
    return 0;
  }
  NodeId node(const std::string& name) const { return fabric.fabric.find_node(name).value(); }
  void set(const char* at, Lid lid, std::uint8_t port) {
    const std::array entry{port};
    tables.set(node(at), lid.value(), entry);
  }

 private:
  void fill(NodeId at) {
    const Fabric& f = fabric.fabric;
    for (const PortId nic : f.nics())
      for (unsigned i = 0; i < 2; ++i) {
        const NodeId leaf = f.target_node(*f.channel_from(nic));
        const NodeId next = at == leaf                      ? f.port(nic).node
                            : f.node(at).tier == Tier::leaf ? node(fmt::format("spine{}", i + 1))
                                                            : leaf;
        const std::array entry{port_to(at, next)};
        tables.set(at, tables.lids_of(nic)->base.value() + i, entry);
      }
  }
};

TEST(ForwardingTables, TheLabelChoosesTheSpine) {
  const Routed routed;
  const Fabric& f = routed.fabric.fabric;
  for (unsigned i = 0; i < 2; ++i) {
    const auto route = routed.tables.walk(routed.nic("host1"), routed.lid("host5", i));
    ASSERT_EQ(route.end, RouteEnd::arrived);
    ASSERT_EQ(route.hops, 4);
    EXPECT_EQ(f.name_of(route.path()[1]), fmt::format("leaf1->spine{}", i + 1));
    EXPECT_EQ(f.name_of(route.path()[3]), "leaf3->host5");
  }
}

TEST(ForwardingTables, WalksThatDoNotArriveSayWhy) {
  Routed routed;
  const auto from = routed.nic("host1");
  EXPECT_EQ(routed.tables.walk(from, Lid(4000)).end, RouteEnd::no_such_lid);
  routed.set("leaf1", routed.lid("host5"), ForwardingTables::kNone);
  EXPECT_EQ(routed.tables.walk(from, routed.lid("host5")).end, RouteEnd::no_entry);
  routed.set("spine1", routed.lid("host6"), 200);
  EXPECT_EQ(routed.tables.walk(from, routed.lid("host6")).end, RouteEnd::dead_port);
  routed.set("spine1", routed.lid("host3"), routed.port_to(routed.node("spine1"), routed.node("leaf1")));
  EXPECT_EQ(routed.tables.walk(from, routed.lid("host3")).end, RouteEnd::loop);
  routed.set("leaf2", routed.lid("host4"), routed.port_to(routed.node("leaf2"), routed.node("host3")));
  EXPECT_EQ(routed.tables.walk(from, routed.lid("host4")).end, RouteEnd::strayed);
}

TEST(RoutingReport, AHealthyTreeIsShortestUpThenDownEvenAndWithoutCreditLoops) {
  const Routed routed;
  const auto report = report_routing(routed.fabric, routed.tables);
  EXPECT_EQ(report.routes, 6u * 5 * 2);
  EXPECT_EQ(report.unreachable, 0u);
  EXPECT_TRUE(report.shortest);
  EXPECT_TRUE(report.up_down);
  EXPECT_TRUE(report.credit_loop.empty());
  EXPECT_DOUBLE_EQ(report.top.busiest_over_mean, 1.0);
  EXPECT_EQ(describe_engine(report), "shortest paths, up then down: as minhop, updn and ftree route");
}

TEST(RoutingReport, CountsThePairsThatABrokenEntryCutsOff) {
  Routed routed;
  routed.set("leaf1", routed.lid("host5"), ForwardingTables::kNone);
  const auto report = report_routing(routed.fabric, routed.tables);
  EXPECT_EQ(report.unreachable, 2u);  // host1 and host2
  ASSERT_EQ(report.broken.size(), 1u);
  EXPECT_EQ(report.broken[0].at, routed.node("leaf1"));
  EXPECT_EQ(report.broken[0].end, RouteEnd::no_entry);
}

TEST(RoutingReport, ARingOfDetoursIsALoopWhereItLoopsAndACreditLoopWhereItDoesNot) {
  Routed routed;
  // To host1: leaf2 -> spine1 -> leaf3 -> spine2 -> leaf1; to host3 and host5 the same, turned.
  const auto detour = [&](const char* host, const char* first, const char* second) {
    routed.set(first, routed.lid(host), routed.port_to(routed.node(first), routed.node("spine1")));
    routed.set("spine1", routed.lid(host), routed.port_to(routed.node("spine1"), routed.node(second)));
    routed.set(second, routed.lid(host), routed.port_to(routed.node(second), routed.node("spine2")));
  };
  detour("host1", "leaf2", "leaf3");
  auto report = report_routing(routed.fabric, routed.tables);
  EXPECT_EQ(report.unreachable, 0u);
  EXPECT_FALSE(report.shortest);
  EXPECT_FALSE(report.up_down);
  EXPECT_TRUE(report.credit_loop.empty());
  // And one that closes the ring: leaf3 -> spine2 -> leaf2 -> spine1 -> leaf1.
  routed.set("leaf3", routed.lid("host2"), routed.port_to(routed.node("leaf3"), routed.node("spine2")));
  routed.set("spine2", routed.lid("host2"), routed.port_to(routed.node("spine2"), routed.node("leaf2")));
  routed.set("leaf2", routed.lid("host2"), routed.port_to(routed.node("leaf2"), routed.node("spine1")));
  routed.set("spine1", routed.lid("host2"), routed.port_to(routed.node("spine1"), routed.node("leaf1")));
  report = report_routing(routed.fabric, routed.tables);
  EXPECT_EQ(report.unreachable, 0u);
  EXPECT_FALSE(report.credit_loop.empty());
  routed.set("spine1", routed.lid("host3"), routed.port_to(routed.node("spine1"), routed.node("leaf1")));
  EXPECT_GT(report_routing(routed.fabric, routed.tables).looping, 0u);
}

TEST(AdaptiveRoutes, WithoutAnAdaptiveSwitchALabelHasTheOneWayOfTheTables) {
  const Routed routed;
  AdaptiveRoutes routes(routed.fabric.fabric, routed.tables);
  for (const char* host : {"host2", "host5"}) {
    const auto lid = routed.lid(host, 1);
    const auto label = routes.walk(routed.nic("host1"), lid);
    ASSERT_EQ(label.paths.size(), 1u);
    const auto route = routed.tables.walk(routed.nic("host1"), lid);
    EXPECT_TRUE(std::ranges::equal(label.paths[0], route.path()));
  }
}

TEST(AdaptiveRoutes, AnAdaptiveLeafSpreadsItsLabelsOverEverySpine) {
  Routed routed;
  routed.tables.set_adaptive(routed.node("leaf1"), AdaptiveRouting::on);
  AdaptiveRoutes routes(routed.fabric.fabric, routed.tables);
  const auto away = routes.walk(routed.nic("host1"), routed.lid("host5"));
  EXPECT_EQ(away.end, RouteEnd::arrived);
  ASSERT_EQ(away.paths.size(), 2u);
  const auto spine = [&](std::size_t path) { return routed.fabric.fabric.name_of(away.paths[path][1]); };
  EXPECT_EQ(spine(0), "leaf1->spine1");  // as its table has it
  EXPECT_EQ(spine(1), "leaf1->spine2");
  EXPECT_EQ(routes.walk(routed.nic("host5"), routed.lid("host1")).paths.size(), 1u);  // leaf3 is not adaptive
  EXPECT_EQ(routes.walk(routed.nic("host1"), routed.lid("host2")).paths.size(), 1u);  // within the leaf
}

TEST(AdaptiveRoutes, AServiceLevelThatIsNotOursLeavesTheTablesWay) {
  Routed routed;
  routed.tables.set_adaptive(routed.node("leaf1"), AdaptiveRouting::other_service_levels);
  AdaptiveRoutes routes(routed.fabric.fabric, routed.tables);
  EXPECT_EQ(routes.walk(routed.nic("host1"), routed.lid("host5")).paths.size(), 1u);
}

TEST(AdaptiveRoutes, ALabelThatTheTablesLoseIsLostAndALoopBesideIsNoWay) {
  Routed routed;
  for (const char* name : {"leaf1", "leaf2", "leaf3", "spine1", "spine2"})
    routed.tables.set_adaptive(routed.node(name), AdaptiveRouting::on);
  routed.set("leaf1", routed.lid("host5"), ForwardingTables::kNone);
  AdaptiveRoutes routes(routed.fabric.fabric, routed.tables);
  EXPECT_EQ(routes.walk(routed.nic("host1"), routed.lid("host5")).end, RouteEnd::no_entry);
  EXPECT_TRUE(routes.walk(routed.nic("host1"), routed.lid("host5")).paths.empty());
  // spine2's table leads back: of its ways only the one that its group has arrives.
  routed.set("spine2", routed.lid("host6"), routed.port_to(routed.node("spine2"), routed.node("leaf1")));
  const auto label = routes.walk(routed.nic("host1"), routed.lid("host6"));
  EXPECT_FALSE(label.too_many);
  EXPECT_FALSE(label.paths.empty());
  for (const auto& path : label.paths) {
    std::set<NodeId> met;
    for (const ChannelId channel : path)
      EXPECT_TRUE(met.insert(routed.fabric.fabric.target_node(channel)).second);
  }
}

TEST(RoutingReport, CountsTheAdaptiveSwitchesAndSaysWhereNobodyKnows) {
  Routed routed;
  EXPECT_THAT(describe_adaptive(report_routing(routed.fabric, routed.tables).adaptive),
              ::testing::HasSubstr("not known"));
  routed.tables.set_adaptive(routed.node("leaf1"), AdaptiveRouting::on);
  routed.tables.set_adaptive(routed.node("leaf2"), AdaptiveRouting::other_service_levels);
  routed.tables.set_adaptive(routed.node("leaf3"), AdaptiveRouting::off);
  const auto report = report_routing(routed.fabric, routed.tables);
  EXPECT_EQ(report.adaptive.on, 1u);
  EXPECT_EQ(report.adaptive.unknown, 2u);
  EXPECT_EQ(
      describe_adaptive(report.adaptive),
      "on at 1 of 5 switches: there a label takes any of the shortest ways; at 1 not for service level 0; "
      "not known of 2");
}

}  // namespace
}  // namespace weft::routing
