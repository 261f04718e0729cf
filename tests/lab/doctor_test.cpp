// `weft doctor` on the hosts of a lab: as a lab, and as a cluster that is reached by a launcher.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/schema.hpp"
#include "tests/support/test_cluster.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Words doctor_words(const TestCluster& cluster, const std::string& launcher) {
  return {"doctor",     cluster.live_file(),
          "--launcher", launcher,
          "--listen",   cluster.head_address(),
          "--gather",   "5s",
          "-o",         "json"};
}

/// "host trouble" of each finding.
Words found(const std::string& output) {
  Words all;
  const auto document = Json::parse(output);
  for (const auto& finding : document["findings"])
    for (const auto& host : finding["hosts"])
      all.push_back(host.get<std::string>() + " " + finding["trouble"].get<std::string>());
  return all;
}

TEST(DoctorInLab, FindsNothingInAHealthyOneAndAnMtuHoleOnItsWay) {
  const TestCluster cluster;
  const Words words{"doctor", "--lab=" + cluster.lab, "-o", "json"};
  const auto healthy = cluster.weft(words);
  EXPECT_EQ(healthy.status, 0) << healthy.output << healthy.errors;
  expect_matches_schema(healthy.output, "doctor");
  EXPECT_EQ(Json::parse(healthy.output)["hosts"].size(), 4u);
  // Each host's NIC is tried from the next: the one before and the one behind it miss packets.
  cluster.fault("host2--leaf1", {"--mtu", "1000"});
  const auto ill = cluster.weft(words);
  EXPECT_EQ(ill.status, 2) << ill.output;
  EXPECT_THAT(found(ill.output), testing::UnorderedElementsAre("host1 path_mtu", "host2 path_mtu"));
}

TEST(DoctorInLab, HostsReachedByALauncherAreHeldAgainstTheirFile) {
  const TestCluster cluster;
  const auto healthy = cluster.on_head(doctor_words(cluster, cluster.launcher()));
  EXPECT_EQ(healthy.status, 0) << healthy.output << healthy.errors;
  const auto away = cluster.weft(
      {"lab", "exec", "host3", "--name", cluster.lab, "--", "ip", "address", "flush", "dev", "p1"});
  EXPECT_EQ(away.status, 0) << away.errors;
  const auto answer = cluster.on_head(doctor_words(
      cluster, cluster.launcher_with("test $1 = host4 && { echo 'Connection refused' >&2; exit 255; }")));
  EXPECT_EQ(answer.status, 2) << answer.output << answer.errors;
  EXPECT_THAT(found(answer.output),
              testing::UnorderedElementsAre("host3 nic_missing", "host2 nic_unreached", "host4 unreachable"));
}

TEST(DoctorInLab, HostsKnownByNameAloneTryThePathsBetweenTheirNics) {
  const TestCluster cluster;
  const Words words{"doctor",
                    "--hosts",
                    "host[1-4]",
                    "--launcher",
                    cluster.launcher(),
                    "--listen",
                    cluster.head_address(),
                    "--gather",
                    "5s",
                    "-o",
                    "json"};
  // Of a cable that has just come up the kernel tells up to a second late, and until then nothing is looked
  // at.
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  const auto healthy = cluster.on_head(words);
  EXPECT_EQ(healthy.status, 0) << healthy.output << healthy.errors;
  const auto document = Json::parse(healthy.output);
  for (const auto& host : document["hosts"]) EXPECT_EQ(host["report"]["paths"].size(), 2u) << host;
  EXPECT_THAT(document["notes"].dump(), testing::Not(testing::HasSubstr("not tried: path MTU")));
  cluster.fault("host2--leaf1", {"--mtu", "1000"});
  const auto ill = cluster.on_head(words);
  EXPECT_EQ(ill.status, 2) << ill.output;
  EXPECT_THAT(found(ill.output), testing::IsSupersetOf({"host1 path_mtu", "host2 path_mtu"})) << ill.output;
}

TEST(DoctorInLab, ACableThatLosesPacketsIsNoMatterOfTheirSize) {
  const TestCluster cluster;
  cluster.fault("host2--leaf1", {"--loss", "40"});
  for (int i = 0; i < 3; ++i) {
    const auto answer = cluster.weft({"doctor", "--lab=" + cluster.lab, "-o", "json"});
    EXPECT_THAT(found(answer.output), testing::Each(testing::Not(testing::EndsWith("path_mtu"))))
        << answer.output;
  }
}

TEST(DoctorInLab, AFilterOnTheWayBackIsNamed) {
  const TestCluster cluster;
  const auto answer = cluster.on_head(doctor_words(
      cluster,
      cluster.launcher_with(
          "test $1 = host2 && " + cluster.program() + " lab exec host2 --name " + cluster.lab +
          " -- sh -c 'nft add table inet shut && nft add chain inet shut out \"{ type filter hook output "
          "priority 0; }\" && nft add rule inet shut out ip daddr " +
          cluster.head_address() + " tcp flags syn drop'")));
  EXPECT_EQ(answer.status, 2) << answer.output << answer.errors;
  EXPECT_THAT(found(answer.output), testing::ElementsAre("host2 firewall"));
}

}  // namespace
}  // namespace weft
