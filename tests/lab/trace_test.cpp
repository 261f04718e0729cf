// `weft trace` against the kernel's own word for where it sends each label.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/lab_place.hpp"
#include "tests/places.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/test_lab.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/run_program.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;
constexpr int kLabels = 24;
constexpr std::chrono::seconds kLimit{60};

std::vector<std::string> names_of(const Fabric& fabric, const std::vector<ChannelId>& path) {
  std::vector<std::string> names;
  for (const ChannelId channel : path) names.push_back(fabric.name_of(channel));
  return names;
}

/// Traces host1 to host2 in a lab of two leaves and four spines, and asks the kernel about every label of the
/// map; how many there are. Of a hash without structure nothing is predicted.
int expect_the_kernels_paths(IpFamily family, const std::vector<std::string>& how) {
  const auto fabric = make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 1}).value();
  const TestLab lab(fabric, {.family = family}, cli::lab_state_root());
  std::vector<std::string> words{WEFT_BINARY_DIR "/weft", "trace", "host1", "host2",
                                 "--lab=" + lab->name(),  "-o",    "json"};
  words.insert(words.end(), how.begin(), how.end());
  const auto traced = os::run_program(words, "", kLimit);
  if (!traced) return ADD_FAILURE() << traced.error().message, 0;
  expect_matches_schema(*traced, "pathmap");
  const auto document = Json::parse(*traced);
  EXPECT_EQ(document["pairs"].size(), 1u) << *traced;
  if (document.contains("predicted")) {
    for (const auto& pair : document["predicted"]["pairs"]) EXPECT_TRUE(pair["paths"].empty()) << *traced;
  }
  int labels = 0;
  for (const auto& way : document["pairs"][0]["paths"])
    for (const auto& label : way["labels"]) {
      const auto kernels = kernel_path(lab, "host1", "host2", label.get<std::uint16_t>());
      EXPECT_EQ(way["path"].get<std::vector<std::string>>(), names_of(fabric, kernels)) << label;
      ++labels;
    }
  EXPECT_GE(document["pairs"][0]["paths"].size(), 3u) << "of four spines";
  return labels;
}

const std::vector<std::string> kSomeLabels{"--labels", std::to_string(kLabels)};

TEST(Trace, GivesEveryLabelThePathThatTheKernelGivesIt) {
  EXPECT_EQ(expect_the_kernels_paths(IpFamily::v4, kSomeLabels), kLabels) << "every label has a path";
}

TEST(Trace, OfAMapEveryLabelGoesAsTheKernelSaysAndNoneIsPredicted) {
  EXPECT_GE(expect_the_kernels_paths(IpFamily::v4, {"--map"}), 4);
}

TEST(Trace, GivesEveryLabelThePathThatTheKernelGivesItOverIpv6) {
  EXPECT_EQ(expect_the_kernels_paths(IpFamily::v6, kSomeLabels), kLabels) << "every label has a path";
}

/// The kernel's 5-tuple hash knows addresses and ports alone.
void expect_the_source_port_alone_moves(IpFamily family, std::size_t fields) {
  const auto fabric = make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 1}).value();
  const TestLab lab(fabric, {.family = family}, cli::lab_state_root());
  const auto tried = os::run_program(
      {WEFT_BINARY_DIR "/weft", "trace", "host1", "host2", "--fields", "--lab=" + lab->name(), "-o", "json"},
      "", kLimit);
  ASSERT_TRUE(tried) << tried.error().message;
  expect_matches_schema(*tried, "pathmap");
  const auto document = Json::parse(*tried);
  ASSERT_EQ(document["fields"]["tried"].size(), fields) << *tried;
  EXPECT_EQ(document["fields"]["repeats_moved"], 0);
  for (const auto& tries : document["fields"]["tried"])
    EXPECT_EQ(tries["moves"], tries["field"] == "source_port" ? "yes" : "no") << tries;
  EXPECT_EQ(document["fields"]["tried"][0]["at"], Json({"leaf1"}));
  EXPECT_EQ(document["pairs"][0]["paths"].size(), 4u);
}

TEST(Trace, InALabTheSourcePortAloneMovesAPath) { expect_the_source_port_alone_moves(IpFamily::v4, 4); }

TEST(Trace, InALabTheSourcePortAloneMovesAPathOverIpv6) {
  expect_the_source_port_alone_moves(IpFamily::v6, 5);
}

TEST(Trace, ShowsAPersonThePathsAndTheirLabels) {
  const auto fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  const TestLab lab(fabric, {}, cli::lab_state_root());
  const auto traced = os::run_program(
      {WEFT_BINARY_DIR "/weft", "trace", "host1", "host2", "--labels", "4", "--lab=" + lab->name()}, "",
      kLimit);
  ASSERT_TRUE(traced) << traced.error().message;
  for (const char* part : {"host1", "leaf1", "spine1", "leaf2", "host2"})
    EXPECT_NE(traced->find(part), std::string::npos) << *traced;
}

}  // namespace
}  // namespace weft
