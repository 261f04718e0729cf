// The `addresses` of a fabric file.
#include "topology/files/address_section.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch_file.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::files {
namespace {

using testing::HasSubstr;

/// Two hosts on a leaf each, one spine; ports: leaf1/p1 to host1, leaf1/p2 to the spine.
constexpr const char* kFabric = "fabric: a\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\n";

Result<FabricFile> with(const std::string& addresses) {
  return parse_fabric_file(kFabric + addresses, "f.yaml");
}

std::string refusal(const std::string& addresses) {
  const auto file = with(addresses);
  return file ? "accepted" : file.error().message;
}

std::string address_of(const FabricFile& file, const char* port) {
  const auto address = file.addresses.address_of(file.fabric.find_port(port).value());
  return address ? to_string(*address) : "none";
}

TEST(AddressSection, GivesNicsPortsAndSwitchesTheirAddresses) {
  const auto file = with(
      "addresses:\n  ports:\n    host1: 10.1.0.1\n    host2/p1: 10.1.0.3\n    leaf1/p2: 10.9.0.0\n"
      "    spine1: 10.255.0.1\n");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(address_of(*file, "host1/p1"), "10.1.0.1");
  EXPECT_EQ(address_of(*file, "host2/p1"), "10.1.0.3");
  EXPECT_EQ(address_of(*file, "leaf1/p2"), "10.9.0.0");
  EXPECT_EQ(address_of(*file, "leaf1/p1"), "none");
  const auto spine = file->fabric.find_node("spine1").value();
  EXPECT_EQ(file->addresses.node_of(IpAddress::parse("10.255.0.1").value()), spine);
  EXPECT_EQ(file->addresses.port_of(IpAddress::parse("10.255.0.1").value()), std::nullopt);
}

TEST(AddressSection, IsEmptyWhereTheFileSaysNothing) { EXPECT_TRUE(with("")->addresses.empty()); }

TEST(AddressSection, CanFollowThePlanOfLabs) {
  const auto file = with("addresses: {plan: ipv6}\n");
  ASSERT_TRUE(file) << file.error().message;
  const auto plan = plan_addresses(file->fabric, IpFamily::v6).value();
  for (std::uint32_t p = 0; p < file->fabric.port_count(); ++p)
    EXPECT_EQ(file->addresses.address_of(PortId(p)), plan.book.address_of(PortId(p)));
}

TEST(AddressSection, CanStandInAFileOfItsOwn) {
  const ScratchFile list("host1: 10.1.0.1\nhost2: 10.1.0.3\n");
  const auto file = with("addresses: {file: " + list.path() + "}\n");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(address_of(*file, "host2/p1"), "10.1.0.3");
}

TEST(AddressSection, NamesTheOtherFileAndItsLineWhereThatIsWrong) {
  const ScratchFile list("host1: 10.1.0.1\nhost2: ten\n");
  EXPECT_THAT(refusal("addresses: {file: " + list.path() + "}\n"),
              HasSubstr(list.path() + ":2: address of host2: expected one as in 10.1.0.1"));
  EXPECT_THAT(refusal("addresses: {file: /nonexistent/list}\n"), HasSubstr("/nonexistent/list"));
  EXPECT_THAT(refusal("addresses: {file: []}\n"), HasSubstr("f.yaml:3: file: expected a file's name"));
}

TEST(AddressSection, RefusesWhatIsNotThereStandsTwiceOrCannotBe) {
  const auto ports = [](const std::string& lines) { return refusal("addresses:\n  ports:\n" + lines); };
  EXPECT_THAT(ports("    host9: 10.1.0.1\n"), HasSubstr("f.yaml:5: addresses: "));
  EXPECT_THAT(ports("    leaf1/p9: 10.1.0.1\n"), HasSubstr("f.yaml:5: addresses: leaf1 has no port p9"));
  EXPECT_THAT(ports("    leaf1/x: 10.1.0.1\n"), HasSubstr("addresses: leaf1 has no port x"));
  EXPECT_THAT(ports("    leaf1/7: 10.1.0.1\n"), HasSubstr("expected NODE or NODE/pN, found 'leaf1/7'"));
  EXPECT_THAT(ports("    host1: 10.1.0.1\n    host2: 10.1.0.1\n"),
              HasSubstr("f.yaml:6: address of host2: 10.1.0.1 stands twice, first in line 5"));
  EXPECT_THAT(ports("    host1: 10.1.0.1\n    host1/p1: 10.1.0.2\n"),
              HasSubstr("host1/p1 has one already, 10.1.0.1"));
  EXPECT_THAT(ports("    host1: 10.1.0.1\n    host2: fd00::1\n"), HasSubstr("of another family"));
  for (const char* nobodys : {"0.0.0.0", "\"::\"", "224.0.0.1", "ff02::1", "255.255.255.255", "10.1.0.1/24"})
    EXPECT_THAT(ports("    host1: " + std::string(nobodys) + "\n"), HasSubstr("expected one as in"));
}

TEST(AddressSection, RefusesAnythingButOneOfItsForms) {
  EXPECT_THAT(refusal("addresses: ipv4\n"), HasSubstr("expected a map with plan, file, ports"));
  EXPECT_THAT(refusal("addresses: {}\n"), HasSubstr("expected one of plan, file or ports"));
  EXPECT_THAT(refusal("addresses: {plan: ipv4, ports: {host1: 10.0.0.1}}\n"), HasSubstr("expected one of"));
  EXPECT_THAT(refusal("addresses: {plan: ipx}\n"), HasSubstr("expected ipv4 or ipv6"));
  EXPECT_THAT(refusal("addresses: {ports: [1]}\n"), HasSubstr("expected a map as in"));
  EXPECT_THAT(refusal("addresses: {ports: {}}\n"), HasSubstr("at least one"));
}

TEST(AddressSection, ReadsBackWhatIsWritten) {
  const auto file = with("addresses: {ports: {host1: 'fd00::1', leaf1/p2: 'fd00::2', leaf2: 'fd00::3'}}\n");
  ASSERT_TRUE(file) << file.error().message;
  const auto text = write_fabric_file(file->fabric, file->lab, file->addresses);
  const auto again = parse_fabric_file(text, "written");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(address_of(*again, "leaf1/p2"), "fd00::2");
  EXPECT_EQ(again->addresses.node_of(IpAddress::parse("fd00::3").value()),
            file->fabric.find_node("leaf2").value());
  EXPECT_EQ(write_fabric_file(again->fabric, again->lab, again->addresses), text);
}

}  // namespace
}  // namespace weft::files
