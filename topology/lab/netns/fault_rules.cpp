#include "topology/lab/netns/fault_rules.hpp"

#include <cmath>

#include "topology/base/check.hpp"
#include "topology/lab/netns/names.hpp"
#include "topology/model/fabric.hpp"

namespace weft::lab {
namespace {

constexpr std::int64_t kLots = 1'000'000;  // a share is drawn out of so many: 0.0001 % is the smallest

std::int64_t lots(Fraction share) { return std::llround(share.value() * static_cast<double>(kLots)); }

/// True for that share of the packets; for all of them there is nothing to draw.
std::string drawn(Fraction share) {
  if (lots(share) >= kLots) return "";
  return fmt::format("numgen random mod {} < {} ", kLots, lots(share));
}

/// Two bytes of payload: behind a probe's own header, as most bytes of real packets are, so that the receiver
/// can say whose packet it was; right behind UDP, BTH and DETH (28 bytes) in packets too short for that.
std::string corruption(const std::string& match, Fraction share) {
  constexpr const char* kRule = "  {} udp dport 4791 meta length {} {} {}@th,{},16 set 0xdead\n";
  constexpr int kLong = 128;  // bytes: the smallest probe, which has 4 of padding over IPv6
  constexpr int kPadding =
      (28 + 52) * 8;  // bits behind the start of UDP; 52: kProbeHeaderSize of probes/packet
  return fmt::format(kRule, match, ">=", kLong, drawn(share), kPadding) +
         fmt::format(kRule, match, "<", kLong, drawn(share), 28 * 8);
}

/// The statements for one channel, in the order in which they apply.
std::string statements(const std::string& match, const ChannelFault& fault) {
  std::string lines;
  if (fault.mtu) lines += fmt::format("  {} meta length > {} drop\n", match, fault.mtu->count());
  if (fault.loss && lots(*fault.loss) > 0) lines += fmt::format("  {} {}drop\n", match, drawn(*fault.loss));
  if (fault.corruption && lots(*fault.corruption) > 0) lines += corruption(match, *fault.corruption);
  return lines;
}

std::string chain(const char* name, const char* hook, const std::string& rules) {
  return fmt::format(" chain {} {{\n  type filter hook {} priority raw; policy accept;\n{} }}\n", name, hook,
                     rules);
}

}  // namespace

JudgedAt judged_at(const Fabric& fabric, ChannelId channel) {
  const bool incoming = !fabric.is_host(fabric.target_node(channel));
  WEFT_CHECK(incoming || !fabric.is_host(fabric.source_node(channel)));
  return {incoming ? fabric.target(channel) : fabric.source(channel), incoming};
}

std::string filter_rules(const Fabric& fabric, NodeId node, const std::map<ChannelId, ChannelFault>& faults) {
  std::string in;
  std::string out;
  for (const auto& [channel, fault] : faults) {
    const JudgedAt at = judged_at(fabric, channel);
    if (fabric.port(at.port).node != node) continue;
    const std::string interface = interface_name(fabric.port(at.port).number);
    (at.incoming ? in : out) +=
        statements(fmt::format("{} \"{}\"", at.incoming ? "iifname" : "oifname", interface), fault);
  }
  // Declared, deleted and made anew in one transaction: right whether or not it was there.
  std::string script = "table inet weft_faults\ndelete table inet weft_faults\n";
  if (in.empty() && out.empty()) return script;
  return script + "table inet weft_faults {\n" + chain("incoming", "prerouting", in) +
         chain("outgoing", "postrouting", out) + "}\n";
}

std::uint16_t delay_queue(const Fabric& fabric, ChannelId channel) {
  const JudgedAt at = judged_at(fabric, channel);
  return static_cast<std::uint16_t>(2 * fabric.port(at.port).number.value() + (at.incoming ? 0 : 1));
}

std::vector<std::string> delay_rule(const Fabric& fabric, IpFamily family, ChannelId channel,
                                    const char* action) {
  const JudgedAt at = judged_at(fabric, channel);
  return {family == IpFamily::v4 ? "iptables" : "ip6tables",
          "-t",
          "mangle",
          action,
          at.incoming ? "PREROUTING" : "POSTROUTING",
          at.incoming ? "-i" : "-o",
          interface_name(fabric.port(at.port).number),
          "-j",
          "NFQUEUE",
          "--queue-num",
          std::to_string(delay_queue(fabric, channel)),
          "--queue-bypass"};
}

}  // namespace weft::lab
