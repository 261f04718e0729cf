#include "cli/simulate_collective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "balancer/assign/capacities.hpp"
#include "balancer/assign/measured_cost.hpp"
#include "balancer/flowsim/completion_plot.hpp"
#include "balancer/flowsim/strategies.hpp"
#include "cli/demand_options.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/read_observations.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

// weft simulate FABRIC.yaml --collective all-reduce: which algorithm wins at which size.

constexpr std::array<std::int64_t, 7> kSizes{1'000,      10'000,      100'000,      1'000'000,
                                             10'000'000, 100'000'000, 1'000'000'000};

struct Row {
  Bytes size;
  std::vector<assign::AlgorithmTime> times;  // the quickest first
};

void print_rows(const Fabric& fabric, std::size_t hosts, const assign::MeasuredCost& cost,
                const std::vector<Row>& rows) {
  const auto in_leaf = cost.latency_in_leaf == cost.latency_across
                           ? ""
                           : fmt::format(" ({} in a leaf)", readable(cost.latency_in_leaf));
  print_wrapped(fmt::format("all-reduce over {} hosts of {}, {} a step{}{}; every algorithm balanced", hosts,
                            fabric.name(), readable(cost.latency_across), in_leaf,
                            cost.link ? fmt::format(", {} over a link", readable(*cost.link)) : ""));
  TextTable table({{"bytes", true}, {"quickest"}, {"takes", true}, {"the others"}});
  for (const Row& row : rows) {
    std::string others;
    for (std::size_t i = 1; i < row.times.size(); ++i)
      others += fmt::format("{}{} {}", i > 1 ? ", " : "", to_string(row.times[i].collective),
                            readable(row.times[i].time, kNoBreak));
    table.add({readable(row.size), std::string(to_string(row.times[0].collective)),
               readable(row.times[0].time), std::move(others)});
  }
  fmt::print("\n{}", table.text(terminal_columns()));
}

std::string document(const Fabric& fabric, std::size_t hosts, const std::vector<Row>& rows) {
  files::DocumentTree json = stamped_tree("weft.algorithms/1", stamp_now());
  json["fabric"] = fabric.name();
  json["hosts"] = hosts;
  auto& sizes = json["sizes"] = files::DocumentTree::array();
  for (const Row& row : rows) {
    files::DocumentTree times = files::DocumentTree::object();
    for (const assign::AlgorithmTime& each : row.times)
      times[std::string(to_string(each.collective))] = static_cast<double>(each.time.count()) / 1e9;
    sizes.push_back({{"bytes", row.size.count()},
                     {"quickest", to_string(row.times[0].collective)},
                     {"seconds", std::move(times)}});
  }
  return files::document_text(json);
}

/// Prints the table or the JSON document; `avoided` is what faults took away.
int all_reduce_table(const po::variables_map& values, const Fabric& fabric,
                     const std::vector<assign::Avoided>& avoided) {
  const auto json = wants_json(values);
  if (!json) return report(json.error());
  const auto cost = read_step_cost(values, fabric);
  if (!cost) return report(cost.error());
  const auto hosts = asked_hosts(fabric, values);
  if (!hosts) return report(hosts.error());
  const auto ranks = demand::rails_of(fabric, *hosts).front();
  std::vector<Row> rows;
  for (const std::int64_t size : kSizes)
    rows.push_back({Bytes(size), all_reduce_times(fabric, avoided, ranks, Bytes(size), *cost)});
  if (*json)
    fmt::print("{}\n", document(fabric, hosts->size(), rows));
  else
    print_rows(fabric, hosts->size(), *cost, rows);
  return kExitHealthy;
}

/// What ECMP's hashes do differs from run to run: the mean of so many.
constexpr std::uint64_t kDraws = 10;
/// Above so many QPs the simulation ends streams together that are a thousandth apart.
constexpr std::size_t kExactUpTo = 20'000;
constexpr std::size_t kBarColumns = 20;
/// With packets: fewer draws, and at most so many packets a strategy (some ten seconds of computing).
constexpr std::uint64_t kPacketDraws = 3;
constexpr std::uint64_t kMaxPackets = 2'000'000;

Result<std::vector<assign::Avoided>> avoided_by_faults(const Fabric& fabric,
                                                       const std::vector<FaultSpec>& faults) {
  std::vector<assign::Avoided> avoided;
  for (const FaultSpec& fault : faults) {
    if ((!fault.down && !fault.rate && !fault.load) || fault.comes_and_goes())
      return fail(ErrorKind::usage,
                  "--fault {}: completion times know only down, rate and load, all the time",
                  to_string(fabric, fault));
    double share = fault.down ? 0.0 : 1.0;
    const Bandwidth full = fabric.link(fault.link).rate;
    if (fault.rate) share = std::min(share, *fault.rate / full);
    if (fault.load) share = std::min(share, std::max(0.0, (full - *fault.load) / full));
    for (const ChannelId channel : {Fabric::a_to_b(fault.link), Fabric::b_to_a(fault.link)})
      if (!fault.channel || *fault.channel == channel) avoided.push_back({channel, share});
  }
  return avoided;
}

flowsim::SpreadOutcome mean_outcome(const Fabric& fabric, const demand::Demand& demand,
                                    const flowsim::Strategy& strategy, assign::AssignOptions options,
                                    const std::optional<flowsim::PacketSettings>& packets) {
  std::size_t flows = 0;
  for (const demand::Phase& phase : demand.phases) flows += phase.flows.size();
  const double resolution = flows * strategy.qps > kExactUpTo ? 1e-3 : 0;
  const std::uint64_t draws =
      strategy.spread == flowsim::Spread::ecmp ? (packets ? kPacketDraws : kDraws) : 1;
  flowsim::SpreadOutcome mean{.strategy = strategy, .over_bound = 0};
  const auto first = options.seed;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    options.seed = first + draw;
    const auto one = packets ? simulate_packets(fabric, demand, strategy, options, *packets)
                             : simulate(fabric, demand, strategy, options, resolution);
    mean.fluid += one.fluid / static_cast<double>(draws);
    mean.packets = one.packets;
    mean.sent_again += one.sent_again / draws;
    mean.dropped += one.dropped / draws;
    mean.seconds += one.seconds / static_cast<double>(draws);
    mean.mean_flow += one.mean_flow / static_cast<double>(draws);
    mean.over_bound += one.over_bound / static_cast<double>(draws);
  }
  return mean;
}

std::string time_of(double seconds) {
  if (!(seconds < 9e9)) return "never";
  return readable(Nanoseconds(std::llround(seconds * 1e9)));
}

void print_table(const Fabric& fabric, const AskedDemand& asked,
                 const std::vector<flowsim::SpreadOutcome>& outcomes) {
  print_wrapped(fmt::format("{} on {}; fluid model, max-min fair shares; ECMP: mean of {} draws", asked.name,
                            fabric.name(), kDraws));
  TextTable table({{"spread by"}, {"done after", true}, {"x optimum", true}, {"mean flow", true}, {""}});
  double longest = 0;
  for (const flowsim::SpreadOutcome& outcome : outcomes) longest = std::max(longest, outcome.seconds);
  for (const flowsim::SpreadOutcome& outcome : outcomes) {
    const double part = longest > 0 ? outcome.seconds / longest : 0;
    const auto bar = static_cast<std::size_t>(std::lround(part * static_cast<double>(kBarColumns)));
    table.add({describe(outcome.strategy), time_of(outcome.seconds),
               fmt::format("{:.3f}", outcome.over_bound), time_of(outcome.mean_flow),
               std::string(std::min(bar, kBarColumns), '#')});
  }
  fmt::print("\n{}", table.text(terminal_columns()));
}

void print_packets(const Fabric& fabric, const AskedDemand& asked,
                   const std::vector<flowsim::SpreadOutcome>& outcomes,
                   const flowsim::PacketSettings& settings) {
  print_wrapped(
      fmt::format("{} on {}; packets of {}, store and forward; window of a NIC {} packets, queues of "
                  "{}; ECMP: mean of {} draws",
                  asked.name, fabric.name(), readable(settings.payload), settings.window,
                  readable(settings.queue), kPacketDraws));
  TextTable table({{"spread by"},
                   {"done", true},
                   {"fluid", true},
                   {"x fluid", true},
                   {"mean flow", true},
                   {"packets", true},
                   {"again", true},
                   {"dropped", true}});
  for (const flowsim::SpreadOutcome& outcome : outcomes)
    table.add({describe(outcome.strategy), time_of(outcome.seconds), time_of(outcome.fluid),
               fmt::format("{:.3f}", outcome.fluid > 0 ? outcome.seconds / outcome.fluid : 1),
               time_of(outcome.mean_flow), fmt::format("{}", outcome.packets),
               fmt::format("{}", outcome.sent_again), fmt::format("{}", outcome.dropped)});
  fmt::print("\n{}", table.text(terminal_columns()));
}

/// Absent: not asked for. An Error where that many packets would take too long.
Result<std::optional<flowsim::PacketSettings>> asked_packets(
    const po::variables_map& values, const Fabric& fabric, const demand::Demand& demand,
    const std::vector<flowsim::Strategy>& strategies) {
  if (!values.count("packets")) return std::nullopt;
  const auto settings = flowsim::usual_packets(fabric);
  std::uint64_t most = 0;
  for (const flowsim::Strategy& strategy : strategies)
    most = std::max(most, flowsim::packets_of(demand, strategy.qps, settings.payload));
  if (most > kMaxPackets)
    return fail(ErrorKind::usage, "--packets: {} packets: expected at most {}; give fewer --bytes or hosts",
                most, kMaxPackets);
  return settings;
}

std::string document(const Fabric& fabric, const AskedDemand& asked,
                     const std::vector<flowsim::SpreadOutcome>& outcomes, bool packets) {
  files::DocumentTree json = stamped_tree("weft.completion/1", stamp_now());
  json["fabric"] = fabric.name();
  json["demand"] = asked.name;
  auto& list = json["strategies"] = files::DocumentTree::array();
  for (const flowsim::SpreadOutcome& outcome : outcomes) {
    auto& one = list.emplace_back(files::DocumentTree{{"name", describe(outcome.strategy)},
                                                      {"qps", outcome.strategy.qps},
                                                      {"seconds", outcome.seconds},
                                                      {"over_optimum", outcome.over_bound},
                                                      {"mean_flow_seconds", outcome.mean_flow}});
    if (packets)
      one["packets"] = {{"fluid_seconds", outcome.fluid},
                        {"packets", outcome.packets},
                        {"sent_again", outcome.sent_again},
                        {"dropped", outcome.dropped}};
  }
  auto& refused = json["unassigned"] = files::DocumentTree::array();
  for (const demand::RefusedFlow& line : asked.refused)
    refused.push_back({{"flow", line.flow}, {"why", line.why}});
  return files::document_text(json);
}

}  // namespace

Result<assign::MeasuredCost> read_step_cost(const po::variables_map& values, const Fabric& fabric) {
  if (const auto file = text_option(values, "measured")) {
    WEFT_TRY(const auto read, read_observations(fabric, *file));
    return assign::measured_cost(fabric, read.observations);
  }
  WEFT_TRY(const auto latency, read_option(values, "latency", parse_duration));
  return assign::MeasuredCost{*latency, *latency};
}

void add_collective_options(po::options_description& options) {
  add_demand_options(options);
  options.add_options()(
      "latency", po::value<std::string>()->value_name("TIME")->default_value("5us"),
      "with --collective all-reduce (which algorithm wins at which size): of one step, as measured")(
      "measured", po::value<std::string>()->value_name("FILE"),
      "instead of --latency and the rates of the fabric file: what a sweep saw (its --observations)")(
      "packets",
      "with --collective or --flows: packet by packet instead of a fluid model, with finite queues, windows "
      "and "
      "acknowledgements (small fabrics)")("plot", po::value<std::string>()->value_name("FILE"),
                                          "with --collective or --flows: the table as bars, an SVG file");
}

bool collective_was_asked(const po::variables_map& values) {
  return values.count("collective") != 0 || values.count("flows") != 0 || values.count("job") != 0;
}

int simulate_collective(const po::variables_map& values, const Fabric& fabric,
                        const std::vector<FaultSpec>& faults) {
  const auto json = wants_json(values);
  if (!json) return report(json.error());
  const auto avoided = avoided_by_faults(fabric, faults);
  if (!avoided) return report(avoided.error());
  if (text_option(values, "collective") == "all-reduce" && values.count("packets"))
    return report({ErrorKind::usage, "--packets goes with one collective, not with all-reduce"});
  if (text_option(values, "collective") == "all-reduce") return all_reduce_table(values, fabric, *avoided);
  const auto asked = read_demand(fabric, values);
  if (!asked) return report(asked.error());
  assign::AssignOptions options{.avoid = *avoided};
  if (values.count("seed")) options.seed = values["seed"].as<std::uint64_t>();
  auto strategies = flowsim::usual_strategies();
  if (values.count("packets"))
    std::erase_if(strategies, [](const flowsim::Strategy& strategy) {
      return strategy.spread == flowsim::Spread::spray;
    });
  const auto packets = asked_packets(values, fabric, asked->demand, strategies);
  if (!packets) return report(packets.error());
  std::vector<flowsim::SpreadOutcome> outcomes;
  for (const flowsim::Strategy& strategy : strategies)
    outcomes.push_back(mean_outcome(fabric, asked->demand, strategy, options, *packets));
  if (*json)
    fmt::print("{}\n", document(fabric, *asked, outcomes, packets->has_value()));
  else if (*packets)
    print_packets(fabric, *asked, outcomes, **packets);
  else
    print_table(fabric, *asked, outcomes);
  for (const demand::RefusedFlow& line : asked->refused)
    print_stderr("weft: not simulated: {}: {}\n", line.flow, line.why);
  if (const auto plot = text_option(values, "plot"))
    if (const auto written = files::write_text_file(*plot, completion_plot(asked->name, outcomes)); !written)
      return report(written.error());
  return asked->refused.empty() ? kExitHealthy : kExitDegraded;
}

}  // namespace weft::cli
