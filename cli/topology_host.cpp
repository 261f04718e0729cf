#include "cli/topology_host.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>

#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"
#include "probes/diagnosis/host/host_check.hpp"
#include "topology/files/host_inventory_json.hpp"
#include "topology/host/host_reader.hpp"

namespace weft {
namespace {

std::string this_hosts_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

std::string link_text(const PcieLink& link) {
  if (!link.lanes || !link.speed) return "";
  return fmt::format("x{} at {} GT/s", *link.lanes, link.speed->in_giga_transfers());
}

std::string numa_text(const std::optional<std::uint32_t>& numa) {
  return numa ? fmt::format("NUMA {}", *numa) : "";
}

void print_gpu(const GpuInventory& gpu) {
  fmt::print("GPU {}  {}  {:<7} {:<15}  near {}\n", gpu.pci, gpu.model, numa_text(gpu.numa),
             link_text(gpu.link),
             gpu.nearest_nics.empty() ? "no NIC" : fmt::format("{}", fmt::join(gpu.nearest_nics, ", ")));
}

void print_nic(const NicInventory& nic) {
  fmt::print("NIC {}  {}  {:<7} {:<15}  {}\n", nic.pci.value_or("-"), name_of(nic), numa_text(nic.numa),
             link_text(nic.link), nic.rdma_device.value_or(""));
  std::vector<std::string> facts;
  if (nic.port_state) facts.push_back(*nic.port_state);
  if (nic.up) facts.push_back(*nic.up ? "up" : "no carrier");
  if (nic.rate) facts.push_back(to_string(*nic.rate) + "bit/s");
  if (nic.mtu) facts.push_back(fmt::format("MTU {}", nic.mtu->count()));
  if (nic.firmware) facts.push_back("firmware " + *nic.firmware);
  if (nic.gids) facts.push_back(fmt::format("{} GIDs of RoCE v2", nic.gids->roce_v2));
  for (const auto& [name, value] : nic.settings) facts.push_back(fmt::format("{}: {}", name, value));
  fmt::print("    {}\n", fmt::join(facts, "; "));
}

int print(const HostInventory& inventory) {
  fmt::print("{} GPUs, {} NICs, {} PCIe switches\n", inventory.gpus.size(), inventory.nics.size(),
             inventory.pcie_switches.size());
  for (const auto& node : inventory.numa_nodes) fmt::print("NUMA {}: CPUs {}\n", node.number, node.cpus);
  for (const auto& found : inventory.pcie_switches)
    fmt::print("switch {}  {}  above {}\n", found.pci, found.model, fmt::join(found.below, ", "));
  for (const GpuInventory& gpu : inventory.gpus) print_gpu(gpu);
  for (const NicInventory& nic : inventory.nics) print_nic(nic);
  for (const auto& gap : inventory.gaps) fmt::print("not read: {}\n", gap);
  const auto odd = check_alone(inventory);
  for (const auto& line : odd) fmt::print("odd: {}\n", line);
  return odd.empty() ? kExitHealthy : kExitDegraded;
}

}  // namespace

int show_host(const po::variables_map& values) {
  const auto format = values["output"].as<std::string>();
  if (format != "table" && format != "json")
    return report(Error{ErrorKind::usage, fmt::format("-o {}: a host is shown as table or json", format)});
  const auto root = values["host"].as<std::string>();
  const auto inventory = read_host({.root = root});
  if (!inventory) return report(inventory.error());
  if (format == "table") return print(*inventory);
  const auto name = root == "/" ? this_hosts_name() : root;
  fmt::print("{}", host_inventory_json(name, *inventory, stamp_now()));
  return check_alone(*inventory).empty() ? kExitHealthy : kExitDegraded;
}

}  // namespace weft
