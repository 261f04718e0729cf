// Reads what a sweep wrote: its document and its observation lines.
#include <map>
#include <unordered_map>

#include "collectors/compare/congestion_counts.hpp"
#include "collectors/compare/measured_run.hpp"
#include "collectors/compare/pause_times.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/files/json_view.hpp"

namespace weft::compare {
namespace {

using files::JsonView;

constexpr std::size_t kMaxRows = 2'000'000;      // flows and round trips of a run
constexpr std::size_t kMaxPath = 64;             // channels; fabrics have 12 at most
constexpr std::size_t kMaxChannels = 1'000'000;  // of a run
constexpr std::size_t kMaxLine = 1 << 20;        // as ObservationReader takes it

class Reader {
 public:
  Reader(std::string name, bool probes_alone) {
    run_.name = std::move(name);
    run_.is_probes_alone = probes_alone;
  }

  Result<void> take_document(std::string_view text) {
    WEFT_TRY(const auto document, files::parse_diagnosis(text, run_.name));
    run_.sent = document.run.sent;
    run_.lost = document.run.lost;
    for (const files::LinkReport& link : document.links) take_link(link);
    for (const files::HostReport& host : document.hosts) take_host(host);
    for (const files::SetReport& set : document.sets) take_several({}, files::channels_of(set), set.cause);
    for (const files::GroupReport& group : document.groups) {
      if (std::ranges::any_of(document.sets, [&](const auto& set) { return is_part_of(set, group); }))
        continue;
      take_several(group.nodes, group.channels, group.cause);
    }
    add_numbers(document.coverage.thin, run_.thin);
    add_numbers(document.coverage.masked, run_.thin);
    add_numbers(document.coverage.missing, run_.missing);
    for (const files::NotTestedReport& nic : document.coverage.not_tested)
      answers_.try_emplace(nic.nic.value_or(nic.host));
    WEFT_TRY(const auto json, files::parse_json(text, run_.name));
    const JsonView root(json, run_.name);
    if (const auto nics = root.find("nics")) {
      WEFT_TRY(const auto count, nics->size());
      for (std::size_t i = 0; i < count; ++i) WEFT_TRY_VOID(take_nic(nics->at(i)));
    }
    if (const auto flows = root.find("flows")) WEFT_TRY_VOID(take_flows(*flows));
    if (const auto queueing = root.find("queueing")) return take_queueing(*queueing);
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
    if (!run_.is_probes_alone) return std::move(run_);
    run_.nics_asked = answers_.size();
    for (const auto& [nic, answers] : answers_) run_.nics_reached += answers;
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
        add_numbers({fmt::format("{}->{}", one, other)}, found);
    return found;
  }
  void add_numbers(const std::vector<std::string>& channels, ChannelPath& into) {
    for (const std::string& channel : channels)
      if (const auto number = number_of(channel)) into.push_back(*number);
  }

  void take_link(const files::LinkReport& link) {
    Culprit culprit{.place = link.link, .cause = link.cause, .channels = {}};
    if (link.estimate) culprit.value = link.estimate->value;
    culprit.channels = channels_of(link.link, link.from);
    run_.culprits.push_back(std::move(culprit));
  }
  void take_host(const files::HostReport& host) {
    if (!host.cause) return;
    if (*host.cause == Cause::down) answers_.try_emplace(host.nic.value_or(host.host));
    Culprit culprit{
        .place = host.nic.value_or(host.host), .cause = *host.cause, .is_host = true, .channels = {}};
    if (host.estimate) culprit.value = host.estimate->value;
    if (host.ends) culprit.channels = channels_of(host.ends->name, host.from);
    run_.culprits.push_back(std::move(culprit));
  }
  /// Without nodes: one of the channels, and nobody knows which.
  void take_several(const std::vector<std::string>& nodes, const std::vector<std::string>& channels,
                    Cause cause) {
    Culprit culprit{.place = {}, .cause = cause, .channels = {}, .is_one_of = nodes.empty()};
    culprit.place = fmt::format("{}{}", nodes.empty() ? "one of " : "",
                                fmt::join(nodes.empty() ? channels : nodes, ", "));
    add_numbers(channels, culprit.channels);
    run_.culprits.push_back(std::move(culprit));
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
    const auto load = counters->find("load");
    if (!load) return {};
    WEFT_TRY(const auto paused, read_pauses(*load));
    if (!paused) return {};
    ++run_.timed_nics;
    WEFT_TRY(const JsonView name, nic.need("nic"));
    WEFT_TRY(const auto text, name.text());
    if (paused->sending > 0 || paused->receiving > 0) run_.paused[std::string(text)] = *paused;
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
    const auto path = view.find("path"), sent = view.find("sent");
    if (!sent) return {};
    WEFT_TRY(const auto packets, sent->count<std::uint64_t>());
    const std::string key = row_key(view);
    if (run_.is_probes_alone && packets > 0) WEFT_TRY_VOID(take_probes(view, packets, key));
    if (!path || !path->size()) return {};  // a set of paths is no array of names
    packets_[key] = std::max(packets_[key], packets);
    const auto rtt = view.find("rtt_us");
    if (!rtt) return {};
    return take_trip(view, *rtt, key);
  }

  static Result<std::uint64_t> count_or_zero(const JsonView& view, std::string_view key) {
    const auto member = view.find(key);
    return member ? member->count<std::uint64_t>() : Result<std::uint64_t>(0);
  }

  /// What arrived whole of these packets; of all rows of one label and way together. What came damaged a NIC
  /// drops.
  Result<void> take_probes(const JsonView& view, std::uint64_t sent, const std::string& key) {
    constexpr std::uint64_t kMaxPackets = 1'000'000'000'000'000;  // as ObservationReader takes them
    WEFT_TRY(const JsonView member, view.need("lost"));
    WEFT_TRY(std::uint64_t lost, member.count<std::uint64_t>());
    WEFT_TRY(const std::uint64_t excused, count_or_zero(view, "excused"));
    WEFT_TRY(const std::uint64_t corrupt, count_or_zero(view, "corrupt"));
    if (sent > kMaxPackets || lost > sent || excused > lost || corrupt > sent - lost)
      return member.error("{} lost ({} excused) and {} corrupt of {} sent", lost, excused, corrupt, sent);
    sent -= excused, lost = lost - excused + corrupt;
    for (const char* end : {"src", "dst"})
      if (const auto nic = view.find(end)) {
        WEFT_TRY(const auto name, nic->text());
        bool& answers = answers_[std::string(name)];
        answers = answers || lost < sent;
      }
    if (sent == 0) return {};
    const bool has_back = view.find("back") || view.find("backs");
    const auto [at, is_new] = probed_.try_emplace(key + (has_back ? "back" : ""), run_.probed.size());
    if (is_new) {
      WEFT_TRY_VOID(count_row());
      ProbedPath probed;
      if (const auto paths = view.find("paths"); paths && paths->size().value_or(0) > 0) {
        WEFT_TRY(probed.hops, paths->at(0).size());  // nobody knows which of them: no channel is named
      }
      WEFT_TRY_VOID(take_way(view, probed));
      if (has_back) probed.hops = 0;
      run_.probed.push_back(std::move(probed));
    }
    ProbedPath& known = run_.probed[at->second];
    if (known.sent + sent > kMaxPackets) return member.error("more than {} packets of a path", kMaxPackets);
    known.sent += sent, known.lost += lost;
    return {};
  }

  /// Path, there and back, and size of a packet.
  template <class Way>
  Result<void> take_way(const JsonView& view, Way& into) {
    if (const auto path = view.find("path")) {
      WEFT_TRY(into.path, path_of(*path));
      into.hops = into.path.size();
    }
    if (const auto back = view.find("back")) {
      WEFT_TRY(const ChannelPath way, path_of(*back));
      into.path.insert(into.path.end(), way.begin(), way.end());
    }
    if (const auto bytes = view.find("bytes")) {
      WEFT_TRY(const auto size, bytes->count<std::uint32_t>());
      into.size = Bytes(size);
    }
    return {};
  }

  /// What the sender of a flow of the document offered: rows and flows have round and path in common.
  Result<void> take_load(const JsonView& view, const JsonView& load) {
    if (load.find("line_rate")) {
      WEFT_TRY(const double rate, rate_of(load, "line_rate"));
      run_.line_rate = std::max(run_.line_rate, rate);
    }
    if (!load.find("round")) return {};
    WEFT_TRY(const JsonView round, load.need("round"));
    WEFT_TRY(const auto number, round.count<std::uint32_t>());
    const auto path = view.find("path");
    if (!path || !path->size() || !load.find("offered")) return {};
    WEFT_TRY(ChannelPath channels, path_of(*path));
    WEFT_TRY(const double offered, rate_of(load, "offered"));
    if (const auto at = flows_.find({number, std::move(channels)}); at != flows_.end())
      run_.flows[at->second].offered = offered;
    return {};
  }

  /// What a member tells in microseconds.
  static Result<double> seconds_of(const JsonView& view, std::string_view name) {
    constexpr double kMaxMicros = 1e9;
    WEFT_TRY(const JsonView member, view.need(name));
    WEFT_TRY(const double micros, member.number());
    if (!(micros >= 0 && micros <= kMaxMicros)) return member.error("expected microseconds, 0 to 1e9");
    return micros / 1e6;
  }

  Result<void> take_queueing(const JsonView& queueing) {
    WEFT_TRY(const JsonView trips, queueing.need("trips"));
    WEFT_TRY(const auto count, trips.size());
    for (std::size_t i = 0; i < count; ++i) WEFT_TRY_VOID(take_loaded(trips.at(i)));
    WEFT_TRY(const JsonView queues, queueing.need("channels"));
    WEFT_TRY(const auto places, queues.size());
    for (std::size_t i = 0; i < places; ++i) {
      const JsonView view = queues.at(i);
      WEFT_TRY_VOID(count_row());
      WEFT_TRY(const JsonView names, view.need("channels"));
      WEFT_TRY(const ChannelPath channels, path_of(names));
      QueuedPlace queue;
      for (const std::uint32_t channel : channels) queue.channels.push_back(run_.channels[channel]);
      queue.place = fmt::format("{}", fmt::join(queue.channels, " or "));
      WEFT_TRY(queue.wait, seconds_of(view, "wait_us"));
      run_.queues.push_back(std::move(queue));
    }
    return {};
  }

  /// One whose ways, or whose time before the load, are not known, or whose probes were all lost, tells
  /// nothing here.
  Result<void> take_loaded(const JsonView& view) {
    WEFT_TRY_VOID(count_row());
    const auto path = view.find("path"), back = view.find("back");
    const auto rtt = view.find("rtt_us"), idle = view.find("idle_us");
    if (!path || !back || !rtt || !idle) return {};
    LoadedRoundTrip trip;
    WEFT_TRY(trip.idle.path, path_of(*path));
    WEFT_TRY(const ChannelPath way, path_of(*back));
    if (trip.idle.path.empty() || way.empty()) return {};
    trip.idle.hops = trip.idle.path.size();
    trip.idle.path.insert(trip.idle.path.end(), way.begin(), way.end());
    WEFT_TRY(const JsonView bytes, view.need("bytes"));
    WEFT_TRY(const auto size, bytes.count<std::uint32_t>());
    trip.idle.size = Bytes(size);
    WEFT_TRY(trip.idle.p50, seconds_of(*idle, "p50"));
    WEFT_TRY(trip.idle.p99, seconds_of(*idle, "p99"));
    WEFT_TRY(trip.p50, seconds_of(*rtt, "p50"));
    run_.loaded.push_back(std::move(trip));
    return {};
  }

  Result<void> take_trip(const JsonView& view, const JsonView& rtt, const std::string& key) {
    WEFT_TRY_VOID(count_row());
    RoundTrip trip;
    WEFT_TRY_VOID(take_way(view, trip));
    WEFT_TRY(trip.p50, seconds_of(rtt, "p50"));
    WEFT_TRY(trip.p99, seconds_of(rtt, "p99"));
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
  std::unordered_map<std::string, std::size_t> probed_;                 // by label and way
  std::map<std::string, bool, std::less<>> answers_;                    // NICs that were asked
  std::size_t rows_ = 0;
};

}  // namespace

Result<MeasuredRun> read_measured_run(std::string name, std::string_view document,
                                      std::string_view observations, bool probes_alone) {
  Reader reader(std::move(name), probes_alone);
  WEFT_TRY_VOID(reader.take_document(document));
  WEFT_TRY_VOID(reader.take_observations(observations));
  return std::move(reader).finish();
}

}  // namespace weft::compare
