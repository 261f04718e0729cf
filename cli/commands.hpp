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

class OptionParser;
struct WordGroup;

struct Command {
  using Run = int (*)(const Arguments& arguments);
  using Options = OptionParser (*)();
  using Words = const WordGroup& (*)();

  /// One that takes options, one of several words, and one that weft itself starts or that is not supported
  /// yet: `hidden`, in no list and without a configuration.
  constexpr Command(std::string_view of, std::string_view text, Run command, Options its = nullptr)
      : name(of), summary(text), run(command), options(its) {}
  constexpr Command(std::string_view of, std::string_view text, Run command, Words its)
      : name(of), summary(text), run(command), words(its) {}
  constexpr Command(std::string_view of, std::string_view text, Run command, bool is_hidden)
      : name(of), summary(text), run(command), hidden(is_hidden) {}

  std::string_view name;
  std::string_view summary;
  Run run;
  bool hidden = false;
  Options options = nullptr;  // what it takes, without running it
  Words words = nullptr;
};

int agent_command(const Arguments& arguments);
int balance_command(const Arguments& arguments);
int compare_command(const Arguments& arguments);
int completion_command(const Arguments& arguments);
int config_command(const Arguments& arguments);
int diagnose_command(const Arguments& arguments);
int doctor_command(const Arguments& arguments);
int doctor_report_command(const Arguments& arguments);  // on each host that the doctor asks
int gate_command(const Arguments& arguments);
int guest_run_command(const Arguments& arguments);    // topology/lab/guests/guest_commands.hpp
int guest_serve_command(const Arguments& arguments);  // inside a lab's guest
int mute_command(const Arguments& arguments);
int relay_command(const Arguments& arguments);  // on hosts that start the programs of others
int simulate_command(const Arguments& arguments);
int sweep_command(const Arguments& arguments);
int trace_command(const Arguments& arguments);
int watch_command(const Arguments& arguments);
int write_pages_command(const Arguments& arguments);

OptionParser agent_options();
OptionParser balance_options();
OptionParser compare_options();
OptionParser completion_options();
OptionParser config_options();
OptionParser diagnose_options();
OptionParser doctor_options();
OptionParser gate_options();
OptionParser simulate_options();
OptionParser sweep_options();
OptionParser trace_options();
OptionParser watch_options();

const WordGroup& gate_words();
const WordGroup& mute_words();

/// All commands, in the order in which --help lists them.
std::span<const Command> commands();

/// The whole program: picks the command, catches what must not escape.
int run_command_line(int argc, char** argv);

}  // namespace weft::cli
