#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/lab.hpp"
#include "cli/lab_place.hpp"
#include "cli/options.hpp"
#include "topology/files/file_text.hpp"
#include "topology/lab/guests/guest_commands.hpp"
#include "topology/lab/guests/guests.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/lab/netns/hosts_text.hpp"
#include "topology/lab/netns/lab.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

constexpr const char* kHostsFile = "hosts";

/// What the program reads as /etc/hosts: the lab's names before the machine's, in a file of the lab. Others
/// may write it at the same time: the whole file takes its place at once.
Result<std::filesystem::path> names_of(const lab::Lab& lab, const std::filesystem::path& directory) {
  std::ostringstream own;
  own << std::ifstream("/etc/hosts").rdbuf();
  const auto place = directory / kHostsFile;
  const auto text = lab::hosts_text(lab.fabric(), lab.addresses().book) + own.str();
  if (!files::write_text_file(place, text))
    return fail(ErrorKind::absent, "cannot write the lab's host names to {}", place.string());
  return place;
}

int exec(const po::variables_map& values, Arguments command) {
  if (!values.count("node") || command.empty())
    return report({ErrorKind::usage,
                   "lab exec: expected a node and a command, as in: weft lab exec host1 -- ping -c 3 host2"});
  const auto name = values["name"].as<std::string>();
  if (lab::ib_lab_exists(name, ib_lab_root()))
    return report({ErrorKind::not_supported,
                   fmt::format("lab '{}' is InfiniBand in ibsim: its nodes are no network namespaces that a "
                               "program could run in",
                               name)});
  const auto directory = lab_state_root() / name;  // before the lab of an ordinary user makes us its root
  const auto lab = lab::Lab::open(name, lab_state_root());
  if (!lab) return report(lab.error());
  const auto node = lab->fabric().find_node(values["node"].as<std::string>());
  if (!node) return report(node.error());
  // Ctrl-C is for the program; how it ends is then our own end.
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  const auto names = names_of(*lab, directory);
  if (!names) print_stderr("weft: {}: it does not know the lab's nodes by name\n", names.error().message);
  auto child = spawn_in(*lab, *node,
                        {.argv = std::move(command), .with_stdin = true, .hosts_file = names.value_or("")});
  if (!child) return report(child.error());
  const auto ended = child->wait();
  if (!ended) return report(ended.error());
  return ended->shell_status();
}

}  // namespace

OptionParser lab_exec_options() {
  OptionParser parser(
      "weft lab exec NODE [--name N] -- COMMAND...",
      "Runs a program in a node of the lab; its exit status is weft's. The program knows the lab's "
      "nodes by name: host2 is the address of its first NIC in the fabric, p2.host2 of its second, "
      "leaf1 the first address of that switch.",
      "  weft lab exec host1 -- ping -c 3 host2\n  weft lab exec leaf1 -- ip route\n");
  auto add = parser.options().add_options();
  add("node", po::value<std::string>()->value_name("NODE"), "a host or switch, as host1");
  add("name", po::value<std::string>()->value_name("N")->default_value(kDefaultLabName), "the lab's name");
  parser.positional("node", 1);
  return parser;
}

int lab_exec_command(const Arguments& arguments) {
  auto parser = lab_exec_options();
  const auto dashes = std::ranges::find(arguments, "--");
  const auto values = parser.parse(Arguments(arguments.begin(), dashes));
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  return exec(*values, dashes == arguments.end() ? Arguments{} : Arguments(dashes + 1, arguments.end()));
}

int guest_serve_command(const Arguments& arguments) {
  OptionParser parser("weft guest-serve",
                      "Takes commands inside a guest of a lab; its first process starts it.",
                      "  weft guest-serve\n");
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto listening = lab::listen_for_guest_commands(lab::kGuestCommandPort);
  if (!listening) return report(listening.error());
  lab::serve_guest_commands(*listening);
}

// As topology/lab/guests writes it: ADDRESS [--env NAME]... [--stdin] -- PROGRAM...
int guest_run_command(const Arguments& arguments) {
  const auto dashes = std::ranges::find(arguments, "--");
  OptionParser parser("weft guest-run ADDRESS [--env NAME]... [--stdin] -- PROGRAM...",
                      "Runs a program in a guest of a lab; weft lab exec and sweeps start it.",
                      "  weft guest-run 172.31.0.2 -- rdma link\n");
  if (std::find(arguments.begin(), dashes, "--help") != dashes) {
    const auto values = parser.parse({"--help"});
    return values && OptionParser::help_was_asked(*values) ? kExitHealthy : kExitInternal;
  }
  if (arguments.empty() || dashes == arguments.end())
    return report({ErrorKind::usage, "guest-run: expected ADDRESS [--env NAME]... [--stdin] -- PROGRAM..."});
  const auto address = IpAddress::parse(arguments[0]);
  if (!address) return report(address.error());
  lab::GuestCommand command{.argv = Arguments(dashes + 1, arguments.end())};
  for (auto word = arguments.begin() + 1; word < dashes; ++word) {
    if (*word == "--stdin") command.with_stdin = true;
    if (*word != "--env" || word + 1 >= dashes) continue;
    const std::string& name = *++word;
    if (const char* value = std::getenv(name.c_str()))
      command.env.push_back(fmt::format("{}={}", name, value));
  }
  const auto status = run_in_guest(*address, lab::kGuestCommandPort, command);
  return status ? *status : report(status.error());
}

}  // namespace weft::cli
