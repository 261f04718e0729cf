#include "collectors/counters/counter_text.hpp"

#include <gmock/gmock.h>

#include "collectors/counters/counter_evidence.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::counters {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// host1/p1 at leaf1/p1, leaf1/p2 at spine1/p1; GUIDs 0x11 (of the port), 0x20, 0x30.
Fabric small() {
  FabricBuilder builder("s", FabricKind::infiniband);
  const NodeId host =
      builder.add_node({.name = "host1", .kind = NodeKind::host, .tier = Tier::host, .guid = Guid(0x10)})
          .value();
  const NodeId leaf = builder.add_node({.name = "leaf1", .guid = Guid(0x20)}).value();
  const NodeId spine = builder.add_node({.name = "spine1", .tier = Tier::spine, .guid = Guid(0x30)}).value();
  const PortId nic = builder.add_port(host, PortNumber(1), Guid(0x11)).value();
  EXPECT_TRUE(builder.add_link(nic, builder.add_next_port(leaf), Bandwidth::gbit(200)));
  builder.connect(leaf, spine, Bandwidth::gbit(200));
  return std::move(builder).build();
}

std::vector<std::string> accused(const Fabric& fabric, const CounterReading& reading) {
  std::vector<std::string> channels;
  const auto evidence = counter_evidence({fabric, {}, {}}, nullptr, reading);
  for (const auto& count : evidence.counts) channels.push_back(fabric.name_of(count.channel));
  for (const auto& sign : evidence.channels) channels.push_back(fabric.name_of(sign.channel));
  return channels;
}

TEST(CounterText, OfIbqueryerrorsAccusesTheChannelThatEntersThePort) {
  const auto fabric = small();
  auto text = parse_counter_text(
      "Errors for 0x20 \"leaf1\"\n   GUID 0x20 port ALL: [SymbolErrorCounter == 26 (26.000)]\n"
      "   GUID 0x20 port 2: [SymbolErrorCounter == 300 (300.000)] [PortXmitWait == 14681376621 (13.673G)]\n"
      "   GUID 0x11 port 1: [LinkDownedCounter == 9]\n## Summary: 5 nodes checked, 2 bad nodes found\n");
  ASSERT_TRUE(text) << text.error().message;
  const auto reading = place_counters(fabric, *text, {});
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_THAT(text->remarks, IsEmpty());
  EXPECT_THAT(accused(fabric, *reading), ::testing::UnorderedElementsAre("leaf1->host1", "spine1->leaf1"))
      << "waiting without what was sent meanwhile accuses nobody";
}

TEST(CounterText, OfPerfqueryNeedsToKnowWhoHasTheLid) {
  const auto fabric = small();
  auto text = parse_counter_text(
      "# Port counters: Lid 6 port 2 (CapMask: 0x5300)\nPortSelect:......................2\n"
      "SymbolErrorCounter:..............300\nPortXmitWait:....................7\n");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(place_counters(fabric, *text, {}).error().message, HasSubstr("nothing tells who has LID 6"));
  const auto reading = place_counters(fabric, *text, {{Lid(6), Guid(0x20)}});
  ASSERT_TRUE(reading);
  EXPECT_THAT(accused(fabric, *reading), ::testing::ElementsAre("spine1->leaf1"));
}

TEST(CounterText, OfOnePortReadTwiceKeepsWhatEitherCounted) {
  const auto fabric = small();
  const std::string classic =
      "# Port counters: Lid 6 port 2 (CapMask: 0x1300)\nSymbolErrorCounter:..300\nPortXmitWait:..500000000\n";
  const std::string extended = "# Port extended counters: Lid 6 port 2 (CapMask: 0x1300)\nPortXmitData:..7\n";
  for (const auto& order : {classic + extended, extended + classic}) {
    auto text = parse_counter_text(order);
    ASSERT_TRUE(text) << text.error().message;
    const auto reading = place_counters(fabric, *text, {{Lid(6), Guid(0x20)}});
    ASSERT_TRUE(reading);
    EXPECT_THAT(accused(fabric, *reading), ::testing::ElementsAre("spine1->leaf1", "leaf1->spine1"));
  }
}

TEST(CounterText, OfASwitchsOwnPortIsNoWord) {
  const auto text = parse_counter_text(
      "# Port counters: Lid 6 port 0 (CapMask: 0x1300)\nSymbolErrorCounter:..9\n"
      "# Port counters: Lid 6 port 1 (CapMask: 0x1300)\nSymbolErrorCounter:..0\n");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->entries.size(), 1u);
  EXPECT_THAT(text->remarks, IsEmpty());
}

TEST(CounterText, OfPortsThatAreNotThereAndOfNonsenseIsSaidSo) {
  const auto fabric = small();
  auto text = parse_counter_text(
      "   GUID 0x20 port 77: [SymbolErrorCounter == 300]\n"
      "   GUID 0x20 port 2: [SymbolErrorCounter == 99999999999999999999999]\n"
      "# Port counters: Lid 6 port 255 (CapMask: 0x5300)\nSymbolErrorCounter:..1\n");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_TRUE(place_counters(fabric, *text, {}));
  EXPECT_EQ(text->remarks.size(), 3u);
  EXPECT_FALSE(parse_counter_text("hello\n"));
  EXPECT_FALSE(parse_counter_text(""));
}

}  // namespace
}  // namespace weft::counters
