#include "probes/engine/dpdk/probe_rules.hpp"

#include <algorithm>

#include "probes/packet/probe_frame.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::dpdk {
namespace {

using Bytes = std::vector<std::byte>;

// What routers say of a packet that got no further, as the socket filter has it: hops ran out, unreachable.
constexpr std::uint8_t kIcmpErrors[] = {11, 3}, kIcmp6Errors[] = {3, 1};

/// A probe as it goes over the wire, behind its Ethernet header: rules are cut from it.
Bytes sample(const IpAddress& address) {
  const bool v6 = address.is_v6();
  Bytes frame(packet::kEthernetSize + packet::min_probe_size(v6));
  packet::encode_probe_frame({.from = address, .to = address}, {}, {}, packet::min_probe_size(v6), frame);
  frame.erase(frame.begin(), frame.begin() + packet::kEthernetSize);
  return frame;
}

struct Field {
  std::size_t at, size;
};

/// Has the rule read these fields of a packet from `from` on.
void read_fields(WeftDpdkRule& rule, const Bytes& packet, std::size_t from, std::span<const Field> fields) {
  for (const Field& field : fields) {
    const auto at = field.at - from;
    for (std::size_t i = 0; i < field.size; ++i) {
      rule.bytes[at + i] = static_cast<std::uint8_t>(packet[field.at + i]);
      rule.mask[at + i] = 0xFF;
    }
    rule.size = std::max(rule.size, static_cast<std::uint32_t>(at + field.size));
  }
}

WeftDpdkRule rule_to(const IpAddress& address) {
  WeftDpdkRule rule{};
  rule.v6 = address.is_v6() ? 1 : 0;
  const auto bytes = address.bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) rule.to[i] = static_cast<std::uint8_t>(bytes[i]);
  return rule;
}

}  // namespace

std::vector<WeftDpdkRule> probe_rules(const IpAddress& address) {
  const bool v6 = address.is_v6();
  const auto packet = sample(address);
  const std::size_t udp = packet::ip_header_size(v6), bth = udp + packet::kUdpSize;
  const std::size_t deth = bth + packet::kBthSize, header = deth + packet::kDethSize;
  // BTH: opcode, destination queue pair; DETH: key and source queue pair; "WEFT". docs/wire.md.
  const Field of_probe[] = {{bth, 1}, {bth + 5, 3}, {deth, 4}, {deth + 5, 3}, {header, 4}};
  WeftDpdkRule probe = rule_to(address);
  probe.udp_port = packet::kRocePort.value();
  read_fields(probe, packet, bth, of_probe);
  std::vector<WeftDpdkRule> rules{probe};
  // Quoted from the IP header on: version and size of that, UDP, port; the destination queue pair may be any
  // (trace --fields), that of the source is ours.
  const Field quoted[] = {{0, 1},       {v6 ? std::size_t{6} : 9, 1}, {udp + 2, 2}, {bth, 1}, {deth, 4},
                          {deth + 5, 3}};
  for (const std::uint8_t type : v6 ? kIcmp6Errors : kIcmpErrors) {
    WeftDpdkRule said = rule_to(address);
    said.icmp_type = type;
    read_fields(said, packet, 0, quoted);
    if (v6) said.mask[0] = 0xF0;  // the rest is traffic class
    rules.push_back(said);
  }
  return rules;
}

namespace {

/// The device takes each; only then does it get one.
bool give_rules(const DpdkLibrary& library, WeftDpdkPort* port, const std::vector<WeftDpdkRule>& rules,
                WeftDpdkError& why_not) {
  const auto taken = [&](std::uint32_t apply) {
    return std::ranges::all_of(rules, [&](const WeftDpdkRule& rule) {
      return library.rule(port, &rule, apply, &why_not) == WEFT_DPDK_DONE;
    });
  };
  return taken(0) && taken(1);
}

Result<OpenedPort> open_as(const DpdkLibrary& library, const WeftDpdkDevice& device) {
  OpenedPort opened;
  WeftDpdkError error{};
  if (library.open(&device, &opened.port, &opened.has, &error) != WEFT_DPDK_DONE)
    return fail(ErrorKind::not_supported, "{}", outside_text(error.text));
  return opened;
}

}  // namespace

Result<OpenedPort> open_port(const DpdkLibrary& library, WeftDpdkDevice device,
                             const std::vector<WeftDpdkRule>& rules) {
  device.isolated = 1;
  auto opened = open_as(library, device);
  WeftDpdkError why_not{};
  if (opened && opened->has.isolated == 0) {
    opened->no_rules = fmt::format("no isolated mode: {}", outside_text(opened->has.no_isolated.text));
    return opened;
  }
  if (opened && give_rules(library, opened->port, rules, why_not)) return opened;
  // Isolated mode may not be left again (rte_flow.h): the device is opened anew.
  const std::string reason = opened ? fmt::format("it takes not all of them: {}", outside_text(why_not.text))
                                    : fmt::format("isolated it does not open: {}", opened.error().message);
  if (opened) library.close(opened->port);
  device.isolated = 0;
  auto plain = open_as(library, device);
  if (plain) plain->no_rules = reason;
  return plain;
}

}  // namespace weft::dpdk
