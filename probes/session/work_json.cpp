#include "probes/session/work_json.hpp"

#include <algorithm>
#include <ranges>

#include "topology/base/json_members.hpp"
#include "topology/findings/loss_runs.hpp"

// Specs and tallies come by the thousand in one message, so they are tables. A thousand of them take, in
// bytes, as objects and as a table: ping specs 68,000 and 23,000, ping tallies 141,000 and 53,000, receivers'
// counts 120,000 and 53,000, hop answers 72,000 and 34,000. (Arrays by position took 4 to 8 % more.)
namespace weft::json_members {

/// A table in a cell.
struct Runs {
  std::vector<LossRun> all;
};

namespace {

constexpr std::size_t kMaxCounters = 1024;  // a ConnectX has about a hundred
constexpr std::size_t kMaxDevices = 1;      // a NIC is asked for its own
constexpr std::size_t kMaxNameLength = 128;
/// In memory a histogram takes 8 KB, however short it is told: so many take 126 MB, and are more than the
/// flows of a NIC whose completion queue holds all that is under way.
constexpr std::size_t kMaxHistograms = 16'384;
constexpr const char* kMeasure = "measure";
/// A time that can be counted with: no host is up for thirty years, nor sends for so long.
constexpr Nanoseconds kMaxTime = std::chrono::hours(24 * 365 * 30);
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

/// On an engine's own clock.
template <class Io>
void clock_time(Io& io, const char* name, std::optional<Nanoseconds>& told) {
  io(name, told);
  if (Io::kReads && told && *told > kMaxTime) throw BadField("a time beyond what clocks show");
}

template <class Io>
void window_of(Io& io, std::optional<TimeWindow>& window) {
  auto start = window ? std::optional(window->start) : std::nullopt;
  auto length = window ? std::optional(window->length) : std::nullopt;
  clock_time(io, "window_start", start);
  clock_time(io, "window_length", length);
  if (start.has_value() != length.has_value()) throw BadField("half a window");
  window = start ? std::optional(TimeWindow{*start, *length}) : std::nullopt;
}

template <class Io>
void quantiles(Io& io, const char* half, const char* most, std::optional<RttQuantiles>& rtt) {
  auto p50 = rtt ? std::optional(rtt->p50) : std::nullopt;
  auto p99 = rtt ? std::optional(rtt->p99) : std::nullopt;
  io(half, p50);
  io(most, p99);
  if (p50.has_value() != p99.has_value()) throw BadField(fmt::format("one of '{}' and '{}'", half, most));
  rtt = p50 ? std::optional(RttQuantiles{*p50, *p99}) : std::nullopt;
}

template <class Io>
void delays_of(Io& io, std::optional<datapath::PingDelays>& delays) {
  std::optional<RttQuantiles> prober, responder, whole;
  std::optional<bool> by_hardware;
  if (delays) {
    prober = delays->prober;
    responder = delays->responder;
    whole = delays->whole;
    by_hardware = delays->by_hardware;
  }
  quantiles(io, "prober_p50", "prober_p99", prober);
  quantiles(io, "responder_p50", "responder_p99", responder);
  quantiles(io, "whole_p50", "whole_p99", whole);
  io("by_hardware", by_hardware);
  delays.reset();
  if (!prober && !responder && !whole && !by_hardware) return;
  if (!prober || !responder || !whole || !by_hardware) throw BadField("some delays of a ping, not all");
  delays = datapath::PingDelays{*prober, *responder, *whole, *by_hardware};
}

template <class Io>
void loss_runs_of(Io& io, const char* name, std::optional<std::vector<LossRun>>& runs, std::uint64_t sent) {
  auto cell = runs ? std::optional(Runs{*runs}) : std::nullopt;
  io(name, cell);
  if (Io::kReads && cell && !are_loss_runs(cell->all, sent))
    throw BadField("runs of lost packets too many, out of order, or beyond the row");
  runs = cell ? std::optional(std::move(cell->all)) : std::nullopt;
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
static void members(Io& io, LossRun& m) {
  io("first", m.first);
  io("count", m.count);
}
static Json write_json(OneValue, const Runs& runs) { return write_table(runs.all); }
static void read_json(OneValue, const Json& from, Runs& into) { into.all = read_table<LossRun>(from); }

template <class Io>
static void members(Io& io, LatencyHistogram::Bucket& m) {
  io("index", m.index);
  io("count", m.count);
}
static Json write_json(OneValue, const LatencyHistogram& histogram) {
  return write_table(histogram.buckets());
}
static void read_json(OneValue, const Json& from, LatencyHistogram& into) {
  auto read = LatencyHistogram::from(read_table<LatencyHistogram::Bucket>(from, LatencyHistogram::kBuckets));
  if (!read) throw BadField(read.error().message);
  into = std::move(*read);
}

// Requests.

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
  if (Io::kReads && m.rate < kMinFlowRate) throw BadField("a flow of no rate");
}
template <class Io>
static void members(Io& io, datapath::FlowRequest& m) {
  peers_and_specs(io, m);
  io("duration", m.duration);
  io("options", m.flow_options);
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

// Answers.

template <class Io>
static void members(Io& io, datapath::HopAnswer& m) {
  io("spec", m.spec);
  io("hop", m.hop);
  io("is_peer", m.is_peer);
  io("from", m.from);
  io("rtt", m.rtt);
}

template <class Io>
static void members(Io& io, datapath::PingTally& m) {
  io("spec", m.spec);
  io("sent", m.sent);
  io("answered", m.answered);
  io("corrupt", m.corrupt);
  if (Io::kReads && m.answered > m.sent)
    throw BadField(fmt::format("{} of {} probes answered", m.answered, m.sent));
  quantiles(io, "rtt_p50", "rtt_p99", m.rtt);
  delays_of(io, m.delays);
  io("refused", m.refused);
  window_of(io, m.window);
  auto unanswered = m.unanswered.empty() ? std::nullopt : std::optional(m.unanswered);
  loss_runs_of(io, "unanswered", unanswered, m.sent);
  m.unanswered = std::move(unanswered).value_or(std::vector<LossRun>());
  if (Io::kReads && packets_in(m.unanswered) + m.answered > m.sent)
    throw BadField(
        fmt::format("{} of {} probes answered, and {} not", m.answered, m.sent, packets_in(m.unanswered)));
  rarely(io, "dropped", m.dropped);
}

template <class Io>
static void members(Io& io, datapath::FlowMeasure& m) {
  io("packets", m.packets);
  io("bytes", m.bytes);
  io("messages", m.messages);
}
template <class Io>
static void members(Io& io, datapath::LabelChange& m) {
  io("done", m.done);
  io("how", m.how);
}
template <class Io>
static void members(Io& io, datapath::FlowTally& m) {
  io("spec", m.spec);
  io("packets", m.packets);
  io("bytes", m.bytes);
  io("elapsed", m.elapsed);
  io("longest_gap", m.longest_gap);
  io("error", m.error);
  rarely(io, "of_sender", m.of_sender);
  io("chosen", m.chosen);
  io(kMeasure, m.measure);
  io("moved", m.moved);
  io("refused", m.refused);
  clock_time(io, "started", m.started);
  rarely(io, "corrupted", m.corrupted);
}

template <class Io>
static void members(Io& io, datapath::ReceivedTally& m) {
  io("batch", m.batch);
  io("from", m.from);
  io("spec", m.spec);
  io("packets", m.packets);
  io("bytes", m.bytes);
  io("corrupt", m.corrupt);
  io("first", m.first);
  io("last", m.last);
  loss_runs_of(io, "missing", m.missing, std::uint64_t{1} << 32U);
  rarely(io, "dropped", m.dropped);
  rarely(io, "unsent", m.unsent);
}

template <class Io>
static void members(Io& io, datapath::TransferTally& m) {
  io("spec", m.spec);
  io("sent", m.sent);
  io("delivered", m.delivered);
  io("elapsed", m.elapsed);
  io("first", m.first);
  io("took", m.took);
  io("error", m.error);
}

template <class Io>
static void members(Io& io, NicCounters& m) {
  io("device", m.device);
  io("port", m.port);
  io("at", m.at);
  io("values", at_most(kMaxCounters, m.values));
  if (!Io::kReads) return;
  const auto too_long = [](const std::string& name) { return name.size() > kMaxNameLength; };
  if (too_long(m.device) || std::ranges::any_of(m.values | std::views::keys, too_long))
    throw BadField("a short text is expected");
}

}  // namespace weft::json_members

namespace weft::session {

using namespace json_members;

namespace {

// In the order of TaskWork and of TaskAnswer.
constexpr const char* kWork[] = {"trace", "ping", "flow", "received", "transfer", "counters"};
constexpr const char* kAnswers[] = {"hops", "pings", "flows", "received", "transfers", "counters"};
static_assert(std::size(kWork) == std::variant_size_v<TaskWork>);
static_assert(std::size(kAnswers) == std::variant_size_v<TaskAnswer>);

/// Before any is made.
void check_histograms(const Json& flows) {
  if (!flows.is_object()) return;
  const auto told = flows.find(kMeasure);
  if (told == flows.end()) return;
  const auto empty = static_cast<std::size_t>(std::ranges::count_if(*told, &Json::is_null));
  if (const std::size_t count = told->size() - empty; count > kMaxHistograms)
    throw BadField(fmt::format("{} latency histograms, at most {}", count, kMaxHistograms));
}

}  // namespace

nlohmann::json to_json_value(const TaskWork& work) {
  Json json = std::visit([](const auto& request) { return write_value(request); }, work);
  json["kind"] = kWork[work.index()];
  return json;
}

nlohmann::json to_json_value(const TaskAnswer& answer) {
  Json json{{"kind", kAnswers[answer.index()]}};
  std::visit(
      [&json](const auto& tallies) {
        using Tally = typename std::decay_t<decltype(tallies)>::value_type;
        if constexpr (std::same_as<Tally, NicCounters>)
          json["devices"] = write_value(tallies);
        else
          json["tallies"] = write_table(tallies);
      },
      answer);
  return json;
}

TaskWork work_from_json(const nlohmann::json& value) {
  return read_kind<TaskWork>(kWork, text(field(value, "kind")),
                             [&value](auto& request) { read_value(value, request); });
}

TaskAnswer answer_from_json(const nlohmann::json& value) {
  return read_kind<TaskAnswer>(kAnswers, text(field(value, "kind")), [&value](auto& tallies) {
    using Tally = typename std::decay_t<decltype(tallies)>::value_type;
    if constexpr (std::same_as<Tally, NicCounters>) {
      read_value(field(value, "devices"), at_most(kMaxDevices, tallies));
    } else {
      const Json& rows = field(value, "tallies");
      if constexpr (std::same_as<Tally, datapath::FlowTally>) check_histograms(rows);
      tallies = read_table<Tally>(rows);
    }
  });
}

}  // namespace weft::session
