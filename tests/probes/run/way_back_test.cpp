#include "probes/run/way_back.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "topology/os/socket_address.hpp"

namespace weft::run {
namespace {

const IpAddress kHere = *IpAddress::parse("127.0.0.1");

/// A connection there, which waits to be greeted; none: it does not come about.
os::FileDescriptor guest_of(const WayBack& way) {
  os::FileDescriptor line(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto to = os::socket_address(way.address(), UdpPort(way.port()));
  if (::connect(line.get(), to.get(), to.size) != 0) return os::FileDescriptor();
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  setsockopt(line.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return line;
}

/// Whether greeting returned before the alarm, whose signal ends a wait for a connection.
bool greets_at_once(WayBack& way) {
  struct sigaction wake = {};
  struct sigaction before = {};
  wake.sa_handler = [](int) {};
  sigaction(SIGALRM, &wake, &before);
  alarm(20);
  way.greet();
  const bool in_time = alarm(0) > 0;
  sigaction(SIGALRM, &before, nullptr);
  return in_time;
}

/// Its connection was taken and ended.
bool was_greeted(const os::FileDescriptor& guest) {
  char byte = 0;
  return ::recv(guest.get(), &byte, sizeof byte, 0) == 0;
}

TEST(WayBack, IsReachedAtAPortThatIsFreeAndGreetsAllWhoCame) {
  auto way = WayBack::open({kHere, std::nullopt});
  ASSERT_TRUE(way) << way.error().message;
  EXPECT_EQ(way->address(), kHere);
  EXPECT_NE(way->port(), 0);
  for (const char* turn : {"first", "once it greeted"}) {
    SCOPED_TRACE(turn);
    const std::array guests{guest_of(*way), guest_of(*way)};
    for (const auto& guest : guests) ASSERT_TRUE(guest);
    EXPECT_TRUE(greets_at_once(*way));
    for (const auto& guest : guests) EXPECT_TRUE(was_greeted(guest));
  }
}

TEST(WayBack, GreetsWithoutWaitingWhereNobodyCame) {
  auto way = WayBack::open({kHere, std::nullopt});
  ASSERT_TRUE(way) << way.error().message;
  EXPECT_TRUE(greets_at_once(*way));
}

TEST(WayBack, WhatAGuestSendsOnceItWasGreetedIsAcknowledged) {
  auto way = WayBack::open({kHere, std::nullopt});
  ASSERT_TRUE(way) << way.error().message;
  const auto guest = guest_of(*way);
  ASSERT_TRUE(greets_at_once(*way) && was_greeted(guest));
  ASSERT_TRUE(greets_at_once(*way));
  const std::array<char, 8192> bytes{};
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(::send(guest.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()))
        << "its line was reset";
}

TEST(WayBack, APortThatIsTakenIsAConflict) {
  const auto first = WayBack::open({kHere, std::nullopt});
  ASSERT_TRUE(first) << first.error().message;
  const auto second = WayBack::open({kHere, first->port()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict);
}

TEST(WayBack, AnAddressOfAnotherMachineIsAbsentAndNamed) {
  auto way = WayBack::open({*IpAddress::parse("192.0.2.1"), std::nullopt});  // RFC 5737: of nobody
  ASSERT_FALSE(way);
  EXPECT_EQ(way.error().kind, ErrorKind::absent);
  EXPECT_NE(way.error().message.find("192.0.2.1"), std::string::npos);
}

}  // namespace
}  // namespace weft::run
