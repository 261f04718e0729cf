// The bus over a real nats-server on loopback.
#include "collectors/bus/nats_bus.hpp"

#include <gtest/gtest.h>

#include "probes/run/nats_server.hpp"

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
