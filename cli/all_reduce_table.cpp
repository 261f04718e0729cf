#include "cli/all_reduce_table.hpp"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "balancer/assign/measured_cost.hpp"
#include "cli/broken_lines.hpp"
#include "cli/demand_options.hpp"
#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"

namespace weft {
namespace {

constexpr std::array<std::int64_t, 7> kSizes{1'000,      10'000,      100'000,      1'000'000,
                                             10'000'000, 100'000'000, 1'000'000'000};

struct Row {
  Bytes size;
  std::vector<AlgorithmTime> times;  // the quickest first
};

/// What --measured says, or else --latency.
Result<MeasuredCost> read_cost(const po::variables_map& values, const Fabric& fabric) {
  if (const auto file = text_option(values, "measured")) {
    const auto read = read_observation_file(fabric, *file);
    if (!read) return pass_on(read);
    name_broken_lines(*read, *file);
    return measured_cost(fabric, read->observations);
  }
  const auto latency = read_option(values, "latency", parse_duration);
  if (!latency) return pass_on(latency);
  return MeasuredCost{**latency, **latency};
}

void print_rows(const Fabric& fabric, std::size_t hosts, const MeasuredCost& cost,
                const std::vector<Row>& rows) {
  fmt::print("all-reduce over {} hosts of {}, {} a step", hosts, fabric.name(),
             to_string(cost.latency_across));
  if (cost.latency_in_leaf != cost.latency_across)
    fmt::print(" ({} in a leaf)", to_string(cost.latency_in_leaf));
  if (cost.link) fmt::print(", {} over a link", to_string(*cost.link));
  fmt::print("; every algorithm balanced\n\n");
  fmt::print("{:>8}  {:<20} {:>12}  {}\n", "bytes", "quickest", "takes", "the others");
  for (const Row& row : rows) {
    std::string others;
    for (std::size_t i = 1; i < row.times.size(); ++i)
      others += fmt::format("{}{} {}", i > 1 ? ", " : "", to_string(row.times[i].collective),
                            to_string(row.times[i].time));
    fmt::print("{:>8}  {:<20} {:>12}  {}\n", to_string(row.size), to_string(row.times[0].collective),
               to_string(row.times[0].time), others);
  }
}

std::string document(const Fabric& fabric, std::size_t hosts, const std::vector<Row>& rows) {
  const DocumentStamp stamp = stamp_now();
  nlohmann::ordered_json json{{"schema", "weft.algorithms/1"},
                              {"generated_at", to_string(stamp.generated_at)},
                              {"tool_version", stamp.tool_version},
                              {"fabric", fabric.name()},
                              {"hosts", hosts}};
  auto& sizes = json["sizes"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json times = nlohmann::ordered_json::object();
    for (const AlgorithmTime& each : row.times)
      times[std::string(to_string(each.collective))] = static_cast<double>(each.time.count()) / 1e9;
    sizes.push_back({{"bytes", row.size.count()},
                     {"quickest", to_string(row.times[0].collective)},
                     {"seconds", std::move(times)}});
  }
  return json.dump(2);
}

}  // namespace

int all_reduce_table(const po::variables_map& values, const Fabric& fabric,
                     const std::vector<Avoided>& avoided) {
  const auto json = wants_json(values);
  if (!json) return report(json.error());
  const auto cost = read_cost(values, fabric);
  if (!cost) return report(cost.error());
  const auto hosts = asked_hosts(fabric, values);
  if (!hosts) return report(hosts.error());
  const auto ranks = rails_of(fabric, *hosts).front();
  std::vector<Row> rows;
  for (const std::int64_t size : kSizes)
    rows.push_back({Bytes(size), all_reduce_times(fabric, avoided, ranks, Bytes(size), *cost)});
  if (*json)
    fmt::print("{}\n", document(fabric, hosts->size(), rows));
  else
    print_rows(fabric, hosts->size(), *cost, rows);
  return kExitHealthy;
}

}  // namespace weft
