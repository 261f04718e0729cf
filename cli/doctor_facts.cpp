#include "cli/doctor_facts.hpp"

#include <cstdlib>

#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "probes/run/agents.hpp"
#include "probes/run/listen_address.hpp"
#include "probes/session/messages.hpp"
#include "topology/files/host_facts_json.hpp"

namespace weft::cli {
namespace {

/// "10.0.0.1", or "10.0.0.1=10.0.0.2": also whether the one reaches the other.
Result<void> add_nic(const std::string& text, host::FactsQuestion& question) {
  const auto middle = text.find('=');
  const auto own = IpAddress::parse(text.substr(0, middle));
  if (!own) return fail(ErrorKind::usage, "--nic {}: {}", text, own.error().message);
  question.serves.push_back(to_string(*own));
  if (middle == std::string::npos) return {};
  const auto other = IpAddress::parse(text.substr(middle + 1));
  if (!other) return fail(ErrorKind::usage, "--nic {}: {}", text, other.error().message);
  question.pairs.push_back({to_string(*own), *other});
  return {};
}

Result<host::FactsQuestion> read_question(const po::variables_map& values) {
  host::FactsQuestion question;
  question.shares_machine = values.count("shared-machine") != 0;
  if (values.count("nic"))
    for (const auto& text : values["nic"].as<std::vector<std::string>>())
      WEFT_TRY_VOID(add_nic(text, question));
  if (const auto towards = text_option(values, "towards")) {
    const auto where = run::parse_listen_address(*towards);
    if (!where || !where->port)
      return fail(ErrorKind::usage, "--towards {}: expected ADDRESS:PORT", *towards);
    question.coordinator = where->address;
    question.coordinator_port = *where->port;
  }
  return question;
}

}  // namespace

Result<HostFacts> read_own_facts(host::FactsQuestion question) {
  question.version = tool_version();
  question.protocol = session::kProtocol;
  WEFT_TRY(question.program, run::own_program());
  const char* temporary = std::getenv("TMPDIR");
  question.rooms = {temporary != nullptr && *temporary != '\0' ? temporary : "/tmp", "/dev/shm"};
  return read_facts(question);
}

int doctor_report_command(const Arguments& arguments) {
  OptionParser parser("weft doctor-report [options]",
                      "Tells weft doctor what this host has and how it is set, as one line of JSON "
                      "(weft.host_facts/1). weft doctor starts it on the hosts that it asks.",
                      "  weft doctor-report\n");
  parser.options().add_options()("towards", po::value<std::string>()->value_name("ADDR:PORT"),
                                 "try a connection to this place")(
      "nic", po::value<std::vector<std::string>>()->value_name("ADDR[=OTHER]"),
      "a NIC of the run, and the NIC that it is to reach; may be given several times")(
      "shared-machine", "other hosts are this same machine (a lab): tell of the NICs alone");
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (parser.help_was_asked(*values)) return kExitHealthy;
  const auto question = read_question(*values);
  if (!question) return report(question.error());
  const auto facts = read_own_facts(*question);
  if (!facts) return report(facts.error());
  fmt::print("{}\n", files::host_facts_text(*facts));
  return kExitHealthy;
}

}  // namespace weft::cli
