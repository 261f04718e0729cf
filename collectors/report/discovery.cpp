#include "collectors/report/discovery.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "topology/base/readable.hpp"
#include "topology/base/text.hpp"
#include "topology/files/fabric_json.hpp"
#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::report {
namespace {

std::string count_of(std::size_t count, const char* one, const char* more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

std::string tiers_of(const Fabric& fabric) {
  std::string text;
  for (const Tier tier : kTiers) {
    std::size_t count = 0;
    for (const Node& node : fabric.nodes()) count += node.tier == tier ? 1 : 0;
    if (tier == Tier::host || count == 0) continue;
    const std::string plural = tier == Tier::leaf ? "leaves" : std::string(to_string(tier)) + "s";
    text += fmt::format(", {} {}", count, count == 1 ? std::string(to_string(tier)) : plural);
  }
  return text;
}

void put_lines(std::string& out, const char* before, const std::vector<std::string>& lines,
               std::size_t columns) {
  for (const auto& line : lines) out += wrapped(fmt::format("{}: {}", before, line), 0, columns);
}

/// The addresses whose port is not known, as lines to complete and to paste under `addresses`.
std::string open_addresses(const discover::FoundFabric& found, const char* before) {
  std::string text;
  for (const auto& open : found.open)
    for (const IpAddress& address : open.addresses)
      text += fmt::format("{}    NODE/PORT: \"{}\"   # of {}\n", before, to_string(address), open.of);
  return text;
}

/// A sweep sends by the rates of the file: one that nobody told is said.
std::vector<std::string> assumptions(const discover::FoundFabric& found) {
  if (found.rates_assumed == 0) return {};
  return {fmt::format("{} of {}, whose rate nothing tells: correct it with --rate, for a sweep sends by it",
                      readable(found.assumed_rate), count_of(found.rates_assumed, "cable", "cables"))};
}

}  // namespace

std::string discovery_table(const Discovery& discovery, std::size_t columns) {
  const Fabric& fabric = discovery.found.fabric;
  std::string out;
  std::size_t between = 0, named = 0, ends = 0;
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
    between += fabric.between_switches(LinkId(l)) ? 1 : 0;
  std::size_t addressed = 0;
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p) {
    if (fabric.is_host(fabric.port(PortId(p)).node)) continue;
    ++ends;
    named += fabric.port(PortId(p)).name.empty() ? 0 : 1;
    addressed += discovery.found.addresses.address_of(PortId(p)) ? 1 : 0;
  }
  out += wrapped(
      fmt::format("fabric {}: {} with {}{}", fabric.name(), count_of(fabric.hosts().size(), "host", "hosts"),
                  count_of(fabric.nics().size(), "NIC", "NICs"), tiers_of(fabric)),
      0, columns);
  out += wrapped(
      fmt::format("{}: {} of hosts, {} between switches", count_of(fabric.link_count(), "cable", "cables"),
                  fabric.link_count() - between, between),
      0, columns);
  out += wrapped(fmt::format("{} of {} switch ports have an address, {} a name", addressed, ends, named), 0,
                 columns);
  if (discovery.traces > 0) out += fmt::format("by {}", count_of(discovery.traces, "trace", "traces"));
  if (discovery.records > 0)
    out += fmt::format("{}{}", discovery.traces > 0 ? " and " : "by ",
                       count_of(discovery.records, "record", "records"));
  out += "\n";
  put_lines(out, "assumed", assumptions(discovery.found), columns);
  put_lines(out, "unknown", discovery.found.gaps, columns);
  put_lines(out, "disagree", discovery.found.disagreements, columns);
  put_lines(out, "differs", discovery.differences, columns);
  if (!discovery.against.empty() && discovery.differences.empty())
    out += wrapped("no cable found differs from " + discovery.against, 0, columns);
  if (!discovery.found.open.empty())
    out += "addresses to complete and to paste into the fabric file:\naddresses:\n  ports:\n" +
           open_addresses(discovery.found, "");
  return out;
}

std::string discovery_yaml(const Discovery& discovery) {
  std::string out;
  const auto comment = [&](const char* before, const std::vector<std::string>& lines) {
    for (const auto& line : lines) out += fmt::format("# {}: {}\n", before, line);
  };
  comment("assumed", assumptions(discovery.found));
  comment("unknown", discovery.found.gaps);
  comment("disagree", discovery.found.disagreements);
  comment("differs", discovery.differences);
  out += files::write_fabric_file(discovery.found.fabric, {}, discovery.found.addresses);
  if (!discovery.found.open.empty())
    out += "# to complete and to move under addresses, ports:\n" + open_addresses(discovery.found, "#");
  return out;
}

std::string discovery_json(const Discovery& discovery, const files::DocumentStamp& stamp) {
  auto tree = files::stamped_tree("weft.discovery/1", stamp);
  tree["fabric"] = files::DocumentTree::parse(files::fabric_json(discovery.found.fabric, stamp));
  auto& addresses = tree["addresses"] = files::DocumentTree::object();
  const Fabric& fabric = discovery.found.fabric;
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p)
    if (const auto address = discovery.found.addresses.address_of(PortId(p)))
      addresses[fabric.name_of(PortId(p))] = to_string(*address);
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
    if (const auto address = discovery.found.addresses.address_of(NodeId(n)))
      addresses[fabric.name_of(NodeId(n))] = to_string(*address);
  tree["assumed"] = assumptions(discovery.found);
  tree["unknown"] = discovery.found.gaps;
  auto& open = tree["open_addresses"] = files::DocumentTree::array();
  for (const auto& some : discovery.found.open) {
    files::DocumentTree one;
    one["of"] = some.of;
    for (const IpAddress& address : some.addresses) one["addresses"].push_back(to_string(address));
    open.push_back(std::move(one));
  }
  tree["disagreements"] = discovery.found.disagreements;
  tree["differences"] = discovery.differences;
  tree["troubles"] = discovery.troubles;
  tree["traces"] = discovery.traces;
  tree["records"] = discovery.records;
  return files::document_text(tree) + "\n";
}

}  // namespace weft::report
