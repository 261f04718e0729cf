#include "topology/files/host_inventory_json.hpp"

#include <algorithm>
#include <cctype>

#include "topology/base/json_members.hpp"
#include "topology/files/json_text.hpp"

namespace weft::json_members {

namespace {

// More than any host has: a message that goes beyond is not from one.
constexpr std::size_t kMaxItems = 256;
constexpr std::size_t kMaxLabelLength = 512;
constexpr std::uint32_t kMaxLanes = 32;
constexpr PcieSpeed kMaxSpeed = PcieSpeed::giga_transfers(1024);
constexpr Bandwidth kMaxRate = Bandwidth::bit(1e15);
constexpr Bytes kMaxMtu{1'000'000'000};
constexpr std::uint32_t kMaxNumber = 1'000'000;

void check_label(const std::string& text) {
  const bool printable = std::ranges::none_of(text, [](unsigned char c) { return std::iscntrl(c) != 0; });
  if (text.size() > kMaxLabelLength || !printable)
    throw BadField(fmt::format("expected at most {} printable characters", kMaxLabelLength));
}
void check_label(const std::optional<std::string>& text) { check_label(text.value_or("")); }
void check_label(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) check_label(text);
}

/// A text, one that may be absent, or a list.
template <class Io, class T>
void label(Io& io, const char* name, T& text) {
  if constexpr (kIs<T, std::vector>)
    io(name, at_most(kMaxItems, text));
  else
    io(name, text);
  if (Io::kReads) placed(name, std::nullopt, [&] { check_label(text); });
}

/// A number that may be absent, at most `most`.
template <class Io, class T, class Most>
void bounded(Io& io, const char* name, T& value, Most most) {
  io(name, value);
  if (Io::kReads && value > most) throw BadField(fmt::format("'{}' is more than any host has", name));
}

}  // namespace

static Json write_json(OneValue, PcieSpeed speed) { return speed.in_giga_transfers(); }
static void read_json(OneValue, const Json& from, PcieSpeed& into) {
  into = PcieSpeed::giga_transfers(amount(from));
}

template <class Io>
static void members(Io& io, PcieLink& m) {
  bounded(io, "lanes", m.lanes, kMaxLanes);
  bounded(io, "gt_per_s", m.speed, kMaxSpeed);
  bounded(io, "most_lanes", m.most_lanes, kMaxLanes);
  bounded(io, "most_gt_per_s", m.most_speed, kMaxSpeed);
}
template <class Io>
static void members(Io& io, GpuInventory& m) {
  label(io, "pci", m.pci);
  label(io, "model", m.model);
  bounded(io, "numa", m.numa, kMaxNumber);
  io("pcie", m.link);
  label(io, "nearest_nics", m.nearest_nics);
}
template <class Io>
static void members(Io& io, GidCounts& m) {
  bounded(io, "roce_v1", m.roce_v1, kMaxNumber);
  bounded(io, "roce_v2", m.roce_v2, kMaxNumber);
}
template <class Io>
static void members(Io& io, NicInventory& m) {
  io("serves", m.serves);
  label(io, "interface", m.interface);
  label(io, "rdma_device", m.rdma_device);
  label(io, "served_as", m.served_as);
  label(io, "pci", m.pci);
  label(io, "model", m.model);
  bounded(io, "numa", m.numa, kMaxNumber);
  rarely(io, "near_cpus", m.near_cpus);
  io("pcie", m.link);
  label(io, "driver", m.driver);
  label(io, "firmware", m.firmware);
  bounded(io, "mtu", m.mtu, kMaxMtu);
  io("up", m.up);
  label(io, "port_state", m.port_state);
  bounded(io, "rate", m.rate, kMaxRate);
  label(io, "link_layer", m.link_layer);
  io("gids", m.gids);
  rarely(io, "settings", m.settings);
  if (!Io::kReads) return;
  check_label(m.near_cpus);
  check_count(m.settings.size(), kMaxItems);
  for (const auto& [name, setting] : m.settings) check_label(std::vector{name, setting});
}
template <class Io>
static void members(Io& io, NumaInventory& m) {
  bounded(io, "number", m.number, kMaxNumber);
  label(io, "cpus", m.cpus);
}
template <class Io>
static void members(Io& io, PcieSwitchInventory& m) {
  label(io, "pci", m.pci);
  label(io, "model", m.model);
  label(io, "below", m.below);
}
template <class Io>
static void members(Io& io, HostInventory& m) {
  io("shares_machine", m.shares_machine);
  io("gpus", at_most(kMaxItems, m.gpus));
  io("nics", at_most(kMaxItems, m.nics));
  io("numa_nodes", at_most(kMaxItems, m.numa_nodes));
  io("pcie_switches", at_most(kMaxItems, m.pcie_switches));
  label(io, "gaps", m.gaps);
}

}  // namespace weft::json_members

namespace weft::files {

using namespace json_members;

Json host_inventory_value(const HostInventory& inventory) { return write_value(inventory); }

Result<HostInventory> host_inventory_from(const Json& value) {
  return read_as<HostInventory>(value, "a host's inventory");
}

std::string host_inventory_json(const std::string& host, const HostInventory& inventory,
                                const DocumentStamp& stamp) {
  Json document = host_inventory_value(inventory);
  document["schema"] = "weft.host/1";
  document["generated_at"] = weft::to_string(stamp.generated_at);
  document["tool_version"] = stamp.tool_version;
  document["host"] = host;
  return document_text(document) + "\n";
}

}  // namespace weft::files
