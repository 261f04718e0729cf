// `weft nccl`: jobs that communicate by NCCL: the labels of those that run, and why one hangs.
#pragma once

#include <string>

#include "cli/commands.hpp"
#include "cli/nccl_kernel_qps.hpp"
#include "cli/options.hpp"
#include "cli/words.hpp"
#include "probes/run/label_delivery.hpp"
#include "topology/base/result.hpp"
#include "topology/files/json_text.hpp"

namespace weft::cli {

int nccl_command(const Arguments& arguments);
const WordGroup& nccl_words();

int nccl_env_command(const Arguments& arguments);
OptionParser nccl_env_options();
int nccl_qps_command(const Arguments& arguments);
/// With another kernel.
int nccl_qps_command(const Arguments& arguments, const ReadRdmaResources& read_rdma);
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

/// Of which `weft nccl steer` tells what became of its labels.
struct SteeredJob {
  std::string fabric;
  std::string name;  // empty: any job of the directory
  bool json = false;
};
/// `weft.steered/1`, without what became of the labels.
files::DocumentTree steered_document(const SteeredJob& job);

/// `weft nccl steer --credential FILE`: each of these lists to its host, by way of its standing agent. Prints
/// what became of each. Errors: those of the credential and the bus; absent (a host has not taken its list).
Result<void> send_labels(const std::string& credential, const SteeredJob& job,
                         const run::LabelsOfHosts& labels);

}  // namespace weft::cli
