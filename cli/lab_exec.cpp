#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "cli/exit_status.hpp"
#include "cli/lab.hpp"
#include "cli/lab_place.hpp"
#include "cli/options.hpp"
#include "topology/lab/netns/lab.hpp"

namespace weft {
namespace {

int exec(const po::variables_map& values, Arguments command) {
  if (!values.count("node") || command.empty())
    return report(
        {ErrorKind::usage,
         "lab exec: expected a node and a command, as in: weft lab exec host1 -- ping -c 3 10.0.2.1"});
  const auto lab = Lab::open(values["name"].as<std::string>(), lab_state_root());
  if (!lab) return report(lab.error());
  const auto node = lab->fabric().find_node(values["node"].as<std::string>());
  if (!node) return report(node.error());
  // Ctrl-C is for the program; how it ends is then our own end.
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  auto child = spawn_in(*lab, *node, {.argv = std::move(command), .with_stdin = true});
  if (!child) return report(child.error());
  const auto ended = child->wait();
  if (!ended) return report(ended.error());
  return ended->shell_status();
}

}  // namespace

int lab_exec_command(const Arguments& arguments) {
  OptionParser parser("weft lab exec NODE [--name N] -- COMMAND...",
                      "runs a program in a node of the lab; its exit status is weft's",
                      "  weft lab exec host1 -- ping -c 3 10.0.2.1\n  weft lab exec leaf1 -- ip route\n");
  auto add = parser.options().add_options();
  add("node", po::value<std::string>()->value_name("NODE"), "a host or switch, as host1");
  add("name", po::value<std::string>()->value_name("N")->default_value(kDefaultLabName), "the lab's name");
  parser.positional("node", 1);
  const auto dashes = std::ranges::find(arguments, "--");
  const auto values = parser.parse(Arguments(arguments.begin(), dashes));
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  return exec(*values, dashes == arguments.end() ? Arguments{} : Arguments(dashes + 1, arguments.end()));
}

}  // namespace weft
