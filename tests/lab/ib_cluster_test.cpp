// A live InfiniBand fabric: `weft sweep --fabric` from a host of the subnet, agents by a launcher. ibsim and
// OpenSM stand for the adapters and the subnet manager.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/places.hpp"
#include "tests/support/infiniband_lab.hpp"
#include "tests/support/scratch_file.hpp"

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

/// As many adapters as ibsim takes beside OpenSM and the command.
constexpr const char* kTwoNics = "rails: {groups: 2, hosts_per_group: 2, rails: 2, spines: 2, link: 200G}\n";

TEST_F(InfinibandLabTest, OneAgentServesAllPortsOfItsHost) {
  InfinibandLab lab(InfinibandLab::Shape{kTwoNics});
  ASSERT_EQ(lab.up.status, 0) << lab.up.errors;
  const ScratchFile script(
      "shift\nfor word; do shift; test \"$word\" = umad && word=ibsim; set -- \"$@\" \"$word\"; done\n"
      "export WEFT_TEST_IB_LAB=" +
      lab.name() + "\nexec \"$@\"\n");
  const std::vector<std::string> by_adapters{"--launcher",      "sh " + script.path() + " {host}",
                                             "--agent-program", WEFT_BINARY_DIR "/adapters_agent",
                                             "--tolerate",      "delay=1s",  // their processes add some
                                             "--probe-rate",    "200"};      // and are more than the cores
  const auto words = [&] {
    auto all = live(lab);
    all.erase(all.begin() + 3, all.begin() + 5);  // the lab's own launcher
    all.insert(all.end(), by_adapters.begin(), by_adapters.end());
    return all;
  };
  const auto healthy = lab.weft_in_subnet(words());
  auto document = Json::parse(healthy.text, nullptr, false);
  EXPECT_EQ(healthy.status, 0) << healthy.text << healthy.errors;
  EXPECT_EQ(document["coverage"]["complete"], true) << healthy.text;
  EXPECT_EQ(document["coverage"]["out_of_scope"], 0) << healthy.text;
  lab.fault({"host3/p2--leaf4", "--loss", "10", "--from", "host3"});
  const auto faulty = lab.weft_in_subnet(words());
  EXPECT_NE(faulty.status, 0) << faulty.errors;
  document = Json::parse(faulty.text, nullptr, false);
  EXPECT_TRUE(document["links"].empty()) << faulty.text;
  ASSERT_EQ(document["hosts"].size(), 1u) << faulty.text;
  EXPECT_EQ(document["hosts"][0]["link"], "host3--leaf4");
}

TEST_F(InfinibandLabTest, APortThatAnAgentCannotOpenIsAFindingAndTheOthersAreProbed) {
  InfinibandLab lab(InfinibandLab::Shape{kTwoNics});
  ASSERT_EQ(lab.up.status, 0) << lab.up.errors;
  const auto swept = lab.weft_in_subnet(live(lab));  // ibsim gives a process one adapter
  const auto document = Json::parse(swept.text, nullptr, false);
  EXPECT_EQ(swept.status, 2) << swept.text << swept.errors;
  ASSERT_EQ(document["hosts"].size(), 4u) << swept.text;
  for (const auto& host : document["hosts"])
    EXPECT_THAT(host.dump(), HasSubstr("no InfiniBand port of this host has the GUID"));
  EXPECT_TRUE(document["links"].empty()) << swept.text;
  EXPECT_GT(document["probes"]["sent"], 0) << swept.text;
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
