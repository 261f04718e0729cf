#include "cli/trace_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/agent.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_place.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/report/path_table.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "probes/session/path_search_script.hpp"
#include "topology/base/host_list.hpp"
#include "topology/files/path_map_json.hpp"

namespace weft::cli {
namespace {

/// A search, and how long it took from its first probe to its last answer.
class TimedSearch final : public session::PathSearchScript {
 public:
  using PathSearchScript::PathSearchScript;
  std::vector<session::WorkItem> next_wave() override {
    if (!began_) began_ = Clock::now();
    return PathSearchScript::next_wave();
  }
  void take(const session::WorkItem& item, const session::TaskAnswer* answer) override {
    PathSearchScript::take(item, answer);
    latest_ = Clock::now();
  }
  std::chrono::duration<double> took() const { return latest_ - began_.value_or(latest_); }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> began_;
  Clock::time_point latest_;
};

constexpr std::size_t kMaxPairs =
    65'536;  // more are a fabric's worth: some minutes of work for one coordinator

using Pairs = std::vector<plan::NicPair>;

/// Every NIC of the first list with every other one of the second.
Result<Pairs> pairs_of(const Fabric& fabric, const AddressBook& addresses, const TraceWords& words) {
  const auto nics_of = [&](const std::string& list) -> Result<std::vector<PortId>> {
    WEFT_TRY(const auto names, expand_hosts(list));
    std::vector<PortId> nics;
    for (const std::string& name : names) {
      WEFT_TRY(const auto nic, fabric.find_nic(name));
      if (!addresses.address_of(nic))
        return fail(ErrorKind::usage, "{} has no address in the fabric file: add it under addresses, ports",
                    fabric.name_of_nic(nic));
      nics.push_back(nic);
    }
    return nics;
  };
  WEFT_TRY(const auto from, nics_of(words.src));
  WEFT_TRY(const auto to, nics_of(words.dst));
  if (from.size() * to.size() > kMaxPairs)
    return fail(ErrorKind::usage, "{} pairs: at most {} are traced at once", from.size() * to.size(),
                kMaxPairs);
  Pairs pairs;
  for (const PortId src : from)
    for (const PortId dst : to)
      if (src != dst) pairs.push_back({src, dst});
  if (pairs.empty()) return fail(ErrorKind::usage, "{} and {} are the same NIC", words.src, words.dst);
  return pairs;
}

std::vector<NodeId> hosts_of(const Fabric& fabric, const Pairs& pairs) {
  std::set<NodeId> hosts;
  for (const plan::NicPair& pair : pairs)
    hosts.insert({fabric.port(pair.src).node, fabric.port(pair.dst).node});
  return {hosts.begin(), hosts.end()};
}

void print_found(const Fabric& fabric, const TimedSearch& script, const TraceWords& words) {
  switch (words.output) {
    case OutputFormat::table:
      return fmt::print("{}",
                        report::search_table(fabric, script.learner(), script.states(),
                                             {script.probes_sent(), script.took()}, terminal_columns()));
    case OutputFormat::json:
      return fmt::print("{}", path_map_json(fabric, script.learner().path_map(), stamp_now()));
    case OutputFormat::jsonl:
      return fmt::print("{}", files::json_lines(report::path_rows(fabric, script.learner())));
    case OutputFormat::csv:
      return fmt::print("{}", files::csv_text(report::path_rows(fabric, script.learner())));
  }
}

int answer(const Fabric& fabric, const TimedSearch& script, const TraceWords& words) {
  for (const HostEvidence& trouble : script.troubles())
    print_stderr("weft: {}: {}\n", fabric.name_of(trouble.host), trouble.text);
  if (const auto& why = script.why_cut_short()) print_stderr("weft: cut short: {}\n", *why);
  print_found(fabric, script, words);
  const auto states = script.states();
  const bool all = std::ranges::all_of(
      states, [](const auto& state) { return state.end == plan::SearchEnd::all_seen && state.sprayed == 0; });
  return all ? kExitHealthy : kExitUnknown;
}

}  // namespace

int find_paths_lab(const po::variables_map& values, const TraceWords& words) {
  const auto lab = run::open_lab_for_run(values["lab"].as<std::string>(), lab_state_root());
  if (!lab) return report(lab.error());
  const auto pairs = pairs_of(lab->fabric(), lab->addresses().book, words);
  if (!pairs) return report(pairs.error());
  const Interrupt interrupt;
  const auto secrets = run::new_run_secrets();
  TimedSearch script(lab->fabric(), lab->addresses().book, {.answers_per_second = kLabAnswersPerSecond},
                     secrets.run, *pairs);
  auto site = run::lab_site(*lab, hosts_of(lab->fabric(), *pairs));
  if (!site) return report(site.error());
  choose_engine(*site, words);
  const auto done =
      run_with_agents(*site, run::ListenAddress{lab->coordinator_address()}, lab->fabric(), script, secrets,
                      [](const session::Progress&) {}, interrupt.token(), {.limit = words.limit});
  if (interrupt.happened()) return kExitInterrupted;
  return done ? answer(lab->fabric(), script, words) : report(done.error());
}

int find_paths_cluster(const po::variables_map& values, const TraceWords& words,
                       const files::FabricFile& file) {
  const auto pairs = pairs_of(file.fabric, file.addresses, words);
  if (!pairs) return report(pairs.error());
  auto cluster = cluster_to_trace(values, words, file, hosts_of(file.fabric, *pairs));
  if (!cluster) return report(cluster.error());
  const Interrupt interrupt;
  const auto secrets = run::new_run_secrets();
  TimedSearch script(file.fabric, file.addresses, {.answers_per_second = kLiveAnswersPerSecond}, secrets.run,
                     *pairs);
  const auto done = run_with_agents(
      cluster->site, cluster->bus, file.fabric, script, secrets, [](const session::Progress&) {},
      interrupt.token(), cluster->timing);
  if (interrupt.happened()) return kExitInterrupted;
  return done ? answer(file.fabric, script, words) : report(done.error());
}

int find_paths_simulated(const TraceWords& words, const files::FabricFile& file) {
  const auto addresses = plan_addresses(file.fabric, file.lab.family);
  if (!addresses) return report(addresses.error());
  const auto pairs = pairs_of(file.fabric, addresses->book, words);
  if (!pairs) return report(pairs.error());
  TimedSearch script(file.fabric, addresses->book, {.answers_per_second = kLabAnswersPerSecond}, RunId(1),
                     *pairs);
  std::vector<session::ExpectedHost> expected;
  std::vector<std::string> names;
  std::set<PortId> nics;
  for (const plan::NicPair& pair : *pairs) nics.insert({pair.src, pair.dst});
  for (const NodeId host : hosts_of(file.fabric, *pairs)) {
    session::ExpectedHost& one = expected.emplace_back(session::ExpectedHost{host, {}});
    for (const PortId nic : nics)
      if (file.fabric.port(nic).node == host) one.nics.push_back({file.fabric.name_of_nic(nic), nic});
    names.push_back(file.fabric.name_of(host));
  }
  session::Coordinator coordinator(file.fabric, script, {RunId(1), {}}, expected);
  const auto open = run::simulated_engines(file.fabric, addresses->book, {}, 1, nullptr, {}, {}, words.hash);
  const auto done = coordinate_in_process(coordinator, names, open, [](const session::Progress&) {}, {});
  return done ? answer(file.fabric, script, words) : report(done.error());
}

}  // namespace weft::cli
