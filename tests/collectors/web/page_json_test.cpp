// What the page is told of a fabric and of one link, and who keeps the state for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "collectors/web/latest_state.hpp"
#include "collectors/web/layout_json.hpp"
#include "collectors/web/link_json.hpp"
#include "tests/fakes/fake_watched.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::web {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Nanoseconds kNow = std::chrono::hours(24 * 365 * 50);

std::vector<std::int64_t> summed(const json& steps) {
  std::vector<std::int64_t> numbers;
  for (const auto& step : steps)
    numbers.push_back((numbers.empty() ? 0 : numbers.back()) + step.get<std::int64_t>());
  return numbers;
}

TEST(LayoutJson, TheStepsOfItsColumnsAddUpToTheFabric) {
  const Fabric fabric =
      make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 2}).value();
  const auto layout = json::parse(layout_json(fabric));
  const auto tiers = summed(layout.at("nodes").at("tiers"));
  const auto pods = summed(layout.at("nodes").at("pods"));
  ASSERT_EQ(tiers.size(), fabric.node_count());
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    const Node& node = fabric.node(NodeId(n));
    EXPECT_EQ(layout.at("nodes").at("names").at(n), node.name);
    EXPECT_EQ(tiers[n], static_cast<std::int64_t>(node.tier)) << node.name;
    EXPECT_EQ(pods.at(n), node.pod.value_or(0)) << node.name;
  }
  const auto& links = layout.at("links");
  const auto a = summed(links.at("a")), b = summed(links.at("b"));
  const auto a_ports = summed(links.at("a_ports")), b_ports = summed(links.at("b_ports"));
  const auto rates = summed(links.at("rates"));
  ASSERT_EQ(a.size(), fabric.link_count());
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
    const Link& link = fabric.link(LinkId(l));
    EXPECT_EQ(a[l], fabric.port(link.a).node.value());
    EXPECT_EQ(b.at(l), fabric.port(link.b).node.value());
    EXPECT_EQ(a_ports.at(l), fabric.port(link.a).number.value());
    EXPECT_EQ(b_ports.at(l), fabric.port(link.b).number.value());
    EXPECT_EQ(rates.at(l), 400'000) << "Mbit/s";
  }
}

TEST(LayoutJson, SaysWhereNodesStandOfASmallFabricAlone) {
  const auto small = json::parse(layout_json(*make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2})));
  EXPECT_EQ(small.at("nodes").at("x").size(), 8u);
  EXPECT_EQ(small.at("nodes").at("y").size(), 8u);
  EXPECT_GT(small.at("width").get<double>(), 0);
  const auto large = json::parse(layout_json(*make_clos({.leaves = 16, .spines = 4, .hosts_per_leaf = 8})));
  EXPECT_FALSE(large.at("nodes").contains("x"));
  EXPECT_FALSE(large.contains("width"));
}

TEST(LayoutJson, NamesThePortsOfLinksThatHaveNamesAndEscapesThem) {
  FabricBuilder builder("two \"halves\"", FabricKind::roce);
  const NodeId host = builder.add_node({"host1", NodeKind::host, Tier::host}).value();
  const NodeId leaf = builder.add_node({"leaf1", NodeKind::switch_, Tier::leaf}).value();
  builder.connect(host, leaf, Bandwidth::gbit(100));
  const LinkId named = builder.connect(host, leaf, Bandwidth::gbit(100));
  ASSERT_TRUE(builder.name_port(builder.find_port(leaf, PortNumber(2)).value(), "Ethernet1/2"));
  const auto layout = json::parse(layout_json(std::move(builder).build()));
  EXPECT_EQ(layout.at("fabric"), "two \"halves\"");
  EXPECT_EQ(layout.at("port_names").size(), 1u);
  EXPECT_EQ(layout.at("port_names").at(std::to_string(named.value())), json::array({"", "Ethernet1/2"}));
}

class LinkOfThePage : public testing::Test {
 protected:
  json told(std::string_view link) const { return json::parse(text(link, page_).value()); }
  Result<std::string> text(std::string_view link, const PageFabric& page) const {
    return link_json(page, watched_.view(), fabric_->find_link(link).value(), {kNow - 1h, kNow});
  }

  std::shared_ptr<const Fabric> fabric_ = std::make_shared<const Fabric>(
      make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  FakeWatched watched_{fabric_, kNow};
  PageFabric page_ = watched_.page();
};

TEST_F(LinkOfThePage, HasTheIncidentsThatTouchItAndNoOthers) {
  watched_.fault("leaf1->spine2", 0.5, kNow - 10min);
  EXPECT_EQ(told("leaf1--spine2").at("incidents").size(), 1u);
  EXPECT_EQ(told("leaf1--spine3").at("incidents").size(), 0u);
}

TEST_F(LinkOfThePage, NamesItsEndsAndBothDirections) {
  const auto link = told("leaf1--spine2");
  EXPECT_EQ(link.at("name"), "leaf1--spine2");
  EXPECT_EQ(link.at("ends").size(), 2u);
  ASSERT_EQ(link.at("channels").size(), 2u);
  EXPECT_EQ(link.at("channels").at(0).at("name"), "leaf1->spine2");
  EXPECT_EQ(link.at("channels").at(1).at("name"), "spine2->leaf1");
}

TEST_F(LinkOfThePage, HasNoHistoryWhereNoneIsKept) {
  page_.history = nullptr;
  const auto link = told("leaf1--spine2");
  for (const char* member : {"history", "incidents", "range"}) EXPECT_FALSE(link.contains(member)) << member;
  EXPECT_TRUE(link.contains("paths"));
}

TEST_F(LinkOfThePage, IsShownWithoutItsPathsWhereTheWatcherDoesNotAnswer) {
  watched_.break_paths("the watcher is busy");
  const auto link = told("leaf1--spine2");
  EXPECT_EQ(link.at("paths").size(), 0u);
  EXPECT_THAT(link.at("paths_trouble").get<std::string>(), HasSubstr("busy"));
}

TEST_F(LinkOfThePage, SaysWhyItsHistoryCannotBeRead) {
  watched_.break_with("the disk is gone");
  const auto failed = text("leaf1--spine2", page_);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("the disk is gone"));
}

TEST(LatestState, IsAbsentUntilItIsToldAndThenTheLastTold) {
  const auto fabric =
      std::make_shared<const Fabric>(*make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}));
  LatestState latest(fabric);
  EXPECT_EQ(latest.view().state, nullptr);
  EXPECT_EQ(latest.view().fabric, fabric);
  latest.set({.at = 1s});
  const auto first = latest.view().state;
  latest.set({.at = 2s});
  EXPECT_EQ(latest.view().state->at, 2s);
  EXPECT_EQ(first->at, 1s) << "who holds one keeps it";
}

TEST(LatestState, KnowsPathsOnlyWhereSomebodyAnswers) {
  const auto fabric =
      std::make_shared<const Fabric>(*make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}));
  EXPECT_EQ(LatestState(fabric).paths_over(LinkId(0), 5)->size(), 0u);
  std::vector<std::uint64_t> asked;
  const LatestState answered(fabric, [&](LinkId link, std::size_t most) {
    asked = {link.value(), most};
    return std::vector<CrossingPath>(1);
  });
  EXPECT_EQ(answered.paths_over(LinkId(3), 5)->size(), 1u);
  EXPECT_THAT(asked, ElementsAre(3, 5));
}

}  // namespace
}  // namespace weft::web
