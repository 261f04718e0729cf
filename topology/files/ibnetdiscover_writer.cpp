#include <algorithm>
#include <iterator>

#include "topology/files/ibnetdiscover.hpp"
#include "topology/model/fabric.hpp"

namespace weft::files {
namespace {

constexpr std::size_t kMaxDescriptionLength = 64;  // of NodeDescription (IBTA vol. 1, 14.2.5.2)

/// One adapter or switch: the ports of one node GUID.
struct Device {
  Guid guid;
  std::vector<PortId> ports;
};

class Writer {
 public:
  Writer(const Fabric& fabric, const InfinibandInventory& inventory, const IbNodeNames& descriptions)
      : fabric_(fabric), inventory_(inventory), descriptions_(descriptions) {}

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

  void put_lids(const std::optional<LidRange>& range) {
    put("lid {} lmc {}", range ? range->base.value() : 0, range ? range->lmc : 0);
  }

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  /// How the node describes itself; a host numbers its adapters, as drivers do, where there is room for it.
  void put_description(NodeId node, Guid guid, std::size_t device) {
    if (const auto other = descriptions_.find(guid); other != descriptions_.end())
      return put("\"{}\"", other->second);
    const auto suffix = fabric_.is_host(node) ? fmt::format(" mlx5_{}", device) : std::string();
    const bool fits = fabric_.name_of(node).size() + suffix.size() <= kMaxDescriptionLength;
    put("\"{}{}\"", fabric_.name_of(node), fits ? suffix : "");
  }

  void write_device(NodeId id, const Device& device, std::size_t index) {
    const IbNode& node = inventory_.nodes[id.value()];
    const bool is_switch = !fabric_.is_host(id);
    unsigned count = std::max<unsigned>(node.port_count, 1);
    for (const PortId port : device.ports) count = std::max<unsigned>(count, about(port).hardware_port);
    const auto guid = device.guid.value();
    put("vendid=0x{:x}\ndevid=0x{:x}\nsysimgguid=0x{:x}\n", node.vendor, node.device,
        node.system_guid.value());
    if (is_switch)
      put("switchguid=0x{:x}({:x})\nSwitch\t{} \"S-{:016x}\"\t\t# ", guid, guid, count, guid);
    else
      put("caguid=0x{:x}\nCa\t{} \"H-{:016x}\"\t\t# ", guid, count, guid);
    put_description(id, device.guid, index);
    if (is_switch) {
      text_ += " base port 0 ";
      put_lids(node.lids);
    }
    text_ += '\n';
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
    put("[{}]", own.hardware_port);
    put_guid(port);
    put("\t\"{}-{:016x}\"[{}]", letter(far), about(far).node_guid.value(), about(far).hardware_port);
    put_guid(far);
    text_ += "\t\t# ";
    if (at_host) {
      put_lids(own.lids);
      text_ += ' ';
    }
    put_description(node_of(far), about(far).node_guid, device_index(far));
    put(" lid {}", far_lids ? far_lids->base.value() : 0);
    if (own.width && own.speed) put(" {}{}", to_string(*own.width), to_string(*own.speed));
    text_ += '\n';
  }

  void put_guid(PortId port) {
    if (fabric_.is_host(node_of(port))) put("({:x})", about(port).port_guid.value());
  }

  /// Which of its node's adapters this port belongs to: devices_of() without the devices.
  std::size_t device_index(PortId port) const {
    if (!fabric_.is_host(node_of(port))) return 0;
    const auto ports = fabric_.ports_of(node_of(port));
    std::size_t index = 0;
    for (std::size_t i = 1; i < ports.size() && ports[i - 1] != port; ++i)
      index += about(ports[i]).node_guid != about(ports[i - 1]).node_guid ? 1 : 0;
    return index;
  }

  const Fabric& fabric_;
  const InfinibandInventory& inventory_;
  const IbNodeNames& descriptions_;
  std::string text_;
};

}  // namespace

std::string write_ibnetdiscover(const Fabric& fabric, const InfinibandInventory& inventory,
                                const IbNodeNames& descriptions) {
  return Writer(fabric, inventory, descriptions).write();
}

}  // namespace weft::files
