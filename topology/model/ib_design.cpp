#include "topology/model/ib_design.hpp"

#include <algorithm>
#include <cmath>

#include "topology/model/fabric.hpp"

namespace weft {
namespace {

// Made-up GUIDs: the locally administered bit is set, so that no maker's numbers are met.
constexpr std::uint64_t kAdapters = 0x0277'6501'0000'0000;
constexpr std::uint64_t kSwitches = 0x0277'6502'0000'0000;
constexpr std::uint64_t kStep = 0x10;  // the GUID of an adapter's port is the next one, as ibsim has it
constexpr std::uint32_t kVendor = 0x7765;

struct Shape {
  LinkWidth width = LinkWidth::x4;
  LinkSpeed speed = LinkSpeed::hdr;
};

class Design {
 public:
  Design(const Fabric& fabric, LinkSpeed fastest) : fabric_(fabric) {
    for (const Link& link : fabric.links()) top_rate_ = std::max(top_rate_, link.rate);
    top_speed_ = std::min(speed_of_4x(top_rate_).value_or(LinkSpeed::hdr), fastest);
  }

  InfinibandInventory run() {
    inventory_.nodes.resize(fabric_.node_count());
    inventory_.ports.resize(fabric_.port_count());
    for (std::uint32_t n = 0; n < fabric_.node_count(); ++n) describe(NodeId(n));
    return std::move(inventory_);
  }

 private:
  void describe(NodeId node) {
    const bool is_host = fabric_.is_host(node);
    const auto ports = fabric_.ports_of(node);
    std::uint16_t highest = 1;
    for (const PortId port : ports) highest = std::max(highest, fabric_.port(port).number.value());
    const std::uint64_t guid =
        fabric_.node(node).guid ? fabric_.node(node).guid->value() : kSwitches + node.value() * kStep;
    inventory_.nodes[node.value()] = {.description = fabric_.name_of(node),
                                      .system_guid = Guid(guid),
                                      .vendor = kVendor,
                                      .device = static_cast<std::uint16_t>(is_host ? 1 : 2),
                                      .port_count = static_cast<std::uint8_t>(is_host ? 1 : highest)};
    for (const PortId port : ports) describe_port(port, is_host, guid);
  }

  void describe_port(PortId port, bool is_host, std::uint64_t switch_guid) {
    const auto own = fabric_.port(port).guid;
    const std::uint64_t adapter = own ? own->value() - 1 : kAdapters + port.value() * kStep;
    const std::uint64_t guid = is_host ? adapter : switch_guid;
    IbPort& about = inventory_.ports[port.value()];
    about = {.node_guid = Guid(guid),
             .port_guid = Guid(is_host ? guid + 1 : guid),
             .hardware_port = static_cast<std::uint8_t>(is_host ? 1 : fabric_.port(port).number.value()),
             .state = IbPortState::active};
    if (const auto link = fabric_.port(port).link) {
      const auto [width, speed] = shape(fabric_.link(*link).rate);
      about.width = width;
      about.speed = speed;
    }
  }

  /// Fewer lanes of the fabric's speed where that gives the rate, else four slower ones.
  Shape shape(Bandwidth rate) const {
    const double share = rate / top_rate_;
    const auto wanted = link_rate(LinkWidth::x4, top_speed_) * share;
    for (const auto width : {LinkWidth::x4, LinkWidth::x2, LinkWidth::x1})
      if (std::abs(link_rate(width, top_speed_) / wanted - 1) < 0.01) return {width, top_speed_};
    Shape best{LinkWidth::x4, LinkSpeed::sdr};
    for (int s = 0; s <= static_cast<int>(top_speed_); ++s)
      if (const auto speed = static_cast<LinkSpeed>(s);
          speed != LinkSpeed::fdr10 && link_rate(LinkWidth::x4, speed) <= wanted)
        best.speed = speed;
    return best;
  }

  const Fabric& fabric_;
  Bandwidth top_rate_ = Bandwidth::bit(1);
  LinkSpeed top_speed_ = LinkSpeed::hdr;
  InfinibandInventory inventory_;
};

}  // namespace

InfinibandInventory design_inventory(const Fabric& fabric, LinkSpeed fastest) {
  return Design(fabric, fastest).run();
}

Result<void> assign_lids(const Fabric& fabric, std::uint8_t lmc, InfinibandInventory& inventory) {
  constexpr std::uint32_t kEnd = 0xC000;   // of unicast LIDs (IBTA vol. 1, 4.1.3)
  constexpr std::uint16_t kMaxPort = 254;  // 255: no entry
  std::uint32_t next = 1;
  const auto take = [&next](std::uint8_t bits) {
    const std::uint32_t count = 1U << bits;
    const std::uint32_t base = (next + count - 1) / count * count;
    next = base + count;
    return LidRange{Lid(static_cast<std::uint16_t>(base)), bits};
  };
  const std::uint64_t nics = fabric.nics().size();
  const std::uint64_t switches = fabric.node_count() - fabric.hosts().size();
  const std::uint64_t aligned = (switches >> lmc) + 1 + nics;  // blocks of 2^lmc
  if (aligned << lmc > kEnd)
    return fail(ErrorKind::invalid_input,
                "{} NICs with {} LIDs each and {} switches take more than the {} that there are", nics,
                1U << lmc, switches, kEnd - 1);
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
    if (!fabric.is_host(NodeId(n))) inventory.nodes[n].lids = take(0);
  for (const PortId nic : fabric.nics()) inventory.ports[nic.value()].lids = take(lmc);
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p)
    if (const auto& port = fabric.port(PortId(p));
        !fabric.is_host(port.node) && port.number.value() > kMaxPort)
      return fail(ErrorKind::invalid_input, "{} has a port {}: an InfiniBand switch has at most {}",
                  fabric.name_of(port.node), port.number.value(), kMaxPort);
  return {};
}

}  // namespace weft
