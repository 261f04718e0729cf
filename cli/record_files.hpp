// The files of a site's records that tell of cables, as options name them.
#pragma once

#include "cli/options.hpp"
#include "topology/files/cable_records.hpp"

namespace weft::cli {

/// --lldp, --sonic, --netbox: files, or directories of them; several times.
void add_record_options(po::options_description& options);
bool names_records(const po::variables_map& values);
/// Of a directory every file in it, by name; one that is no record is an Error too.
Result<std::vector<files::CableList>> read_records(const po::variables_map& values);

}  // namespace weft::cli
