// A guest's place in the lab's scripts: its namespace only joins cables, and addresses are the guest's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/lab/guests/guest_commands.hpp"
#include "topology/lab/netns/names.hpp"
#include "topology/lab/netns/scripts.hpp"
#include "topology/model/clos.hpp"

namespace weft::lab {
namespace {

using testing::HasSubstr;
using testing::Not;

struct OneGuest {
  Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  LabSettings settings = [] {
    LabSettings made;
    made.guests = {"host1"};
    return made;
  }();
  AddressPlan plan = plan_addresses(fabric, IpFamily::v4).value();
  LabScripts scripts = LabScripts::make(fabric, settings, plan).value();
  NodeId host(const char* name) const { return fabric.find_node(name).value(); }
  PortId nic(const char* name) const { return fabric.find_nic(name).value(); }
};

TEST(GuestScripts, TheNamespaceOfAGuestJoinsEachCableToATapAndHasNoAddress) {
  const OneGuest lab;
  const auto lines = lab.scripts.node(lab.host("host1"));
  EXPECT_THAT(lines, HasSubstr("tuntap add dev tap-p1 mode tap\nlink set tap-p1 mtu 4200 master br-p1 up\n"));
  EXPECT_THAT(lines, HasSubstr("tuntap add dev tap-mgmt mode tap\n"));
  EXPECT_EQ(lab.scripts.port(lab.nic("host1")), "link set p1 up\n");
  EXPECT_EQ(lab.scripts.management_end(lab.host("host1")), "link set mgmt up\n");
}

TEST(GuestScripts, OtherHostsAreAsEver) {
  const OneGuest lab;
  EXPECT_THAT(lab.scripts.node(lab.host("host2")), Not(HasSubstr("tap")));
  EXPECT_THAT(lab.scripts.port(lab.nic("host2")), HasSubstr("address replace"));
}

TEST(GuestScripts, OnlyTheGuestItselfHasTheMacThatItsSwitchKnows) {
  const OneGuest lab;
  const auto cables = lab.scripts.cables([](std::optional<NodeId>) { return std::string("x"); });
  EXPECT_THAT(cables, Not(HasSubstr(mac_of(lab.nic("host1")))));
  EXPECT_THAT(cables, HasSubstr(bridged_mac_of(lab.nic("host1"))));
  EXPECT_THAT(cables, HasSubstr(mac_of(lab.nic("host2"))));
}

TEST(GuestCommand, ReadsBackAsItWasWrittenAndRefusesOtherBytes) {
  const GuestCommand command{{"sh", "-c", "echo \"$X\""}, {"X=1 2\n3"}, true};
  const auto read = decode_guest_command(encode_guest_command(command));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->argv, command.argv);
  EXPECT_EQ(read->env, command.env);
  EXPECT_TRUE(read->with_stdin);
  for (const char* text :
       {"", "{}", "[]", R"({"argv":[],"env":[],"stdin":false})", R"({"argv":7,"env":[],"stdin":false})"})
    EXPECT_FALSE(decode_guest_command(text)) << text;
}

}  // namespace
}  // namespace weft::lab
