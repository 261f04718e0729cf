// The bus over a real nats-server on loopback.
#include "collectors/bus/nats_bus.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "probes/run/nats_server.hpp"
#include "topology/os/file_descriptor.hpp"
#include "topology/os/socket_address.hpp"

namespace weft::bus {
namespace {

constexpr auto kSoon = std::chrono::seconds(60);  // a limit for machines that are busy
constexpr RunId kRun(1);

Result<run::NatsServer> server(const char* address = "127.0.0.1") {
  return run::NatsServer::start({*IpAddress::parse(address)}, kRun, {"host1", "host2", "host1.cluster"});
}

/// As `self`, with the credential of `self`.
Result<std::unique_ptr<session::Bus>> join(const run::NatsServer& server, const std::string& self) {
  return connect_nats(server.address_for(self), kRun, self);
}

/// Stands before a server, ends the first connections in the middle of its first line, and passes on those
/// after.
class UnsteadyDoor {
 public:
  UnsteadyDoor(const std::string& url, int broken)
      : port_of_server_(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)))),
        broken_(broken) {
    const auto any = os::socket_address(kHere, UdpPort(0));
    EXPECT_EQ(::bind(door_.get(), any.get(), any.size), 0);
    EXPECT_EQ(::listen(door_.get(), 8), 0);
    guard_ = std::jthread([this](std::stop_token stop) { open_to_all(stop); });
  }
  std::string url() const {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    ::getsockname(door_.get(), reinterpret_cast<sockaddr*>(&at), &size);
    return "tls://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  }
  int came() const { return came_; }

 private:
  static constexpr int kLookMs = 50;  // for the end of the test

  static bool is_readable(const os::FileDescriptor& socket) {
    pollfd one{socket.get(), POLLIN, 0};
    return ::poll(&one, 1, kLookMs) > 0;
  }
  void open_to_all(const std::stop_token& stop) {
    std::vector<std::jthread> passing;
    while (!stop.stop_requested()) {
      if (!is_readable(door_)) continue;
      os::FileDescriptor guest(::accept(door_.get(), nullptr, nullptr));
      if (++came_ <= broken_) {
        EXPECT_GT(::send(guest.get(), "INFO {", 6, MSG_NOSIGNAL), 0);
        continue;
      }
      passing.emplace_back([this, guest = std::move(guest)](std::stop_token end) { pass_on(guest, end); });
    }
  }
  void pass_on(const os::FileDescriptor& guest, const std::stop_token& end) const {
    const os::FileDescriptor inner(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto to = os::socket_address(kHere, UdpPort(port_of_server_));
    EXPECT_EQ(::connect(inner.get(), to.get(), to.size), 0);
    std::array<char, 65'536> bytes;
    while (!end.stop_requested())
      for (const auto& [from, into] : {std::pair(&guest, &inner), std::pair(&inner, &guest)}) {
        if (!is_readable(*from)) continue;
        const auto size = ::recv(from->get(), bytes.data(), bytes.size(), 0);
        if (size <= 0) return;
        ::send(into->get(), bytes.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL);
      }
  }

  const IpAddress kHere = *IpAddress::parse("127.0.0.1");
  std::uint16_t port_of_server_;
  int broken_;
  std::atomic<int> came_ = 0;
  os::FileDescriptor door_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::jthread guard_;
};

TEST(NatsBus, ComesAgainWhereAConnectionEndsInTheMiddleOfItsBeginning) {
  const auto nats = server();
  ASSERT_TRUE(nats) << nats.error().message;
  auto address = nats->address_for("host1");
  const UnsteadyDoor door(address.url, 2);
  address.url = door.url();
  const auto agent = connect_nats(address, kRun, "host1");
  EXPECT_TRUE(agent) << agent.error().message;
  EXPECT_EQ(door.came(), 3);
}

TEST(NatsBus, DoesNotComeAgainForEver) {
  const auto nats = server();
  ASSERT_TRUE(nats) << nats.error().message;
  auto address = nats->address_for("host1");
  const UnsteadyDoor door(address.url, 1000);
  address.url = door.url();
  const auto agent = connect_nats(address, kRun, "host1");
  ASSERT_FALSE(agent);
  EXPECT_EQ(agent.error().kind, ErrorKind::absent);
  EXPECT_EQ(door.came(), 4);
}

TEST(NatsBus, CarriesMessagesBothWaysAndSaysWhoSentThem) {
  const auto nats = server();
  ASSERT_TRUE(nats) << nats.error().message;
  const auto coordinator = join(*nats, "coordinator");
  const auto agent = join(*nats, "host1.cluster");
  ASSERT_TRUE(coordinator && agent);
  ASSERT_TRUE((*agent)->send("coordinator", "hello"));
  const auto heard = (*coordinator)->receive(kSoon);
  ASSERT_TRUE(heard && *heard);
  EXPECT_EQ((*heard)->from, "host1.cluster");
  EXPECT_EQ((*heard)->bytes, "hello");
  ASSERT_TRUE((*coordinator)->send("host1.cluster", "start"));
  const auto answered = (*agent)->receive(kSoon);
  ASSERT_TRUE(answered && *answered);
  EXPECT_EQ((*answered)->bytes, "start");
}

TEST(NatsBus, CarriesWhatIsLongerThanTheServerTakesAtOnce) {
  const auto nats = server();
  ASSERT_TRUE(nats) << nats.error().message;
  const auto coordinator = join(*nats, "coordinator");
  const auto agent = join(*nats, "host1");
  ASSERT_TRUE(coordinator && agent);
  std::string message;
  for (int i = 0; message.size() < 5'000'000; ++i) message += std::to_string(i);
  ASSERT_TRUE((*agent)->send("coordinator", message));
  const auto heard = (*coordinator)->receive(kSoon);
  ASSERT_TRUE(heard && *heard);
  EXPECT_TRUE((*heard)->bytes == message);
  const auto too_long = (*agent)->send("coordinator", std::string(70'000'000, 'x'));
  ASSERT_FALSE(too_long);
  EXPECT_NE(too_long.error().message.find("70000000 bytes"), std::string::npos);
}

TEST(NatsBus, ADeliveryReturnsWhenTheOtherEndHasItBothWays) {
  const auto nats = server();
  ASSERT_TRUE(nats) << nats.error().message;
  const auto coordinator = join(*nats, "coordinator");
  const auto agent = join(*nats, "host1.cluster");
  const auto other = join(*nats, "host2");
  ASSERT_TRUE(coordinator && agent && other);
  const auto down = (*coordinator)->deliver({{"host1.cluster", "start"}, {"host2", "start"}}, kSoon);
  ASSERT_TRUE(down);
  EXPECT_TRUE(down->empty());
  const std::string long_one(3'000'000, 'x');  // in parts
  const auto up = (*agent)->deliver({{"coordinator", "ready"}, {"coordinator", long_one}}, kSoon);
  ASSERT_TRUE(up);
  EXPECT_TRUE(up->empty());
  for (session::Bus* bus : {agent->get(), other->get()}) {
    const auto heard = bus->receive(Nanoseconds(0));
    ASSERT_TRUE(heard && *heard) << "it is there, not on its way";
    EXPECT_EQ((*heard)->bytes, "start");
  }
  for (const auto& sent : {std::string("ready"), long_one}) {
    const auto heard = (*coordinator)->receive(Nanoseconds(0));
    ASSERT_TRUE(heard && *heard);
    EXPECT_TRUE((*heard)->bytes == sent);
  }
}

TEST(NatsBus, ADeliveryToWhoIsNotThereEndsAtOnceAndSaysWhom) {
  const auto nats = server();
  ASSERT_TRUE(nats) << nats.error().message;
  const auto coordinator = join(*nats, "coordinator");
  const auto agent = join(*nats, "host1");
  ASSERT_TRUE(coordinator && agent);
  const auto began = std::chrono::steady_clock::now();
  const auto left = (*coordinator)->deliver({{"host1", "a"}, {"host2", "b"}}, kSoon);
  ASSERT_TRUE(left);
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ(left->at(0).to, "host2");
  EXPECT_EQ(left->at(0).bytes, "b");
  EXPECT_LT(std::chrono::steady_clock::now() - began, kSoon / 2);
}

TEST(NatsBus, WhatAReceiverHasNoRoomForIsNotAcknowledged) {
  const auto nats = server();
  ASSERT_TRUE(nats) << nats.error().message;
  const auto coordinator = join(*nats, "coordinator");
  const auto agent = join(*nats, "host1");
  ASSERT_TRUE(coordinator && agent);
  const std::string large(60'000'000, 'x');  // of one sender 128 MB are kept
  std::size_t acknowledged = 0;
  for (int i = 0; i < 3; ++i) {
    const auto left = (*agent)->deliver({{"coordinator", large}}, i < 2 ? kSoon : std::chrono::seconds(2));
    ASSERT_TRUE(left);
    acknowledged += left->empty() ? 1 : 0;
  }
  EXPECT_EQ(acknowledged, 2u);
  ASSERT_TRUE((*coordinator)->receive(kSoon).value());
  const auto again = (*agent)->deliver({{"coordinator", large}}, kSoon);
  EXPECT_TRUE(again && again->empty()) << "one was read, and there is room again";
}

TEST(NatsBus, MayBeGivenUpWhileMessagesStillCome) {
  const auto nats = server();
  ASSERT_TRUE(nats) << nats.error().message;
  for (int i = 0; i < 100; ++i) {  // a sanitizer sees a call back into what has gone
    const auto bus = join(*nats, "coordinator");
    ASSERT_TRUE(bus) << bus.error().message;
    for (int message = 0; message < 20; ++message) ASSERT_TRUE((*bus)->send("coordinator", "to myself"));
  }
}

TEST(NatsBus, NoServerIsAnErrorThatNamesTheUrl) {
  const auto refused = connect_nats({"nats://127.0.0.1:1", ""}, kRun, "host1");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("nats://127.0.0.1:1"), std::string::npos);
}

TEST(NatsBus, AServerThatTakesConnectionsAndNeverAnswersIsGivenUpInTime) {
  // As one that was stopped (SIGSTOP): the kernel connects.
  const os::FileDescriptor silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto any = os::socket_address(*IpAddress::parse("127.0.0.1"), UdpPort(0));
  ASSERT_EQ(::bind(silent.get(), any.get(), any.size), 0);
  ASSERT_EQ(::listen(silent.get(), 8), 0);
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&at), &size);
  const NatsAddress address{"nats://127.0.0.1:" + std::to_string(ntohs(at.sin_port)), ""};
  const auto took = [&](const ConnectLimits& limits) {
    const auto begin = std::chrono::steady_clock::now();
    const auto refused = connect_nats(address, kRun, "host1", limits);
    EXPECT_FALSE(refused);
    if (!refused) {
      EXPECT_EQ(refused.error().kind, ErrorKind::absent);
      EXPECT_NE(refused.error().message.find(address.url), std::string::npos) << refused.error().message;
    }
    return std::chrono::steady_clock::now() - begin;
  };
  // One try alone may take 3 s, and four of them 13.
  EXPECT_LT(took({.until = std::chrono::steady_clock::now() + std::chrono::seconds(1)}),
            std::chrono::milliseconds(2500));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_LT(took({.stop = stop.get_token()}), std::chrono::seconds(2));
}

TEST(NatsBus, ALostServerIsAnErrorAndNoHang) {
  auto nats = std::make_unique<Result<run::NatsServer>>(server());
  ASSERT_TRUE(*nats);
  const auto bus = join(**nats, "host1");
  ASSERT_TRUE(bus);
  nats.reset();
  Result<std::optional<session::Incoming>> heard = std::optional<session::Incoming>();
  for (int i = 0; i < 60 && heard; ++i) heard = (*bus)->receive(std::chrono::milliseconds(500));
  ASSERT_FALSE(heard);
  EXPECT_NE(heard.error().message.find("nats-server"), std::string::npos);
}

}  // namespace
}  // namespace weft::bus
