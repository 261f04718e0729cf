#include "probes/engine/dpdk/dpdk_flow.hpp"

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_flow.h>

#include <array>
#include <cstdio>
#include <cstring>

namespace weft::dpdk {
namespace {

void give_reason(WeftDpdkError& why_not, const rte_flow_error& refused, int error) {
  const char* const text =
      refused.message != nullptr ? refused.message : rte_strerror(error < 0 ? -error : error);
  std::snprintf(why_not.text, sizeof why_not.text, "%s", text);
}

/// A rule's headers as DPDK has them; it points into itself and into the rule.
class FlowPattern {
 public:
  explicit FlowPattern(const WeftDpdkRule& rule) {
    ip_.type = rule.v6 != 0 ? RTE_FLOW_ITEM_TYPE_IPV6 : RTE_FLOW_ITEM_TYPE_IPV4;
    const std::uint8_t protocol = rule.icmp_type == 0 ? 17 : rule.v6 != 0 ? 58 : 1;
    if (rule.v6 != 0) {
      v6_.hdr.proto = protocol;
      v6_mask_.hdr.proto = 0xFF;
      std::memcpy(&v6_.hdr.dst_addr, rule.to, 16);
      std::memset(&v6_mask_.hdr.dst_addr, 0xFF, 16);
      point(ip_, v6_, v6_mask_);
    } else {
      v4_.hdr.next_proto_id = protocol;
      v4_mask_.hdr.next_proto_id = 0xFF;
      v4_mask_.hdr.fragment_offset = rte_cpu_to_be_16(0x3FFF);  // offset and "more fragments", both zero
      std::memcpy(&v4_.hdr.dst_addr, rule.to, 4);
      std::memset(&v4_mask_.hdr.dst_addr, 0xFF, 4);
      point(ip_, v4_, v4_mask_);
    }
    if (rule.icmp_type == 0) {
      transport_.type = RTE_FLOW_ITEM_TYPE_UDP;
      udp_.hdr.dst_port = rte_cpu_to_be_16(rule.udp_port);
      udp_mask_.hdr.dst_port = 0xFFFF;
      point(transport_, udp_, udp_mask_);
    } else if (rule.v6 != 0) {
      transport_.type = RTE_FLOW_ITEM_TYPE_ICMP6;
      icmp6_.type = rule.icmp_type;
      icmp6_mask_.type = 0xFF;
      raw_.offset = 4;  // the item is the first four bytes of eight
      point(transport_, icmp6_, icmp6_mask_);
    } else {
      transport_.type = RTE_FLOW_ITEM_TYPE_ICMP;
      icmp_.hdr.icmp_type = rule.icmp_type;
      icmp_mask_.hdr.icmp_type = 0xFF;
      point(transport_, icmp_, icmp_mask_);
    }
    raw_.relative = 1;
    raw_.length = static_cast<std::uint16_t>(rule.size);
    raw_mask_ = raw_;
    raw_mask_.search = 1;
    raw_mask_.offset = -1;
    raw_mask_.length = 0xFFFF;
    raw_.pattern = rule.bytes;
    raw_mask_.pattern = rule.mask;
    bytes_.type = RTE_FLOW_ITEM_TYPE_RAW;
    point(bytes_, raw_, raw_mask_);
  }
  FlowPattern(const FlowPattern&) = delete;
  FlowPattern& operator=(const FlowPattern&) = delete;

  std::array<rte_flow_item, 5> items() const {
    return {rte_flow_item{.type = RTE_FLOW_ITEM_TYPE_ETH}, ip_, transport_, bytes_,
            rte_flow_item{.type = RTE_FLOW_ITEM_TYPE_END}};
  }

 private:
  template <class Header>
  static void point(rte_flow_item& item, const Header& spec, const Header& mask) {
    item.spec = &spec;
    item.mask = &mask;
  }
  rte_flow_item ip_{}, transport_{}, bytes_{};
  rte_flow_item_ipv4 v4_{}, v4_mask_{};
  rte_flow_item_ipv6 v6_{}, v6_mask_{};
  rte_flow_item_udp udp_{}, udp_mask_{};
  rte_flow_item_icmp icmp_{}, icmp_mask_{};
  rte_flow_item_icmp6 icmp6_{}, icmp6_mask_{};
  rte_flow_item_raw raw_{}, raw_mask_{};
};

}  // namespace

bool isolate(std::uint16_t port, WeftDpdkError& why_not) {
  rte_flow_error refused{};
  const int error = rte_flow_isolate(port, 1, &refused);
  if (error != 0) give_reason(why_not, refused, error);
  return error == 0;
}

bool take_rule(std::uint16_t port, const WeftDpdkRule& rule, bool apply, WeftDpdkError& why_not) {
  const FlowPattern pattern(rule);
  const auto items = pattern.items();
  const rte_flow_attr incoming{.ingress = 1};
  const rte_flow_action_queue first_queue{.index = 0};
  const rte_flow_action actions[] = {{RTE_FLOW_ACTION_TYPE_QUEUE, &first_queue},
                                     {RTE_FLOW_ACTION_TYPE_END, nullptr}};
  rte_flow_error refused{};
  // A driver may refuse without rte_errno: no rule is none.
  const bool taken = apply ? rte_flow_create(port, &incoming, items.data(), actions, &refused) != nullptr
                           : rte_flow_validate(port, &incoming, items.data(), actions, &refused) == 0;
  if (!taken) give_reason(why_not, refused, rte_errno);
  return taken;
}

void drop_rules(std::uint16_t port) {
  rte_flow_error ignored{};
  rte_flow_flush(port, &ignored);
}

}  // namespace weft::dpdk
