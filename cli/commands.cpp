#include "cli/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <system_error>

#include "cli/blacklist.hpp"
#include "cli/bus.hpp"
#include "cli/compare_answer.hpp"
#include "cli/configured.hpp"
#include "cli/counters.hpp"
#include "cli/exit_status.hpp"
#include "cli/help_text.hpp"
#include "cli/lab.hpp"
#include "cli/nccl.hpp"
#include "cli/options.hpp"
#include "cli/plan.hpp"
#include "cli/report.hpp"
#include "cli/topology.hpp"
#include "cli/watch_backup.hpp"
#include "topology/base/text.hpp"

namespace weft::cli {
namespace {

/// One that takes options, and has words beside.
constexpr Command with_words(Command command, Command::Words words) {
  command.words = words;
  return command;
}

// A new command: one line here, one declaration in its own header or in commands.hpp.
constexpr auto kCommands = std::to_array<Command>({
    {"doctor", "check hosts before a run: what prevents it, and the command that fixes it", doctor_command,
     doctor_options},
    {"sweep", "find what is wrong with a fabric, link by link", sweep_command, sweep_options},
    {"simulate", "the same on a simulated fabric: any size, any fault, no privileges", simulate_command,
     simulate_options},
    with_words({"watch", "probe continuously, and report incidents as they begin and end", watch_command,
                watch_options},
               watch_words),
    {"trace", "show every path between two NICs and the labels that select it", trace_command, trace_options},
    {"diagnose", "name what is wrong from a file of observations", diagnose_command, diagnose_options},
    {"counters", "counters of ports: which are read, and what belongs to none", counters_command,
     counters_words},
    with_words({"compare", "two fabrics, block by block or by recorded runs: equal, different or undecided",
                compare_command, compare_options},
               compare_words),
    {"balance", "give every QP of a job a path, so that every link stays at the bound", balance_command,
     balance_options},
    with_words({"plan", "how often a job is interrupted, how many spares it needs, how often to sweep",
                plan_command, plan_options},
               plan_words),
    {"blacklist", "which links to keep work away from", blacklist_command, blacklist_words},
    with_words({"gate", "on a host: whether a job should start there", gate_command, gate_options},
               gate_words),
    {"report", "what a watcher kept: incidents, cables at fault, history", report_command, report_options},
    {"topology", "look at, check and write fabric files", topology_command, topology_words},
    {"lab", "a fabric on this machine: up, down, status, fault, heal, exec", lab_command, lab_words},
    {"nccl", "jobs over NCCL: labels for one that runs, and why one hangs", nccl_command, nccl_words},
    {"mute", "suppress the alerts of a watcher for links and nodes, as in planned work", mute_command,
     mute_words},
    {"bus", "the message server of standing agents: its configuration and keys", bus_command, bus_words},
    {"config", "show which options are set by files and variables, and by which", config_command,
     config_options},
    {"completion", "what a shell needs to complete these commands", completion_command, completion_options},
    {"agent", "probe from this host for a coordinator", agent_command, agent_options},
    {"doctor-report", "answer weft doctor, on a host", doctor_report_command, true},
    {"relay", "start programs on other hosts, for a head", relay_command, true},
    {"guest-run", "run a program in a guest of a lab", guest_run_command, true},
    {"write-pages", "manual pages and completions, for a package", write_pages_command, true},
    {"guest-serve", "take commands, inside a guest of a lab", guest_serve_command, true},
});

constexpr unsigned kSummaryColumn = 14;

constexpr std::string_view kHelp =
    "weft tests, explains and balances the fabrics under GPU training jobs, RoCE and InfiniBand alike.\n"
    "\n"
    "usage: weft COMMAND [OPTIONS]\n"
    "       weft COMMAND --help\n"
    "       weft --version\n"
    "\n"
    "commands:\n";

void print_help() {
  fmt::print("{}", fit_prose(kHelp));
  for (const Command& command : commands())
    if (!command.hidden)
      fmt::print("{}\n", fit_prose(fmt::format("  {:<12}{}", command.name, command.summary), kSummaryColumn));
  fmt::print(
      "\nexit status: 0 healthy, 1 degraded or congested, 2 failed, 3 unknown; 64 usage,\n"
      "69 something is absent, 70 internal, 130 interrupted\n");
}

void print_version() {
  constexpr std::string_view commit = WEFT_COMMIT;
  fmt::print("weft {}{}\nengines: {}\nbuilt with: {}\n", tool_version(),
             commit.empty() ? "" : fmt::format(" ({})", commit), WEFT_ENGINES, WEFT_PARTS);
}

int unknown_command(std::string_view name) {
  if (name.starts_with('-')) {
    print_stderr("weft: unknown option '{}' before a command\ntry: weft --help\n", name);
    return kExitUsage;
  }
  std::vector<std::string_view> names;
  for (const Command& command : commands())
    if (!command.hidden) names.push_back(command.name);
  print_stderr("weft: unknown command '{}'{}\ntry: weft --help\n", name, did_you_mean(name, names));
  return kExitUsage;
}

int output_lost(std::string_view why) {
  print_stderr("weft: the output cannot be written: {}\n", why);
  return kExitAbsent;
}

int dispatch(const Arguments& words) {
  if (words.empty()) {
    print_stderr("weft: no command given\ntry: weft --help\n");
    return kExitUsage;
  }
  if (words[0] == "help" && words.size() > 1) return dispatch({words[1], "--help"});
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") return print_help(), kExitHealthy;
  if (words[0] == "--version") return print_version(), kExitHealthy;
  const auto all = commands();
  const auto found = std::ranges::find(all, words[0], &Command::name);
  if (found == all.end()) return unknown_command(words[0]);
  const auto configured = with_configuration(words, usual_places());
  if (!configured) return report(configured.error());
  const int status = found->run(Arguments(configured->words.begin() + 1, configured->words.end()));
  if (status == kExitUsage && !configured->added.empty())
    print_stderr("weft: from the configuration: {}; weft config shows all, --no-config leaves it out\n",
                 fmt::join(configured->added, ", "));
  return status;
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

std::string_view tool_version() { return WEFT_VERSION; }

int run_command_line(int argc, char** argv) {
  try {
    const int status = dispatch(Arguments(argv + 1, argv + std::max(argc, 1)));
    if (status == kExitInterrupted) print_stderr("{}", kInterruptedMessage);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return output_lost(std::strerror(errno));
    return status;
  } catch (const std::system_error& error) {
    // fmt::print throws where stdout takes no more.
    if (std::ferror(stdout) != 0) return output_lost(error.code().message());
    print_stderr("weft: internal error: {}\n", error.what());
    return kExitInternal;
  } catch (const std::exception& error) {
    print_stderr("weft: internal error: {}\n", error.what());
    return kExitInternal;
  }
}

}  // namespace weft::cli
