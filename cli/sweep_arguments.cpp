#include "cli/sweep_arguments.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "cli/exit_status.hpp"
#include "cli/lab_place.hpp"

namespace weft::cli {
namespace {

/// 16 agents with a responder each carry this on two cores without losing packets of their own.
constexpr double kLabProbesPerSecond = 1500;

Result<session::LoadLevel> parse_load(const std::string& text) {
  if (text == "none") return session::LoadLevel::none;
  if (text == "light") return session::LoadLevel::light;
  if (text == "full") return session::LoadLevel::full;
  return fail(ErrorKind::usage, "--load {}: expected none, light or full", text);
}

Result<LoadPattern> parse_pattern(const std::string& text) {
  if (const auto pattern = parse_load_pattern(text)) return *pattern;
  return fail(ErrorKind::usage, "--pattern {}: expected links, incast or all-pairs", text);
}

Result<plan::LabelChoice> parse_labels(const std::string& text) {
  if (text == "assigned") return plan::LabelChoice::assigned;
  if (text == "random") return plan::LabelChoice::random;
  return fail(ErrorKind::usage, "--labels {}: expected assigned or random", text);
}

Result<Fraction> parse_confidence(std::string_view text) {
  auto share = parse_percent(text);
  // 0.99 and 99% mean the same: a bare number is a probability.
  if (share && text.find('%') == std::string_view::npos) share = Fraction(std::min(share->as_percent(), 1.0));
  if (!share || share->value() <= 0 || share->value() >= 1)
    return fail(ErrorKind::usage,
                "'{}' is no confidence: expected a probability between 0 and 1, as in 0.99 or 99%", text);
  return share;
}

/// 'loss=0.2%,rate=25%': settings parted by commas, each once, given to `set` by name; false: unknown there.
Result<void> read_settings(std::string_view option, std::string_view text, std::string_view example,
                           const std::function<Result<bool>(std::string_view, std::string_view)>& set) {
  std::set<std::string_view> seen;
  for (std::string_view rest = text; !rest.empty() || text.empty();) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const auto equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    const auto known =
        equals == std::string_view::npos ? Result<bool>(false) : set(name, item.substr(equals + 1));
    if (!known) return fail(ErrorKind::usage, "--{} {}: {}", option, text, known.error().message);
    if (!*known)
      return fail(ErrorKind::usage, "--{}: '{}' is no setting of it: expected {}", option, item, example);
    if (!seen.insert(name).second) return fail(ErrorKind::usage, "--{}: '{}' stands twice", option, name);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) return fail(ErrorKind::usage, "--{} {}: a setting is missing at its end", option, text);
  }
  return {};
}

/// True: `parse` read it.
template <class T>
Result<bool> read_with(Result<T> (*parse)(std::string_view), std::string_view text, std::optional<T>& into) {
  WEFT_TRY(const auto read, parse(text));
  into = read;
  return true;
}

Result<Fraction> parse_share(std::string_view text) {
  const auto share = parse_percent(text);
  if (share && (share->value() <= 0 || share->value() >= 1))
    return fail(ErrorKind::usage, "{} is not between 0% and 100%", text);
  return share;
}

}  // namespace

Result<diagnosis::Detect> read_detect(const po::variables_map& values) {
  diagnosis::Detect detect;
  const auto text = text_option(values, "detect");
  if (!text) return detect;
  const auto read = read_settings("detect", *text, "loss=0.2%,rate=25%",
                                  [&](std::string_view name, std::string_view value) -> Result<bool> {
                                    if (name == "loss") return read_with(parse_share, value, detect.loss);
                                    if (name == "rate") return read_with(parse_share, value, detect.rate);
                                    return false;
                                  });
  if (!read) return pass_on(read);
  return detect;
}

void add_detect_option(po::options_description& options) {
  options.add_options()(
      "detect", po::value<std::string>()->value_name("LIST"),
      "the smallest faults that must show, as in loss=0.2%,rate=25%; a link crossed by fewer packets than "
      "show "
      "them with probability .99 is unknown (default: what the packets allow, at worst a loss of 5%)");
}

void add_tolerate_option(po::options_description& options) {
  options.add_options()("tolerate", po::value<std::string>()->value_name("LIST"),
                        "what is put up with on every link, as in loss=0.01%,delay=1ms: less than that is no "
                        "fault where it cannot be told whose it is (default: what the fabric file says "
                        "under `tolerate`, else these)");
}

Result<Tolerance> read_tolerance(const po::variables_map& values, const StatedTolerance& of_file,
                                 Tolerance usual) {
  StatedTolerance stated;
  const auto text = text_option(values, "tolerate");
  const auto set = [&](std::string_view name, std::string_view value) -> Result<bool> {
    if (name == "loss") return read_with(parse_tolerated_loss, value, stated.loss);
    if (name == "delay") return read_with(parse_tolerated_delay, value, stated.delay);
    return false;
  };
  if (text) WEFT_TRY_VOID(read_settings("tolerate", *text, "loss=0.01%,delay=1ms", set));
  return stated.over(of_file.over(usual));
}

void add_sweep_options(po::options_description& options) {
  options.add_options()("load", po::value<std::string>()->value_name("none|light|full"),
                        "load every link with real-size flows, and a few small probes beside them: none, "
                        "light (a quarter of its rate) or full "
                        "(default none on a live fabric, else full)")(
      "pattern", po::value<std::string>()->value_name("links|incast|all-pairs"),
      "which flows load together: links (no two over one channel, every channel in turn), incast (all to "
      "one, "
      "every NIC in turn) or all-pairs (every NIC to another, all in turn; default links)")(
      "labels", po::value<std::string>()->value_name("assigned|random"),
      "of the flows of incast and all-pairs: assigned so that few share a link, or random, as hashing "
      "switches leave it (default assigned)")("budget", po::value<std::string>()->value_name("TIME"),
                                              "time for probes and load together (default 15s)")(
      "confidence", po::value<std::string>()->value_name("P"),
      "that every path of a pair was seen (default 0.99)")(
      "answer-rate", po::value<double>()->value_name("N"),
      "hop answers asked of one switch per second (default 100 on a live fabric)")(
      "probe-rate", po::value<double>()->value_name("N"),
      "small probes one NIC sends per second (default 1000, in a lab 1500)")(
      "seed", po::value<std::uint64_t>()->value_name("N"),
      "of the choice of pairs, labels and rounds (default 1)");
  add_detect_option(options);
  add_tolerate_option(options);
}

Result<session::SweepOptions> read_sweep_options(const po::variables_map& values, bool live) {
  session::SweepOptions options;
  WEFT_TRY(const auto load, parse_load(text_option(values, "load").value_or(live ? "none" : "full")));
  options.load = load;
  WEFT_TRY(const auto pattern, parse_pattern(text_option(values, "pattern").value_or("links")));
  options.pattern = pattern;
  if (options.load == session::LoadLevel::none && options.pattern != LoadPattern::links)
    return fail(ErrorKind::usage, "--pattern {} loads the fabric: say --load light or --load full",
                to_string(options.pattern));
  WEFT_TRY(const auto labels, parse_labels(text_option(values, "labels").value_or("assigned")));
  options.labels = labels;
  if (values.count("labels") && options.pattern == LoadPattern::links)
    return fail(ErrorKind::usage,
                "--labels is for --pattern incast and all-pairs: of links each flow is alone");
  WEFT_TRY(const auto budget, read_option(values, "budget", parse_duration));
  if (budget) options.budget = *budget;
  if (options.budget < std::chrono::seconds(1) || options.budget > std::chrono::hours(24))
    return fail(ErrorKind::usage, "--budget {}: expected 1s to 24h", to_string(options.budget));
  WEFT_TRY(const auto confidence, read_option(values, "confidence", parse_confidence));
  if (confidence) options.confidence = *confidence;
  if (!live) options.answers_per_second = kLabAnswersPerSecond;
  if (!live) options.probes_per_second = kLabProbesPerSecond;
  for (const auto& [name, place] :
       {std::pair{"answer-rate", &options.answers_per_second}, {"probe-rate", &options.probes_per_second}}) {
    if (!values.count(name)) continue;
    *place = values[name].as<double>();
    if (!std::isfinite(*place) || *place < 1 || *place > 1e7)
      return fail(ErrorKind::usage, "--{} {}: expected 1 to 10000000 per second", name, *place);
  }
  WEFT_TRY(const auto tolerance, read_tolerance(values, {}));
  options.tolerate = tolerance;
  WEFT_TRY(const auto detect, read_detect(values));
  options.detect = detect;
  if (values.count("seed")) options.seed = values["seed"].as<std::uint64_t>();
  return options;
}

void note_missing_load(const po::variables_map& values) {
  for (const char* name : {"load", "pattern"})
    if (values.count(name) && values[name].as<std::string>() != "none")
      print_stderr("weft: --{}: management datagrams load nothing; --engine verbs does, on a live fabric\n",
                   name);
}

}  // namespace weft::cli
