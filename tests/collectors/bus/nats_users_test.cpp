// Who may say and hear what over a real nats-server on loopback, and who is let in at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nats/nats.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "collectors/bus/run_certificate.hpp"
#include "probes/run/nats_server.hpp"
#include "probes/session/subject.hpp"
#include "tests/collectors/bus/rogue.hpp"
#include "topology/base/check.hpp"

namespace weft::bus {
namespace {

using ::testing::HasSubstr;

constexpr auto kSoon = std::chrono::seconds(10);
constexpr RunId kRun(7);

run::NatsServer server(const char* address = "127.0.0.1") {
  auto started = run::NatsServer::start({*IpAddress::parse(address)}, kRun, {"host1", "host2"});
  WEFT_CHECK(started.has_value());
  return std::move(*started);
}

Result<std::unique_ptr<session::Bus>> join(const run::NatsServer& nats, const std::string& self) {
  return connect_nats(nats.address_for(self), kRun, self);
}

/// The next message is this one: whatever was sent before it did not come.
void expect_next(session::Bus& bus, const std::string& from, const std::string& bytes) {
  const auto heard = bus.receive(kSoon);
  ASSERT_TRUE(heard && *heard);
  EXPECT_EQ((*heard)->from, from);
  EXPECT_EQ((*heard)->bytes, bytes);
}

bool may_publish(const run::NatsServer& nats, const std::string& subject) {
  return Rogue(nats, "host1").may_publish(subject);
}
bool may_subscribe(const run::NatsServer& nats, const std::string& subject) {
  return Rogue(nats, "host1").may_subscribe(subject);
}

TEST(NatsUsers, AnAgentSpeaksToTheCoordinatorInItsOwnNameAlone) {
  const auto nats = server();
  EXPECT_TRUE(may_publish(nats, session::subject_of(kRun, "coordinator", "host1")));
  EXPECT_TRUE(may_publish(nats, session::acknowledgement_subject(kRun, "coordinator", "host1", 1)));
  for (const auto& subject :
       {session::subject_of(kRun, "host2", "coordinator"), session::subject_of(kRun, "host1", "coordinator"),
        session::subject_of(kRun, "coordinator", "host2"),
        session::subject_of(kRun, "coordinator", "coordinator"), session::subject_of(kRun, "host2", "host1"),
        session::subject_of(RunId(8), "coordinator", "host1"),
        session::acknowledgement_subject(kRun, "coordinator", "host2", 1),
        session::acknowledgement_subject(kRun, "host2", "coordinator", 1),
        session::acknowledgement_subject(kRun, "host2", "host1", 1), std::string("_INBOX.x"),
        std::string("$SYS.REQ.SERVER.PING")})
    EXPECT_FALSE(may_publish(nats, subject)) << subject;
}

TEST(NatsUsers, AnAgentHearsWhatIsSentToItAlone) {
  const auto nats = server();
  EXPECT_TRUE(may_subscribe(nats, session::subscription_of(kRun, "host1")));
  EXPECT_TRUE(may_subscribe(nats, session::subscription_to_acknowledgements(kRun, "host1")));
  for (const auto& subject :
       {session::subscription_of(kRun, "host2"), session::subscription_of(kRun, "coordinator"),
        std::string(">"), std::string("weft.>"), std::string("*.*.*.*"),
        std::string("weft.0000000000000007.*.coordinator"),
        session::subscription_to_acknowledgements(kRun, "host2"),
        session::subscription_to_acknowledgements(kRun, "coordinator"), std::string("*.*.*.*.*"),
        session::subscription_of(RunId(8), "host1"), std::string("_INBOX.>"), std::string("$SYS.>")})
    EXPECT_FALSE(may_subscribe(nats, subject)) << subject;
}

TEST(NatsUsers, TwoOfOneNameCountTheirMessagesByDifferentNumbers) {
  const auto nats = server();
  Rogue host(nats, "host1");
  const auto first_number = [&] {
    const auto bus = join(nats, "coordinator");
    WEFT_CHECK(bus.has_value());
    const auto asked = host.acknowledgement_asked(session::subscription_of(kRun, "host1"), [&] {
      EXPECT_TRUE((*bus)->deliver({{"host1", "start"}}, Nanoseconds(0)));
    });
    return asked ? session::acknowledgement_in(*asked) : std::nullopt;
  };
  const auto one = first_number();
  const auto other = first_number();
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->from, "host1");
  EXPECT_NE(one->number, other->number) << "what one is told is not taken for the other's";
}

TEST(NatsUsers, WhatAnAgentForgesReachesNobodyAndTheRunGoesOn) {
  const auto nats = server();
  const auto coordinator = join(nats, "coordinator");
  const auto host1 = join(nats, "host1");
  const auto host2 = join(nats, "host2");
  ASSERT_TRUE(coordinator && host1 && host2);
  EXPECT_FALSE(may_publish(nats, session::subject_of(kRun, "host2", "coordinator")));
  EXPECT_FALSE(may_publish(nats, session::subject_of(kRun, "coordinator", "host2")));
  ASSERT_TRUE((*coordinator)->send("host2", "a task"));
  expect_next(**host2, "coordinator", "a task");
  ASSERT_TRUE((*host1)->send("coordinator", "an answer"));
  expect_next(**coordinator, "host1", "an answer");
}

TEST(NatsUsers, ACredentialDoesNotServeUnderAnotherName) {
  const auto nats = server();
  for (const char* other : {"host2", "coordinator"}) {
    const auto bus = connect_nats(nats.address_for("host1"), kRun, other);
    ASSERT_FALSE(bus) << other;
    EXPECT_EQ(bus.error().kind, ErrorKind::permission);
    EXPECT_THAT(bus.error().message, HasSubstr("refuses"));
  }
  EXPECT_FALSE(connect_nats(nats.address_for("host1"), RunId(8), "host1")) << "nor for another run";
}

TEST(NatsUsers, AWrongPasswordOrNoneIsRefused) {
  const auto nats = server();
  auto address = nats.address_for("host1");
  std::get<BusLogin>(address.credential).password = "guess";
  const auto guessed = connect_nats(address, kRun, "host1");
  ASSERT_FALSE(guessed);
  EXPECT_EQ(guessed.error().kind, ErrorKind::permission);
  address.credential = BusLogin{"host1", std::get<BusLogin>(nats.address_for("host2").credential).password,
                                std::get<BusLogin>(address.credential).certificate};
  EXPECT_FALSE(connect_nats(address, kRun, "host1")) << "another's password";
}

TEST(NatsUsers, AClientThatDoesNotEncryptIsRefused) {
  const auto nats = server();
  EXPECT_FALSE(connect_nats({nats.address_for("host1").url, "token"}, kRun, "host1"));
  EXPECT_FALSE(connect_nats({nats.address_for("host1").url, ""}, kRun, "host1"));
}

TEST(NatsUsers, AServerWithAnotherCertificateIsNotTrusted) {
  const auto nats = server();
  auto address = nats.address_for("host1");
  const auto other = make_run_certificate();
  ASSERT_TRUE(other) << other.error().message;
  auto& certificate = std::get<BusLogin>(address.credential).certificate;
  certificate = other->certificate;
  const auto bus = connect_nats(address, kRun, "host1");
  ASSERT_FALSE(bus);
  EXPECT_THAT(bus.error().message, HasSubstr("not the server of this run"));
  for (const char* none : {"", "no certificate"}) {
    certificate = none;
    EXPECT_FALSE(connect_nats(address, kRun, "host1"));
  }
}

/// Of a server that wrote its ports into `directory`; empty: not yet.
std::string url_in(const std::filesystem::path& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream file(entry.path());
    const auto ports = nlohmann::json::parse(file, nullptr, false);
    if (ports.is_object() && ports.contains("nats")) return ports["nats"][0];
  }
  return {};
}

TEST(NatsUsers, APlainServerInItsPlaceGetsNoPassword) {
  const auto directory = os::ScratchDirectory::make();
  ASSERT_TRUE(directory);
  const auto plain = os::ChildProcess::start(
      {.argv = {"nats-server", "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", directory->path()},
       .output = os::ToNothing{},
       .errors = os::ToNothing{}});
  ASSERT_TRUE(plain);
  const auto nats = server();
  auto address = nats.address_for("host1");
  for (address.url.clear(); address.url.empty(); address.url = url_in(directory->path())) usleep(10'000);
  const auto bus = connect_nats(address, kRun, "host1");
  ASSERT_FALSE(bus);
  EXPECT_THAT(bus.error().message, HasSubstr("not the server of this run"));
}

TEST(NatsUsers, TheServerListensOnAnIpv6AddressAsWell) {
  const auto nats = server("::1");
  const auto coordinator = join(nats, "coordinator");
  const auto host1 = join(nats, "host1");
  ASSERT_TRUE(coordinator && host1) << nats.address_for("host1").url;
  ASSERT_TRUE((*host1)->send("coordinator", "hello"));
  expect_next(**coordinator, "host1", "hello");
}

TEST(NatsUsers, ARunWhoseHostsCannotBeToldApartIsRefused) {
  for (const char* host : {"coordinator", "host1"}) {
    const auto refused = run::NatsServer::start({*IpAddress::parse("127.0.0.1")}, kRun, {"host1", host});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_THAT(refused.error().message, HasSubstr(host));
  }
}

TEST(NatsUsers, TheServersFilesAreOursAloneAndEndWithIt) {
  const auto place = std::filesystem::temp_directory_path() / "weft-users-test";
  std::filesystem::create_directory(place);
  setenv("TMPDIR", place.c_str(), 1);
  std::size_t secrets = 0;
  {
    const auto nats = server();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
      struct stat about {};
      ASSERT_EQ(lstat(entry.path().c_str(), &about), 0);
      if (entry.path().extension() == ".pem" || entry.path().extension() == ".conf") {
        ++secrets;
        EXPECT_EQ(about.st_mode & 0777, 0600u) << entry.path();
      }
      if (entry.is_directory()) {
        EXPECT_EQ(about.st_mode & 0777, 0700u) << entry.path();
      }
    }
  }
  unsetenv("TMPDIR");
  EXPECT_EQ(secrets, 3u);
  EXPECT_TRUE(std::filesystem::is_empty(place));
  std::filesystem::remove_all(place);
}

}  // namespace
}  // namespace weft::bus
