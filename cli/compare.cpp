// Two fabrics compared by recorded runs of a benchmark on each.
#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>

#include "cli/commands.hpp"
#include "cli/compare_answer.hpp"
#include "cli/compare_sides.hpp"
#include "cli/exit_status.hpp"
#include "cli/kept_counters.hpp"
#include "cli/output_files.hpp"
#include "collectors/compare/recorded_run.hpp"
#include "collectors/compare/run_times.hpp"
#include "collectors/counters/fabric_temperature.hpp"
#include "collectors/store/watch_store.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/text.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

constexpr const char* kExamples =
    "  weft compare roce-*.log --with ib-*.log         # three runs a side at least\n"
    "  weft compare roce-*.log --with ib-*.log --margin 2% -o json\n"
    "  weft compare last-week/*.log --with today/*.log --times times.csv\n"
    "  weft compare a1 a2 a3 a4 a5 a6 --with b1 b2 b3 b4 b5 b6 --blocks\n"
    "  weft compare run roce.yaml ib.yaml              # measure both, see weft compare run --help\n";

constexpr std::size_t kMaxRuns = 10'000;  // a side

using Runs = std::vector<compare::Run>;

/// Of a text: its length and FNV-1a, 64 bits. Texts of which both are equal are the same, but for a chance of
/// one in 10^11 with the most files that there may be.
class Fingerprint {
 public:
  void take(std::string_view piece) {
    length_ += piece.size();
    for (const char c : piece) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;

 private:
  std::uint64_t length_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

/// The files that were read, by their texts.
using KnownTexts = std::map<Fingerprint, std::string>;

/// Of --times; nothing without it.
Result<compare::RunTimes> read_times(const po::variables_map& values) {
  constexpr Bytes kMaxTimes{256 << 20};
  const auto file = text_option(values, "times");
  if (!file) return compare::RunTimes();
  WEFT_TRY(const auto text, files::read_text_file(*file, kMaxTimes));
  return compare::parse_run_times(text, outside_text(*file));
}

Result<Runs> read_runs(const std::vector<std::string>& files, const compare::RunTimes& times,
                       KnownTexts& known) {
  if (files.size() > kMaxRuns)
    return fail(ErrorKind::usage, "{} files: expected {} a side at most", files.size(), kMaxRuns);
  Runs runs;
  for (const std::string& file : files) {
    compare::RecordedRunReader reader(outside_text(file));
    Fingerprint text;
    WEFT_TRY_VOID(files::read_pieces(file, [&](std::string_view piece) {
      text.take(piece);
      return reader.take(piece);
    }));
    WEFT_TRY(auto run, std::move(reader).finish());
    if (const auto [same, is_new] = known.try_emplace(text, run.name); !is_new)
      return fail(ErrorKind::usage,
                  "{} and {} have the same text: each file is a run of its own (where two runs printed the "
                  "same, put their times into the files)",
                  same->second, run.name);
    if (const auto moment = times.find(run.name); moment != times.end()) run.moment = moment->second;
    runs.push_back(std::move(run));
  }
  return runs;
}

Result<std::vector<std::string>> files_of(const po::variables_map& values, const char* name,
                                          const char* side) {
  if (!values.count(name))
    return fail(ErrorKind::usage, "no runs of {}: weft compare A... --with B...", side);
  return values[name].as<std::vector<std::string>>();
}

Result<compare::Settings> read_settings(const po::variables_map& values) {
  compare::Settings settings;
  WEFT_TRY(settings.margin, read_margin(values));
  if (values.count("blocks")) settings.design = compare::Design::blocks;
  for (const char* option : {"times", "db"})
    if (values.count("blocks") && values.count(option))
      return fail(ErrorKind::usage, "--{} with --blocks: in blocks the hour of day cancels; leave one out",
                  option);
  return settings;
}

/// By side; --db FILE is of one fabric, A and B.
using Databases = std::array<std::optional<std::string>, 2>;

Result<Databases> read_databases(const po::variables_map& values) {
  Databases databases;
  for (const std::string& text : texts_of(values, "db")) {
    const bool is_a = text.starts_with("A:"), is_b = text.starts_with("B:");
    const std::string file = text.substr(is_a || is_b ? 2 : 0);
    if (file.empty()) return fail(ErrorKind::usage, "--db {}: expected a file behind the side", text);
    for (std::size_t side = 0; side < databases.size(); ++side) {
      if (side == 0 ? is_b : is_a) continue;
      if (databases[side])
        return fail(ErrorKind::usage, "--db {}: {} has a database already: {}", text, side == 0 ? "A" : "B",
                    *databases[side]);
      std::error_code absent;
      if (const auto page = text_option(values, "html");
          page && std::filesystem::equivalent(*page, file, absent))
        return fail(ErrorKind::usage, "--html {}: it is the file of --db too, and would take its place",
                    *page);
      databases[side] = file;
    }
  }
  return databases;
}

Result<counters::CounterTable> kept_readings(const std::filesystem::path& file) {
  WEFT_TRY(auto opened, store::open_to_read(file));
  auto kept = kept_counters(opened.database, "celsius\":");
  return kept ? std::move(kept->table) : counters::CounterTable();
}

/// Where a run has a time and no temperature, that of its fabric's NICs then, as a watch kept it. Errors:
/// those of a database; not_found (one keeps none); usage (no run has a time).
Result<void> take_temperatures(const Databases& databases,
                               const std::array<std::vector<compare::Run>*, 2>& sides) {
  std::vector<std::string> files;
  for (const auto& file : databases)
    if (file && std::ranges::find(files, *file) == files.end()) files.push_back(*file);
  if (files.empty()) return {};
  std::vector<counters::CounterTable> tables;
  for (const std::string& file : files) {
    WEFT_TRY(auto table, kept_readings(file));
    tables.push_back(std::move(table));
  }
  const auto temperatures = counters::fabric_temperatures(tables);
  for (std::size_t i = 0; i < files.size(); ++i)
    if (temperatures[i].empty())
      return fail(ErrorKind::not_found,
                  "--db {}: no temperature of {} is kept there: standing agents tell them to a watch",
                  files[i],
                  files.size() == 1 || tables[i].temperatures.empty() ? "a NIC or GPU"
                                                                      : "the kind that the other keeps");
  bool any = false;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    const auto at = databases[side] ? std::ranges::find(files, *databases[side]) : files.end();
    for (compare::Run& run : *sides[side]) {
      if (!run.moment) continue;
      any = true;
      if (!run.moment->celsius && at != files.end())
        run.moment->celsius = counters::temperature_at(
            temperatures[static_cast<std::size_t>(at - files.begin())], run.moment->at);
    }
  }
  if (!any) return fail(ErrorKind::usage, "--db: no run tells when it was taken: name a table with --times");
  return {};
}

Result<int> run(const po::variables_map& values) {
  constexpr std::array kFiles{"html"};
  constexpr std::array kRead{"runs", "with", "times", "db"};
  WEFT_TRY_VOID(check_output_files(values, kFiles, kRead));
  WEFT_TRY(const auto databases, read_databases(values));
  WEFT_TRY_VOID(read_output_format(values));
  WEFT_TRY(const auto settings, read_settings(values));
  WEFT_TRY(const auto files_a, files_of(values, "runs", "A"));
  WEFT_TRY(const auto files_b, files_of(values, "with", "B"));
  KnownTexts known;
  WEFT_TRY(const auto times, read_times(values));
  WEFT_TRY(Runs a, read_runs(files_a, times, known));
  WEFT_TRY(Runs b, read_runs(files_b, times, known));
  const auto has_time = [](const compare::Run& run) { return run.moment.has_value(); };
  if (!times.empty() && std::ranges::none_of(a, has_time) && std::ranges::none_of(b, has_time))
    return fail(ErrorKind::usage, "--times {}: it names none of these runs: files as the command has them",
                values["times"].as<std::string>());
  WEFT_TRY_VOID(take_temperatures(databases, {&a, &b}));
  WEFT_TRY(const auto comparison, compare::compare(a, b, settings));
  return answer_comparison(values, {comparison, a, b});
}

/// A word that is no file, where `run` was meant.
bool is_mistyped_run(const std::string& word) {
  constexpr std::array<std::string_view, 1> kRun{"run"};
  std::error_code error;
  return !word.starts_with('-') && closest(word, kRun) && !std::filesystem::exists(word, error);
}

}  // namespace

OptionParser compare_options() {
  OptionParser parser(
      "weft compare A... --with B... [--margin 5%] [--blocks] [-o json]\n"
      "       weft compare run (A.yaml B.yaml | --lab=a --lab=b | --run COMMAND) [options]",
      "Compares two fabrics, A and B, by recorded runs of nccl-tests, perftest or the OSU micro-benchmarks, "
      "a file a run. The exit status is 0 where they are equal within the margin, 1 where they differ, 3 "
      "where these runs do not decide.",
      kExamples);
  parser.options().add_options()("runs",
                                 po::value<std::vector<std::string>>()->composing()->value_name("FILE"),
                                 "runs on A: what the benchmark printed, a file a run")(
      "with", po::value<std::vector<std::string>>()->composing()->multitoken()->value_name("FILE"),
      "runs on B, as many files as follow")(
      "times", po::value<std::string>()->value_name("FILE"),
      "when the runs were taken: a table with the columns file,time or file,time,celsius "
      "(2026-01-31T12:00:00Z); "
      "over two days and more the ratio is then without hour of day and temperature")(
      "db", po::value<std::vector<std::string>>()->composing()->value_name("[SIDE:]FILE"),
      "take temperatures that --times does not tell from this database: DIR/watch.db of the fabric's "
      "'weft watch --state DIR'; A:FILE and B:FILE, where A and B are watched each");
  add_margin_option(parser.options(Group::how_much));
  parser.options(Group::how_much)
      .add_options()(
          "blocks",
          "the runs were taken as A, B, B, A, and so on: two of each side, in the order given, are a block, "
          "in which slow drift cancels");
  parser.positional("runs", -1);
  add_comparison_output(parser.options(Group::output));
  return parser;
}

int compare_command(const Arguments& arguments) {
  if (!arguments.empty() && arguments[0] == "run") return run_word(compare_words(), arguments);
  if (!arguments.empty() && is_mistyped_run(arguments[0]))
    return report({ErrorKind::usage, arguments[0] + ": no such file; did you mean `weft compare run`?"});
  return run_command(compare_options(), arguments, run);
}

}  // namespace weft::cli
