#include "probes/plan/miswirings.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::plan {
namespace {

/// Four leaves, four spines, one host a leaf.
struct Rig {
  Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 1});
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  PathTable table;
  PathLearner learner{fabric, addresses.book, table};

  PortId nic(const char* host) const { return *fabric.find_nic(host); }
  IpAddress into(const char* channel) const {
    return *addresses.book.address_of(fabric.target(*fabric.find_channel(channel)));
  }
  /// A trace from `src` to `dst` whose hops answer from these addresses.
  void traced(const char* src, const char* dst, const std::vector<IpAddress>& hops) {
    std::vector<datapath::HopAnswer> answers;
    for (const IpAddress& from : hops)
      answers.push_back({.hop = static_cast<std::uint8_t>(answers.size() + 1), .from = from});
    learner.learn(nic(src), nic(dst), PathLabel(++label), answers);
  }
  std::set<std::string> channels() const {
    std::set<std::string> names;
    for (const ChannelEvidence& sign : miswirings(fabric, learner).channels)
      names.insert(fabric.name_of(sign.channel));
    return names;
  }
  std::uint32_t label = 50'000;
};

using Names = std::set<std::string>;

TEST(Miswirings, APortThatTracesEnterFromAnotherNodeIsAMiswiredCable) {
  Rig rig;
  for (int i = 0; i < 8; ++i)
    rig.traced("host1", "host3",
               {rig.into("host1->leaf1"), rig.into("leaf2->spine1"), rig.into("spine1->leaf3")});
  EXPECT_EQ(rig.channels(), (Names{"leaf2->spine1", "spine1->leaf2"}));
  EXPECT_EQ(rig.learner.contradictions(), 8u);
}

TEST(Miswirings, AFewTimesIsARouteThatChangedInTheMidstOfATrace) {
  Rig rig;
  for (int i = 0; i < 7; ++i)
    rig.traced("host1", "host3",
               {rig.into("host1->leaf1"), rig.into("leaf2->spine1"), rig.into("spine1->leaf3")});
  EXPECT_EQ(rig.channels(), Names());
}

TEST(Miswirings, APortThatIsAlsoEnteredFromWhereItsCableLeadsIsWiredRight) {
  Rig rig;
  for (int i = 0; i < 8; ++i)
    rig.traced("host1", "host3",
               {rig.into("host1->leaf1"), rig.into("leaf2->spine1"), rig.into("spine1->leaf3")});
  rig.traced("host2", "host3",
             {rig.into("host2->leaf2"), rig.into("leaf2->spine1"), rig.into("spine1->leaf3")});
  EXPECT_EQ(rig.channels(), Names());
}

TEST(Miswirings, ASwitchThatAnswersFromAPortOfItsOwnChoiceHasNoMiswiredCable) {
  Rig rig;
  for (const char* spine : {"spine2->leaf3", "spine3->leaf3", "spine4->leaf3"})  // whatever came in
    for (const char* up : {"leaf1->spine2", "leaf1->spine3", "leaf1->spine4"})
      for (int i = 0; i < 3; ++i)
        rig.traced("host1", "host3", {rig.into("host1->leaf1"), rig.into(up), rig.into(spine)});
  EXPECT_EQ(rig.channels(), Names());
}

TEST(Miswirings, AHostThatHangsOnAnotherLeafIsSeenInItsFirstHop) {
  Rig rig;
  for (int i = 0; i < 8; ++i) rig.traced("host1", "host3", {rig.into("host2->leaf2")});
  EXPECT_EQ(rig.channels(), (Names{"host2->leaf2", "leaf2->host2"}));
}

TEST(Miswirings, BehindAHopThatWasSilentNothingIsKnown) {
  Rig rig;
  for (int i = 0; i < 8; ++i)
    rig.learner.learn(rig.nic("host1"), rig.nic("host3"), PathLabel(++rig.label),
                      std::vector<datapath::HopAnswer>{{.hop = 2, .from = rig.into("leaf2->spine1")}});
  EXPECT_EQ(rig.channels(), Names());
}

TEST(Miswirings, NodesThatAnswerAsNeighboursWithoutACableAreNamedWhereSwitchesHaveOneAddress) {
  Rig rig;
  std::vector<std::optional<IpAddress>> by_port(rig.fabric.port_count());
  std::vector<std::optional<IpAddress>> by_node(rig.fabric.node_count());
  const IpAddress leaf1 = IpAddress::parse("10.255.0.1").value();
  const IpAddress leaf2 = IpAddress::parse("10.255.0.2").value();
  by_node[rig.fabric.find_node("leaf1")->value()] = leaf1;
  by_node[rig.fabric.find_node("leaf2")->value()] = leaf2;
  const AddressBook book(by_port, by_node);
  PathLearner learner(rig.fabric, book, rig.table);
  for (std::uint32_t label = 1; label <= 8; ++label)
    learner.learn(rig.nic("host1"), rig.nic("host2"), PathLabel(label),
                  std::vector<datapath::HopAnswer>{{.hop = 1, .from = leaf1}, {.hop = 2, .from = leaf2}});
  const auto found = miswirings(rig.fabric, learner);
  EXPECT_TRUE(found.channels.empty());
  ASSERT_EQ(found.hosts.size(), 1u);
  EXPECT_EQ(found.hosts[0].host, *rig.fabric.find_node("leaf2"));
  EXPECT_NE(found.hosts[0].text.find("leaf1"), std::string::npos);
}

}  // namespace
}  // namespace weft::plan
