// `weft nccl slow`: what slow collectives of a job wait for, of the profiles that its processes wrote.
#include "collectors/nccl/slow.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/exit_status.hpp"
#include "cli/nccl.hpp"
#include "cli/nccl_site.hpp"
#include "cli/options.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kMaxProfile(std::int64_t{64} << 20);  // the library begins a new file at half of it
constexpr std::size_t kMaxProfiles = 200'000;

constexpr std::string_view kNow = ".profile.jsonl", kBefore = ".profile.old.jsonl";

/// What the process wrote before this file, if that is there.
std::optional<fs::path> before(const fs::path& path) {
  auto name = path.string();
  if (!name.ends_with(kNow)) return std::nullopt;
  name.replace(name.size() - kNow.size(), kNow.size(), kBefore);
  std::error_code error;
  return fs::exists(name, error) ? std::optional<fs::path>(name) : std::nullopt;
}

/// The profiles of a directory, or the file itself. `is_asked`: somebody says that there are some.
Result<std::vector<fs::path>> profiles_in(const std::string& place, bool is_asked) {
  std::error_code error;
  if (!is_asked && !fs::exists(place, error)) return std::vector<fs::path>();
  if (!fs::exists(place, error))
    return fail(ErrorKind::not_found, "{}: no such file or directory", outside_text(place));
  if (!fs::is_directory(place, error)) return std::vector<fs::path>{place};
  std::vector<fs::path> found;
  for (auto entry = fs::directory_iterator(place, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (!name.ends_with(".jsonl") || name.find(".profile.") == std::string::npos) continue;
    if (found.size() == kMaxProfiles)
      return fail(ErrorKind::invalid_input, "{}: more than {} profiles", outside_text(place), kMaxProfiles);
    found.push_back(entry->path());
  }
  if (error) return fail(ErrorKind::permission, "{}: {}", outside_text(place), error.message());
  if (found.empty())
    return fail(ErrorKind::not_found,
                "{}: no profiles: a job writes them with what `weft nccl env --profile N` prints",
                outside_text(place));
  // Of a process with two, the older is read with the newer.
  std::set<fs::path> read_with;
  for (const fs::path& path : found)
    if (auto older = before(path)) read_with.insert(std::move(*older));
  std::erase_if(found, [&](const fs::path& path) { return read_with.contains(path); });
  std::ranges::sort(found);
  return found;
}

/// Both files of a process as one: what waits in the older one may have ended in the newer.
Result<std::string> whole_profile(const fs::path& path) {
  std::string text;
  if (const auto older = before(path)) {
    WEFT_TRY(text, files::read_text_file(*older, kMaxProfile));
  }
  WEFT_TRY(const auto newer, files::read_text_file(path, kMaxProfile));
  return text + newer;
}

/// One that cannot be read is told and left; where all are, the last is the error.
Result<std::vector<nccl::RankProfile>> read_profiles(const std::vector<fs::path>& paths) {
  std::vector<nccl::RankProfile> profiles;
  std::optional<Error> trouble;
  for (const auto& path : paths) {
    const auto name = outside_text(path.string());
    const auto text = whole_profile(path);
    auto profile = text ? nccl::parse_profile(*text, name) : Result<nccl::RankProfile>(pass_on(text));
    if (profile) {
      profiles.push_back(std::move(*profile));
      continue;
    }
    if (trouble) print_stderr("weft: {}\n", trouble->message);
    trouble = profile.error();
  }
  if (profiles.empty() && trouble) return tl::unexpected<Error>(*trouble);
  if (trouble) print_stderr("weft: {}\n", trouble->message);
  return profiles;
}

Result<int> explain(const po::variables_map& values) {
  WEFT_TRY(const auto json, wants_json(values));
  const auto place = nccl_directory(values, "place");
  WEFT_TRY(const auto paths, profiles_in(place, values.count("place") != 0));
  if (paths.empty())
    print_stderr("weft: no process of a job has written a profile in {}\n", outside_text(place));
  WEFT_TRY(const auto profiles, read_profiles(paths));
  WEFT_TRY(const auto site, read_job_site(values));
  for (const std::string& why : site.lost) print_stderr("weft: {}\n", why);
  auto report = nccl::explain_slow(profiles);
  if (const auto where = site.where()) locate_slow(profiles, site.qps, *where, report);
  if (json)
    fmt::print("{}\n", slow_json(report, stamp_now()));
  else
    fmt::print("{}", slow_text(report, terminal_columns(), values["top"].as<std::size_t>()));
  if (!report.never.empty()) return kExitFailed;
  if (!report.is_healthy()) return kExitDegraded;
  return report.operations == 0 ? kExitUnknown : kExitHealthy;
}

}  // namespace

OptionParser nccl_slow_options() {
  OptionParser parser(
      "weft nccl slow [DIR|FILE] [--qps PLACE --fabric FABRIC.yaml --paths PATHS.json] [-o json]",
      "Says what slow collectives of a job wait for, of the profiles of its ranks: the GPU of a rank, a rank "
      "that posts no\nreceive, or the network between two; with tables of queue pairs, the fabric and a path "
      "map "
      "also which link. Copy the\nprofiles of all hosts into one directory. The exit status is 0 where "
      "nothing "
      "is slow, 1 where something is, 2 where a\nstep has not ended, 3 where nothing was told.",
      "  weft nccl slow\n  weft nccl slow profiles/ -o json\n"
      "  weft nccl slow profiles/ --qps qps/ --fabric fabric.yaml --paths map.json\n");
  parser.options().add_options()(
      "place", po::value<std::string>()->value_name("DIR"),
      "the job's directory, or one file; without: WEFT_NCCL_DIR, else weft-nccl-UID in "
      "/dev/shm");
  add_site_options(parser.options());
  parser.options(Group::output)
      .add_options()("top", po::value<std::size_t>()->value_name("N")->default_value(10),
                     "of the slow collectives the table has so many");
  parser.positional("place", 1);
  add_output_option(parser.options(Group::output));
  return parser;
}

int nccl_slow_command(const Arguments& arguments) {
  return run_command(nccl_slow_options(), arguments, explain);
}

}  // namespace weft::cli
