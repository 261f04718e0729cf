#include "cli/lab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/exit_status.hpp"
#include "topology/base/closest.hpp"

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

void print_help() {
  fmt::print(
      "a fabric on this machine: one network namespace per node, the kernel's own ECMP, real packets\n\n"
      "usage: weft lab WORD [OPTIONS]\n       weft lab WORD --help\n\nwords:\n");
  for (const Command& word : kWords) fmt::print("  {:<12}{}\n", word.name, word.summary);
  fmt::print(
      "\nexamples:\n"
      "  weft lab up fabric.yaml --name demo\n"
      "  weft lab fault leaf1--spine2 --name demo --loss 0.5 --from leaf1\n"
      "  weft lab exec host1 --name demo -- ping -c 3 10.0.2.1\n"
      "  weft lab down --name demo\n");
}

}  // namespace

int lab_command(const Arguments& arguments) {
  if (arguments.empty()) {
    fmt::print(stderr,
               "weft: lab: expected one of up, down, status, fault, heal, exec\ntry: weft lab --help\n");
    return kExitUsage;
  }
  if (arguments[0] == "--help" || arguments[0] == "-h") return print_help(), kExitHealthy;
  const auto word = std::ranges::find(kWords, arguments[0], &Command::name);
  if (word != kWords.end()) return word->run(Arguments(arguments.begin() + 1, arguments.end()));
  std::vector<std::string_view> names;
  for (const Command& known : kWords) names.push_back(known.name);
  fmt::print(stderr, "weft: unknown word 'lab {}'{}\ntry: weft lab --help\n", arguments[0],
             did_you_mean(arguments[0], names));
  return kExitUsage;
}

}  // namespace weft
