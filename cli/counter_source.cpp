#include "cli/counter_source.hpp"

#include <algorithm>
#include <sstream>

#include "balancer/export/rest_api.hpp"
#include "cli/exit_status.hpp"
#include "collectors/counters/counter_observations.hpp"
#include "collectors/counters/prometheus.hpp"
#include "collectors/counters/switch_text.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/json_view.hpp"
#include "topology/os/clocks.hpp"
#include "topology/os/run_program.hpp"

namespace weft::cli {
namespace {

constexpr Bytes kMaxFile(512'000'000);
// 147,456 ports with 300 bytes of labels and ten readings.
constexpr Bytes kMaxAnswer(256'000'000);
constexpr Nanoseconds kAnswerLimit = std::chrono::seconds(30);
constexpr Nanoseconds kServerLimit = std::chrono::minutes(10);  // of all answers
// Of the past some scrapes every two hours: a rise takes days, and a daily cycle shows.
constexpr Nanoseconds kShortWindow = std::chrono::minutes(2);
constexpr std::chrono::hours kEvery(2);
constexpr Nanoseconds kCommandLimit = std::chrono::seconds(20);
constexpr Nanoseconds kCommandsLimit = std::chrono::minutes(5);  // of all switches, one after another
constexpr Bytes kMaxCommandOutput(64'000'000);
constexpr std::string_view kSwitch = "{switch}";

exports::RestRefusal refusal_of(std::string_view body) {
  const auto value = files::parse_json(body.substr(0, 65'536), "a refusal");
  if (!value) return {};
  const auto words = files::JsonView(*value, "a refusal").find("error");
  const auto text = words ? words->text() : Result<std::string_view>(std::string_view());
  return {.message = text ? std::string(*text) : std::string()};
}

/// The words of a command with the switch's name in place; no shell reads them.
std::vector<std::string> words_of(const std::string& command, const std::string& name) {
  std::vector<std::string> words;
  std::istringstream in(command);
  for (std::string word; in >> word;) {
    for (auto at = word.find(kSwitch); at != std::string::npos; at = word.find(kSwitch, at + name.size()))
      word.replace(at, kSwitch.size(), name);
    words.push_back(word);
  }
  return words;
}

Result<std::vector<counters::MetricPreset>> presets_of(const files::CounterSources& of) {
  std::vector<counters::MetricPreset> presets;
  for (const auto& name : of.presets) {
    WEFT_TRY(auto preset, counters::find_preset(name));
    presets.push_back(std::move(preset));
  }
  if (presets.empty() && of.metrics.empty()) presets = counters::metric_presets();
  if (!of.metrics.empty()) {
    counters::MetricPreset own{.name = "prometheus"};
    for (const auto& [ours, theirs] : of.metrics) {
      const auto key = counters::parse_counter_key(ours);
      if (!key)
        return fail(ErrorKind::usage, "counters: metrics: no counter is called '{}'", outside_text(ours));
      own.rules.push_back({.metric = theirs, .key = *key});
    }
    presets.push_back(std::move(own));
  }
  for (auto& preset : presets) {
    if (of.node_label) preset.node_label = *of.node_label;
    if (of.port_label) preset.port_label = *of.port_label;
  }
  return presets;
}

}  // namespace

void add_counter_options(po::options_description& options) {
  options.add_options()(
      "counters", po::value<std::string>()->value_name("FILE"),
      "counters of ports: weft.counters/1, or what SONiC or NVUE print, of --of-switch; on InfiniBand what "
      "perfquery or ibqueryerrors print")("of-switch", po::value<std::string>()->value_name("NAME"),
                                          "whose counters --counters are, where it does not say")(
      "prometheus", po::value<std::string>()->value_name("URL"),
      "read counters of ports from a Prometheus: http[s]://HOST[:PORT]")(
      "exporter", po::value<std::vector<std::string>>()->composing()->value_name("NAME"),
      "what that Prometheus scrapes: node_exporter, node_ethtool, node_infiniband, snmp_exporter, gnmic, "
      "gnmic_transceiver or sonic_exporter (default: each)");
}

Result<CounterSource> CounterSource::open(const po::variables_map& values,
                                          const files::CounterSources& of_file) {
  CounterSource source;
  source.of_ = of_file;
  source.file_ = text_option(values, "counters").value_or("");
  source.node_ = text_option(values, "of-switch").value_or("");
  if (const auto url = text_option(values, "prometheus")) source.of_.prometheus = *url;
  if (values.count("exporter")) {
    if (!source.of_.prometheus)
      return fail(ErrorKind::usage, "--exporter says what --prometheus URL scrapes");
    source.of_.presets = values["exporter"].as<std::vector<std::string>>();
  }
  WEFT_TRY_VOID(presets_of(source.of_).map([](const auto&) {}));
  if (source.of_.prometheus)
    WEFT_TRY_VOID(
        exports::RestApi::open({.url = *source.of_.prometheus, .plain = true}).map([](const auto&) {}));
  return source;
}

Result<counters::PrometheusSource> CounterSource::server_source() const {
  WEFT_TRY(auto presets, presets_of(of_));
  counters::PrometheusSource from{.presets = std::move(presets), .match = of_.match, .renames = of_.renames};
  if (of_.window) from.window = *of_.window;
  return from;
}

Result<void> CounterSource::ask_server(const Fabric& fabric, std::vector<counters::PrometheusSource> windows,
                                       counters::CounterTable& into) const {
  WEFT_TRY(auto server, exports::RestApi::open({.url = *of_.prometheus,
                                                .plain = true,
                                                .limit = kAnswerLimit,
                                                .max_answer = kMaxAnswer,
                                                .read_refusal = refusal_of}));
  const auto end = std::chrono::steady_clock::now() + kServerLimit;
  const auto ask = [&](const std::string& promql) -> Result<std::string> {
    if (stop_.stop_requested()) return fail(ErrorKind::timeout, "it was told to end");
    if (std::chrono::steady_clock::now() > end)
      return fail(ErrorKind::timeout, "its answers took longer than {} s in all",
                  std::chrono::duration_cast<std::chrono::seconds>(kServerLimit).count());
    return server->call({.path = "/api/v1/query?query=" + exports::query_word(promql)});
  };
  for (const counters::PrometheusSource& window : windows)
    if (const auto done = read_prometheus(fabric, window, ask, into); !done)
      return pass_on(done, outside_text(*of_.prometheus));
  return {};
}

Result<void> CounterSource::read_server(const Fabric& fabric, counters::CounterTable& into) const {
  WEFT_TRY(auto from, server_source());
  return ask_server(fabric, {std::move(from)}, into);
}

Result<void> CounterSource::read_corrected(const Fabric& fabric, std::chrono::hours past,
                                           counters::CounterTable& into) const {
  if (!of_.prometheus) return read(fabric, into);
  WEFT_TRY(auto from, server_source());
  from.window = std::min<Nanoseconds>(from.window, kShortWindow);
  for (counters::MetricPreset& preset : from.presets)
    std::erase_if(preset.rules, [](const counters::MetricRule& rule) {
      using enum counters::PortCounter;
      const auto counter = rule.key.counter;
      return counter != fec_corrected && counter != fec_bits && counter != fec_codewords &&
             counter != fec_uncorrectable && counter != link_events;
    });
  std::erase_if(from.presets, [](const counters::MetricPreset& preset) {
    return std::ranges::none_of(preset.rules, [](const counters::MetricRule& rule) {
      using enum counters::PortCounter;
      return rule.key.counter == fec_corrected || rule.key.counter == fec_bits;
    });
  });
  if (from.presets.empty())
    return fail(
        ErrorKind::usage,
        "no metric of corrected errors is named: counters: {{metrics: {{fec_corrected: METRIC}}}} in the "
        "fabric file");
  std::vector<counters::PrometheusSource> windows;
  for (auto back = past; back.count() >= 0; back -= kEvery) {
    windows.push_back(from);
    windows.back().offset = back;
  }
  return ask_server(fabric, std::move(windows), into);
}

Result<void> CounterSource::read_exec(const Fabric& fabric, counters::CounterTable& into) const {
  const auto end = std::chrono::steady_clock::now() + kCommandsLimit;
  std::size_t asked = 0, answered = 0;
  Result<void> last;
  for (const Node& node : fabric.nodes()) {
    if (node.kind == NodeKind::host) continue;
    ++asked;
    if (stop_.stop_requested()) return fail(ErrorKind::timeout, "exec: it was told to end");
    if (std::chrono::steady_clock::now() > end)
      return fail(ErrorKind::timeout, "exec: {} of the switches took longer than {} s in all", asked - 1,
                  std::chrono::duration_cast<std::chrono::seconds>(kCommandsLimit).count());
    const auto said =
        os::run_strange_program(words_of(*of_.exec, node.name), "", kCommandLimit, kMaxCommandOutput);
    last = said ? read_switch_text(fabric, *said, "exec", node.name, os::wall_now(), into).map([](auto) {})
                : Result<void>(pass_on(said));
    if (last)
      ++answered;
    else
      into.refused.add(fmt::format("exec: {}: {}", node.name, last.error().message));
  }
  if (asked > 0 && answered == 0) return pass_on(last, "exec: no switch");
  return {};
}

Result<void> CounterSource::read_before(const Fabric& fabric, counters::CounterTable& into) const {
  return of_.exec ? read_exec(fabric, into) : Result<void>();
}

Result<void> CounterSource::read(const Fabric& fabric, counters::CounterTable& into) const {
  if (!file_.empty()) {
    WEFT_TRY(const auto text, files::read_text_file(file_, kMaxFile));
    WEFT_TRY_VOID(read_switch_text(fabric, text, file_, node_, os::wall_now(), into));
  }
  if (of_.exec) WEFT_TRY_VOID(read_exec(fabric, into));
  return of_.prometheus ? read_server(fabric, into) : Result<void>();
}

std::vector<ChannelCount> counted(const Fabric& fabric, counters::CounterTable& table) {
  const auto found = counters::channel_counts(fabric, table);
  print_stderr("note: counters: {} series, {} counts of errors over a window\n", table.series().size(),
               found.size());
  const auto passed = table.unplaced.count + table.doubled.count + table.refused.count;
  if (passed > 0)
    print_stderr("note: counters: {} series or values cannot be used: weft counters check shows them\n",
                 passed);
  return found;
}

}  // namespace weft::cli
