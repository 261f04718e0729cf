// `weft watch` on real packets: standing agents in a lab, a server of its own, faults that come and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "collectors/store/counter_readings.hpp"
#include "tests/support/lab_with_watch.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kFabric =
    "fabric: watched\nkind: roce\nclos: {leaves: 3, spines: 2, hosts_per_leaf: 2, link: 400G}\n"
    "lab: {link_rate: 50M}\n";

struct WatchedLab : LabWithWatch {
  WatchedLab() : LabWithWatch(kFabric) {}
  /// weft.counters/1 of the database.
  std::string kept_counters() const {
    std::string all;
    auto database = store::Database::open(state() + "/watch.db", store::Database::Access::read);
    if (!database) return all;
    const auto readings = store::kept_counter_readings(*database).value();
    for (const auto& [begin, text] : readings) all += text;
    return all;
  }
};

TEST(Watch, OpensOneIncidentForAFaultAndClosesItWhenCleanProbesCrossedAgain) {
  WatchedLab lab;
  lab.wait_until_it_probes();
  EXPECT_THAT(lab.events(), testing::IsEmpty());
  lab.user.fault("leaf1--spine1", {"--loss", "10", "--from", "leaf1"});
  const auto opened = lab.wait_for("opened", 20s);
  ASSERT_TRUE(opened);
  const Json& incident = *opened;
  EXPECT_EQ(incident["channels"], Json({"leaf1->spine1"})) << *opened;
  EXPECT_EQ(incident["cause"], "loss");
  EXPECT_GT(incident["confidence"], 0.9);
  ASSERT_EQ(lab.user.weft({"lab", "heal", "--name", lab.user.lab}).status, 0);
  EXPECT_TRUE(lab.wait_for("closed", 80s));
  for (const Json& event : lab.events()) EXPECT_EQ(event["incident"], incident["incident"]) << event;
  const auto kept = lab.kept_counters();  // nobody named a source: agents tell of their NICs
  for (const char* host : {"host1", "host2", "host3", "host4", "host5", "host6"})
    EXPECT_THAT(kept, testing::HasSubstr(fmt::format(R"("source":"agent {0}","port":"{0}/p1")", host)));
  EXPECT_THAT(kept, testing::HasSubstr("\"boot\":\""));
  EXPECT_THAT(lab.metrics(),
              testing::HasSubstr("weft_counters_read_timestamp_seconds{fabric=\"watched\"} 1"));
  EXPECT_THAT(lab.metrics(), testing::HasSubstr("weft_counters_failing{fabric=\"watched\"} 0"));
  lab.watch().signal(SIGINT);
  const auto answer = lab.watch().wait(10s);
  EXPECT_EQ(answer.status, 0) << answer.errors;
  EXPECT_THAT(answer.output, testing::HasSubstr("incident 1 opened: leaf1--spine1 (from leaf1): loss"));
}

TEST(Watch, ASpineAllOfWhoseCablesAreDownIsNeverHealthyAgainThoughRoutesLeaveIt) {
  WatchedLab lab;
  ASSERT_TRUE(lab.becomes_healthy(true, 120s));
  for (const char* leaf : {"leaf1", "leaf2", "leaf3"})
    lab.user.fault(std::string(leaf) + "--spine1", {"--down"});
  // Where routes leave so fast that nothing is lost, the next mapping tells: a minute. Before that a busy
  // machine may make it unknown for a moment.
  const auto until = std::chrono::steady_clock::now() + 100s;
  while (lab.metrics().find("weft_watch_uncovered_channels{fabric=\"watched\"} 0\n") != std::string::npos &&
         std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(200ms);
  ASSERT_TRUE(lab.becomes_healthy(false, 20s));
  std::this_thread::sleep_for(20s);  // longer than --close-after
  for (const Json& event : lab.events()) EXPECT_NE(event["change"], "closed") << event;
  EXPECT_THAT(lab.metrics(), testing::HasSubstr("verdict=\"healthy\"} 0"));
  lab.watch().signal(SIGINT);
  EXPECT_EQ(lab.watch().wait(10s).status, 0);
}

/// What goes up from a leaf by the first of its two uplinks goes by the second from now on. The kernel
/// changes a nexthop in place: nothing is lost.
void move_routes(const WatchedLab& lab, const std::string& leaf) {
  const auto in = [&](std::vector<std::string> command) {
    command.insert(command.begin(), {"lab", "exec", leaf, "--name", lab.user.lab, "--"});
    const auto answer = lab.user.weft(command);
    EXPECT_EQ(answer.status, 0) << answer.errors;
    return answer.output;
  };
  const Json all = Json::parse(in({"ip", "-j", "nexthop"}));
  std::vector<Json> uplinks;
  for (const Json& group : all)
    for (const Json& member : group.value("group", Json::array()))
      for (const Json& hop : all)
        if (hop["id"] == member["id"]) uplinks.push_back(hop);
  ASSERT_GE(uplinks.size(), 2u) << all;
  in({"ip", "nexthop", "replace", "id", uplinks[0]["id"].dump(), "via", uplinks[1]["gateway"], "dev",
      uplinks[1]["dev"]});
}

TEST(Watch, RoutesThatMoveWithoutALossAreSeenBetweenMappings) {
  WatchedLab lab;
  ASSERT_TRUE(lab.becomes_healthy(true, 120s));
  const auto mapped = [&] {
    const auto said = lab.watch().errors_so_far();
    int plans = 0;
    for (auto at = said.find("weft: plan "); at != std::string::npos; at = said.find("weft: plan ", at + 1))
      ++plans;
    return plans;
  };
  const int before = mapped();
  move_routes(lab, "leaf1");
  const auto moved = std::chrono::steady_clock::now();
  while (lab.watch().errors_so_far().find("routes moved: ") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), moved + 12s) << lab.watch().errors_so_far();
    std::this_thread::sleep_for(100ms);
  }
  ASSERT_TRUE(lab.becomes_healthy(false, 12s));  // the file is written each five seconds
  // Mapped within some 25 s, not at the end of the minute; leaf1's way to that spine is crossed by none now.
  while (mapped() == before) {
    ASSERT_LT(std::chrono::steady_clock::now(), moved + 40s) << lab.watch().errors_so_far();
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_THAT(lab.watch().errors_so_far(),
              testing::HasSubstr("not watched, as no path takes it: leaf1->spine"));
  EXPECT_THAT(lab.events(), testing::IsEmpty());
  lab.watch().signal(SIGINT);
  EXPECT_EQ(lab.watch().wait(10s).status, 0);
}

TEST(Watch, ASweepRunsBesideIt) {
  WatchedLab lab;
  lab.wait_until_it_probes();
  const auto swept = lab.user.weft({"sweep", "--lab=" + lab.user.lab, "--load", "none", "--budget", "3s"});
  EXPECT_EQ(swept.status, 0) << swept.output << swept.errors;
  lab.watch().signal(SIGTERM);
  EXPECT_EQ(lab.watch().wait(10s).status, 0);
  EXPECT_THAT(lab.events(), testing::IsEmpty());
}

TEST(Watch, GoesOnWithItsIncidentsWhenItIsKilledAndStartedAgain) {
  WatchedLab lab;
  lab.wait_until_it_probes();
  lab.user.fault("leaf2--spine2", {"--down"});
  ASSERT_TRUE(lab.wait_for("opened", 20s));
  lab.watch().signal(SIGKILL);
  lab.watch().wait(10s);
  ASSERT_EQ(lab.user.weft({"lab", "heal", "--name", lab.user.lab}).status, 0);
  auto again = lab.user.start({"watch", "--lab=" + lab.user.lab, "--state", lab.state(), "--events",
                               lab.events_file(), "--close-after", "4s", "--for", "120s"});
  EXPECT_TRUE(lab.wait_for("closed", 80s)) << "the incident of the watcher before";
  for (const Json& event : lab.events()) EXPECT_EQ(event["incident"], 1) << event;
  again.signal(SIGINT);
  EXPECT_EQ(again.wait(10s).status, 0);
}

TEST(Watch, StartsItsServerAgainWhenThatDiesAndGoesOnWithItsIncidents) {
  WatchedLab lab;
  lab.wait_until_it_probes();
  lab.user.fault("leaf1--spine1", {"--loss", "20", "--from", "leaf1"});
  ASSERT_TRUE(lab.wait_for("opened", 20s));
  ASSERT_TRUE(send_signal(child_with_word(lab.watch().pid(), "nats-server"), SIGKILL));
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (lab.watch().errors_so_far().find("(signal 9); it runs again") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << lab.watch().errors_so_far();
    std::this_thread::sleep_for(100ms);
  }
  ASSERT_EQ(lab.user.weft({"lab", "heal", "--name", lab.user.lab}).status, 0);
  EXPECT_TRUE(lab.wait_for("closed", 80s)) << lab.watch().errors_so_far();
  for (const Json& event : lab.events()) EXPECT_EQ(event["incident"], 1) << event;
  lab.watch().signal(SIGINT);
  EXPECT_EQ(lab.watch().wait(10s).status, 0);
}

TEST(Watch, ASecondOneOfALabIsRefusedAndAnOutputThatTakesNothingIsSaidOnce) {
  LabUser user(kFabric);
  ASSERT_EQ(user.up().status, 0);
  auto watch = user.start_after({"sh", "-c", "exec \"$0\" \"$@\" > /dev/full"},
                                {"watch", "--lab=" + user.lab, "--for", "120s"});
  const auto said = [&](std::string_view text) {
    const auto all = watch.errors_so_far();
    int found = 0;
    for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++found;
    return found;
  };
  const auto within = [&](std::string_view text, std::chrono::seconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (said(text) == 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(100ms);
    return said(text) > 0;
  };
  ASSERT_TRUE(within("plan 1", 40s)) << watch.errors_so_far();
  const auto second = user.weft({"watch", "--lab=" + user.lab, "--for", "5s"});
  EXPECT_EQ(second.status, 69);
  EXPECT_THAT(second.errors, testing::HasSubstr("is being watched by another weft"));
  std::this_thread::sleep_for(6s);
  user.fault("leaf1--spine1", {"--loss", "20", "--from", "leaf1"});
  EXPECT_TRUE(within("stdout: ", 20s)) << watch.errors_so_far();
  std::this_thread::sleep_for(6s);
  EXPECT_EQ(said("stdout: "), 1) << watch.errors_so_far();
  watch.signal(SIGINT);
  const auto answer = watch.wait(10s);
  EXPECT_EQ(answer.status, 69) << answer.errors;
  EXPECT_THAT(answer.errors, testing::HasSubstr("events could not be written to standard output"));
}

}  // namespace
}  // namespace weft
