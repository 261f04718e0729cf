// A sweep that may choose its engine, over hosts reached by a launcher: guests with soft-RoCE, and one whose
// device is gone.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/rdma/queue_pairs_rig.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

Json sweep_by_launcher(RdmaRig& rig) {
  const auto file = rig.user().directory() / "live.yaml";
  std::ofstream(file) << "fabric: rig\nkind: roce\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 1, link: "
                         "10M}\naddresses: {plan: ipv4}\n";
  const auto launcher = rig.user().program() + " lab exec {host} --name " + rig.name() + " --";
  auto command = rig.user().start_after(
      {"nsenter", "--net=" + rig.lab().management_namespace().string()},
      {"sweep", "--fabric", file, "--launcher", launcher, "--agent-program", "weft", "--listen",
       to_string(rig.lab().coordinator_address()), "--budget", "4s", "--probe-rate", "250", "--answer-rate",
       "10000", "--tolerate", "delay=50ms", "-o", "json"});
  const auto answer = command.wait(std::chrono::seconds(180));
  expect_matches_schema(answer.output, "diagnosis");
  return Json::parse(answer.output, nullptr, false);
}

TEST_F(QueuePairs, AreTheEngineWhereAllHaveDevices) {
  auto document = sweep_by_launcher(rig());
  EXPECT_EQ(document["engine"]["name"], "verbs") << document.dump();
  EXPECT_EQ(document["engine"]["why"], "each of the 4 NICs has an RDMA device");
  EXPECT_THAT(document["nics"][0]["uses"].dump(), HasSubstr("RoCE v2"));
}

TEST_F(QueuePairs, AreTheEngineWithoutTheHostWhoseDeviceIsGone) {
  ASSERT_EQ(rig().in("host2", {"rdma", "link", "delete", "rxe_p1"}).status, 0);
  auto document = sweep_by_launcher(rig());
  EXPECT_EQ(rig().in("host2", {"rdma", "link", "add", "rxe_p1", "type", "rxe", "netdev", "p1"}).status, 0);
  EXPECT_EQ(document["engine"]["name"], "verbs") << document.dump();
  EXPECT_THAT(document["engine"]["why"].dump(),
              HasSubstr("3 of 4 NICs have an RDMA device; not tested: host2"));
  EXPECT_EQ(document["coverage"]["not_tested"][0]["host"], "host2");
  EXPECT_EQ(document["verdict"], "unknown");
  EXPECT_TRUE(document["hosts"].empty()) << document.dump();
}

}  // namespace
}  // namespace weft
