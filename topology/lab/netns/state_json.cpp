#include <algorithm>

#include "topology/base/json_members.hpp"
#include "topology/lab/netns/state.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::json_members {

/// What a Fabric is built from.
struct FabricParts {
  std::string name;
  FabricKind kind = FabricKind::roce;
  std::vector<Node> nodes;
  std::vector<Port> ports;
  std::vector<Link> links;
};

namespace {

/// Below it, the share of a link in another rate may come out as nothing.
constexpr Bandwidth kMinRate = Bandwidth::bit(1);

/// What FabricBuilder refuses is as bad as a member that does not fit.
template <class T>
void check(const Result<T>& added) {
  if (!added) throw BadField(added.error().message);
}

}  // namespace

template <class Io>
static void members(Io& io, Node& m) {
  auto tier = static_cast<std::uint8_t>(m.tier);
  io("name", m.name);
  either(io, "host", m.kind, NodeKind::host, NodeKind::switch_);
  io("tier", tier);
  io("pod", m.pod);
  io("plane", m.plane);
  io("guid", m.guid);
  if (tier > static_cast<std::uint8_t>(kTiers.back())) throw BadField(fmt::format("a node of tier {}", tier));
  m.tier = static_cast<Tier>(tier);
}
template <class Io>
static void members(Io& io, Port& m) {
  io("node", m.node);
  io("number", m.number);
  rarely(io, "name", m.name);
}
template <class Io>
static void members(Io& io, Link& m) {
  io("a", m.a);
  io("b", m.b);
  io("rate", m.rate);
  if (Io::kReads && m.rate < kMinRate) throw BadField("a link of no rate");
}
template <class Io>
static void members(Io& io, FabricParts& m) {
  io("name", m.name);
  either(io, "infiniband", m.kind, FabricKind::infiniband, FabricKind::roce);
  io("nodes", table(m.nodes));
  io("ports", table(m.ports));
  io("links", table(m.links));
}

static Json write_json(OneValue, const Fabric& fabric) {
  const auto all = [](const auto& span) { return std::vector(span.begin(), span.end()); };
  return write_value(FabricParts{fabric.name(), fabric.kind(), all(fabric.nodes()), all(fabric.ports()),
                                 all(fabric.links())});
}
static void read_json(OneValue, const Json& from, Fabric& into) {
  FabricParts parts;
  read_value(from, parts);
  FabricBuilder builder(parts.name, parts.kind);
  for (const Node& node : parts.nodes) check(builder.add_node(node));
  for (const Port& port : parts.ports) {
    if (port.node.value() >= parts.nodes.size()) throw BadField("a port of no node");
    const auto id = builder.add_port(port.node, port.number);
    check(id);
    if (!port.name.empty()) check(builder.name_port(*id, port.name));
  }
  for (const Link& link : parts.links) {
    if (std::max(link.a, link.b).value() >= parts.ports.size()) throw BadField("a link of no port");
    check(builder.add_link(link.a, link.b, link.rate));
  }
  into = std::move(builder).build();
}

template <class Io>
static void members(Io& io, os::ProcessMark& m) {
  auto pid = static_cast<std::uint32_t>(m.pid);
  io("pid", pid);
  m.pid = static_cast<pid_t>(pid);
  if (m.pid < 0) throw BadField("no process");
  io("start", m.start);
}
struct NamedMetric {
  std::string counter, metric;
};
template <class Io>
static void members(Io& io, NamedMetric& m) {
  io("counter", m.counter);
  io("metric", m.metric);
}
template <class Io>
static void members(Io& io, CounterSources& m) {
  std::vector<NamedMetric> metrics;
  for (const auto& [counter, metric] : m.metrics) metrics.push_back({counter, metric});
  io("prometheus", m.prometheus);
  io("presets", m.presets);
  io("switch", m.node_label);
  io("port", m.port_label);
  io("match", m.match);
  io("rename", m.renames);
  io("metrics", metrics);
  io("window_ns", m.window);
  io("exec", m.exec);
  if (!Io::kReads) return;
  m.metrics.clear();
  for (const NamedMetric& each : metrics) m.metrics.emplace_back(each.counter, each.metric);
}
template <class Io>
static void members(Io& io, LabSettings& m) {
  either(io, "ipv6", m.family, IpFamily::v6, IpFamily::v4);
  io("mtu", m.mtu);
  io("link_rate", m.link_rate);
  rarely(io, "guests", m.guests);
  rarely(io, "guest_image", m.guest_image);
  io("tolerated_loss", m.tolerate.loss);
  io("tolerated_delay_ns", m.tolerate.delay);
  rarely(io, "counters", m.counters);
  const Fraction loss = m.tolerate.over({}).loss;
  if (Io::kReads && (loss <= Fraction(0) || loss >= Fraction(1))) throw BadField("a tolerance that is none");
  if (Io::kReads && m.link_rate && *m.link_rate < kMinRate) throw BadField("a link rate of nothing");
}

}  // namespace weft::json_members

namespace weft::lab {

using namespace json_members;

struct FaultyChannel {
  ChannelId channel;
  ChannelFault fault;
};

template <class Io>
static void members(Io& io, FaultyChannel& m) {
  io("channel", m.channel);
  io("loss", m.fault.loss);
  io("rate", m.fault.rate);
  io("load", m.fault.load);
  io("delay_ns", m.fault.delay);
  io("mtu", m.fault.mtu);
  io("corruption", m.fault.corruption);
  if (Io::kReads &&
      (m.fault.rate.value_or(kMinRate) < kMinRate || m.fault.load.value_or(kMinRate) < kMinRate))
    throw BadField("a rate of nothing");
}
template <class Io>
static void members(Io& io, LabWorker& m) {
  either(io, "load", m.kind, LabWorker::Kind::load, LabWorker::Kind::delay);
  io("channel", m.channel);
  io("process", m.process);
}

/// The faults and what keeps them: everything that names channels and links of m.fabric.
template <class Io>
static void faults(Io& io, LabState& m) {
  std::vector<FaultyChannel> faulty;
  for (const auto& [channel, fault] : m.faults) faulty.push_back({channel, fault});
  std::vector<LinkId> down(m.down.begin(), m.down.end());
  io("faults", faulty);
  io("down", down);
  io("workers", m.workers);
  if (!Io::kReads) return;
  const auto is_there = [&](const auto& each) { return each.channel.value() < m.fabric.channel_count(); };
  if (!std::ranges::all_of(faulty, is_there) || !std::ranges::all_of(m.workers, is_there))
    throw BadField("a fault on no channel");
  for (const LinkId link : down)
    if (link.value() >= m.fabric.link_count()) throw BadField("a fault on no link");
  for (const FaultyChannel& each : faulty) m.faults[each.channel] = each.fault;
  m.down = {down.begin(), down.end()};
}

template <class Io>
static void members(Io& io, LabState& m) {
  constexpr const char* expected = "weft.labstate/2";
  std::string schema = expected;
  io("schema", schema);
  if (schema != expected) throw BadField(fmt::format("expected schema {}", expected));
  io("name", m.name);
  either(io, "root", m.owner, LabOwner::root, LabOwner::user);
  io("complete", m.complete);
  io("fabric", m.fabric);
  io("settings", m.settings);
  io("holder", m.holder);
  faults(io, m);
}

Json to_json(const LabState& state) { return write_value(state); }

Result<LabState> lab_state_from_json(const Json& document) {
  return read_as(document, "the file",
                 LabState{.fabric = FabricBuilder("", FabricKind::roce).build(), .settings = {}});
}

bool same_fabric(const LabState& a, const LabState& b) {
  return write_value(a.fabric) == write_value(b.fabric) && write_value(a.settings) == write_value(b.settings);
}

}  // namespace weft::lab
