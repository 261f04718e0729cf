#include "topology/findings/host_trouble.hpp"

#include <algorithm>
#include <array>

namespace weft {
namespace {

constexpr auto kAll = [] {
  std::array<HostTrouble, static_cast<std::size_t>(HostTrouble::pcie_error) + 1> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<HostTrouble>(i);
  return all;
}();

constexpr std::array<std::string_view, kAll.size()> kNames{
    "unreachable",    "host_key",          "login_refused",    "no_answer",       "no_weft",
    "wrong_machine",  "missing_libraries", "other_version",    "bad_answer",      "same_machine",
    "slow_login",     "firewall",          "path_mtu",         "nic_unreached",   "no_raw_packets",
    "memory_lock",    "clock_off",         "clock_loose",      "no_room",         "nic_missing",
    "no_nic",         "nic_down",          "port_not_active",  "no_gid",          "mtu_differs",
    "rate_low",       "pcie_link",         "firmware_differs", "setting_differs", "nic_unhealthy",
    "no_rdma_driver", "gpu_missing",       "gpu_off_bus",      "gpu_memory",      "gpu_error",
    "gpu_driver",     "no_gpu_direct",     "host_memory",      "pcie_error"};

}  // namespace

std::string_view to_string(HostTrouble trouble) { return kNames[static_cast<std::size_t>(trouble)]; }

std::span<const HostTrouble> all_host_troubles() { return kAll; }

Verdict DoctorReport::verdict() const {
  Verdict worst = Verdict::healthy;
  for (const DoctorFinding& finding : findings) worst = std::max(worst, finding.verdict);
  return worst;
}

}  // namespace weft
