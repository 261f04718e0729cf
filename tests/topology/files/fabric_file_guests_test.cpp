// Which hosts of a lab are guests, as fabric files say it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/files/fabric_file.hpp"

namespace weft::files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kClos = "fabric: f\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\n";

std::vector<std::string> guests(const std::string& text) {
  const auto file = parse_fabric_file(text, "f.yaml");
  EXPECT_TRUE(file) << file.error().message;
  return file ? file->lab.guests : std::vector<std::string>();
}

std::string refusal(const std::string& text) {
  const auto file = parse_fabric_file(text, "f.yaml");
  return file ? "accepted" : file.error().message;
}

TEST(FabricFileGuests, AreNoneUnlessTheFileSaysSo) { EXPECT_TRUE(guests(kClos).empty()); }

TEST(FabricFileGuests, AreAllHostsOrThoseOfAList) {
  EXPECT_THAT(guests(std::string(kClos) + "lab: {guests: all}\n"), ElementsAre("host1", "host2"));
  EXPECT_THAT(guests(std::string(kClos) + "lab: {guests: [host2, host2]}\n"), ElementsAre("host2"));
}

TEST(FabricFileGuests, AreHostsThatSaySoThemselves) {
  EXPECT_THAT(guests("fabric: f\nnodes:\n  - {name: a, kind: host, guest: true}\n  - {name: b, kind: host}\n"
                     "  - {name: s, kind: switch}\nlinks: [{a: a, b: s}, {a: b, b: s}]\n"),
              ElementsAre("a"));
}

TEST(FabricFileGuests, CannotBeSwitchesOrHostsThatAreNotThere) {
  EXPECT_THAT(refusal(std::string(kClos) + "lab: {guests: [leaf1]}\n"),
              HasSubstr("expected the name of a host"));
  EXPECT_THAT(refusal(std::string(kClos) + "lab: {guests: [host9]}\n"), HasSubstr("f.yaml:3"));
  EXPECT_THAT(refusal(std::string(kClos) + "lab: {guests: some}\n"), HasSubstr("expected all, or a list"));
  EXPECT_THAT(refusal("fabric: f\nnodes: [{name: s, kind: switch, guest: true}]\nlinks: []\n"),
              HasSubstr("only a host"));
}

}  // namespace
}  // namespace weft::files
