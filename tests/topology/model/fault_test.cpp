#include "topology/model/fault.hpp"

#include <gtest/gtest.h>

#include "topology/model/fabric_builder.hpp"

namespace weft {
namespace {

Fabric two_leaves() {
  FabricBuilder builder("two", FabricKind::roce);
  const auto leaf = *builder.add_node({.name = "leaf1"});
  const auto spine = *builder.add_node({.name = "sw:0", .tier = Tier::spine});
  builder.connect(leaf, spine, Bandwidth::gbit(400));
  return std::move(builder).build();
}

TEST(FaultSpec, ReadsEverySettingOfTheCommandLine) {
  const auto fabric = two_leaves();
  const auto given = parse_fault(
      fabric, "leaf1--sw:0:loss=0.5%,rate=100G,load=50M,delay=2ms,mtu=1000,corruption=1%,from=sw:0");
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_DOUBLE_EQ(given->loss->value(), 0.005);
  EXPECT_EQ(given->rate, Bandwidth::gbit(100));
  EXPECT_EQ(given->load, Bandwidth::mbit(50));
  EXPECT_EQ(given->delay, std::chrono::milliseconds(2));
  EXPECT_EQ(given->mtu, Bytes(1000));
  EXPECT_FALSE(given->down);
  EXPECT_EQ(fabric.name_of(*given->channel), "sw:0->leaf1");
}

TEST(FaultSpec, ReadsWhatComesAndGoesAndWhatLosesInRuns) {
  const auto fabric = two_leaves();
  const auto given = parse_fault(fabric, "leaf1--sw:0:loss=100%,on=0.5s,off=2s,burst=10");
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_TRUE(given->comes_and_goes());
  EXPECT_EQ(given->on, std::chrono::milliseconds(500));
  EXPECT_EQ(given->off, std::chrono::seconds(2));
  EXPECT_EQ(given->burst, 10u);
}

TEST(FaultSpec, ItsTextReadsBackTheSame) {
  const auto fabric = two_leaves();
  for (const auto* text : {"leaf1--sw:0:loss=0.5%,from=leaf1", "leaf1--sw:0:down", "leaf1--sw:0:mtu=1KB,down",
                           "leaf1--sw:0:down,on=500ms,off=2s", "leaf1--sw:0:loss=1%,burst=10,from=leaf1"}) {
    const auto fault = parse_fault(fabric, text);
    ASSERT_TRUE(fault) << fault.error().message;
    EXPECT_EQ(to_string(fabric, *fault), text);
  }
}

TEST(FaultSpec, RefusesWhatMakesNoSenseAndSaysWhy) {
  const auto fabric = two_leaves();
  const auto message = [&](std::string_view text) {
    const auto fault = parse_fault(fabric, text);
    return fault ? "accepted" : fault.error().message;
  };
  EXPECT_NE(message("leaf1--sw:0").find("no "), std::string::npos);
  EXPECT_NE(message("leaf9--sw:0:down").find("has no node 'leaf9'"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:").find("says nothing"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:los=1%").find("'los' is no fault setting"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:loss=1%,loss=2%").find("stands twice"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:down=yes").find("takes no value"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:loss=101%").find("0 to 100"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:mtu=10").find("smallest MTU"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:down,from=leaf9").find("leaf9"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:down,on=1s").find("'on' alone"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:down,off=1s").find("'off' alone"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:on=1s,off=1s").find("says nothing"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:down,on=0s,off=1s").find("above zero"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:down,on=1s,off=400h").find("at most"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:loss=1%,burst=0").find("'0' is no burst"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:loss=1%,burst=2.5").find("no burst"), std::string::npos);
  EXPECT_NE(message("leaf1--sw:0:delay=1ms,burst=10").find("no 'loss'"), std::string::npos);
}

}  // namespace
}  // namespace weft
