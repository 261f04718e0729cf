#include "collectors/nccl/qp_places.hpp"

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::nccl {
namespace {

std::uint64_t key(PortId src, PortId dst) { return std::uint64_t{src.value()} << 32 | dst.value(); }

bool has(const LabelledPath& path, PathLabel label) { return std::ranges::binary_search(path.labels, label); }

}  // namespace

QpPlaces::QpPlaces(const JobFabric& in) : in_(in) {
  if (in.paths != nullptr)
    for (const PairPaths& pair : in.paths->pairs) pairs_[key(pair.src, pair.dst)] = &pair;
  for (const PortId nic : in.fabric->nics())
    if (const auto guid = in.fabric->port(nic).guid) by_guid_.emplace(*guid, nic);
}

std::optional<PortId> QpPlaces::nic_of(const std::string& name, const std::optional<IpAddress>& gid) const {
  if (!name.empty()) {
    const auto found = in_.fabric->find_nic(name);
    return found ? std::optional(*found) : std::nullopt;
  }
  if (!gid) return std::nullopt;
  if (in_.addresses != nullptr)
    if (const auto port = in_.addresses->port_of(*gid)) return port;
  if (!gid->is_v6()) return std::nullopt;
  std::uint64_t low = 0;  // of an InfiniBand GID the port's GUID
  for (std::size_t i = 8; i < 16; ++i) low = low << 8 | gid->bytes()[i];
  const auto found = by_guid_.find(Guid(low));
  return found == by_guid_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<PathId> QpPlaces::paths(PortId src, PortId dst, const std::optional<PathLabel>& label) const {
  std::vector<PathId> with_label;
  std::vector<PathId> all;
  const auto pair = pairs_.find(key(src, dst));
  if (pair == pairs_.end()) return all;
  for (const LabelledPath& path : pair->second->paths) {
    all.push_back(path.path);
    if (label && has(path, *label)) with_label.push_back(path.path);
  }
  return with_label.empty() ? all : with_label;
}

std::vector<std::string> QpPlaces::path_names(const QpRecord& qp) const {
  const auto src = nic(qp), dst = peer_nic(qp);
  if (!src || !dst || !qp.label) return {};
  const auto pair = pairs_.find(key(*src, *dst));
  if (pair == pairs_.end()) return {};
  const LabelledPath* found = nullptr;
  for (const LabelledPath& path : pair->second->paths) {
    if (!has(path, *qp.label)) continue;
    if (found != nullptr) return {};
    found = &path;
  }
  std::vector<std::string> names;
  if (found != nullptr)
    for (const ChannelId channel : in_.paths->table.channels(found->path))
      names.push_back(in_.fabric->name_of(channel));
  return names;
}

}  // namespace weft::nccl
