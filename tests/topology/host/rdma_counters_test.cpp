#include "topology/host/rdma_counters.hpp"

#include <gtest/gtest.h>

#include "tests/support/captured_host.hpp"

namespace weft::host {
namespace {

using std::chrono::seconds;
using Values = std::map<std::string, std::uint64_t>;

std::optional<NicCounters> read(const CapturedHost& host, const std::string& name) {
  return rdma_counters(host.root() / "sys", name, seconds(7));
}

CapturedHost& with_counters(CapturedHost& host) {
  const auto port = CapturedHost::rdma_port(3);
  host.put(port + "gid_attrs/ndevs/0", "eth3\n");
  host.put(port + "counters/symbol_error", "12\n");
  host.put(port + "counters/port_rcv_data", "18446744073709551614\n");
  host.put(port + "counters/VL15_dropped", "N/A (no PMA)\n");
  host.put(port + "hw_counters/lifespan", "10\n");
  host.put(port + "hw_counters/np_cnp_sent", "5\n");
  return host;
}

TEST(RdmaCounters, OfAnInterfaceAreThoseOfTheDeviceThatServesIt) {
  CapturedHost host;
  const auto counters = read(with_counters(host), "eth3");
  ASSERT_TRUE(counters);
  EXPECT_EQ(
      *counters,
      (NicCounters{
          "mlx5_3", 1, seconds(7),
          Values{{"symbol_error", 12}, {"port_rcv_data", 18446744073709551614ULL}, {"np_cnp_sent", 5}}}))
      << "what is no count is left out";
  EXPECT_EQ(read(host, "mlx5_3"), counters);
}

TEST(RdmaCounters, OfADeviceThatTellsNothingAreNoneAndOfNoDeviceAreAbsent) {
  CapturedHost host;
  const auto silent = read(host, "mlx5_2");
  ASSERT_TRUE(silent);
  EXPECT_TRUE(silent->values.empty());
  EXPECT_FALSE(read(host, "eth8x"));
  EXPECT_FALSE(rdma_counters("/nonexistent", "eth0", seconds(1)));
}

TEST(RdmaCounters, TheDevicesOwnCountWinsOverTheStandards) {
  CapturedHost host;
  with_counters(host).put(CapturedHost::rdma_port(3) + "counters/link_downed", "255\n");
  host.put(CapturedHost::rdma_port(3) + "hw_counters/link_downed", "300\n");
  EXPECT_EQ(read(host, "eth3")->values.at("link_downed"), 300u);
}

}  // namespace
}  // namespace weft::host
