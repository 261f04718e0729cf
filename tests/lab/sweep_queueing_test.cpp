// A full queue in a lab, real packets: round trips beside the flows over it take longer than idle ones, and
// the channel is told, which makes no loss of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/lab_user.hpp"
#include "tests/support/sweep_document.hpp"

namespace weft {
namespace {

constexpr const char* kShapedFabric =
    "fabric: small\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\nlab: {link_rate: 50M}\n";

TEST(SweepQueueing, RoundTripsOverAFullQueueTakeLongerThanIdleOnesAndTheChannelIsTold) {
  const LabUser user(kShapedFabric);
  ASSERT_EQ(user.up().status, 0);
  user.fault("leaf1--spine2", {"--rate", "25M", "--from", "leaf1"});
  const auto document =
      document_of(user.weft({"sweep", "--lab=" + user.lab, "--budget", "3s", "-o", "json"}));
  ASSERT_TRUE(document.contains("queueing"));
  int over = 0, longer = 0;
  for (const auto& trip : document["queueing"]["trips"]) {
    const auto& path = trip["path"];
    if (std::ranges::find(path, "leaf1->spine2") == path.end()) continue;
    ++over;
    ASSERT_TRUE(trip.contains("idle_us")) << trip;
    // 60 KB at 25 Mbit/s take 19 ms; what such a queue drops leaves some echoes at least.
    if (trip.contains("rtt_us") &&
        trip["rtt_us"]["p50"].get<double>() > trip["idle_us"]["p50"].get<double>() + 5'000)
      ++longer;
  }
  EXPECT_GT(over, 0);
  EXPECT_EQ(longer, over) << document["queueing"];
  ASSERT_FALSE(document["queueing"]["channels"].empty());
  const auto& first = document["queueing"]["channels"][0];
  EXPECT_THAT(first["channels"].dump(), testing::HasSubstr("leaf1->spine2"))
      << document["queueing"]["channels"];
  EXPECT_NEAR(first["wait_us"].get<double>(), 19e3, 8e3);
  for (const auto& link : document["links"]) EXPECT_NE(link["cause"], "loss") << link;
}

}  // namespace
}  // namespace weft
