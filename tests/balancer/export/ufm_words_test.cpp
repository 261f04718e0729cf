// What UFM's REST interface tells of ports, as its guide shows it, and what no such server says.
#include "balancer/export/ufm_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::exports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr UfmPortId port(std::uint64_t guid, std::uint16_t number) {
  return {Guid(guid), PortNumber(number)};
}

/// As a map has it.
auto by_id(const auto& port) { return Pair(port.id, port); }

std::string unhealthy(const std::string& members) {
  return R"([{"UnhealthyGUID": "248a0703002e628e", "UnhealthyPortNumber": 1, "Condition": "MANUAL")" +
         members + "}]";
}

TEST(UfmPortNames, AreAGuidAndANumber) {
  EXPECT_EQ(to_string(port(0x0002c9030060dc20, 10)), "0002c9030060dc20_10");
  EXPECT_EQ(parse_ufm_port_id("0002c9030060dc20_10"), port(0x0002c9030060dc20, 10));
  EXPECT_EQ(parse_ufm_port_id("0x0002C9030060DC20_10"), port(0x0002c9030060dc20, 10));
  for (const char* name : {"", "_", "N/A", "0002c9030060dc20", "0002c9030060dc20_", "2c9030060dc20_1",
                           "0002c9030060dc2g_1", "0002c9030060dc20_x", "0002c9030060dc20_-1",
                           "0002c9030060dc20_255", "0002c9030060dc20_1_1", "0002c9030060dc20_ 1"})
    EXPECT_FALSE(parse_ufm_port_id(name)) << name;
}

/// The two examples of the guide, "Get All Unhealthy Ports" and "Get Unhealthy Port", which differ in the
/// form of Condition.
TEST(UfmUnhealthyPorts, AreReadAsTheGuideHasThem) {
  const auto list = parse_unhealthy_ports(R"([
    {"PeerLID": "18", "PeerPortNumber": 6, "UnhealthyPortNumber": 1, "PeerGUID": "248a070300f88fe0",
     "PeerPort": "switch-ec4034/6", "UnhealthyNode": "r-dmz-ufm135", "State": "Info", "Condition": "MANUAL",
     "StatusTime": "Wed Apr 29 00:05:32 2020", "UnhealthyGUID": "248a0703002e628e"},
    {"PeerGUID": "0002c903007e5220", "PeerPortNumber": 35, "UnhealthyGUID": "ec0d9a0300d42e54",
     "UnhealthyPortNumber": 1, "Condition": ["FLAPPING", "MANUAL"], "State": "Warning"}])");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_THAT(
      *list,
      ElementsAre(by_id(UnhealthyPort{port(0x248a0703002e628e, 1), {"MANUAL"}, port(0x248a070300f88fe0, 6)}),
                  by_id(UnhealthyPort{
                      port(0xec0d9a0300d42e54, 1), {"FLAPPING", "MANUAL"}, port(0x0002c903007e5220, 35)})));
  EXPECT_TRUE(list->rbegin()->second.is_manual());
}

TEST(UfmUnhealthyPorts, OfOnePortAreOneWithAllConditions) {
  const auto list = parse_unhealthy_ports(
      R"([{"UnhealthyGUID": "248a0703002e628e", "UnhealthyPortNumber": "1", "Condition": "FLAPPING"},
          {"UnhealthyGUID": "248a0703002e628e", "UnhealthyPortNumber": 1, "Condition": "MANUAL"}])");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_THAT(*list, ElementsAre(by_id(UnhealthyPort{port(0x248a0703002e628e, 1), {"FLAPPING", "MANUAL"}})));
  EXPECT_FALSE(UnhealthyPort({.id = kNoPort, .conditions = {"FLAPPING"}}).is_manual());
}

TEST(UfmUnhealthyPorts, NeedWhatTellsThemApart) {
  EXPECT_TRUE(parse_unhealthy_ports("[]"));
  EXPECT_TRUE(parse_unhealthy_ports(unhealthy(R"(, "PeerGUID": "N/A", "PeerPortNumber": "N/A")")));
  EXPECT_TRUE(parse_unhealthy_ports(unhealthy(R"(, "PeerGUID": null, "PeerPortNumber": 7)")));
  for (const char* text :
       {"", "{}", "null", "[", R"([{"UnhealthyGUID": "248a0703002e628e"}])", "[1]", "[[]]",
        R"([{"UnhealthyGUID": "248a0703002e628e", "UnhealthyPortNumber": 1}])",
        R"([{"UnhealthyGUID": "x", "UnhealthyPortNumber": 1, "Condition": "MANUAL"}])",
        R"([{"UnhealthyGUID": "248a0703002e628e", "UnhealthyPortNumber": 300, "Condition": "MANUAL"}])",
        R"([{"UnhealthyGUID": "248a0703002e628e", "UnhealthyPortNumber": -1, "Condition": "MANUAL"}])",
        R"([{"UnhealthyGUID": "248a0703002e628e", "UnhealthyPortNumber": 1, "Condition": []}])",
        R"([{"UnhealthyGUID": "248a0703002e628e", "UnhealthyPortNumber": 1, "Condition": {}}])",
        "<html>sign in</html>"}) {
    const auto list = parse_unhealthy_ports(text);
    ASSERT_FALSE(list) << text;
    EXPECT_EQ(list.error().kind, ErrorKind::invalid_input) << text;
  }
  EXPECT_FALSE(parse_unhealthy_ports(std::string(1000, '[')));
}

TEST(UfmPorts, AreReadWithTheirPeers) {
  const auto list = parse_ufm_ports(
      R"([{"name": "0002c9030060dc20_10", "system_name": "leaf1", "logical_state": "Active",
           "physical_state": "Link Up", "peer": "0002c903007e5220_35", "number": 10},
          {"name": "0002c9030060dc20_11", "system_name": "leaf1", "logical_state": "Down", "peer": "N/A"},
          {"name": "0002c9030060dc20_1_2", "logical_state": "Active"}])");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_THAT(
      *list,
      ElementsAre(by_id(UfmPort{port(0x0002c9030060dc20, 10), "leaf1", true, port(0x0002c903007e5220, 35)}),
                  by_id(UfmPort{port(0x0002c9030060dc20, 11), "leaf1", false})));
}

TEST(UfmPorts, OfHalfAnAnswerAreNone) {
  for (const char* text : {R"([{"name": "0002c9030060dc20_10"}])", R"([{"logical_state": "Active"}])",
                           R"([{"name": 1, "logical_state": "Active"}])", R"({"ports": []})",
                           R"([{"name": "0002c9030060dc20_10", "logical_state": "Active", "peer": 1}])",
                           R"([{"name": "0002c9030060dc20_1", "logical_state": "Active"},)"
                           R"( {"name": "0002C9030060DC20_1", "logical_state": "Active"}])"})
    EXPECT_FALSE(parse_ufm_ports(text)) << text;
}

TEST(UfmChanges, AreAsTheGuideHasThem) {
  const auto one = port(0x0002c9030060dc20, 10);
  EXPECT_EQ(isolate_body(one),
            R"({"ports":["0002c9030060dc20_10"],"ports_policy":"UNHEALTHY","action":"isolate"})");
  EXPECT_EQ(healthy_body(one), R"({"ports":["0002c9030060dc20_10"],"ports_policy":"HEALTHY"})");
  EXPECT_EQ(healthy_body(kNoPort), R"({"ports":["0000000000000000_0"],"ports_policy":"HEALTHY"})");
  EXPECT_EQ(curl_line({"https://ufm/ufmRest", "anna"}, healthy_body(one)),
            R"(curl -u anna -X PUT -H 'Content-Type: application/json' -d )"
            R"('{"ports":["0002c9030060dc20_10"],"ports_policy":"HEALTHY"}' )"
            R"(https://ufm/ufmRest/app/unhealthy_ports)");
  EXPECT_THAT(curl_line({"https://ufm/ufmRestV3", "", "my ca.crt"}, healthy_body(one)),
              HasSubstr(R"(-H "Authorization: Basic $TOKEN" --cacert 'my ca.crt' -X PUT)"));
}

TEST(UfmMarks, NameTheirPort) {
  const auto one = port(0x0002c9030060dc20, 10);
  EXPECT_EQ(isolated_at(one), "isolated at 0002c9030060dc20_10");
  EXPECT_EQ(port_of_mark(isolated_at(one)), one);
  for (const char* text : {"", "up", "isolated at ", "isolated at leaf1/p10", "0002c9030060dc20_10"})
    EXPECT_FALSE(port_of_mark(text)) << text;
}

TEST(UfmRefusals, AreTextAndNoPages) {
  EXPECT_EQ(ufm_message(" Port does not exist"), "Port does not exist");
  EXPECT_THAT(ufm_message("\n<html>"), IsEmpty());
  EXPECT_THAT(ufm_message(""), IsEmpty());
}

}  // namespace
}  // namespace weft::exports
