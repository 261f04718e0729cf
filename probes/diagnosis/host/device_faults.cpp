#include "probes/diagnosis/host/device_faults.hpp"

#include <fmt/format.h>

#include <utility>

namespace weft::diagnosis {
namespace {

std::string link_text(std::optional<std::uint32_t> lanes, std::optional<PcieSpeed> speed) {
  std::string text = lanes ? fmt::format("x{}", *lanes) : "";
  if (speed) text += fmt::format("{}{} GT/s", text.empty() ? "" : " at ", speed->in_giga_transfers());
  return text;
}

std::optional<DeviceFault> narrow_or_slow(const PcieLink& link, const std::string& device,
                                          bool speed_counts) {
  const bool narrow = link.lanes && link.most_lanes && *link.lanes < *link.most_lanes;
  const bool slow = speed_counts && link.speed && link.most_speed && *link.speed < *link.most_speed;
  if (!narrow && !slow) return std::nullopt;
  return DeviceFault{
      HostTrouble::pcie_link, Verdict::degraded, Cause::rate,
      fmt::format("the PCIe link of {} runs {}; both its ends can {}: reseat it, look at its slot", device,
                  link_text(link.lanes, link.speed), link_text(link.most_lanes, link.most_speed))};
}

}  // namespace

std::vector<DeviceFault> device_faults(const NicInventory& nic) {
  std::vector<DeviceFault> faults;
  const std::string name = name_of(nic);
  if (nic.port_state && *nic.port_state != "ACTIVE")
    faults.push_back(
        {HostTrouble::port_not_active, Verdict::failed, Cause::down,
         fmt::format("the port of {} is {}, not ACTIVE", nic.rdma_device.value_or(name), *nic.port_state)});
  else if (nic.up == false)
    faults.push_back({HostTrouble::nic_down, Verdict::failed, Cause::down,
                      fmt::format("{} is down or has no carrier", name)});
  if (auto fault = narrow_or_slow(nic.link, name, true)) faults.push_back(std::move(*fault));
  return faults;
}

std::vector<DeviceFault> device_faults(const GpuInventory& gpu) {
  std::vector<DeviceFault> faults;
  if (auto fault = narrow_or_slow(gpu.link, "GPU " + gpu.pci, false)) faults.push_back(std::move(*fault));
  return faults;
}

}  // namespace weft::diagnosis
