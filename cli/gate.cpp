#include <array>

#include "balancer/export/gate.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/gate_answer.hpp"
#include "cli/ledger_options.hpp"
#include "cli/output_files.hpp"
#include "cli/terminal.hpp"
#include "cli/words.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/time_span.hpp"

namespace weft::cli {
namespace {

using exports::Gate;
using exports::HostVerdict;

constexpr Bytes kMaxDiagnosisBytes = Bytes(1'000'000'000);

Result<GateQuestion> read_question(const po::variables_map& values) {
  GateQuestion question{.file = values["file"].as<std::string>(),
                        .host = text_option(values, "host").value_or(this_host())};
  WEFT_TRY(const auto age, read_option(values, "max-age", files::parse_span));
  question.longest = std::chrono::ceil<blacklist::Seconds>(*age);
  if (const auto word = text_option(values, "refuse")) {
    WEFT_TRY(question.refuse, parse_refusal(*word));
  }
  return question;
}

int answer(const GateQuestion& question) {
  const auto said = answer_of(question, now_of_machine().wall);
  // Whoever reads it by a pipe makes one reason of it.
  if (stdout_is_terminal())
    print_wrapped(said.line);
  else
    fmt::print("{}\n", said.line);
  return said.status;
}

Result<Gate> gate_by_diagnosis(const Fabric& fabric, const std::string& path) {
  const std::string name = path == "-" ? "stdin" : path;
  const auto text = files::read_text_file(path == "-" ? "/dev/stdin" : path, kMaxDiagnosisBytes);
  if (!text) return pass_on(text, name);
  WEFT_TRY(const auto document, files::parse_diagnosis(*text, name));
  auto gate = exports::gate_of(fabric, document, blacklist::Caps());
  if (!gate) return pass_on(gate, name);
  return gate;
}

Result<Gate> gate_with_ledger(const po::variables_map& values, const std::optional<std::string>& diagnosis) {
  WEFT_TRY(auto opened, open_ledger(values, store::Database::Access::read));
  WEFT_TRY(const auto ledger, opened.keeper().read());
  WEFT_TRY(const auto policy, read_policy(values, ledger));
  if (!diagnosis) return exports::gate_of(opened.fabric, ledger, policy.nic_action, now_of_machine().wall);
  WEFT_TRY(auto run, gate_by_diagnosis(opened.fabric, *diagnosis));
  return exports::decided_by(opened.fabric, ledger, policy.nic_action, std::move(run));
}

Result<Gate> gate_to_publish(const po::variables_map& values) {
  const auto diagnosis = text_option(values, "diagnosis");
  const auto fabric = text_option(values, "fabric");
  const bool has_ledger = values.count("ledger") != 0;
  if (!diagnosis && !has_ledger)
    return fail(ErrorKind::usage, "by what? expected a DIAGNOSIS.json, --ledger FILE, or both");
  if (!fabric) return fail(ErrorKind::usage, "--fabric FILE is missing: the fabric whose hosts are told of");
  if (has_ledger) return gate_with_ledger(values, diagnosis);
  WEFT_TRY(const auto file, load_fabric_file(*fabric));
  return gate_by_diagnosis(file.fabric, *diagnosis);
}

Result<void> publish(const po::variables_map& values) {
  WEFT_TRY_VOID(check_files_apart(values, std::array{"file"}, std::array{"diagnosis", "fabric", "ledger"}));
  WEFT_TRY(const auto gate, gate_to_publish(values));
  const auto path = values["file"].as<std::string>();
  WEFT_TRY_VOID(files::write_text_file(path, gate_text(gate)));
  std::map<Verdict, std::size_t> hosts;
  for (const HostVerdict& host : gate.hosts) ++hosts[host.verdict];
  std::vector<std::string> words;
  for (const auto& [verdict, count] : hosts)
    words.push_back(fmt::format("{} {}", count, weft::to_string(verdict)));
  print_wrapped(fmt::format("{}: {}, of {}", path, fmt::join(words, ", "), weft::to_string(gate.told_at)));
  return {};
}

void add_file_option(OptionParser& parser, const char* text) {
  parser.options().add_options()(
      "file", po::value<std::string>()->value_name("FILE")->default_value(kUsualGateFile), text);
}

OptionParser publish_options() {
  OptionParser parser("weft gate publish [DIAGNOSIS.json] [--ledger FILE] --fabric FILE [--file FILE]",
                      "Writes the file that weft gate reads: a verdict of each host of the fabric. By a run: "
                      "the worst that it "
                      "found of the host's cables, of the host or of its leaf; the file is as old as the "
                      "run. By the ledger of "
                      "a blacklist: failed where an active entry takes the host out of use, else unknown. By "
                      "both: healthy by "
                      "the run, failed by the ledger alone, with its caps and approvals.",
                      "  weft gate publish diagnosis.json --fabric fabric.yaml --file gate\n"
                      "  weft gate publish diagnosis.json --ledger bl.db --fabric fabric.yaml --file gate\n");
  parser.options().add_options()("diagnosis", po::value<std::string>()->value_name("FILE"),
                                 "the document of a run; - is stdin");
  add_ledger_options(parser);
  add_file_option(parser, "the file to write");
  parser.options(Group::how)
      .add_options()(
          "nic", po::value<std::string>()->value_name("host|rail")->default_value("host"),
          "by a ledger, a bad NIC or cable of a host: jobs do without the host, or without that rail of it");
  parser.positional("diagnosis", 1);
  return parser;
}

int publish_command(const Arguments& arguments) { return run_command(publish_options(), arguments, publish); }

constexpr std::array<Command, 1> kWords{{
    {"publish", "write the file that hosts read", publish_command, publish_options},
}};

}  // namespace

OptionParser gate_options() {
  OptionParser parser(
      "weft gate [--host HOST] [--refuse failed]",
      "Says whether a job should start on this host: its verdict and why, on one line, from a file that weft "
      "gate publish wrote. Asks no network and no scheduler, and waits for the file for 3 s at most. The "
      "exit "
      "status is 0 whatever the verdict, unless --refuse asks for another: then 1 (degraded) or 2 (failed). "
      "What is unknown, too old or cannot be read is never refused.",
      "  weft gate --file gate --host host1\n  weft gate --file gate --host host1 --refuse failed\n");
  add_file_option(parser, "the file of weft gate publish");
  parser.options().add_options()("max-age",
                                 po::value<std::string>()->value_name("TIME")->default_value(kUsualGateAge),
                                 "a file that is older says nothing")(
      "host", po::value<std::string>()->value_name("HOST"),
      "as the fabric file names it (default: SLURMD_NODENAME, or this host's name)")(
      "refuse", po::value<std::string>()->value_name("failed|degraded"),
      "end with the status of the verdict where it is this or worse");
  parser.without_configuration();  // nothing but one file is waited for, nothing but its words decides
  return parser;
}

const WordGroup& gate_words() {
  static const WordGroup words{"gate", "on a host: whether a job should start there", kWords,
                               "  weft gate publish diagnosis.json --fabric fabric.yaml --file gate\n"};
  return words;
}

int gate_command(const Arguments& arguments) {
  if (!arguments.empty() && arguments[0] == "publish") return run_word(gate_words(), arguments);
  const auto parser = gate_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto question = read_question(*values);
  return question ? answer(*question) : report(question.error());
}

}  // namespace weft::cli
