// `weft nccl`: jobs that communicate by NCCL: the labels of those that run, and why one hangs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/words.hpp"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::cli {

int nccl_command(const Arguments& arguments);
const WordGroup& nccl_words();

int nccl_env_command(const Arguments& arguments);
OptionParser nccl_env_options();
int nccl_qps_command(const Arguments& arguments);
OptionParser nccl_qps_options();
int nccl_steer_command(const Arguments& arguments);
OptionParser nccl_steer_options();
int nccl_tune_command(const Arguments& arguments);
OptionParser nccl_tune_options();
int nccl_slow_command(const Arguments& arguments);
OptionParser nccl_slow_options();
int nccl_hang_command(const Arguments& arguments);
OptionParser nccl_hang_options();

/// By which a job's processes and these commands know of each other: as the option says, WEFT_NCCL_DIR, or
/// /dev/shm/weft-nccl-UID.
std::string nccl_directory(const po::variables_map& values, const char* option);

/// By which the processes of a job tell of themselves (*.qps of a directory, by name), or the file itself.
/// `is_asked`: somebody says that it is there; else none are there where it is not. Errors: permission,
/// invalid_input (more than a host has).
Result<std::vector<std::filesystem::path>> process_files(const std::string& place, bool is_asked);
inline constexpr Bytes kMaxProcessFile(std::int64_t{8} << 20);

}  // namespace weft::cli
