// `weft watch` of an InfiniBand subnet: standing agents over management datagrams, paths from the switches'
// tables. ibsim and OpenSM stand for the adapters and the subnet manager.
#include <gmock/gmock.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/support/infiniband_lab.hpp"
#include "tests/support/lab_with_watch.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kFabric =
    "fabric: ib-watched\nkind: infiniband\n"
    "clos: {leaves: 3, spines: 2, hosts_per_leaf: 2, link: 200G}\nlab: {routing: minhop, lmc: 1}\n";

TEST_F(InfinibandLabTest, AWatchOpensOneIncidentForALossAndClosesItWhenCleanProbesCrossedAgain) {
  LabWithWatch lab(kFabric);
  ASSERT_TRUE(lab.becomes_healthy(true, 120s)) << lab.watch().errors_so_far();
  EXPECT_THAT(lab.events(), IsEmpty());
  EXPECT_THAT(lab.watch().errors_so_far(),
              HasSubstr("from 6 NICs; 0 channels are crossed by none, 0 by few"));
  const auto sweep = lab.user.weft({"sweep", "--lab=" + lab.user.lab});
  EXPECT_EQ(sweep.status, 69) << "an adapter of ibsim is one process's";
  EXPECT_THAT(sweep.errors, HasSubstr(fmt::format("process {}", lab.watch().pid())));

  lab.user.fault("leaf1--spine1", {"--loss", "10", "--from", "leaf1"});
  const auto opened = lab.wait_for("opened", 30s);
  ASSERT_TRUE(opened) << lab.watch().errors_so_far();
  EXPECT_EQ((*opened)["channels"], Json({"leaf1->spine1"})) << *opened;
  EXPECT_EQ((*opened)["cause"], "loss");
  ASSERT_EQ(lab.user.weft({"lab", "heal", "--name", lab.user.lab}).status, 0);
  EXPECT_TRUE(lab.wait_for("closed", 90s)) << lab.watch().errors_so_far();
  for (const Json& event : lab.events()) EXPECT_EQ(event["incident"], (*opened)["incident"]) << event;
  lab.watch().signal(SIGINT);
  const auto answer = lab.watch().wait(20s);
  EXPECT_EQ(answer.status, 0) << answer.errors;
}

/// Agents as they come to stand on the hosts of a live fabric, started by a launcher.
TEST_F(InfinibandLabTest, ALiveFabricIsWatchedByAgentsThatKnowTheirPortsByTheirGids) {
  InfinibandLab lab("{routing: minhop, lmc: 1}", "200G");
  ASSERT_EQ(lab.up.status, 0) << lab.up.errors;
  const auto watch = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"watch",    "--fabric",  lab.file(), "--launcher", lab.launcher(),
                                   "--listen", "127.0.0.1", "--rate",   "100"};
    words.insert(words.end(), more.begin(), more.end());
    return lab.weft_in_subnet(words);
  };
  EXPECT_THAT(watch({"--device", "mlx5_9"}).errors, HasSubstr("no InfiniBand management device for mlx5_9"));
  lab.fault({"leaf1--spine2", "--loss", "10", "--from", "leaf1"});
  const auto watched = watch({"--for", "30s"});
  EXPECT_EQ(watched.status, 0) << watched.errors;
  EXPECT_THAT(watched.errors, HasSubstr("from 6 NICs; 0 channels are crossed by none"));
  EXPECT_THAT(watched.text, AllOf(HasSubstr("incident 1 opened: leaf1--spine2 (from leaf1): loss"),
                                  Not(HasSubstr("incident 2"))))
      << watched.errors;
}

}  // namespace
}  // namespace weft
