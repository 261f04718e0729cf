// A standing agent of a lab that is stopped and goes on, again and again, as one whose host does not run it:
// its probes and those to it are late, and no cable is at fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <random>

#include "tests/support/lab_with_watch.hpp"

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

}  // namespace
}  // namespace weft
