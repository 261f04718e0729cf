#include "topology/files/host_inventory_json.hpp"

#include <algorithm>
#include <cctype>

#include "topology/files/json_fields.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;

// More than any host has: a message that goes beyond is not from one.
constexpr std::size_t kMaxItems = 256;
constexpr std::size_t kMaxTextLength = 512;
constexpr std::uint64_t kMaxLanes = 32;
constexpr double kMaxGigaTransfers = 1024;
constexpr double kMaxRate = 1e15;

template <class T>
void put(Json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}
template <class T, class Write>
void put(Json& object, const char* key, const std::optional<T>& value, Write write) {
  if (value) object[key] = write(*value);
}

Json link_value(const PcieLink& link) {
  const auto speed = [](PcieSpeed s) { return s.in_giga_transfers(); };
  Json value = Json::object();
  put(value, "lanes", link.lanes);
  put(value, "gt_per_s", link.speed, speed);
  put(value, "most_lanes", link.most_lanes);
  put(value, "most_gt_per_s", link.most_speed, speed);
  return value;
}

Json gpu_value(const GpuInventory& gpu) {
  Json value{{"pci", gpu.pci}, {"model", gpu.model}, {"pcie", link_value(gpu.link)}};
  put(value, "numa", gpu.numa);
  value["nearest_nics"] = gpu.nearest_nics;
  return value;
}

Json nic_value(const NicInventory& nic) {
  Json value{{"serves", nic.serves}, {"pcie", link_value(nic.link)}};
  put(value, "interface", nic.interface);
  put(value, "rdma_device", nic.rdma_device);
  put(value, "served_as", nic.served_as);
  put(value, "pci", nic.pci);
  put(value, "model", nic.model);
  put(value, "numa", nic.numa);
  if (!nic.near_cpus.empty()) value["near_cpus"] = nic.near_cpus;
  put(value, "driver", nic.driver);
  put(value, "firmware", nic.firmware);
  put(value, "mtu", nic.mtu, [](Bytes mtu) { return mtu.count(); });
  put(value, "up", nic.up);
  put(value, "port_state", nic.port_state);
  put(value, "rate", nic.rate, [](Bandwidth rate) { return rate.bits_per_second(); });
  put(value, "link_layer", nic.link_layer);
  put(value, "gids", nic.gids, [](GidCounts gids) {
    return Json{{"roce_v1", gids.roce_v1}, {"roce_v2", gids.roce_v2}};
  });
  if (!nic.settings.empty()) value["settings"] = nic.settings;
  return value;
}

Result<std::string> as_label(const JsonView& view) {
  auto text = as_text(view);
  if (!text) return text;
  const bool printable = std::ranges::none_of(*text, [](unsigned char c) { return std::iscntrl(c) != 0; });
  if (text->size() > kMaxTextLength || !printable)
    return view.error("expected at most {} printable characters", kMaxTextLength);
  return text;
}

auto as_bounded(std::uint64_t most) {
  return [most](const JsonView& view) -> Result<std::uint64_t> {
    const auto count = view.count<std::uint64_t>();
    if (count && *count > most) return view.error("expected at most {}, found {}", most, *count);
    return count;
  };
}

/// A finite number from 0 to `most`, as `make` takes it.
template <class Make>
auto as_amount(double most, Make make) {
  return [most, make](const JsonView& view) -> Result<decltype(make(0.0))> {
    WEFT_TRY(const auto number, view.number());
    if (!(number >= 0 && number <= most)) return view.error("expected 0 to {}, found {}", most, number);
    return make(number);
  };
}

template <class T, class Read>
auto as_list(Read read) {
  return [read](const JsonView& view) -> Result<std::vector<T>> {
    WEFT_TRY(const auto size, view.size());
    if (size > kMaxItems) return view.error("{} items: expected at most {}", size, kMaxItems);
    return read_array<T>(view, read);
  };
}
const auto as_labels = as_list<std::string>(as_label);
constexpr std::uint64_t kMaxNumber = 1'000'000;

Result<PcieLink> as_link(const JsonView& view) {
  PcieLink link;
  const auto speed = as_amount(kMaxGigaTransfers, &PcieSpeed::giga_transfers);
  const auto done =
      in_turn([&] { return read_member(view, "lanes", link.lanes, as_bounded(kMaxLanes)); },
              [&] { return read_member(view, "gt_per_s", link.speed, speed); },
              [&] { return read_member(view, "most_lanes", link.most_lanes, as_bounded(kMaxLanes)); },
              [&] { return read_member(view, "most_gt_per_s", link.most_speed, speed); });
  if (!done) return pass_on(done);
  return link;
}

Result<GpuInventory> as_gpu(const JsonView& view) {
  GpuInventory gpu;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "pci", gpu.pci, as_label); },
                        [&] { return need_member(view, "model", gpu.model, as_label); },
                        [&] { return read_member(view, "numa", gpu.numa, as_bounded(kMaxNumber)); },
                        [&] { return read_member(view, "pcie", gpu.link, as_link); },
                        [&] { return read_member(view, "nearest_nics", gpu.nearest_nics, as_labels); }));
  return gpu;
}

Result<GidCounts> as_gids(const JsonView& view) {
  GidCounts gids;
  const auto done =
      in_turn([&] { return need_member(view, "roce_v1", gids.roce_v1, as_bounded(kMaxNumber)); },
              [&] { return need_member(view, "roce_v2", gids.roce_v2, as_bounded(kMaxNumber)); });
  if (!done) return pass_on(done);
  return gids;
}

/// The members of an object, which JsonView does not enumerate: names and values are bounded as all texts
/// are.
Result<std::map<std::string, std::string>> settings_from(const Json& value) {
  if (!value.is_object() || value.size() > kMaxItems)
    return fail(ErrorKind::invalid_input, "settings: expected an object of at most {} texts", kMaxItems);
  std::map<std::string, std::string> settings;
  for (const auto& [name, setting] : value.items()) {
    const Json key(name);
    const auto read_name = as_label(JsonView(key, "settings"));
    const auto read_value = as_label(JsonView(setting, "settings"));
    if (!read_name) return pass_on(read_name);
    if (!read_value) return pass_on(read_value);
    settings.emplace(*read_name, *read_value);
  }
  return settings;
}

Result<void> read_port(const JsonView& view, NicInventory& nic) {
  return in_turn(
      [&] {
        return read_member(view, "mtu", nic.mtu,
                           as_amount(1e9, [](double n) { return Bytes(static_cast<std::int64_t>(n)); }));
      },
      [&] { return read_member(view, "up", nic.up, as_boolean); },
      [&] { return read_member(view, "port_state", nic.port_state, as_label); },
      [&] { return read_member(view, "rate", nic.rate, as_amount(kMaxRate, &Bandwidth::bit)); },
      [&] { return read_member(view, "link_layer", nic.link_layer, as_label); },
      [&] { return read_member(view, "gids", nic.gids, as_gids); });
}

Result<NicInventory> as_nic(const JsonView& view) {
  NicInventory nic;
  const auto done = in_turn([&] { return need_member(view, "serves", nic.serves, as_boolean); },
                            [&] { return read_member(view, "interface", nic.interface, as_label); },
                            [&] { return read_member(view, "rdma_device", nic.rdma_device, as_label); },
                            [&] { return read_member(view, "served_as", nic.served_as, as_label); },
                            [&] { return read_member(view, "pci", nic.pci, as_label); },
                            [&] { return read_member(view, "model", nic.model, as_label); },
                            [&] { return read_member(view, "numa", nic.numa, as_bounded(kMaxNumber)); },
                            [&] { return read_member(view, "near_cpus", nic.near_cpus, as_label); },
                            [&] { return read_member(view, "pcie", nic.link, as_link); },
                            [&] { return read_member(view, "driver", nic.driver, as_label); },
                            [&] { return read_member(view, "firmware", nic.firmware, as_label); },
                            [&] { return read_port(view, nic); });
  if (!done) return pass_on(done);
  return nic;
}

Result<NumaInventory> as_numa(const JsonView& view) {
  NumaInventory node;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "number", node.number, as_bounded(kMaxNumber)); },
                        [&] { return need_member(view, "cpus", node.cpus, as_label); }));
  return node;
}

Result<PcieSwitchInventory> as_switch(const JsonView& view) {
  PcieSwitchInventory found;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "pci", found.pci, as_label); },
                        [&] { return need_member(view, "model", found.model, as_label); },
                        [&] { return read_member(view, "below", found.below, as_labels); }));
  return found;
}

/// Settings of each NIC, by its place: after read_array has shown that "nics" is an array of objects.
Result<void> read_settings(const Json& value, HostInventory& inventory) {
  for (std::size_t i = 0; i < inventory.nics.size(); ++i) {
    const Json& nic = value["nics"][i];
    if (!nic.contains("settings")) continue;
    WEFT_TRY(auto settings, settings_from(nic["settings"]));
    inventory.nics[i].settings = std::move(settings);
  }
  return {};
}

}  // namespace

Json host_inventory_value(const HostInventory& inventory) {
  Json value{{"shares_machine", inventory.shares_machine}};
  for (const char* key : {"gpus", "nics", "numa_nodes", "pcie_switches"}) value[key] = Json::array();
  for (const auto& gpu : inventory.gpus) value["gpus"].push_back(gpu_value(gpu));
  for (const auto& nic : inventory.nics) value["nics"].push_back(nic_value(nic));
  for (const auto& node : inventory.numa_nodes)
    value["numa_nodes"].push_back({{"number", node.number}, {"cpus", node.cpus}});
  for (const auto& found : inventory.pcie_switches)
    value["pcie_switches"].push_back({{"pci", found.pci}, {"model", found.model}, {"below", found.below}});
  value["gaps"] = inventory.gaps;
  return value;
}

Result<HostInventory> host_inventory_from(const Json& value) {
  const JsonView view(value, "a host's inventory");
  HostInventory inventory;
  const auto done = in_turn(
      [&] { return read_member(view, "shares_machine", inventory.shares_machine, as_boolean); },
      [&] { return read_member(view, "gpus", inventory.gpus, as_list<GpuInventory>(as_gpu)); },
      [&] { return need_member(view, "nics", inventory.nics, as_list<NicInventory>(as_nic)); },
      [&] { return read_member(view, "numa_nodes", inventory.numa_nodes, as_list<NumaInventory>(as_numa)); },
      [&] {
        return read_member(view, "pcie_switches", inventory.pcie_switches,
                           as_list<PcieSwitchInventory>(as_switch));
      },
      [&] { return read_member(view, "gaps", inventory.gaps, as_labels); },
      [&] { return read_settings(value, inventory); });
  if (!done) return pass_on(done);
  return inventory;
}

std::string host_inventory_json(const std::string& host, const HostInventory& inventory,
                                const DocumentStamp& stamp) {
  Json document = host_inventory_value(inventory);
  document["schema"] = "weft.host/1";
  document["generated_at"] = to_string(stamp.generated_at);
  document["tool_version"] = stamp.tool_version;
  document["host"] = host;
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft
