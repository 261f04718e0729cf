// The commands of weft. Each takes the words after its name, prints its answer on stdout, and returns the
// exit status of the contract: 0 healthy, 1 degraded or congested, 2 failed, 3 unknown; 64 usage, 69 absent,
// 70 internal.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

using Arguments = std::vector<std::string>;

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Arguments& arguments);
  bool hidden = false;  // started by weft itself, or not supported yet: not listed
};

int agent_command(const Arguments& arguments);
int balance_command(const Arguments& arguments);
int diagnose_command(const Arguments& arguments);
int doctor_command(const Arguments& arguments);
int doctor_report_command(const Arguments& arguments);  // on each host that the doctor asks
int guest_run_command(const Arguments& arguments);    // topology/lab/guests/guest_commands.hpp
int guest_serve_command(const Arguments& arguments);  // inside a lab's guest
int simulate_command(const Arguments& arguments);
int sweep_command(const Arguments& arguments);
int trace_command(const Arguments& arguments);

/// All commands, in the order in which --help lists them.
std::span<const Command> commands();

/// The whole program: picks the command, catches what must not escape.
int run_command_line(int argc, char** argv);

}  // namespace weft::cli
