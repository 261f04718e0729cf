#include "cli/agent.hpp"

#include <charconv>
#include <cstdlib>

#include "cli/compose.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "probes/session/agent_loop.hpp"

namespace weft {
namespace {

constexpr const char* kExamples =
    "  WEFT_BUS_TOKEN=... weft agent --nats nats://10.0.0.1:4222 --run 1f00ba11 --host gpu001 --nic "
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
  if (middle == std::string::npos || middle == 0)
    return fail(ErrorKind::usage, "--nic {}: expected INTERFACE=ADDRESS, as in eth0=10.1.0.1", text);
  const auto address = IpAddress::parse(text.substr(middle + 1));
  if (!address) return fail(ErrorKind::usage, "--nic {}: {}", text, address.error().message);
  return NicReport{text.substr(0, middle), *address};
}

Result<AgentWords> read_words(const po::variables_map& values) {
  AgentWords words;
  for (const char* name : {"nats", "run", "host"})
    if (!values.count(name)) return fail(ErrorKind::usage, "--{} is missing", name);
  const auto run = parse_run(values["run"].as<std::string>());
  if (!run) return pass_on(run);
  words = {values["nats"].as<std::string>(), *run, values["host"].as<std::string>(), {}};
  if (values.count("nic"))
    for (const auto& text : values["nic"].as<std::vector<std::string>>()) {
      const auto nic = parse_nic(text);
      if (!nic) return pass_on(nic);
      words.nics.push_back(*nic);
    }
  words.engine = values["engine"].as<std::string>();
  if (words.engine != "raw" && words.engine != "umad" && words.engine != "ibsim")
    return fail(ErrorKind::usage, "--engine {}: expected raw, umad or ibsim", words.engine);
  if (words.nics.empty())
    return fail(ErrorKind::usage, "--nic is missing: name at least one INTERFACE=ADDRESS");
  return words;
}

Result<void> serve(const AgentWords& words, std::stop_token stop) {
  const char* token = std::getenv(kBusTokenVariable);
  const auto bus = connect_nats({words.nats_url, token ? token : ""}, words.run, words.host);
  if (!bus) return pass_on(bus);
  const Hello hello{words.host, std::string(tool_version()), words.engine, words.nics};
  const auto engines =
      words.engine == "raw" ? raw_engines(words.nics) : umad_engines(words.nics, words.engine == "ibsim");
  return run_agent(**bus, hello, engines, std::move(stop));
}

}  // namespace

std::vector<std::string> agent_arguments(const AgentWords& words) {
  std::vector<std::string> arguments{
      "agent",  "--nats",   words.nats_url, "--run",     fmt::format("{:x}", words.run.value()),
      "--host", words.host, "--engine",     words.engine};
  for (const NicReport& nic : words.nics) {
    arguments.push_back("--nic");
    arguments.push_back(fmt::format("{}={}", nic.interface, to_string(nic.address)));
  }
  return arguments;
}

int agent_command(const Arguments& arguments) {
  OptionParser parser("weft agent --nats URL --run ID --host NAME --nic INTERFACE=ADDRESS...",
                      "Probes from this host for a coordinator (weft sweep starts its agents itself).",
                      kExamples);
  parser.options().add_options()("nats", po::value<std::string>()->value_name("URL"),
                                 "the coordinator's NATS server")(
      "run", po::value<std::string>()->value_name("ID"),
      "the run to take part in, as the coordinator gives it")(
      "host", po::value<std::string>()->value_name("NAME"), "this host's name in the fabric")(
      "engine", po::value<std::string>()->value_name("NAME")->default_value("raw"),
      "raw: RoCEv2 datagrams; umad: InfiniBand management datagrams; ibsim: these in a lab")(
      "nic", po::value<std::vector<std::string>>()->value_name("IF=ADDR"),
      "a NIC to probe from; may be given several times");
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (parser.help_was_asked(*values)) return kExitHealthy;
  const auto words = read_words(*values);
  if (!words) return report(words.error());
  const Interrupt interrupt;
  const auto served = serve(*words, interrupt.token());
  return served ? kExitHealthy : report(served.error());
}

}  // namespace weft
