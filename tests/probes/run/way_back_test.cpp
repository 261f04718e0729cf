#include "probes/run/way_back.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "topology/os/socket_address.hpp"

namespace weft::run {
namespace {

const IpAddress kHere = *IpAddress::parse("127.0.0.1");

/// Whether a connection there comes about.
bool reaches(const WayBack& way) {
  const os::FileDescriptor line(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto to = os::socket_address(way.address(), UdpPort(way.port()));
  return ::connect(line.get(), to.get(), to.size) == 0;
}

TEST(WayBack, IsReachedAtAPortThatIsFree) {
  const auto way = WayBack::open({kHere, std::nullopt});
  ASSERT_TRUE(way) << way.error().message;
  EXPECT_EQ(way->address(), kHere);
  EXPECT_NE(way->port(), 0);
  EXPECT_TRUE(reaches(*way));
  way->greet();
  EXPECT_TRUE(reaches(*way)) << "it goes on after it greeted";
}

TEST(WayBack, GreetsWithoutWaitingWhereNobodyCame) {
  const auto way = WayBack::open({kHere, std::nullopt});
  ASSERT_TRUE(way) << way.error().message;
  way->greet();
}

TEST(WayBack, APortThatIsTakenIsAConflict) {
  const auto first = WayBack::open({kHere, std::nullopt});
  ASSERT_TRUE(first) << first.error().message;
  const auto second = WayBack::open({kHere, first->port()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict);
}

TEST(WayBack, AnAddressOfAnotherMachineIsAbsentAndNamed) {
  const auto way = WayBack::open({*IpAddress::parse("192.0.2.1"), std::nullopt});  // RFC 5737: of nobody
  ASSERT_FALSE(way);
  EXPECT_EQ(way.error().kind, ErrorKind::absent);
  EXPECT_NE(way.error().message.find("192.0.2.1"), std::string::npos);
}

}  // namespace
}  // namespace weft::run
