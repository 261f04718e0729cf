#include "balancer/export/nccl_env.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "balancer/blacklist/subject.hpp"

namespace weft::exports {
namespace {

/// `mlx5_0:1` of `mlx5_0`. In a list of NCCL commas, colons, `^` and `=` mean more than themselves.
Result<std::string> adapter_port(std::string_view adapter) {
  const auto colon = adapter.find(':');
  const auto name = adapter.substr(0, colon);
  const auto port = colon == std::string_view::npos ? "1" : adapter.substr(colon + 1);
  const auto is_name = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
  };
  if (name.empty() || !std::ranges::all_of(name, is_name) || port.empty() || port.size() > 3 ||
      !std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }))
    return fail(ErrorKind::usage, "'{}' is no RDMA adapter: expected one as mlx5_0 or mlx5_0:2", adapter);
  return fmt::format("{}:{}", name, port);
}

class Adapters {
 public:
  Adapters(const Fabric& fabric, std::span<const std::string> given) : fabric_(fabric), given_(given) {}

  Result<std::string> of(PortId nic) const {
    const Port& port = fabric_.port(nic);
    if (given_.empty()) {
      if (!port.name.empty()) return adapter_port(port.name);
      return fail(ErrorKind::usage,
                  "the RDMA adapter of {} is not known: name those of a host by --hca, as "
                  "mlx5_0,mlx5_1",
                  fabric_.name_of_nic(nic));
    }
    const auto place = static_cast<std::size_t>(std::ranges::find(fabric_.ports_of(port.node), nic) -
                                                fabric_.ports_of(port.node).begin());
    if (place < given_.size()) return adapter_port(given_[place]);
    return fail(ErrorKind::usage, "--hca names {} adapters, and {} is NIC {} of its host", given_.size(),
                fabric_.name_of_nic(nic), place + 1);
  }

 private:
  const Fabric& fabric_;
  std::span<const std::string> given_;
};

}  // namespace

Result<NcclEnv> nccl_env(const blacklist::Ledger& ledger, const Fabric& fabric,
                         std::span<const std::string> hosts, std::span<const std::string> adapters) {
  std::set<NodeId> job;
  for (const std::string& host : hosts) {
    WEFT_TRY(const auto node, fabric.find_node(host));
    if (!fabric.is_host(node)) return fail(ErrorKind::not_found, "{} is no host of {}", host, fabric.name());
    job.insert(node);
  }
  std::set<NodeId> out;
  std::set<PortId> nics;
  for (const blacklist::Entry& entry : ledger.entries) {
    if (entry.state != blacklist::EntryState::active) continue;
    const auto subject = find_subject(fabric, entry.subject);
    if (!subject) continue;
    const auto effect = effect_of(fabric, *subject, blacklist::NicAction::rail);
    for (const NodeId host : effect.hosts)
      if (job.contains(host)) out.insert(host);
    for (const PortId nic : effect.nics)
      if (job.contains(fabric.port(nic).node)) nics.insert(nic);
  }
  NcclEnv env;
  for (const NodeId host : out) env.hosts.push_back(fabric.name_of(host));
  const Adapters of_nics(fabric, adapters);
  std::set<std::string> left_out;
  for (const PortId nic : nics) {
    if (out.contains(fabric.port(nic).node)) continue;  // the job does without the host
    WEFT_TRY(auto adapter, of_nics.of(nic));
    left_out.insert(std::move(adapter));
    env.nics.push_back(fabric.name_of_nic(nic));
  }
  if (left_out.empty()) return env;
  for (const NodeId host : job) {
    if (out.contains(host)) continue;
    std::size_t left = 0;
    for (const PortId port : fabric.ports_of(host)) {
      if (!fabric.port(port).link) continue;
      WEFT_TRY(const auto adapter, of_nics.of(port));
      left += left_out.contains(adapter) ? 0 : 1;
    }
    if (left == 0)
      return fail(ErrorKind::absent, "{} would have no NIC left without {}: take other hosts",
                  fabric.name_of(host), fmt::join(left_out, ", "));
  }
  env.ib_hca = fmt::format("^={}", fmt::join(left_out, ","));
  return env;
}

}  // namespace weft::exports
