#include "cli/bus.hpp"

#include <fmt/format.h>

#include <array>

#include "cli/cluster_arguments.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "collectors/bus/bus_init.hpp"
#include "probes/run/listen_address.hpp"

namespace weft::cli {
namespace {

constexpr std::uint16_t kUsualPort = 4222;
constexpr unsigned kMostWatchers = 16;

constexpr std::array<Command, 1> kWords{{
    {"init", "the configuration of a NATS server, and a credential for each host and watcher",
     bus_init_command, bus_init_options},
}};

/// The fabric's name, and its hosts where it is a file.
Result<void> read_fabric(const po::variables_map& values, bus::BusSpec& spec) {
  const auto given = text_option(values, "fabric");
  if (!given) return fail(ErrorKind::usage, "--fabric: say which: its file, or its name");
  spec.fabric = *given;
  if (given->ends_with(".yaml") || given->ends_with(".yml")) {
    WEFT_TRY(const auto file, load_fabric_file(*given));
    spec.fabric = file.fabric.name();
    for (const NodeId host : file.fabric.hosts()) spec.hosts.push_back(file.fabric.node(host).name);
  }
  if (values.count("hosts")) {
    WEFT_TRY(spec.hosts, host_names(values));
  }
  if (spec.hosts.empty()) return fail(ErrorKind::usage, "--hosts: name the hosts that will have an agent");
  return {};
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

Result<bus::BusSpec> read_spec(const po::variables_map& values) {
  bus::BusSpec spec;
  WEFT_TRY_VOID(read_fabric(values, spec));
  WEFT_TRY_VOID(read_listen(values, spec));
  spec.watchers = values["watchers"].as<unsigned>();
  if (spec.watchers < 1 || spec.watchers > kMostWatchers)
    return fail(ErrorKind::usage, "--watchers {}: expected 1 to {}", spec.watchers, kMostWatchers);
  return spec;
}

Result<bus::BusSpec> init(const po::variables_map& values) {
  if (!values.count("directory")) return fail(ErrorKind::usage, "which directory? try: weft bus init --help");
  WEFT_TRY(auto spec, read_spec(values));
  WEFT_TRY_VOID(bus::write_bus_files(values["directory"].as<std::string>(), spec));
  return spec;
}

}  // namespace

OptionParser bus_init_options() {
  OptionParser parser("weft bus init DIR --fabric FABRIC.yaml [--hosts LIST] [options]",
                      "Makes DIR with all that a NATS server for standing agents starts from: its "
                      "configuration (TLS, JetStream, who may say and hear what), and for each host and "
                      "watcher a credential, which is a secret. It writes over nothing.",
                      "  weft bus init bus --fabric cluster.yaml\n"
                      "  weft bus init bus2 --fabric pod1 --hosts 'gpu[001-064]' --listen 10.0.0.5 "
                      "--watchers 2\n");
  parser.options().add_options()("directory", po::value<std::string>()->value_name("DIR"),
                                 "the directory to make")(
      "fabric", po::value<std::string>()->value_name("FABRIC.yaml"), "the fabric's file, or its name alone")(
      "hosts", po::value<std::string>()->value_name("LIST"),
      "hosts that will have an agent, as gpu[001-064], or @FILE (default: all of the file)")(
      "listen", po::value<std::string>()->value_name("ADDR[:PORT]")->default_value("127.0.0.1:4222"),
      "where the server listens and agents reach it")(
      "watchers", po::value<unsigned>()->value_name("N")->default_value(1),
      "how many watchers: one is active, the others stand by");
  parser.positional("directory", 1);
  parser.without_configuration();  // what it writes is asked for each time; a run's --listen is another
  return parser;
}

int bus_init_command(const Arguments& arguments) {
  auto parser = bus_init_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto made = init(*values);
  if (!made) return report(made.error());
  const auto directory = (*values)["directory"].as<std::string>();
  fmt::print(
      "the bus of fabric {}: {} host{}, {} watcher{}, at {}:{}\n"
      "  {}/{:<10} what the server needs; start it: nats-server -c {}/{}\n"
      "  {}/{:<10} a secret for each: copy NAME.json to host NAME, and to no other\n"
      "  {}/{:<10} a secret for each watcher\n",
      made->fabric, made->hosts.size(), made->hosts.size() == 1 ? "" : "s", made->watchers,
      made->watchers == 1 ? "" : "s", made->address, made->port, directory, bus::kServerFolder, directory,
      bus::kServerConfig, directory, bus::kHostFolder, directory, bus::kWatcherFolder);
  return kExitHealthy;
}

const WordGroup& bus_words() {
  static const WordGroup words{"bus", "the message server that standing agents and watchers share", kWords,
                               "  weft bus init bus --fabric cluster.yaml\n"};
  return words;
}

int bus_command(const Arguments& arguments) { return run_word(bus_words(), arguments); }

}  // namespace weft::cli
