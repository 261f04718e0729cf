#include "cli/cluster_arguments.hpp"

#include <algorithm>
#include <cstdlib>

#include "balancer/demand/collectives.hpp"
#include "cli/exit_status.hpp"
#include "collectors/bus/bus_file.hpp"
#include "probes/session/watch_subjects.hpp"
#include "topology/base/host_list.hpp"
#include "topology/files/file_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

constexpr Bytes kMaxHostFileBytes(10'000'000);
constexpr std::size_t kStrangersShown = 8;

/// The text of --hosts: itself, or the lines of @FILE without their comments.
Result<std::string> host_list_text(const std::string& given) {
  if (!given.starts_with('@')) return given;
  auto text = files::read_text_file(given.substr(1), kMaxHostFileBytes);
  if (!text) return fail(ErrorKind::usage, "--hosts: {}", text.error().message);
  bool in_comment = false;
  for (char& c : *text) {
    if (c == '#') in_comment = true;
    if (c == '\n') in_comment = false;
    if (in_comment) c = ' ';
  }
  return text;
}

bool has_address(const files::FabricFile& file, NodeId host) {
  const auto ports = file.fabric.ports_of(host);
  return std::ranges::any_of(ports, [&](PortId port) {
    return file.fabric.port(port).link && file.addresses.address_of(port).has_value();
  });
}

Result<NodeId> find_host(const files::FabricFile& file, const std::string& name) {
  const auto node = file.fabric.find_node(name);
  if (!node) return fail(ErrorKind::usage, "--hosts: {}", node.error().message);
  if (!file.fabric.is_host(*node)) return fail(ErrorKind::usage, "--hosts: {} is a switch", name);
  if (!has_address(file, *node) && file.fabric.kind() == FabricKind::roce)
    return fail(ErrorKind::usage, "{} has no address in the fabric file: add it under addresses, ports",
                name);
  return *node;
}

Result<std::optional<run::BusPlace>> read_bus_place(const po::variables_map& values) {
  const auto server = text_option(values, "server");
  const auto listen = text_option(values, "listen");
  if (server && listen) return fail(ErrorKind::usage, "give either --server or --listen, not both");
  if (server) {
    const char* given = std::getenv(run::kBusTokenVariable);
    auto credential = bus::read_credential(given ? given : "");  // as the agents read it
    if (!credential) return pass_on(credential, run::kBusTokenVariable);
    return bus::NatsAddress{*server, std::move(*credential)};
  }
  if (!listen) return std::nullopt;
  const auto address = run::parse_listen_address(*listen);
  if (!address) return pass_on(address, "--listen");
  return *address;
}

/// What is asked of agents that are started, and of those that stand cannot be.
const std::vector<std::string> kOfStarted{
    "launcher", "fan-out",       "server",        "listen",    "agent-program", "engine",         "dpdk-args",
    "exchange", "traffic-class", "service-level", "gid-index", "memory",        "probe-transport"};

}  // namespace

void add_launch_options(po::options_description& options) {
  options.add_options()(
      "launcher", po::value<std::string>()->value_name("ssh|srun|COMMAND")->default_value("ssh"),
      "what starts the agents: ssh, srun, or a command with {host} in it, as 'ssh -l root {host}'")(
      "fan-out", po::value<std::string>()->value_name("flat|tree")->default_value("flat"), kFanOutHelp)(
      "listen", po::value<std::string>()->value_name("ADDR[:PORT]"),
      "where agents reach this machine (default: its address on the way to the hosts, any free port)")(
      "server", po::value<std::string>()->value_name("URL"),
      "use this NATS server, with the credential in WEFT_BUS_TOKEN, instead of starting one")(
      "agent-program", po::value<std::string>()->value_name("PATH"),
      "weft on the hosts (default: the path of this very program)")(
      "gather", po::value<std::string>()->value_name("TIME"),
      "how long to wait for the agents (default 30s, and 50ms more for each)");
}

Result<bool> read_fan_out(const po::variables_map& values) {
  const auto fan_out = values["fan-out"].as<std::string>();
  if (fan_out != "flat" && fan_out != "tree")
    return fail(ErrorKind::usage, "--fan-out {}: expected flat or tree", fan_out);
  if (fan_out == "tree" && values["launcher"].as<std::string>() == "srun")
    return fail(ErrorKind::usage,
                "--fan-out tree with --launcher srun: srun has a tree of its own, leave it flat");
  return fan_out == "tree";
}

Result<run::ClusterOptions> read_launch_options(const po::variables_map& values) {
  WEFT_TRY(const auto launcher, run::LaunchTemplate::parse(values["launcher"].as<std::string>()));
  WEFT_TRY(const auto gather, read_option(values, "gather", parse_duration));
  if (gather && (*gather < std::chrono::seconds(1) || *gather > std::chrono::hours(1)))
    return fail(ErrorKind::usage, "--gather {}: expected 1s to 1h", to_string(*gather));
  WEFT_TRY(const bool tree, read_fan_out(values));
  WEFT_TRY(auto bus, read_bus_place(values));
  return run::ClusterOptions{launcher, text_option(values, "agent-program"), std::move(bus), gather, tree};
}

void add_standing_agents_option(OptionParser& parser) {
  parser.options(Group::cluster)
      .add_options()("credential", po::value<std::string>()->value_name("FILE"),
                     "of a watcher or an operator (weft bus init): by the agents that stand on the hosts, "
                     "starting none");
  parser.either({"credential"}, kOfStarted);
}

Result<run::ClusterOptions> read_agents_of(const po::variables_map& values, const Fabric& fabric) {
  WEFT_TRY(auto options, read_launch_options(values));
  const auto path = text_option(values, "credential");
  if (!path) return options;
  for (const std::string& other : kOfStarted)
    if (values.count(other) && !values[other].defaulted())
      return fail(ErrorKind::usage,
                  "--{}: with --credential no agent is started, and those that stand have what they were "
                  "started with",
                  other);
  WEFT_TRY(const auto file, bus::read_bus_file(*path));
  if (file.fabric != fabric.name())
    return fail(ErrorKind::usage, "--credential {}: it is of fabric {}, and this is {}", *path, file.fabric,
                fabric.name());
  if (!file.runs)
    return fail(
        ErrorKind::usage,
        "--credential {}: it is a host's; expected that of a watcher or an operator (weft bus add DIR "
        "--operators 1)",
        *path);
  options.bus = run::StandingAgents{file.address_for_runs(), session::sweep_run(fabric.name())};
  return options;
}

Result<files::FabricFile> read_live_fabric(const std::string& path) {
  auto file = load_fabric_file(path);
  if (!file) return file;
  if (file->fabric.kind() == FabricKind::roce && file->addresses.empty())
    return fail(ErrorKind::usage,
                "{} gives no addresses: a live fabric needs them under 'addresses' "
                "(docs/fabric-file.md)",
                path);
  return file;
}

Result<std::vector<std::string>> host_names(const po::variables_map& values) {
  WEFT_TRY(const auto text, host_list_text(values["hosts"].as<std::string>()));
  auto names = expand_hosts(text);
  if (!names) return fail(ErrorKind::usage, "--hosts: {}", names.error().message);
  return names;
}

Result<std::vector<NodeId>> hosts_of_fabric(const po::variables_map& values, const Fabric& fabric) {
  auto text = values["hosts"].as<std::string>();
  if (text.starts_with('@')) {
    WEFT_TRY(const auto names, host_names(values));
    text = fmt::format("{}", fmt::join(names, ","));
  }
  return demand::parse_hosts(fabric, text);
}

Result<std::vector<NodeId>> chosen_hosts(const po::variables_map& values, const files::FabricFile& file) {
  std::vector<NodeId> hosts;
  if (!values.count("hosts")) {
    for (const NodeId host : file.fabric.hosts())
      if (has_address(file, host)) hosts.push_back(host);
    return hosts;
  }
  WEFT_TRY(const auto names, host_names(values));
  for (const std::string& name : names) {
    WEFT_TRY(const auto host, find_host(file, name));
    if (has_address(file, host))
      hosts.push_back(host);
    else  // its cables are findings: no reason to end the test of the others
      print_stderr("weft: {} is not in the subnet: is it on, its cable in, its port active?\n", name);
  }
  return hosts;
}

void report_strangers(const Fabric& fabric, const plan::PathLearner& learner) {
  const auto& strangers = learner.strangers();
  if (strangers.empty()) return;
  std::string examples;
  for (std::size_t i = 0; i < std::min(strangers.size(), kStrangersShown); ++i)
    examples +=
        fmt::format("\n  {} (hop {} from {} to {})", to_string(strangers[i].address), strangers[i].hop,
                    fabric.name_of_nic(strangers[i].src), fabric.name_of_nic(strangers[i].dst));
  print_stderr(
      "weft: hops answered from {} that the fabric file does not list, so paths are less certain; "
      "add them under addresses:{}\n",
      strangers.size() == 1 ? "one address" : fmt::format("{} addresses", strangers.size()), examples);
}

}  // namespace weft::cli
