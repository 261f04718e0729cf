// The answers to the work of tasks in JSON.
#include <algorithm>
#include <ranges>

#include "probes/session/work_json.hpp"
#include "topology/base/json_members.hpp"
#include "topology/findings/loss_runs.hpp"

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
  rarely(io, "late", m.late);
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
static void members(Io& io, datapath::TripTally& m) {
  io("sent", m.sent);
  io("answered", m.answered);
  quantiles(io, "rtt_p50", "rtt_p99", m.rtt);
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
  io("trips", m.trips);
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
  rarely(io, "late", m.late);
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

// In the order of TaskAnswer.
constexpr const char* kAnswers[] = {"hops", "pings", "flows", "received", "transfers", "counters"};
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
