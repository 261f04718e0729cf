#include "cli/report.hpp"

#include <array>
#include <chrono>

#include "cli/exit_status.hpp"
#include "cli/kept_counters.hpp"
#include "cli/output_files.hpp"
#include "cli/plan.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/counters/port_warnings.hpp"
#include "collectors/report/history_report.hpp"
#include "collectors/report/nic_list.hpp"
#include "collectors/store/reported_nics.hpp"
#include "collectors/store/watch_store.hpp"
#include "collectors/web/report_page.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/files/time_span.hpp"

namespace weft::cli {
namespace {

constexpr const char* kExamples =
    "  weft report --db watch.db                     # the last seven days\n"
    "  weft report --db watch.db --since 90d --link leaf1--spine2\n"
    "  weft report --db watch.db --since 90d -o csv > rma.csv\n"
    "  weft report --db watch.db --since 90d --rates rates.json   # which fail again and again\n"
    "  weft report --db watch.db --since 24h -o json\n"
    "  weft report --db watch.db --inventory         # NICs, with firmware and modules\n"
    "  weft report diagnosis.json --html sweep.html   # any document, as a page\n"
    "  weft report compared.json --html compared.html --fabric a.yaml --fabric b.yaml\n";

enum class Format { table, json, csv };

Result<Format> read_format(const po::variables_map& values) {
  const auto word = values["output"].as<std::string>();
  if (word == "table") return Format::table;
  if (word == "json") return Format::json;
  if (word == "csv") return Format::csv;
  return fail(ErrorKind::usage, "-o {}: expected table, json or csv", word);
}

Nanoseconds seconds_ago(Nanoseconds now, Nanoseconds span) { return span > now ? Nanoseconds() : now - span; }

std::vector<report::HistoryStep> steps_of(const std::vector<store::HistoryPoint>& points) {
  std::vector<report::HistoryStep> steps;
  for (const auto& point : points)
    steps.push_back({point.begin, point.length, point.sample.sent, point.sample.lost, point.sample.verdict});
  return steps;
}

/// Both directions of the link asked for.
Result<void> add_channels(store::Database& database, report::WatchHistory& history) {
  const auto ends = history.place ? history.place->find("--") : std::string::npos;
  if (ends == std::string::npos) return {};
  const auto a = history.place->substr(0, ends), b = history.place->substr(ends + 2);
  for (const auto& channel : {a + "->" + b, b + "->" + a}) {
    const auto points =
        store::channel_history(database, channel, std::chrono::floor<store::Seconds>(history.from),
                               std::chrono::ceil<store::Seconds>(history.until));
    if (points)
      history.channels.push_back({channel, steps_of(*points)});
    else if (points.error().kind != ErrorKind::not_found || history.incidents.empty())
      return pass_on(points);
  }
  return {};
}

/// By the serials that a watch with counters kept. Parts that cannot be read tell of none: incidents are
/// reported all the same.
std::vector<report::ModuleChange> changed_modules(const std::optional<KeptCounters>& kept, Nanoseconds from,
                                                  Nanoseconds until) {
  if (!kept) return {};
  const Fabric& fabric = kept->fabric;
  std::vector<report::ModuleChange> changes;
  for (const counters::ModuleChange& change : counters::module_changes(kept->table)) {
    const auto channel = fabric.channel_from(change.port);
    if (channel && change.at >= from && change.at < until)
      changes.push_back({fabric.name_of(Fabric::link_of(*channel)), fabric.name_of(change.port),
                         change.before, change.after, change.from, change.at});
  }
  return changes;
}

Result<void> add_repairs(store::Database& database, const std::optional<KeptCounters>& kept,
                         report::WatchHistory& history) {
  if (history.incidents.empty()) return {};
  history.repairs =
      report::repair_outcomes(history.incidents, changed_modules(kept, history.from, history.until));
  for (report::RepairOutcome& outcome : history.repairs) {
    WEFT_TRY(outcome.watched, store::watched_time(database, std::chrono::floor<store::Seconds>(outcome.at),
                                                  std::chrono::ceil<store::Seconds>(history.until)));
  }
  return {};
}

/// Ports that warn by what was kept of their counters: of all, or of the link or node asked for.
void add_ports(std::optional<KeptCounters>& kept, report::WatchHistory& history) {
  if (!kept) return;
  const Fabric& fabric = kept->fabric;
  for (const PortWarning& one : counters::port_warnings(fabric, kept->table, history.until).ports) {
    const Port& port = fabric.port(one.port);
    const bool is_asked = !history.place || *history.place == fabric.name_of(port.node) ||
                          (port.link && *history.place == fabric.name_of(*port.link));
    if (is_asked)
      history.ports.push_back({fabric.name_of(one.port), one.text, one.source, one.degrading, one.at});
  }
}

/// A link also by one of its channels, as incidents are named of which one direction is at fault.
std::optional<std::string> asked_place(const po::variables_map& values) {
  auto place = text_option(values, "link");
  if (const auto arrow = place ? place->find("->") : std::string::npos; arrow != std::string::npos)
    place->replace(arrow, 2, "--");
  return place;
}

/// Cables that rates know (weft plan rates --from), by link.
Result<void> add_offenders(const po::variables_map& values, report::WatchHistory& history) {
  WEFT_TRY(const auto rates, rates_option(values));
  if (!rates) return {};
  if (rates->is_own && rates->origin != history.fabric)
    return fail(ErrorKind::usage, "--rates: these are of the fabric {}, and the database of {}",
                rates->origin, history.fabric);
  history.offenders.emplace();
  for (const auto part : {files::PartClass::host_cable, files::PartClass::switch_cable})
    if (const auto* of_class = rates->find(part))
      for (const files::KnownPart& each : of_class->known) (*history.offenders)[each.name] = each.offender;
  return {};
}

/// A name that the watched fabric does not have is refused: that nothing happened there reads as health.
Result<void> check_is_known(store::Database& database, const std::optional<std::string>& place) {
  if (!place) return {};
  WEFT_TRY(const auto text, store::kept_fabric_file(database));
  if (text.empty()) return {};
  WEFT_TRY(const auto kept, files::parse_fabric_file(text, "the fabric that is kept in the database"));
  if (const auto found = files::find_mute_target(kept.fabric, *place); !found)
    return pass_on(found, "--link " + *place);
  return {};
}

Result<report::WatchHistory> read_history(const po::variables_map& values) {
  const auto file = text_option(values, "db");
  if (!file) return fail(ErrorKind::usage, "--db FILE is missing: the database of 'weft watch'");
  WEFT_TRY(const auto since, read_option(values, "since", files::parse_span));
  const Nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  WEFT_TRY(auto opened, store::open_to_read(*file));
  report::WatchHistory history{.fabric = opened.fabric,
                               .from = seconds_ago(now, since.value_or(Nanoseconds())),
                               .until = now,
                               .place = asked_place(values),
                               .incidents = {},
                               .offences = {}};
  const store::IncidentQuery query{.from = history.from,
                                   .until = history.until,
                                   .place = history.place,
                                   .suspicions = values.count("suspicions") != 0};
  WEFT_TRY(history.incidents, store::incidents(opened.database, query));
  WEFT_TRY(history.offences, store::offences(opened.database, query));
  if (history.incidents.empty() && history.offences.empty())
    WEFT_TRY_VOID(check_is_known(opened.database, history.place));
  WEFT_TRY_VOID(add_channels(opened.database, history));
  WEFT_TRY_VOID(add_offenders(values, history));
  auto kept = kept_counters(opened.database, "");
  WEFT_TRY_VOID(add_repairs(opened.database, kept, history));
  add_ports(kept, history);
  return history;
}

/// The NICs that agents told of; of the host, or of the hosts at the link, asked for.
Result<report::NicList> read_nic_list(const po::variables_map& values) {
  const auto file = text_option(values, "db");
  if (!file) return fail(ErrorKind::usage, "--db FILE is missing: the database of 'weft watch'");
  for (const char* name : {"rates", "suspicions"})
    if (values.count(name))
      return fail(ErrorKind::usage, "--{} is of incidents: leave it out, or --inventory", name);
  WEFT_TRY(auto opened, store::open_to_read(*file));
  WEFT_TRY(const auto nics, store::kept_reported_nics(opened.database));
  report::NicList list{opened.fabric, report::listed_nics(nics)};
  const auto place = asked_place(values);
  const auto is_end = [&](const std::string& host) {
    return place->starts_with(host + "--") || place->ends_with("--" + host);
  };
  if (place)
    std::erase_if(list.nics, [&](const report::ListedNic& one) {
      return *place != one.nic.host && *place != one.nic.nic && !is_end(one.nic.host);
    });
  if (list.nics.empty()) WEFT_TRY_VOID(check_is_known(opened.database, place));
  return list;
}

int print_nic_list(const po::variables_map& values, Format format) {
  const auto list = read_nic_list(values);
  if (!list) return report(list.error());
  switch (format) {
    case Format::table:
      fmt::print("{}", report::nic_table(*list, terminal_columns()));
      break;
    case Format::json:
      fmt::print("{}", report::nic_json(*list, stamp_now()));
      break;
    case Format::csv:
      fmt::print("{}", report::nic_csv(*list));
      break;
  }
  return kExitHealthy;
}

constexpr Bytes kMaxDocument{512 << 20};  // of a sweep of 24,576 NICs: 30 MB

/// A document as a page: nothing is read of a database.
Result<void> write_document_page(const po::variables_map& values) {
  constexpr std::array kFiles{"html"};
  constexpr std::array kRead{"document", "fabric"};
  for (const char* name : {"db", "link", "rates", "suspicions", "inventory"})
    if (values.count(name))
      return fail(ErrorKind::usage, "--{} is of a watcher's database: leave it out, or the document", name);
  if (!values.count("html"))
    return fail(ErrorKind::usage, "--html FILE is missing: where the report of the document is to stand");
  WEFT_TRY_VOID(check_output_files(values, kFiles, kRead));
  const auto file = values["document"].as<std::string>();
  std::vector<files::FabricFile> read;
  if (values.count("fabric"))
    for (const std::string& path : values["fabric"].as<std::vector<std::string>>()) {
      WEFT_TRY(auto fabric, load_fabric_file(path));
      read.push_back(std::move(fabric));
    }
  std::vector<const Fabric*> fabrics;
  for (const files::FabricFile& each : read) fabrics.push_back(&each.fabric);
  WEFT_TRY(const auto text, files::read_text_file(file, kMaxDocument));
  WEFT_TRY(const auto page, web::report_page(text, outside_text(file), fabrics));
  return files::write_text_file(values["html"].as<std::string>(), page);
}

}  // namespace

OptionParser report_options() {
  OptionParser parser(
      "weft report (--db FILE [--since 7d] [--link LINK] [--rates FILE] [-o table|json|csv] | "
      "--db FILE --inventory [--link HOST] [-o table|json|csv] | DOCUMENT.json "
      "--html PAGE.html [--fabric FABRIC.yaml]...)",
      "What 'weft watch' kept: incidents of the last days, and which cables were at fault, how "
      "often and for how long,\nand whether what was done about them held. Of one link also what was probed "
      "and lost over it. The watcher may "
      "be running. csv has the cables\nalone, one a line with its evidence, for who repairs or "
      "replaces them.\nWith --inventory instead: the NICs that standing agents told of, and which of them "
      "differ from others "
      "of their kind.\nWith a document (of any command's -o json or --save) instead: that as a page to look "
      "at, one file\nthat opens without a server.",
      kExamples);
  parser.options().add_options()("document", po::value<std::string>()->value_name("FILE"),
                                 "a JSON document of weft, for --html")(
      "fabric", po::value<std::vector<std::string>>()->composing()->value_name("FILE"),
      "the fabric of the document, to be drawn whole; of a comparison twice, for A, then for B")(
      "db", po::value<std::string>()->value_name("FILE"), "the database of the watcher")(
      "since", po::value<std::string>()->value_name("TIME")->default_value("7d"),
      "how far back: 90m, 24h, 7d")("link", po::value<std::string>()->value_name("LINK"),
                                    "of one link (leaf1--spine2), host or switch alone")(
      "suspicions", "also what never got certain")(
      "inventory",
      "the NICs that agents told of: driver, firmware, PCIe address, module, agent; csv has a line each")(
      "rates", po::value<std::string>()->value_name("FILE"),
      "of weft plan rates --from: also how likely each cable is one that fails again and again");
  parser.options(Group::output)
      .add_options()("output,o",
                     po::value<std::string>()->value_name("table|json|csv")->default_value("table"),
                     "table for people, json for programs, csv of cables or NICs");
  add_html_option(parser.options(Group::output));
  parser.positional("document", 1);
  parser.either({"document", "fabric", "html"}, {"db"});
  return parser;
}

int report_command(const Arguments& arguments) {
  auto parser = report_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  if (values->count("document")) {
    const auto written = write_document_page(*values);
    return written ? kExitHealthy : report(written.error());
  }
  // A fabric may stand in the site's configuration.
  if (values->count("html"))
    return report({ErrorKind::usage, "--html is of a document: weft report FILE.json --html PAGE"});
  const auto format = read_format(*values);
  if (!format) return report(format.error());
  if (values->count("inventory")) return print_nic_list(*values, *format);
  const auto history = read_history(*values);
  if (!history) return report(history.error());
  switch (*format) {
    case Format::table:
      fmt::print("{}", report::history_table(*history, terminal_columns()));
      break;
    case Format::json:
      fmt::print("{}", report::history_json(*history, stamp_now()));
      break;
    case Format::csv:
      fmt::print("{}", report::offences_csv(*history));
      break;
  }
  return kExitHealthy;
}

}  // namespace weft::cli
