#include "topology/host/host_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "tests/support/captured_host.hpp"
#include "topology/host/interfaces.hpp"
#include "topology/host/pcie_tree.hpp"

namespace weft::host {
namespace {

HostInventory read(const CapturedHost& host) {
  const auto inventory = read_host({.root = host.root(), .serves = CapturedHost::fabric_interfaces()});
  EXPECT_TRUE(inventory) << inventory.error().message;
  return *inventory;
}

const NicInventory& nic(const HostInventory& inventory, const std::string& interface) {
  const auto found = std::ranges::find(inventory.nics, std::optional(interface), &NicInventory::interface);
  EXPECT_NE(found, inventory.nics.end()) << interface;
  return *found;
}

class HostReader : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto tree = read_pcie_tree(CapturedHost().root() / "hwloc.xml"); !tree)
      GTEST_SKIP() << tree.error().message;
  }
};

TEST_F(HostReader, FindsWhatADgxConsistsOf) {
  const auto inventory = read(CapturedHost());
  EXPECT_TRUE(inventory.gaps.empty());
  EXPECT_EQ(inventory.gpus.size(), 8u);
  EXPECT_EQ(inventory.nics.size(), 10u);
  EXPECT_EQ(inventory.numa_nodes, (std::vector<NumaInventory>{{0, "0-3"}, {1, "4-7"}}));
  ASSERT_EQ(inventory.pcie_switches.size(), 4u);
  for (const auto& found : inventory.pcie_switches) EXPECT_EQ(found.below.size(), 4u) << found.pci;
  EXPECT_EQ(std::ranges::count(inventory.nics, true, &NicInventory::serves), 8);
}

TEST(Interfaces, HaveNamesThatMayBeShown) {
  const CapturedHost host;
  std::filesystem::create_directories(host.root() / "sys/class/net/e\x1b[2J");
  const auto found = interfaces_of_sysfs(host.root() / "sys");
  EXPECT_EQ(std::ranges::count(found, "e\\x1b[2J", &NetworkInterface::name), 1);
}

TEST_F(HostReader, GivesEachGpuTheNicsOfItsOwnSwitch) {
  const auto inventory = read(CapturedHost());
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(inventory.gpus[i].pci, CapturedHost::gpus()[i]);
    EXPECT_EQ(inventory.gpus[i].numa, i / 4);
    const auto first = i / 2 * 2;
    EXPECT_EQ(inventory.gpus[i].nearest_nics,
              (std::vector{"eth" + std::to_string(first), "eth" + std::to_string(first + 1)}));
  }
}

TEST_F(HostReader, TellsAllOfANic) {
  const auto inventory = read(CapturedHost());
  const auto& eth5 = nic(inventory, "eth5");
  EXPECT_EQ(eth5.rdma_device, "mlx5_5");
  EXPECT_EQ(eth5.pci, CapturedHost::nics()[5]);
  EXPECT_EQ(eth5.model, "15b3:1021");
  EXPECT_EQ(eth5.driver, "mlx5_core");
  EXPECT_EQ(eth5.firmware, "28.39.2048");
  EXPECT_EQ(eth5.numa, 1u);
  EXPECT_EQ(eth5.near_cpus, "4-7");
  EXPECT_EQ(eth5.mtu, Bytes(4200));
  EXPECT_EQ(eth5.up, true);
  EXPECT_EQ(eth5.port_state, "ACTIVE");
  EXPECT_EQ(eth5.rate, Bandwidth::gbit(400));
  EXPECT_EQ(eth5.gids, (GidCounts{2, 2}));
  EXPECT_EQ(eth5.link.lanes, 16u);
  EXPECT_EQ(eth5.link.most_speed, PcieSpeed::giga_transfers(32));
  const std::map<std::string, std::string> settings{{"DSCP of CNPs", "48"},
                                                    {"RoCE traffic class", "Global tclass=106"},
                                                    {"priorities with ECN notification (NP)", "3"},
                                                    {"priorities with ECN reaction (RP)", "3"},
                                                    {"trust", "dscp"}};
  EXPECT_EQ(eth5.settings, settings);
}

TEST_F(HostReader, ASlotThatCannotMoreIsNoFaultOfTheCard) {
  const CapturedHost host;
  const auto address = CapturedHost::nics()[0];
  host.put(CapturedHost::pci_folder(address) + "current_link_speed", "16.0 GT/s PCIe\n");
  EXPECT_EQ(nic(read(host), "eth0").link.most_speed, PcieSpeed::giga_transfers(32));
  const auto port = "0000:17:01.0";  // the switch's port above it
  host.put(CapturedHost::pci_folder(port) + "max_link_speed", "16.0 GT/s PCIe\n");
  EXPECT_EQ(nic(read(host), "eth0").link.most_speed, PcieSpeed::giga_transfers(16));
}

TEST_F(HostReader, FilesThatAreMissingOrOddLeaveTheirValueOut) {
  const CapturedHost host;
  host.remove("sys/class/infiniband/mlx5_0/fw_ver");
  host.put(CapturedHost::rdma_port(0) + "rate", "N/A\n");
  host.put(CapturedHost::rdma_port(0) + "state", "");
  host.put("sys/class/net/eth0/mtu", "-1\n");
  host.put(CapturedHost::pci_folder(CapturedHost::nics()[0]) + "current_link_width", "255\n");
  host.remove("sys/class/net/eth0/ecn");
  const auto inventory = read(host);
  const auto& eth0 = nic(inventory, "eth0");
  EXPECT_FALSE(eth0.firmware || eth0.rate || eth0.port_state || eth0.mtu || eth0.link.lanes);
  EXPECT_EQ(eth0.settings.size(), 2u);
  EXPECT_EQ(nic(inventory, "eth1").rate, Bandwidth::gbit(400));
}

TEST_F(HostReader, WithoutATreeTheRestIsReadAndTheGapIsTold) {
  const CapturedHost host;
  host.remove("hwloc.xml");
  const auto inventory = read(host);
  EXPECT_TRUE(inventory.gpus.empty());
  EXPECT_EQ(inventory.nics.size(), 10u);
  ASSERT_EQ(inventory.gaps.size(), 1u);
  EXPECT_NE(inventory.gaps[0].find("lstopo"), std::string::npos) << inventory.gaps[0];
  host.put("hwloc.xml", "<topology version=\"2.0\"><object type=");
  EXPECT_EQ(read(host).gaps.size(), 1u);
}

TEST_F(HostReader, AMissingGpuIsNotThere) {
  const auto inventory = read(CapturedHost({.without = {CapturedHost::gpus()[3]}}));
  EXPECT_EQ(inventory.gpus.size(), 7u);
}

TEST(HostReaderLive, ReadsThisMachineAndItsLoopback) {
  const auto inventory = read_host({.serves = {"lo"}});
  ASSERT_TRUE(inventory) << inventory.error().message;
  const auto& lo = nic(*inventory, "lo");
  EXPECT_TRUE(lo.serves);
  EXPECT_TRUE(lo.mtu);
  EXPECT_FALSE(inventory->numa_nodes.empty() && inventory->gaps.empty());
}

TEST_F(HostReader, AnInfinibandPortIsServedByItsGidWhateverItsPrefix) {
  const CapturedHost host;
  host.put(CapturedHost::rdma_port(3) + "link_layer", "InfiniBand\n");
  host.put(CapturedHost::rdma_port(3) + "gids/0", "fd00:0001:0002:0003:0002:c903:0000:1491\n");
  const auto inventory = read_host({.root = host.root(), .serves = {"fe80::2:c903:0:1491"}});
  ASSERT_TRUE(inventory);
  for (const NicInventory& nic : inventory->nics) {
    EXPECT_EQ(nic.serves, nic.rdma_device == "mlx5_3");
    EXPECT_EQ(nic.served_as.value_or("fe80::2:c903:0:1491"), "fe80::2:c903:0:1491");
  }
}

TEST_F(HostReader, EachServedPortOfAnInfinibandAdapterIsANic) {
  const CapturedHost host;
  const std::string ports = "sys/class/infiniband/mlx5_3/ports/";
  for (const std::string port : {"1/", "2/", "3/"}) {
    host.put(ports + port + "link_layer", "InfiniBand\n");
    host.put(ports + port + "gids/0", "fe80:0000:0000:0000:0002:c903:0000:149" + port.substr(0, 1) + "\n");
  }
  host.put(ports + "1/state", "1: DOWN\n");
  host.put(ports + "2/state", "4: ACTIVE\n");
  host.put(ports + "3/state", "2: INIT\n");
  const auto inventory =
      read_host({.root = host.root(), .serves = {"fe80::2:c903:0:1492", "fe80::2:c903:0:1493"}});
  ASSERT_TRUE(inventory);
  std::map<std::string, std::string> states;
  for (const NicInventory& nic : inventory->nics)
    if (nic.serves) states[nic.served_as.value()] = nic.port_state.value();
  EXPECT_EQ(states, (std::map<std::string, std::string>{{"fe80::2:c903:0:1492", "ACTIVE"},
                                                        {"fe80::2:c903:0:1493", "INIT"}}));
}

TEST(HostReaderLive, OfASharedMachineOnlyTheServedInterfacesAreTold) {
  const auto inventory = read_host({.serves = {"lo"}, .shares_machine = true});
  ASSERT_TRUE(inventory);
  EXPECT_TRUE(inventory->shares_machine);
  EXPECT_TRUE(inventory->gpus.empty() && inventory->numa_nodes.empty());
  ASSERT_EQ(inventory->nics.size(), 1u);
  EXPECT_EQ(inventory->nics[0].interface, "lo");
}

TEST(HostReaderLive, ANicIsFoundByItsAddressToo) {
  const auto inventory = read_host({.serves = {"127.0.0.1"}, .shares_machine = true});
  ASSERT_TRUE(inventory);
  ASSERT_EQ(inventory->nics.size(), 1u);
  EXPECT_EQ(inventory->nics[0].interface, "lo");
  EXPECT_EQ(inventory->nics[0].served_as, "127.0.0.1");
}

TEST(HostReaderLive, AFolderThatIsNoCaptureIsRefused) {
  const auto inventory = read_host({.root = "/dev"});
  ASSERT_FALSE(inventory);
  EXPECT_EQ(inventory.error().kind, ErrorKind::not_found);
}

PcieDevice device(std::vector<std::string> bridges, std::uint32_t root, std::uint32_t numa) {
  return {.kind = PcieDevice::Kind::nic, .numa = numa, .bridges = std::move(bridges), .root = root};
}

TEST(PcieDistance, GrowsFromSwitchToRootToSocket) {
  const auto gpu = device({"root", "up", "down1"}, 0, 0);
  const auto same_switch = pcie_distance(gpu, device({"root", "up", "down2"}, 0, 0));
  const auto same_root = pcie_distance(gpu, device({"root2", "up2", "down"}, 0, 0));
  const auto same_node = pcie_distance(gpu, device({"root3"}, 1, 0));
  const auto other_node = pcie_distance(gpu, device({"root4"}, 2, 1));
  EXPECT_LT(same_switch, same_root);
  EXPECT_LT(same_root, same_node);
  EXPECT_LT(same_node, other_node);
  EXPECT_EQ(pcie_distance(gpu, gpu), 0u);
}

}  // namespace
}  // namespace weft::host
