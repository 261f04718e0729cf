// The options of `weft balance`, read and checked, with the files they name.
#pragma once

#include "balancer/assign/assign.hpp"
#include "balancer/assign/avoid.hpp"
#include "cli/demand_options.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::cli {

/// --qps, --paths, --avoid, --diagnosis, --previous and the rest that fabric and lab share.
void add_balance_options(po::options_description& options);

struct BalanceOptions {
  AskedDemand asked;
  assign::AssignOptions assign = {};  // .paths is set by the caller, to `paths` below
  std::optional<PathMap> paths = {};
  std::optional<std::vector<std::vector<assign::KeptQp>>> previous = {};
  OutputFormat output = OutputFormat::table;
  std::optional<std::string> html = {};  // a file for the report
};

/// What a blacklist (weft.blacklist/1, or entries of a ledger, /2) says not to use. Errors: as those of its
/// reader.
Result<assign::DocumentAvoided> read_avoided(const Fabric& fabric, const std::string& path);

/// Prints on stderr which links of a blacklist the fabric has not, and what was predicted.
Result<BalanceOptions> read_balance_options(const Fabric& fabric, const po::variables_map& values);

}  // namespace weft::cli
