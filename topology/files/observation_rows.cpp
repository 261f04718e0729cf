#include "topology/files/observation_members.hpp"

#include "topology/model/fabric.hpp"

namespace weft::files {
namespace {

constexpr double kMoreThanSent = 1.05;  // received by sent: the clocks of two hosts
constexpr double kMoreThanAsked = 1.5;  // sent by wanted: a last message of many packets
constexpr double kMoreThanLink = 2;
/// Labs shape links of any rate to some 50 Mbit/s: of a slower link the file's rate says little.
constexpr Bandwidth kMinLink = Bandwidth::gbit(1);

template <class... Args>
tl::unexpected<Error> broken(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorKind::invalid_input, format, std::forward<Args>(args)...);
}

Result<void> check_counts(std::uint64_t sent, std::uint64_t lost, std::uint64_t corrupt) {
  if (sent > kMaxPackets) return broken("{} packets sent: more than any run sends", sent);
  if (lost > sent) return broken("{} lost of {} sent", lost, sent);
  if (corrupt > sent - lost) return broken("{} corrupt of {} received", corrupt, sent - lost);
  return {};
}

Result<std::string_view> text(const JsonView& view, std::string_view key) {
  WEFT_TRY(const auto member, view.need(key));
  return member.text();
}

Result<Cause> cause(const JsonView& view) {
  WEFT_TRY(const auto word, text(view, "cause"));
  const auto value = parse_cause(word);
  if (!value) return view.error("no such cause: '{}'", word);
  return *value;
}

}  // namespace

RowNames::RowNames(const Fabric& fabric) : fabric_(fabric) {
  names_.reserve(fabric.channel_count());
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) names_.push_back(fabric.name_of(ChannelId(c)));
  channels_.reserve(names_.size());
  for (std::uint32_t c = 0; c < names_.size(); ++c) channels_.emplace(names_[c], ChannelId(c));
}

Result<ChannelId> RowNames::channel(std::string_view name) const {
  const auto found = channels_.find(name);
  if (found != channels_.end()) return found->second;
  return fabric_.find_channel(name);  // with ports though they may be left out
}

Result<PathId> RowNames::path(std::span<const std::string_view> names, PathTable& table) {
  path_.clear();
  for (const std::string_view name : names) {
    WEFT_TRY(const auto next, channel(name));
    if (!path_.empty() && fabric_.target_node(path_.back()) != fabric_.source_node(next))
      return broken("'{}' does not go on where '{}' ends", name, fabric_.name_of(path_.back()));
    path_.push_back(next);
  }
  if (path_.empty()) return broken("a path without a channel");
  if (path_.size() > fabric_.node_count()) return broken("a path that goes in circles");
  return table.intern(path_);
}

Result<LabelledPair> RowNames::pair(std::string_view src, std::string_view dst,
                                    std::optional<std::uint32_t> label) const {
  if (src.empty() || dst.empty() || !label) return broken("'src', 'dst' and 'label' belong together");
  const auto from = fabric_.find_nic(src);
  if (!from) return pass_on(from, "src");
  const auto to = fabric_.find_nic(dst);
  if (!to) return pass_on(to, "dst");
  return LabelledPair{*from, *to, PathLabel(*label)};
}

Result<void> ObservationRows::add(const ProbeLine& line) {
  WEFT_TRY(const auto forward, names_.path(line.path, all_.paths));
  std::optional<PathId> back;
  if (line.has_back) {
    const auto returned = names_.path(line.back, all_.paths);
    if (!returned) return pass_on(returned, "back");
    back = *returned;
  }
  if (auto checked = check_counts(*line.sent, *line.lost, line.corrupt); !checked) return checked;
  if (line.bytes > kMaxPackets) return broken("a packet of {} bytes", line.bytes);
  PathTable& table = all_.paths;
  Observation seen{.path = table.only(forward), .sent = *line.sent, .lost = *line.lost};
  if (back) seen.back = table.only(*back);
  seen.size = Bytes(static_cast<std::int64_t>(line.bytes));
  seen.corrupt = line.corrupt;
  if (line.p50_us) {
    if (*line.p50_us > kMaxMicros || *line.p99_us > kMaxMicros)
      return broken("a round trip of {} us", std::max(*line.p50_us, *line.p99_us));
    seen.rtt = RttQuantiles{from_micros(*line.p50_us), from_micros(*line.p99_us)};
  }
  if (!line.src.empty() || !line.dst.empty() || line.label) {
    WEFT_TRY(const auto pair, names_.pair(line.src, line.dst, line.label));
    seen.pair = pair;
  }
  seen.excused = line.excused;
  seen.held = line.held;
  seen.runs = line.runs;
  if (line.start_us) seen.window = {from_micros(*line.start_us), from_micros(*line.length_us)};
  if (auto checked = check_order(seen); !checked) return checked;
  all_.probes.push_back(std::move(seen));
  return {};
}

/// `one` or, as a set, `several`; absent where the line has neither.
Result<std::optional<PathSetId>> ObservationRows::path_set(const JsonView& view, std::string_view one,
                                                           std::string_view several) {
  std::vector<PathId> members;
  const auto add = [&](const JsonView& item) -> Result<void> {
    WEFT_TRY(const auto texts, read_texts(item));
    const std::vector<std::string_view> names(texts.begin(), texts.end());
    WEFT_TRY(const auto id, names_.path(names, all_.paths));
    members.push_back(id);
    return {};
  };
  if (const auto single = view.find(one)) {
    if (auto added = add(*single); !added) return pass_on(added);
  } else if (const auto set = view.find(several)) {
    WEFT_TRY(const auto size, set->size());
    for (std::size_t i = 0; i < size; ++i) {
      const JsonView item = set->at(i);
      if (auto added = add(item); !added) return pass_on(added);
    }
    if (members.empty()) return set->error("expected at least one path");
  } else {
    return std::optional<PathSetId>();
  }
  return std::optional(all_.paths.intern_set(members));
}

Result<PathSetId> ObservationRows::needed_path(const JsonView& view) {
  WEFT_TRY(const auto set, path_set(view, "path", "paths"));
  if (!set) return view.error("expected 'path' or 'paths'");
  return *set;
}

Result<void> ObservationRows::add(const JsonView& row) {
  if (row.find("load")) return add_load(row);
  if (const auto count = row.find("count")) return add_count(*count);
  if (row.find("channel")) return add_channel_sign(row);
  if (row.find("host")) return add_host_sign(row);
  return add_probes(row);
}

void ObservationRows::take_back_to(const Ends& ends) {
  all_.probes.resize(ends.probes, Observation{.path = PathSetId(0)});
  all_.loads.resize(ends.loads, LoadObservation{.path = PathSetId(0)});
}

Result<void> ObservationRows::add_probes(const JsonView& view) {
  WEFT_TRY(const auto set, needed_path(view));
  WEFT_TRY(const auto back, path_set(view, "back", "backs"));
  WEFT_TRY(const auto sent, read_count(view, "sent", std::nullopt));
  WEFT_TRY(const auto lost, read_count(view, "lost", std::nullopt));
  WEFT_TRY(const auto bytes, read_count(view, "bytes", 0));
  WEFT_TRY(const auto corrupt, read_count(view, "corrupt", 0));
  if (auto checked = check_counts(sent, lost, corrupt); !checked) return checked;
  Observation seen{.path = set, .back = back, .sent = sent, .lost = lost, .corrupt = corrupt};
  seen.size = Bytes(static_cast<std::int64_t>(bytes));
  if (const auto rtt = view.find("rtt_us")) {
    WEFT_TRY(const auto p50, read_number(*rtt, "p50", kMaxMicros));
    WEFT_TRY(const auto p99, read_number(*rtt, "p99", kMaxMicros));
    seen.rtt = RttQuantiles{from_micros(p50), from_micros(p99)};
  }
  if (auto read = read_order(view, seen); !read) return read;
  WEFT_TRY(const auto ends, read_labelled(view));
  if (ends.src || ends.dst || ends.label) {
    const auto pair = names_.pair(ends.src.value_or(""), ends.dst.value_or(""), ends.label);
    if (!pair) return view.error("{}", pair.error().message);
    seen.pair = *pair;
  }
  all_.probes.push_back(std::move(seen));
  return {};
}

/// What no flow can have done is no evidence.
Result<void> ObservationRows::check_rates(const LoadObservation& seen) const {
  const PathTable& paths = all_.paths;
  const auto path = paths.channels(paths.paths(seen.path).front());
  const Bandwidth link = std::max(names_.fabric().rate(path.front()), kMinLink);
  if (seen.delivered > seen.offered * kMoreThanSent)
    return broken("{} delivered of {} offered", to_string(seen.delivered), to_string(seen.offered));
  if (seen.offered > seen.wanted * kMoreThanAsked)
    return broken("{} offered where {} was wanted", to_string(seen.offered), to_string(seen.wanted));
  if (seen.offered > link * kMoreThanLink)
    return broken("{} offered over {}, a link of {}", to_string(seen.offered),
                  names_.fabric().name_of(path.front()), to_string(link));
  if (seen.line_rate && (*seen.line_rate <= Bandwidth() || *seen.line_rate > link * kMoreThanLink))
    return broken("a line rate of {} of {}, a link of {}", to_string(*seen.line_rate),
                  names_.fabric().name_of(path.front()), to_string(link));
  if (seen.line_rate && seen.wanted > *seen.line_rate * kMoreThanLink)
    return broken("{} wanted of {}, a cable built for {}", to_string(seen.wanted),
                  names_.fabric().name_of(path.front()), to_string(*seen.line_rate));
  return {};
}

Result<void> ObservationRows::add_load(const JsonView& view) {
  constexpr double kMaxBits = 1e15;
  WEFT_TRY(const auto set, needed_path(view));
  WEFT_TRY(const auto load, view.need("load"));
  WEFT_TRY(const auto round, load.need("round"));
  WEFT_TRY(const auto number_of_round, round.count<std::uint32_t>());
  double rates[3];
  constexpr std::string_view kKeys[] = {"wanted", "offered", "delivered"};
  for (int i = 0; i < 3; ++i) {
    WEFT_TRY(const auto rate, read_number(load, kKeys[i], kMaxBits));
    rates[i] = rate;
  }
  LoadObservation seen{.path = set, .round = number_of_round};
  seen.wanted = Bandwidth::bit(rates[0]);
  seen.offered = Bandwidth::bit(rates[1]);
  seen.delivered = Bandwidth::bit(rates[2]);
  if (const auto stalled = load.find("stalled")) {
    WEFT_TRY(const auto value, stalled->boolean());
    seen.sender_stalled = value;
  }
  if (load.find("line_rate")) {
    WEFT_TRY(const auto rate, read_number(load, "line_rate", kMaxBits));
    seen.line_rate = Bandwidth::bit(rate);
  }
  WEFT_TRY(const auto window, read_window(view));
  seen.window = window;
  if (auto checked = check_rates(seen); !checked) return checked;
  all_.loads.push_back(seen);
  return {};
}

Result<void> ObservationRows::add_count(const JsonView& view) {
  WEFT_TRY(const auto name, text(view, "channel"));
  WEFT_TRY(const auto id, names_.channel(name));
  WEFT_TRY(auto count, read_channel_count(view, id));
  all_.counts.push_back(std::move(count));
  return {};
}

Result<void> ObservationRows::add_channel_sign(const JsonView& view) {
  WEFT_TRY(const auto name, text(view, "channel"));
  WEFT_TRY(const auto id, names_.channel(name));
  WEFT_TRY(const auto why, cause(view));
  WEFT_TRY(const auto ratio, view.need("log_ratio"));
  WEFT_TRY(const auto nats, ratio.number());
  if (!std::isfinite(nats)) return ratio.error("expected a finite number");
  WEFT_TRY(const auto words, text(view, "text"));
  all_.channels.push_back({.channel = id, .cause = why, .log_ratio = nats, .text = std::string(words)});
  return {};
}

Result<void> ObservationRows::add_host_sign(const JsonView& view) {
  WEFT_TRY(const auto name, text(view, "host"));
  WEFT_TRY(const auto node, names_.fabric().find_node(name));
  if (!names_.fabric().is_host(node)) return view.error("'{}' is no host", name);
  HostEvidence sign{.host = node};
  if (const auto nic = view.find("nic")) {
    WEFT_TRY(const auto word, nic->text());
    WEFT_TRY(const auto port, names_.fabric().find_nic(word));
    if (names_.fabric().port(port).node != node) return nic->error("'{}' is no NIC of {}", word, name);
    sign.nic = port;
  }
  WEFT_TRY(const auto word, text(view, "verdict"));
  const auto verdict = parse_verdict(word);
  if (!verdict) return view.error("no such verdict: '{}'", word);
  sign.verdict = *verdict;
  if (view.find("cause")) {
    WEFT_TRY(const auto why, cause(view));
    sign.cause = why;
  }
  WEFT_TRY(const auto words, text(view, "text"));
  sign.text = std::string(words);
  all_.hosts.push_back(std::move(sign));
  return {};
}

}  // namespace weft::files
