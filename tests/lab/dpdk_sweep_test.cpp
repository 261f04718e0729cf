// `weft sweep` and `weft trace` by DPDK over the packet sockets of a lab's hosts: what raw packets find, they
// find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "probes/engine/dpdk/dpdk_engine.hpp"
#include "tests/places.hpp"
#include "tests/support/lab_user.hpp"
#include "tests/support/sweep_document.hpp"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

constexpr const char* kFabric = "fabric: small\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n";
const std::filesystem::path kModule = std::filesystem::path(WEFT_BINARY_DIR) / dpdk::kDpdkModuleName;

/// A lab that is up, for a user who has the module beside the program.
class DpdkLab : public LabUser {
 public:
  explicit DpdkLab(std::vector<std::string> before = {}) : LabUser(kFabric, std::move(before)) {
    const auto answer = up();
    EXPECT_EQ(answer.status, 0) << answer.errors;
    std::filesystem::copy_file(kModule, module());
  }
  std::filesystem::path module() const { return directory() / dpdk::kDpdkModuleName; }
  Answer sweep(std::vector<std::string> how) const {
    std::vector<std::string> words{"sweep", "--lab=" + lab, "--load", "none", "--budget", "2s", "-o", "json"};
    words.insert(words.end(), how.begin(), how.end());
    return weft(words);
  }
};

/// Where the build has no DPDK.
#define SKIP_WITHOUT_DPDK() \
  if (!std::filesystem::exists(kModule)) GTEST_SKIP() << "built without DPDK"

/// The names of all that is blamed.
std::set<std::string> blamed(const Json& document) {
  std::set<std::string> names;
  for (const auto& link : document["links"]) names.insert(link["link"]);
  for (const auto& host : document["hosts"]) names.insert(host["host"]);
  for (const auto& group : document["groups"]) names.insert(group["channels"].dump());
  return names;
}

std::vector<std::string> uses(const Json& document) {
  std::vector<std::string> all;
  for (const auto& nic : document["nics"]) all.push_back(nic.value("uses", ""));
  return all;
}

TEST(DpdkSweep, BlamesWhatTheRawEngineBlames) {
  SKIP_WITHOUT_DPDK();
  const DpdkLab lab;
  lab.fault("leaf1--spine2", {"--loss", "3%", "--from", "leaf1"});
  const auto by_raw = document_of(lab.sweep({"--engine", "raw"}));
  const auto by_dpdk = document_of(lab.sweep({"--engine", "dpdk"}));
  EXPECT_EQ(blamed(by_dpdk), blamed(by_raw)) << by_dpdk.dump(1);
  EXPECT_FALSE(blamed(by_dpdk).empty());
  EXPECT_EQ(by_dpdk["verdict"], by_raw["verdict"]);
  EXPECT_THAT(uses(by_dpdk),
              Each(AllOf(StartsWith("DPDK (net_af_packet"), HasSubstr("; time stamps of the kernel;"),
                         HasSubstr("; no flow rules ("))))
      << by_dpdk["nics"].dump();
}

TEST(DpdkSweep, OfAnOrdinaryUserIsHealthyInAHealthyLab) {
  SKIP_WITHOUT_DPDK();
  const DpdkLab lab(as_nobody());
  const auto document = document_of(lab.sweep({"--engine", "dpdk"}));
  expect_healthy_but_for_this_machine(document);
  EXPECT_EQ(document["coverage"]["probed"], 16);
}

TEST(DpdkSweep, IsTakenByAutoWhereADeviceIsNamedAndTheResultSaysWhy) {
  SKIP_WITHOUT_DPDK();
  const DpdkLab lab;
  const auto document = document_of(
      lab.sweep({"--dpdk-args=--no-huge --vdev=net_af_packet0,iface=p1,framecnt=4096,qdisc_bypass=1"}));
  expect_healthy_but_for_this_machine(document);
  EXPECT_EQ(document["engine"]["name"], "dpdk");
  EXPECT_THAT(document["engine"]["why"].get<std::string>(),
              HasSubstr("has an RDMA device, and --dpdk-args names a device"));
  EXPECT_THAT(uses(document), Each(HasSubstr("no RDMA device has an address of p1")));
}

TEST(DpdkSweep, OfAutoGoesOnByRawPacketsWhereDpdkDoesNotStartAndSaysWhy) {
  SKIP_WITHOUT_DPDK();
  const DpdkLab lab;
  const auto document =
      document_of(lab.sweep({"--dpdk-args=--no-huge --lcores=0@9999 --vdev=net_af_packet0,iface=p1"}));
  expect_healthy_but_for_this_machine(document);
  EXPECT_THAT(uses(document), Each(HasSubstr("raw packets, not DPDK: DPDK does not start:")))
      << document["nics"].dump();
}

TEST(DpdkSweep, WithoutTheModuleTestsNothingAndNamesItsPackage) {
  SKIP_WITHOUT_DPDK();
  const DpdkLab lab;
  std::filesystem::remove(lab.module());
  const auto answer = lab.sweep({"--engine", "dpdk"});
  EXPECT_EQ(answer.status, 69) << answer.output;
  EXPECT_THAT(answer.errors, HasSubstr("install the package weft-dpdk"));
}

TEST(DpdkSweep, SaysAtOnceWhatOfItsArgumentsIsWrong) {
  SKIP_WITHOUT_DPDK();
  const DpdkLab lab;
  const auto refused = lab.sweep({"--engine", "dpdk", "--dpdk-args=--no-huge -d evil.so"});
  EXPECT_EQ(refused.status, 64);
  EXPECT_THAT(refused.errors, HasSubstr("'-d' is no option that weft passes on"));
  EXPECT_THAT(lab.sweep({"--engine", "raw", "--dpdk-args=--no-huge"}).errors,
              HasSubstr("it needs --engine dpdk"));
}

TEST(DpdkTrace, FindsThePathsAndLabelsThatRawPacketsFind) {
  SKIP_WITHOUT_DPDK();
  const DpdkLab lab;
  const auto traced = [&](const char* engine) {
    const auto answer =
        lab.weft({"trace", "host1", "host3", "--lab=" + lab.lab, "--engine", engine, "-o", "csv"});
    EXPECT_EQ(answer.status, 0) << answer.errors;
    return answer.output;
  };
  EXPECT_EQ(traced("dpdk"), traced("raw"));
}

}  // namespace
}  // namespace weft
