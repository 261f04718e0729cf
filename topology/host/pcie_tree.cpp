#include "topology/host/pcie_tree.hpp"

#include <algorithm>
#include <limits>

namespace weft::host {
namespace {

constexpr std::uint32_t kOtherRoot = 100;
constexpr std::uint32_t kOtherNumaNode = 1000;

}  // namespace

std::uint32_t pcie_distance(const PcieDevice& a, const PcieDevice& b) {
  const auto common = std::ranges::mismatch(a.bridges, b.bridges).in1 - a.bridges.begin();
  const auto own = a.bridges.size() + b.bridges.size() - 2 * static_cast<std::size_t>(common);
  auto distance = static_cast<std::uint32_t>(own);
  if (common == 0 && a.root != b.root) distance += kOtherRoot;
  if (a.numa != b.numa) distance += kOtherNumaNode;
  return distance;
}

std::vector<std::string> nearest(const PcieDevice& device, const std::vector<PcieDevice>& nics) {
  std::vector<std::string> best;
  auto least = std::numeric_limits<std::uint32_t>::max();
  for (const PcieDevice& nic : nics) {
    if (nic.kind != PcieDevice::Kind::nic) continue;
    const auto distance = pcie_distance(device, nic);
    if (distance < least) best.clear();
    least = std::min(least, distance);
    if (distance == least) best.push_back(nic.address);
  }
  return best;
}

}  // namespace weft::host
