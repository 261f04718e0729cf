#include <fmt/format.h>

#include <array>

#include "cli/exit_status.hpp"
#include "cli/lab.hpp"
#include "cli/lab_place.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/lab/netns/lab_control.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

struct Setting {
  const char* name;
  const char* value;
  const char* text;
};
// Each is read by set_fault, so that a fault means the same here and in `weft simulate`.
constexpr std::array<Setting, 6> kSettings{{
    {"loss", "PCT", "lose this share of the packets, per cent"},
    {"rate", "BW", "hold the link to this rate"},
    {"load", "BW", "send other traffic of this rate over it (congestion)"},
    {"delay", "TIME", "hold every packet this long, one way"},
    {"mtu", "BYTES", "let larger IP packets vanish without an answer"},
    {"corruption", "PCT", "change the payload of this share of the RoCE packets"},
}};

Result<FaultSpec> read_fault(const po::variables_map& values, const Fabric& fabric) {
  WEFT_TRY(const auto link, fabric.find_link(values["link"].as<std::string>()));
  FaultSpec fault{.link = link, .down = values["down"].as<bool>()};
  for (const Setting& setting : kSettings)
    if (const auto value = text_option(values, setting.name))
      if (const auto set = set_fault(fault, setting.name, *value); !set)
        return pass_on(set, fmt::format("--{}", setting.name));
  if (const auto from = text_option(values, "from"))
    if (const auto set = set_fault_from(fabric, fault, *from); !set) return pass_on(set, "--from");
  return fault;
}

int fault_infiniband(const po::variables_map& values, const std::string& name) {
  const auto lab = lab::ib_lab_open(name, ib_lab_root());
  if (!lab) return report(lab.error());
  const auto spec = read_fault(values, lab->fabric);
  if (!spec) return report(spec.error());
  std::optional<lab::CounterFault> counter;
  if (const auto text = text_option(values, "counter")) {
    const auto read = lab::parse_counter_fault(*text);
    if (!read) return report(read.error());
    counter = *read;
  } else if (const auto changes = check_fault(lab->fabric, *spec); !changes) {
    return report(changes.error());
  }
  if (const auto done = ib_lab_fault(*lab, *spec, counter); !done) return report(done.error());
  fmt::print("fault in force on {}\n", lab->fabric.name_of(spec->link));
  return kExitHealthy;
}

int heal_infiniband(const po::variables_map& values, const std::string& name) {
  const auto lab = lab::ib_lab_open(name, ib_lab_root());
  if (!lab) return report(lab.error());
  std::optional<LinkId> link;
  if (const auto text = text_option(values, "link")) {
    const auto found = lab->fabric.find_link(*text);
    if (!found) return report(found.error());
    link = *found;
  }
  const auto healed = ib_lab_heal(*lab, link);
  if (!healed) return report(healed.error());
  fmt::print("{} {}\n", link ? lab->fabric.name_of(*link) : "all links", *healed ? "healed" : "had no fault");
  return kExitHealthy;
}

int fault(const po::variables_map& values) {
  if (!values.count("link"))
    return report(
        {ErrorKind::usage, "lab fault: expected a link, as in: weft lab fault leaf1--spine2 --loss 0.5"});
  if (const auto name = values["name"].as<std::string>(); lab::ib_lab_exists(name, ib_lab_root()))
    return fault_infiniband(values, name);
  if (values.count("counter"))
    return report(
        {ErrorKind::not_supported,
         "--counter: this lab has no counters of its own to set; only an InfiniBand lab (ibsim) has"});
  const auto root = lab_state_root();
  const auto lab = lab::Lab::open(values["name"].as<std::string>(), root);
  if (!lab) return report(lab.error());
  const auto spec = read_fault(values, lab->fabric());
  if (!spec) return report(spec.error());
  if (const auto done = lab_fault(*lab, *spec, root); !done) return report(done.error());
  print_wrapped(fmt::format("fault in force: {}", to_string(lab->fabric(), *spec)));
  return kExitHealthy;
}

int heal(const po::variables_map& values) {
  if (const auto name = values["name"].as<std::string>(); lab::ib_lab_exists(name, ib_lab_root()))
    return heal_infiniband(values, name);
  const auto root = lab_state_root();
  const auto lab = lab::Lab::open(values["name"].as<std::string>(), root);
  if (!lab) return report(lab.error());
  std::optional<LinkId> link;
  if (const auto name = text_option(values, "link")) {
    const auto found = lab->fabric().find_link(*name);
    if (!found) return report(found.error());
    link = *found;
  }
  const auto healed = lab_heal(*lab, link, root);
  if (!healed) return report(healed.error());
  const std::string what = link ? lab->fabric().name_of(*link) : "all links";
  fmt::print("{} {}\n", what, *healed ? "healed" : "had no fault");
  return kExitHealthy;
}

}  // namespace

OptionParser lab_fault_options() {
  OptionParser parser("weft lab fault LINK [--name N] [--from NODE] --loss PCT | --rate BW | ...",
                      "breaks a link; several settings at once add up, a setting given again replaces itself",
                      "  weft lab fault leaf1--spine2 --loss 0.5 --from leaf1\n"
                      "  weft lab fault leaf2--spine3 --rate 12.5M\n"
                      "  weft lab fault leaf4--spine1 --down\n");
  auto add = parser.options().add_options();
  add("link", po::value<std::string>()->value_name("LINK"), "the link, as leaf1--spine2");
  add("name", po::value<std::string>()->value_name("N")->default_value(kDefaultLabName), "the lab's name");
  add("from", po::value<std::string>()->value_name("NODE"), "only the channel that leaves this node");
  for (const Setting& setting : kSettings)
    add(setting.name, po::value<std::string>()->value_name(setting.value), setting.text);
  add("down", po::bool_switch(), "take the cable down");
  add("counter", po::value<std::string>()->value_name("NAME=VALUE"),
      "set an error counter (InfiniBand labs)");
  parser.positional("link", 1);
  parser.command_line_only({"down", "counter", "from"});
  for (const Setting& setting : kSettings) parser.command_line_only({setting.name});
  return parser;
}

int lab_fault_command(const Arguments& arguments) {
  auto parser = lab_fault_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  return OptionParser::help_was_asked(*values) ? kExitHealthy : fault(*values);
}

OptionParser lab_heal_options() {
  OptionParser parser("weft lab heal [LINK] [--name N]", "ends the faults of a link, or of all links",
                      "  weft lab heal leaf1--spine2\n  weft lab heal --name demo\n");
  auto add = parser.options().add_options();
  add("link", po::value<std::string>()->value_name("LINK"), "the link; all where it is left out");
  add("name", po::value<std::string>()->value_name("N")->default_value(kDefaultLabName), "the lab's name");
  parser.positional("link", 1);
  return parser;
}

int lab_heal_command(const Arguments& arguments) {
  auto parser = lab_heal_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  return OptionParser::help_was_asked(*values) ? kExitHealthy : heal(*values);
}

}  // namespace weft::cli
