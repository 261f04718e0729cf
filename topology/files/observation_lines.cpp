#include "topology/files/observation_lines.hpp"

#include <cmath>
#include <deque>
#include <unordered_map>

#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/json_view.hpp"
#include "topology/files/observation_members.hpp"
#include "topology/files/repeated_rows.hpp"
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

}  // namespace

class ObservationReader::Impl {
 public:
  explicit Impl(const Fabric& fabric) : fabric_(fabric) {
    names_.reserve(fabric.channel_count());
    for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) names_.push_back(fabric.name_of(ChannelId(c)));
    channels_.reserve(names_.size());
    for (std::uint32_t c = 0; c < names_.size(); ++c) channels_.emplace(names_[c], ChannelId(c));
  }

  void feed(std::string_view bytes) {
    while (true) {
      const auto end = bytes.find('\n');
      if (end == std::string_view::npos) return keep(bytes);
      if (rest_.empty() && !overlong_) {
        add_line(bytes.substr(0, end));
      } else {
        keep(bytes.substr(0, end));
        end_kept_line();
      }
      bytes.remove_prefix(end + 1);
    }
  }

  ReadObservations finish() {
    if (!rest_.empty() || overlong_) end_kept_line();
    return std::move(read_);
  }

 private:
  /// Half a line, until its end comes; of one that is too long nothing is kept.
  void keep(std::string_view bytes) {
    if (rest_.size() + bytes.size() > kMaxLineLength) overlong_ = true;
    if (overlong_) {
      rest_.clear();
    } else {
      rest_ += bytes;
    }
  }
  void end_kept_line() {
    if (overlong_) {
      ++number_;
      ++read_.lines;
      note(fmt::format("longer than {} bytes", kMaxLineLength));
    } else {
      add_line(rest_);
    }
    rest_.clear();
    overlong_ = false;
  }

  void add_line(std::string_view line) {
    ++number_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    ++read_.lines;
    const Result<void> added = line.size() > kMaxLineLength ? broken("longer than {} bytes", kMaxLineLength)
                               : scan_probe_line(line, probe_) ? add_usual(line)
                                                               : add_unusual(line);
    if (!added) note(added.error().message);
  }

  /// Tells a row that was read before from a new one, and takes back those just before it that turn out to be
  /// repeats.
  bool is_repeat(std::string_view line, bool has_number, bool has_time) {
    const auto [repeat, before] = repeated_.next({line, has_number, has_time});
    if (!repeat) {
      ends_.push_back(end());
      if (ends_.size() > RepeatedRows::kMinRow) ends_.pop_front();
      return false;
    }
    if (read_.repeated == 0) read_.first_repeated = number_ - before;
    read_.repeated += 1 + before;
    if (before > 0) {
      const Ends& from = ends_[ends_.size() - before];
      read_.observations.probes.resize(from.probes, Observation{.path = PathSetId(0)});
      read_.observations.loads.resize(from.loads, LoadObservation{.path = PathSetId(0)});
      ends_.clear();
    }
    return true;
  }
  Result<void> add_usual(std::string_view line) {
    if (is_repeat(line, probe_.row.has_value(), probe_.start_us.has_value())) return {};
    return add_probe();
  }
  void note(const std::string& message) {
    ++read_.broken;
    if (read_.first_broken.size() < kNamed) read_.first_broken.push_back({number_, outside_text(message)});
  }

  Result<ChannelId> channel(std::string_view name) const {
    const auto found = channels_.find(name);
    if (found != channels_.end()) return found->second;
    return fabric_.find_channel(name);  // with ports though they may be left out
  }

  template <class Names>
  Result<PathId> path(const Names& names) {
    path_.clear();
    for (const std::string_view name : names) {
      WEFT_TRY(const auto next, channel(name));
      if (!path_.empty() && fabric_.target_node(path_.back()) != fabric_.source_node(next))
        return broken("'{}' does not go on where '{}' ends", name, fabric_.name_of(path_.back()));
      path_.push_back(next);
    }
    if (path_.empty()) return broken("a path without a channel");
    if (path_.size() > fabric_.node_count()) return broken("a path that goes in circles");
    return read_.observations.paths.intern(path_);
  }

  static Result<void> check_counts(std::uint64_t sent, std::uint64_t lost, std::uint64_t corrupt) {
    if (sent > kMaxPackets) return broken("{} packets sent: more than any run sends", sent);
    if (lost > sent) return broken("{} lost of {} sent", lost, sent);
    if (corrupt > sent - lost) return broken("{} corrupt of {} received", corrupt, sent - lost);
    return {};
  }

  Result<LabelledPair> labelled_pair(std::string_view src, std::string_view dst,
                                     std::optional<std::uint32_t> label) const {
    if (src.empty() || dst.empty() || !label) return broken("'src', 'dst' and 'label' belong together");
    const auto from = fabric_.find_nic(src);
    if (!from) return pass_on(from, "src");
    const auto to = fabric_.find_nic(dst);
    if (!to) return pass_on(to, "dst");
    return LabelledPair{*from, *to, PathLabel(*label)};
  }

  Result<void> add_probe() {
    WEFT_TRY(const auto forward, path(probe_.path));
    std::optional<PathId> back;
    if (probe_.has_back) {
      const auto way = path(probe_.back);
      if (!way) return pass_on(way, "back");
      back = *way;
    }
    if (auto checked = check_counts(*probe_.sent, *probe_.lost, probe_.corrupt); !checked) return checked;
    if (probe_.bytes > kMaxPackets) return broken("a packet of {} bytes", probe_.bytes);
    PathTable& table = read_.observations.paths;
    Observation seen{.path = table.only(forward), .sent = *probe_.sent, .lost = *probe_.lost};
    if (back) seen.back = table.only(*back);
    seen.size = Bytes(static_cast<std::int64_t>(probe_.bytes));
    seen.corrupt = probe_.corrupt;
    if (probe_.p50_us) {
      if (*probe_.p50_us > kMaxMicros || *probe_.p99_us > kMaxMicros)
        return broken("a round trip of {} us", std::max(*probe_.p50_us, *probe_.p99_us));
      seen.rtt = RttQuantiles{from_micros(*probe_.p50_us), from_micros(*probe_.p99_us)};
    }
    if (!probe_.src.empty() || !probe_.dst.empty() || probe_.label) {
      WEFT_TRY(const auto pair, labelled_pair(probe_.src, probe_.dst, probe_.label));
      seen.pair = pair;
    }
    seen.excused = probe_.excused;
    seen.runs = probe_.runs;
    if (probe_.start_us) seen.window = {from_micros(*probe_.start_us), from_micros(*probe_.length_us)};
    if (auto checked = check_order(seen); !checked) return checked;
    read_.observations.probes.push_back(std::move(seen));
    return {};
  }

  Result<void> add_unusual(std::string_view line) {
    WEFT_TRY(const auto json, parse_json(line, "line"));
    const JsonView view(json, "line");
    if (const auto row = read_count(view, "row", 0); !row) return pass_on(row);
    if (is_repeat(line, view.find("row").has_value(), view.find("window").has_value())) return {};
    if (view.find("load")) return add_load(view);
    if (const auto count = view.find("count")) return add_count(*count);
    if (view.find("channel")) return add_channel_sign(view);
    if (view.find("host")) return add_host_sign(view);
    return add_probes(view);
  }

  /// `one` or, as a set, `several`; absent where the line has neither.
  Result<std::optional<PathSetId>> path_set(const JsonView& view, std::string_view one,
                                            std::string_view several) {
    std::vector<PathId> members;
    const auto add = [&](const JsonView& item) -> Result<void> {
      WEFT_TRY(const auto names, read_texts(item));
      WEFT_TRY(const auto id, path(names));
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
    return std::optional(read_.observations.paths.intern_set(members));
  }

  Result<PathSetId> needed_path(const JsonView& view) {
    WEFT_TRY(const auto set, path_set(view, "path", "paths"));
    if (!set) return view.error("expected 'path' or 'paths'");
    return *set;
  }

  Result<void> add_probes(const JsonView& view) {
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
    WEFT_TRY(const auto told, read_labelled(view));
    if (told.src || told.dst || told.label) {
      const auto pair = labelled_pair(told.src.value_or(""), told.dst.value_or(""), told.label);
      if (!pair) return view.error("{}", pair.error().message);
      seen.pair = *pair;
    }
    read_.observations.probes.push_back(std::move(seen));
    return {};
  }

  /// What no flow can have done is no evidence.
  Result<void> check_rates(const LoadObservation& seen) const {
    const PathTable& paths = read_.observations.paths;
    const auto path = paths.channels(paths.paths(seen.path).front());
    const Bandwidth link = std::max(fabric_.rate(path.front()), kMinLink);
    if (seen.delivered > seen.offered * kMoreThanSent)
      return broken("{} delivered of {} offered", to_string(seen.delivered), to_string(seen.offered));
    if (seen.offered > seen.wanted * kMoreThanAsked)
      return broken("{} offered where {} was wanted", to_string(seen.offered), to_string(seen.wanted));
    if (seen.offered > link * kMoreThanLink)
      return broken("{} offered over {}, a link of {}", to_string(seen.offered), names_[path.front().value()],
                    to_string(link));
    if (seen.line_rate && (*seen.line_rate <= Bandwidth() || *seen.line_rate > link * kMoreThanLink))
      return broken("a line rate of {} of {}, a link of {}", to_string(*seen.line_rate),
                    names_[path.front().value()], to_string(link));
    if (seen.line_rate && seen.wanted > *seen.line_rate * kMoreThanLink)
      return broken("{} wanted of {}, a cable built for {}", to_string(seen.wanted),
                    names_[path.front().value()], to_string(*seen.line_rate));
    return {};
  }

  Result<void> add_load(const JsonView& view) {
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
    read_.observations.loads.push_back(seen);
    return {};
  }

  static Result<std::string_view> text(const JsonView& view, std::string_view key) {
    WEFT_TRY(const auto member, view.need(key));
    return member.text();
  }

  static Result<Cause> cause(const JsonView& view) {
    WEFT_TRY(const auto word, text(view, "cause"));
    const auto value = parse_cause(word);
    if (!value) return view.error("no such cause: '{}'", word);
    return *value;
  }

  Result<void> add_count(const JsonView& view) {
    WEFT_TRY(const auto name, text(view, "channel"));
    WEFT_TRY(const auto id, channel(name));
    WEFT_TRY(auto count, read_channel_count(view, id));
    read_.observations.counts.push_back(std::move(count));
    return {};
  }

  Result<void> add_channel_sign(const JsonView& view) {
    WEFT_TRY(const auto name, text(view, "channel"));
    WEFT_TRY(const auto id, channel(name));
    WEFT_TRY(const auto why, cause(view));
    WEFT_TRY(const auto ratio, view.need("log_ratio"));
    WEFT_TRY(const auto nats, ratio.number());
    if (!std::isfinite(nats)) return ratio.error("expected a finite number");
    WEFT_TRY(const auto words, text(view, "text"));
    read_.observations.channels.push_back(
        {.channel = id, .cause = why, .log_ratio = nats, .text = std::string(words)});
    return {};
  }

  Result<void> add_host_sign(const JsonView& view) {
    WEFT_TRY(const auto name, text(view, "host"));
    WEFT_TRY(const auto node, fabric_.find_node(name));
    if (!fabric_.is_host(node)) return view.error("'{}' is no host", name);
    HostEvidence sign{.host = node};
    if (const auto nic = view.find("nic")) {
      WEFT_TRY(const auto word, nic->text());
      WEFT_TRY(const auto port, fabric_.find_nic(word));
      if (fabric_.port(port).node != node) return nic->error("'{}' is no NIC of {}", word, name);
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
    read_.observations.hosts.push_back(std::move(sign));
    return {};
  }

  /// How many there were of what rows with a time can hold, before a row.
  struct Ends {
    std::size_t probes = 0;
    std::size_t loads = 0;
  };
  Ends end() const { return {read_.observations.probes.size(), read_.observations.loads.size()}; }

  const Fabric& fabric_;
  std::vector<std::string> names_;
  std::unordered_map<std::string_view, ChannelId> channels_;
  ReadObservations read_;
  std::uint64_t number_ = 0;  // of the line last read
  std::string rest_;
  bool overlong_ = false;
  ProbeLine probe_;
  RepeatedRows repeated_;
  std::deque<Ends> ends_;  // before each of the last rows
  std::vector<ChannelId> path_;
};

ObservationReader::ObservationReader(const Fabric& fabric) : impl_(std::make_unique<Impl>(fabric)) {}
ObservationReader::~ObservationReader() = default;
void ObservationReader::feed(std::string_view bytes) { impl_->feed(bytes); }
ReadObservations ObservationReader::finish() && { return impl_->finish(); }

Result<ReadObservations> read_observation_file(const Fabric& fabric, const std::filesystem::path& path) {
  ObservationReader reader(fabric);
  WEFT_TRY_VOID(read_pieces(path, [&reader](std::string_view piece) -> Result<void> {
    reader.feed(piece);
    return {};
  }));
  return std::move(reader).finish();
}

}  // namespace weft::files
