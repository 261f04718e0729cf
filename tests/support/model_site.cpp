#include "tests/support/model_site.hpp"

#include <algorithm>

namespace weft {
namespace {

using exports::Act;
using exports::Change;
using exports::SlurmNode;
using exports::Standing;
using exports::Whose;

auto refused() { return fail(ErrorKind::absent, "no answer"); }

/// Runs `work` as far as its fate lets it.
template <class Work>
auto meet(Fate fate, Work work) -> decltype(work()) {
  if (fate == Fate::fails) return refused();
  if (fate == Fate::killed) throw Killed();
  auto done = work();
  if (fate == Fate::fails_done) return refused();
  if (fate == Fate::killed_done) throw Killed();
  return done;
}

bool is_drained(const SlurmNode& node) { return std::ranges::find(node.state, "DRAIN") != node.state.end(); }

void set_drained(SlurmNode& node, const std::string& reason) {
  if (!is_drained(node)) node.state.emplace_back("DRAIN");
  node.reason = reason;
}

void set_in_service(SlurmNode& node) {
  std::erase(node.state, "DRAIN");
  node.reason.clear();
}

}  // namespace

Result<blacklist::Ledger> ModelLedger::read() {
  return meet(fates_(), [&]() -> Result<blacklist::Ledger> { return ledger_; });
}

Result<blacklist::Stepped> ModelLedger::change(
    UtcTime, const std::function<Result<blacklist::Stepped>(blacklist::Ledger)>& step) {
  return meet(fates_(), [&]() -> Result<blacklist::Stepped> {
    WEFT_TRY(auto stepped, step(ledger_));
    ledger_ = stepped.ledger;
    return stepped;
  });
}

ModelSlurm::ModelSlurm(const Fabric& fabric, const blacklist::Caps& caps, Fates fates)
    : caps_(caps), fates_(std::move(fates)) {
  for (const NodeId host : fabric.hosts()) {
    SlurmNode node{.name = fabric.name_of(host), .state = {"IDLE"}, .available = {"big"}, .active = {}};
    for (const PortId nic : fabric.ports_of(host))
      node.available.push_back(exports::rail_feature(fabric.port(nic).number.value()));
    node.active = node.available;
    nodes_.emplace(node.name, node);
  }
}

Result<void> ModelSlurm::check_rights() {
  return meet(fates_(), []() -> Result<void> { return {}; });
}

Result<std::vector<Standing>> ModelSlurm::read(std::span<const std::string> objects) {
  return meet(fates_(), [&]() -> Result<std::vector<Standing>> {
    std::vector<Standing> standings;
    for (const std::string& object : objects) {
      const auto node = nodes_.find(exports::parse_slurm_object(object).node);
      if (node == nodes_.end()) continue;
      if (auto standing = standing_of(node->second, object)) standings.push_back(std::move(*standing));
    }
    return standings;
  });
}

/// An error after its effect may have left out some of it.
Result<void> ModelSlurm::apply(std::span<const Change> changes) {
  const Fate fate = fates_();
  const std::size_t some =
      fate == Fate::fails_done || fate == Fate::killed_done ? (changes.size() + 1) / 2 : changes.size();
  return meet(fate, [&]() -> Result<void> {
    for (const Change& change : changes.first(some)) make(change);
    return {};
  });
}

void ModelSlurm::make(const Change& change) {
  const auto [name, feature] = exports::parse_slurm_object(change.object);
  SlurmNode& node = nodes_.at(name);
  const auto standing = standing_of(node, change.object);
  const bool is_ours = standing && standing->whose == Whose::weft;
  if (change.act == Act::put ? !standing || standing->whose != Whose::nobody : !is_ours)
    return break_rule(fmt::format("{} {}: {} stands there", to_string(change.act), change.object,
                                  standing ? standing->text : "nothing"));
  if (!feature.empty()) {
    std::erase(node.active, feature);
    if (change.act == Act::take) node.active.push_back(feature);
    return;
  }
  if (change.act == Act::take) return set_in_service(node);
  set_drained(node, change.set);
  if (change.act == Act::put && drained() > hosts_allowed(caps_, nodes_.size()))
    break_rule(fmt::format("{} hosts are drained with {}", drained(), name));
}

std::size_t ModelSlurm::drained() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(nodes_, [](const auto& one) { return is_drained(one.second); }));
}

void ModelSlurm::drain(const std::string& host, const std::string& reason) {
  set_drained(nodes_.at(host), reason);
}
void ModelSlurm::resume(const std::string& host) { set_in_service(nodes_.at(host)); }
void ModelSlurm::reconfigure() {
  for (auto& [name, node] : nodes_) node.active = node.available;
}

std::vector<std::string> ModelSlurm::marked() const {
  std::vector<std::string> objects;
  for (const auto& [name, node] : nodes_) {
    if (is_drained(node) && exports::mark_in_reason(node.reason)) objects.push_back(name);
    for (const std::string& feature : node.available)
      if (std::ranges::find(node.active, feature) == node.active.end())
        objects.push_back(exports::feature_object(name, feature));
  }
  return objects;
}

}  // namespace weft
