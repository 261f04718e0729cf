// What of a sweep over InfiniBand is refused before any subnet or lab is asked.
#include "cli/sweep_infiniband.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "topology/model/clos.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;

struct Refusal {
  int status = 0;
  std::string words;
};

po::variables_map parsed(const Arguments& words) {
  const auto values = sweep_options().parse(words);
  EXPECT_TRUE(values) << values.error().message;
  return values.value_or(po::variables_map());
}

Refusal swept(const Arguments& words) {
  const files::FabricFile file{
      *make_clos({.kind = FabricKind::infiniband, .leaves = 2, .spines = 1, .hosts_per_leaf = 1}),
      {},
      {},
      {}};
  testing::internal::CaptureStderr();
  const int status = sweep_infiniband_fabric(parsed(words), {}, file);
  return {status, testing::internal::GetCapturedStderr()};
}

TEST(SweepInfiniband, IsByUmadOrVerbsAlone) {
  const auto refused = swept({"--fabric", "ib.yaml", "--engine", "raw"});
  EXPECT_EQ(refused.status, kExitUsage);
  EXPECT_THAT(refused.words, HasSubstr("--engine raw: an InfiniBand fabric is probed by umad or verbs"));
}

TEST(SweepInfiniband, AWrongLimitOfTimeIsSaidBeforeTheSubnetIsAsked) {
  const auto refused = swept({"--fabric", "ib.yaml", "--timeout", "soon"});
  EXPECT_EQ(refused.status, kExitUsage);
  EXPECT_THAT(refused.words, HasSubstr("soon"));
}

TEST(SweepInfiniband, ALabThatIsNotThereIsNamed) {
  testing::internal::CaptureStderr();
  const int status = sweep_infiniband_lab(parsed({"--lab=there-is-none"}), {}, "there-is-none", {"sweep"});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("there-is-none"));
  EXPECT_NE(status, kExitHealthy);
}

}  // namespace
}  // namespace weft::cli
