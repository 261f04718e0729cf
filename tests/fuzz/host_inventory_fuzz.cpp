// An agent's inventory: whatever reads must write to something that reads to the same, and be judged without
// harm.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "probes/diagnosis/host/host_check.hpp"
#include "topology/files/host_inventory_json.hpp"
#include "topology/model/clos.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = nlohmann::json::parse(text, nullptr, false);
  if (value.is_discarded()) return 0;
  const auto inventory = weft::files::host_inventory_from(value);
  if (!inventory) return 0;
  if (weft::files::host_inventory_from(weft::files::host_inventory_value(*inventory)) != *inventory)
    std::abort();
  static const weft::Fabric fabric = *weft::make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  std::vector<weft::diagnosis::JoinedHost> hosts;
  for (std::size_t i = 0; i < 2; ++i)
    hosts.push_back(
        {fabric.hosts()[i], {{fabric.nics()[i], "eth0"}}, i == 0 ? *inventory : weft::HostInventory()});
  static_cast<void>(weft::diagnosis::check_hosts(fabric, hosts, {}));
  static_cast<void>(weft::diagnosis::check_alone(*inventory));
  return 0;
}
