#include <algorithm>

#include "topology/files/ibnetdiscover.hpp"

namespace weft {
namespace {

/// One adapter or switch: the ports of one node GUID.
struct Device {
  Guid guid;
  std::vector<PortId> ports;
};

class Writer {
 public:
  Writer(const Fabric& fabric, const InfinibandInventory& inventory)
      : fabric_(fabric), inventory_(inventory) {}

  std::string write() {
    for (std::uint32_t n = 0; n < fabric_.node_count(); ++n) {
      const auto devices = devices_of(NodeId(n));
      for (std::size_t i = 0; i < devices.size(); ++i) write_device(NodeId(n), devices[i], i);
    }
    return std::move(text_);
  }

 private:
  const IbPort& about(PortId port) const { return inventory_.ports[port.value()]; }
  NodeId node_of(PortId port) const { return fabric_.port(port).node; }
  char letter(PortId port) const { return fabric_.is_host(node_of(port)) ? 'H' : 'S'; }

  std::vector<Device> devices_of(NodeId node) const {
    std::vector<Device> devices;
    for (const PortId port : fabric_.ports_of(node)) {
      if (devices.empty() || devices.back().guid != about(port).node_guid)
        devices.push_back({about(port).node_guid, {}});
      devices.back().ports.push_back(port);
    }
    if (devices.empty() && fabric_.node(node).guid) devices.push_back({*fabric_.node(node).guid, {}});
    return devices;
  }

  static std::string lids(const std::optional<LidRange>& range) {
    return fmt::format("lid {} lmc {}", range ? range->base.value() : 0, range ? range->lmc : 0);
  }

  /// How the node describes itself; a host numbers its adapters, as drivers do.
  std::string description(NodeId node, std::size_t device) const {
    const auto& name = fabric_.name_of(node);
    return fabric_.is_host(node) ? fmt::format("{} mlx5_{}", name, device) : name;
  }

  void write_device(NodeId id, const Device& device, std::size_t index) {
    const IbNode& node = inventory_.nodes[id.value()];
    const bool is_switch = !fabric_.is_host(id);
    unsigned count = std::max<unsigned>(node.port_count, 1);
    for (const PortId port : device.ports) count = std::max<unsigned>(count, about(port).hardware_port);
    const auto guid = device.guid.value();
    text_ += fmt::format("vendid=0x{:x}\ndevid=0x{:x}\nsysimgguid=0x{:x}\n", node.vendor, node.device,
                         node.system_guid.value());
    if (is_switch)
      text_ += fmt::format("switchguid=0x{:x}({:x})\nSwitch\t{} \"S-{:016x}\"\t\t# \"{}\" base port 0 {}\n",
                           guid, guid, count, guid, description(id, index), lids(node.lids));
    else
      text_ += fmt::format("caguid=0x{:x}\nCa\t{} \"H-{:016x}\"\t\t# \"{}\"\n", guid, count, guid,
                           description(id, index));
    for (const PortId port : device.ports) write_port(port);
    text_ += '\n';
  }

  void write_port(PortId port) {
    const auto out = fabric_.channel_from(port);
    if (!out) return;
    const PortId far = fabric_.target(*out);
    const IbPort& own = about(port);
    const bool at_host = fabric_.is_host(node_of(port));
    const auto far_lids =
        fabric_.is_host(node_of(far)) ? about(far).lids : inventory_.nodes[node_of(far).value()].lids;
    const auto shape = own.width && own.speed
                           ? fmt::format(" {}{}", to_string(*own.width), to_string(*own.speed))
                           : std::string();
    text_ += fmt::format("[{}]{}\t\"{}-{:016x}\"[{}]{}\t\t# {}\"{}\" lid {}{}\n", own.hardware_port,
                         guid(port), letter(far), about(far).node_guid.value(), about(far).hardware_port,
                         guid(far), at_host ? lids(own.lids) + ' ' : std::string(),
                         description(node_of(far), device_index(far)), far_lids ? far_lids->base.value() : 0,
                         shape);
  }

  std::string guid(PortId port) const {
    return fabric_.is_host(node_of(port)) ? fmt::format("({:x})", about(port).port_guid.value())
                                          : std::string();
  }

  /// Which of its node's adapters this port belongs to.
  std::size_t device_index(PortId port) const {
    const auto devices = devices_of(node_of(port));
    const auto has = [&](const Device& d) { return d.guid == about(port).node_guid; };
    return static_cast<std::size_t>(std::find_if(devices.begin(), devices.end(), has) - devices.begin());
  }

  const Fabric& fabric_;
  const InfinibandInventory& inventory_;
  std::string text_;
};

}  // namespace

std::string write_ibnetdiscover(const Fabric& fabric, const InfinibandInventory& inventory) {
  return Writer(fabric, inventory).write();
}

}  // namespace weft
