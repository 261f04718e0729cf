#include "probes/session/echo_stage.hpp"

#include <algorithm>
#include <utility>

#include "probes/mad/mad_probe.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {

std::vector<WorkItem> EchoStage::next_wave() {
  std::vector<WorkItem> work;
  if (std::exchange(asked_, true)) return work;
  std::size_t most = 1;
  for (std::size_t i = 0; i < echoes_.size(); ++i) {
    if (!results_->takes_part(echoes_[i].pair.src)) continue;
    auto& mine = by_nic_[echoes_[i].pair.src];
    mine.push_back(i);
    most = std::max(most, mine.size());
  }
  const double packets = packets_per_second_ * seconds_ / static_cast<double>(most);
  const BatchId batch = results_->next_batch();
  for (const auto& [nic, indices] : by_nic_) {
    datapath::PingRequest request{.run = in_->run, .batch = batch, .by_management = true};
    PeerList self;
    const std::uint32_t peer = self.index_of(nic, in_->addresses);
    for (const std::size_t i : indices)
      request.specs.push_back({.peer = peer,
                               .label = echoes_[i].label,
                               .back_label = echoes_[i].back_label,
                               .count = static_cast<std::uint32_t>(packets) + 1,
                               .size = mad::kMadProbeSize});
    request.peers = std::move(self).take();
    request.pace.packets_per_second =
        packets_per_second_ * static_cast<double>(indices.size()) / static_cast<double>(most);
    const Nanoseconds longest(static_cast<std::int64_t>(seconds_ * 1e9));
    work.push_back({nic, longest + request.pace.answer_wait + in_->options.slack(), std::move(request)});
  }
  return work;
}

void EchoStage::take(const WorkItem& item, const TaskAnswer* answer) {
  const auto* tallies = answer ? std::get_if<std::vector<datapath::PingTally>>(answer) : nullptr;
  if (!tallies) return;
  PathTable& table = results_->observations.paths;
  for (const datapath::PingTally& tally : *tallies) {
    if (tally.sent == 0) continue;
    const plan::Echo& echo = echoes_[by_nic_.at(item.nic)[tally.spec]];
    const std::uint64_t lost = tally.sent - tally.answered;
    results_->observations.probes.push_back({.path = table.only(table.intern(echo.there)),
                                             .back = table.only(table.intern(echo.back)),
                                             .sent = tally.sent,
                                             .lost = lost,
                                             .size = mad::kMadProbeSize,
                                             .pair = LabelledPair{item.nic, echo.pair.dst, echo.label}});
    results_->sent += tally.sent;
    results_->lost += lost;
  }
}

}  // namespace weft::session
