#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cli/commands.hpp"
#include "cli/doctor_place.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/stamp.hpp"
#include "cli/topology.hpp"
#include "cli/verdict_output.hpp"
#include "collectors/report/doctor_report.hpp"
#include "probes/run/agents.hpp"
#include "probes/run/listen_address.hpp"
#include "probes/session/messages.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/host_facts_json.hpp"
#include "topology/host/host_facts_reader.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

constexpr const char* kExamples =
    "  weft doctor                                 # this host\n"
    "  weft doctor --hosts 'gpu[001-064]'          # those hosts, by ssh\n"
    "  weft doctor --hosts \"$SLURM_JOB_NODELIST\" --launcher srun\n"
    "  weft doctor --fabric cluster.yaml --all     # its hosts, against the file\n"
    "  weft doctor --fabric cluster.yaml --quiet   # one line, for monitoring\n"
    "  weft doctor --fabric cluster.yaml -o csv > hosts.csv\n"
    "  weft doctor --lab -o json\n";

constexpr std::size_t kMaxWords = 4096;  // of what stands where a report should

/// What a host said, as a report or as the reason for none.
AskedHost asked_host(std::string name, const run::HostAnswer& answer, std::uint32_t protocol) {
  AskedHost host{.name = std::move(name), .asked = answer.asked, .answered = answer.answered};
  // A login that is shut says so where its answer would stand.
  const std::string said = answer.exit_code == 0 || !answer.in_time
                               ? answer.errors
                               : answer.output.substr(0, kMaxWords) + "\n" + answer.errors;
  host.words = outside_text(std::string(diagnosis::telling_line(answer.exit_code, said)));
  if (answer.not_started) {
    host.silence = HostTrouble::unreachable;
    host.words = answer.not_started->message;
  } else if (!answer.in_time) {
    host.silence = HostTrouble::no_answer;
    // A greeting of the login is no answer.
    if (files::read_host_facts(answer.output, protocol))
      host.words = "it answered, and the launcher did not end";
  } else if (answer.too_long) {
    host.silence = HostTrouble::bad_answer;
    host.words = "it says more than a report can be: " + outside_text(answer.output.substr(0, 60)) + " ...";
  } else if (answer.exit_code == 0) {
    auto facts = files::read_host_facts(answer.output, protocol);
    if (facts) {
      host.report = std::move(*facts);
      host.words.clear();
    } else {
      host.silence = HostTrouble::bad_answer;
      host.words = facts.error().message;
    }
  } else {
    host.silence = diagnosis::why_silent(answer.exit_code, said);
    if (host.words.empty())
      host.words = answer.exit_code ? fmt::format("exit status {}, without a word", *answer.exit_code)
                                    : "ended by a signal, without a word";
  }
  return host;
}

/// The exit status.
int print(const po::variables_map& values, const DoctorReport& report) {
  const auto text = [&] {
    if (values.count("quiet")) return report::doctor_line(report);
    switch (read_output_format(values).value_or(OutputFormat::table)) {
      case OutputFormat::json:
        return report::doctor_json(report, stamp_now());
      case OutputFormat::jsonl:
        return files::json_lines(report::doctor_rows(report));
      case OutputFormat::csv:
        return files::csv_text(report::doctor_rows(report));
      case OutputFormat::table:
        break;
    }
    return report::doctor_table(report, table_style(values));
  };
  fmt::print("{}", text());
  return exit_status(report.verdict());
}

/// `question` with what this program knows of itself.
Result<HostFacts> read_own_facts(host::FactsQuestion question) {
  question.version = tool_version();
  question.protocol = session::kProtocol;
  WEFT_TRY(question.program, run::own_program());
  const char* temporary = std::getenv("TMPDIR");
  question.rooms = {temporary != nullptr && *temporary != '\0' ? temporary : "/tmp", "/dev/shm"};
  return read_facts(question);
}

Result<int> examine_this_host(const po::variables_map& values, diagnosis::DoctorExpectations expectations) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  WEFT_TRY(auto facts, read_own_facts({}));
  expectations.program = facts.program;
  AskedHost host{.name = this_hosts_name(), .report = std::move(facts), .asked = now};
  host.answered = std::chrono::system_clock::now().time_since_epoch();
  return print(values, examine({std::move(host)}, expectations));
}

/// `options` with the tree of the place, where it has one, over which these questions go.
run::AskOptions over_tree(const DoctorPlace& place, run::AskOptions options,
                          std::function<run::RelayedHost(std::size_t)> question) {
  options.tree = place.tree;
  if (options.tree) options.tree->question = std::move(question);
  return options;
}

/// Whom no relay could ask: as a rule for want of a key on the relay.
void note_direct(const std::vector<run::HostAnswer>& answers, DoctorPlace& place) {
  std::size_t direct = 0;
  const std::string* why = nullptr;
  std::size_t first = 0;
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (!answers[i].not_relayed.empty() && ++direct == 1) why = &answers[i].not_relayed, first = i;
  if (direct > 0)
    place.notes.push_back(
        fmt::format("asked directly, as no relay reached them (--fan-out tree): {} of {} hosts; {}: {}",
                    direct, answers.size(), place.hosts[first], *why));
}

/// Where no fabric file told the hosts' NICs they have told them now: a second question, to those alone that
/// have something to try, adds to their reports which paths between NICs they found.
void try_paths(DoctorPlace& place, const run::AskOptions& options, ProgressLine& progress,
               const std::stop_token& stop, std::vector<AskedHost>& hosts) {
  place.expectations.paired_by_name = true;
  const auto [tries, left_out] = diagnosis::paths_to_try(hosts, place.expectations);
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    if (!tries[i].empty()) asked.push_back(i);
  const auto answers = run::ask_hosts(
      asked.size(),
      [&](std::size_t i, os::ChildSpec spec) {
        spec.argv = path_question_words(place, tries[asked[i]]);
        return place.ask(asked[i], std::move(spec));
      },
      over_tree(place, options,
                [&](std::size_t i) {
                  return run::RelayedHost{place.hosts[asked[i]], path_question_words(place, tries[asked[i]])};
                }),
      [&](std::size_t done) {
        progress.show({"trying paths between NICs", done, asked.size()});
      },
      stop);
  std::size_t silent = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const AskedHost second = asked_host(place.hosts[asked[i]], answers[i], place.expectations.protocol);
    if (!second.report || second.report->protocol != place.expectations.protocol) {
      ++silent;
      continue;
    }
    HostFacts& first = *hosts[asked[i]].report;
    first.paths = second.report->paths;
    for (const std::string& gap : second.report->inventory.gaps)
      if (std::ranges::count(first.inventory.gaps, gap) == 0) first.inventory.gaps.push_back(gap);
  }
  if (left_out > 0)
    place.notes.push_back(
        fmt::format("not tried: path MTU and firewalls between NICs, of {} NICs: no other host has a NIC of "
                    "that name with an "
                    "address of its own; a fabric file (--fabric) says which belong together",
                    left_out));
  if (silent > 0)
    place.notes.push_back(fmt::format(
        "not tried: path MTU and firewalls between NICs of {} of {} hosts: they did not answer a second time",
        silent, asked.size()));
}

Result<int> examine_place(const po::variables_map& values, const diagnosis::DoctorExpectations& common,
                          const run::GatherLimits& limits) {
  WEFT_TRY(auto place, read_doctor_place(values));
  place.expectations.version = common.version;
  place.expectations.protocol = common.protocol;
  place.expectations.limit = common.limit;
  const auto ask = [&](std::size_t host, os::ChildSpec spec) -> Result<os::ChildProcess> {
    spec.argv = question_words(place, host);
    if (place.ask) return place.ask(host, std::move(spec));
    const auto node = place.lab->fabric().find_node(place.hosts[host]);
    if (!node) return pass_on(node);
    if (place.lab->is_guest(*node)) spec.argv[0] = "weft";  // as its own files have it
    return spawn_in(*place.lab, *node, std::move(spec));
  };
  const Interrupt interrupt;
  ProgressLine progress(read_progress_style(values).value_or(ProgressStyle::none));
  const auto total = place.hosts.size();
  const run::AskOptions options{.limits = limits,
                                .longest = static_cast<std::size_t>(files::kMaxHostFacts.count())};
  const auto answers = run::ask_hosts(
      total, ask,
      over_tree(place, options,
                [&](std::size_t host) {
                  return run::RelayedHost{place.hosts[host], question_words(place, host)};
                }),
      [&](std::size_t done) {
        if (place.way_back) place.way_back->greet();
        progress.show({"asking hosts", done, total});
      },
      interrupt.token());
  progress.clear();
  if (interrupt.happened()) return kExitInterrupted;
  if (const Error* error = run::launcher_absent(answers)) return tl::unexpected(*error);
  note_direct(answers, place);
  std::vector<AskedHost> hosts;
  for (std::size_t i = 0; i < total; ++i)
    hosts.push_back(asked_host(place.hosts[i], answers[i], common.protocol));
  if (place.ask && !values.count("fabric") && total > 1)
    try_paths(place, options, progress, interrupt.token(), hosts);
  progress.clear();
  if (interrupt.happened()) return kExitInterrupted;
  auto found = examine(std::move(hosts), place.expectations);
  found.notes.insert(found.notes.begin(), place.notes.begin(), place.notes.end());
  return print(values, found);
}

Result<run::GatherLimits> read_limits(const po::variables_map& values) {
  run::GatherLimits limits;
  WEFT_TRY(const auto each, read_option(values, "gather", parse_duration));
  if (each && (*each < std::chrono::seconds(1) || *each > std::chrono::hours(1)))
    return fail(ErrorKind::usage, "--gather {}: expected 1s to 1h", to_string(*each));
  limits.each = each.value_or(limits.each);
  return limits;
}

Result<int> examine_hosts(const po::variables_map& values) {
  WEFT_TRY_VOID(check_verdict_options(values));
  WEFT_TRY_VOID(read_progress_style(values));
  WEFT_TRY(const auto limits, read_limits(values));
  const diagnosis::DoctorExpectations common{.version = std::string(tool_version()),
                                             .protocol = session::kProtocol,
                                             .limit = to_string(limits.each)};
  const bool elsewhere = values.count("hosts") || values.count("fabric") || values.count("lab");
  return elsewhere ? examine_place(values, common, limits) : examine_this_host(values, common);
}

// What a host that is asked answers.

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

Result<void> print_own_facts(const po::variables_map& values) {
  WEFT_TRY(auto question, read_question(values));
  WEFT_TRY(const auto facts, read_own_facts(std::move(question)));
  fmt::print("{}\n", files::host_facts_text(facts));
  return {};
}

}  // namespace

OptionParser doctor_options() {
  OptionParser parser("weft doctor [--hosts LIST | --fabric FILE [--hosts LIST] | --lab[=NAME]] [options]",
                      "Looks at hosts before a run: asks all of them at once, compares them, and names what "
                      "keeps them from a run, with the command that mends it. Without a place: this host.",
                      kExamples);
  add_doctor_place_options(parser);
  parser.options(Group::cluster)
      .add_options()("gather", po::value<std::string>()->value_name("TIME"),
                     "how long a host may take to answer (default 20s)");
  add_verdict_options(parser.options(Group::output), false);
  add_progress_option(parser.options(Group::output));
  parser.positional("fabric", 1);
  parser.either({"lab"}, {"fabric", "hosts"});
  return parser;
}

int doctor_command(const Arguments& arguments) {
  return run_command(doctor_options(), arguments, examine_hosts);
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
  return run_command(parser, arguments, print_own_facts);
}

}  // namespace weft::cli
