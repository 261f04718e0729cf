#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cli/counters.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/topology.hpp"
#include "collectors/counters/nic_text.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/host/interfaces.hpp"
#include "topology/host/nic_reader.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

constexpr std::size_t kColumns = 80;
constexpr const char* kExamples =
    "  weft counters nic\n"
    "  weft counters nic -o json > nics.jsonl\n"
    "  weft counters nic --fabric cluster.yaml -o json >> counters.jsonl\n";

std::string this_boot() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

/// An interface to read, and what it is called in the answer.
struct AskedNic {
  std::string interface, port;
};

/// The port of a fabric that an interface is, by its addresses.
std::optional<std::string> port_of(const files::FabricFile& file, const host::NetworkInterface& interface) {
  for (const std::string& text : interface.addresses)
    if (const auto address = IpAddress::parse(text))
      if (const auto port = file.addresses.port_of(*address)) return file.fabric.name_of(*port);
  return std::nullopt;
}

/// Without names: those of a fabric, or else those that are PCI devices.
Result<std::vector<AskedNic>> asked_interfaces(const po::variables_map& values) {
  const auto interfaces = host::interfaces_of_kernel();
  std::optional<files::FabricFile> fabric;
  if (const auto file = text_option(values, "fabric")) {
    WEFT_TRY(auto loaded, load_fabric_file(*file));
    fabric = std::move(loaded);
  }
  std::vector<std::string> names;
  if (values.count("interface")) names = values["interface"].as<std::vector<std::string>>();
  std::vector<AskedNic> asked;
  for (const host::NetworkInterface& one : interfaces) {
    const bool is_named = std::erase(names, one.name) > 0;
    if (values.count("interface") && !is_named) continue;
    const auto port = fabric ? port_of(*fabric, one) : std::nullopt;
    if (is_named && fabric && !port)
      return fail(ErrorKind::not_found, "{}: none of its addresses is in the fabric file", one.name);
    if (!is_named && !(fabric ? port.has_value() : one.pci.has_value())) continue;
    asked.push_back({one.name, port.value_or(one.name)});
  }
  if (!names.empty())
    return fail(ErrorKind::not_found, "this host has no interface '{}'", outside_text(names[0]));
  if (asked.empty())
    return fail(ErrorKind::absent, "{}",
                fabric ? "no interface of this host has an address of the fabric file"
                       : "no interface of this host is a PCI device: name those to read");
  return asked;
}

Result<int> nic(const po::variables_map& values) {
  WEFT_TRY(const auto json, wants_json(values));
  WEFT_TRY(const auto asked, asked_interfaces(values));
  std::vector<counters::NicAt> read;
  for (const AskedNic& one : asked) {
    auto reading = host::read_nic("/sys", one.interface, values.count("no-module") == 0);
    read.push_back({os::wall_now(), one.port, std::move(reading)});
  }
  const bool names_ports = values.count("fabric") != 0;
  fmt::print("{}",
             json ? counters::nic_lines(names_ports ? "" : outside_text(this_hosts_name()), this_boot(), read)
                  : counters::nic_text(read, kColumns));
  return kExitHealthy;
}

}  // namespace

OptionParser counters_nic_options() {
  OptionParser parser(
      "weft counters nic [INTERFACE...] [--fabric FABRIC.yaml] [-o json]",
      "Reads what the interfaces of this host count (FEC, standard groups, the driver's own, PCIe) and what "
      "the modules in them measure; what cannot be read is said with its reason. As JSON it is "
      "weft.counters/1: readings put one behind the other are what --counters takes. Nothing is changed. "
      "Reading modules needs CAP_NET_ADMIN.",
      kExamples);
  parser.options().add_options()("interface",
                                 po::value<std::vector<std::string>>()->composing()->value_name("INTERFACE"),
                                 "an interface to read; again for each (default: all that are PCI devices)")(
      "fabric", po::value<std::string>()->value_name("FILE"),
      "name ports as this fabric file does, by the addresses of interfaces; others are left out")(
      "no-module", "leave the modules alone");
  parser.positional("interface", -1);
  add_output_option(parser.options());
  return parser;
}

int counters_nic_command(const Arguments& arguments) {
  return run_command(counters_nic_options(), arguments, nic);
}

}  // namespace weft::cli
