// The server of a watch: started again where it was, and given up when it does not stay.
#include "probes/run/watch_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace weft::run {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

void kill_it(NatsServer& server) {
  ASSERT_TRUE(server.child().send_signal(SIGKILL));
  ASSERT_TRUE(server.child().wait_for(5s).value());
}

TEST(KeptServer, RunsAgainAtTheSameAddressAndIsGivenUpWhenItDoesNotStay) {
  auto server = start_watch_server({IpAddress(IpAddress::V4{127, 0, 0, 1})}, "pod1", {"host1"});
  ASSERT_TRUE(server) << server.error().message;
  const auto url = server->address_for("host1").url;
  KeptServer kept(*server);
  Nanoseconds now = 100s;
  EXPECT_FALSE(kept.tend(now).value()) << "it runs";
  for (int i = 0; i < 5; ++i) {
    kill_it(*server);
    now += 2s;
    const auto said = kept.tend(now);
    ASSERT_TRUE(said) << said.error().message;
    ASSERT_TRUE(*said);
    EXPECT_THAT(**said, HasSubstr("(signal 9); it runs again"));
    EXPECT_TRUE(server->child().running());
    EXPECT_EQ(server->address_for("host1").url, url);
  }
  kill_it(*server);
  const auto given_up = kept.tend(now + 2s);
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().kind, ErrorKind::absent);
  EXPECT_THAT(given_up.error().message, HasSubstr("5 times within a minute"));
  EXPECT_TRUE(kept.tend(now + 2min).value()) << "a minute later it counts anew";
}

}  // namespace
}  // namespace weft::run
