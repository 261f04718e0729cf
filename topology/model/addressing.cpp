#include "topology/model/addressing.hpp"

#include <algorithm>
#include <bit>

#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft {
namespace {

// 10.0.0.0/9 for the links of hosts, 10.128.0.0/9 for all others.
constexpr std::uint64_t kRegion = 1U << 23U;

enum class Region { hosts, others };

IpAddress address_at(IpFamily family, Region region, std::uint64_t offset) {
  const bool hosts = region == Region::hosts;
  if (family == IpFamily::v4) {
    const auto low = static_cast<std::uint32_t>(offset + (hosts ? 0 : kRegion));
    return IpAddress(IpAddress::V4{10, static_cast<std::uint8_t>(low >> 16U),
                                   static_cast<std::uint8_t>(low >> 8U), static_cast<std::uint8_t>(low)});
  }
  IpAddress::V6 bytes{0xfd, 0x00, 0x00, 0x77, 0x65, 0x66, 0x74, static_cast<std::uint8_t>(hosts ? 1 : 2)};
  for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(offset >> (8 * i));
  return IpAddress(bytes);
}

/// The switch of a link between a host and a switch.
std::optional<NodeId> access_switch(const Fabric& fabric, const Link& link) {
  const NodeId a = fabric.port(link.a).node;
  const NodeId b = fabric.port(link.b).node;
  if (fabric.is_host(a) == fabric.is_host(b)) return std::nullopt;
  return fabric.is_host(a) ? b : a;
}

/// How many addresses a switch's block has: a power of two that holds the busiest switch's links, and 256
/// where so many fit, because such addresses are easy to read.
std::uint64_t block_size(std::uint64_t most_links, std::uint64_t blocks) {
  const std::uint64_t needed = std::bit_ceil(std::max<std::uint64_t>(2 * most_links, 2));
  return needed < 256 && (blocks + 1) * 256 <= kRegion ? 256 : needed;
}

class Planner {
 public:
  Planner(const Fabric& fabric, IpFamily family)
      : fabric_(fabric), family_(family), by_port_(fabric.port_count()), links_on_(fabric.node_count()) {}

  Result<AddressPlan> plan() {
    count();
    if ((blocks_ + 1) * block_ > kRegion || 2 * others_ > kRegion)
      return fail(ErrorKind::not_supported,
                  "fabric '{}' has more links than the address plan holds: {} switches with up to {} hosts "
                  "each, {} other links",
                  fabric_.name(), blocks_, block_ / 2, others_);
    AddressPlan plan{.family = family_, .host_block = place_blocks()};
    std::uint64_t next_other = 0;
    for (const Link& link : fabric_.links()) {
      if (const auto leaf = access_switch(fabric_, link)) {
        place(link, Region::hosts, next_in_[leaf->value()], *leaf);
      } else {
        place(link, Region::others, next_other, fabric_.port(link.a).node);
      }
    }
    plan.book = AddressBook(std::move(by_port_));
    return plan;
  }

 private:
  void count() {
    for (const Link& link : fabric_.links()) {
      if (const auto leaf = access_switch(fabric_, link)) {
        ++links_on_[leaf->value()];
      } else {
        ++others_;
      }
    }
    std::uint64_t most = 0;
    for (const std::uint64_t links : links_on_) {
      if (links > 0) ++blocks_;
      most = std::max(most, links);
    }
    block_ = block_size(most, blocks_);
  }

  std::vector<std::optional<IpPrefix>> place_blocks() {
    std::vector<std::optional<IpPrefix>> blocks(fabric_.node_count());
    next_in_.resize(fabric_.node_count());
    const int bits = family_ == IpFamily::v4 ? 32 : 128;
    const auto length = static_cast<std::uint8_t>(bits - std::countr_zero(block_));
    std::uint64_t index = 0;
    for (std::size_t node = 0; node < blocks.size(); ++node) {
      if (links_on_[node] == 0) continue;
      next_in_[node] = ++index * block_;
      blocks[node] = IpPrefix{address_at(family_, Region::hosts, next_in_[node]), length};
    }
    return blocks;
  }

  /// The next two addresses of a region; `first` is the node that gets the even one.
  void place(const Link& link, Region region, std::uint64_t& next, NodeId first) {
    const bool a_first = fabric_.port(link.a).node == first;
    by_port_[(a_first ? link.a : link.b).value()] = address_at(family_, region, next);
    by_port_[(a_first ? link.b : link.a).value()] = address_at(family_, region, next + 1);
    next += 2;
  }

  const Fabric& fabric_;
  IpFamily family_;
  std::vector<std::optional<IpAddress>> by_port_;
  std::vector<std::uint64_t> links_on_;  // per node: its links to hosts
  std::vector<std::uint64_t> next_in_;   // per node: offset of the next free address of its block
  std::uint64_t others_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint64_t block_ = 0;  // addresses of a block
};

}  // namespace

std::string_view to_string(IpFamily family) { return family == IpFamily::v4 ? "ipv4" : "ipv6"; }

std::string to_string(const IpPrefix& prefix) {
  return fmt::format("{}/{}", to_string(prefix.base), prefix.length);
}

AddressBook::AddressBook(std::vector<std::optional<IpAddress>> by_port,
                         std::vector<std::optional<IpAddress>> by_node)
    : by_port_(std::move(by_port)), by_node_(std::move(by_node)) {
  port_at_.reserve(by_port_.size());
  for (std::uint32_t port = 0; port < by_port_.size(); ++port) {
    if (!by_port_[port]) continue;
    const bool is_new = port_at_.emplace(*by_port_[port], PortId(port)).second;
    WEFT_CHECK(is_new);
  }
  for (std::uint32_t node = 0; node < by_node_.size(); ++node) {
    if (!by_node_[node]) continue;
    const bool is_new =
        !port_at_.contains(*by_node_[node]) && node_at_.emplace(*by_node_[node], NodeId(node)).second;
    WEFT_CHECK(is_new);
  }
}

std::optional<IpAddress> AddressBook::address_of(PortId port) const {
  return port.value() < by_port_.size() ? by_port_[port.value()] : std::nullopt;
}

std::optional<IpAddress> AddressBook::address_of(NodeId node) const {
  return node.value() < by_node_.size() ? by_node_[node.value()] : std::nullopt;
}

std::optional<PortId> AddressBook::port_of(const IpAddress& address) const {
  const auto found = port_at_.find(address);
  return found == port_at_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<NodeId> AddressBook::node_of(const IpAddress& address) const {
  const auto found = node_at_.find(address);
  return found == node_at_.end() ? std::nullopt : std::optional(found->second);
}

Result<AddressPlan> plan_addresses(const Fabric& fabric, IpFamily family) {
  return Planner(fabric, family).plan();
}

}  // namespace weft
