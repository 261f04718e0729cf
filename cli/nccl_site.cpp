#include "cli/nccl_site.hpp"

#include <algorithm>
#include <system_error>

#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/path_map_json.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 200'000;  // of a directory: above the ranks of any job so far

Result<void> read_tables(const std::vector<std::string>& places, JobSite& site) {
  for (const std::string& place : places) {
    WEFT_TRY(const auto files, files_in(place, "--qps "));
    for (const fs::path& file : files) {
      const std::string name = outside_text(file.string());
      const auto text = files::read_text_file(file, kMaxJobFile);
      auto tables =
          text ? nccl::parse_qp_tables(*text, name) : Result<std::vector<nccl::QpTable>>(pass_on(text));
      if (tables)
        std::ranges::move(*tables, std::back_inserter(site.qps));
      else
        site.lost.push_back(outside_text(tables.error().message));
    }
  }
  return {};
}

}  // namespace

/// The ordinary files of a directory by name, or the file itself.
Result<std::vector<fs::path>> files_in(const fs::path& place, std::string_view option) {
  std::error_code error;
  const auto status = fs::status(place, error);
  if (!fs::exists(status))
    return fail(ErrorKind::not_found, "{}{}: no such file or directory", option, place.string());
  if (!fs::is_directory(status)) return std::vector{place};
  std::vector<fs::path> all;
  for (fs::directory_iterator at(place, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    if (at->path().filename().string().starts_with('.') || !at->is_regular_file(unknown)) continue;
    all.push_back(at->path());
    if (all.size() > kMaxFiles)
      return fail(ErrorKind::invalid_input, "{}{}: more than {} files", option, place.string(), kMaxFiles);
  }
  if (error) return fail(ErrorKind::permission, "{}{}: {}", option, place.string(), error.message());
  std::ranges::sort(all);
  return all;
}

Result<AddressBook> addresses_of(const files::FabricFile& file) {
  if (!file.addresses.empty() || file.fabric.kind() == FabricKind::infiniband) return file.addresses;
  WEFT_TRY(auto plan, plan_addresses(file.fabric, file.lab.family));
  return std::move(plan.book);
}

std::optional<nccl::JobFabric> JobSite::where() const {
  if (!fabric) return std::nullopt;
  return nccl::JobFabric{&fabric->fabric, paths ? &*paths : nullptr, &addresses};
}

void add_fabric_options(po::options_description& options) {
  options.add_options()("fabric", po::value<std::string>()->value_name("FABRIC.yaml"),
                        "the fabric file, to name links")(
      "paths", po::value<std::string>()->value_name("PATHS.json"),
      "which path each label takes: a map of weft trace -o json");
}

void add_site_options(po::options_description& options) {
  options.add_options()(
      "qps", po::value<std::vector<std::string>>()->composing()->value_name("FILE|DIR"),
      "tables of queue pairs, of weft nccl qps -o json; two of a host, some seconds apart, tell what moves");
  add_fabric_options(options);
}

Result<JobSite> read_job_site(const po::variables_map& values) {
  JobSite site;
  const auto fabric_path = text_option(values, "fabric");
  const auto paths_path = text_option(values, "paths");
  if (paths_path && !fabric_path)
    return fail(ErrorKind::usage, "--paths {}: it needs --fabric FABRIC.yaml, whose links it names",
                *paths_path);
  if (fabric_path) {
    WEFT_TRY(auto file, load_fabric_file(*fabric_path));
    WEFT_TRY(site.addresses, addresses_of(file));
    site.fabric = std::move(file);
  }
  if (paths_path) {
    WEFT_TRY(const auto text, files::read_text_file(*paths_path, kMaxJobFile));
    WEFT_TRY(auto map, files::parse_path_map(site.fabric->fabric, text, *paths_path));
    site.paths = std::move(map);
  }
  if (values.count("qps")) WEFT_TRY_VOID(read_tables(values["qps"].as<std::vector<std::string>>(), site));
  return site;
}

}  // namespace weft::cli
