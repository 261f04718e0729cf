#include "probes/run/relay.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "topology/base/json_members.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::run {
namespace {

constexpr std::size_t kMaxInput = 64 * 1024;  // a credential: a login, and the certificate of a run
constexpr std::size_t kMaxWords = 4096;       // of one program
constexpr std::size_t kMaxOutput = 4'000'000;
constexpr std::size_t kMaxErrors = 64 * 1024;
constexpr JsonLimits kOrderLimits{.bytes = 32'000'000, .depth = 4, .values = 1'000'000};
/// Every byte of an output may be written as six.
constexpr JsonLimits kLineLimits{.bytes = 6 * (kMaxOutput + kMaxErrors), .depth = 2, .values = 100};

}  // namespace
}  // namespace weft::run

namespace weft::json_members {

namespace {

/// Text that may be longer than a name.
struct LongText {
  std::string& text;
  std::size_t most;  // bytes
};

}  // namespace

static Json write_json(OneValue, const LongText& from) { return Json(from.text); }
static void read_json(OneValue, const Json& from, const LongText& into) { into.text = text(from, into.most); }

template <class Io>
static void members(Io& io, run::RelayedHost& m) {
  io("host", m.host);
  io("argv", at_most(run::kMaxWords, m.argv));
  io("input", LongText{m.input, run::kMaxInput});
}
template <class Io>
static void members(Io& io, run::RelayOrder& m) {
  io("launcher", m.launcher);
  io("each", m.each);
  io("longest", m.longest);
  io("hosts", at_most(run::kMaxBranch, m.hosts));
}

/// A RelayedAnswer as it travels: the relay's clock stays at home.
struct AnswerLine {
  std::uint32_t host = 0;
  std::string output, errors;
  std::optional<std::uint32_t> exit_code = std::nullopt;
  bool in_time = true, too_long = false;
  std::optional<std::string> not_started = std::nullopt;
  Nanoseconds took{};
};
template <class Io>
static void members(Io& io, AnswerLine& m) {
  io("host", m.host);
  io("output", LongText{m.output, run::kMaxOutput});
  io("errors", LongText{m.errors, run::kMaxErrors});
  io("exit", m.exit_code);
  io("in_time", m.in_time);
  io("too_long", m.too_long);
  io("not_started", m.not_started);
  io("took", m.took);
}

}  // namespace weft::json_members

namespace weft::run {
namespace {

constexpr std::size_t kShownOfTooLong = 1000;              // bytes: enough to see what it is
constexpr int kSshFailed = 255;                            // ssh(1): "or with 255 if an error occurred"
constexpr int kNotExecutable = 126, kNoSuchProgram = 127;  // POSIX shells

Result<RelayedAnswer> read_answer(const std::string& line, Nanoseconds now) {
  WEFT_TRY(auto read, json_members::read_text<json_members::AnswerLine>(line, kLineLimits, "a relay's line"));
  HostAnswer answer{.output = std::move(read.output), .errors = std::move(read.errors)};
  if (read.exit_code && *read.exit_code > 255)
    return fail(ErrorKind::invalid_input, "a relay's line has exit status {}", *read.exit_code);
  if (read.exit_code) answer.exit_code = static_cast<int>(*read.exit_code);
  answer.in_time = read.in_time;
  answer.too_long = read.too_long;
  if (read.not_started) answer.not_started = Error{ErrorKind::internal, *read.not_started};
  answer.asked = now - read.took;
  answer.answered = now;
  return RelayedAnswer{read.host, std::move(answer)};
}

}  // namespace

std::size_t usual_branch(std::size_t hosts) {
  const auto root = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(hosts))));
  return std::clamp<std::size_t>(root, 1, kMaxBranch);
}

std::string relay_order_text(const RelayOrder& order) {
  return json_members::to_text(json_members::write_value(order)) + "\n";
}

Result<RelayOrder> read_relay_order(std::string_view text) {
  WEFT_TRY(auto order, json_members::read_text<RelayOrder>(text, kOrderLimits, "a relay's order"));
  for (const RelayedHost& host : order.hosts)
    if (host.argv.empty() || host.host.empty() || host.host.starts_with('-'))
      return fail(ErrorKind::invalid_input, "a relay's order does not fit: a host without name or program");
  if (order.longest > kMaxOutput || order.each <= Nanoseconds(0))
    return fail(ErrorKind::invalid_input, "a relay's order does not fit: limits of {} bytes and {} ns",
                order.longest, order.each.count());
  return order;
}

std::string relayed_answer_line(const RelayedAnswer& relayed) {
  const HostAnswer& answer = relayed.answer;
  json_members::AnswerLine line{static_cast<std::uint32_t>(relayed.host), answer.output, answer.errors};
  if (answer.exit_code) line.exit_code = static_cast<std::uint32_t>(*answer.exit_code);
  line.in_time = answer.in_time;
  line.too_long = answer.too_long;
  if (answer.too_long) line.output.resize(std::min(line.output.size(), kShownOfTooLong));
  if (answer.not_started) line.not_started = answer.not_started->message;
  line.took = std::max(Nanoseconds(0), answer.answered - answer.asked);
  return json_members::to_text(json_members::write_value(line));
}

bool was_reached(const HostAnswer& answer) {
  const auto code = answer.exit_code;
  return !answer.not_started && answer.in_time && code != kSshFailed && code != kNotExecutable &&
         code != kNoSuchProgram;
}

std::vector<std::string> relay_words(const std::string& program) { return {program, "relay"}; }

std::string why_no_relay(const HostAnswer& answer) {
  if (answer.not_started) return answer.not_started->message;
  if (!answer.in_time) return "it does not answer";
  std::string words = answer.errors;
  while (!words.empty() && static_cast<unsigned char>(words.back()) <= ' ') words.pop_back();
  words = outside_text(words.substr(words.rfind('\n') + 1));
  if (!words.empty()) return words;
  return answer.exit_code ? fmt::format("exit status {}", *answer.exit_code) : "ended by a signal";
}

std::vector<RelayedAnswer> RelayLines::take(std::string_view bytes, Nanoseconds now) {
  std::vector<RelayedAnswer> answers;
  while (!bytes.empty() && !broken_) {
    const auto end = bytes.find('\n');
    rest_ += bytes.substr(0, end);
    if (rest_.size() > 6 * (longest_ + kMaxErrors))
      broken_ = Error{ErrorKind::invalid_input, "a relay's line is longer than an answer can be"};
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(rest_, {});
    if (line.empty() || broken_) continue;
    auto answer = read(line, now);
    if (answer)
      answers.push_back(std::move(*answer));
    else
      broken_ = answer.error();
  }
  return answers;
}

Result<RelayedAnswer> RelayLines::read(const std::string& line, Nanoseconds now) {
  WEFT_TRY(auto answer, read_answer(line, now));
  if (answer.host >= told_.size() || told_[answer.host] || answer.answer.output.size() > longest_)
    return fail(ErrorKind::invalid_input, "a relay tells of a host that it was not asked for, or again");
  told_[answer.host] = true;
  return answer;
}

std::vector<std::size_t> RelayLines::untold() const {
  std::vector<std::size_t> hosts;
  for (std::size_t i = 0; i < told_.size(); ++i)
    if (!told_[i]) hosts.push_back(i);
  return hosts;
}

}  // namespace weft::run
