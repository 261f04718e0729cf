#include "cli/topology_discover_roce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/cluster_arguments.hpp"
#include "cli/discovered_hosts.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_place.hpp"
#include "cli/progress.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "cli/time_limit.hpp"
#include "collectors/report/discovery.hpp"
#include "probes/discover/against_file.hpp"
#include "probes/discover/against_tree.hpp"
#include "probes/discover/found_fabric.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/discover_script.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/cable_records.hpp"
#include "topology/files/file_text.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"

namespace weft::cli {
namespace {

// The files of a site's records that tell of cables, as options name them.

constexpr const char* kTimeLimit = "time-limit";  // --timeout is that of one question to a subnet
constexpr std::array kRecordOptions{"lldp", "sonic", "netbox"};
constexpr Bytes kMaxRecordBytes(256'000'000);
constexpr Bytes kMaxTreeBytes(64'000'000);

Result<std::vector<std::filesystem::path>> files_of(const std::string& given) {
  std::error_code error;
  if (!std::filesystem::is_directory(given, error)) return std::vector{std::filesystem::path(given)};
  std::vector<std::filesystem::path> found;
  for (std::filesystem::directory_iterator at(given, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(error)) found.push_back(at->path());
  if (error) return fail(ErrorKind::usage, "{}: {}", given, error.message());
  if (found.empty()) return fail(ErrorKind::usage, "{}: no file is in it", given);
  std::ranges::sort(found);
  return found;
}

/// leaf1 of leaf1.json, leaf1.lldp.txt and leaf1.example.org.json.
std::string device_of(const std::filesystem::path& file) {
  auto name = file.stem();
  for (const char* ending : {".lldp", ".config_db", ".neighbors"})
    if (name.extension() == ending) name = name.stem();
  return outside_text(name.string());
}

/// --lldp, --sonic, --netbox: files, or directories of them; several times.
void add_record_options(po::options_description& options) {
  const auto several = [] {
    return po::value<std::vector<std::string>>()->composing()->value_name("FILE|DIR");
  };
  options.add_options()(
      "lldp", several(),
      "LLDP tables of hosts and switches, each in a file named after its device: `lldpcli show neighbors -f "
      "json`, SONiC's `show lldp table` or `show lldp neighbors`, `nv show interface --lldp -o json`")(
      "sonic", several(), "SONiC's config_db.json, minigraph.xml or `show lldp table` of each switch")(
      "netbox", several(), "cables of NetBox, exported as CSV or from its API");
}

bool names_records(const po::variables_map& values) {
  return std::ranges::any_of(kRecordOptions, [&](const char* option) { return values.count(option) != 0; });
}

/// Of a directory every file in it, by name; one that is no record is an Error too.
Result<std::vector<files::CableList>> read_records(const po::variables_map& values) {
  std::vector<files::CableList> lists;
  std::map<std::string, std::string> tables;  // of a device, and the file that has it
  for (const char* option : kRecordOptions) {
    if (!values.count(option)) continue;
    for (const std::string& given : values[option].as<std::vector<std::string>>()) {
      WEFT_TRY(const auto files, files_of(given));
      for (const auto& file : files) {
        WEFT_TRY(const auto text, files::read_text_file(file, kMaxRecordBytes));
        WEFT_TRY(auto list, files::parse_cable_record(text, {file.string(), device_of(file)}));
        for (const auto& device : list.devices)
          if (const auto [at, is_new] = tables.emplace(device, file.string()); !is_new)
            return fail(ErrorKind::invalid_input, "{} and {} are both the table of {}: rename one of them",
                        at->second, file.string(), device);
        lists.push_back(std::move(list));
      }
    }
  }
  return lists;
}

struct Traced {
  discover::TracedCabling cabling;
  std::size_t traces = 0;
  std::vector<std::string> troubles;
  bool complete = true;
};

Result<Traced> trace(const run::AgentSite& site, const run::BusPlace& bus, const files::FabricFile& stand_in,
                     double answers_per_second, const session::CoordinatorTiming& timing,
                     const Interrupt& interrupt) {
  const auto secrets = run::new_run_secrets();
  session::DiscoverScript script(stand_in.fabric, stand_in.addresses,
                                 {.answers_per_second = answers_per_second}, secrets.run);
  ProgressLine progress(usual_progress_style());
  const auto done = run_with_agents(
      site, bus, stand_in.fabric, script, secrets, [&](const session::Progress& p) { progress.show(p); },
      interrupt.token(), timing);
  progress.clear();
  if (interrupt.happened()) return fail(ErrorKind::timeout, "interrupted before it was done");
  if (!done) return pass_on(done);
  Traced traced{script.found(), script.traces().size(), {}, !script.cut_short_by()};
  if (!traced.complete)
    traced.troubles.push_back("the traces are not complete, and what is missing is held against no file: " +
                              *script.cut_short_by());
  for (const HostEvidence& trouble : script.troubles())
    traced.troubles.push_back(fmt::format("{}: {}", stand_in.fabric.name_of(trouble.host), trouble.text));
  return traced;
}

Result<double> answer_rate(const po::variables_map& values, double usual) {
  if (!values.count("answer-rate")) return usual;
  const auto rate = values["answer-rate"].as<double>();
  if (rate < 1 || rate > 1e6) return fail(ErrorKind::usage, "--answer-rate {}: expected 1 to 1000000", rate);
  return rate;
}

/// Of a lab nothing is used but the names of its hosts and the addresses of their NICs.
Result<Traced> trace_lab(const po::variables_map& values, discover::FoundSources& sources,
                         std::optional<Interrupt>& interrupt) {
  WEFT_TRY(const auto lab, run::open_lab_for_run(values["lab"].as<std::string>(), lab_state_root()));
  interrupt.emplace();  // a thread: not before the lab is open
  WEFT_TRY(auto site, run::lab_site(lab, {}));
  for (const run::AgentHost& host : site.hosts) {
    auto& one = sources.hosts.emplace_back(discover::HostNics{lab.fabric().name_of(host.host), {}});
    for (const lab::LabNic& nic : lab.nics_of(host.host))
      one.nics.push_back(
          {nic.interface, nic.address, lab.fabric().rate(*lab.fabric().channel_from(nic.port))});
  }
  WEFT_TRY(const auto stand_in, discover::fabric_of_hosts(sources.hosts));
  std::map<NodeId, NodeId> in_lab;
  for (run::AgentHost& host : site.hosts) {
    WEFT_TRY(const auto node, stand_in.fabric.find_node(lab.fabric().name_of(host.host)));
    in_lab[node] = host.host;
    host.host = node;
    for (run::AgentNic& nic : host.nics) {
      const auto port = stand_in.addresses.port_of(nic.report.address);
      if (!port) return fail(ErrorKind::internal, "a NIC of the lab is missing in its stand-in");
      nic.nic = *port;
    }
  }
  site.launch = [&in_lab, launch = site.launch](const run::AgentHost& where, os::ChildSpec agent) {
    run::AgentHost real = where;
    real.host = in_lab.at(where.host);
    return launch(real, std::move(agent));
  };
  WEFT_TRY(const auto rate, answer_rate(values, kLabAnswersPerSecond));
  WEFT_TRY(const auto limit, read_time_limit(values, kTimeLimit));
  return trace(site, run::ListenAddress{lab.coordinator_address()}, stand_in, rate, {.limit = limit},
               *interrupt);
}

/// A table that was given as a file stands for what its device would say now.
void add_tables(AskedTables tables, std::vector<files::CableList>& lists) {
  for (const std::string& note : tables.notes) print_stderr("weft: {}\n", note);
  std::set<std::string> given;
  for (const auto& list : lists) given.insert(list.devices.begin(), list.devices.end());
  for (auto& list : tables.lists)
    if (std::ranges::none_of(list.devices, [&](const auto& device) { return given.contains(device); }))
      lists.push_back(std::move(list));
}

Result<Traced> trace_hosts(const po::variables_map& values, discover::FoundSources& sources,
                           std::vector<files::CableList>& lists, std::optional<Interrupt>& interrupt) {
  WEFT_TRY(const auto names, host_names(values));
  if (names.size() < 2)
    return fail(ErrorKind::usage, "two hosts are needed at least: traces go from one to another");
  WEFT_TRY(const auto launch, read_launch_options(values));
  WEFT_TRY(const auto limit,
           read_time_limit(values, kTimeLimit));  // from now on: asking the hosts is part of it
  WEFT_TRY(const auto rate, answer_rate(values, kLiveAnswersPerSecond));
  interrupt.emplace();
  const AskingEnd end{interrupt->token(), limit ? std::optional(limit->until) : std::nullopt};
  WEFT_TRY(auto asked, ask_for_nics(launch, names, values, end));
  if (asked.hosts.size() < 2)
    return fail(ErrorKind::absent, "only {} told its NICs, and traces go from one host to another; {}",
                asked.hosts.front().host, fmt::join(asked.troubles, "; "));
  sources.hosts = std::move(asked.hosts);
  if (auto tables = ask_for_lldp(launch, sources.hosts, end))
    add_tables(std::move(*tables), lists);
  else
    print_stderr("weft: note: the hosts' LLDP tables were not asked for: {}\n", tables.error().message);
  WEFT_TRY(const auto stand_in, discover::fabric_of_hosts(sources.hosts));
  const auto hosts = stand_in.fabric.hosts();
  WEFT_TRY(auto cluster, cluster_of(launch, stand_in, std::vector<NodeId>(hosts.begin(), hosts.end())));
  cluster.timing.limit = limit;
  WEFT_TRY(auto traced, trace(cluster.site, cluster.bus, stand_in, rate, cluster.timing, *interrupt));
  traced.troubles.insert(traced.troubles.begin(), asked.troubles.begin(), asked.troubles.end());
  return traced;
}

Result<void> check_format(const std::string& format) {
  if (format == "table" || format == "yaml" || format == "json") return {};
  return fail(ErrorKind::usage, "-o {}: expected table, yaml or json", format);
}

Result<report::Discovery> discover_it(const po::variables_map& values, std::optional<Interrupt>& interrupt) {
  discover::FoundSources sources{.name = values["name"].as<std::string>()};
  WEFT_TRY(const auto rate, read_option<Bandwidth>(values, "rate", parse_bandwidth));
  sources.rate = *rate;
  WEFT_TRY(auto lists, read_records(values));  // first: a file that cannot be read costs no packets
  std::optional<files::FabricFile> design;
  if (const auto path = text_option(values, "against")) {
    WEFT_TRY(design, load_fabric_file(*path));
  }
  WEFT_TRY(const auto tree, read_switch_tree(values));
  Traced traced;
  if (values.count("lab") || values.count("hosts")) {
    WEFT_TRY(traced, values.count("lab") ? trace_lab(values, sources, interrupt)
                                         : trace_hosts(values, sources, lists, interrupt));
    sources.traced = traced.cabling;
  }
  std::vector<std::string> names;
  for (const auto& host : sources.hosts) names.push_back(host.host);
  sources.listed = discover::listed_cables(lists, names);
  auto found = found_fabric(sources);
  if (!found && sources.traced)  // not what was typed
    return fail(ErrorKind::absent, "{}{}{}", found.error().message, traced.troubles.empty() ? "" : "; ",
                fmt::join(traced.troubles, "; "));
  if (!found) return pass_on(found);
  report::Discovery answer{std::move(*found), traced.traces, lists.size(), std::move(traced.troubles), {}};
  if (design && traced.complete) {
    const auto differences =
        discover::differences_from_file(answer.found.fabric, answer.found.addresses, *design);
    answer.differences = differences;
    answer.against = values["against"].as<std::string>();
  }
  if (tree && traced.complete) {
    auto compared = discover::compare_with_tree(answer.found.fabric, *tree);
    std::ranges::move(compared.disagreements, std::back_inserter(answer.found.disagreements));
    std::ranges::move(compared.gaps, std::back_inserter(answer.found.gaps));
  }
  return answer;
}

}  // namespace

void add_roce_discovery_options(OptionParser& parser) {
  parser.options().add_options()(
      "hosts", po::value<std::string>()->value_name("LIST"),
      "RoCE: trace between these hosts, as gpu[001-064] or @FILE; nothing else need be known")(
      "subnet", po::value<std::string>()->value_name("PREFIX"),
      "by their NICs in this network, as 10.0.0.0/8 (default: those of RDMA devices, else all but the one "
      "towards this machine)")(
      "answer-rate", po::value<double>()->value_name("N"),
      "probes per second that a switch answers (default 100; labs as fast as they are asked)")(
      "rate", po::value<std::string>()->value_name("BW")->default_value("400G"),
      "of cables whose rate nothing tells")("against", po::value<std::string>()->value_name("FABRIC.yaml"),
                                            "say where the fabric differs from this file")(
      "slurm", po::value<std::string>()->value_name("FILE"),
      "Slurm's topology.conf or topology.yaml, as topograph writes it too: say which hosts it has under "
      "other switches than their cables lead to");
  add_record_options(parser.options());
  add_timeout_option(parser.options(Group::how_much), kTimeLimit);
  add_launch_options(parser.options(Group::cluster));
}

bool is_roce_discovery(const po::variables_map& values) {
  if (values.count("hosts") || names_records(values)) return true;
  const auto lab = text_option(values, "lab");
  return lab && !lab::ib_lab_exists(*lab, ib_lab_root()) && std::filesystem::exists(lab_state_root() / *lab);
}

Result<void> check_what_traces_need(const po::variables_map& values) {
  const bool traces = values.count("hosts") || (values.count("lab") && is_roce_discovery(values));
  for (const char* option : {kTimeLimit, "answer-rate", "subnet"})
    if (values.count(option) && !traces)
      return fail(ErrorKind::usage,
                  "--{} is of traces between hosts: give --hosts too, or --lab of a RoCE lab", option);
  return {};
}

Result<std::optional<files::SwitchTree>> read_switch_tree(const po::variables_map& values) {
  const auto path = text_option(values, "slurm");
  if (!path) return std::nullopt;
  WEFT_TRY(const auto text, files::read_text_file(*path, kMaxTreeBytes));
  WEFT_TRY(auto tree, files::parse_switch_tree(text, outside_text(*path)));
  for (const auto& remark : tree.remarks) print_stderr("weft: {}: {}\n", tree.source, remark);
  return tree;
}

int discover_roce(const po::variables_map& values) {
  const auto format = values["output"].as<std::string>();
  if (const auto checked = check_format(format); !checked) return report(checked.error());
  if (values.count("lab") && values.count("hosts"))
    return report({ErrorKind::usage, "--lab stands alone: the lab knows its hosts"});
  std::optional<Interrupt> interrupt;
  const auto found = discover_it(values, interrupt);
  if (interrupt && interrupt->happened()) return kExitInterrupted;
  if (!found) return report(found.error());
  for (const auto& trouble : found->troubles) print_stderr("weft: {}\n", trouble);
  if (format == "yaml") fmt::print("{}", report::discovery_yaml(*found));
  if (format == "json") fmt::print("{}", report::discovery_json(*found, stamp_now()));
  if (format == "table") fmt::print("{}", report::discovery_table(*found, terminal_columns()));
  const bool contradicted = !found->found.disagreements.empty() || !found->differences.empty();
  return contradicted                                           ? kExitDegraded
         : found->found.gaps.empty() && found->troubles.empty() ? kExitHealthy
                                                                : kExitUnknown;
}

}  // namespace weft::cli
