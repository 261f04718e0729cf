// Who may own UDP 4791 beside whom, on the loopback interface.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probes/nic/nic_lookup.hpp"

namespace weft::nic {
namespace {

/// An address of this process alone: tests run side by side.
HostNic own_loopback() {
  const auto pid = static_cast<std::uint32_t>(getpid());
  return {
      "lo",
      IpAddress(IpAddress::V4{127, 77, static_cast<std::uint8_t>(pid >> 8), static_cast<std::uint8_t>(pid)}),
      0};
}
const HostNic kLoopback = own_loopback();

TEST(RocePort, ARunOwnsItBesideAStandingAgentOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  const auto standing = own_roce_port(kLoopback, PortOwner::standing);
  ASSERT_TRUE(standing) << standing.error().message;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(setuid(65534) == 0 && own_roce_port(kLoopback) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(RocePort, TwoRunsDoNotShareIt) {
  const auto one = own_roce_port(kLoopback);
  ASSERT_TRUE(one) << one.error().message;
  const auto two = own_roce_port(kLoopback);
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().kind, ErrorKind::conflict);
}

}  // namespace
}  // namespace weft::nic
