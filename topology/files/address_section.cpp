#include "topology/files/address_section.hpp"

#include <array>
#include <filesystem>
#include <unordered_map>

#include "topology/files/file_text.hpp"
#include "topology/files/yaml_fields.hpp"
#include "topology/model/fabric.hpp"

namespace weft::files {
namespace {

using namespace std::string_view_literals;

constexpr std::array kAddressKeys{"plan"sv, "file"sv, "ports"sv};
// 4,000,000 ports (two ends of the most links a fabric has) with long names.
constexpr Bytes kMaxAddressFileBytes = Bytes(512'000'000);

/// 0.0.0.0, ::, and what is multicast (RFC 1112, section 4; RFC 4291, section 2.7) is nobody's own.
bool can_be_owned(const IpAddress& address) {
  if (address == IpAddress() || address == IpAddress(IpAddress::V6{})) return false;
  const std::uint8_t first = address.bytes()[0];
  return address.is_v6() ? first != 0xff : first < 224;
}

class BookReader {
 public:
  explicit BookReader(const Fabric& fabric)
      : fabric_(fabric), by_port_(fabric.port_count()), by_node_(fabric.node_count()) {}

  Result<AddressBook> read(YamlView map) && {
    if (map.kind() != YamlKind::map)
      return map.error("addresses: expected a map as in {{host1: 10.1.0.1, leaf1/p3: 10.1.0.0}}, found {}",
                       map.described());
    for (auto key = map.first(); key;) {
      const auto value = key->next();
      if (!value) break;
      WEFT_TRY_VOID(add(*key, *value));
      key = value->next();
    }
    if (by_address_.empty()) return map.error("addresses: expected at least one");
    return AddressBook(std::move(by_port_), std::move(by_node_));
  }

 private:
  Result<IpAddress> address_in(YamlView value, std::string_view name) {
    const auto address = IpAddress::parse(value.text());
    if (!address || !can_be_owned(*address))
      return value.error("address of {}: expected one as in 10.1.0.1 or fd00::1, found {}", name,
                         value.described());
    if (is_v6_.value_or(address->is_v6()) != address->is_v6())
      return value.error("address of {}: {} is of another family than the addresses before it", name,
                         to_string(*address));
    is_v6_ = address->is_v6();
    if (const auto [at, is_new] = by_address_.emplace(*address, value.line()); !is_new)
      return value.error("address of {}: {} stands twice, first in line {}", name, to_string(*address),
                         at->second);
    return *address;
  }

  /// A host alone is its first NIC; a switch alone answers from this address whatever the port.
  Result<void> add(YamlView key, YamlView value) {
    const auto name = key.text();
    const auto whole = split_port(name);
    if (!whole) return key.error("addresses: expected NODE or NODE/pN, found {}", key.described());
    const auto node = fabric_.find_node(whole->node);
    if (!node) return key.error("addresses: {}", node.error().message);
    const bool of_node = !whole->names_port() && !fabric_.is_host(*node);
    Result<PortId> port = PortId(0);
    if (!of_node) port = whole->names_port() ? fabric_.find_port(name) : fabric_.find_nic(name);
    if (!port) return key.error("addresses: {}", port.error().message);
    WEFT_TRY(const auto address, address_in(value, name));
    auto& place = of_node ? by_node_[node->value()] : by_port_[port->value()];
    if (place) return key.error("addresses: {} has one already, {}", name, to_string(*place));
    place = address;
    return {};
  }

  const Fabric& fabric_;
  std::vector<std::optional<IpAddress>> by_port_;
  std::vector<std::optional<IpAddress>> by_node_;
  std::unordered_map<IpAddress, std::uint32_t> by_address_;  // to the line it stands in
  std::optional<bool> is_v6_;
};

Result<AddressBook> read_plan(YamlView where, const Fabric& fabric) {
  WEFT_TRY(const auto family, yaml_family(where, "plan"));
  auto plan = plan_addresses(fabric, family);
  if (!plan) return where.error("plan: {}", plan.error().message);
  return std::move(plan->book);
}

Result<AddressBook> read_file(YamlView where, const Fabric& fabric, std::string_view fabric_file) {
  if (where.text().empty()) return where.error("file: expected a file's name, found {}", where.described());
  const auto path = std::filesystem::path(fabric_file).parent_path() / std::filesystem::path(where.text());
  const auto text = read_text_file(path, kMaxAddressFileBytes);
  if (!text) return where.error("{}", text.error().message);
  WEFT_TRY(const auto tree, YamlTree::parse(*text, path.string()));
  return BookReader(fabric).read(tree.root());
}

}  // namespace

Result<IpFamily> yaml_family(YamlView value, std::string_view key) {
  for (const auto family : {IpFamily::v4, IpFamily::v6})
    if (value.text() == to_string(family)) return family;
  return value.error("{}: expected ipv4 or ipv6, found {}", key, value.described());
}

Result<AddressBook> read_addresses(YamlView where, const Fabric& fabric, std::string_view file) {
  WEFT_TRY(const auto fields, YamlFields::read(where, "addresses", kAddressKeys));
  const auto plan = fields.find("plan");
  const auto elsewhere = fields.find("file");
  const auto ports = fields.find("ports");
  if ((plan ? 1 : 0) + (elsewhere ? 1 : 0) + (ports ? 1 : 0) != 1)
    return where.error("addresses: expected one of plan, file or ports");
  if (plan) return read_plan(*plan, fabric);
  if (elsewhere) return read_file(*elsewhere, fabric, file);
  return BookReader(fabric).read(*ports);
}

}  // namespace weft::files
