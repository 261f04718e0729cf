#include "topology/files/fabric_file.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "topology/files/address_section.hpp"
#include "topology/files/domain_section.hpp"
#include "topology/files/explicit_fabric.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/ibnetdiscover.hpp"
#include "topology/files/yaml_fields.hpp"
#include "topology/model/clos.hpp"

namespace weft::files {
namespace {

using namespace std::string_view_literals;

constexpr std::array kFileKeys{"fabric"sv, "kind"sv,    "lab"sv,     "clos"sv,      "rails"sv,
                               "nodes"sv,  "links"sv,   "import"sv,  "addresses"sv, "tolerate"sv,
                               "hashed"sv, "domains"sv, "counters"sv};
constexpr std::array kClosKeys{"pods"sv, "leaves"sv, "spines"sv, "cores"sv, "hosts_per_leaf"sv, "link"sv};
constexpr std::array kRailsKeys{"groups"sv, "hosts_per_group"sv, "rails"sv, "spines"sv,
                                "pods"sv,   "cores"sv,           "link"sv};
constexpr std::array kLabKeys{"link_rate"sv,  "family"sv,       "mtu"sv,      "routing"sv, "lmc"sv,
                              "slow_links"sv, "descriptions"sv, "replaced"sv, "guests"sv,  "guest_image"sv};
// What OpenSM calls its engines (opensm(8), -R).
constexpr std::array kRoutingEngines{"minhop"sv, "updn"sv,   "dnup"sv, "ftree"sv,
                                     "lash"sv,   "dfsssp"sv, "sssp"sv, "dor"sv};
constexpr std::uint32_t kMaxLmc = 7;
constexpr std::array kImportKeys{"ibnetdiscover"sv};
constexpr std::array kTolerateKeys{"loss"sv, "delay"sv};

constexpr std::size_t kMaxNameLength = 128;
constexpr std::size_t kMaxPlaceLength = 256;  // the name of a link, as written here: YAML's keys end at 1,024
// What 2,000,000 links take, written out with long names.
constexpr Bytes kMaxFabricFileBytes = Bytes(512'000'000);
// The smallest MTU that IPv6 allows (RFC 8200, section 5), and the largest IP packet.
constexpr Bytes kMinLabMtu = Bytes(1280);
constexpr Bytes kMaxLabMtu = Bytes(65535);

Result<std::string> yaml_fabric_name(YamlView value, std::string_view key) {
  const auto name = value.text();
  const bool printable = std::ranges::none_of(name, [](unsigned char c) { return std::iscntrl(c) != 0; });
  if (name.empty() || name.size() > kMaxNameLength || !printable)
    return value.error("{}: expected a name of 1 to {} printable characters, found {}", key, kMaxNameLength,
                       value.described());
  return std::string(name);
}

Result<FabricKind> yaml_kind(YamlView value, std::string_view key) {
  for (const auto kind : {FabricKind::roce, FabricKind::infiniband})
    if (value.text() == to_string(kind)) return kind;
  return value.error("{}: expected roce or infiniband, found {}", key, value.described());
}

/// Adds the file's place to what a builder said.
Result<Fabric> located(Result<Fabric> built, YamlView where) {
  if (!built) return where.error("{}", built.error().message);
  return built;
}

Result<Fabric> read_clos(std::string name, FabricKind kind, YamlView where) {
  WEFT_TRY(const auto fields, YamlFields::read(where, "clos", kClosKeys));
  PodClosSpec spec{.name = std::move(name), .kind = kind};
  const auto done =
      in_turn([&] { return fields.need_into("leaves", spec.leaves, yaml_count); },
              [&] { return fields.need_into("spines", spec.spines, yaml_count); },
              [&] { return fields.need_into("hosts_per_leaf", spec.hosts_per_leaf, yaml_count); },
              [&] { return fields.read_into("pods", spec.pods, yaml_count); },
              [&] { return fields.read_into("cores", spec.cores, yaml_count); },
              [&] { return fields.read_into("link", spec.link, yaml_bandwidth); });
  if (!done) return pass_on(done);
  if (fields.find("pods") || fields.find("cores")) return located(make_pod_clos(spec), where);
  return located(make_clos({.name = spec.name,
                            .kind = kind,
                            .leaves = spec.leaves,
                            .spines = spec.spines,
                            .hosts_per_leaf = spec.hosts_per_leaf,
                            .link = spec.link}),
                 where);
}

Result<Fabric> read_rails(std::string name, FabricKind kind, YamlView where) {
  WEFT_TRY(const auto fields, YamlFields::read(where, "rails", kRailsKeys));
  RailsSpec spec{.name = std::move(name), .kind = kind};
  const auto done =
      in_turn([&] { return fields.need_into("groups", spec.groups, yaml_count); },
              [&] { return fields.need_into("hosts_per_group", spec.hosts_per_group, yaml_count); },
              [&] { return fields.need_into("rails", spec.rails, yaml_count); },
              [&] { return fields.need_into("spines", spec.spines, yaml_count); },
              [&] { return fields.read_into("pods", spec.pods, yaml_count); },
              [&] { return fields.read_into("cores", spec.cores, yaml_count); },
              [&] { return fields.read_into("link", spec.link, yaml_bandwidth); });
  if (!done) return pass_on(done);
  return located(make_rails(spec), where);
}

/// A relative file lies beside the fabric file.
Result<Fabric> read_import(YamlView where, std::string name, std::string_view file,
                           std::vector<std::string>& remarks) {
  WEFT_TRY(const auto fields, YamlFields::read(where, "import", kImportKeys));
  WEFT_TRY(const auto dump, fields.need("ibnetdiscover"));
  const auto path = std::filesystem::path(file).parent_path() / std::filesystem::path(dump.text());
  const auto text = read_text_file(path, kMaxFabricFileBytes);
  if (!text) return located(Result<Fabric>(pass_on(text)), dump);
  const auto subnet = parse_ibnetdiscover(*text);
  if (!subnet) return located(Result<Fabric>(pass_on(subnet, path.string())), dump);

  auto built = build_infiniband_fabric(*subnet, std::move(name));
  if (!built) return located(Result<Fabric>(pass_on(built, path.string())), dump);
  for (const auto& remark : built->remarks) remarks.push_back(path.string() + ": " + remark);
  return std::move(built->fabric);
}

/// The one part of the file that says what the fabric consists of.
Result<Fabric> read_body(const YamlFields& file, std::string name, FabricKind kind, std::string_view path,
                         LabSettings& lab, std::vector<std::string>& remarks) {
  const auto clos = file.find("clos");
  const auto rails = file.find("rails");
  const auto nodes = file.find("nodes");
  const auto links = file.find("links");
  const auto import = file.find("import");
  const int forms = (clos ? 1 : 0) + (rails ? 1 : 0) + (nodes || links ? 1 : 0) + (import ? 1 : 0);
  if (forms != 1)
    return file.map().error("expected one of clos, rails, nodes with links, or import; found {}",
                            forms == 0 ? "none" : "more than one");
  if (clos) return read_clos(std::move(name), kind, *clos);
  if (rails) return read_rails(std::move(name), kind, *rails);
  if (import) return read_import(*import, std::move(name), path, remarks);
  if (!nodes || !links)
    return file.map().error("'{}' is missing beside '{}'", nodes ? "links" : "nodes",
                            nodes ? "nodes" : "links");
  WEFT_TRY(auto read, read_explicit_fabric(std::move(name), kind, *nodes, *links));
  lab.guests = std::move(read.guests);
  return std::move(read.fabric);
}

Result<std::optional<Bandwidth>> yaml_lab_rate(YamlView value, std::string_view key) {
  if (value.text() == "none") return std::nullopt;
  const auto rate = parse_bandwidth(value.text());
  if (!rate)
    return value.error("{}: expected a bandwidth as in 50M, or none, found {}", key, value.described());
  return *rate;
}

Result<Bytes> yaml_lab_mtu(YamlView value, std::string_view key) {
  const auto size = parse_bytes(value.text());
  if (!size || *size < kMinLabMtu || *size > kMaxLabMtu)
    return value.error("{}: expected {} to {} bytes, found {}", key, kMinLabMtu.count(), kMaxLabMtu.count(),
                       value.described());
  return *size;
}

Result<std::string> yaml_routing(YamlView value, std::string_view key) {
  if (std::ranges::find(kRoutingEngines, value.text()) != kRoutingEngines.end())
    return std::string(value.text());
  return value.error("{}: expected one of {}, found {}", key, fmt::join(kRoutingEngines, ", "),
                     value.described());
}

Result<std::uint8_t> yaml_lmc(YamlView value, std::string_view key) {
  WEFT_TRY(const auto lmc, yaml_count(value, key));
  if (lmc > kMaxLmc) return value.error("{}: expected 0 to {}, found {}", key, kMaxLmc, lmc);
  return static_cast<std::uint8_t>(lmc);
}

/// The name of a node, a NIC or a link; whether there is one is for those to say who know the fabric.
Result<std::string> yaml_place(YamlView value, std::string_view key) {
  const auto name = value.text();
  if (name.empty() || name.size() > kMaxPlaceLength)
    return value.error("{}: expected a name of 1 to {} characters, found {}", key, kMaxPlaceLength,
                       value.described());
  return std::string(name);
}

/// A map of names to values as `read_value` reads them. `example`: of such a map.
template <class T>
Result<std::vector<std::pair<std::string, T>>> yaml_named(YamlView value, std::string_view key,
                                                          Result<T> (*read_value)(YamlView, std::string_view),
                                                          std::string_view example) {
  if (value.kind() != YamlKind::map)
    return value.error("{}: expected a map as in {}, found {}", key, example, value.described());
  std::vector<std::pair<std::string, T>> named;
  for (auto name = value.first(); name;) {
    const auto at = name->next();
    if (!at) break;
    WEFT_TRY(auto read, read_value(*at, key));
    WEFT_TRY(auto place, yaml_place(*name, key));
    named.emplace_back(std::move(place), std::move(read));
    name = at->next();
  }
  return named;
}

Result<std::vector<std::pair<std::string, Bandwidth>>> yaml_slow_links(YamlView value, std::string_view key) {
  return yaml_named<Bandwidth>(value, key, yaml_bandwidth, "{leaf1--spine2: 200G}");
}

Result<std::vector<std::pair<std::string, std::string>>> yaml_descriptions(YamlView value,
                                                                           std::string_view key) {
  return yaml_named<std::string>(value, key, yaml_text, "{host1: \"MT4123 ConnectX6\"}");
}

Result<std::vector<std::string>> yaml_names(YamlView list, std::string_view key) {
  WEFT_TRY_VOID(yaml_sequence(list, key));
  std::vector<std::string> names;
  for (auto item = list.first(); item; item = item->next()) {
    WEFT_TRY(auto name, yaml_place(*item, key));
    names.push_back(std::move(name));
  }
  return names;
}

/// `all`, or a list of hosts. An Error names what is no host.
Result<std::vector<std::string>> yaml_guests(YamlView value, const Fabric& fabric) {
  std::vector<std::string> guests;
  if (value.text() == "all") {
    for (const NodeId host : fabric.hosts()) guests.push_back(fabric.name_of(host));
    return guests;
  }
  if (value.kind() != YamlKind::sequence)
    return value.error("guests: expected all, or a list of hosts, found {}", value.described());
  for (auto item = value.first(); item; item = item->next()) {
    const auto node = fabric.find_node(item->text());
    if (!node || !fabric.is_host(*node))
      return item->error("guests: expected the name of a host, found {}", item->described());
    guests.emplace_back(item->text());
  }
  return guests;
}

Result<StatedTolerance> yaml_tolerance(YamlView where, std::string_view key) {
  WEFT_TRY(const auto fields, YamlFields::read(where, key, kTolerateKeys));
  const auto located_value = [](auto parse) {
    return [parse](YamlView value, std::string_view name) -> decltype(parse("")) {
      auto read = parse(value.text());
      if (!read) return value.error("{}: {}", name, read.error().message);
      return read;
    };
  };
  StatedTolerance stated;
  const auto done =
      in_turn([&] { return fields.read_into("loss", stated.loss, located_value(parse_tolerated_loss)); },
              [&] { return fields.read_into("delay", stated.delay, located_value(parse_tolerated_delay)); });
  if (!done) return pass_on(done);
  return stated;
}

Result<std::vector<PacketField>> yaml_hashed(YamlView list, std::string_view key) {
  WEFT_TRY_VOID(yaml_sequence(list, key));
  std::vector<PacketField> fields;
  for (auto item = list.first(); item; item = item->next()) {
    const auto field = parse_packet_field(item->text());
    if (!field || std::ranges::count(fields, *field) > 0)
      return item->error(
          "{}: expected source_port, queue_pair, traffic_class, flow_label or size, each once; found {}", key,
          item->described());
    fields.push_back(*field);
  }
  return fields;
}

/// The hosts of `lab: {guests: ...}`, beside those that say so themselves.
Result<void> add_guests(const YamlFields& file, const Fabric& fabric, LabSettings& lab) {
  if (const auto where = file.find("lab")) {
    WEFT_TRY(const auto fields, YamlFields::read(*where, "lab", kLabKeys));
    if (const auto value = fields.find("guests")) {
      WEFT_TRY(const auto guests, yaml_guests(*value, fabric));
      lab.guests.insert(lab.guests.end(), guests.begin(), guests.end());
    }
  }
  std::ranges::sort(lab.guests);
  const auto repeated = std::ranges::unique(lab.guests);
  lab.guests.erase(repeated.begin(), repeated.end());
  return {};
}

Result<LabSettings> yaml_lab(YamlView where, std::string_view key) {
  WEFT_TRY(const auto fields, YamlFields::read(where, key, kLabKeys));
  LabSettings lab;
  const auto done =
      in_turn([&] { return fields.read_into("link_rate", lab.link_rate, yaml_lab_rate); },
              [&] { return fields.read_into("family", lab.family, yaml_family); },
              [&] { return fields.read_into("mtu", lab.mtu, yaml_lab_mtu); },
              [&] { return fields.read_into("routing", lab.routing, yaml_routing); },
              [&] { return fields.read_into("lmc", lab.lmc, yaml_lmc); },
              [&] { return fields.read_into("slow_links", lab.slow_links, yaml_slow_links); },
              [&] { return fields.read_into("descriptions", lab.descriptions, yaml_descriptions); },
              [&] { return fields.read_into("replaced", lab.replaced, yaml_names); },
              [&] { return fields.read_into("guest_image", lab.guest_image, yaml_text); });
  if (!done) return pass_on(done);
  return lab;
}

}  // namespace

Result<FabricFile> parse_fabric_file(std::string_view text, std::string_view file) {
  WEFT_TRY(const auto tree, YamlTree::parse(text, file));
  WEFT_TRY(const auto fields, YamlFields::read(tree.root(), "a fabric file", kFileKeys));
  std::string name;
  FabricKind kind = FabricKind::roce;
  LabSettings lab;
  WEFT_TRY_VOID(in_turn([&] { return fields.need_into("fabric", name, yaml_fabric_name); },
                        [&] { return fields.read_into("kind", kind, yaml_kind); },
                        [&] { return fields.read_into("lab", lab, yaml_lab); },
                        [&] { return fields.read_into("tolerate", lab.tolerate, yaml_tolerance); },
                        [&] { return fields.read_into("hashed", lab.hashed, yaml_hashed); }));
  std::vector<std::string> remarks;
  WEFT_TRY(auto fabric, read_body(fields, std::move(name), kind, file, lab, remarks));
  WEFT_TRY_VOID(add_guests(fields, fabric, lab));
  FabricFile read{.fabric = std::move(fabric), .lab = lab, .remarks = std::move(remarks)};
  const auto addresses = [&](YamlView value, std::string_view) {
    return read_addresses(value, read.fabric, file);
  };
  WEFT_TRY_VOID(fields.read_into("addresses", read.addresses, addresses));
  WEFT_TRY_VOID(fields.read_into("domains", read.domains, [&](YamlView value, std::string_view) {
    return read_domains(value, read.fabric);
  }));
  WEFT_TRY_VOID(fields.read_into("counters", read.counters, [](YamlView value, std::string_view) {
    return read_counter_sources(value);
  }));
  return read;
}

Result<FabricFile> read_fabric_file(const std::filesystem::path& path) {
  const auto text = read_text_file(path, kMaxFabricFileBytes);
  if (!text) return pass_on(text, "fabric file");
  return parse_fabric_file(*text, path.string());
}

}  // namespace weft::files
