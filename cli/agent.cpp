#include "cli/agent.hpp"

#include <charconv>
#include <cstdlib>
#include <iostream>

#include "cli/agent_arguments.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "collectors/bus/bus_file.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::cli {
namespace {

constexpr const char* kExamples =
    "  weft agent --server nats://10.0.0.1:4222 --run 1f00ba11 --host gpu001 --nic 10.1.0.1 --token-stdin\n"
    "  WEFT_BUS_TOKEN=... weft agent --server nats://10.0.0.1:4222 --run 1f00ba11 --host gpu001 --nic "
    "eth0=10.1.0.1\n";

Result<RunId> parse_run(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc{} || end != text.data() + text.size())
    return fail(ErrorKind::usage, "--run {}: expected up to 16 hexadecimal digits", text);
  return RunId(number);
}

Result<session::NicReport> parse_nic(const std::string& text) {
  const auto middle = text.find('=');
  const auto address = IpAddress::parse(middle == std::string::npos ? text : text.substr(middle + 1));
  if (!address || middle == 0)
    return fail(ErrorKind::usage, "--nic {}: expected ADDRESS or INTERFACE=ADDRESS, as in eth0=10.1.0.1",
                text);
  return session::NicReport{middle == std::string::npos ? to_string(*address) : text.substr(0, middle),
                            *address};
}

/// Of --credential; absent: not given.
Result<std::optional<bus::BusFile>> read_bus_file_option(const po::variables_map& values) {
  const auto path = text_option(values, "credential");
  if (!path) return std::optional<bus::BusFile>();
  for (const char* said : {"server", "host", "fabric", "token-stdin"})
    if (values.count(said) != 0)
      return fail(ErrorKind::usage, "--{} stands in the file of --credential: leave it out", said);
  if (values.count("standing") == 0)
    return fail(ErrorKind::usage, "--credential is of an agent that stands: add --standing");
  WEFT_TRY(auto file, bus::read_bus_file(*path));
  return std::optional(std::move(file));
}

/// The fabric that it probes all the time; empty: none.
Result<std::string> fabric_to_stand_for(const po::variables_map& values, run::EngineKind engine,
                                        const std::optional<bus::BusFile>& file) {
  const bool standing = values.count("standing") != 0;
  if (!file && standing != (values.count("fabric") != 0))
    return fail(ErrorKind::usage, "--standing and --fabric go together, as in --standing --fabric roce-a");
  if (!standing) return std::string();
  if (engine != run::EngineKind::raw)
    return fail(ErrorKind::usage, "--standing --engine {}: standing probes are raw packets, so far",
                to_string(engine));
  return file ? file->fabric : values["fabric"].as<std::string>();
}

/// The run of --run; an agent that stands serves those of its fabric.
Result<RunId> read_run(const po::variables_map& values, const std::string& standing_for) {
  if (values.count("run")) return parse_run(values["run"].as<std::string>());
  if (!standing_for.empty()) return run::standing_run(standing_for);
  return fail(ErrorKind::usage, "--run is missing; try: weft agent --help");
}

Result<run::AgentWords> read_words(const po::variables_map& values, const std::optional<bus::BusFile>& file) {
  run::AgentWords words;
  for (const char* name : {"server", "host"})
    if (!file && !values.count(name))
      return fail(ErrorKind::usage, "--{} is missing; try: weft agent --help", name);
  words.server = file ? file->url : values["server"].as<std::string>();
  words.host = file ? file->name : values["host"].as<std::string>();
  if (values.count("nic"))
    for (const auto& text : values["nic"].as<std::vector<std::string>>()) {
      WEFT_TRY(const auto nic, parse_nic(text));
      words.nics.push_back(nic);
    }
  const auto given = values["engine"].as<std::string>();
  const auto engine = run::parse_engine(given);
  if (!engine) return fail(ErrorKind::usage, "--engine {}: expected auto, raw, verbs, umad or ibsim", given);
  words.agent_options.engine = *engine;
  words.shares_machine = values.count("shared-machine") != 0;
  if (words.nics.empty())
    return fail(ErrorKind::usage, "--nic is missing: name at least one ADDRESS or INTERFACE=ADDRESS");
  words.token_on_stdin = values.count("token-stdin") != 0;
  WEFT_TRY_VOID(read_agent_options(values, words.agent_options));
  WEFT_TRY(words.agent_options.standing_for, fabric_to_stand_for(values, *engine, file));
  WEFT_TRY(words.run, read_run(values, words.agent_options.standing_for));
  return words;
}

/// The first line of the input, or what the environment has; an empty one: the server asks for none.
Result<bus::BusCredential> credential_from(bool from_stdin) {
  std::string line;
  if (from_stdin) {
    std::getline(std::cin, line);
  } else if (const char* given = std::getenv(run::kBusTokenVariable)) {
    line = given;
  }
  auto credential = bus::read_credential(line);
  if (!credential) return pass_on(credential, from_stdin ? "the input's first line" : run::kBusTokenVariable);
  return credential;
}

}  // namespace

int agent_command(const Arguments& arguments) {
  return run_agent_command(arguments, {.say = [](const std::string& line) {
                             std::cerr << outside_text("weft agent: " + line) + "\n";
                           }});
}

OptionParser agent_options() {
  OptionParser parser(
      "weft agent --server URL --run ID --host NAME --nic ADDRESS... [options]",
      "Probes from this host for a coordinator. weft sweep and weft trace start their agents themselves.",
      kExamples);
  parser.options().add_options()("server", po::value<std::string>()->value_name("URL"),
                                 "the coordinator's NATS server")(
      "run", po::value<std::string>()->value_name("ID"),
      "the run to take part in, as the coordinator gives it")(
      "host", po::value<std::string>()->value_name("NAME"), "this host's name in the fabric")(
      "engine", po::value<std::string>()->value_name("raw|verbs|auto|umad|ibsim")->default_value("raw"),
      "raw: RoCEv2 datagrams; verbs: RDMA queue pairs; auto: the run says which of these two, by what the "
      "NICs have; umad: InfiniBand management datagrams; ibsim: these in a lab")(
      "nic", po::value<std::vector<std::string>>()->value_name("NIC"),
      "a NIC to probe from: its ADDRESS or INTERFACE=ADDRESS; may be given several times")(
      "token-stdin",
      "read the server's credential from the first line of the input (else from WEFT_BUS_TOKEN)")(
      "standing",
      "probe all the time by what the watcher of --fabric assigns, until it is told to stop, and "
      "serve runs beside")("fabric", po::value<std::string>()->value_name("NAME"),
                           "the fabric of that watcher")(
      "credential", po::value<std::string>()->value_name("FILE"),
      "of an agent that stands: a file of weft bus init, which names server, fabric and host")(
      "shared-machine", "other hosts are this same machine (a lab): tell of the NICs alone");
  add_agent_options(parser.options(Group::rdma));
  parser.without_configuration();  // weft starts agents, with all that they need on their command line
  return parser;
}

int run_agent_command(const Arguments& arguments, const run::AgentParts& parts) {
  auto parser = agent_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (parser.help_was_asked(*values)) return kExitHealthy;
  const auto file = read_bus_file_option(*values);
  if (!file) return report(file.error());
  const auto words = read_words(*values, *file);
  if (!words) return report(words.error());
  const auto credential =
      *file ? Result<bus::BusCredential>((*file)->key) : credential_from(words->token_on_stdin);
  if (!credential) return report(credential.error());
  const Interrupt interrupt;
  const auto served = serve_agent(
      *words, *credential, tool_version(), parts, [](const char* name) { return std::getenv(name); },
      interrupt.token());
  return served ? kExitHealthy : report(served.error());
}

}  // namespace weft::cli
