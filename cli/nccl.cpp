#include "cli/nccl.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "cli/options.hpp"
#include "cli/words.hpp"

namespace weft::cli {
namespace {

constexpr std::array<Command, 6> kNcclWords{{
    {"env", "what a job must set so that its queue pairs take their labels", nccl_env_command,
     nccl_env_options},
    {"steer", "give a job the labels of an assignment", nccl_steer_command, nccl_steer_options},
    {"qps", "the queue pairs of a job's processes on this host", nccl_qps_command, nccl_qps_options},
    {"tune", "the table by which a job's all-reduces take the quickest algorithm", nccl_tune_command,
     nccl_tune_options},
    {"slow", "what slow collectives wait for: a GPU, a peer or the network", nccl_slow_command,
     nccl_slow_options},
    {"hang", "why a job hangs: the rank, or the network and its link", nccl_hang_command, nccl_hang_options},
}};

}  // namespace

std::string nccl_directory(const po::variables_map& values, const char* option) {
  if (const auto named = text_option(values, option)) return *named;
  if (const char* of_job = std::getenv("WEFT_NCCL_DIR"); of_job != nullptr && *of_job != '\0') return of_job;
  return fmt::format("/dev/shm/weft-nccl-{}", getuid());
}

const WordGroup& nccl_words() {
  static const WordGroup words{
      "nccl",
      "jobs that communicate by NCCL, or any program that uses verbs: their labels, and why one hangs",
      kNcclWords,
      "  eval \"$(weft nccl env)\"\n"
      "  weft nccl qps\n"
      "  weft nccl hang traces/ --ras localhost:28028\n"};
  return words;
}

int nccl_command(const Arguments& arguments) { return run_word(nccl_words(), arguments); }

}  // namespace weft::cli
