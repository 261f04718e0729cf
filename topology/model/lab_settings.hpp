// LabSettings: how a fabric is built on this machine (the `lab:` part of a fabric file).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"
#include "topology/model/addressing.hpp"
#include "topology/model/counter_sources.hpp"
#include "topology/model/packet_fields.hpp"
#include "topology/model/tolerance.hpp"

namespace weft {

class Fabric;

struct LabSettings {
  /// What the fabric's fastest links are shaped to, slower ones in proportion; absent: not shaped (`none` in
  /// the file). Two cores carry 16 hosts of 4 KB frames at 50 Mbit/s a link without a stall; at 200 they do
  /// not.
  std::optional<Bandwidth> link_rate = Bandwidth::mbit(50);
  IpFamily family = IpFamily::v4;
  Bytes mtu = Bytes(4200);  // of IP packets; RoCE frames of 4096 bytes and their headers pass

  /// Hosts (by name) that are guests with a kernel and an RDMA device of their own instead of namespaces.
  std::vector<std::string> guests = {};
  /// The folder of what they boot (kernel, initrd, weft); empty: `guest` beside the program.
  std::string guest_image = {};

  // InfiniBand labs.
  std::string routing = "minhop";  // OpenSM's routing engine
  std::uint8_t lmc = 0;            // 2^lmc LIDs, so as many path labels, a NIC
  /// Links that run slower than designed, by name: fewer lanes where that gives the rate.
  std::vector<std::pair<std::string, Bandwidth>> slow_links = {};
  /// What a sweep of the lab puts up with: `tolerate:` of the fabric file.
  StatedTolerance tolerate = {};
  /// What the fabric's switches choose paths by, where it is known: `hashed:` of the fabric file.
  std::vector<PacketField> hashed = {};
  /// Where a sweep of the lab reads counters of its ports: `counters:` of the fabric file.
  CounterSources counters = {};
  /// What nodes, or single adapters (by the name of a NIC), call themselves instead of their names.
  std::vector<std::pair<std::string, std::string>> descriptions = {};
  /// Nodes and NICs with another GUID than the fabric says.
  std::vector<std::string> replaced = {};
};

/// What a lab with these settings shapes each direction of `link` to; absent: not shaped.
std::optional<Bandwidth> lab_rate(const Fabric& fabric, const LabSettings& settings, LinkId link);

/// `fabric` with the rates of its links replaced by those of the lab: what a sweep of the lab has to expect.
/// Ids and names are the same. Unshaped links keep their rate.
Fabric with_lab_rates(const Fabric& fabric, const LabSettings& settings);

}  // namespace weft
