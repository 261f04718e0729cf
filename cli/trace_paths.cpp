#include "cli/trace_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/report/path_table.hpp"
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

int answer_paths(const Fabric& fabric, const TimedSearch& script, const TraceWords& words) {
  for (const HostEvidence& trouble : script.troubles())
    print_stderr("weft: {}: {}\n", fabric.name_of(trouble.host), trouble.text);
  if (const auto& why = script.why_cut_short()) print_stderr("weft: cut short: {}\n", *why);
  print_found(fabric, script, words);
  const auto states = script.states();
  const bool all = std::ranges::all_of(
      states, [](const auto& state) { return state.end == plan::SearchEnd::all_seen && state.sprayed == 0; });
  return all ? kExitHealthy : kExitUnknown;
}

/// That no path is missed where not all of the file are seen, over all pairs: at the sweep's .99, one run of
/// 64 pairs with four paths each in 120 left a path out that is there.
constexpr Fraction kConfidence{0.9999};

session::SweepOptions confident(session::SweepOptions options) {
  options.confidence = kConfidence;
  return options;
}

class EveryPathTrace final : public Trace {
 public:
  EveryPathTrace(const TraceGround& ground, Pairs pairs, const TraceWords& words)
      : fabric_(ground.fabric),
        words_(words),
        pairs_(std::move(pairs)),
        script_(ground.fabric, ground.addresses, confident(ground.options), ground.run, pairs_) {}
  session::Script& script() override { return script_; }
  std::vector<PortId> nics() const override {
    std::set<PortId> nics;
    for (const plan::NicPair& pair : pairs_) nics.insert({pair.src, pair.dst});
    return {nics.begin(), nics.end()};
  }
  int answer() override { return answer_paths(fabric_, script_, words_); }

 private:
  const Fabric& fabric_;
  const TraceWords& words_;
  Pairs pairs_;
  TimedSearch script_;
};

}  // namespace

StartTrace start_every_path(const TraceWords& words) {
  return [&words](const TraceGround& ground) -> Result<std::unique_ptr<Trace>> {
    WEFT_TRY(auto pairs, pairs_of(ground.fabric, ground.addresses, words));
    return std::make_unique<EveryPathTrace>(ground, std::move(pairs), words);
  };
}

}  // namespace weft::cli
