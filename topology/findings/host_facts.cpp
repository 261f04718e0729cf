#include "topology/findings/host_facts.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weft {
namespace {

constexpr std::array<std::pair<KernelOffenceKind, std::string_view>, 6> kNames{{
    {KernelOffenceKind::gpu_off_bus, "gpu_off_bus"},
    {KernelOffenceKind::gpu_memory, "gpu_memory"},
    {KernelOffenceKind::gpu_error, "gpu_error"},
    {KernelOffenceKind::host_memory, "host_memory"},
    {KernelOffenceKind::pcie_error, "pcie_error"},
    {KernelOffenceKind::nic_unhealthy, "nic_unhealthy"},
}};

}  // namespace

bool is_link_local(std::string_view address) {
  return address.starts_with("fe80:") || address.starts_with("169.254.");
}

std::string_view to_string(KernelOffenceKind kind) {
  const auto* found = std::ranges::find(kNames, kind, &std::pair<KernelOffenceKind, std::string_view>::first);
  return found == kNames.end() ? "" : found->second;
}

std::optional<KernelOffenceKind> parse_offence_kind(std::string_view text) {
  const auto* found =
      std::ranges::find(kNames, text, &std::pair<KernelOffenceKind, std::string_view>::second);
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace weft
