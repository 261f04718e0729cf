#include "cli/agent.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <iterator>

#include "cli/exit_status.hpp"
#include "cli/gpu_memory.hpp"
#include "cli/interrupt.hpp"
#include "cli/near_nics.hpp"
#include "cli/options.hpp"
#include "probes/session/agent_loop.hpp"
#include "topology/host/host_reader.hpp"

namespace weft {
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

Result<NicReport> parse_nic(const std::string& text) {
  const auto middle = text.find('=');
  const auto address = IpAddress::parse(middle == std::string::npos ? text : text.substr(middle + 1));
  if (!address || middle == 0)
    return fail(ErrorKind::usage, "--nic {}: expected ADDRESS or INTERFACE=ADDRESS, as in eth0=10.1.0.1",
                text);
  return NicReport{middle == std::string::npos ? to_string(*address) : text.substr(0, middle), *address};
}

Result<AgentWords> read_words(const po::variables_map& values) {
  AgentWords words;
  for (const char* name : {"server", "run", "host"})
    if (!values.count(name)) return fail(ErrorKind::usage, "--{} is missing", name);
  const auto run = parse_run(values["run"].as<std::string>());
  if (!run) return pass_on(run);
  words = {values["server"].as<std::string>(), *run, values["host"].as<std::string>(), {}};
  if (values.count("nic"))
    for (const auto& text : values["nic"].as<std::vector<std::string>>()) {
      const auto nic = parse_nic(text);
      if (!nic) return pass_on(nic);
      words.nics.push_back(*nic);
    }
  const auto& engine = words.agent_options.engine = values["engine"].as<std::string>();
  words.shares_machine = values.count("shared-machine") != 0;
  if (engine != "raw" && engine != "verbs" && engine != "umad" && engine != "ibsim")
    return fail(ErrorKind::usage, "--engine {}: expected raw, verbs, umad or ibsim", engine);
  if (words.nics.empty())
    return fail(ErrorKind::usage, "--nic is missing: name at least one ADDRESS or INTERFACE=ADDRESS");
  words.token_on_stdin = values.count("token-stdin") != 0;
  if (const auto read = read_agent_options(values, words.agent_options); !read) return pass_on(read);
  return words;
}

/// The first line of the input, or what the environment has; an empty one: the server asks for none.
BusCredential credential_from(bool from_stdin) {
  std::string line;
  if (from_stdin) {
    std::getline(std::cin, line);
  } else if (const char* given = std::getenv(kBusTokenVariable)) {
    line = given;
  }
  return read_credential(line);
}

/// Authorities that OpenSSL knows by itself. A login brings the one certificate that counts; to read all
/// others of a host would cost an agent 30 ms and megabytes. Call before any thread reads the environment.
void trust_no_authority() {
  setenv("SSL_CERT_FILE", "/dev/null", 1);
  setenv("SSL_CERT_DIR", "/dev/null", 1);
}

/// What the coordinator is to know of this host; it is of use, but nothing depends on it.
std::optional<HostInventory> inventory_of(const AgentWords& words) {
  if (words.agent_options.engine == "ibsim") return std::nullopt;  // its adapters are not this machine's
  HostSource source{.shares_machine = words.shares_machine};
  for (const NicReport& nic : words.nics) source.serves.push_back(nic.interface);
  auto inventory = read_host(source);
  return inventory ? std::optional(std::move(*inventory)) : std::nullopt;
}

MemoryOfNic memory_for(const AgentWords& words, const BufferFactory& of_host,
                       const std::optional<HostInventory>& inventory) {
  if (words.agent_options.memory == kGpuMemory) return gpu_memory(inventory, cuda_module_file());
  return [of_host](const std::string&) -> Result<FlowMemory> { return FlowMemory{of_host, {}}; };
}

OpenEngines engines_for(const AgentWords& words, const AgentParts& parts, const ChosenClass& packets,
                        const std::optional<HostInventory>& inventory) {
  const AgentOptions& agent_options = words.agent_options;
  if (agent_options.engine == "raw") return raw_engines(words.nics, packets);
  if (agent_options.engine != "verbs")
    return umad_engines(words.nics, agent_options.engine == "ibsim", parts.open_mads);
  return verbs_engines(words.nics, memory_for(words, parts.memory, inventory),
                       {packets, agent_options.probes, agent_options.exchange == kByAddress},
                       parts.open_verbs);
}

Result<void> serve(const AgentWords& words, const AgentParts& parts, std::stop_token stop) {
  const auto credential = credential_from(words.token_on_stdin);
  if (std::holds_alternative<BusLogin>(credential)) trust_no_authority();
  const auto bus = connect_nats({words.server, credential}, words.run, words.host);
  if (!bus) return pass_on(bus);
  const Hello hello{words.host, std::string(tool_version()), words.agent_options.engine, words.nics,
                    inventory_of(words)};
  const auto packets =
      choose_packet_class(words.agent_options.packets, [](const char* name) { return std::getenv(name); });
  if (!packets) return pass_on(packets);
  const auto engines = engines_for(words, parts, *packets, hello.inventory);
  return run_agent(**bus, hello, near_nics(engines, hello.inventory), std::move(stop));
}

}  // namespace

std::vector<std::string> agent_arguments(const AgentWords& words) {
  std::vector<std::string> arguments{
      "agent",  "--server", words.server, "--run", fmt::format("{:x}", words.run.value()),
      "--host", words.host};
  if (words.token_on_stdin) arguments.push_back("--token-stdin");
  if (words.shares_machine) arguments.push_back("--shared-machine");
  std::ranges::move(agent_option_words(words.agent_options), std::back_inserter(arguments));
  for (const NicReport& nic : words.nics) {
    arguments.push_back("--nic");
    const auto address = to_string(nic.address);
    arguments.push_back(nic.interface == address ? address : nic.interface + "=" + address);
  }
  return arguments;
}

int agent_command(const Arguments& arguments) { return run_agent_command(arguments, {}); }

int run_agent_command(const Arguments& arguments, const AgentParts& parts) {
  OptionParser parser(
      "weft agent --server URL --run ID --host NAME --nic ADDRESS... [options]",
      "Probes from this host for a coordinator. weft sweep and weft trace start their agents themselves.",
      kExamples);
  parser.options().add_options()("server", po::value<std::string>()->value_name("URL"),
                                 "the coordinator's NATS server")(
      "run", po::value<std::string>()->value_name("ID"),
      "the run to take part in, as the coordinator gives it")(
      "host", po::value<std::string>()->value_name("NAME"), "this host's name in the fabric")(
      "engine", po::value<std::string>()->value_name("NAME")->default_value("raw"),
      "raw: RoCEv2 datagrams; verbs: RDMA queue pairs; umad: InfiniBand management datagrams; ibsim: these "
      "in a lab")("nic", po::value<std::vector<std::string>>()->value_name("NIC"),
                  "a NIC to probe from: its ADDRESS or INTERFACE=ADDRESS; may be given several times")(
      "token-stdin",
      "read the server's credential from the first line of the input (else from WEFT_BUS_TOKEN)")(
      "shared-machine", "other hosts are this same machine (a lab): tell of the NICs alone");
  add_agent_options(parser.options());
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (parser.help_was_asked(*values)) return kExitHealthy;
  const auto words = read_words(*values);
  if (!words) return report(words.error());
  const Interrupt interrupt;
  const auto served = serve(*words, parts, interrupt.token());
  return served ? kExitHealthy : report(served.error());
}

}  // namespace weft
