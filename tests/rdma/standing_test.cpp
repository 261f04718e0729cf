// Standing agents over queue pairs: four guests, two of a leaf, which probe by datagrams of soft-RoCE all the
// time for a `weft watch` of their lab. Its one spine leaves each pair one path, so that the labels, which
// soft-RoCE's datagrams do not follow, choose nothing; the guests' agents do not know what they stand on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/places.hpp"
#include "tests/support/rdma_rig.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/text_of.hpp"

namespace weft {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kOneSpine =
    "fabric: rig\nkind: roce\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 2}\nlab: {link_rate: 10M, guests: "
    "all, guest_image: " WEFT_BINARY_DIR "/guest}\n";

class StandingGuests : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    missing_ = new std::string(missing_for_guests());
    if (missing_->empty()) rig_ = new RdmaRig(kOneSpine);
  }
  static void TearDownTestSuite() {
    delete rig_;
    delete missing_;
  }
  void SetUp() override {
    if (!missing_->empty()) GTEST_SKIP() << *missing_;
    ASSERT_EQ(rig_->trouble(), "");
  }

  std::string events_file() const { return rig_->user().directory() / "events.jsonl"; }
  RunningCommand watch(const std::string& time) const {
    return rig_->user().start({"watch", "--lab=" + rig_->name(), "--probe-transport", "ud", "--rate", "40",
                               "--events", events_file(), "--for", time});
  }
  static bool says(const RunningCommand& command, const std::string& text, seconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (command.errors_so_far().find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return true;
  }
  /// The first event that opened an incident within `limit`.
  nlohmann::json opened(seconds limit) const {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < until) {
      std::ifstream file(events_file());
      for (std::string line; std::getline(file, line) && !file.eof();) {
        expect_matches_schema(line, "event");
        auto event = nlohmann::json::parse(line);
        if (event["change"] == "opened") return event;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return {};
  }

  static inline std::string* missing_ = nullptr;
  static inline RdmaRig* rig_ = nullptr;
};

TEST_F(StandingGuests, WithQueuePairsAreRefusedWhereLabelsAreNotFollowedAndTheWatchSaysWhy) {
  auto watching = watch("60s");
  EXPECT_TRUE(says(watching, "soft-RoCE gives them the port of their queue pair's number", seconds(60)))
      << watching.errors_so_far();
  EXPECT_TRUE(says(watching, "agent of host1: p1: ", seconds(60))) << watching.errors_so_far();
  const auto answer = watching.wait(seconds(100));
  EXPECT_EQ(answer.status, 0) << answer.errors;
  EXPECT_EQ(text_of(events_file()), "") << "what nobody probes is no incident";
}

TEST_F(StandingGuests, WithQueuePairsServeAWatchWhichOpensAnIncidentOfTheCableThatLoses) {
  std::vector<std::unique_ptr<RdmaRig::TestAgent>> agents;
  for (const char* host : {"host1", "host2", "host3", "host4"})
    agents.push_back(std::make_unique<RdmaRig::TestAgent>(*rig_, host, "datagram_agent"));
  auto watching = watch("150s");
  ASSERT_TRUE(says(watching, "streams from 4 NICs; 0 channels are crossed by none", seconds(60)))
      << watching.errors_so_far();
  EXPECT_THAT(watching.errors_so_far(), Not(HasSubstr("agent of host")));
  std::this_thread::sleep_for(seconds(15));
  EXPECT_THAT(text_of(events_file()), Not(HasSubstr("\"opened\""))) << "a healthy fabric";
  rig_->user().fault("host1--leaf1", {"--loss", "30", "--from", "host1"});
  const auto event = opened(seconds(60));
  ASSERT_TRUE(event.is_object()) << watching.errors_so_far();
  EXPECT_EQ(event["links"], nlohmann::json::array({"host1--leaf1"})) << event.dump();
  EXPECT_EQ(event["cause"], "loss") << event.dump();
  watching.signal(SIGINT);
  const auto answer = watching.wait(seconds(60));
  EXPECT_EQ(answer.status, 0) << answer.errors;
}

}  // namespace
}  // namespace weft
