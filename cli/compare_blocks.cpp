#include "cli/compare_blocks.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>

#include "cli/exit_status.hpp"
#include "collectors/compare/recorded_run.hpp"
#include "collectors/report/comparison_report.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/readable.hpp"
#include "topology/files/file_text.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/orphans.hpp"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kMaxRunFile{256 << 20};  // of one sweep: 100,000 flows have 30 MB
constexpr Bytes kMaxWords{1 << 20};
constexpr Bytes kMaxOutput{1'000'000'000};  // of one benchmark, on the disk
constexpr std::int64_t kWordsShown = 300;
constexpr Nanoseconds kBetweenLooks = std::chrono::milliseconds(50);
constexpr auto kGrace = std::chrono::seconds(15);  // a sweep ends its agents first

/// One of the four runs of a block. Both runs of a pair have the same seed: the same pairs and labels.
struct Place {
  bool is_b = false;
  int number = 1;  // of its side in the block
};
constexpr std::array<Place, 4> kOrder{{{false, 1}, {true, 1}, {true, 2}, {false, 2}}};

std::string name_of(std::size_t block, Place place) {
  return fmt::format("block-{:04}-{}{}", block, place.is_b ? 'B' : 'A', place.number);
}

struct RunFiles {
  fs::path document, observations, paths, output, errors;
};

RunFiles files_of(const fs::path& directory, const std::string& name) {
  const auto file = [&](const char* ending) { return directory / (name + ending); };
  return {file(".json"), file(".jsonl"), file(".paths.json"), file(".txt"), file(".err")};
}

void remove_files(const RunFiles& files) {
  std::error_code ignored;
  for (const auto& file : {files.document, files.observations, files.paths, files.output, files.errors})
    fs::remove(file, ignored);
}

std::string end_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::int64_t>(stream.tellg());
  if (!stream || size <= 0) return {};
  std::string words(static_cast<std::size_t>(std::min<std::int64_t>(size, kWordsShown)), '\0');
  stream.seekg(-static_cast<std::int64_t>(words.size()), std::ios::end);
  stream.read(words.data(), static_cast<std::streamsize>(words.size()));
  while (!words.empty() && words.back() == '\n') words.pop_back();
  std::ranges::replace(words, '\n', ';');
  return outside_text(words);
}

/// The last words of a run that failed, on one line: many programs tell their troubles on stdout.
std::string last_words(const RunFiles& files) {
  if (const auto words = end_of(files.errors); !words.empty()) return words;
  const auto words = end_of(files.output);
  return words.empty() ? "it said nothing" : "it printed: " + words;
}

/// What a sweep that refuses its words says of them, without how a sweep is used.
std::string refusal_in(const RunFiles& files) {
  constexpr std::string_view kName = "weft: ";
  const auto words = files::read_text_file(files.errors, kMaxWords);
  std::string_view text = words ? std::string_view(*words) : std::string_view();
  text = text.substr(0, text.find("\nusage: "));
  if (text.starts_with(kName)) text.remove_prefix(kName.size());
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text.empty() ? "a sweep refuses its options and says nothing" : std::string(text);
}

bool is_too_large(const RunFiles& files) {
  std::error_code error;
  return std::ranges::any_of(std::array{&files.output, &files.errors}, [&](const fs::path* file) {
    const auto size = fs::file_size(*file, error);
    return !error && size > static_cast<std::uintmax_t>(kMaxOutput.count());
  });
}

std::vector<std::string> words_of(const BlockPlan& plan, const ComparedSide& side, const RunFiles& files,
                                  std::size_t seed) {
  auto argv = side.argv;
  if (!plan.is_benchmark)
    for (const std::string& word :
         {"--save=" + files.document.string(), "--observations=" + files.observations.string(),
          fmt::format("--seed={}", seed), std::string("--progress=none")})
      argv.push_back(word);
  if (plan.maps_ways()) argv.push_back("--paths=" + files.paths.string());
  return argv;
}

/// A benchmark succeeds with 0, a sweep with any verdict.
bool succeeded(const BlockPlan& plan, const os::ExitStatus& status) {
  return plan.is_benchmark ? status.success() : status.code && *status.code <= kExitUnknown;
}

enum class RunEnd { done, interrupted };

/// Its files are those of `unfinished`.
Result<RunEnd> run_child(const BlockPlan& plan, const ComparedSide& side, const RunFiles& unfinished,
                         std::size_t seed, std::stop_token stop) {
  WEFT_TRY(auto child, os::ChildProcess::start({.argv = words_of(plan, side, unfinished, seed),
                                                .env = side.env,
                                                .output = os::ToFile{unfinished.output},
                                                .errors = os::ToFile{unfinished.errors},
                                                .own_session = true}));
  std::optional<os::ExitStatus> ended;
  bool too_large = false;
  for (Nanoseconds waited{}; !ended && !too_large && waited < plan.run_limit && !stop.stop_requested();
       waited += kBetweenLooks) {
    WEFT_TRY(ended, child.wait_for(kBetweenLooks));
    too_large = is_too_large(unfinished);
  }
  if (!ended) {
    child.send_signal_to_group(SIGTERM);
    pollfd leader{child.pid_fd(), POLLIN, 0};
    poll(&leader, 1, static_cast<int>(std::chrono::milliseconds(kGrace).count()));
    // Before it is waited for: what it started and left behind would disturb the next run.
    child.send_signal_to_group(SIGKILL);
    if (stop.stop_requested()) return RunEnd::interrupted;
    if (!too_large)
      return fail(ErrorKind::timeout, "{}: no end within {}", side.name, to_string(plan.run_limit));
  }
  if (too_large)
    return fail(ErrorKind::invalid_input, "{}: it printed more than {}: {}", side.name, readable(kMaxOutput),
                last_words(unfinished));
  if (!plan.is_benchmark && ended->code == kExitUsage)
    return fail(ErrorKind::usage, "{}", refusal_in(unfinished));  // the next run would be refused as well
  if (!succeeded(plan, *ended))
    return fail(ErrorKind::absent, "{}: {}: {}", side.name, os::to_string(*ended), last_words(unfinished));
  return RunEnd::done;
}

/// What a benchmark leaves behind would disturb the next run, which is of the other side.
void end_orphans(os::Orphans& orphans, char side, std::vector<std::string>& remarks) {
  auto names = orphans.end();
  if (names.empty()) return;
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  auto remark = fmt::format("runs of {} left processes behind, which were ended: {}", side,
                            outside_text(fmt::format("{}", fmt::join(names, ", "))));
  if (std::ranges::find(remarks, remark) == remarks.end()) remarks.push_back(std::move(remark));
}

Result<RunEnd> run_process(const BlockPlan& plan, bool is_b, const std::string& name, std::size_t seed,
                           std::vector<std::string>& remarks, std::stop_token stop) {
  const RunFiles files = files_of(plan.directory, name);
  const auto unfinished = files_of(plan.directory, "unfinished");
  remove_files(unfinished);
  // A sweep ends its own; what else it starts must not become a child of this process.
  std::optional<os::Orphans> orphans;
  if (plan.is_benchmark) orphans.emplace();
  const auto end = run_child(plan, is_b ? plan.b : plan.a, unfinished, seed, stop);
  if (orphans) end_orphans(*orphans, is_b ? 'B' : 'A', remarks);
  if (!end) return pass_on(end);
  if (*end == RunEnd::interrupted) return RunEnd::interrupted;
  for (const auto& [from, to] :
       {std::pair(unfinished.output, files.output), std::pair(unfinished.errors, files.errors),
        std::pair(unfinished.observations, files.observations), std::pair(unfinished.paths, files.paths),
        std::pair(unfinished.document, files.document)})
    if (std::error_code error; fs::exists(from, error)) {
      fs::rename(from, to, error);
      if (error) return fail(ErrorKind::internal, "{}: {}", to.string(), error.message());
    }
  return RunEnd::done;
}

struct ReadRun {
  compare::Run cells;
  std::optional<compare::MeasuredRun> measured = std::nullopt;
};

Result<ReadRun> read_whole_run(const BlockPlan& plan, const std::string& name) {
  const RunFiles files = files_of(plan.directory, name);
  if (plan.is_benchmark) {
    compare::RecordedRunReader reader(name);
    WEFT_TRY_VOID(
        files::read_pieces(files.output, [&](std::string_view piece) { return reader.take(piece); }));
    WEFT_TRY(auto run, std::move(reader).finish());
    return ReadRun{std::move(run)};
  }
  WEFT_TRY(const auto document, files::read_text_file(files.document, kMaxRunFile));
  WEFT_TRY(const auto observations, files::read_text_file(files.observations, kMaxRunFile));
  WEFT_TRY(auto measured, compare::read_measured_run(name, document, observations, plan.probes_alone()));
  if (plan.maps_ways()) {
    WEFT_TRY(const auto paths, files::read_text_file(files.paths, kMaxRunFile));
    WEFT_TRY_VOID(compare::read_ways(paths, measured));
  }
  auto cells = compare::run_of(measured);
  return ReadRun{std::move(cells), std::move(measured)};
}

Result<ReadRun> read_run(const BlockPlan& plan, const std::string& name) {
  WEFT_TRY(auto run, read_whole_run(plan, name));
  if (run.cells.cells.empty())
    return fail(ErrorKind::invalid_input,
                "{}: nothing was measured: no flow, no round trip and no probe that arrived", name);
  std::erase_if(run.cells.cells, [&](const auto& entry) {
    return report::cell_name(entry.first).find(plan.only) == std::string::npos;
  });
  if (run.cells.cells.empty())
    return fail(ErrorKind::usage, "{}: --only '{}': no cell's name has this", name, plan.only);
  return run;
}

bool is_there(const BlockPlan& plan, const std::string& name) {
  const RunFiles files = files_of(plan.directory, name);
  return fs::exists(plan.is_benchmark ? files.output : files.document);
}

/// The four runs, in the order of kOrder; nothing where it was interrupted.
Result<std::optional<std::array<ReadRun, 4>>> try_block(const BlockPlan& plan, std::size_t block,
                                                        const OnRun& on_run,
                                                        std::vector<std::string>& remarks,
                                                        std::stop_token stop) {
  std::array<ReadRun, 4> runs;
  // A part of a block that was interrupted is not close in time to the rest of it.
  const bool is_whole =
      std::ranges::all_of(kOrder, [&](Place place) { return is_there(plan, name_of(block, place)); });
  for (std::size_t i = 0; i < kOrder.size(); ++i) {
    const auto name = name_of(block, kOrder[i]);
    if (!is_whole) {
      on_run(block, kOrder[i].is_b ? "B" : "A");
      const std::size_t seed = 2 * block + (i < 2 ? 0 : 1);
      WEFT_TRY(const RunEnd end, run_process(plan, kOrder[i].is_b, name, seed, remarks, stop));
      if (end == RunEnd::interrupted) return std::optional<std::array<ReadRun, 4>>();
    }
    WEFT_TRY(runs[i], read_run(plan, name));
  }
  return std::optional(std::move(runs));
}

void add_block(const BlockPlan& plan, std::array<ReadRun, 4> all, BlockRuns& runs) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ComparedSide& side = kOrder[i].is_b ? plan.b : plan.a;
    if (all[i].measured) all[i].measured->load = side.load, all[i].measured->built = side.built;
    (kOrder[i].is_b ? runs.b : runs.a).push_back(std::move(all[i].cells));
    if (all[i].measured) (kOrder[i].is_b ? runs.of_b : runs.of_a).push_back(std::move(*all[i].measured));
  }
}

}  // namespace

Result<void> claim_directory(const BlockPlan& plan) {
  std::error_code error;
  fs::create_directories(plan.directory, error);
  if (error) return fail(ErrorKind::usage, "--keep {}: {}", plan.directory.string(), error.message());
  std::string text;
  for (const ComparedSide* side : {&plan.a, &plan.b}) {
    for (const std::string& word : side->env) text += word + " ";
    text += fmt::format("{}\n", fmt::join(side->argv, " "));
  }
  const auto file = plan.directory / "sides.txt";
  if (!fs::exists(file)) return files::write_text_file(file, text);
  WEFT_TRY(const auto known, files::read_text_file(file, kMaxWords));
  if (known == text) return {};
  return fail(
      ErrorKind::usage,
      "--keep {}: the runs there are of another comparison (see its sides.txt); give another directory",
      plan.directory.string());
}

Result<BlockEnd> run_block(const BlockPlan& plan, std::size_t number, BlockRuns& runs, const OnRun& on_run,
                           std::stop_token stop) {
  std::string trouble;
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto block = try_block(plan, number, on_run, runs.remarks, stop);
    if (block && !*block) return BlockEnd::interrupted;
    if (block) {
      add_block(plan, std::move(**block), runs);
      if (attempt > 0) runs.remarks.push_back(fmt::format("block {} was repeated: {}", number, trouble));
      return BlockEnd::taken;
    }
    if (block.error().kind == ErrorKind::usage) return pass_on(block);  // the runs are as they should be
    trouble = block.error().message;
    for (const Place place : kOrder) remove_files(files_of(plan.directory, name_of(number, place)));
    if (attempt > 0 && number == 1) return pass_on(block);
  }
  runs.remarks.push_back(fmt::format("block {} does not count, it failed twice: {}", number, trouble));
  return BlockEnd::left_out;
}

}  // namespace weft::cli
