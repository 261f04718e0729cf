// Reads what a sweep wrote: its document and its observation lines.
#include <array>
#include <map>
#include <unordered_map>

#include "collectors/compare/measured_run.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/files/json_view.hpp"

namespace weft::compare {
namespace {

using files::JsonView;

constexpr std::size_t kMaxRows = 2'000'000;      // flows and round trips of a run
constexpr std::size_t kMaxPath = 64;             // channels; fabrics have 12 at most
constexpr std::size_t kMaxChannels = 1'000'000;  // of a run
/// Of those that devices have (hw_counters of mlx5, bnxt_re, irdma; counters of InfiniBand): marks, notices
/// of congestion, waiting for credits, packets out of order.
constexpr std::array<std::string_view, 13> kCongestionCounters{
    "np_cnp_sent",     "np_ecn_marked_roce_packets",
    "rp_cnp_handled",  "rp_cnp_ignored",
    "out_of_sequence", "rx_cnp_pkts",
    "tx_cnp_pkts",     "rx_ecn_marked_pkts",
    "oos_drop_count",  "cnpSent",
    "cnpHandled",      "RxECNMrkd",
    "port_xmit_wait"};
constexpr std::size_t kMaxLine = 1 << 20;  // as ObservationReader takes it

class Reader {
 public:
  explicit Reader(std::string name) { run_.name = std::move(name); }

  Result<void> take_document(std::string_view text) {
    WEFT_TRY(const auto document, files::parse_diagnosis(text, run_.name));
    run_.sent = document.run.sent;
    run_.lost = document.run.lost;
    for (const files::LinkReport& link : document.links) take_link(link);
    for (const files::HostReport& host : document.hosts) take_host(host);
    for (const files::SetReport& set : document.sets) take_set(set);
    WEFT_TRY(const auto json, files::parse_json(text, run_.name));
    const JsonView root(json, run_.name);
    if (const auto nics = root.find("nics")) {
      WEFT_TRY(const auto count, nics->size());
      for (std::size_t i = 0; i < count; ++i) WEFT_TRY_VOID(take_nic(nics->at(i)));
    }
    if (const auto flows = root.find("flows")) return take_flows(*flows);
    return {};
  }

  Result<void> take_observations(std::string_view text) {
    for (std::size_t number = 1; !text.empty(); ++number) {
      const auto end = std::min(text.find('\n'), text.size());
      const auto line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      const std::string what = fmt::format("{}: observations, line {}", run_.name, number);
      if (line.size() > kMaxLine) return fail(ErrorKind::invalid_input, "{}: too long", what);
      if (line.empty()) continue;
      WEFT_TRY(const auto json, files::parse_json(line, what));
      const JsonView view(json, what);
      WEFT_TRY_VOID(take_line(view));
    }
    return {};
  }

  MeasuredRun finish() && {
    for (auto& [key, at] : trips_)
      for (const std::size_t i : at) run_.trips[i].packets = packets_[key];
    return std::move(run_);
  }

 private:
  Result<std::uint32_t> number_of(std::string_view channel) {
    const auto [at, is_new] =
        numbers_.try_emplace(std::string(channel), static_cast<std::uint32_t>(run_.channels.size()));
    if (is_new) run_.channels.emplace_back(channel);
    if (run_.channels.size() > kMaxChannels)
      return fail(ErrorKind::invalid_input, "{}: more than {} channels", run_.name, kMaxChannels);
    return at->second;
  }

  /// Of leaf1--spine2, or leaf1/p5--spine2/p1: both directions, or the one that leaves the node `from`.
  ChannelPath channels_of(std::string_view link, const std::optional<std::string>& from) {
    const auto middle = link.find("--");
    if (middle == std::string_view::npos) return {};
    const auto a = link.substr(0, middle);
    const auto b = link.substr(middle + 2);
    ChannelPath found;
    for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)})
      if (!from || *from == one.substr(0, one.find('/')))
        if (const auto number = number_of(fmt::format("{}->{}", one, other))) found.push_back(*number);
    return found;
  }

  void take_link(const files::LinkReport& link) {
    Culprit culprit{.place = link.link, .cause = link.cause, .channels = {}};
    if (link.estimate) culprit.value = link.estimate->value;
    culprit.channels = channels_of(link.link, link.from);
    run_.culprits.push_back(std::move(culprit));
  }
  void take_host(const files::HostReport& host) {
    if (!host.cause) return;
    Culprit culprit{
        .place = host.nic.value_or(host.host), .cause = *host.cause, .is_host = true, .channels = {}};
    if (host.estimate) culprit.value = host.estimate->value;
    if (host.ends) culprit.channels = channels_of(host.ends->name, host.from);
    run_.culprits.push_back(std::move(culprit));
  }
  /// One of several, and nobody knows which: named, without channels.
  void take_set(const files::SetReport& set) {
    run_.culprits.push_back({.place = fmt::format("one of {}", fmt::join(files::channels_of(set), ", ")),
                             .cause = set.cause,
                             .channels = {}});
  }

  /// What its device counted of congestion, and whether its timestamps told of the host.
  Result<void> take_nic(const JsonView& nic) {
    run_.has_host_delays = run_.has_host_delays || nic.find("delays").has_value();
    const auto counters = nic.find("counters");
    if (!counters) return {};
    WEFT_TRY(const JsonView window, counters->need("seconds"));
    WEFT_TRY(const double seconds, window.number());
    if (!(seconds > 0 && seconds < 1e9)) return window.error("expected seconds, from above 0 to 1e9");
    WEFT_TRY(const JsonView grew, counters->need("grew"));
    ++run_.counted_nics;
    for (const std::string_view name : kCongestionCounters)
      if (const auto counter = grew.find(name)) {
        WEFT_TRY(const auto count, counter->count<std::uint64_t>());
        run_.grew_a_second[std::string(name)] += static_cast<double>(count) / seconds;
      }
    return {};
  }

  Result<ChannelPath> path_of(const JsonView& view) {
    WEFT_TRY(const auto size, view.size());
    if (size > kMaxPath) return view.error("a path of {} channels: expected {} at most", size, kMaxPath);
    ChannelPath path;
    for (std::size_t i = 0; i < size; ++i) {
      const JsonView channel = view.at(i);
      WEFT_TRY(const auto name, channel.text());
      WEFT_TRY(const auto number, number_of(name));
      path.push_back(number);
    }
    return path;
  }

  static Result<double> rate_of(const JsonView& flow, std::string_view key) {
    WEFT_TRY(const JsonView view, flow.need(key));
    WEFT_TRY(const double rate, view.number());
    if (!(rate >= 0 && rate <= 1e18)) return view.error("expected bits per second, from 0 to 1e18");
    return rate;
  }

  Result<void> take_flows(const JsonView& flows) {
    WEFT_TRY(const JsonView pattern, flows.need("pattern"));
    WEFT_TRY(run_.pattern, pattern.text());
    WEFT_TRY(const JsonView all, flows.need("flows"));
    WEFT_TRY(const auto count, all.size());
    for (std::size_t i = 0; i < count; ++i) {
      const JsonView view = all.at(i);
      WEFT_TRY_VOID(take_flow(view));
    }
    return {};
  }

  Result<void> take_flow(const JsonView& view) {
    WEFT_TRY_VOID(count_row());
    MeasuredFlow flow;
    WEFT_TRY(const JsonView round, view.need("round"));
    WEFT_TRY(flow.round, round.count<std::uint32_t>());
    WEFT_TRY(const JsonView src, view.need("src"));
    WEFT_TRY(flow.src, src.text());
    WEFT_TRY(const JsonView dst, view.need("dst"));
    WEFT_TRY(flow.dst, dst.text());
    if (const auto path = view.find("path")) {
      WEFT_TRY(flow.path, path_of(*path));
    }
    WEFT_TRY(flow.wanted, rate_of(view, "wanted"));
    WEFT_TRY(flow.delivered, rate_of(view, "delivered"));
    if (const auto stalled = view.find("sender_stalled")) {
      WEFT_TRY(flow.sender_stalled, stalled->boolean());
    }
    if (!flow.path.empty()) flows_.emplace(std::pair(flow.round, flow.path), run_.flows.size());
    run_.flows.push_back(std::move(flow));
    return {};
  }

  /// Of other kinds of rows nothing is needed.
  Result<void> take_line(const JsonView& view) {
    if (const auto load = view.find("load")) return take_load(view, *load);
    const auto path = view.find("path");
    const auto sent = view.find("sent");
    if (!path || !sent || !path->size()) return {};  // a set of paths is no array of names
    WEFT_TRY(const auto packets, sent->count<std::uint64_t>());
    const std::string key = row_key(view);
    packets_[key] = std::max(packets_[key], packets);
    const auto rtt = view.find("rtt_us");
    if (!rtt) return {};
    return take_trip(view, *path, *rtt, key);
  }

  /// What the sender of a flow of the document offered: rows and flows have round and path in common.
  Result<void> take_load(const JsonView& view, const JsonView& load) {
    if (load.find("line_rate")) {
      WEFT_TRY(const double rate, rate_of(load, "line_rate"));
      run_.line_rate = std::max(run_.line_rate, rate);
    }
    const auto path = view.find("path");
    if (!path || !path->size() || !load.find("round") || !load.find("offered")) return {};
    WEFT_TRY(const JsonView round, load.need("round"));
    WEFT_TRY(const auto number, round.count<std::uint32_t>());
    WEFT_TRY(ChannelPath channels, path_of(*path));
    WEFT_TRY(const double offered, rate_of(load, "offered"));
    if (const auto at = flows_.find({number, std::move(channels)}); at != flows_.end())
      run_.flows[at->second].offered = offered;
    return {};
  }

  Result<void> take_trip(const JsonView& view, const JsonView& path, const JsonView& rtt,
                         const std::string& key) {
    WEFT_TRY_VOID(count_row());
    const auto seconds = [&](std::string_view name) -> Result<double> {
      constexpr double kMaxMicros = 1e9;
      WEFT_TRY(const JsonView member, rtt.need(name));
      WEFT_TRY(const double micros, member.number());
      if (!(micros >= 0 && micros <= kMaxMicros)) return member.error("expected microseconds, 0 to 1e9");
      return micros / 1e6;
    };
    RoundTrip trip;
    WEFT_TRY(trip.path, path_of(path));
    trip.hops = trip.path.size();
    if (const auto back = view.find("back")) {
      WEFT_TRY(const ChannelPath way, path_of(*back));
      trip.path.insert(trip.path.end(), way.begin(), way.end());
    }
    if (const auto bytes = view.find("bytes")) {
      WEFT_TRY(const auto size, bytes->count<std::uint32_t>());
      trip.size = Bytes(size);
    }
    WEFT_TRY(trip.p50, seconds("p50"));
    WEFT_TRY(trip.p99, seconds("p99"));
    trips_[key].push_back(run_.trips.size());
    run_.trips.push_back(std::move(trip));
    return {};
  }

  /// Rows of one label of a pair and one size: those that count one way, and that of the round trips.
  static std::string row_key(const JsonView& view) {
    std::string key;
    for (const char* name : {"src", "dst", "label", "bytes"})
      if (const auto member = view.find(name)) key += member->shown() + " ";
    return key;
  }

  Result<void> count_row() {
    if (++rows_ <= kMaxRows) return {};
    return fail(ErrorKind::invalid_input, "{}: more than {} flows and round trips", run_.name, kMaxRows);
  }

  MeasuredRun run_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::unordered_map<std::string, std::uint64_t> packets_;
  std::unordered_map<std::string, std::vector<std::size_t>> trips_;
  std::map<std::pair<std::uint32_t, ChannelPath>, std::size_t> flows_;  // by round and path
  std::size_t rows_ = 0;
};

}  // namespace

Result<MeasuredRun> read_measured_run(std::string name, std::string_view document,
                                      std::string_view observations) {
  Reader reader(std::move(name));
  WEFT_TRY_VOID(reader.take_document(document));
  WEFT_TRY_VOID(reader.take_observations(observations));
  return std::move(reader).finish();
}

}  // namespace weft::compare
