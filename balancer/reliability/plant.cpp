#include "balancer/reliability/plant.hpp"

#include <algorithm>
#include <map>

namespace weft::reliability {
namespace {

constexpr std::uint64_t kMaxGpus = 10'000'000;

std::size_t tier_index(PartClass part) {
  return static_cast<std::size_t>(part) - static_cast<std::size_t>(PartClass::leaf);
}

class PlantMaker {
 public:
  PlantMaker(const Fabric& fabric, Index gpus_per_host) : fabric_(fabric), index_(fabric.node_count(), 0) {
    plant_.name = fabric.name();
    plant_.gpus_per_host = gpus_per_host;
  }

  Plant make(const std::vector<FailureDomain>& domains) && {
    add_nodes();
    add_nics();
    for (std::uint32_t l = 0; l < fabric_.link_count(); ++l)
      if (fabric_.between_switches(LinkId(l))) add_cable(LinkId(l));
    for (Bundle& each : plant_.bundles) each.below = below(each);
    note_rails();
    for (const FailureDomain& domain : domains) add_domain(domain);
    return std::move(plant_);
  }

 private:
  struct Nic {
    Index host, number;  // of the NICs of its host, from 1
  };

  void add_nodes() {
    for (const NodeId host : fabric_.hosts()) {
      index_[host.value()] = plant_.hosts++;
      plant_.host_names.push_back(fabric_.name_of(host));
    }
    plant_.nics_of.assign(plant_.hosts, 0);
    nics_at_.resize(fabric_.node_count());
    for (std::uint32_t n = 0; n < fabric_.node_count(); ++n) {
      const Node& node = fabric_.node(NodeId(n));
      if (node.kind == NodeKind::host) continue;
      index_[n] = static_cast<Index>(plant_.switches.size());
      plant_.switches.push_back({.name = node.name, .part = class_of(fabric_, NodeId(n))});
      plant_.switches.back().pod = node.pod;
      plant_.of_tier[tier_index(plant_.switches.back().part)].push_back(index_[n]);
    }
  }

  void add_nics() {
    for (const PortId nic : fabric_.nics()) {
      const Index host = index_[fabric_.port(nic).node.value()];
      plant_.nic_host.push_back(host);
      const Index number = ++plant_.nics_of[host];
      const ChannelId up = *fabric_.channel_from(nic);
      plant_.nic_names.push_back(fabric_.name_of_nic(nic));
      plant_.host_cable_names.push_back(fabric_.name_of(Fabric::link_of(up)));
      const NodeId above = fabric_.target_node(up);
      if (fabric_.is_host(above)) continue;
      plant_.switches[index_[above.value()]].hosts.push_back(host);
      nics_at_[index_[above.value()]].push_back({host, number});
    }
    for (Switch& each : plant_.switches) {
      std::ranges::sort(each.hosts);
      std::vector<Index> once;
      for (const Index host : each.hosts)
        if (once.empty() || once.back() != host)
          once.push_back(host), each.nics.push_back(1);
        else
          ++each.nics.back();
      each.hosts = std::move(once);
    }
  }

  /// That of the leaf, or of all that leads up from this tier of the pod.
  Index bundle_of(NodeId lower) {
    const Node& node = fabric_.node(lower);
    Switch& below = plant_.switches[index_[lower.value()]];
    const bool is_leaf = below.part == PartClass::leaf;
    const std::string name = is_leaf    ? node.name
                             : node.pod ? fmt::format("pod {} above its {}s", *node.pod, to_string(node.tier))
                                        : fmt::format("above the {}s", to_string(node.tier));
    const auto [at, is_new] = bundles_.try_emplace(name, static_cast<Index>(plant_.bundles.size()));
    if (is_new) {
      Bundle& made = plant_.bundles.emplace_back();
      made.name = name;
      if (is_leaf)
        made.leaf = index_[lower.value()];
      else
        made.pod = node.pod;
    }
    if (is_leaf) below.uplinks = at->second;
    return at->second;
  }

  /// The hosts of the NICs at a leaf, at the leaves of a pod, or all.
  std::vector<Index> below(const Bundle& bundle) const {
    std::vector<Index> hosts;
    for (const Index leaf : plant_.of_tier[0])
      if (bundle.leaf ? leaf == *bundle.leaf : !bundle.pod || plant_.switches[leaf].pod == bundle.pod)
        for (const Nic& each : nics_at_[leaf]) hosts.push_back(each.host);
    return hosts;
  }

  /// Of a fabric in which every leaf has NICs of one number, and not all of the same.
  void note_rails() {
    std::vector<Index> rails;
    for (const Index leaf : plant_.of_tier[0]) {
      const auto& nics = nics_at_[leaf];
      if (nics.empty() ||
          std::ranges::adjacent_find(nics, std::ranges::not_equal_to(), &Nic::number) != nics.end())
        return;
      rails.push_back(nics.front().number);
    }
    if (std::ranges::adjacent_find(rails, std::ranges::not_equal_to()) == rails.end()) return;
    for (std::size_t i = 0; i < rails.size(); ++i) plant_.switches[plant_.of_tier[0][i]].rail = rails[i];
  }

  void add_cable(LinkId id) {
    const Link& link = fabric_.link(id);
    NodeId lower = fabric_.port(link.a).node, upper = fabric_.port(link.b).node;
    if (fabric_.node(upper).tier < fabric_.node(lower).tier) std::swap(lower, upper);
    const auto index = static_cast<Index>(plant_.cables.size());
    const Index bundle = bundle_of(lower);
    const double designed = link.rate.bits_per_second() / 1e9;
    const double rate = designed > 0 ? designed : 1;  // of which nothing is known, as good as the others
    plant_.cables.push_back({index_[lower.value()], index_[upper.value()], bundle, rate});
    plant_.cable_names.push_back(fabric_.name_of(id));
    ++plant_.bundles[bundle].links, plant_.bundles[bundle].capacity += rate;
    for (const NodeId end : {lower, upper}) plant_.switches[index_[end.value()]].cables.push_back(index);
  }

  void add_domain(const FailureDomain& domain) {
    Domain made{.name = domain.name,
                .kind = domain.kind,
                .events = domain.events,
                .exposure = domain.exposure,
                .share = domain.share.value(),
                .repair = domain.repair,
                .hosts = {},
                .switches = {}};
    for (const NodeId node : domain.members)
      (fabric_.is_host(node) ? made.hosts : made.switches).push_back(index_[node.value()]);
    plant_.domains.push_back(std::move(made));
  }

  const Fabric& fabric_;
  Plant plant_;
  std::vector<Index> index_;  // by node: of its host or switch
  std::map<std::string, Index> bundles_;
  std::vector<std::vector<Nic>> nics_at_;  // by switch
};

void shift(std::vector<Index>& all, Index by) {
  for (Index& each : all) each += by;
}

/// Behind what is there, everything of `one` once more.
void append_copy(Plant& plant, const Plant& one, Index pods) {
  const Index hosts = plant.hosts;
  const auto switches = static_cast<Index>(plant.switches.size());
  const auto cables = static_cast<Index>(plant.cables.size());
  const auto bundles = static_cast<Index>(plant.bundles.size());
  plant.hosts += one.hosts;
  for (const Index host : one.nic_host) plant.nic_host.push_back(host + hosts);
  plant.nics_of.insert(plant.nics_of.end(), one.nics_of.begin(), one.nics_of.end());
  for (Switch each : one.switches) {
    shift(each.hosts, hosts), shift(each.cables, cables);
    if (each.uplinks) *each.uplinks += bundles;
    if (each.pod) *each.pod += pods;
    plant.switches.push_back(std::move(each));
  }
  for (Cable each : one.cables) {
    each.lower += switches, each.upper += switches, each.bundle += bundles;
    plant.cables.push_back(each);
  }
  for (Bundle each : one.bundles) {
    shift(each.below, hosts);
    if (each.pod) *each.pod += pods;
    if (each.leaf) *each.leaf += switches;
    plant.bundles.push_back(std::move(each));
  }
  for (Domain each : one.domains) {
    shift(each.hosts, hosts), shift(each.switches, switches);
    plant.domains.push_back(std::move(each));
  }
  for (std::size_t tier = 0; tier < std::size(one.of_tier); ++tier)
    for (const Index each : one.of_tier[tier]) plant.of_tier[tier].push_back(each + switches);
  plant.host_names.insert(plant.host_names.end(), one.host_names.begin(), one.host_names.end());
}

std::string named(const std::vector<std::string>& names, Index index) {
  return index < names.size() ? names[index] : std::string();
}

}  // namespace

PartClass class_of(const Fabric& fabric, NodeId node) {
  switch (fabric.node(node).tier) {
    case Tier::host:
      return fabric.is_host(node) ? PartClass::host : PartClass::leaf;
    case Tier::leaf:
      return PartClass::leaf;
    case Tier::spine:
      return PartClass::spine;
    case Tier::core:
    case Tier::tier4:
    case Tier::tier5:
    case Tier::tier6:
      return PartClass::core;
  }
  return PartClass::core;
}

PartClass class_of(const Fabric& fabric, LinkId link) {
  return fabric.between_switches(link) ? PartClass::switch_cable : PartClass::host_cable;
}

std::uint64_t Plant::count(PartClass part) const {
  switch (part) {
    case PartClass::gpu:
    case PartClass::software:
      return gpus();
    case PartClass::host:
      return hosts;
    case PartClass::nic:
    case PartClass::host_cable:
      return nic_host.size();
    case PartClass::switch_cable:
      return cables.size();
    case PartClass::leaf:
    case PartClass::spine:
    case PartClass::core:
      return of_tier[tier_index(part)].size();
  }
  return 0;
}

Index Plant::nics_at(Index leaf, Index host) const {
  const Switch& what = switches[leaf];
  const auto at = std::ranges::lower_bound(what.hosts, host) - what.hosts.begin();
  return what.nics[static_cast<std::size_t>(at)];
}

std::string Plant::name_of(PartClass part, Index index) const {
  switch (part) {
    case PartClass::host:
      return host_names[index];
    case PartClass::nic:
      return named(nic_names, index);
    case PartClass::host_cable:
      return named(host_cable_names, index);
    case PartClass::switch_cable:
      return named(cable_names, index);
    case PartClass::leaf:
    case PartClass::spine:
    case PartClass::core:
      return switches[of_tier[tier_index(part)][index]].name;
    case PartClass::gpu:
    case PartClass::software:
      return {};
  }
  return {};
}

Plant make_plant(const Fabric& fabric, const std::vector<FailureDomain>& domains, Index gpus_per_host) {
  return PlantMaker(fabric, gpus_per_host).make(domains);
}

Result<Plant> enlarged(const Plant& plant, std::uint64_t gpus) {
  if (plant.gpus() == 0) return fail(ErrorKind::invalid_input, "{}: the fabric has no hosts", plant.name);
  if (gpus < plant.gpus())
    return fail(ErrorKind::usage, "a fabric of {} GPUs: {} has {} already, and can only be enlarged", gpus,
                plant.name, plant.gpus());
  const std::uint64_t copies = (gpus + plant.gpus() - 1) / plant.gpus();
  if (gpus > kMaxGpus || copies * plant.gpus() > kMaxGpus + plant.gpus())
    return fail(ErrorKind::usage, "a fabric of {} GPUs: expected {} at most", gpus, kMaxGpus);
  Plant large = plant;
  std::vector<Index> pods;
  for (const Switch& each : plant.switches)
    if (each.pod) pods.push_back(*each.pod);
  const auto [first, last] = std::ranges::minmax_element(pods);
  const Index of_copy = pods.empty() ? 0 : *last - *first + 1;
  for (std::uint64_t i = 1; i < copies; ++i) append_copy(large, plant, static_cast<Index>(i) * of_copy);
  return large;
}

}  // namespace weft::reliability
