#include "cli/demand_options.hpp"

#include "balancer/assign/choose_algorithm.hpp"
#include "balancer/assign/rank_order.hpp"
#include "balancer/demand/collectives.hpp"
#include "cli/cluster_arguments.hpp"
#include "topology/base/readable.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

constexpr Bytes kMaxFlowFileBytes(1'000'000'000);
constexpr std::string_view kAllReduce = "all-reduce";

Result<AskedDemand> from_file(const Fabric& fabric, const std::string& path) {
  WEFT_TRY(const auto text, files::read_text_file(path, kMaxFlowFileBytes));
  demand::FlowFile file = demand::read_flows(fabric, text);
  if (file.demand.phases.empty())
    return fail(
        ErrorKind::invalid_input,
        "{}: no flows: expected lines as {{\"src\":\"host1\",\"dst\":\"host2\",\"bytes\":1000000}}{}", path,
        file.refused.empty() ? ""
                             : fmt::format("; {}: {}", file.refused.front().flow, file.refused.front().why));
  return AskedDemand{path, std::move(file.demand), std::move(file.refused)};
}

struct NamedDemand {
  std::string name;
  demand::Demand demand;
};

/// What --latency of `simulate --collective all-reduce` is where nobody measured it.
constexpr Nanoseconds kUsualStep = std::chrono::microseconds(5);

/// By the algorithm that takes the least time at this size on this fabric.
NamedDemand all_reduce_demand(const Fabric& fabric, std::span<const NodeId> hosts, Bytes size) {
  const auto times = assign::all_reduce_times(fabric, {}, demand::rails_of(fabric, hosts).front(), size,
                                              {kUsualStep, kUsualStep});
  const demand::Collective quickest = times.front().collective;
  return {fmt::format("{} by {}", kAllReduce, to_string(quickest)),
          make_hierarchical(fabric, hosts, quickest, size)};
}

Result<NamedDemand> collective_demand(const Fabric& fabric, std::span<const NodeId> hosts,
                                      const std::string& name, Bytes size) {
  if (const auto collective = demand::parse_collective(name))
    return NamedDemand{name, make_hierarchical(fabric, hosts, *collective, size)};
  if (name == kAllReduce) return all_reduce_demand(fabric, hosts, size);
  constexpr std::string_view kShift = "shift-";
  if (name.starts_with(kShift)) {
    const auto distance = parse_bytes(std::string_view(name).substr(kShift.size()));
    if (distance && distance->count() > 0)
      return NamedDemand{name, demand::make_shift(demand::rails_of(fabric, hosts).front(),
                                                  static_cast<std::size_t>(distance->count()), size)};
  }
  return fail(ErrorKind::usage, "--collective {}: expected {}, {} or shift-N", name, kAllReduce,
              demand::collective_names());
}

Result<Bytes> checked_size(std::string_view option, Bytes size) {
  if (size.count() < 1 || size.count() > demand::kMaxFlowBytes)
    return fail(ErrorKind::usage, "--{} {}: expected 1 to {} bytes", option, to_string(size),
                demand::kMaxFlowBytes);
  return size;
}

Result<Bytes> asked_size(const po::variables_map& values) {
  WEFT_TRY(const auto size, read_option(values, "bytes", parse_bytes));
  return checked_size("bytes", *size);
}

Result<AskedDemand> from_collective(const Fabric& fabric, const po::variables_map& values) {
  const auto name = values["collective"].as<std::string>();
  WEFT_TRY(const auto hosts, asked_hosts(fabric, values));
  WEFT_TRY(const auto size, asked_size(values));
  WEFT_TRY(auto asked, collective_demand(fabric, hosts, name, size));
  return AskedDemand{fmt::format("{} over {} hosts, {} a rank", asked.name, hosts.size(), readable(size)),
                     std::move(asked.demand),
                     {}};
}

/// "ring:host1,host5:64MB"; the size may be left out.
Result<NamedDemand> read_job(const Fabric& fabric, const po::variables_map& values, const std::string& text) {
  const auto first = text.find(':');
  if (first == std::string::npos)
    return fail(ErrorKind::usage, "--job {}: expected COLLECTIVE:HOSTS or COLLECTIVE:HOSTS:SIZE", text);
  const auto second = text.find(':', first + 1);
  auto hosts = demand::parse_hosts(fabric, std::string_view(text).substr(first + 1, second - first - 1));
  if (!hosts) return pass_on(hosts, "--job " + text);
  if (hosts->size() < 2) return fail(ErrorKind::usage, "--job {}: a job has two hosts at least", text);
  if (values.count("reorder")) *hosts = assign::rank_order(fabric, *hosts);
  Result<Bytes> size = asked_size(values);
  if (second != std::string::npos) {
    size = parse_bytes(std::string_view(text).substr(second + 1));
    if (size) size = checked_size("job", *size);
  }
  if (!size) return pass_on(size, "--job " + text);
  WEFT_TRY(auto asked, collective_demand(fabric, *hosts, text.substr(0, first), *size));
  return NamedDemand{asked.name + text.substr(first), std::move(asked.demand)};
}

Result<AskedDemand> from_jobs(const Fabric& fabric, const po::variables_map& values) {
  const auto jobs = values["job"].as<std::vector<std::string>>();
  std::vector<demand::Demand> demands;
  std::string name;
  for (const std::string& job : jobs) {
    WEFT_TRY(auto asked, read_job(fabric, values, job));
    demands.push_back(std::move(asked.demand));
    name += (name.empty() ? "" : " + ") + asked.name;
  }
  return AskedDemand{name, combine(demands), {}};
}

}  // namespace

Result<std::vector<NodeId>> asked_hosts(const Fabric& fabric, const po::variables_map& values) {
  if (!values.count("hosts"))
    return fail(ErrorKind::usage, "--collective {} needs --hosts: how many, or which (host1,host5)",
                values["collective"].as<std::string>());
  WEFT_TRY(auto hosts, hosts_of_fabric(values, fabric));
  return values.count("reorder") ? assign::rank_order(fabric, hosts) : std::move(hosts);
}

void add_demand_options(po::options_description& options) {
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("flows", text()->value_name("FILE"),
                        "flows to carry, one JSON object a line: src, dst, bytes")(
      "collective", text()->value_name("NAME"),
      (fmt::format(
           "a collective instead: {} (by the quickest algorithm), {}, or shift-N (host i sends to host "
           "i+N)",
           kAllReduce, demand::collective_names()))
          .c_str())(
      "job", po::value<std::vector<std::string>>()->value_name("JOB"),
      "several jobs at once: COLLECTIVE:HOSTS[:SIZE], as ring:host1,host5:64MB; may be given several times")(
      "hosts", text()->value_name("HOSTS"),
      "who takes part: a number (the first so many) or names with commas")(
      "reorder", "put the hosts in the order that crosses the fewest leaves and pods")(
      "bytes", text()->value_name("SIZE")->default_value("1GB"), "the buffer of one rank, as 64MB");
}

Result<AskedDemand> read_demand(const Fabric& fabric, const po::variables_map& values) {
  if (values.count("flows") + values.count("collective") + (values.count("job") ? 1 : 0) != 1)
    return fail(ErrorKind::usage, "give one of --flows FILE, --collective NAME --hosts N, --job NAME:HOSTS");
  if (values.count("job")) return from_jobs(fabric, values);
  return values.count("flows") ? from_file(fabric, values["flows"].as<std::string>())
                               : from_collective(fabric, values);
}

}  // namespace weft::cli
