// `weft topology show --host` on captured hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/topology.hpp"
#include "tests/support/captured_host.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TopologyShowHost, PrintsWhatACapturedHostHas) {
  const CapturedHost host;
  const auto outcome = call(topology_command, {"show", "--host=" + host.root().string()});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("8 GPUs, 10 NICs, 4 PCIe switches"));
  EXPECT_THAT(outcome.out, HasSubstr("near eth2, eth3"));
  EXPECT_THAT(outcome.out, HasSubstr("priorities with ECN reaction (RP): 3"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("odd:")));
}

TEST(TopologyShowHost, SaysWhatIsOddAndAnswersOne) {
  const CapturedHost host;
  host.put(CapturedHost::pci_folder(CapturedHost::nics()[6]) + "current_link_width", "8\n");
  host.put(CapturedHost::rdma_port(1) + "state", "1: DOWN\n");
  const auto outcome = call(topology_command, {"show", "--host=" + host.root().string()});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("odd: the PCIe link of eth6 runs x8 at 32 GT/s"));
  EXPECT_THAT(outcome.out, HasSubstr("odd: the port of mlx5_1 is DOWN"));
}

TEST(TopologyShowHost, WritesTheDocument) {
  const CapturedHost host;
  const auto outcome = call(topology_command, {"show", "--host=" + host.root().string(), "-o", "json"});
  EXPECT_EQ(outcome.status, 0);
  expect_matches_schema(outcome.out, "host");
}

TEST(TopologyShowHost, AFolderWithoutACaptureIsAMistake) {
  const auto outcome = call(topology_command, {"show", "--host=/dev"});
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("/dev"));
  EXPECT_EQ(call(topology_command, {"show", "--host", "-o", "yaml"}).status, 64);
}

}  // namespace
}  // namespace weft::cli
