#include "probes/session/work_json.hpp"

#include "topology/base/json_members.hpp"

// Specs and tallies come by the thousand in one message, so they are tables. A thousand of them take, in
// bytes, as objects and as a table: ping specs 68,000 and 23,000, ping tallies 141,000 and 53,000, receivers'
// counts 120,000 and 53,000, hop answers 72,000 and 34,000. (Arrays by position took 4 to 8 % more.)
namespace weft::json_members {
namespace {

/// What is slower has gaps between packets that no clock tells.
constexpr Bandwidth kMinFlowRate = Bandwidth::bit(1);
constexpr double kMinPace = 1e-3;

template <class Io>
void packet_size(Io& io, Bytes& size) {
  io("size", size);
  if (Io::kReads && size > Bytes(65'535)) throw BadField(fmt::format("a packet of {} bytes", size.count()));
}

template <class Io>
void bytes_of_flow(Io& io, const char* name, std::optional<Bytes>& bytes, std::uint64_t most) {
  io(name, bytes);
  if (Io::kReads && bytes && (*bytes == Bytes(0) || static_cast<std::uint64_t>(bytes->count()) > most))
    throw BadField(fmt::format("{} bytes of a flow", bytes->count()));
}

/// A spec names its peer by the index among those of its request.
template <class Io, class Request>
void peers_and_specs(Io& io, Request& m) {
  io("run", m.run);
  io("batch", m.batch);
  io("peers", table(m.peers));
  io("specs", table(m.specs));
  for (const auto& spec : m.specs)
    if (Io::kReads && spec.peer >= m.peers.size())
      throw BadField(fmt::format("peer {} of {}", spec.peer, m.peers.size()));
}

}  // namespace

template <class Io>
static void members(Io& io, datapath::Peer& m) {
  io("nic", m.nic);
  io("address", m.address);
}
template <class Io>
static void members(Io& io, datapath::Pace& m) {
  io("packets_per_second", m.packets_per_second);
  io("answer_wait", m.answer_wait);
  if (Io::kReads && m.packets_per_second != 0 && m.packets_per_second < kMinPace)
    throw BadField(fmt::format("{} packets a second", m.packets_per_second));
}

template <class Io>
static void members(Io& io, datapath::TraceSpec& m) {
  io("peer", m.peer);
  io("label", m.label);
  io("max_hops", m.max_hops);
  io("first_hop", m.first_hop);
  io("to_peer", m.to_peer);
  io("queue_pair", m.fields.queue_pair);
  io("traffic_class", m.fields.traffic_class);
  io("flow_label", m.fields.flow_label);
  io("size", m.fields.size);
  if (Io::kReads && !are_possible(m.fields)) throw BadField("fields that no packet has");
}
template <class Io>
static void members(Io& io, datapath::TraceRequest& m) {
  peers_and_specs(io, m);
  io("attempts", m.attempts);
  io("pace", m.pace);
}

template <class Io>
static void members(Io& io, datapath::PingSpec& m) {
  io("peer", m.peer);
  io("label", m.label);
  io("back_label", m.back_label);
  io("count", m.count);
  packet_size(io, m.size);
}
template <class Io>
static void members(Io& io, datapath::PingRequest& m) {
  peers_and_specs(io, m);
  io("pace", m.pace);
  io("busy_poll", m.busy_poll);
  io("by_management", m.by_management);
}

template <class Io>
static void members(Io& io, datapath::FlowOptions& m) {
  word(io, "operation", m.operation, parse_flow_operation);
  bytes_of_flow(io, "message", m.message, datapath::kMaxFlowMessageBytes);
  io("depth", m.depth);
  io("warm_up", m.warm_up);
  bytes_of_flow(io, "volume", m.volume, datapath::kMaxVolume);
  if (Io::kReads && (m.depth == 0 || m.depth > datapath::kDeepestFlow))
    throw BadField(fmt::format("a flow of depth {}", m.depth));
}
template <class Io>
static void members(Io& io, datapath::FlowSpec& m) {
  io("peer", m.peer);
  io("label", m.label);
  io("rate", m.rate);
  packet_size(io, m.size);
  io("then", m.then);
  io("back_label", m.back_label);
  if (Io::kReads && m.rate < kMinFlowRate) throw BadField("a flow of no rate");
}
template <class Io>
static void members(Io& io, datapath::TripProbes& m) {
  io("batch", m.batch);
  io("packets_per_second", m.packets_per_second);
}
template <class Io>
static void members(Io& io, datapath::FlowRequest& m) {
  peers_and_specs(io, m);
  io("duration", m.duration);
  io("options", m.flow_options);
  io("trips", m.trips);
}

template <class Io>
static void members(Io& io, datapath::TransferSpec& m) {
  io("peer", m.peer);
  io("label", m.label);
  io("back_label", m.back_label);
  io("packets", m.packets);
}
template <class Io>
static void members(Io& io, datapath::TransferRequest& m) {
  peers_and_specs(io, m);
  packet_size(io, m.size);
  io("window", m.window);
  io("limit", m.limit);
}

template <class Io>
static void members(Io& io, session::ReceivedQuery& m) {
  io("batch", m.batch);
}
template <class Io>
static void members(Io&, session::CounterQuery&) {}

}  // namespace weft::json_members

namespace weft::session {

using namespace json_members;

namespace {

// In the order of TaskWork.
constexpr const char* kWork[] = {"trace", "ping", "flow", "received", "transfer", "counters"};
static_assert(std::size(kWork) == std::variant_size_v<TaskWork>);

}  // namespace

nlohmann::json to_json_value(const TaskWork& work) {
  Json json = std::visit([](const auto& request) { return write_value(request); }, work);
  json["kind"] = kWork[work.index()];
  return json;
}

TaskWork work_from_json(const nlohmann::json& value) {
  return read_kind<TaskWork>(kWork, text(field(value, "kind")),
                             [&value](auto& request) { read_value(value, request); });
}

}  // namespace weft::session
