// The server of a run is found where distributions put it, whatever PATH says.
#include "probes/run/nats_server.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace weft::run {
namespace {

TEST(NatsServer, IsFoundWherePathLacksIt) {
  const std::string path = std::getenv("PATH");
  if (!std::filesystem::exists("/usr/sbin/nats-server")) GTEST_SKIP() << "nats-server is not in /usr/sbin";
  setenv("PATH", "/nowhere:/usr/bin", 1);
  const auto server = NatsServer::start({IpAddress(IpAddress::V4{127, 0, 0, 1})}, RunId(7), {"host1"});
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_NE(server->address_for("host1").url, "");
}

}  // namespace
}  // namespace weft::run
