#include <algorithm>
#include <cctype>
#include <cmath>

#include "topology/files/json_text.hpp"

#include "topology/files/domain_section.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::files {
namespace {

using Text = JsonText;

/// Words that YAML gives a meaning of their own.
constexpr std::string_view kMeaningful[] = {"null",  "Null", "NULL", "true", "True", "TRUE", "false", "False",
                                            "FALSE", "yes",  "no",   "on",   "off",  "y",    "n"};

bool reads_as_itself(std::string_view text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
  };
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
         std::ranges::all_of(text, plain) && std::ranges::find(kMeaningful, text) == std::end(kMeaningful);
}

/// The text as a YAML scalar: bare where that is safe, otherwise in double quotes.
std::string scalar(std::string_view text) {
  if (reads_as_itself(text)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

/// The short form of a rate where it reads back exactly, otherwise all its digits.
std::string exact(Bandwidth rate) {
  auto text = to_string(rate);
  return parse_bandwidth(text) == rate ? text : fmt::format("{}", rate.bits_per_second());
}

/// Of the percentages around that one which reads back exactly.
std::string exact(Fraction share) {
  const double percent = share.as_percent();
  for (const double each : {std::nextafter(percent, 0.0), std::nextafter(percent, 100.0)})
    if (Fraction::percent(each) == share && Fraction::percent(percent) != share)
      return fmt::format("{}%", each);
  return fmt::format("{}%", percent);
}

void put_port_guids(Text& out, const Fabric& fabric, std::span<const PortId> ports) {
  const char* before = ", port_guids: {";
  for (const PortId id : ports)
    if (const Port& port = fabric.port(id); port.guid) {
      put(out, "{}{}: 0x{:016x}", before, port.number.value(), port.guid->value());
      before = ", ";
    }
  if (std::string_view(before) == ", ") put(out, "}}");
}

void put_port_names(Text& out, const Fabric& fabric, std::span<const PortId> ports) {
  const char* before = ", port_names: {";
  for (const PortId id : ports)
    if (const Port& port = fabric.port(id); !port.name.empty()) {
      put(out, "{}{}: {}", before, port.number.value(), scalar(port.name));
      before = ", ";
    }
  if (std::string_view(before) == ", ") put(out, "}}");
}

void put_node(Text& out, const Fabric& fabric, NodeId id) {
  const Node& node = fabric.node(id);
  put(out, "  - {{name: {}, kind: {}, tier: {}", scalar(node.name),
      node.kind == NodeKind::host ? "host" : "switch", to_string(node.tier));
  if (node.pod) put(out, ", pod: {}", *node.pod);
  if (node.plane) put(out, ", plane: {}", *node.plane);
  if (node.guid) put(out, ", guid: 0x{:016x}", node.guid->value());
  const auto ports = fabric.ports_of(id);
  put_port_guids(out, fabric, ports);
  put_port_names(out, fabric, ports);
  const auto has_cable = [&](PortId port) { return fabric.port(port).link.has_value(); };
  if (!std::ranges::all_of(ports, has_cable)) {
    put(out, ", ports: [");
    for (const PortId port : ports)
      put(out, "{}{}", port == ports.front() ? "" : ", ", fabric.port(port).number.value());
    put(out, "]");
  }
  put(out, "}}\n");
}

std::string end_name(const Fabric& fabric, PortId id) { return scalar(fabric.name_of(id)); }

void put_lab(Text& out, const LabSettings& lab) {
  put(out, "lab: {{link_rate: {}, family: {}, mtu: {}", lab.link_rate ? exact(*lab.link_rate) : "none",
      to_string(lab.family), lab.mtu.count());
  if (lab.routing != LabSettings().routing || lab.lmc != 0)
    put(out, ", routing: {}, lmc: {}", lab.routing, lab.lmc);
  if (!lab.slow_links.empty()) put(out, ", slow_links: {{");
  for (std::size_t i = 0; i < lab.slow_links.size(); ++i)
    put(out, "{}{}: {}", i > 0 ? ", " : "", scalar(lab.slow_links[i].first), exact(lab.slow_links[i].second));
  if (!lab.slow_links.empty()) put(out, "}}");
  if (!lab.descriptions.empty()) put(out, ", descriptions: {{");
  for (std::size_t i = 0; i < lab.descriptions.size(); ++i)
    put(out, "{}{}: {}", i > 0 ? ", " : "", scalar(lab.descriptions[i].first),
        scalar(lab.descriptions[i].second));
  if (!lab.descriptions.empty()) put(out, "}}");
  for (std::size_t i = 0; i < lab.replaced.size(); ++i)
    put(out, "{}{}", i > 0 ? ", " : ", replaced: [", scalar(lab.replaced[i]));
  put(out, "{}}}\n", lab.replaced.empty() ? "" : "]");
}

void put_tolerance(Text& out, const StatedTolerance& stated) {
  put(out, "tolerate: {{");
  if (stated.loss) put(out, "loss: {}{}", exact(*stated.loss), stated.delay ? ", " : "");
  if (stated.delay) put(out, "delay: {}ns", stated.delay->count());
  put(out, "}}\n");
}

void put_hashed(Text& out, const std::vector<PacketField>& fields) {
  put(out, "hashed: [");
  for (std::size_t i = 0; i < fields.size(); ++i) put(out, "{}{}", i > 0 ? ", " : "", to_string(fields[i]));
  put(out, "]\n");
}

void put_addresses(Text& out, const Fabric& fabric, const AddressBook& addresses) {
  put(out, "addresses:\n  ports:\n");
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
    for (const PortId port : fabric.ports_of(NodeId(n)))  // their ids may be others when they are read again
      if (const auto address = addresses.address_of(port))
        put(out, "    {}: \"{}\"\n", end_name(fabric, port), to_string(*address));
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
    if (const auto address = addresses.address_of(NodeId(n)))
      put(out, "    {}: \"{}\"\n", scalar(fabric.name_of(NodeId(n))), to_string(*address));
}

}  // namespace

std::string write_fabric_file(const Fabric& fabric, const LabSettings& lab, const AddressBook& addresses,
                              const std::vector<FailureDomain>& domains) {
  Text out;
  put(out, "fabric: {}\nkind: {}\n", scalar(fabric.name()), to_string(fabric.kind()));
  put_lab(out, lab);
  if (!lab.tolerate.empty()) put_tolerance(out, lab.tolerate);
  if (!lab.hashed.empty()) put_hashed(out, lab.hashed);
  put(out, "nodes:\n");
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) put_node(out, fabric, NodeId(n));
  put(out, "links:{}\n", fabric.link_count() == 0 ? " []" : "");
  for (const Link& link : fabric.links())
    put(out, "  - {{a: {}, b: {}, rate: {}}}\n", end_name(fabric, link.a), end_name(fabric, link.b),
        exact(link.rate));
  if (!addresses.empty()) put_addresses(out, fabric, addresses);
  put(out, "{}", domains_text(fabric, domains));
  return fmt::to_string(out);
}

}  // namespace weft::files
