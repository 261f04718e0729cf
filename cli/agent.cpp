#include "cli/agent.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "cli/agent_arguments.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/service.hpp"
#include "collectors/bus/bus_file.hpp"
#include "probes/session/watch_subjects.hpp"
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

/// The files that --credential means: of a directory those that end in .json, in the order of their names.
Result<std::vector<std::filesystem::path>> credential_files(const std::string& given) {
  std::error_code error;
  if (!std::filesystem::is_directory(given, error)) return std::vector<std::filesystem::path>{given};
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator it(given, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".json") files.push_back(it->path());
  if (error) return fail(ErrorKind::permission, "--credential {}: {}", given, error.message());
  if (files.empty())
    return fail(ErrorKind::not_found, "--credential {}: no file there ends in .json: copy this host's there",
                given);
  std::ranges::sort(files);
  return files;
}

/// Of --credential, one a fabric; none: not given.
Result<std::vector<bus::BusFile>> read_bus_files_option(const po::variables_map& values) {
  std::vector<bus::BusFile> files;
  if (!values.count("credential")) return files;
  for (const char* said : {"server", "host", "fabric", "token-stdin"})
    if (values.count(said) != 0)
      return fail(ErrorKind::usage, "--{} stands in the file of --credential: leave it out", said);
  if (values.count("standing") == 0)
    return fail(ErrorKind::usage, "--credential is of an agent that stands: add --standing");
  for (const auto& given : values["credential"].as<std::vector<std::string>>()) {
    WEFT_TRY(const auto paths, credential_files(given));
    for (const auto& path : paths) {
      WEFT_TRY(auto file, bus::read_bus_file(path));
      if (file.runs || file.steers)
        return fail(ErrorKind::usage,
                    "--credential {}: it is a watcher's or operator's; a host's is hosts/HOST.json",
                    path.string());
      if (std::ranges::find(files, file.fabric, &bus::BusFile::fabric) != files.end())
        return fail(ErrorKind::usage, "--credential {}: another one is of fabric {} too: leave one of them",
                    path.string(), file.fabric);
      files.push_back(std::move(file));
    }
  }
  return files;
}

/// The fabric that it probes all the time; empty: none.
Result<std::string> fabric_to_stand_for(const po::variables_map& values, run::EngineKind engine,
                                        const std::optional<bus::BusFile>& file) {
  const bool standing = values.count("standing") != 0;
  if (!file && standing != (values.count("fabric") != 0))
    return fail(ErrorKind::usage, "--standing and --fabric go together, as in --standing --fabric roce-a");
  if (!standing) return std::string();
  if (engine == run::EngineKind::dpdk || engine == run::EngineKind::automatic)
    return fail(ErrorKind::usage,
                "--standing --engine {}: standing probes are raw packets, queue pairs (verbs), or umad on "
                "InfiniBand",
                to_string(engine));
  return file ? file->fabric : values["fabric"].as<std::string>();
}

/// The run of --run; an agent that stands serves those of its fabric, and by another its watcher would not
/// find it.
Result<RunId> read_run(const po::variables_map& values, const std::string& standing_for) {
  if (!values.count("run")) {
    if (!standing_for.empty()) return session::standing_run(standing_for);
    return fail(ErrorKind::usage, "--run is missing; try: weft agent --help");
  }
  WEFT_TRY(const auto run, parse_run(values["run"].as<std::string>()));
  if (!standing_for.empty() && run != session::standing_run(standing_for))
    return fail(ErrorKind::usage,
                "--run {}: the watcher of {} maps paths by the run {:x}: leave --run out with --standing",
                values["run"].as<std::string>(), standing_for, session::standing_run(standing_for).value());
  return run;
}

/// Those of --nic; without it, those that the credential names.
Result<std::vector<session::NicReport>> read_nics(const po::variables_map& values,
                                                  const std::optional<bus::BusFile>& file) {
  std::vector<session::NicReport> nics;
  if (values.count("nic"))
    for (const auto& text : values["nic"].as<std::vector<std::string>>()) {
      WEFT_TRY(const auto nic, parse_nic(text));
      nics.push_back(nic);
    }
  else if (file)
    for (const IpAddress& address : file->nics) nics.push_back({to_string(address), address});
  if (nics.empty())
    return fail(ErrorKind::usage, "--nic is missing: name at least one ADDRESS or INTERFACE=ADDRESS{}",
                file ? "; the credential was made without a fabric file and names none" : "");
  return nics;
}

Result<run::AgentWords> read_words(const po::variables_map& values, const std::optional<bus::BusFile>& file) {
  run::AgentWords words;
  for (const char* name : {"server", "host"})
    if (!file && !values.count(name))
      return fail(ErrorKind::usage, "--{} is missing{}; try: weft agent --help", name,
                  values.count("standing") != 0 ? " (or --credential FILE, which names it)" : "");
  words.server = file ? file->url : values["server"].as<std::string>();
  words.host = file ? file->name : values["host"].as<std::string>();
  WEFT_TRY(words.nics, read_nics(values, file));
  const auto given = values["engine"].as<std::string>();
  const auto engine = run::parse_engine(given);
  if (!engine)
    return fail(ErrorKind::usage, "--engine {}: expected auto, raw, dpdk, verbs, umad or ibsim", given);
  words.agent_options.engine = *engine;
  words.shares_machine = values.count("shared-machine") != 0;
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

/// At the bus of each credential, or at the one that the command line says.
Result<std::vector<run::AgentSeat>> read_seats(const po::variables_map& values) {
  WEFT_TRY(const auto files, read_bus_files_option(values));
  std::vector<run::AgentSeat> seats;
  for (const bus::BusFile& file : files) {
    WEFT_TRY(auto words, read_words(values, file));
    seats.push_back({std::move(words), file.key});
  }
  if (!seats.empty()) return seats;
  WEFT_TRY(auto words, read_words(values, std::nullopt));
  WEFT_TRY(auto credential, credential_from(words.token_on_stdin));
  seats.push_back({std::move(words), std::move(credential)});
  return seats;
}

}  // namespace

int agent_command(const Arguments& arguments) {
  const auto print = [](const std::string& line) { std::cerr << outside_text("weft agent: " + line) + "\n"; };
  return run_agent_command(arguments, {.say = print, .remark = print});
}

OptionParser agent_options() {
  OptionParser parser(
      "weft agent --server URL --run ID --host NAME --nic ADDRESS... [options]\n"
      "       weft agent --standing --credential FILE... [options]",
      "Probes from this host for a coordinator. weft sweep and weft trace start their agents themselves.",
      kExamples);
  parser.options().add_options()("server", po::value<std::string>()->value_name("URL"),
                                 "the coordinator's NATS server")(
      "run", po::value<std::string>()->value_name("ID"),
      "the run to take part in, as the coordinator gives it")(
      "host", po::value<std::string>()->value_name("NAME"), "this host's name in the fabric")(
      "engine", po::value<std::string>()->value_name("raw|dpdk|verbs|auto|umad|ibsim")->default_value("raw"),
      "raw: RoCEv2 datagrams; dpdk: the same by DPDK; verbs: RDMA queue pairs; auto: the run says which, by "
      "what the NICs have; umad: InfiniBand management datagrams; ibsim: these in a lab")(
      "nic", po::value<std::vector<std::string>>()->value_name("NIC"),
      "a NIC to probe from: its ADDRESS or INTERFACE=ADDRESS; may be given several times (default: those "
      "that --credential names)")(
      "token-stdin",
      "read the server's credential from the first line of the input (else from WEFT_BUS_TOKEN)")(
      "standing",
      "probe all the time by what the watcher of --fabric assigns, until it is told to stop, and "
      "serve runs beside; with --engine raw, verbs, or on InfiniBand umad")(
      "fabric", po::value<std::string>()->value_name("NAME"), "the fabric of that watcher")(
      "credential", po::value<std::vector<std::string>>()->value_name("FILE"),
      "of an agent that stands: a file of weft bus init, which names server, fabric and host, or a directory "
      "of them; it serves all their fabrics")(
      "nccl-dir", po::value<std::string>()->value_name("DIR"),
      "of an agent that stands: the directory of this host's jobs (WEFT_NCCL_DIR), into which it writes the "
      "labels that an operator sends (weft nccl steer --credential; default: it refuses them)")(
      "shared-machine", "other hosts are this same machine (a lab): tell of the NICs alone");
  add_agent_options(parser.options(Group::rdma));
  parser.command_line_only({"server", "run", "host", "token-stdin", "standing", "fabric", "credential",
                            "shared-machine", "exchange", "memory"});
  // Of a sweep they say how it probes; of an agent that stands what it stands with.
  parser.own_section_only({"engine", "probe-transport", "service-level", "gid-index"});
  return parser;
}

int run_agent_command(const Arguments& arguments, const run::AgentParts& parts) {
  auto parser = agent_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (parser.help_was_asked(*values)) return kExitHealthy;
  const auto seats = read_seats(*values);
  if (!seats) return report(seats.error());
  auto service = service_notifier(seats->size());
  run::AgentParts told = parts;
  told.say = [&](const std::string& line) { parts.say(line), service.status(line); };
  if (const auto directory = text_option(*values, "nccl-dir"))
    told.labels = {.directory = *directory, .refused = {}};
  told.went_round = [&](std::size_t seat) { service.went_round(seat); };
  const Interrupt interrupt;
  const std::stop_callback stopping(interrupt.token(), [&] { service.stopping(); });
  const auto served = serve_agents(
      *seats, tool_version(), told, [](const char* name) { return std::getenv(name); }, interrupt.token());
  return served ? kExitHealthy : report(served.error());
}

}  // namespace weft::cli
