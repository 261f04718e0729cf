#include "tests/support/captured_host.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>

namespace weft {
namespace {

constexpr int kSwitches = 4;
// The buses of the root ports above the switches: two a socket, as on the machine.
constexpr int kRootBus[kSwitches] = {0x15, 0x37, 0x97, 0xb7};
constexpr int kStorageBus = 0xd7;
constexpr int kCpusOfSocket = 4;

std::string bus_address(int bus, int device, int function = 0) {
  return fmt::format("0000:{:02x}:{:02x}.{}", bus, device, function);
}
/// Device 0 to 3 of a switch: GPU, NIC, GPU, NIC.
std::string below(int which, int device) { return bus_address(kRootBus[which] + 3 + device, 0); }
std::string storage(int function) { return bus_address(kStorageBus + 1, 0, function); }

/// hwloc's XML, object by object. Every object has a number of its own.
class Xml {
 public:
  std::string text;
  void open(const std::string& attributes) {
    text += fmt::format("<object gp_index=\"{}\" {}>\n", ++number_, attributes);
  }
  void close() { text += "</object>\n"; }
  void leaf(const std::string& attributes) {
    open(attributes);
    close();
  }
  void bridge(int depth, const std::string& address, const std::string& model, int from, int to) {
    open(
        fmt::format("type=\"Bridge\" bridge_type=\"1-1\" depth=\"{}\" bridge_pci=\"0000:[{:02x}-{:02x}]\" "
                    "pci_busid=\"{}\" pci_type=\"0604 [{}] [0000:0000] 04\" pci_link_speed=\"63.0\"",
                    depth, from, to, address, model));
  }
  void device(const std::string& address, const std::string& type) {
    leaf(fmt::format("type=\"PCIDev\" pci_busid=\"{}\" pci_type=\"{}\" pci_link_speed=\"63.0\"", address,
                     type));
  }

 private:
  int number_ = 0;
};

std::string sets(unsigned cpus, unsigned nodes) {
  return fmt::format(
      "cpuset=\"0x{0:08x}\" complete_cpuset=\"0x{0:08x}\" nodeset=\"0x{1:08x}\" "
      "complete_nodeset=\"0x{1:08x}\"",
      cpus, nodes);
}

void add_switch(Xml& xml, int which, const std::set<std::string>& without) {
  const int bus = kRootBus[which];
  xml.open(fmt::format("type=\"Bridge\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[{:02x}-{:02x}]\"",
                       bus, bus + 6));
  xml.bridge(1, bus_address(bus, 1), "8086:352a", bus + 1, bus + 6);
  xml.bridge(2, bus_address(bus + 1, 0), "1000:c030", bus + 2, bus + 6);
  for (int device = 0; device < 4; ++device) {
    if (without.contains(below(which, device))) continue;
    xml.bridge(3, bus_address(bus + 2, device), "1000:c030", bus + 3 + device, bus + 3 + device);
    xml.device(below(which, device),
               device % 2 == 0 ? "0302 [10de:2330] [10de:16c1] a1" : "0200 [15b3:1021] [15b3:0041] 00");
    xml.close();
  }
  for (int bridges = 0; bridges < 3; ++bridges) xml.close();
}

void add_storage(Xml& xml) {
  xml.open(fmt::format("type=\"Bridge\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[{:02x}-{:02x}]\"",
                       kStorageBus, kStorageBus + 1));
  xml.bridge(1, bus_address(kStorageBus, 1), "8086:352a", kStorageBus + 1, kStorageBus + 1);
  for (const int function : {0, 1}) xml.device(storage(function), "0200 [15b3:1021] [15b3:0041] 00");
  xml.device(bus_address(kStorageBus + 1, 5), "0300 [1a03:2000] [1a03:2000] 52");  // the board's own video
  xml.close();
  xml.close();
}

void add_socket(Xml& xml, int socket, const std::set<std::string>& without) {
  const unsigned first = static_cast<unsigned>(socket * kCpusOfSocket);
  const auto here = sets(0xfU << first, 1U << socket);
  xml.open(fmt::format("type=\"Package\" os_index=\"{}\" {}", socket, here));
  xml.leaf(fmt::format("type=\"NUMANode\" os_index=\"{}\" {} local_memory=\"1000000000\"", socket, here));
  for (unsigned cpu = first; cpu < first + kCpusOfSocket; ++cpu) {
    const auto one = sets(1U << cpu, 1U << socket);
    xml.open(fmt::format("type=\"Core\" os_index=\"{}\" {}", cpu, one));
    xml.leaf(fmt::format("type=\"PU\" os_index=\"{}\" {}", cpu, one));
    xml.close();
  }
  for (int which = socket * 2; which < socket * 2 + 2; ++which) add_switch(xml, which, without);
  if (socket == 1) add_storage(xml);
  xml.close();
}

}  // namespace

std::vector<std::string> CapturedHost::gpus() {
  std::vector<std::string> all;
  for (int which = 0; which < kSwitches; ++which)
    for (const int device : {0, 2}) all.push_back(below(which, device));
  return all;
}
std::vector<std::string> CapturedHost::nics() {
  std::vector<std::string> all;
  for (int which = 0; which < kSwitches; ++which)
    for (const int device : {1, 3}) all.push_back(below(which, device));
  return all;
}
std::vector<std::string> CapturedHost::fabric_interfaces() {
  std::vector<std::string> all;
  for (int nic = 0; nic < 8; ++nic) all.push_back(fmt::format("eth{}", nic));
  return all;
}

CapturedHost::CapturedHost(const Options& options) {
  std::string pattern = (std::filesystem::temp_directory_path() / "weft_host_XXXXXX").string();
  root_ = mkdtemp(pattern.data());
  const auto is_there = [&](const std::string& address) { return !options.without.contains(address); };
  for (int which = 0; which < kSwitches; ++which)
    for (int port = 0; port < 4; ++port) put_pci(bus_address(kRootBus[which] + 2, port));
  for (const auto& gpu : gpus())
    if (is_there(gpu)) put_pci(gpu);
  auto all_nics = nics();
  all_nics.push_back(storage(0));
  all_nics.push_back(storage(1));
  for (int nic = 0; nic < static_cast<int>(all_nics.size()); ++nic)
    if (is_there(all_nics[static_cast<std::size_t>(nic)]))
      put_nic(nic, all_nics[static_cast<std::size_t>(nic)]);
  put("sys/class/net/lo/mtu", "65536\n");
  put("sys/class/net/lo/operstate", "unknown\n");
  put_xml(options);
}

CapturedHost::~CapturedHost() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

void CapturedHost::put(const std::string& file, const std::string& text) const {
  std::filesystem::create_directories((root_ / file).parent_path());
  std::ofstream(root_ / file, std::ios::binary | std::ios::trunc) << text;
}

void CapturedHost::remove(const std::string& file) const { std::filesystem::remove_all(root_ / file); }

void CapturedHost::put_pci(const std::string& address) const {
  const auto folder = pci_folder(address);
  put(folder + "current_link_width", "16\n");
  put(folder + "max_link_width", "16\n");
  put(folder + "current_link_speed", "32.0 GT/s PCIe\n");
  put(folder + "max_link_speed", "32.0 GT/s PCIe\n");
}

void CapturedHost::put_nic(int nic, const std::string& address) const {
  put_pci(address);
  const auto device = fmt::format("sys/class/infiniband/mlx5_{}/", nic);
  put(device + "fw_ver", "28.39.2048\n");
  put(device + "tc/1/traffic_class", "Global tclass=106\n");
  put(device + "ports/1/state", "4: ACTIVE\n");
  put(device + "ports/1/phys_state", "5: LinkUp\n");
  put(device + "ports/1/rate", "400 Gb/sec (4X NDR)\n");
  put(device + "ports/1/link_layer", "Ethernet\n");
  const std::string link_local = "fe80:0000:0000:0000:a288:c2ff:fe00:0001";
  const std::string mapped = fmt::format("0000:0000:0000:0000:0000:ffff:0a01:{:04x}", nic + 1);
  for (const int index : {0, 1, 2, 3}) {
    put(fmt::format("{}ports/1/gids/{}", device, index), (index < 2 ? link_local : mapped) + "\n");
    put(fmt::format("{}ports/1/gid_attrs/types/{}", device, index),
        index % 2 == 0 ? "IB/RoCE v1\n" : "RoCE v2\n");
  }
  put(fmt::format("{}ports/1/gids/4", device), "0000:0000:0000:0000:0000:0000:0000:0000\n");
  const auto interface = fmt::format("sys/class/net/eth{}/", nic);
  put(interface + "mtu", "4200\n");
  put(interface + "operstate", "up\n");
  for (int priority = 0; priority < 8; ++priority)
    for (const char* point : {"roce_np", "roce_rp"})
      put(fmt::format("{}ecn/{}/enable/{}", interface, point, priority), priority == 3 ? "1\n" : "0\n");
  put(interface + "ecn/roce_np/cnp_dscp", "48\n");
  put(interface + "qos/trust", "dscp\n");
  const auto pci = root_ / ("sys/bus/pci/devices/" + address);
  std::filesystem::create_symlink("../../../drivers/mlx5_core", pci / "driver");
  std::filesystem::create_directory_symlink(pci, root_ / interface / "device");
  std::filesystem::create_directory_symlink(pci, root_ / device / "device");
}

void CapturedHost::put_xml(const Options& options) const {
  Xml xml;
  xml.text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology "
      "version=\"2.0\">\n";
  xml.open(fmt::format(
      "type=\"Machine\" os_index=\"0\" {} allowed_cpuset=\"0x000000ff\" allowed_nodeset=\"0x00000003\"",
      sets(0xff, 0x3)));
  for (const int socket : {0, 1}) add_socket(xml, socket, options.without);
  xml.close();
  xml.text += "</topology>\n";
  put("hwloc.xml", xml.text);
}

}  // namespace weft
