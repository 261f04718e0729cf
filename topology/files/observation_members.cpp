#include "topology/files/observation_members.hpp"

#include <array>
#include <charconv>

#include "topology/findings/loss_runs.hpp"

namespace weft::files {
namespace {

constexpr double kMaxWindowMicros = 1e12;  // eleven days

Result<std::vector<LossRun>> read_runs(const JsonView& view) {
  std::vector<LossRun> runs;
  WEFT_TRY(const auto size, view.size());
  for (std::size_t i = 0; i < size && i <= kMaxLossRuns; ++i) {
    const JsonView run = view.at(i);
    WEFT_TRY(const auto parts, run.size());
    if (parts != 2) return run.error("expected the first packet and how many they are");
    WEFT_TRY(const auto first, run.at(0).count<std::uint32_t>());
    WEFT_TRY(const auto packets, run.at(1).count<std::uint32_t>());
    runs.push_back({first, packets});
  }
  return runs;
}

constexpr double kUsualWindow = 1e12;  // us

/// What a string holds as it stands: no quote, no escape, no control character.
constexpr auto kInString = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < plain.size(); ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();
bool ends_string(char c) { return !kInString[static_cast<unsigned char>(c)]; }

class Cursor {
 public:
  explicit Cursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool skip(char wanted) {
    blanks();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }
  /// A string without escapes.
  bool string(std::string_view& out) {
    if (!skip('"')) return false;
    const char* const from = at_;
    while (at_ != end_ && !ends_string(*at_)) ++at_;
    if (at_ == end_ || *at_ != '"') return false;
    out = {from, static_cast<std::size_t>(at_ - from)};
    ++at_;
    return true;
  }
  template <class T>
  bool number(T& out) {
    blanks();
    if (at_ == end_ || *at_ < '0' || *at_ > '9') return false;
    const auto [next, error] = std::from_chars(at_, end_, out);
    if (error != std::errc{} || (next != end_ && (*next == '.' || *next == 'e' || *next == 'E')))
      return false;
    at_ = next;
    return true;
  }
  bool strings(std::vector<std::string_view>& out) {
    out.clear();
    if (!skip('[')) return false;
    do {
      if (!string(out.emplace_back())) return false;
    } while (skip(','));
    return skip(']');
  }
  bool ended() {
    blanks();
    return at_ == end_;
  }

 private:
  void blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  const char* at_;
  const char* end_;
};

/// An object of two numbers.
bool scan_two(Cursor& cursor, std::string_view one, std::optional<double>& first, std::string_view other,
              std::optional<double>& second) {
  if (!cursor.skip('{')) return false;
  do {
    std::string_view key;
    double value = 0;
    if (!cursor.string(key) || !cursor.skip(':') || !cursor.number(value)) return false;
    if (key == one) {
      first = value;
    } else if (key == other) {
      second = value;
    } else {
      return false;
    }
  } while (cursor.skip(','));
  return cursor.skip('}') && first && second;
}

bool scan_runs(Cursor& cursor, std::vector<LossRun>& runs) {
  runs.clear();
  if (!cursor.skip('[')) return false;
  do {
    LossRun& run = runs.emplace_back();
    if (!cursor.skip('[') || !cursor.number(run.first) || !cursor.skip(',') || !cursor.number(run.count) ||
        !cursor.skip(']') || runs.size() > kMaxLossRuns)
      return false;
  } while (cursor.skip(','));
  return cursor.skip(']');
}

bool scan_member(Cursor& cursor, ProbeLine& line) {
  std::string_view key;
  if (!cursor.string(key) || !cursor.skip(':')) return false;
  if (key == "path") return cursor.strings(line.path);
  if (key == "back") return line.has_back = true, cursor.strings(line.back);
  if (key == "sent") return cursor.number(line.sent.emplace());
  if (key == "lost") return cursor.number(line.lost.emplace());
  if (key == "bytes") return cursor.number(line.bytes);
  if (key == "corrupt") return cursor.number(line.corrupt);
  if (key == "rtt_us") return scan_two(cursor, "p50", line.p50_us, "p99", line.p99_us);
  if (key == "excused") return cursor.number(line.excused);
  if (key == "held") return cursor.number(line.held);
  if (key == "window")
    return scan_two(cursor, "start_us", line.start_us, "length_us", line.length_us) &&
           *line.start_us <= kUsualWindow && *line.length_us <= kUsualWindow;
  if (key == "runs") return scan_runs(cursor, line.runs);
  if (key == "src") return cursor.string(line.src);
  if (key == "dst") return cursor.string(line.dst);
  if (key == "label") return cursor.number(line.label.emplace());
  if (key == "row") return cursor.number(line.row.emplace());
  return false;
}

}  // namespace

Result<std::uint64_t> read_count(const JsonView& view, std::string_view key,
                                 std::optional<std::uint64_t> otherwise) {
  const auto member = view.find(key);
  if (!member && otherwise) return *otherwise;
  WEFT_TRY(const auto needed, view.need(key));
  const auto value = needed.count<std::uint64_t>();
  if (value && *value > kMaxPackets) return needed.error("{} is more than any run counts", *value);
  return value;
}

Result<double> read_number(const JsonView& view, std::string_view key, double most) {
  WEFT_TRY(const auto needed, view.need(key));
  const auto value = needed.number();
  if (value && !(*value >= 0 && *value <= most)) return needed.error("expected a number from 0 to {}", most);
  return value;
}

Result<std::optional<TimeWindow>> read_window(const JsonView& view) {
  const auto member = view.find("window");
  if (!member) return std::optional<TimeWindow>();
  WEFT_TRY(const auto start, read_number(*member, "start_us", kMaxWindowMicros));
  WEFT_TRY(const auto length, read_number(*member, "length_us", kMaxWindowMicros));
  return std::optional(TimeWindow{from_micros(start), from_micros(length)});
}

Result<void> read_order(const JsonView& view, Observation& seen) {
  WEFT_TRY(const auto excused, read_count(view, "excused", 0));
  seen.excused = excused;
  WEFT_TRY(const auto held, read_count(view, "held", 0));
  seen.held = held;
  WEFT_TRY(const auto window, read_window(view));
  seen.window = window;
  if (const auto member = view.find("runs")) {
    WEFT_TRY(auto runs, read_runs(*member));
    seen.runs = std::move(runs);
  }
  return check_order(seen);
}

Result<ReportedPair> read_labelled(const JsonView& view) {
  ReportedPair told;
  for (const auto& [key, name] : {std::pair("src", &told.src), std::pair("dst", &told.dst)})
    if (const auto member = view.find(key)) {
      WEFT_TRY(const auto text, member->text());
      *name = std::string(text);
    }
  if (const auto member = view.find("label")) {
    WEFT_TRY(const auto label, member->count<std::uint32_t>());
    told.label = label;
  }
  return told;
}

Result<void> check_order(const Observation& seen) {
  if (seen.excused > seen.lost)
    return fail(ErrorKind::invalid_input, "{} excused of {} lost", seen.excused, seen.lost);
  if (seen.held > kMaxPackets)
    return fail(ErrorKind::invalid_input, "{} echoes held back: more than any run sends", seen.held);
  if (!are_loss_runs(seen.runs, seen.sent))
    return fail(ErrorKind::invalid_input,
                "runs of lost packets: expected at most {}, ascending, within the {} sent", kMaxLossRuns,
                seen.sent);
  if (!seen.runs.empty() && packets_in(seen.runs) != seen.lost)
    return fail(ErrorKind::invalid_input, "{} packets in the runs of {} lost", packets_in(seen.runs),
                seen.lost);
  return {};
}

Result<ChannelCount> read_channel_count(const JsonView& view, ChannelId channel) {
  constexpr double kMaxExposure = 1e24;  // bits: a year of a port is 1e20
  constexpr double kMaxGain = 1e9, kMaxSpread = 10;
  constexpr double kMaxSeconds = 3e9;  // a century
  WEFT_TRY(const auto word, view.need("kind"));
  WEFT_TRY(const auto name, word.text());
  const auto kind = parse_counter_kind(name);
  if (!kind) return word.error("no such kind of counter: '{}'", name);
  WEFT_TRY(const auto errors, read_count(view, "errors", std::nullopt));
  WEFT_TRY(const auto exposure, read_number(view, "exposure", kMaxExposure));
  WEFT_TRY(const auto gain, read_number(view, "frames_per_error", kMaxGain));
  WEFT_TRY(const auto spread, read_number(view, "spread", kMaxSpread));
  if (exposure <= 0 || gain <= 0) return view.error("expected an exposure and frames_per_error above zero");
  ChannelCount count{.channel = channel, .kind = *kind, .errors = errors, .exposure = exposure};
  count.gain = {gain, spread};
  const auto seconds = [&](std::string_view key, Nanoseconds& into) -> Result<void> {
    if (!view.find(key)) return {};
    WEFT_TRY(const auto value, read_number(view, key, kMaxSeconds));
    into = Nanoseconds(std::llround(value * 1e9));
    return {};
  };
  WEFT_TRY_VOID(seconds("window_s", count.end));
  WEFT_TRY_VOID(seconds("age_s", count.age));
  WEFT_TRY_VOID(seconds("period_s", count.period));
  if (const auto event = view.find("link_event")) {
    WEFT_TRY(const auto value, event->boolean());
    count.link_event = value;
  }
  WEFT_TRY(const auto source, view.need("source"));
  WEFT_TRY(const auto words, source.text());
  count.source = std::string(words);
  return count;
}

bool scan_probe_line(std::string_view text, ProbeLine& line) {
  line.path.clear();
  line.back.clear();
  line.has_back = false;
  line.sent.reset();
  line.lost.reset();
  line.bytes = line.corrupt = line.excused = line.held = 0;
  line.p50_us.reset();
  line.p99_us.reset();
  line.start_us.reset();
  line.length_us.reset();
  line.runs.clear();
  line.src = line.dst = {};
  line.label.reset();
  line.row.reset();
  Cursor cursor(text);
  if (!cursor.skip('{')) return false;
  do {
    if (!scan_member(cursor, line)) return false;
  } while (cursor.skip(','));
  return cursor.skip('}') && cursor.ended() && !line.path.empty() && line.sent && line.lost;
}

}  // namespace weft::files
