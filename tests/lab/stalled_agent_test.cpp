// An agent of a lab that is stopped and goes on, as one whose host does not run it: its probes and those to
// it are late, and no cable is at fault. Of a sweep, once; a standing one, again and again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <random>

#include "tests/support/lab_with_watch.hpp"
#include "tests/support/sweep_document.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kFabric =
    "fabric: watched\nkind: roce\nclos: {leaves: 3, spines: 2, hosts_per_leaf: 2, link: 400G}\n"
    "lab: {link_rate: 50M}\n";

std::vector<Json> opened(const LabWithWatch& lab) {
  std::vector<Json> all;
  for (Json& event : lab.events())
    if (event["change"] == "opened") all.push_back(std::move(event));
  return all;
}

TEST(StalledAgent, OpensNoIncidentAndHidesNoLossyCableOfAnotherHost) {
  LabWithWatch lab(kFabric);
  ASSERT_TRUE(lab.becomes_healthy(true, 120s));
  const auto agent = child_with_word(lab.watch().pid(), "host2");
  ASSERT_TRUE(agent);
  std::mt19937 random(11);
  const auto stall_once = [&] {
    ASSERT_TRUE(send_signal(*agent, SIGSTOP));
    std::this_thread::sleep_for(200ms + std::chrono::milliseconds(random() % 1300));
    ASSERT_TRUE(send_signal(*agent, SIGCONT));
    std::this_thread::sleep_for(100ms + std::chrono::milliseconds(random() % 1500));
  };
  for (const auto until = std::chrono::steady_clock::now() + 25s;
       std::chrono::steady_clock::now() < until && !HasFatalFailure();)
    stall_once();
  EXPECT_THAT(opened(lab), testing::IsEmpty());
  lab.user.fault("host5--leaf3", {"--loss", "5", "--from", "host5"});
  for (const auto until = std::chrono::steady_clock::now() + 20s;
       std::chrono::steady_clock::now() < until && opened(lab).empty() && !HasFatalFailure();)
    stall_once();
  const auto events = opened(lab);
  ASSERT_EQ(events.size(), 1u) << lab.watch().errors_so_far();
  EXPECT_EQ(events[0]["channels"], Json({"host5->leaf3"})) << events[0];
  // It was stalled, as it says itself.
  EXPECT_THAT(lab.metrics(), testing::HasSubstr("weft_agents_stalled_windows_total{fabric=\"watched\"} "));
  EXPECT_THAT(lab.metrics(),
              testing::Not(testing::HasSubstr("weft_agents_stalled_windows_total{fabric=\"watched\"} 0\n")));
  lab.watch().signal(SIGINT);
  EXPECT_EQ(lab.watch().wait(10s).status, 0);
}

/// Waits until a host sends nothing more than a few large probes: its small ones are over.
void wait_until_quiet(pid_t agent) {
  constexpr std::uint64_t kFew = 20;  // in 100 ms, where small probes and their echoes are 300
  for (const auto until = std::chrono::steady_clock::now() + 4s; std::chrono::steady_clock::now() < until;) {
    const auto before = packets_sent(agent);
    std::this_thread::sleep_for(100ms);
    if (packets_sent(agent) < before + kFew) return;
  }
  ADD_FAILURE() << "it goes on sending";
}

/// Small probes go for three seconds of this budget. Stopped from some .7 s before their end until `after`
/// it.
Json sweep_with_a_stop(std::chrono::milliseconds after) {
  LabUser user("fabric: small\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 50M}\n");
  EXPECT_EQ(user.up().status, 0);
  auto sweep = user.start({"sweep", "--lab=" + user.lab, "--budget", "8s", "--load", "none", "-o", "json"});
  const auto other = child_with_word(sweep.pid(), "host1");
  const auto agent = child_with_word(sweep.pid(), "host2");
  EXPECT_TRUE(other && agent && probes_from(*other, 400));
  std::this_thread::sleep_for(2'200ms);
  EXPECT_TRUE(send_signal(agent, SIGSTOP));
  const auto sent = packets_sent(other.value_or(0));
  wait_until_quiet(other.value_or(0));
  EXPECT_GT(packets_sent(other.value_or(0)), sent + 150) << "it was to be stopped before the end";
  std::this_thread::sleep_for(after);
  EXPECT_TRUE(send_signal(agent, SIGCONT));
  return document_of(sweep.wait(60s));
}

void expect_no_cable_named(const Json& document) {
  for (const char* what : {"links", "groups", "sets", "fabric_wide"})
    EXPECT_TRUE(document[what].empty()) << what << ": " << document;
  EXPECT_THAT(document["verdict"].get<std::string>(), testing::AnyOf("healthy", "unknown"));
  for (const auto& host : document["hosts"]) EXPECT_EQ(host["verdict"], "unknown") << document;
}

TEST(StalledAgent, OfASweepBlamesNoCableWhereItIsStoppedAcrossTheEndOfTheProbing) {
  expect_no_cable_named(sweep_with_a_stop(350ms));
}

TEST(StalledAgent, ThatAnswersWhenNobodyWaitsAnyMoreSaysSoAndBlamesNoCable) {
  const Json document = sweep_with_a_stop(2'500ms);
  expect_no_cable_named(document);
  EXPECT_EQ(document["verdict"], "unknown");
  EXPECT_GT(document["account"]["lost"]["excused"], 50) << document["account"];
  EXPECT_THAT(said_of(document, "host2"), testing::HasSubstr("too late, as it counted")) << document;
}

}  // namespace
}  // namespace weft
