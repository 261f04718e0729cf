// `weft nccl`: what concerns jobs that communicate by NCCL.
#pragma once

#include "cli/commands.hpp"

namespace weft::cli {

int nccl_command(const Arguments& arguments);
const WordGroup& nccl_words();

int nccl_hang_command(const Arguments& arguments);
OptionParser nccl_hang_options();

}  // namespace weft::cli
