#include "cli/nccl.hpp"

#include <array>

#include "cli/options.hpp"
#include "cli/words.hpp"

namespace weft::cli {
namespace {

constexpr std::array<Command, 1> kWords{{
    {"hang", "why a job hangs: the rank, or the network and its link", nccl_hang_command, nccl_hang_options},
}};

}  // namespace

const WordGroup& nccl_words() {
  static const WordGroup words{"nccl", "jobs that communicate by NCCL: why one hangs", kWords,
                               "  weft nccl hang traces/ --ras localhost:28028\n"};
  return words;
}

int nccl_command(const Arguments& arguments) { return run_word(nccl_words(), arguments); }

}  // namespace weft::cli
