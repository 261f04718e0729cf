// The exchange by address, over the system's own sockets on loopback addresses of this process.
#include "probes/engine/verbs/addressed_exchange.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weft::verbs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

StreamCalls sockets() {
  return {.socket = ::socket,
          .bind = ::bind,
          .listen = ::listen,
          .accept = ::accept,
          .connect = ::connect,
          .get_option = ::getsockopt,
          .set_option = ::setsockopt,
          .control = ::fcntl,
          .send = ::send,
          .receive = ::recv,
          .poll = ::poll,
          .close = ::close};
}

/// Tests of several processes at once do not meet.
IpAddress own_address(std::uint8_t last) {
  const auto pid = static_cast<std::uint32_t>(getpid());
  return IpAddress(
      IpAddress::V4{127, static_cast<std::uint8_t>(pid >> 8U), static_cast<std::uint8_t>(pid), last});
}

constexpr packet::RunKey kKey{std::byte{7}, std::byte{9}};
constexpr PortId kHere(3);
constexpr PortId kThere(4);

/// Where nobody listens.
constexpr PortId kNobody(5);
datapath::SharedNics nics() {
  return std::make_shared<const datapath::RunNics>(std::vector<datapath::RunNic>{
      {kHere, own_address(1)}, {kThere, own_address(2)}, {kNobody, own_address(3)}});
}

std::unique_ptr<AddressedExchange> open(std::uint8_t last, PortId self, const packet::RunKey& key = kKey) {
  auto made = AddressedExchange::open(sockets(), own_address(last), self, key, nics(),
                                      [](PortId from, std::string_view question) -> Result<std::string> {
                                        if (question == "fail")
                                          return fail(ErrorKind::conflict, "the queue would overrun");
                                        return fmt::format("to {}: {}", from.value(), question);
                                      });
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

TEST(AddressedExchange, AsksTheEngineAtAnAddress) {
  const auto here = open(1, kHere);
  const auto there = open(2, kThere);
  EXPECT_EQ(here->ask(kThere, "connect", seconds(5)).value(), "to 3: connect");
  const std::string large(300'000, 'x');
  EXPECT_EQ(here->ask(kThere, large, seconds(5)).value(), "to 3: " + large);
}

TEST(AddressedExchange, TellsWhatTheOtherEngineRefuses) {
  const auto here = open(1, kHere);
  const auto there = open(2, kThere);
  const auto refused = here->ask(kThere, "fail", seconds(5));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the queue would overrun");
}

TEST(AddressedExchange, OfAnotherRunGetsNoAnswer) {
  constexpr packet::RunKey kOther{std::byte{1}};
  const auto here = open(1, kHere);
  const auto there = open(2, kThere, kOther);
  EXPECT_FALSE(here->ask(kThere, "connect", milliseconds(500)));
}

TEST(AddressedExchange, WhereNobodyListensSaysSoInTime) {
  const auto here = open(1, kHere);
  const auto nobody = here->ask(kNobody, "connect", milliseconds(500));
  ASSERT_FALSE(nobody);
  EXPECT_THAT(nobody.error().message, HasSubstr(to_string(own_address(3))));
  EXPECT_FALSE(here->ask(PortId(99), "connect", seconds(1))) << "nobody said where it is";
}

TEST(AddressedExchange, WhoSaysNothingDoesNotKeepTheOthersOut) {
  const auto here = open(1, kHere);
  const auto there = open(2, kThere);
  const StreamCalls calls = sockets();
  const auto silent = MessageStream::connect(calls, own_address(2), AddressedExchange::kPort,
                                             std::chrono::steady_clock::now() + seconds(5));
  ASSERT_TRUE(silent);
  EXPECT_TRUE(here->ask(kThere, "connect", seconds(8)));
}

TEST(AddressedExchange, TwoOfOneAddressAreRefused) {
  const auto here = open(1, kHere);
  const auto second = AddressedExchange::open(sockets(), own_address(1), kThere, kKey, nics(), nullptr);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict) << "absent would blame the NIC";
  EXPECT_NE(second.error().message.find("another run of weft"), std::string::npos) << second.error().message;
}

TEST(MessageStream, WhatIsNoMessageOfThisRunIsRefused) {
  const StreamCalls calls = sockets();
  const auto listener = MessageStream::listen(calls, own_address(1), AddressedExchange::kPort);
  ASSERT_TRUE(listener) << listener.error().message;
  const auto until = std::chrono::steady_clock::now() + seconds(5);
  const std::vector<std::string> strange{std::string("\xff\xff\xff\xff", 4) + std::string(16, 'x'),  // 4 GB
                                         std::string(3, '\0') + '\1' + std::string(17, 'x'),  // a wrong tag
                                         std::string("short")};
  for (const std::string& bytes : strange) {
    const int raw = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(AddressedExchange::kPort);
    const auto v4 = own_address(1).v4();
    std::copy(v4.begin(), v4.end(), reinterpret_cast<std::uint8_t*>(&to.sin_addr));
    ASSERT_EQ(::connect(raw, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    ASSERT_EQ(::send(raw, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    ::shutdown(raw, SHUT_WR);
    const auto taken = listener->take(seconds(1));
    ASSERT_TRUE(taken && *taken);
    EXPECT_FALSE((*taken)->receive(kKey, {}, until));
    ::close(raw);
  }
}

}  // namespace
}  // namespace weft::verbs
