#include "probes/discover/subnet_discovery.hpp"

#include <algorithm>

#include "probes/discover/subnet_scan.hpp"

namespace weft::discover {
namespace {

/// Asks every switch, and our own port, whether its LIDs are still those of the scan. Adapters are not asked
/// again: one question per switch is 1 in 100 of a scan's, one per adapter would be 1 in 8; where a subnet
/// manager renumbers adapters alone, two of them soon hold one LID (lid_held_twice).
class LidCheck : public mad::MadDialogue {
 public:
  explicit LidCheck(const SubnetDiscovery& discovery) : discovery_(&discovery) {}

  std::optional<mad::MadQuestion> next() override {
    const auto& nodes = discovery_->subnet.nodes;
    while (at_ < nodes.size() && !nodes[at_].is_switch && at_ != 0) ++at_;
    if (at_ == nodes.size()) return std::nullopt;
    const auto& node = nodes[at_];
    return mad::MadQuestion{.to = discovery_->routes.to.at(node.guid),
                            .attribute = mad::MadAttribute::port_info,
                            .modifier = node.is_switch ? 0U : discovery_->routes.own_port,
                            .tag = at_++};
  }

  void answered(const mad::MadQuestion& question, const mad::MadAnswer& answer) override {
    if (answer.outcome != mad::MadOutcome::answered) return;
    const auto info = mad::decode_port_info(answer.data);
    if (!info) return;
    const auto& node = discovery_->subnet.nodes[question.tag];
    const auto read = node.is_switch ? node.about.lids : node.ports.at(discovery_->routes.own_port).lids;
    const auto lids = info->lid ? std::optional(LidRange{*info->lid, info->lmc}) : std::nullopt;
    changed_ = changed_ || lids != read;
  }

  bool changed() const { return changed_; }

 private:
  const SubnetDiscovery* discovery_;
  std::size_t at_ = 0;
  bool changed_ = false;
};

/// Two end ports that hold one LID: read before and after a change, or a fault of the subnet manager.
std::optional<std::string> lid_held_twice(const IbSubnet& subnet) {
  std::vector<std::pair<LidRange, Guid>> held;
  for (const auto& node : subnet.nodes) {
    if (node.about.lids) held.emplace_back(*node.about.lids, node.guid);
    for (const auto& [number, port] : node.ports)
      if (port.lids) held.emplace_back(*port.lids, node.guid);
  }
  std::sort(held.begin(), held.end(),
            [](const auto& a, const auto& b) { return a.first.base < b.first.base; });
  for (std::size_t i = 1; i < held.size(); ++i)
    if (held[i].first.base.value() < held[i - 1].first.end())
      return fmt::format("LID {} is held by 0x{:x} and by 0x{:x}", held[i].first.base.value(),
                         held[i - 1].second.value(), held[i].second.value());
  return std::nullopt;
}

void add(mad::MadTally& sum, const mad::MadTally& more) {
  sum.questions += more.questions;
  sum.sent += more.sent;
  sum.silent += more.silent;
  sum.refused += more.refused;
  sum.stray += more.stray;
}

}  // namespace

Result<SubnetDiscovery> discover_subnet(mad::Mads& mads, const mad::MadLimits& limits, std::stop_token stop) {
  mad::MadTally tally;
  for (int scan_number = 1;; ++scan_number) {
    SubnetScan scan;
    const auto scanned = converse(mads, scan, limits, stop);
    if (!scanned) return pass_on(scanned, "discovering the subnet");
    add(tally, *scanned);
    auto found = std::move(scan).result();
    if (!found) return found;
    LidCheck check(*found);
    const auto checked = converse(mads, check, limits, stop);
    if (!checked) return pass_on(checked, "discovering the subnet");
    add(tally, *checked);
    const auto twice = lid_held_twice(found->subnet);
    const bool settled = !check.changed() && !twice;
    if (!settled && scan_number < kMaxScans && !stop.stop_requested()) continue;
    found->tally = tally;
    auto& remarks = found->subnet.remarks;
    if (!found->sm_lid) remarks.push_back("our own port knows no subnet manager: does one run?");
    if (twice) remarks.push_back(*twice);
    if (check.changed()) remarks.push_back("LIDs changed during the scan, time and again");
    if (settled && scan_number > 1)
      remarks.push_back(fmt::format("LIDs changed during the scan: read {} times", scan_number));
    return found;
  }
}

}  // namespace weft::discover
