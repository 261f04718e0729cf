#include "cli/lab.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <stop_token>

#include "cli/exit_status.hpp"
#include "cli/lab_place.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/words.hpp"
#include "topology/base/readable.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/lab/netns/lab_control.hpp"

namespace weft::cli {
namespace {

void add_name_option(po::options_description& options) {
  options.add_options()("name", po::value<std::string>()->value_name("N")->default_value(kDefaultLabName),
                        "the lab's name: several can stand side by side");
}

// Ctrl-C while a lab is being built ends the building, and what was built is removed.
std::stop_source interrupted;
void on_interrupt(int) { interrupted.request_stop(); }

std::string describe(const lab::Lab& lab) {
  const Fabric& fabric = lab.fabric();
  const auto rate = lab.settings().link_rate;
  return fmt::format("fabric {}, {} hosts, {} switches, {} links at {}, {}", fabric.name(),
                     fabric.hosts().size(), fabric.node_count() - fabric.hosts().size(), fabric.link_count(),
                     rate ? readable(*rate) : "full speed", to_string(lab.settings().family));
}

/// Where tests/rdma/build_guest_image puts what guests boot.
std::string image_beside_program() {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "guest").string();
}

int up_infiniband(const std::string& name, const files::FabricFile& file) {
  const auto lab = lab::ib_lab_up(name, file.fabric, file.lab, ib_lab_root(), interrupted.get_token());
  if (!lab && interrupted.stop_requested()) return kExitInterrupted;
  if (!lab) return report(lab.error());
  print_wrapped(fmt::format(
      "lab {} is up: fabric {} in ibsim under OpenSM, {} hosts, {} switches, {} links, LMC {}", name,
      lab->fabric.name(), lab->fabric.hosts().size(), lab->fabric.node_count() - lab->fabric.hosts().size(),
      lab->fabric.link_count(), file.lab.lmc));
  return kExitHealthy;
}

int up(const po::variables_map& values) {
  if (!values.count("fabric"))
    return report({ErrorKind::usage, "lab up: expected a fabric file, as in: weft lab up fabric.yaml"});
  const auto file = load_fabric_file(values["fabric"].as<std::string>());
  if (!file) return report(file.error());
  const auto name = values["name"].as<std::string>();
  signal(SIGINT, on_interrupt);
  signal(SIGTERM, on_interrupt);
  if (file->fabric.kind() == FabricKind::infiniband) return up_infiniband(name, *file);
  LabSettings settings = file->lab;
  settings.counters = file->counters;
  if (!settings.guests.empty() && settings.guest_image.empty()) settings.guest_image = image_beside_program();
  const auto made = lab::lab_up(name, file->fabric, settings, lab_state_root(), interrupted.get_token());
  if (!made && interrupted.stop_requested()) return kExitInterrupted;
  if (!made) return report(made.error());
  if (made->was_up)
    if (const auto status = lab::lab_status(name, lab_state_root()); status && !status->ended_guests.empty())
      return report({ErrorKind::conflict,
                     fmt::format("lab {0} is up, but these guests have ended: {1}; run `weft lab down --name "
                                 "{0}`, then `weft lab up` again",
                                 name, fmt::join(status->ended_guests, ", "))});
  print_wrapped(
      fmt::format("lab {} {}: {}", name, made->was_up ? "was up already" : "is up", describe(made->lab)));
  return kExitHealthy;
}

int down(const po::variables_map& values) {
  const auto name = values["name"].as<std::string>();
  const bool force = values.count("force") != 0;
  if (lab::ib_lab_exists(name, ib_lab_root())) {
    const auto claim = lab::claim_lab(name, ib_lab_root());
    if (!claim && claim.error().kind == ErrorKind::conflict && !force)
      return report({ErrorKind::conflict, claim.error().message + ", or take the lab from it with --force"});
    if (const auto ended = lab::ib_lab_down(name, ib_lab_root()); !ended) return report(ended.error());
    fmt::print("lab {} is down\n", name);
    return kExitHealthy;
  }
  const auto ended =
      lab_down(name, lab_state_root(), force ? lab::WhenLoaded::end_it : lab::WhenLoaded::refuse);
  if (!ended) return report(ended.error());
  // Nothing of ours; root's lab of that name stays up, which must not read as if it were down.
  if (const auto claim = lab::claim_lab(name, lab_state_root());
      !*ended && !claim && claim.error().kind == ErrorKind::permission)
    return report(claim.error());
  fmt::print("lab {} {}\n", name, *ended ? "is down" : "was not up");
  return kExitHealthy;
}

constexpr std::array<Command, 6> kWords{{
    {"up", "build the lab of a fabric file", lab_up_command, lab_up_options},
    {"down", "end a lab and remove all of it", lab_down_command, lab_down_options},
    {"status", "the labs, or one with its faults", lab_status_command, lab_status_options},
    {"fault", "break a link", lab_fault_command, lab_fault_options},
    {"heal", "end the faults of a link, or of all", lab_heal_command, lab_heal_options},
    {"exec", "run a program in a node of the lab", lab_exec_command, lab_exec_options},
}};

}  // namespace

OptionParser lab_up_options() {
  OptionParser parser("weft lab up FABRIC.yaml [--name N]",
                      "builds the lab of a fabric file; done twice it is no error",
                      "  weft lab up fabric.yaml\n  weft lab up fabric.yaml --name demo\n");
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FABRIC.yaml"),
                                 "the fabric file");
  parser.positional("fabric", 1);
  add_name_option(parser.options());
  return parser;
}

int lab_up_command(const Arguments& arguments) {
  auto parser = lab_up_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  return OptionParser::help_was_asked(*values) ? kExitHealthy : up(*values);
}

OptionParser lab_down_options() {
  OptionParser parser("weft lab down [--name N] [--force]",
                      "ends a lab and all that runs in it, also after a crash half way up; refused while a "
                      "sweep or a balancing run loads it",
                      "  weft lab down\n  weft lab down --name demo\n  weft lab down --force\n");
  add_name_option(parser.options());
  parser.options().add_options()("force", "end what loads it too");
  parser.command_line_only({"force"});
  return parser;
}

int lab_down_command(const Arguments& arguments) {
  auto parser = lab_down_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  return OptionParser::help_was_asked(*values) ? kExitHealthy : down(*values);
}

const WordGroup& lab_words() {
  static const WordGroup words{
      "lab", "a fabric on this machine: one network namespace per node, the kernel's own ECMP, real packets",
      kWords,
      "  weft lab up fabric.yaml --name demo\n"
      "  weft lab fault leaf1--spine2 --name demo --loss 0.5 --from leaf1\n"
      "  weft lab exec host1 --name demo -- ping -c 3 host5\n"
      "  weft lab down --name demo\n"};
  return words;
}

int lab_command(const Arguments& arguments) { return run_word(lab_words(), arguments); }

}  // namespace weft::cli
