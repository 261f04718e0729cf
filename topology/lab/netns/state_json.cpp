#include <nlohmann/json.hpp>

#include "topology/lab/netns/state.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "weft.labstate/1";

// Reading: a part that is not there or of another type throws json::exception, which ends in
// lab_state_from_json; nothing else may throw across it.

void put_number(json& to, const char* key, const auto& value) {
  if (value) to[key] = *value;
}

json to_json(const Node& node) {
  json out = {
      {"name", node.name}, {"host", node.kind == NodeKind::host}, {"tier", static_cast<int>(node.tier)}};
  put_number(out, "pod", node.pod);
  put_number(out, "plane", node.plane);
  if (node.guid) out["guid"] = node.guid->value();
  return out;
}

Result<Node> node_from(const json& in) {
  const int tier = in.at("tier").get<int>();
  if (tier < static_cast<int>(Tier::host) || tier > static_cast<int>(kTiers.back()))
    return fail(ErrorKind::invalid_input, "a node of tier {}", tier);
  Node node{.name = in.at("name"),
            .kind = in.at("host").get<bool>() ? NodeKind::host : NodeKind::switch_,
            .tier = static_cast<Tier>(tier)};
  if (in.contains("pod")) node.pod = in.at("pod").get<std::uint32_t>();
  if (in.contains("plane")) node.plane = in.at("plane").get<std::uint32_t>();
  if (in.contains("guid")) node.guid = Guid(in.at("guid").get<std::uint64_t>());
  return node;
}

json to_json(const Fabric& fabric) {
  json out = {{"name", fabric.name()},
              {"infiniband", fabric.kind() == FabricKind::infiniband},
              {"nodes", json::array()},
              {"ports", json::array()},
              {"links", json::array()}};
  for (const Node& node : fabric.nodes()) out["nodes"].push_back(to_json(node));
  for (const Port& port : fabric.ports()) out["ports"].push_back({port.node.value(), port.number.value()});
  for (const Link& link : fabric.links())
    out["links"].push_back({link.a.value(), link.b.value(), link.rate.bits_per_second()});
  return out;
}

Result<Fabric> fabric_from(const json& in) {
  FabricBuilder builder(in.at("name"),
                        in.at("infiniband").get<bool>() ? FabricKind::infiniband : FabricKind::roce);
  std::size_t ports = 0;
  for (const json& one : in.at("nodes")) {
    WEFT_TRY(auto node, node_from(one));
    WEFT_TRY_VOID(builder.add_node(std::move(node)));
  }
  for (const json& port : in.at("ports")) {
    const NodeId node(port.at(0).get<std::uint32_t>());
    if (node.value() >= in.at("nodes").size()) return fail(ErrorKind::invalid_input, "a port of no node");
    WEFT_TRY_VOID(builder.add_port(node, PortNumber(port.at(1).get<std::uint16_t>())));
    ++ports;
  }
  for (const json& link : in.at("links")) {
    const PortId a(link.at(0).get<std::uint32_t>());
    const PortId b(link.at(1).get<std::uint32_t>());
    if (a.value() >= ports || b.value() >= ports) return fail(ErrorKind::invalid_input, "a link of no port");
    WEFT_TRY_VOID(builder.add_link(a, b, Bandwidth::bit(link.at(2).get<double>())));
  }
  return std::move(builder).build();
}

json to_json(const LabSettings& settings) {
  json out = {{"ipv6", settings.family == IpFamily::v6}, {"mtu", settings.mtu.count()}};
  if (settings.link_rate) out["link_rate"] = settings.link_rate->bits_per_second();
  if (!settings.guests.empty()) out["guests"] = settings.guests;
  if (!settings.guest_image.empty()) out["guest_image"] = settings.guest_image;
  if (settings.tolerate.loss) out["tolerated_loss"] = settings.tolerate.loss->value();
  if (settings.tolerate.delay) out["tolerated_delay_ns"] = settings.tolerate.delay->count();
  return out;
}

Result<LabSettings> settings_from(const json& in) {
  LabSettings settings{.link_rate = std::nullopt,
                       .family = in.at("ipv6").get<bool>() ? IpFamily::v6 : IpFamily::v4,
                       .mtu = Bytes(in.at("mtu").get<std::int64_t>())};
  if (in.contains("guests")) settings.guests = in.at("guests").get<std::vector<std::string>>();
  if (in.contains("guest_image")) settings.guest_image = in.at("guest_image").get<std::string>();
  if (in.contains("tolerated_loss")) settings.tolerate.loss = Fraction(in.at("tolerated_loss").get<double>());
  if (in.contains("tolerated_delay_ns"))
    settings.tolerate.delay = Nanoseconds(in.at("tolerated_delay_ns").get<std::int64_t>());
  const Tolerance tolerated = settings.tolerate.over({});
  if (!(tolerated.loss.value() > 0 && tolerated.loss.value() < 1) || tolerated.delay < Nanoseconds(0))
    return fail(ErrorKind::invalid_input, "a tolerance that is none");
  if (!in.contains("link_rate")) return settings;
  settings.link_rate = Bandwidth::bit(in.at("link_rate").get<double>());
  if (*settings.link_rate <= Bandwidth()) return fail(ErrorKind::invalid_input, "a link rate of nothing");
  return settings;
}

json to_json(ChannelId channel, const ChannelFault& fault) {
  json out = {{"channel", channel.value()}};
  if (fault.loss) out["loss"] = fault.loss->value();
  if (fault.rate) out["rate"] = fault.rate->bits_per_second();
  if (fault.load) out["load"] = fault.load->bits_per_second();
  if (fault.delay) out["delay_ns"] = fault.delay->count();
  if (fault.mtu) out["mtu"] = fault.mtu->count();
  if (fault.corruption) out["corruption"] = fault.corruption->value();
  return out;
}

ChannelFault fault_from(const json& in) {
  ChannelFault fault;
  if (in.contains("loss")) fault.loss = Fraction(in.at("loss").get<double>());
  if (in.contains("rate")) fault.rate = Bandwidth::bit(in.at("rate").get<double>());
  if (in.contains("load")) fault.load = Bandwidth::bit(in.at("load").get<double>());
  if (in.contains("delay_ns")) fault.delay = Nanoseconds(in.at("delay_ns").get<std::int64_t>());
  if (in.contains("mtu")) fault.mtu = Bytes(in.at("mtu").get<std::int64_t>());
  if (in.contains("corruption")) fault.corruption = Fraction(in.at("corruption").get<double>());
  return fault;
}

json to_json(const ProcessMark& process) { return {{"pid", process.pid}, {"start", process.start}}; }

ProcessMark process_from(const json& in) {
  return {.pid = in.at("pid").get<pid_t>(), .start = in.at("start").get<std::uint64_t>()};
}

Result<ChannelId> channel_from(const json& in, const Fabric& fabric) {
  const ChannelId channel(in.at("channel").get<std::uint32_t>());
  if (channel.value() >= fabric.channel_count())
    return fail(ErrorKind::invalid_input, "a fault on no channel");
  return channel;
}

/// The faults and what keeps them: everything that names channels and links of state.fabric.
Result<void> read_faults(const json& in, LabState& state) {
  for (const json& fault : in.at("faults")) {
    WEFT_TRY(const auto channel, channel_from(fault, state.fabric));
    state.faults[channel] = fault_from(fault);
  }
  for (const json& link : in.at("down")) {
    if (link.get<std::uint32_t>() >= state.fabric.link_count())
      return fail(ErrorKind::invalid_input, "a fault on no link");
    state.down.insert(LinkId(link.get<std::uint32_t>()));
  }
  for (const json& worker : in.at("workers")) {
    WEFT_TRY(const auto channel, channel_from(worker, state.fabric));
    const auto kind = worker.at("load").get<bool>() ? LabWorker::Kind::load : LabWorker::Kind::delay;
    state.workers.push_back({kind, channel, process_from(worker.at("process"))});
  }
  return {};
}

Result<LabState> state_from(const json& in) {
  if (in.at("schema") != kSchema) return fail(ErrorKind::invalid_input, "expected schema {}", kSchema);
  WEFT_TRY(auto fabric, fabric_from(in.at("fabric")));
  WEFT_TRY(const auto settings, settings_from(in.at("settings")));
  LabState state{.name = in.at("name"),
                 .owner = in.at("root").get<bool>() ? LabOwner::root : LabOwner::user,
                 .complete = in.at("complete").get<bool>(),
                 .fabric = std::move(fabric),
                 .settings = settings};
  if (in.contains("holder")) state.holder = process_from(in.at("holder"));
  WEFT_TRY_VOID(read_faults(in, state));
  return state;
}

}  // namespace

nlohmann::json to_json(const LabState& state) {
  json out = {{"schema", kSchema},
              {"name", state.name},
              {"root", state.owner == LabOwner::root},
              {"complete", state.complete},
              {"fabric", to_json(state.fabric)},
              {"settings", to_json(state.settings)},
              {"faults", json::array()},
              {"down", json::array()},
              {"workers", json::array()}};
  if (state.holder) out["holder"] = to_json(*state.holder);
  for (const auto& [channel, fault] : state.faults) out["faults"].push_back(to_json(channel, fault));
  for (const LinkId link : state.down) out["down"].push_back(link.value());
  for (const LabWorker& worker : state.workers)
    out["workers"].push_back({{"load", worker.kind == LabWorker::Kind::load},
                              {"channel", worker.channel.value()},
                              {"process", to_json(worker.process)}});
  return out;
}

Result<LabState> lab_state_from_json(const nlohmann::json& document) {
  try {
    return state_from(document);
  } catch (const json::exception& error) {
    return fail(ErrorKind::invalid_input, "not as weft wrote it: {}", error.what());
  }
}

bool same_fabric(const LabState& a, const LabState& b) {
  return to_json(a.fabric) == to_json(b.fabric) && to_json(a.settings) == to_json(b.settings);
}

}  // namespace weft
