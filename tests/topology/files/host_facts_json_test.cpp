#include "topology/files/host_facts_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/doctored_fleet.hpp"
#include "tests/support/schema.hpp"

namespace weft::files {
namespace {

using testing::HasSubstr;

HostFacts full_facts() {
  HostFacts facts = *DoctoredFleet().hosts[0].report;
  facts.lock_limit = Bytes(65536);
  facts.addresses = {{"eth0", {"10.0.0.1", "fe80::1"}}};
  facts.offences = {{KernelOffenceKind::gpu_off_bus, "0000:18:00.0", 79, 2, "NVRM: ..."}};
  facts.reaches_coordinator = false;
  facts.unreached_because = "Connection refused";
  facts.coordinator_takes_full = false;
  facts.paths = {{"10.0.0.1", "10.0.0.2", true, Bytes(4200), false}};
  return facts;
}

TEST(HostFactsJson, ReadsBackAsItWasWritten) {
  const auto text = host_facts_text(full_facts());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  expect_matches_schema(text, "host_facts");
  const auto read = read_host_facts(text, 5);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, full_facts());
}

TEST(HostFactsJson, PassesOverWhatALoginGreetsWith) {
  const auto read = read_host_facts("Welcome to gpu1\n\n" + host_facts_text(full_facts()) + "\r\n", 5);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->version, "0.2.0");
}

TEST(HostFactsJson, OfAnotherProtocolOnlyTheSpeakerIsRead) {
  const auto read =
      read_host_facts(R"({"schema":"weft.host_facts/1","protocol":4,"version":"0.1","clock":"noon"})", 5);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->protocol, 4u);
  EXPECT_EQ(read->version, "0.1");
  EXPECT_TRUE(read->identity.empty());
}

TEST(HostFactsJson, RefusesWhatIsNoReportAndSaysWhere) {
  const auto message = [](const std::string& text) {
    const auto read = read_host_facts(text, 5);
    return read ? std::string() : read.error().message;
  };
  EXPECT_THAT(message(""), HasSubstr("no JSON"));
  EXPECT_THAT(message("[]"), HasSubstr("weft.host_facts/1"));
  EXPECT_THAT(message(R"({"schema":"weft.host_facts/1"})"), HasSubstr("protocol"));
  EXPECT_THAT(message(std::string(2'000'000, '[')), HasSubstr("bytes"));
  auto wrong = host_facts_value(full_facts());
  wrong["rooms"][1]["free"] = -1;
  EXPECT_THAT(message(wrong.dump()), HasSubstr("rooms[1].free"));
  auto many = host_facts_value(full_facts());
  for (int i = 0; i < 300; ++i) many["drivers"].push_back("x");
  EXPECT_THAT(message(many.dump()), HasSubstr("drivers"));
}

TEST(HostFactsJson, TextOfAHostCannotSteerATerminal) {
  auto hostile = host_facts_value(full_facts());
  hostile["kernel"] = "6.1\x1b[2J";
  const auto read = read_host_facts(hostile.dump(), 5);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->kernel, "6.1\\x1b[2J");
}

}  // namespace
}  // namespace weft::files
