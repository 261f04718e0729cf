// minigraph.xml of SONiC: the links, the kinds of its neighbours and the addresses of its ports. A plan,
// which names ports as it likes ("fortyGigE0/0"), not as the kernel does.
#include <algorithm>
#include <pugixml.hpp>

#include "topology/base/outside_text.hpp"
#include "topology/files/cable_records.hpp"

namespace weft::files {
namespace {

constexpr std::size_t kMaxBytes = 64'000'000;
constexpr std::size_t kMaxLinks = 1'000'000;

/// Elements bear the prefixes of whoever wrote the file: "a:Hostname".
std::string_view local_name(const char* name) {
  const std::string_view text(name);
  return text.substr(text.find(':') == text.npos ? 0 : text.find(':') + 1);
}

pugi::xml_node child(const pugi::xml_node& parent, std::string_view name) {
  for (const pugi::xml_node& one : parent.children())
    if (local_name(one.name()) == name) return one;
  return {};
}

std::string text_of(const pugi::xml_node& parent, std::string_view name) {
  std::string_view text = child(parent, name).text().get();
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return outside_text(text);
}

/// In Mbit/s.
std::optional<Bandwidth> rate_of(const std::string& text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || text.size() > 9 || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  const double mbit = std::stod(text);
  return mbit > 0 ? std::optional(Bandwidth::mbit(mbit)) : std::nullopt;
}

bool is_no_cable(const std::string& type) {
  return type == "DeviceMgmtLink" || type == "DeviceSerialLink" || type == "LogicalLink";
}

Result<void> read_links(const pugi::xml_node& plan, CableList& list) {
  for (const pugi::xml_node& link : child(plan, "DeviceInterfaceLinks").children()) {
    if (is_no_cable(text_of(link, "ElementType"))) continue;
    if (list.cables.size() == kMaxLinks)
      return fail(ErrorKind::invalid_input, "more than {} links", kMaxLinks);
    const CableEnd a{text_of(link, "StartDevice"), text_of(link, "StartPort")};
    const CableEnd b{text_of(link, "EndDevice"), text_of(link, "EndPort")};
    if (a.node.empty() || b.node.empty())
      list.remarks.emplace_back("a link of DeviceInterfaceLinks has an end without a device: left out");
    else
      list.cables.push_back({a, b, rate_of(text_of(link, "Bandwidth"))});
  }
  return {};
}

/// Which devices forward: by `i:type`, a router's or a server's.
void read_devices(const pugi::xml_node& plan, CableList& list) {
  for (const pugi::xml_node& device : child(plan, "Devices").children()) {
    const auto name = text_of(device, "Hostname");
    std::string type;
    for (const pugi::xml_attribute& attribute : device.attributes())
      if (local_name(attribute.name()) == "type") type = local_name(attribute.value());
    if (name.empty()) continue;
    if (type == "Server") list.hosts.push_back(name);
    if (type.ends_with("Router")) list.switches.push_back(name);
  }
}

/// "10.0.0.0/31", of "AttachTo": a port, or what is none (a bundle, a VLAN: its addresses are the device's).
void read_addresses(const pugi::xml_node& data_plane, const std::string& device, CableList& list) {
  for (const pugi::xml_node& interface : child(data_plane, "IPInterfaces").children()) {
    auto port = text_of(interface, "AttachTo");
    const auto prefix = text_of(interface, "Prefix");
    const auto address = IpAddress::parse(prefix.substr(0, prefix.find('/')));
    if (!address) continue;
    const auto is_own_port = [&](const Cable& cable) {
      return (cable.a.node == device && cable.a.port == port) ||
             (cable.b.node == device && cable.b.port == port);
    };
    if (std::ranges::none_of(list.cables, is_own_port)) port.clear();
    list.addresses.push_back({{device, port}, *address});
  }
}

}  // namespace

Result<CableList> parse_sonic_minigraph(std::string_view text, const RecordSource& source) {
  if (text.size() > kMaxBytes)
    return fail(ErrorKind::invalid_input, "{}: longer than {} MB", source.file, kMaxBytes / 1'000'000);
  pugi::xml_document document;
  const auto read = document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!read)
    return fail(ErrorKind::invalid_input, "{}: no XML, at byte {}: {}", source.file, read.offset,
                read.description());
  const auto root = child(document, "DeviceMiniGraph");
  const auto plan = child(root, "PngDec");
  if (!plan)
    return fail(ErrorKind::invalid_input,
                "{}: DeviceMiniGraph with PngDec is missing: expected a minigraph.xml of SONiC", source.file);
  auto device = text_of(root, "Hostname");
  if (device.empty()) device = source.device;
  CableList list{.source = fmt::format("minigraph of {} ({})", device, source.file), .is_live = false};
  list.switches.push_back(device);
  if (const auto links = read_links(plan, list); !links) return pass_on(links, source.file);
  read_devices(plan, list);
  read_addresses(child(child(root, "DpgDec"), "DeviceDataPlaneInfo"), device, list);
  return list;
}

}  // namespace weft::files
