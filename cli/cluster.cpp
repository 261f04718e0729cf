#include "cli/cluster.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "cli/agent.hpp"
#include "cli/exit_status.hpp"
#include "cli/launch_template.hpp"
#include "topology/base/host_list.hpp"
#include "topology/files/file_text.hpp"

namespace weft {
namespace {

constexpr Bytes kMaxHostFileBytes(10'000'000);
constexpr std::size_t kStrangersShown = 8;
/// A login takes a second; on a cluster's first contact ssh may have to wait for name servers.
constexpr auto kGather = std::chrono::seconds(30);
/// Starting one agent more costs the coordinator this much (a fork and a key exchange).
constexpr auto kGatherPerHost = std::chrono::milliseconds(50);

/// The text of --hosts: itself, or the lines of @FILE without their comments.
Result<std::string> host_list_text(const std::string& given) {
  if (!given.starts_with('@')) return given;
  auto text = read_text_file(given.substr(1), kMaxHostFileBytes);
  if (!text) return fail(ErrorKind::usage, "--hosts: {}", text.error().message);
  bool in_comment = false;
  for (char& c : *text) {
    if (c == '#') in_comment = true;
    if (c == '\n') in_comment = false;
    if (in_comment) c = ' ';
  }
  return text;
}

bool has_address(const FabricFile& file, NodeId host) {
  const auto ports = file.fabric.ports_of(host);
  return std::ranges::any_of(ports, [&](PortId port) {
    return file.fabric.port(port).link && file.addresses.address_of(port).has_value();
  });
}

Result<NodeId> find_host(const FabricFile& file, const std::string& name) {
  const auto node = file.fabric.find_node(name);
  if (!node) return fail(ErrorKind::usage, "--hosts: {}", node.error().message);
  if (!file.fabric.is_host(*node)) return fail(ErrorKind::usage, "--hosts: {} is a switch", name);
  if (!has_address(file, *node) && file.fabric.kind() == FabricKind::roce)
    return fail(ErrorKind::usage, "{} has no address in the fabric file: add it under addresses, ports",
                name);
  return *node;
}

AgentHost agent_on(const FabricFile& file, NodeId host) {
  AgentHost agent{host, {}};
  for (const PortId port : file.fabric.ports_of(host))
    if (const auto address = file.addresses.address_of(port); address && file.fabric.port(port).link)
      agent.nics.push_back({{to_string(*address), *address}, port});
  return agent;
}

Result<BusPlace> bus_place(const po::variables_map& values, const std::vector<std::string>& hosts) {
  const auto server = text_option(values, "server");
  const auto listen = text_option(values, "listen");
  if (server && listen) return fail(ErrorKind::usage, "give either --server or --listen, not both");
  if (server) {
    const char* token = std::getenv(kBusTokenVariable);
    return NatsAddress{*server, token ? token : ""};
  }
  if (listen) {
    const auto address = parse_listen_address(*listen);
    if (!address) return pass_on(address);
    return *address;
  }
  const auto address = address_towards(hosts);
  if (!address) return pass_on(address);
  return ListenAddress{*address};
}

Result<CoordinatorTiming> read_timing(const po::variables_map& values, std::size_t hosts) {
  CoordinatorTiming timing;
  const auto gather = read_option(values, "gather", parse_duration);
  if (!gather) return pass_on(gather);
  timing.gather = gather->value_or(kGather + kGatherPerHost * hosts);
  if (timing.gather < std::chrono::seconds(1) || timing.gather > std::chrono::hours(1))
    return fail(ErrorKind::usage, "--gather {}: expected 1s to 1h", to_string(timing.gather));
  return timing;
}

}  // namespace

void add_launch_options(po::options_description& options) {
  options.add_options()(
      "launcher", po::value<std::string>()->value_name("HOW")->default_value("ssh"),
      "what starts the agents: ssh, srun, or a command with {host} in it, as 'ssh -l root {host}'")(
      "listen", po::value<std::string>()->value_name("ADDR[:PORT]"),
      "where agents reach this machine (default: its address on the way to the hosts, any free port)")(
      "server", po::value<std::string>()->value_name("URL"),
      "use this NATS server, with the credential in WEFT_BUS_TOKEN, instead of starting one")(
      "agent-program", po::value<std::string>()->value_name("PATH"),
      "weft on the hosts (default: the path of this very program)")(
      "gather", po::value<std::string>()->value_name("TIME"),
      "how long to wait for the agents (default 30s, and 50ms more for each)");
}

Result<FabricFile> read_live_fabric(const std::string& path) {
  auto file = load_fabric_file(path);
  if (!file) return file;
  if (file->fabric.kind() == FabricKind::roce && file->addresses.empty())
    return fail(ErrorKind::usage,
                "{} gives no addresses: a live fabric needs them under 'addresses' "
                "(docs/fabric-file.md)",
                path);
  return file;
}

Result<std::vector<NodeId>> chosen_hosts(const po::variables_map& values, const FabricFile& file) {
  std::vector<NodeId> hosts;
  const auto given = text_option(values, "hosts");
  if (!given) {
    for (const NodeId host : file.fabric.hosts())
      if (has_address(file, host)) hosts.push_back(host);
    return hosts;
  }
  const auto text = host_list_text(*given);
  if (!text) return pass_on(text);
  const auto names = expand_hosts(*text);
  if (!names) return fail(ErrorKind::usage, "--hosts: {}", names.error().message);
  for (const std::string& name : *names) {
    const auto host = find_host(file, name);
    if (!host) return pass_on(host);
    if (has_address(file, *host))
      hosts.push_back(*host);
    else  // its cables are findings: no reason to end the test of the others
      print_stderr("weft: {} is not in the subnet: is it on, its cable in, its port active?\n", name);
  }
  return hosts;
}

Result<Cluster> cluster_of(const po::variables_map& values, const FabricFile& file,
                           const std::vector<NodeId>& hosts) {
  Cluster cluster;
  std::vector<std::string> names;
  for (const NodeId host : hosts) {
    cluster.site.hosts.push_back(agent_on(file, host));
    names.push_back(file.fabric.name_of(host));
  }
  const auto launcher = LaunchTemplate::parse(values["launcher"].as<std::string>());
  if (!launcher) return pass_on(launcher);
  const auto own = own_program();
  if (!own) return pass_on(own);
  cluster.site.program = text_option(values, "agent-program").value_or(*own);
  const auto timing = read_timing(values, hosts.size());
  if (!timing) return pass_on(timing);
  cluster.timing = *timing;
  auto bus = bus_place(values, names);
  if (!bus) return pass_on(bus);
  cluster.bus = std::move(*bus);
  cluster.site.launch = [launcher = *launcher, &fabric = file.fabric](const AgentHost& where,
                                                                      ChildSpec agent) {
    agent.argv = launcher.command(fabric.name_of(where.host), agent.argv);
    return ChildProcess::start(agent);
  };
  return cluster;
}

void report_strangers(const Fabric& fabric, const PathLearner& learner) {
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

std::vector<PortId> nics_with_agent(const AgentSite& site) {
  std::vector<PortId> served;
  for (const AgentHost& host : site.hosts)
    for (const AgentNic& nic : host.nics) served.push_back(nic.nic);
  return served;
}

std::vector<PortId> nics_without_agent(const AgentSite& site, const Fabric& fabric) {
  const auto with = nics_with_agent(site);
  const std::set<PortId> served(with.begin(), with.end());
  std::vector<PortId> others;
  for (const PortId nic : fabric.nics())
    if (!served.contains(nic)) others.push_back(nic);
  return others;
}

}  // namespace weft
