#include "topology/files/observation_scanner.hpp"

#include <charconv>

#include "topology/findings/loss_runs.hpp"

namespace weft {
namespace {

constexpr double kUsualWindow = 1e12;  // us

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
    while (at_ != end_ && *at_ != '"') {
      if (*at_ == '\\' || static_cast<unsigned char>(*at_) < 0x20) return false;
      ++at_;
    }
    if (at_ == end_) return false;
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
  if (key == "window")
    return scan_two(cursor, "start_us", line.start_us, "length_us", line.length_us) &&
           *line.start_us <= kUsualWindow && *line.length_us <= kUsualWindow;
  if (key == "runs") return scan_runs(cursor, line.runs);
  if (key == "src") return cursor.string(line.src);
  if (key == "dst") return cursor.string(line.dst);
  if (key == "label") return cursor.number(line.label.emplace());
  return false;
}

}  // namespace

bool scan_probe_line(std::string_view text, ProbeLine& line) {
  line.path.clear();
  line.back.clear();
  line.has_back = false;
  line.sent.reset();
  line.lost.reset();
  line.bytes = line.corrupt = line.excused = 0;
  line.p50_us.reset();
  line.p99_us.reset();
  line.start_us.reset();
  line.length_us.reset();
  line.runs.clear();
  line.src = line.dst = {};
  line.label.reset();
  Cursor cursor(text);
  if (!cursor.skip('{')) return false;
  do {
    if (!scan_member(cursor, line)) return false;
  } while (cursor.skip(','));
  return cursor.skip('}') && cursor.ended() && !line.path.empty() && line.sent && line.lost;
}

}  // namespace weft
