#include "tests/fakes/fake_subnet.hpp"

#include <algorithm>

namespace weft::fakes {
namespace {

std::uint8_t width_code(LinkWidth width) {
  switch (width) {
    case LinkWidth::x1:
      return 1;
    case LinkWidth::x2:
      return 16;
    case LinkWidth::x4:
      return 2;
    case LinkWidth::x8:
      return 4;
    case LinkWidth::x12:
      return 8;
  }
  return 0;
}

void put_node_info(MutableByteSpan data, const IbSubnetNode& node, Guid guid, std::uint8_t through) {
  const auto port = node.ports.find(through);
  store_u8(data, 2, node.is_switch ? 2 : 1);
  store_u8(data, 3, node.about.port_count);
  store_be64(data, 4, node.about.system_guid.value());
  store_be64(data, 12, guid.value());
  store_be64(data, 20, port == node.ports.end() ? node.guid.value() : port->second.guid.value());
  store_be16(data, 30, node.about.device);
  store_u8(data, 36, through);
  store_be24(data, 37, node.about.vendor);
}

void put_port_info(MutableByteSpan data, const IbSubnetNode& node, std::uint8_t number, bool has_manager) {
  const auto found = node.ports.find(number);
  const bool linked = found != node.ports.end() && found->second.peer;
  const auto lids = node.is_switch ? (number == 0 ? node.about.lids : std::nullopt)
                                   : (found == node.ports.end() ? std::nullopt : found->second.lids);
  if (lids) {
    store_be16(data, 16, lids->base.value());
    store_u8(data, 34, lids->lmc);
  }
  store_be16(data, 18, has_manager ? 1 : 0);
  const auto state = linked ? found->second.state.value_or(IbPortState::active) : IbPortState::down;
  store_u8(data, 32, static_cast<std::uint8_t>(number == 0 ? IbPortState::active : state));
  const bool disabled = found != node.ports.end() && found->second.disabled;
  store_u8(data, 33, linked || number == 0 ? 0x50 : disabled ? 0x30 : 0x20);
  if (!linked) return;
  store_u8(data, 31, width_code(found->second.width.value_or(LinkWidth::x4)));
  store_be32(data, 20, 1U << 14);
  const auto speed = found->second.speed.value_or(LinkSpeed::hdr);
  if (speed == LinkSpeed::qdr || speed == LinkSpeed::fdr10) return store_u8(data, 35, 0x40);
  if (speed == LinkSpeed::xdr) return store_u8(data, 56, 0x20);
  store_u8(data, 62, speed == LinkSpeed::ndr ? 0x80 : speed == LinkSpeed::hdr ? 0x40 : 0x20);
}

/// As 16.1.4.11 has them: traffic from byte 8 on, errors from byte 72 on, waiting at 168.
void put_extended_counters(MutableByteSpan data, const mad::IbCounters& counted) {
  const auto value = [&](mad::IbCounter counter) { return counted[static_cast<std::size_t>(counter)]; };
  store_be64(data, 8, value(mad::IbCounter::xmit_data));
  store_be64(data, 16, value(mad::IbCounter::rcv_data));
  store_be64(data, 24, value(mad::IbCounter::xmit_packets));
  store_be64(data, 32, value(mad::IbCounter::rcv_packets));
  store_be64(data, 72, value(mad::IbCounter::symbol_error));
  store_be64(data, 80, value(mad::IbCounter::link_error_recovery));
  store_be64(data, 88, value(mad::IbCounter::link_downed));
  store_be64(data, 168, value(mad::IbCounter::xmit_wait));
}

/// FDR10 is told by the vendor's own attribute alone; PortInfo says QDR.
bool put_vendor_port_info(MutableByteSpan data, const IbSubnetNode& node, std::uint8_t number) {
  const auto found = node.ports.find(number);
  if (node.about.vendor != mad::kMellanox || found == node.ports.end()) return false;
  store_u8(data, 15, found->second.speed == LinkSpeed::fdr10 ? 1 : 0);
  return true;
}

/// The version's parts in three words, and cut to bytes before them, as devices have it.
void put_general_info(MutableByteSpan data, const IbSubnetNode& node, const FirmwareVersion& version) {
  store_be16(data, 10, node.about.device);
  store_u8(data, 41, static_cast<std::uint8_t>(version.major));
  store_u8(data, 42, static_cast<std::uint8_t>(version.minor));
  store_u8(data, 43, static_cast<std::uint8_t>(version.sub_minor));
  store_be32(data, 76, version.major);
  store_be32(data, 80, version.minor);
  store_be32(data, 84, version.sub_minor);
}

void put_fec_counters(MutableByteSpan data, const mad::FecCounters& fec, mad::FecMode mode) {
  for (std::size_t lane = 0; lane < mad::kMaxLanes; ++lane)
    store_be32(data, 44 + 4 * lane, fec.corrected_by_lane[lane]);
  const bool over_port = mode == mad::FecMode::over_port;
  if (over_port) store_be32(data, 140, static_cast<std::uint32_t>(fec.corrected_blocks));
  store_be32(data, over_port ? 144 : 92, static_cast<std::uint32_t>(fec.uncorrected_blocks));
}

}  // namespace

FakeSubnet::FakeSubnet(IbSubnet subnet, Unruliness unruliness, std::uint32_t seed)
    : subnet_(std::move(subnet)), unruliness_(unruliness), random_(seed) {
  for (std::size_t i = 0; i < subnet_.nodes.size(); ++i) index_[subnet_.nodes[i].guid] = i;
}

IbSubnetNode& FakeSubnet::node(Guid guid) { return subnet_.nodes[index_.at(guid)]; }

/// Our own port is the first port of the first node.
std::optional<FakeSubnet::Place> FakeSubnet::walk(const mad::DirectedRoute& route) const {
  Place at{0, subnet_.nodes[0].is_switch ? std::uint8_t{0} : subnet_.nodes[0].ports.begin()->first};
  for (const std::uint8_t out : route.ports()) {
    const auto& node = subnet_.nodes[at.node];
    const auto port = node.ports.find(out);
    if (port == node.ports.end() || !port->second.peer) return std::nullopt;
    at = {index_.at(port->second.peer->node), port->second.peer->port};
    if (silent.contains(subnet_.nodes[at.node].guid)) return std::nullopt;
  }
  return at;
}

std::optional<FakeSubnet::Place> FakeSubnet::find(Lid lid) const {
  for (std::size_t i = 0; i < subnet_.nodes.size(); ++i) {
    const auto& node = subnet_.nodes[i];
    if (silent.contains(node.guid)) continue;
    if (node.about.lids && node.about.lids->contains(lid)) return Place{i, 0};
    for (const auto& [number, port] : node.ports)
      if (port.lids && port.lids->contains(lid)) return Place{i, number};
  }
  return std::nullopt;
}

bool FakeSubnet::fill_counters(MutableByteSpan data, const mad::MadHeader& header, Guid guid,
                               std::uint8_t port) {
  if (header.attribute == mad::MadAttribute::class_port_info) {
    store_u8(data, 7, wide_errors.contains(guid) ? 0x40 : 0);
    return true;
  }
  const auto& counted = counters[{guid, port}];
  if (header.attribute == mad::MadAttribute::port_counters_extended && wide_errors.contains(guid)) {
    put_extended_counters(data, counted);
    return true;
  }
  if (header.attribute == mad::MadAttribute::port_extended_speeds && fec.contains({guid, port})) {
    put_fec_counters(data, fec.at({guid, port}),
                     fec_mode.contains(guid) ? fec_mode.at(guid) : mad::FecMode::by_lane);
    return true;
  }
  const auto encoded = mad::encode_port_counters(port, counted);
  if (header.attribute != mad::MadAttribute::port_counters) return false;
  std::copy(encoded.begin(), encoded.end(), data.begin());
  return true;
}

bool FakeSubnet::fill(mad::MadBytes& reply, const mad::MadHeader& header, const Place& at,
                      const mad::MadPacket& packet) {
  const auto& node = subnet_.nodes[at.node];
  const auto data = MutableByteSpan(reply).subspan(mad_data_offset(header.mad_class));
  if (header.mad_class == mad::MadClass::performance)
    return fill_counters(data, header, node.guid, load_u8(packet.bytes, 65));
  if (header.mad_class == mad::MadClass::mellanox) {
    if (!firmware.contains(node.guid)) return false;
    put_general_info(data, node, firmware.at(node.guid));
    return true;
  }
  switch (header.attribute) {
    case mad::MadAttribute::node_info:
      put_node_info(data, node, claims.contains(node.guid) ? claims.at(node.guid) : node.guid, at.port);
      return true;
    case mad::MadAttribute::node_description:
      for (std::size_t i = 0; i < std::min<std::size_t>(node.about.description.size(), 64); ++i)
        store_u8(data, i, static_cast<std::uint8_t>(node.about.description[i]));
      return true;
    case mad::MadAttribute::port_info:
      put_port_info(data, node, static_cast<std::uint8_t>(header.modifier), has_manager);
      return true;
    case mad::MadAttribute::vendor_port_info:
      return put_vendor_port_info(data, node, static_cast<std::uint8_t>(header.modifier));
    case mad::MadAttribute::port_info_extended:
      if (!fec_mode.contains(node.guid)) return false;
      store_u8(data, 3, 1);
      store_be16(data, 4, fec_mode.at(node.guid) == mad::FecMode::over_port ? 2 : 1);
      return true;
    case mad::MadAttribute::adaptive_routing:
      if (!adaptive.contains(node.guid)) return false;
      store_u8(data, 0, 0x10);  // by service level
      store_u8(data, 3, adaptive.at(node.guid).enabled ? 1 : 0);
      store_be16(data, 8, adaptive.at(node.guid).service_levels);
      return true;
    case mad::MadAttribute::linear_forwarding_table: {
      const auto& table = tables[node.guid];
      for (std::size_t i = 0; i < 64; ++i) {
        const auto lid = header.modifier * 64 + i;
        store_u8(data, i, lid < table.size() ? table[lid] : 0xFF);
      }
      return true;
    }
    default:
      if (header.attribute != mad::MadAttribute::switch_info || !node.is_switch) return false;
      store_be16(data, 6, static_cast<std::uint16_t>(std::max<std::size_t>(tables[node.guid].size(), 1) - 1));
      return true;
  }
}

std::optional<mad::MadBytes> FakeSubnet::answer(const mad::MadPacket& packet) {
  const auto header = mad::decode_mad_header(packet.bytes);
  if (!header) return std::nullopt;
  ++asked[static_cast<std::uint16_t>(header->attribute)];
  const auto* route = std::get_if<mad::DirectedRoute>(&packet.to);
  const auto at = route ? walk(*route) : find(std::get<Lid>(packet.to));
  if (!at || ignored.contains({subnet_.nodes[at->node].guid, header->attribute})) return std::nullopt;
  mad::MadBytes reply = packet.bytes;
  store_u8(reply, 3, 0x81);
  store_be16(reply, 4, header->mad_class == mad::MadClass::subnet_directed ? 0x8000 : 0);
  if (!fill(reply, *header, *at, packet)) store_be16(reply, 4, 3U << 2);  // attribute not supported
  if (garbled.contains({subnet_.nodes[at->node].guid, header->attribute}))
    std::fill_n(reply.begin() + mad_data_offset(header->mad_class), 64, std::byte{0xFF});
  return reply;
}

Result<void> FakeSubnet::send(const mad::MadPacket& packet) {
  ++sent;
  if (on_send) on_send(sent);
  std::uniform_real_distribution<double> share(0, 1);
  const auto reply = answer(packet);
  const bool lost = !reply || share(random_) < unruliness_.drop;
  if (!lost) arrive(*reply, false);
  if (lost && unruliness_.reports_undelivered) arrive(packet.bytes, true);
  if (!lost && share(random_) < unruliness_.repeat) arrive(*reply, false);
  most_in_flight = std::max<std::uint64_t>(most_in_flight, coming_.size());
  return {};
}

void FakeSubnet::arrive(const mad::MadBytes& bytes, bool undelivered) {
  std::uniform_int_distribution<std::int64_t> delay(unruliness_.least_delay.count(),
                                                    unruliness_.most_delay.count());
  coming_.emplace(now_ + Nanoseconds(delay(random_)), mad::MadArrival{bytes, undelivered, Lid()});
}

Result<std::optional<mad::MadArrival>> FakeSubnet::receive(Nanoseconds at_most) {
  const auto first = coming_.begin();
  if (first == coming_.end() || first->first > now_ + at_most) {
    now_ += at_most;
    return std::nullopt;
  }
  now_ = std::max(now_, first->first);
  const mad::MadArrival arrival = first->second;
  coming_.erase(first);
  return arrival;
}

IbSubnet make_subnet(unsigned leaves, unsigned spines, unsigned hosts, std::uint8_t lmc) {
  IbSubnet subnet;
  std::uint32_t lid = 1;
  const auto take_lids = [&lid](std::uint8_t bits) {
    const std::uint32_t count = 1U << bits;
    lid = (lid + count - 1) / count * count;
    const LidRange range{Lid(static_cast<std::uint16_t>(lid)), bits};
    lid += count;
    return range;
  };
  const auto cable = [](IbSubnetNode& a, std::uint8_t pa, IbSubnetNode& b, std::uint8_t pb) {
    a.ports[pa] = {.guid = a.is_switch ? a.guid : Guid(a.guid.value() + 0x100000),
                   .width = LinkWidth::x4,
                   .speed = LinkSpeed::hdr,
                   .state = IbPortState::active,
                   .peer = IbSubnetPort::Peer{b.guid, pb}};
    b.ports[pb] = {.guid = b.guid,
                   .width = LinkWidth::x4,
                   .speed = LinkSpeed::hdr,
                   .state = IbPortState::active,
                   .peer = IbSubnetPort::Peer{a.guid, pa}};
  };
  const auto add = [&subnet](bool is_switch, std::uint64_t guid, std::string name, unsigned ports) {
    subnet.nodes.push_back({is_switch,
                            Guid(guid),
                            {.description = std::move(name),
                             .system_guid = Guid(guid),
                             .vendor = 0x2c9,
                             .device = 0x1003,
                             .port_count = static_cast<std::uint8_t>(ports)},
                            {}});
  };
  for (unsigned h = 1; h <= leaves * hosts; ++h) add(false, 0x1000 + h, fmt::format("host{} mlx5_0", h), 1);
  for (unsigned l = 1; l <= leaves; ++l)
    add(true, 0x2000 + l, fmt::format("MF0;leaf{}:MQM8700/U1", l), hosts + spines);
  for (unsigned s = 1; s <= spines; ++s) add(true, 0x3000 + s, fmt::format("spine{}", s), leaves + 2);
  auto& n = subnet.nodes;
  for (unsigned l = 0; l < leaves; ++l) {
    auto& leaf = n[leaves * hosts + l];
    for (unsigned h = 0; h < hosts; ++h) cable(n[l * hosts + h], 1, leaf, static_cast<std::uint8_t>(h + 1));
    for (unsigned s = 0; s < spines; ++s)
      cable(leaf, static_cast<std::uint8_t>(hosts + s + 1), n[leaves * hosts + leaves + s],
            static_cast<std::uint8_t>(l + 1));
  }
  for (auto& node : n) {
    if (node.is_switch)
      node.about.lids = take_lids(0);
    else
      node.ports.at(1).lids = take_lids(lmc);
  }
  return subnet;
}

}  // namespace weft::fakes
