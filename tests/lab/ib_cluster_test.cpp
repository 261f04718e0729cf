// A live InfiniBand fabric: `weft sweep --fabric` from a host of the subnet, agents by a launcher. ibsim and
// OpenSM stand for the adapters and the subnet manager.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/infiniband_lab.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kRate = "200G";  // that ibsim can say: the file is the fabric's

std::vector<std::string> live(const InfinibandLab& lab, std::vector<std::string> more = {}) {
  std::vector<std::string> words{"sweep",        "--fabric", lab.file(),  "--launcher",
                                 lab.launcher(), "--listen", "127.0.0.1", "--budget",
                                 "3s",           "-o",       "json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(InfinibandLabTest, ALiveFabricIsSweptByAgentsThatKnowTheirPortsByTheirGids) {
  InfinibandLab lab("{routing: minhop, lmc: 1}", kRate);
  ASSERT_EQ(lab.up.status, 0) << lab.up.errors;
  const auto healthy = lab.weft_in_subnet(live(lab));
  auto document = Json::parse(healthy.text, nullptr, false);
  EXPECT_EQ(document["verdict"], "healthy") << healthy.text << healthy.errors;
  EXPECT_EQ(document["coverage"]["complete"], true) << healthy.text;
  lab.fault({"leaf1--spine2", "--loss", "2", "--from", "leaf1"});
  const auto faulty = lab.weft_in_subnet(live(lab));
  EXPECT_EQ(faulty.status, 1) << faulty.errors;
  document = Json::parse(faulty.text, nullptr, false);
  ASSERT_EQ(document["links"].size(), 1u) << faulty.text;
  EXPECT_EQ(document["links"][0]["link"], "leaf1--spine2");
  EXPECT_EQ(document["links"][0]["from"], "leaf1");
}

TEST_F(InfinibandLabTest, ALiveFabricIsTracedThroughTheAdapterThatIsNamed) {
  InfinibandLab lab("{routing: minhop, lmc: 1}", kRate);
  ASSERT_EQ(lab.up.status, 0) << lab.up.errors;
  const auto traced =
      lab.weft_in_subnet({"trace", "host1", "host5", "--fabric", lab.file(), "--device", "ibsim0"});
  EXPECT_EQ(traced.status, 0) << traced.text << traced.errors;
  EXPECT_THAT(traced.text, HasSubstr("host1->leaf1->spine1->leaf3->host5"));
  EXPECT_EQ(traced.text, lab.weft({"trace", "host1", "host5", "--lab=" + lab.name()}).text);
  const auto simulated = lab.weft({"trace", "host1", "host5", "--fabric", lab.file()});
  EXPECT_EQ(simulated.status, 0);
  EXPECT_THAT(simulated.errors, HasSubstr("--device HCA asks the subnet"));
}

TEST_F(InfinibandLabTest, ALiveFabricSaysWhatIsNotThere) {
  InfinibandLab lab("{routing: minhop}", kRate);
  ASSERT_EQ(lab.up.status, 0) << lab.up.errors;
  EXPECT_THAT(lab.weft_in_subnet(live(lab, {"--engine", "raw"})).errors,
              HasSubstr("--engine raw: an InfiniBand fabric is probed by umad or verbs"));
  const auto other = lab.weft_in_subnet(live(lab, {"--device", "mlx5_9"})).errors;
  EXPECT_THAT(other, HasSubstr("no InfiniBand management device for mlx5_9"));
  EXPECT_THAT(other, HasSubstr("there is ibsim0"));
  EXPECT_THAT(lab.weft_in_subnet(live(lab, {"--hosts", "host1"})).errors, HasSubstr("two hosts at least"));
  EXPECT_THAT(lab.weft_in_subnet(live(lab, {"--qps", "2"})).errors, HasSubstr("it needs --engine verbs"));
  lab.fault({"host3--leaf2", "--down"});
  const auto one = lab.weft_in_subnet(live(lab, {"--hosts", "host1,host3"}));
  EXPECT_THAT(one.errors, HasSubstr("host3 is not in the subnet"));
  EXPECT_THAT(one.errors, HasSubstr("two hosts at least"));
  // A host whose cable is out ends nothing: the cable is the finding, whoever was asked for.
  for (const auto& hosts : {std::vector<std::string>{}, {"--hosts", "host[1-6]"}}) {
    const auto rest = lab.weft_in_subnet(live(lab, hosts));
    EXPECT_EQ(rest.status, 2) << rest.text << rest.errors;
    const auto document = Json::parse(rest.text, nullptr, false);
    ASSERT_EQ(document["hosts"].size(), 1u) << rest.text;
    EXPECT_EQ(document["hosts"][0]["link"], "host3--leaf2");
    EXPECT_EQ(document["hosts"][0]["cause"], "down");
  }
  // Agents that have no RDMA library or device are findings of their hosts.
  const auto verbs = lab.weft_in_subnet(live(lab, {"--engine", "verbs", "--hosts", "host1,host2"}));
  EXPECT_EQ(verbs.status, 2) << verbs.text << verbs.errors;
  EXPECT_THAT(verbs.text, HasSubstr("RDMA"));
}

}  // namespace
}  // namespace weft
