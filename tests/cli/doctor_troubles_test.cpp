// `weft doctor` as a whole over a fleet with every kind of trouble that a host can tell of itself: from the
// line of JSON that each host prints to the answer. (Hosts that are silent: doctor_test.cpp.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "probes/session/messages.hpp"
#include "tests/support/command.hpp"
#include "tests/support/doctored_fleet.hpp"
#include "tests/support/test_lab.hpp"
#include "topology/files/host_facts_json.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

/// A directory with what each host says, and the launcher that prints it: with the time of day in place of
/// the fleet's, so that a clock is off by what the fleet says.
class ToldFleet {
 public:
  void add(const std::string& host, HostFacts facts, Nanoseconds right_time) {
    facts.protocol = session::kProtocol;
    std::ofstream(folder_.path() / host) << files::host_facts_text(facts) << "\n";
    std::ofstream(folder_.path() / (host + ".off")) << (facts.clock - right_time).count();
    hosts_ += (hosts_.empty() ? "" : ",") + host;
  }
  Outcome asked(Arguments more) const {
    const auto script = folder_.path() / "say";
    std::ofstream(script) << "cd " << folder_.path().string()
                          << "\nread -r off <$1.off\n"
                             "sed \"s/\\\"clock\\\":[0-9]*/\\\"clock\\\":$(($(date +%s%N) + off))/\" $1\n";
    Arguments words{"--hosts",    hosts_,      "--launcher",      "sh " + script.string() + " {host}",
                    "--listen",   "127.0.0.1", "--agent-program", "/usr/bin/weft",
                    "--progress", "none"};
    words.insert(words.end(), more.begin(), more.end());
    return call(doctor_command, words);
  }

 private:
  TestDirectory folder_;
  std::string hosts_;
};

/// The host that a case is about, where the trouble is something that it tells of itself.
std::optional<HostFacts> told_by(const TroubleCase& one, const DoctoredFleet& fleet, std::size_t host) {
  const AskedHost& asked = fleet.hosts[host];
  if (!asked.report || asked.report->identity.empty()) return std::nullopt;
  if (one.trouble == HostTrouble::slow_login || !fleet.expectations.nics.empty()) return std::nullopt;
  // Of hosts known by their names alone that is a note: it may be of another network.
  if (one.trouble == HostTrouble::nic_unreached) return std::nullopt;
  return asked.report;
}

constexpr std::size_t kHealthy = 60;

TEST(DoctorTroubles, WhateverOneHostOfAFleetTellsIsNamedWithItsCommand) {
  ToldFleet told;
  const DoctoredFleet good;
  const Nanoseconds right_time = good.hosts[0].report->clock;
  for (std::size_t i = 0; i < kHealthy; ++i) {
    HostFacts facts = *good.hosts[0].report;
    if (i > 0) facts.identity = fmt::format("other{}/1", i);
    told.add(fmt::format("good{}", i), facts, right_time);
  }
  std::map<std::string, TroubleCase> cases;
  for (const TroubleCase& one : trouble_cases()) {
    DoctoredFleet fleet;
    one.put_in(fleet);
    const auto host = static_cast<std::size_t>(std::ranges::find(fleet.hosts, one.host, &AskedHost::name) -
                                               fleet.hosts.begin());
    auto facts = told_by(one, fleet, host);
    if (!facts) continue;
    const auto name = fmt::format("bad{}", cases.size());
    if (one.trouble != HostTrouble::same_machine) facts->identity = name + "/1";
    told.add(name, *facts, right_time);
    cases.emplace(name, one);
  }
  ASSERT_GE(cases.size(), 30u);
  const auto outcome = told.asked({"-o", "json", "--all"});
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  const auto document = Json::parse(outcome.out);
  std::map<std::string, std::vector<Json>> found;
  for (const Json& finding : document["findings"])
    for (const Json& host : finding["hosts"]) found[host].push_back(finding);
  for (const auto& [host, one] : cases) {
    EXPECT_EQ(found[host].size(), 1u) << host << ": " << to_string(one.trouble);
    if (found[host].empty()) continue;
    EXPECT_EQ(found[host][0]["trouble"], to_string(one.trouble)) << host;
    std::string command = one.command;
    if (const auto at = command.find("gpu3"); at != std::string::npos) command.replace(at, 4, host);
    EXPECT_THAT(found[host][0]["do"].get<std::string>(), HasSubstr(command));
  }
  // good0 is the machine that one of them has a second name of; of all others nothing is said.
  for (std::size_t i = 1; i < kHealthy; ++i) EXPECT_TRUE(found[fmt::format("good{}", i)].empty()) << i;
  const auto rows = told.asked({"-o", "csv"}).out;
  EXPECT_THAT(rows, testing::StartsWith("host,verdict,trouble,what,example,evidence,do\n"));
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(rows, '\n')), 1 + cases.size() + 1)
      << "a row each, and one more for the other name of one machine";
}

}  // namespace
}  // namespace weft::cli
