#include "cli/lab.hpp"

#include <array>

#include "cli/words.hpp"

namespace weft {
namespace {

constexpr std::array<Command, 6> kWords{{
    {"up", "build the lab of a fabric file", lab_up_command},
    {"down", "end a lab: nothing of it stays", lab_down_command},
    {"status", "the labs, or one with its faults", lab_status_command},
    {"fault", "break a link", lab_fault_command},
    {"heal", "mend a link, or all", lab_heal_command},
    {"exec", "run a program in a node of the lab", lab_exec_command},
}};

}  // namespace

int lab_command(const Arguments& arguments) {
  return run_word(
      {"lab", "a fabric on this machine: one network namespace per node, the kernel's own ECMP, real packets",
       kWords,
       "  weft lab up fabric.yaml --name demo\n"
       "  weft lab fault leaf1--spine2 --name demo --loss 0.5 --from leaf1\n"
       "  weft lab exec host1 --name demo -- ping -c 3 10.0.2.1\n"
       "  weft lab down --name demo\n"},
      arguments);
}

}  // namespace weft
