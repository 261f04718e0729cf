#include "probes/diagnosis/host/alone.hpp"

#include <fmt/format.h>

#include "probes/diagnosis/host/host_check.hpp"

namespace weft {
namespace {

std::string link_text(std::optional<std::uint32_t> lanes, std::optional<PcieSpeed> speed) {
  std::string text = lanes ? fmt::format("x{}", *lanes) : "";
  if (speed) text += fmt::format("{}{} GT/s", text.empty() ? "" : " at ", speed->in_giga_transfers());
  return text;
}

std::optional<LoneFault> narrow_or_slow(const PcieLink& link, const std::string& device, bool speed_counts) {
  const bool narrow = link.lanes && link.most_lanes && *link.lanes < *link.most_lanes;
  const bool slow = speed_counts && link.speed && link.most_speed && *link.speed < *link.most_speed;
  if (!narrow && !slow) return std::nullopt;
  return LoneFault{
      Verdict::degraded, Cause::rate,
      fmt::format("the PCIe link of {} runs {}; both its ends can {}: reseat it, look at its slot", device,
                  link_text(link.lanes, link.speed), link_text(link.most_lanes, link.most_speed))};
}

}  // namespace

std::vector<LoneFault> lone_faults(const NicInventory& nic) {
  std::vector<LoneFault> faults;
  const std::string name = name_of(nic);
  if (nic.port_state && *nic.port_state != "ACTIVE")
    faults.push_back(
        {Verdict::failed, Cause::down,
         fmt::format("the port of {} is {}, not ACTIVE", nic.rdma_device.value_or(name), *nic.port_state)});
  else if (nic.up == false)
    faults.push_back({Verdict::failed, Cause::down, fmt::format("{} is down or has no carrier", name)});
  if (auto fault = narrow_or_slow(nic.link, name, true)) faults.push_back(std::move(*fault));
  return faults;
}

std::vector<LoneFault> lone_faults(const GpuInventory& gpu) {
  std::vector<LoneFault> faults;
  if (auto fault = narrow_or_slow(gpu.link, "GPU " + gpu.pci, false)) faults.push_back(std::move(*fault));
  return faults;
}

std::vector<std::string> check_alone(const HostInventory& inventory) {
  std::vector<std::string> texts;
  const auto add = [&](std::vector<LoneFault> faults) {
    for (LoneFault& fault : faults) texts.push_back(std::move(fault.text));
  };
  for (const GpuInventory& gpu : inventory.gpus) add(lone_faults(gpu));
  for (const NicInventory& nic : inventory.nics) {
    if (!nic.rdma_device && !nic.serves) continue;  // an unused port has no cable, and that is no fault
    add(lone_faults(nic));
    if (nic.link_layer == "Ethernet" && nic.gids && nic.gids->roce_v2 == 0)
      texts.push_back(
          fmt::format("no RoCE v2 entry in the GID table of {}: give it an address", name_of(nic)));
  }
  return texts;
}

}  // namespace weft
