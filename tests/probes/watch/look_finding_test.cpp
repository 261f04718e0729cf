#include "probes/watch/look_finding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "probes/diagnosis/report.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FindingsOfALook : public testing::Test {
 protected:
  ChannelId channel(std::string_view name) const { return *fabric_.find_channel(name); }
  LinkFinding link(std::string_view name, double confidence, bool one_way = true) const {
    const ChannelId its = channel(name);
    LinkFinding finding{.link = Fabric::link_of(its), .confidence = confidence};
    if (one_way) finding.channel = its;
    return finding;
  }

  Fabric fabric_ = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  Diagnosis diagnosis_;
};

TEST_F(FindingsOfALook, OfALinkAreItsChannelOrBothWhereTheDirectionIsNotTold) {
  diagnosis_.links = {link("spine1->leaf1", 1), link("leaf1->spine2", 1, false)};
  const auto all = findings_of(diagnosis_);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].place.channels, ElementsAre(channel("spine1->leaf1")));
  EXPECT_EQ(all[1].place.channels.size(), 2u);
}

TEST_F(FindingsOfALook, ThatAreLessLikelyThanNotAreNone) {
  diagnosis_.links = {link("leaf1->spine1", diagnosis::kSuspected - 0.01),
                      link("leaf1->spine2", diagnosis::kSuspected)};
  const auto all = findings_of(diagnosis_);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(all[0].place.channels, ElementsAre(channel("leaf1->spine2")));
  EXPECT_FALSE(all[0].sure);
}

TEST_F(FindingsOfALook, AreSureFromTheConfidenceThatNamesTheirCause) {
  const double named = diagnosis::named_from(Cause::loss);
  diagnosis_.links = {link("leaf1->spine1", named), link("leaf1->spine2", named - 0.001)};
  const auto all = findings_of(diagnosis_);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].sure);
  EXPECT_FALSE(all[1].sure);
}

TEST_F(FindingsOfALook, OfAHostAreItsCableWhereProbesToldAndElseTheHost) {
  const NodeId host = *fabric_.find_node("host1");
  const ChannelId cable = channel("host1->leaf1");
  diagnosis_.hosts = {{.host = host, .cause = Cause::down},
                      {.host = host, .cause = Cause::loss, .link = Fabric::link_of(cable), .channel = cable},
                      {.host = host}};
  const auto all = findings_of(diagnosis_);
  ASSERT_EQ(all.size(), 2u) << "what a host says without a cause is no incident";
  EXPECT_THAT(all[0].place.nodes, ElementsAre(host));
  EXPECT_TRUE(all[0].sure) << "known without inference";
  EXPECT_THAT(all[1].place.channels, ElementsAre(cable));
  EXPECT_THAT(all[1].place.nodes, IsEmpty());
}

TEST_F(FindingsOfALook, OfChannelsThatCannotBeToldApartAreAlternatives) {
  const auto one = channel("leaf1->spine1"), other = channel("spine1->leaf2");
  diagnosis_.groups = {{.channels = {one, other}, .confidence = 1}};
  const auto all = findings_of(diagnosis_);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(all[0].place.channels, IsEmpty());
  EXPECT_THAT(all[0].place.alternatives, ElementsAre(ElementsAre(one), ElementsAre(other)));
}

TEST_F(FindingsOfALook, OfAGroupThatIsAnOpenSetTooAreThoseOfTheSetAlone) {
  std::vector both{channel("leaf1->spine1"), channel("spine1->leaf2")};
  std::ranges::sort(both);
  diagnosis_.groups = {{.channels = both, .confidence = 1}};
  diagnosis_.sets = {{.alternatives = {{both[1]}, {both[0]}}, .confidence = 1, .more = true}};
  const auto all = findings_of(diagnosis_);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(all[0].place.alternatives, ElementsAre(ElementsAre(both[1]), ElementsAre(both[0])))
      << "the likeliest first";
  EXPECT_THAT(all[0].evidence, ElementsAre(HasSubstr("2 alternatives or more")));
}

/// The group has the channels of all alternatives, the set lists the likeliest: one finding.
TEST_F(FindingsOfALook, OfASetThatIsTooLongToBeListedIsOne) {
  std::vector all{channel("leaf1->spine1"), channel("spine1->leaf2"), channel("leaf2->spine2")};
  std::ranges::sort(all);
  diagnosis_.groups = {{.channels = all, .confidence = 0.98}};
  diagnosis_.sets = {{.alternatives = {{all[1]}, {all[0]}}, .confidence = 0.98, .more = true}};
  EXPECT_EQ(findings_of(diagnosis_).size(), 1u);
  diagnosis_.groups[0].confidence = 0.97;
  EXPECT_EQ(findings_of(diagnosis_).size(), 2u) << "of another fault";
}

TEST_F(FindingsOfALook, APlaceIsAtItsChannelsAndWhereItHasNoneAtThoseOfItsNodes) {
  const NodeId spine = *fabric_.find_node("spine1");
  const auto one = channel("leaf1->spine1");
  EXPECT_THAT(channels_at(fabric_, {{one}, {spine}}), ElementsAre(one));
  EXPECT_EQ(channels_at(fabric_, {{}, {spine}}).size(), 4u) << "two cables, both ways";
  EXPECT_THAT(all_channels({{}, {spine}}), IsEmpty());
  EXPECT_THAT(all_channels({{one}, {}, {{channel("leaf2->spine2")}}}),
              ElementsAre(one, channel("leaf2->spine2")));
}

TEST_F(FindingsOfALook, PlacesOverlapWhereTheyShareACableWhicheverTheDirection) {
  EXPECT_TRUE(overlaps({channel("leaf1->spine1")}, {channel("spine1->leaf1")}));
  EXPECT_FALSE(overlaps({channel("leaf1->spine1")}, {channel("leaf1->spine2"), channel("leaf2->spine1")}));
  EXPECT_FALSE(overlaps({}, {channel("leaf1->spine1")}));
}

TEST_F(FindingsOfALook, APlaceIsTheSameInWhicheverOrderItsAlternativesAre) {
  const auto one = channel("leaf1->spine1"), other = channel("spine1->leaf2");
  EXPECT_TRUE(is_same({{}, {}, {{one}, {other}}}, {{}, {}, {{other}, {one}}}));
  EXPECT_FALSE(is_same({{}, {}, {{one}, {other}}}, {{}, {}, {{one}}}));
  EXPECT_FALSE(is_same({{one}, {}}, {{other}, {}}));
}

}  // namespace
}  // namespace weft::watch
