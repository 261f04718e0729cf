// What this very machine tells: of what is asked for, and of what is not there.
#include "topology/host/host_facts_reader.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "topology/os/file_descriptor.hpp"

namespace weft::host {
namespace {

const IpAddress kHere = *IpAddress::parse("127.0.0.1");

FactsQuestion of_a_lab() {
  return {.version = "1.0", .protocol = 7, .program = "/usr/bin/weft", .shares_machine = true};
}

/// A port of the loopback that is open as long as this lives.
class OpenPort {
 public:
  OpenPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof own;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    EXPECT_EQ(::listen(socket_.get(), 4), 0);
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&own), &size), 0);
    port_ = ntohs(own.sin_port);
  }
  std::uint16_t port() const { return port_; }

 private:
  os::FileDescriptor socket_;
  std::uint16_t port_ = 0;
};

TEST(HostFactsReader, TellsWhoAsksAndWhichMachineThisIs) {
  const auto facts = read_facts(of_a_lab());
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->version, "1.0");
  EXPECT_EQ(facts->protocol, 7u);
  EXPECT_EQ(facts->program, "/usr/bin/weft");
  EXPECT_FALSE(facts->machine.empty());
  EXPECT_FALSE(facts->kernel.empty());
  EXPECT_GT(facts->clock, Nanoseconds(0));
  EXPECT_TRUE(facts->sends_raw.has_value());
  const auto again = read_facts(of_a_lab());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->identity, facts->identity) << "it is the same host";
}

TEST(HostFactsReader, OfAMachineThatIsSharedNoDevicesAreTold) {
  const auto facts = read_facts(of_a_lab());
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_TRUE(facts->drivers.empty());
  EXPECT_FALSE(facts->kernel_log_read);
  EXPECT_TRUE(facts->offences.empty());
}

TEST(HostFactsReader, RoomIsToldOfPlacesThatAreThere) {
  auto question = of_a_lab();
  question.rooms = {"/", "/no/such/place"};
  const auto facts = read_facts(question);
  ASSERT_TRUE(facts) << facts.error().message;
  ASSERT_EQ(facts->rooms.size(), 1u);
  EXPECT_EQ(facts->rooms[0].path, "/");
}

TEST(HostFactsReader, TriesTheWayToTheCoordinatorOnlyWhereOneIsTold) {
  const auto untried = read_facts(of_a_lab());
  ASSERT_TRUE(untried) << untried.error().message;
  EXPECT_FALSE(untried->reaches_coordinator.has_value());

  auto question = of_a_lab();
  question.coordinator = kHere;
  const OpenPort open;
  question.coordinator_port = open.port();
  const auto reached = read_facts(question);
  ASSERT_TRUE(reached) << reached.error().message;
  EXPECT_EQ(reached->reaches_coordinator, true);
  EXPECT_FALSE(reached->unreached_because.has_value());
  EXPECT_EQ(reached->coordinator_takes_full, true);
}

TEST(HostFactsReader, SaysWhyTheCoordinatorIsNotReached) {
  auto question = of_a_lab();
  question.coordinator = kHere;
  question.coordinator_port = OpenPort().port();  // closed again
  const auto facts = read_facts(question);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->reaches_coordinator, false);
  ASSERT_TRUE(facts->unreached_because.has_value());
  EXPECT_FALSE(facts->unreached_because->empty());
}

TEST(HostFactsReader, AlongAPairOfWhichTheOwnNicIsNotServedNothingIsSent) {
  auto question = of_a_lab();
  question.pairs = {{"192.0.2.1", kHere}, {"no address", kHere}};
  const auto facts = read_facts(question);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_TRUE(facts->paths.empty());
}

}  // namespace
}  // namespace weft::host
