#include "probes/discover/switch_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::discover {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TracedCable nic(std::uint32_t index, std::uint32_t at) { return {{true, index}, {false, at}}; }
TracedCable between(std::uint32_t a, std::uint32_t b) { return {{false, a}, {false, b}}; }

/// host1 and host2, each on a leaf (switches 0 and 1); `spines` above both.
FoundSources traced(std::uint32_t spines) {
  TracedCabling cabling;
  for (const char* leaf : {"10.0.0.1", "10.0.0.2"})
    cabling.switches.push_back({{*IpAddress::parse(leaf)}, 1});
  cabling.cables = {nic(0, 0), nic(1, 1)};
  for (std::uint32_t spine = 0; spine < spines; ++spine) {
    cabling.switches.push_back({{*IpAddress::parse("10.0.1." + std::to_string(spine + 1))}, 2});
    for (const std::uint32_t leaf : {0u, 1u}) cabling.cables.push_back(between(leaf, 2 + spine));
  }
  FoundSources sources;
  sources.hosts = {{"host1", {{"p1", *IpAddress::parse("10.9.0.1")}}},
                   {"host2", {{"p1", *IpAddress::parse("10.9.0.2")}}}};
  sources.traced = cabling;
  return sources;
}

void record(FoundSources& sources, files::CableEnd near, files::CableEnd far) {
  sources.listed.far[std::move(near)] = {std::move(far), "LLDP"};
}

/// The leaves, as their hosts' own tables call them.
void record_leaves(FoundSources& sources) {
  record(sources, {"host1", "p1"}, {"tor-a", "e1"});
  record(sources, {"host2", "p1"}, {"tor-b", "e1"});
}

TEST(SwitchNames, OfTracesAloneAreByLevelAndNoneIsToldByARecord) {
  const auto names = name_switches(traced(1));
  EXPECT_THAT(names.names, ElementsAre("leaf1", "leaf2", "spine1"));
  EXPECT_THAT(names.named, ElementsAre(false, false, false));
  EXPECT_THAT(names.untold_devices, IsEmpty());
  EXPECT_THAT(names.disagreements, IsEmpty());
}

TEST(SwitchNames, ANewNameIsNoneThatAHostHas) {
  auto sources = traced(1);
  sources.hosts[0].host = "leaf1";
  EXPECT_THAT(name_switches(sources).names, ElementsAre("leaf2", "leaf3", "spine1"));
}

TEST(SwitchNames, ALeafIsTheDeviceThatItsNicsRecordSays) {
  auto sources = traced(1);
  record(sources, {"host1", "p1"}, {"tor-a", "e1"});
  const auto names = name_switches(sources);
  EXPECT_THAT(names.names, ElementsAre("tor-a", "leaf1", "spine1"));
  EXPECT_THAT(names.named, ElementsAre(true, false, false));
}

TEST(SwitchNames, ASwitchIsTheDeviceThatHasItsAddress) {
  auto sources = traced(1);
  sources.listed.address_of_device.emplace("core-x", *IpAddress::parse("10.0.1.1"));
  EXPECT_THAT(name_switches(sources).names, ElementsAre("leaf1", "leaf2", "core-x"));
}

TEST(SwitchNames, ASpineIsTheOnlyDeviceThatIsCabledToTheSameLeaves) {
  auto sources = traced(1);
  record_leaves(sources);
  record(sources, {"tor-a", "e9"}, {"big", "e1"});
  record(sources, {"tor-b", "e9"}, {"big", "e2"});
  const auto names = name_switches(sources);
  EXPECT_THAT(names.names, ElementsAre("tor-a", "tor-b", "big"));
  EXPECT_THAT(names.untold, ElementsAre(false, false, false));
}

TEST(SwitchNames, OfTwoSpinesThatAreCabledAlikeNeitherIsTakenForOneOfTheDevices) {
  auto sources = traced(2);
  record_leaves(sources);
  for (const char* spine : {"big1", "big2"})
    for (const char* leaf : {"tor-a", "tor-b"})
      record(sources, {leaf, std::string("to-") + spine}, {spine, leaf});
  const auto names = name_switches(sources);
  EXPECT_THAT(names.named, ElementsAre(true, true, false, false));
  EXPECT_THAT(names.untold, ElementsAre(false, false, true, true));
  EXPECT_THAT(names.untold_devices, ElementsAre("big1", "big2"));
  EXPECT_TRUE(names.records_stand);
  EXPECT_THAT(names.disagreements, IsEmpty());
}

TEST(SwitchNames, NicsOfOneSwitchThatNameTwoDevicesDisagree) {
  auto sources = traced(0);
  sources.traced->cables = {nic(0, 0), nic(1, 0)};
  record_leaves(sources);
  const auto names = name_switches(sources);
  EXPECT_EQ(names.names[0], "tor-a");
  EXPECT_THAT(names.disagreements,
              ElementsAre(AllOf(HasSubstr("host2 (LLDP): at tor-b"), HasSubstr("which is tor-a"))));
}

TEST(SwitchNames, OneNameForTwoSwitchesIsGivenToOneAndSaid) {
  auto sources = traced(0);
  record(sources, {"host1", "p1"}, {"tor-a", "e1"});
  record(sources, {"host2", "p1"}, {"tor-a", "e2"});
  const auto names = name_switches(sources);
  EXPECT_THAT(names.names, ElementsAre("tor-a", "leaf1"));
  EXPECT_THAT(names.disagreements, ElementsAre(HasSubstr("both called tor-a")));
}

TEST(SwitchNames, ALongListIsCutAndCounted) {
  const auto same = [](const std::string& text) { return text; };
  EXPECT_EQ(listed(std::vector<std::string>{"a", "b"}, same), "a, b");
  EXPECT_EQ(listed(std::vector<std::string>(10, "x"), same), "x, x, x, x, x, x, x, x and 2 more");
  EXPECT_EQ(listed(std::vector<std::string>{}, same), "");
}

TEST(TracedNics, AreCountedOverAllHostsAndNamedByTheirInterfaceWhereAHostHasSeveral) {
  const std::vector<HostNics> hosts{
      {"host1", {{"p1", *IpAddress::parse("10.9.0.1")}}},
      {"host2", {{"p1", *IpAddress::parse("10.9.0.2")}, {"p2", *IpAddress::parse("10.9.0.3")}}}};
  const TracedNics nics(hosts);
  EXPECT_EQ(nics.name(0), "host1");
  EXPECT_EQ(nics.name(2), "host2 p2");
  EXPECT_EQ(nics.end(1), (files::CableEnd{"host2", "p1"}));
}

}  // namespace
}  // namespace weft::discover
