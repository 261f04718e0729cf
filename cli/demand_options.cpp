#include "cli/demand_options.hpp"

#include "balancer/assign/rank_order.hpp"
#include "balancer/demand/collectives.hpp"
#include "topology/files/file_text.hpp"

namespace weft {
namespace {

constexpr Bytes kLargestFlowFile(1'000'000'000);

Result<AskedDemand> from_file(const Fabric& fabric, const std::string& path) {
  const auto text = read_text_file(path, kLargestFlowFile);
  if (!text) return pass_on(text);
  FlowFile file = read_flows(fabric, *text);
  if (file.demand.phases.empty() && file.refused.empty())
    return fail(ErrorKind::invalid_input,
                "{}: no flows: expected lines as {{\"src\":\"host1\",\"dst\":\"host2\",\"bytes\":1000000}}",
                path);
  return AskedDemand{path, std::move(file.demand), std::move(file.refused)};
}

Result<Demand> collective_demand(const Fabric& fabric, std::span<const NodeId> hosts, const std::string& name,
                                 Bytes size) {
  if (const auto collective = parse_collective(name))
    return make_hierarchical(fabric, hosts, *collective, size);
  constexpr std::string_view kShift = "shift-";
  if (name.starts_with(kShift)) {
    const auto distance = parse_bytes(std::string_view(name).substr(kShift.size()));
    if (distance && distance->count() > 0)
      return make_shift(rails_of(fabric, hosts).front(), static_cast<std::size_t>(distance->count()), size);
  }
  return fail(ErrorKind::usage, "--collective {}: expected {} or shift-N", name, collective_names());
}

Result<AskedDemand> from_collective(const Fabric& fabric, const po::variables_map& values) {
  const auto name = values["collective"].as<std::string>();
  const auto hosts = asked_hosts(fabric, values);
  if (!hosts) return pass_on(hosts);
  const auto size = read_option(values, "bytes", parse_bytes);
  if (!size) return pass_on(size);
  if ((*size)->count() < 1 || (*size)->count() > kMostFlowBytes)
    return fail(ErrorKind::usage, "--bytes {}: expected 1 to {}", to_string(**size), kMostFlowBytes);
  auto demand = collective_demand(fabric, *hosts, name, **size);
  if (!demand) return pass_on(demand);
  return AskedDemand{fmt::format("{} over {} hosts, {} a rank", name, hosts->size(), to_string(**size)),
                     std::move(*demand),
                     {}};
}

}  // namespace

Result<std::vector<NodeId>> asked_hosts(const Fabric& fabric, const po::variables_map& values) {
  if (!values.count("hosts"))
    return fail(ErrorKind::usage, "--collective {} needs --hosts: how many, or which (host1,host5)",
                values["collective"].as<std::string>());
  auto hosts = parse_hosts(fabric, values["hosts"].as<std::string>());
  if (!hosts) return pass_on(hosts);
  return values.count("reorder") ? rank_order(fabric, *hosts) : std::move(*hosts);
}

void add_demand_options(po::options_description& options) {
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("flows", text()->value_name("FILE"),
                        "flows to carry, one JSON object a line: src, dst, bytes")(
      "collective", text()->value_name("NAME"),
      ("a collective instead: " + collective_names() + ", or shift-N (host i sends to host i+N)").c_str())(
      "hosts", text()->value_name("HOSTS"),
      "who takes part: a number (the first so many) or names with commas")(
      "reorder", "put the hosts in the order that crosses the fewest leaves and pods")(
      "bytes", text()->value_name("SIZE")->default_value("1GB"), "the buffer of one rank, as 64MB");
}

Result<AskedDemand> read_demand(const Fabric& fabric, const po::variables_map& values) {
  const bool flows = values.count("flows") != 0;
  if (flows == (values.count("collective") != 0))
    return fail(ErrorKind::usage, "give either --flows FILE or --collective NAME --hosts N");
  return flows ? from_file(fabric, values["flows"].as<std::string>()) : from_collective(fabric, values);
}

}  // namespace weft
