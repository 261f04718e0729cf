// `weft nccl hang`: why a job hangs, of the dumps of its ranks.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "balancer/steer/process_qps.hpp"
#include "cli/exit_status.hpp"
#include "cli/nccl.hpp"
#include "cli/nccl_site.hpp"
#include "cli/options.hpp"
#include "cli/ras_query.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/nccl/dump_tree.hpp"
#include "collectors/nccl/hang_report.hpp"
#include "collectors/nccl/job_tables.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kBetweenAnswers(2);  // collectives of training take less

constexpr const char* kExamples =
    "  weft nccl hang traces/                   # nccl_trace_rank_0, nccl_trace_rank_1 ...\n"
    "  weft nccl hang traces/ --ras gpu1:28028 -o json\n"
    "  weft nccl hang traces/ --qps qps/ --fabric fabric.yaml --paths map.json\n";

/// A dump that cannot be read is a rank less, never the end.
Result<void> read_dumps(const fs::path& folder, nccl::HangInput& input) {
  WEFT_TRY(const auto files, files_in(folder, ""));
  if (files.empty())
    return fail(ErrorKind::not_found,
                "{}: no files: expected dumps of PyTorch's Flight Recorder, as nccl_trace_rank_0 "
                "(TORCH_NCCL_DEBUG_INFO_TEMP_FILE)",
                folder.string());
  nccl::DumpTree scratch;
  std::string text;
  for (const fs::path& file : files) {
    const std::string name = outside_text(file.filename().string());
    const auto rank = nccl::rank_of_file(name);
    if (!rank) {
      input.lost.push_back({name, std::nullopt, "no rank at the end of its name"});
      continue;
    }
    text.clear();
    const auto got = files::read_pieces(file, [&](std::string_view piece) -> Result<void> {
      if (text.size() + piece.size() > nccl::kMaxDumpBytes)
        return fail(ErrorKind::invalid_input, "{}: more than {} bytes", name, nccl::kMaxDumpBytes);
      text += piece;
      return {};
    });
    if (!got) {
      input.lost.push_back({name, rank, outside_text(got.error().message)});
      continue;
    }
    auto dump = nccl::parse_flight_dump(text, scratch);
    if (dump)
      input.dumps.push_back({*rank, name, *std::move(dump)});
    else
      input.lost.push_back({name, rank, dump.error().message});
  }
  return {};
}

Result<RasLimits> read_ras_limits(const po::variables_map& values) {
  constexpr Nanoseconds kMin = std::chrono::milliseconds(100);
  constexpr Nanoseconds kMax = std::chrono::minutes(10);
  WEFT_TRY(const auto given, read_option(values, "ras-timeout", parse_duration));
  RasLimits limits;
  if (!given) return limits;
  if (*given < kMin || *given > kMax)
    return fail(ErrorKind::usage, "--ras-timeout {}: expected 100ms to 10m", to_string(*given));
  return RasLimits{std::min(limits.connect, *given), std::min(limits.greeting, *given), *given};
}

Result<nccl::RasReport> read_report(const std::string& place, const RasPlace& from, const RasLimits& limits) {
  WEFT_TRY(const auto text, from.is_file ? files::read_text_file(place, kMaxJobFile) : ask_ras(from, limits));
  return nccl::parse_ras(text);
}

/// RAS that does not answer, or answers nonsense, is told and is no reason to end. One that counts
/// collectives is asked again: a job that moves launches more of them.
Result<void> read_ras(const std::string& place, const RasLimits& limits, nccl::HangInput& input) {
  WEFT_TRY(const auto from, find_ras(place));
  auto report = read_report(place, from, limits);
  if (!report) {
    input.lost.push_back({"RAS " + place, std::nullopt, outside_text(report.error().message)});
    return {};
  }
  input.ras = *std::move(report);
  const auto counts = [](const nccl::RasCommunicator& communicator) {
    return std::ranges::any_of(communicator.ranks,
                               [](const auto& rank) { return rank.launched.has_value(); });
  };
  if (from.is_file || !std::ranges::any_of(input.ras->communicators, counts)) return {};
  std::this_thread::sleep_for(kBetweenAnswers);
  if (auto later = read_report(place, from, limits)) input.ras_later = *std::move(later);
  return {};
}

/// Of the job that hangs.
Result<void> take_tables(const po::variables_map& values, JobSite& site, nccl::HangInput& input) {
  auto job = text_option(values, "job");
  if (job && values.count("qps") == 0)
    return fail(ErrorKind::usage, "--job {}: it needs --qps PLACE, of whose tables it takes that job's",
                *job);
  if (job) job = steer::job_text(*job);  // as tables have it
  for (const std::string& why : site.lost) input.lost.push_back({"queue pairs", std::nullopt, why});
  WEFT_TRY(auto chosen, nccl::tables_of_job(std::move(site.qps), job));
  for (std::string& why : chosen.passed_over)
    input.lost.push_back({"queue pairs", std::nullopt, std::move(why)});
  input.qps = std::move(chosen.tables);
  return {};
}

Result<int> run(const po::variables_map& values) {
  const auto folder = text_option(values, "dumps");
  if (!folder) return fail(ErrorKind::usage, "which dumps? as in: weft nccl hang traces/");
  WEFT_TRY(const bool json, wants_json(values));
  WEFT_TRY(const auto limits, read_ras_limits(values));
  WEFT_TRY(auto site, read_job_site(values));
  nccl::HangInput input;
  WEFT_TRY_VOID(take_tables(values, site, input));
  if (const auto place = text_option(values, "ras")) WEFT_TRY_VOID(read_ras(*place, limits, input));
  WEFT_TRY_VOID(read_dumps(*folder, input));
  const auto verdict = nccl::explain_hang(input, site.where());
  fmt::print("{}",
             json ? nccl::hang_json(verdict, stamp_now()) : nccl::hang_text(verdict, terminal_columns()));
  return exit_status(verdict.verdict);
}

}  // namespace

OptionParser nccl_hang_options() {
  OptionParser parser(
      "weft nccl hang DIR [--ras HOST:PORT] [--qps PLACE [--job ID]] [--fabric FABRIC.yaml] [-o json]",
      "Says why a job hangs, of the Flight Recorder dumps of its ranks (pickle or JSON): a rank that never "
      "entered a collective, is dead, is stuck or called another operation; or the network, and which link. "
      "The exit status is 0 where nothing hangs, 1 where the job is slow, 2 where a cause is named, 3 where "
      "it is not known.",
      kExamples);
  parser.options().add_options()("dumps", po::value<std::string>()->value_name("DIR"),
                                 "the dumps, a file a rank, its number at the end of the name")(
      "ras", po::value<std::string>()->value_name("HOST:PORT|FILE"),
      "NCCL's RAS: asked at this address (its usual port is 28028), or a saved answer")(
      "ras-timeout", po::value<std::string>()->value_name("TIME"),
      "give up an answer of RAS that is not whole after this time (default: 20s)");
  add_site_options(parser.options());
  parser.options().add_options()(
      "job", po::value<std::string>()->value_name("ID"),
      "of the tables of queue pairs those of this job alone: where jobs share hosts");
  parser.positional("dumps", 1);
  add_output_option(parser.options(Group::output));
  return parser;
}

int nccl_hang_command(const Arguments& arguments) { return run_command(nccl_hang_options(), arguments, run); }

}  // namespace weft::cli
