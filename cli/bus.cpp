#include "cli/bus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "cli/cluster_arguments.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "collectors/bus/bus_directory.hpp"
#include "probes/run/listen_address.hpp"
#include "topology/base/text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/os/private_file.hpp"

namespace weft::cli {
namespace {

constexpr std::uint16_t kUsualPort = 4222;
constexpr unsigned kMaxWatchers = 16;
constexpr unsigned kMaxOperators = 16;
constexpr std::size_t kMaxPem = 32'768;  // as a credential takes it

constexpr std::array<Command, 4> kWords{{
    {"init", "the configuration of a NATS server, and a credential for each host, watcher and operator",
     bus_init_command, bus_init_options},
    {"add", "credentials for hosts and operators that are new", bus_add_command, bus_add_options},
    {"renew", "new keys beside the old ones, which hold until they are dropped", bus_renew_command,
     bus_renew_options},
    {"drop", "old keys, or hosts, watchers and operators, out of the server's configuration",
     bus_drop_command, bus_drop_options},
}};

/// What --fabric and --hosts say.
struct Asked {
  std::string fabric;
  std::vector<std::string> hosts;  // of --hosts, or else of the fabric's file
  bool listed = false;             // by --hosts
  bus::NicsOfHosts nics;
};

bus::NicsOfHosts nics_in(const files::FabricFile& file) {
  bus::NicsOfHosts nics;
  for (const NodeId host : file.fabric.hosts())
    for (const PortId port : file.fabric.ports_of(host))
      if (const auto address = file.addresses.address_of(port); address && file.fabric.port(port).link)
        nics[file.fabric.name_of(host)].push_back(*address);
  return nics;
}

/// The fabric's name, its hosts and their NICs where it is a file.
Result<Asked> read_asked(const po::variables_map& values) {
  Asked asked;
  if (const auto given = text_option(values, "fabric")) {
    asked.fabric = *given;
    if (given->ends_with(".yaml") || given->ends_with(".yml")) {
      WEFT_TRY(const auto file, load_fabric_file(*given));
      asked.fabric = file.fabric.name();
      for (const NodeId host : file.fabric.hosts()) asked.hosts.push_back(file.fabric.node(host).name);
      asked.nics = nics_in(file);
    }
  }
  asked.listed = values.count("hosts") != 0;
  if (asked.listed) {
    const auto of_file = std::exchange(asked.hosts, {});
    WEFT_TRY(asked.hosts, host_names(values));
    const std::vector<std::string_view> known(of_file.begin(), of_file.end());
    for (const std::string& host : asked.hosts)
      if (!known.empty() && std::ranges::find(known, host) == known.end())
        return fail(ErrorKind::usage, "--hosts: {} is no host of {}{}", host, asked.fabric,
                    did_you_mean(host, known));
  }
  return asked;
}

Result<void> read_listen(const po::variables_map& values, bus::BusSpec& spec) {
  const auto given = values["listen"].as<std::string>();
  const auto listen = run::parse_listen_address(given);
  if (!listen) return fail(ErrorKind::usage, "--listen: {}", listen.error().message);
  const auto text = to_string(listen->address);
  if (text == "0.0.0.0" || text == "::")
    return fail(ErrorKind::usage, "--listen {}: agents must find it: give the address by which they reach it",
                given);
  spec.address = text.find(':') == std::string::npos ? text : "[" + text + "]";
  spec.port = listen->port.value_or(kUsualPort);
  return {};
}

/// Of --ca, --cert and --key; absent: none of them is given.
Result<std::optional<bus::SiteCertificate>> read_site_certificate(const po::variables_map& values) {
  const auto authority = text_option(values, "ca");
  const auto certificate = text_option(values, "cert");
  const auto key = text_option(values, "key");
  if (!authority && !certificate && !key) return std::optional<bus::SiteCertificate>();
  if (!authority || !certificate || !key)
    return fail(ErrorKind::usage, "--ca, --cert and --key go together: the authority, and what it signed");
  bus::SiteCertificate site;
  WEFT_TRY(site.authority, files::read_text_file(*authority, Bytes(kMaxPem)));
  WEFT_TRY(site.certificate, files::read_text_file(*certificate, Bytes(kMaxPem)));
  WEFT_TRY(site.key, os::read_private_file(*key, "the key", kMaxPem));
  return std::optional(std::move(site));
}

/// --operators; 0: none are asked for.
Result<unsigned> read_operators(const po::variables_map& values) {
  const auto count = values["operators"].as<unsigned>();
  if (count > kMaxOperators)
    return fail(ErrorKind::usage, "--operators {}: expected 0 to {}", count, kMaxOperators);
  return count;
}

Result<bus::BusSpec> read_spec(const po::variables_map& values) {
  WEFT_TRY(auto asked, read_asked(values));
  if (asked.fabric.empty()) return fail(ErrorKind::usage, "--fabric: say which: its file, or its name");
  if (asked.hosts.empty()) return fail(ErrorKind::usage, "--hosts: name the hosts that will have an agent");
  bus::BusSpec spec{.fabric = asked.fabric, .hosts = asked.hosts, .nics = std::move(asked.nics)};
  WEFT_TRY_VOID(read_listen(values, spec));
  WEFT_TRY(spec.site, read_site_certificate(values));
  spec.watchers = values["watchers"].as<unsigned>();
  if (spec.watchers < 1 || spec.watchers > kMaxWatchers)
    return fail(ErrorKind::usage, "--watchers {}: expected 1 to {}", spec.watchers, kMaxWatchers);
  WEFT_TRY(spec.operators, read_operators(values));
  return spec;
}

std::string count(std::size_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string path_in(const std::filesystem::path& directory, const char* name) {
  return (directory / name).lexically_normal().string();
}

Result<void> init(const po::variables_map& values) {
  WEFT_TRY(const auto spec, read_spec(values));
  const std::filesystem::path directory = values["directory"].as<std::string>();
  WEFT_TRY_VOID(bus::write_bus_directory(directory, spec));
  const auto operators =
      spec.operators == 0
          ? std::string()
          : fmt::format("  {:<9} secrets: of who may sweep by these agents and give labels to jobs\n",
                        bus::kOperatorFolder);
  fmt::print(
      "the bus of fabric {}: {}, {}, at {}:{}\n"
      "  {:<9} secrets: copy NAME.json to host NAME, and to no other\n"
      "  {:<9} secrets: one for each watcher\n{}"
      "  {:<9} stays where it is; start it with\n"
      "nats-server -c {}\n",
      spec.fabric, count(spec.hosts.size(), "host"), count(spec.watchers, "watcher"), spec.address, spec.port,
      bus::kHostFolder, bus::kWatcherFolder, operators, bus::kServerFolder,
      path_in(directory, bus::kServerConfig));
  return {};
}

/// What a change of a bus is of: its directory and plan, and what is asked.
struct Change {
  std::filesystem::path directory;
  bus::BusPlan plan;
  Asked asked;
};

Result<Change> read_change(const po::variables_map& values) {
  Change change{.directory = values["directory"].as<std::string>(), .plan = {}, .asked = {}};
  WEFT_TRY(change.plan, bus::read_bus_plan(change.directory));
  WEFT_TRY(change.asked, read_asked(values));
  if (!change.asked.fabric.empty() && change.asked.fabric != change.plan.fabric)
    return fail(ErrorKind::usage, "--fabric: {} is of fabric {}, not of {}", change.directory.string(),
                change.plan.fabric, change.asked.fabric);
  return change;
}

void print_change(const Change& change, const std::string& what) {
  fmt::print(
      "the bus of fabric {}: {}; the server takes it with\nkill -HUP PID    # or systemctl reload "
      "weft-bus@{}\n",
      change.plan.fabric, what, change.plan.fabric);
}

Result<void> add(const po::variables_map& values) {
  WEFT_TRY(auto change, read_change(values));
  auto& hosts = change.asked.hosts;
  if (!change.asked.listed)  // all that the fabric's file has and the bus has not
    std::erase_if(hosts, [&](const std::string& host) { return change.plan.hosts.contains(host); });
  WEFT_TRY(const auto operators, read_operators(values));
  if (operators > 0) {
    WEFT_TRY_VOID(bus::add_operators(change.directory, operators));
    print_change(change, fmt::format("{}, whose credentials are in {}", count(operators, "operator"),
                                     path_in(change.directory, bus::kOperatorFolder)));
    if (!change.asked.listed && change.asked.fabric.empty()) return {};
  }
  if (hosts.empty() && (change.asked.listed || change.asked.fabric.empty()))
    return fail(ErrorKind::usage, "--hosts: name the hosts that are new, or give the fabric's file");
  WEFT_TRY_VOID(bus::add_hosts(change.directory, hosts, change.asked.nics));
  print_change(change, fmt::format("{} more, whose credentials are in {}", count(hosts.size(), "host"),
                                   path_in(change.directory, bus::kHostFolder)));
  const auto all = change.plan.hosts.size() + hosts.size();
  if (const auto wanted = bus::stream_limits_for(all).windows; wanted > change.plan.limits.windows)
    fmt::print(
        "the streams were made for fewer hosts: with faults they may hold less than twenty minutes; set\n"
        "max_file_store in {} to {} or more, start the server\nagain, and nats stream edit WEFT_OBS "
        "--max-bytes {}\n",
        path_in(change.directory, bus::kServerConfig), bus::bytes_for(bus::stream_limits_for(all)), wanted);
  return {};
}

/// Those of --hosts or NAME..., or with --all everyone.
Result<std::vector<std::string>> read_names(const po::variables_map& values, const Change& change) {
  std::vector<std::string> names = change.asked.listed ? change.asked.hosts : std::vector<std::string>();
  const bool all = values.count("all") != 0;
  if (all == !names.empty())
    return fail(ErrorKind::usage, "say whose keys: --hosts LIST (hosts, watchers and operators), or --all");
  if (!all) return names;
  for (const auto account : bus::kBusAccounts)
    for (const auto& [name, member] : change.plan.*bus::members_of(account)) names.push_back(name);
  return names;
}

Result<void> renew(const po::variables_map& values) {
  WEFT_TRY(const auto change, read_change(values));
  WEFT_TRY(const auto names, read_names(values, change));
  WEFT_TRY_VOID(bus::renew_keys(change.directory, names, change.asked.nics));
  print_change(change, fmt::format("a new key for {}; the older ones hold until weft bus drop --older",
                                   count(names.size(), "name")));
  return {};
}

Result<void> drop(const po::variables_map& values) {
  WEFT_TRY(const auto change, read_change(values));
  const bool older = values.count("older") != 0;
  if (values.count("all") && !older)
    return fail(ErrorKind::usage, "--all goes with --older: it would leave nobody");
  WEFT_TRY(const auto names, read_names(values, change));
  WEFT_TRY_VOID(
      bus::drop_keys(change.directory, names, older ? bus::Dropped::older_keys : bus::Dropped::all_keys));
  print_change(change, fmt::format("{} of {} dropped", older ? "older keys" : "all keys",
                                   count(names.size(), "name")));
  return {};
}

int run(const Arguments& arguments, const OptionParser& parser,
        Result<void> (*command)(const po::variables_map&)) {
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  if (!values->count("directory"))
    return report({ErrorKind::usage, "which directory? try: " + parser.usage()});
  const auto done = command(*values);
  return done ? kExitHealthy : report(done.error());
}

void add_directory(OptionParser& parser, const char* text) {
  parser.options().add_options()("directory", po::value<std::string>()->value_name("DIR"), text);
  parser.positional("directory", 1);
  parser.without_configuration();  // what it writes is asked for each time; a run's --listen is another
}

void add_all(OptionParser& parser) {
  parser.options().add_options()("hosts", po::value<std::string>()->value_name("LIST"),
                                 "hosts, watchers and operators, as gpu[001-064],watcher, or @FILE")(
      "all", "every host, watcher and operator");
}

void add_operators_option(OptionParser& parser, const char* text) {
  parser.options().add_options()("operators", po::value<unsigned>()->value_name("N")->default_value(0), text);
}

}  // namespace

OptionParser bus_init_options() {
  OptionParser parser("weft bus init DIR --fabric FABRIC.yaml [--hosts LIST] [options]",
                      "Makes DIR with all that a NATS server for standing agents starts from: its "
                      "configuration (TLS, JetStream, who may say and hear what), and for each host, "
                      "watcher and operator a credential, which is a secret. It writes over nothing.",
                      "  weft bus init bus --fabric cluster.yaml\n"
                      "  weft bus init bus2 --fabric pod1 --hosts 'gpu[001-064]' --listen 10.0.0.5 "
                      "--watchers 2\n");
  add_directory(parser, "the directory to make");
  parser.options().add_options()(
      "fabric", po::value<std::string>()->value_name("FABRIC.yaml"),
      "the fabric's file, or its name alone; of a file credentials say the NICs of their hosts")(
      "hosts", po::value<std::string>()->value_name("LIST"),
      "hosts that will have an agent, as gpu[001-064], or @FILE (default: all of the file)")(
      "listen", po::value<std::string>()->value_name("ADDR[:PORT]")->default_value("127.0.0.1:4222"),
      "where the server listens and agents reach it")(
      "watchers", po::value<unsigned>()->value_name("N")->default_value(1),
      "how many watchers: one is active, the others stand by")(
      "ca", po::value<std::string>()->value_name("FILE"),
      "the authority that signed --cert, in PEM (default: a certificate that nobody else trusts is made)")(
      "cert", po::value<std::string>()->value_name("FILE"),
      "the server's certificate; agents know it by its first DNS name, whatever its address")(
      "key", po::value<std::string>()->value_name("FILE"), "the key of --cert");
  add_operators_option(parser,
                       "how many operators: they may sweep by the agents that stand and give labels to jobs");
  return parser;
}

OptionParser bus_add_options() {
  OptionParser parser(
      "weft bus add DIR (--hosts LIST | --fabric FABRIC.yaml | --operators N)",
      "Makes credentials for hosts and operators that are new. All others keep theirs; the server takes "
      "the new configuration when it is told to reload.",
      "  weft bus add bus --fabric cluster.yaml      # all that the file has and the bus has not\n"
      "  weft bus add bus --hosts 'gpu[065-128]'\n");
  add_directory(parser, "that weft bus init made");
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FABRIC.yaml"),
                                 "the fabric's file, with the NICs of the new hosts")(
      "hosts", po::value<std::string>()->value_name("LIST"),
      "the new hosts, as gpu[065-128], or @FILE (default: those of the file that the bus has not)");
  add_operators_option(
      parser,
      "how many operators there are to be: they may sweep by the agents that stand and give labels "
      "to jobs");
  return parser;
}

OptionParser bus_renew_options() {
  OptionParser parser(
      "weft bus renew DIR (--hosts LIST | --all) [--fabric FABRIC.yaml]",
      "Gives hosts, watchers and operators another key and writes their credentials anew. The older keys "
      "hold until weft bus drop --older takes them out, so that nobody is without one.",
      "  weft bus renew bus --all\n  weft bus renew bus --hosts gpu007,watcher\n");
  add_directory(parser, "that weft bus init made");
  add_all(parser);
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FABRIC.yaml"),
                                 "the fabric's file, where NICs of these hosts have other addresses now");
  return parser;
}

OptionParser bus_drop_options() {
  OptionParser parser(
      "weft bus drop DIR (--hosts LIST [--older] | --all --older)",
      "Takes hosts, watchers and operators out of the server's configuration, or with --older all their "
      "keys but the newest.",
      "  weft bus drop bus --all --older        # when every new credential is in its place\n"
      "  weft bus drop bus --hosts gpu007       # it is no longer of this fabric\n");
  add_directory(parser, "that weft bus init made");
  add_all(parser);
  parser.options().add_options()("older", "only the keys that renew left beside the newest");
  return parser;
}

int bus_init_command(const Arguments& arguments) { return run(arguments, bus_init_options(), init); }
int bus_add_command(const Arguments& arguments) { return run(arguments, bus_add_options(), add); }
int bus_renew_command(const Arguments& arguments) { return run(arguments, bus_renew_options(), renew); }
int bus_drop_command(const Arguments& arguments) { return run(arguments, bus_drop_options(), drop); }

const WordGroup& bus_words() {
  static const WordGroup words{"bus", "the message server that standing agents and watchers share", kWords,
                               "  weft bus init bus --fabric cluster.yaml\n"
                               "  weft bus add bus --fabric cluster.yaml\n"};
  return words;
}

int bus_command(const Arguments& arguments) { return run_word(bus_words(), arguments); }

}  // namespace weft::cli
