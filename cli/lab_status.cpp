#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "cli/lab.hpp"
#include "cli/lab_place.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "collectors/report/words.hpp"
#include "topology/base/utc.hpp"
#include "topology/files/json_text.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/lab/netns/lab_control.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

/// One line per faulty channel or cable, in the words of `weft lab fault`.
std::vector<std::string> fault_lines(const lab::LabStatus& status) {
  std::vector<std::string> lines;
  const Fabric& fabric = status.lab.fabric();
  for (const lab::ActiveFault& active : status.faults)
    lines.push_back(to_string(fabric, as_spec(active.fault, active.channel)) +
                    (active.load_ended ? " (the load has ended)" : ""));
  for (const LinkId link : status.down)
    lines.push_back(to_string(fabric, FaultSpec{.link = link, .down = true}));
  return lines;
}

void print_lab(const std::string& name, std::string_view phase, const std::string& what) {
  print_wrapped(fmt::format("lab {:<16} {:<8} {}", name, phase, what));
}

std::string size_of(const Fabric& fabric, std::size_t faults) {
  using report::counted;
  return fmt::format("{}, {}, {}", counted(fabric.hosts().size(), "host", ' '),
                     counted(fabric.link_count(), "link", ' '), counted(faults, "fault", ' '));
}

void print_table(const lab::LabStatus& status) {
  const Fabric& fabric = status.lab.fabric();
  const auto lines = fault_lines(status);
  print_lab(status.name, to_string(status.phase),
            fmt::format("fabric {}, {}", fabric.name(), size_of(fabric, lines.size())));
  for (const std::string& line : lines) print_wrapped(line, 2);
  if (!status.ended_guests.empty()) {
    print_wrapped(fmt::format("guests that have ended: {}", fmt::join(status.ended_guests, ", ")), 2);
    print_wrapped(fmt::format("boot them with `weft lab down --name {}`, then `weft lab up`", status.name),
                  2);
  }
}

nlohmann::json to_json(const Fabric& fabric, const lab::ActiveFault& active) {
  const lab::ChannelFault& fault = active.fault;
  nlohmann::json out = {{"link", fabric.name_of(Fabric::link_of(active.channel))},
                        {"from", fabric.name_of(fabric.source_node(active.channel))}};
  if (fault.loss) out["loss"] = fault.loss->value();
  if (fault.rate) out["rate"] = fault.rate->bits_per_second();
  if (fault.load) out["load"] = fault.load->bits_per_second();
  if (fault.load) out["load_ended"] = active.load_ended;
  if (fault.delay) out["delay"] = std::chrono::duration<double>(*fault.delay).count();
  if (fault.mtu) out["mtu"] = fault.mtu->count();
  if (fault.corruption) out["corruption"] = fault.corruption->value();
  return out;
}

nlohmann::json to_json(const lab::LabStatus& status) {
  const Fabric& fabric = status.lab.fabric();
  nlohmann::json out = {{"name", status.name},
                        {"phase", to_string(status.phase)},
                        {"kind", "roce"},
                        {"owner", status.lab.owner() == lab::LabOwner::root ? "root" : "user"},
                        {"fabric", fabric.name()},
                        {"family", to_string(status.lab.settings().family)},
                        {"hosts", fabric.hosts().size()},
                        {"switches", fabric.node_count() - fabric.hosts().size()},
                        {"links", fabric.link_count()},
                        {"faults", nlohmann::json::array()},
                        {"down", nlohmann::json::array()}};
  for (const lab::ActiveFault& active : status.faults) out["faults"].push_back(to_json(fabric, active));
  if (!status.lab.settings().guests.empty()) out["ended_guests"] = status.ended_guests;
  for (const LinkId link : status.down) out["down"].push_back(fabric.name_of(link));
  return out;
}

std::string_view owner_of_this_user() { return geteuid() == 0 ? "root" : "user"; }

/// What is known of an InfiniBand lab, also when it is half up or gone: the members of every lab, and `kind`.
nlohmann::json describe_infiniband(const std::string& name) {
  const auto lab = lab::ib_lab_open(name, ib_lab_root());
  nlohmann::json out = {{"name", name},
                        {"phase", lab ? "up" : "gone"},
                        {"kind", "infiniband"},
                        {"owner", owner_of_this_user()},
                        {"fabric", lab ? lab->fabric.name() : ""},
                        {"family", "none"},  // no IP on it
                        {"hosts", 0},
                        {"switches", 0},
                        {"links", 0},
                        {"faults", nlohmann::json::array()},
                        {"down", nlohmann::json::array()}};
  if (!lab) return out;
  out["hosts"] = lab->fabric.hosts().size();
  out["switches"] = lab->fabric.node_count() - lab->fabric.hosts().size();
  out["links"] = lab->fabric.link_count();
  out["injected"] = ib_lab_faults(*lab);
  return out;
}

void print_infiniband(const std::string& name) {
  const auto lab = lab::ib_lab_open(name, ib_lab_root());
  if (!lab) return print_lab(name, "gone", lab.error().message);
  const auto faults = ib_lab_faults(*lab);
  print_lab(
      name, "up",
      fmt::format("fabric {} (InfiniBand), {}", lab->fabric.name(), size_of(lab->fabric, faults.size())));
  for (const auto& line : faults) print_wrapped(line, 2);
}

/// The InfiniBand labs that the options mean.
std::vector<std::string> infiniband_labs(const po::variables_map& values) {
  auto names = lab::ib_lab_names(ib_lab_root());
  if (const auto name = text_option(values, "name"))
    std::erase_if(names, [&](const auto& n) { return n != *name; });
  return names;
}

void print_document(const std::vector<lab::LabStatus>& all, const std::vector<std::string>& infiniband) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  nlohmann::json out = {{"schema", "weft.lab/1"},
                        {"generated_at", weft::to_string(now)},
                        {"tool_version", tool_version()},
                        {"labs", nlohmann::json::array()}};
  for (const lab::LabStatus& status : all) out["labs"].push_back(to_json(status));
  for (const auto& name : infiniband) out["labs"].push_back(describe_infiniband(name));
  fmt::print("{}\n", files::document_line(out));
}

int status(const po::variables_map& values) {
  const auto json = wants_json(values);
  if (!json) return report(json.error());
  const auto root = lab_state_root();
  const auto infiniband = infiniband_labs(values);
  auto names = lab::lab_names(root);
  if (const auto name = text_option(values, "name"))
    names = infiniband.empty() ? std::vector{*name} : std::vector<std::string>();
  std::vector<lab::LabStatus> all;
  int exit = kExitHealthy;
  // One that cannot be read does not hide the others.
  for (const std::string& one : names) {
    auto read = lab::lab_status(one, root);
    if (read) all.push_back(std::move(*read));
    if (!read) exit = report(read.error());
  }
  if (*json) return print_document(all, infiniband), exit;
  for (const lab::LabStatus& one : all) print_table(one);
  for (const auto& name : infiniband) print_infiniband(name);
  if (all.empty() && infiniband.empty() && exit == kExitHealthy) fmt::print("no lab is up\n");
  return exit;
}

}  // namespace

OptionParser lab_status_options() {
  OptionParser parser("weft lab status [--name N] [-o table|json]", "the labs of this user and their faults",
                      "  weft lab status\n  weft lab status --name demo -o json\n");
  parser.options().add_options()("name", po::value<std::string>()->value_name("N"), "only this lab");
  add_output_option(parser.options(Group::output));
  return parser;
}

int lab_status_command(const Arguments& arguments) {
  auto parser = lab_status_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  return OptionParser::help_was_asked(*values) ? kExitHealthy : status(*values);
}

}  // namespace weft::cli
