#include "probes/discover/subnet_scan.hpp"

#include <utility>

namespace weft::discover {
namespace {

constexpr std::uint32_t kNobody = 0xFFFFFFFF;

/// `route`: to the node.
mad::MadQuestion question_of(const ScanQuestion& tag, const mad::DirectedRoute& route) {
  mad::MadQuestion question{.tag = std::uint64_t{tag.node} << 16 | std::uint64_t{tag.port} << 8 |
                                   static_cast<std::uint64_t>(tag.kind)};
  question.to = route;
  switch (tag.kind) {
    case ScanQuestion::Kind::explore:
      if (tag.node != kNobody) question.to = route.then(tag.port);
      question.attribute = mad::MadAttribute::node_info;
      break;
    case ScanQuestion::Kind::description:
      question.attribute = mad::MadAttribute::node_description;
      break;
    case ScanQuestion::Kind::switch_info:
      question.attribute = mad::MadAttribute::switch_info;
      break;
    case ScanQuestion::Kind::port_info:
      question.attribute = mad::MadAttribute::port_info;
      question.modifier = tag.port;
      break;
    case ScanQuestion::Kind::vendor_speed:
      question.attribute = mad::MadAttribute::vendor_port_info;
      question.modifier = tag.port;
      break;
  }
  return question;
}

ScanQuestion asked_by(const mad::MadQuestion& question) {
  return {static_cast<ScanQuestion::Kind>(question.tag & 0xFF), static_cast<std::uint8_t>(question.tag >> 8),
          static_cast<std::uint32_t>(question.tag >> 16)};
}

}  // namespace

std::optional<std::uint32_t> MetNodes::find(Guid guid) const {
  const auto at = index_.find(guid);
  return at == index_.end() ? std::nullopt : std::optional(at->second);
}

std::string MetNodes::name_of(std::uint32_t index) const {
  const IbSubnetNode& node = nodes_[index].node;
  return node.about.description.empty()
             ? fmt::format("0x{:x}", node.guid.value())
             : fmt::format("0x{:x} '{}'", node.guid.value(), node.about.description);
}

std::uint32_t MetNodes::add(const mad::NodeInfo& info, const mad::DirectedRoute& route) {
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  index_.emplace(info.node_guid, index);
  nodes_.push_back(Met{.node = {.is_switch = info.type == mad::IbNodeType::switch_,
                                .guid = info.node_guid,
                                .about = {.system_guid = info.system_guid,
                                          .vendor = info.vendor,
                                          .device = info.device,
                                          .revision = info.revision,
                                          .port_count = info.port_count},
                                .ports = {},
                                .is_router = info.type == mad::IbNodeType::router},
                       .info = info,
                       .route = route});
  return index;
}

bool MetNodes::join(std::uint32_t near, std::uint8_t near_port, std::uint32_t far, std::uint8_t far_port) {
  const IbSubnetPort::Peer to_far{nodes_[far].node.guid, far_port};
  const IbSubnetPort::Peer to_near{nodes_[near].node.guid, near_port};
  auto& here = nodes_[near].node.ports[near_port];
  auto& there = nodes_[far].node.ports[far_port];
  if ((here.peer && *here.peer != to_far) || (there.peer && *there.peer != to_near)) return false;
  here.peer = to_far;
  there.peer = to_near;
  return true;
}

const IbSubnetPort* MetNodes::peer_of(const IbSubnetNode& node, std::uint8_t number) const {
  const auto port = node.ports.find(number);
  if (port == node.ports.end() || !port->second.peer) return nullptr;
  return &nodes_[index_.at(port->second.peer->node)].node.ports.at(port->second.peer->port);
}

void MetNodes::complete_from_peers() {
  for (auto& known : nodes_)
    for (auto& [number, port] : known.node.ports) {
      const IbSubnetPort* peer = known.node.is_switch && !port.state ? peer_of(known.node, number) : nullptr;
      if (peer == nullptr) continue;
      port.guid = known.node.guid;
      port.width = peer->width;
      port.speed = peer->speed;
      port.state = peer->state;
    }
}

SubnetDiscovery MetNodes::discovery() && {
  SubnetDiscovery made;
  made.routes.own_node = nodes_[0].node.guid;
  made.routes.own_port = nodes_[0].info.local_port;
  for (auto& known : nodes_) {
    made.routes.to.emplace(known.node.guid, known.route);
    if (known.node.is_switch) made.routes.table_top.emplace(known.node.guid, known.table_top);
    made.subnet.nodes.push_back(std::move(known.node));
  }
  return made;
}

SubnetScan::SubnetScan(std::size_t most_nodes) : most_nodes_(most_nodes) {
  explorations_.push_back({Kind::explore, 0, kNobody});
}

std::optional<mad::MadQuestion> SubnetScan::next() {
  while (!attributes_.empty() || !explorations_.empty() || !visits_.empty()) {
    auto& queue = !attributes_.empty() ? attributes_ : !explorations_.empty() ? explorations_ : visits_;
    const Tag tag = queue.front();
    queue.pop_front();
    if (!needless(tag))
      return question_of(tag, tag.node == kNobody ? mad::DirectedRoute() : known_[tag.node].route);
  }
  return std::nullopt;
}

bool SubnetScan::needless(const Tag& tag) const {
  if (tag.node == kNobody) return false;
  const auto& node = known_[tag.node].node;
  if (tag.kind == Kind::explore) return full_ || known_.peer_of(node, tag.port) != nullptr;
  if (tag.kind != Kind::port_info || !node.is_switch || tag.port == 0) return false;
  // A port that its manager has not activated is worth a question at both ends.
  const IbSubnetPort* peer = known_.peer_of(node, tag.port);
  return peer != nullptr && peer->state == IbPortState::active;
}

void SubnetScan::answered(const mad::MadQuestion& question, const mad::MadAnswer& answer) {
  const Tag tag = asked_by(question);
  if (answer.outcome == mad::MadOutcome::answered) return take(tag, answer.data);
  unanswered(tag, answer);
}

void SubnetScan::take(const Tag& tag, ByteSpan data) {
  switch (tag.kind) {
    case Kind::explore:
      if (const auto info = sane(tag, mad::decode_node_info(data))) met(tag, *info);
      return;
    case Kind::description:
      known_[tag.node].node.about.description = mad::decode_node_description(data);
      return;
    case Kind::switch_info:
      if (const auto info = sane(tag, mad::decode_switch_info(data)))
        known_[tag.node].table_top = info->linear_table_top;
      return;
    case Kind::port_info:
      if (const auto info = sane(tag, mad::decode_port_info(data))) take_port_info(tag, *info);
      return;
    case Kind::vendor_speed:
      if (const auto faster = mad::decode_is_fdr10(data); faster && *faster)
        known_[tag.node].node.ports[tag.port].speed = LinkSpeed::fdr10;
      return;
  }
}

void SubnetScan::note_unread(const Tag& tag) {
  if (tag.kind == Kind::port_info && tag.node != kNobody)
    unread_.emplace(known_[tag.node].node.guid, tag.port);
}

template <class T>
std::optional<T> SubnetScan::sane(const Tag& tag, const Result<T>& decoded) {
  if (decoded) return *decoded;
  remark("{}: {}", place(tag), decoded.error().message);
  note_unread(tag);
  return std::nullopt;
}

std::string SubnetScan::place(const Tag& tag) const {
  if (tag.node == kNobody) return "our own port";
  const auto name = known_.name_of(tag.node);
  return tag.kind == Kind::explore || tag.port != 0 ? fmt::format("{} port {}", name, tag.port) : name;
}

void SubnetScan::unanswered(const Tag& tag, const mad::MadAnswer& answer) {
  if (tag.kind == Kind::vendor_speed) return;  // older firmware does not know it: QDR, then
  note_unread(tag);
  const auto how = answer.outcome == mad::MadOutcome::silent
                       ? std::string("no answer")
                       : fmt::format("a refusal (status 0x{:x})", answer.status);
  if (tag.kind != Kind::explore || tag.node == kNobody)
    remark("{}: {}", place(tag), how);
  else if (!needless(tag))
    remark("{}: the link is up, but what is behind it gives {}", place(tag), how);
}

void SubnetScan::met(const Tag& from, const mad::NodeInfo& info) {
  const bool own = from.node == kNobody;
  auto node = known_.find(info.node_guid);
  if (!node && known_.size() == most_nodes_) {
    if (!std::exchange(full_, true))
      remark("{}: there are more than {} nodes: what is behind further ports is left out", place(from),
             most_nodes_);
    return;
  }
  if (!node) {
    node = known_.add(info, own ? mad::DirectedRoute() : known_[from.node].route.then(from.port));
    ask_about(*node);
  } else if (const mad::NodeInfo& first = known_[*node].info;
             first.type != info.type || first.port_count != info.port_count) {
    return remark("{}: 0x{:x} answers there too, as another kind of node: a GUID used twice?", place(from),
                  info.node_guid.value());
  } else if (auto& ports = known_[*node].node.ports;
             info.type != mad::IbNodeType::switch_ && !ports.contains(info.local_port)) {
    // Another port of an adapter that is known: only that port answers for itself.
    ports[info.local_port].guid = info.port_guid;
    attributes_.push_back({Kind::port_info, info.local_port, *node});
  }
  if (own || known_.join(from.node, from.port, *node, info.local_port)) return;
  remark("0x{:x} port {} and 0x{:x} port {}: one of them answers at two cables: a GUID used twice?",
         known_[from.node].node.guid.value(), from.port, info.node_guid.value(), info.local_port);
}

/// What was met just now.
void SubnetScan::ask_about(std::uint32_t node) {
  auto& [known, info, route, table_top] = known_[node];
  attributes_.push_back({Kind::description, 0, node});
  if (!known.is_switch) {
    known.ports[info.local_port].guid = info.port_guid;
    return attributes_.push_back({Kind::port_info, info.local_port, node});
  }
  attributes_.push_back({Kind::switch_info, 0, node});
  attributes_.push_back({Kind::port_info, 0, node});
  for (unsigned port = 1; port <= info.port_count; ++port)
    visits_.push_back({Kind::port_info, static_cast<std::uint8_t>(port), node});
}

void SubnetScan::take_port_info(const Tag& tag, const mad::PortInfo& info) {
  MetNodes::Met& known = known_[tag.node];
  const auto lids = info.lid ? std::optional(LidRange{*info.lid, info.lmc}) : std::nullopt;
  const bool own = tag.node == 0 && tag.port == known_[0].info.local_port;
  if (own) sm_lid_ = info.sm_lid;
  if (known.node.is_switch && tag.port == 0) {
    known.node.about.lids = lids;
    return;
  }
  const bool is_disabled = info.disabled && known.node.is_switch;
  if (!info.link_up && !is_disabled && !known.node.ports.contains(tag.port)) return;  // no cable, or dead
  auto& port = known.node.ports[tag.port];
  port.disabled = is_disabled;
  port.width = info.width;
  port.speed = info.speed;
  port.state = info.state;
  if (info.speed == LinkSpeed::qdr && known.node.about.vendor == mad::kMellanox)
    attributes_.push_back({Kind::vendor_speed, tag.port, tag.node});
  if (known.node.is_switch)
    port.guid = known.node.guid;
  else
    port.lids = lids;
  const bool leads_on = known.node.is_switch || own;
  if (info.link_up && leads_on && !known.route.full())
    explorations_.push_back({Kind::explore, tag.port, tag.node});
}

Result<SubnetDiscovery> SubnetScan::result() && {
  if (known_.size() == 0)
    return fail(ErrorKind::absent, "our own InfiniBand port does not answer: {}",
                remarks_.empty() ? "nothing was asked" : remarks_.front());
  known_.complete_from_peers();
  SubnetDiscovery discovery = std::move(known_).discovery();
  discovery.sm_lid = sm_lid_;
  discovery.unread = std::move(unread_);
  discovery.subnet.remarks = std::move(remarks_);
  return discovery;
}

}  // namespace weft::discover
