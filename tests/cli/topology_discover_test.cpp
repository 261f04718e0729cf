// `weft topology discover` and `check` on what they cannot read, as a user calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/topology_discover.hpp"
#include "cli/topology_routes.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/text_of.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

using ::testing::HasSubstr;

std::string small_dump() { return text_of(WEFT_SOURCE_DIR "/tests/data/small.ibnetdiscover"); }

TEST(TopologyDiscover, WithoutAManagementDeviceSaysSoAndNothingElse) {
  std::error_code error;
  if (std::filesystem::exists("/sys/class/infiniband_mad/umad0", error)) GTEST_SKIP() << "this host has one";
  const bool has_module = std::filesystem::exists("/sys/class/infiniband_mad", error);
  const char* what_to_do = has_module ? "" : "modprobe ib_umad";
  for (const auto& command : {topology_discover_command, topology_routes_command}) {
    const auto outcome = call(command, {});
    EXPECT_EQ(outcome.status, 69);
    EXPECT_THAT(outcome.err, HasSubstr("no InfiniBand management device"));
    EXPECT_THAT(outcome.err, HasSubstr(what_to_do));
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_THAT(call(topology_discover_command, {}).err, HasSubstr("weft topology discover --hosts LIST"));
}

TEST(TopologyDiscover, ADumpCutInTheMiddleIsReadAndSaidToBeCut) {
  const auto whole = small_dump();
  const ScratchFile dump(whole.substr(0, whole.size() / 2));
  const auto outcome = call(topology_discover_command, {"--dump", dump.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("note: "));
}

TEST(TopologyCheck, WhatIsOddInAnImportedDumpIsSaid) {
  const auto whole = small_dump();
  const ScratchFile dump(whole.substr(0, whole.size() / 2));
  const ScratchFile file("fabric: i\nkind: infiniband\nimport: {ibnetdiscover: " + dump.path() + "}\n");
  const auto outcome = call(topology_cabling_command, {file.path(), "--dump", dump.path()});
  EXPECT_THAT(outcome.err, HasSubstr("note: " + dump.path() + ": ")) << outcome.out;
}

TEST(TopologyDiscover, WhatIsNoDumpIsNamedWithItsFile) {
  const ScratchFile dump("fabric: a\n");
  const auto outcome = call(topology_discover_command, {"--dump", dump.path()});
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr(dump.path()));
  EXPECT_THAT(outcome.err, HasSubstr("line 1"));
  EXPECT_NE(call(topology_discover_command, {"--dump", "/no/such.net"}).status, 0);
}

TEST(TopologyDiscover, SlurmsTreeIsHeldAgainstTheSubnetAndADesignIsForCheck) {
  const ScratchFile dump(small_dump()), tree("SwitchName=a Nodes=no-such-host\n");
  const auto outcome = call(topology_discover_command, {"--dump", dump.path(), "--slurm", tree.path()});
  EXPECT_EQ(outcome.status, 3) << outcome.out;
  EXPECT_THAT(outcome.err,
              HasSubstr("unknown: " + tree.path() + ": 1 of its nodes were not found: no-such-host"));
  const auto design = call(topology_discover_command, {"--dump", dump.path(), "--against", "fabric.yaml"});
  EXPECT_EQ(design.status, 64);
  EXPECT_THAT(design.err, HasSubstr("weft topology check FABRIC.yaml"));
}

TEST(TopologyDiscover, AWindowThatWouldLockTheSimulatorIsRefused) {
  EXPECT_EQ(call(topology_discover_command, {"--window", "129"}).status, 64);
  EXPECT_EQ(call(topology_discover_command, {"--timeout", "1ms"}).status, 64);
}

TEST(TopologyCheck, ADumpIsComparedWithTheFileAndHasNoFirmware) {
  const ScratchFile dump(small_dump());
  const auto yaml = call(topology_discover_command, {"--dump", dump.path(), "-o", "yaml"});
  ASSERT_EQ(yaml.status, 0);
  const ScratchFile fabric(yaml.out);
  const auto check = call(topology_cabling_command, {fabric.path(), "--dump", dump.path()});
  EXPECT_EQ(check.status, 0) << check.out << check.err;
  EXPECT_THAT(check.out, HasSubstr("0 to look at"));
}

}  // namespace
}  // namespace weft::cli
