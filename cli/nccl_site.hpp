// What `weft nccl hang`, `slow` and `qps` know of a job's network: tables of its queue pairs, the fabric
// and its path map.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "collectors/nccl/path_evidence.hpp"
#include "collectors/nccl/qp_places.hpp"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::cli {

/// Of a dump, a table of queue pairs, a saved answer of RAS.
inline constexpr Bytes kMaxJobFile(512'000'000);

/// Those of the fabric file; where it has none, as in labs, those that are planned for it.
Result<AddressBook> addresses_of(const files::FabricFile& file);

struct JobSite {
  std::optional<files::FabricFile> fabric;
  std::optional<PathMap> paths;
  AddressBook addresses;
  std::vector<nccl::QpTable> qps;
  std::vector<std::string> lost;  // tables that cannot be read, and why

  /// Of this object, which must stay. Absent: without --fabric.
  std::optional<nccl::JobFabric> where() const;
};

/// --fabric and --paths.
void add_fabric_options(po::options_description& options);
/// --qps, and these.
void add_site_options(po::options_description& options);
/// A table that cannot be read is kept as lost; all else is an error.
Result<JobSite> read_job_site(const po::variables_map& values);

/// The ordinary files of a directory by name, or the file itself. `option` stands before the name in errors.
Result<std::vector<std::filesystem::path>> files_in(const std::filesystem::path& place,
                                                    std::string_view option);

}  // namespace weft::cli
