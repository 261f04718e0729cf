// `weft plan`: how often a job is interrupted, what of its time is effective, how many spares it needs.
#pragma once

#include "cli/options.hpp"
#include "cli/words.hpp"
#include "topology/files/rates.hpp"

namespace weft::cli {

/// Of `--rates FILE`. Absent: nobody gave it.
Result<std::optional<files::Rates>> rates_option(const po::variables_map& values);

const WordGroup& plan_words();
OptionParser plan_options();
int plan_command(const Arguments& arguments);

OptionParser plan_rates_options();
int plan_rates_command(const Arguments& arguments);
OptionParser plan_check_options();
int plan_check_command(const Arguments& arguments);

}  // namespace weft::cli
