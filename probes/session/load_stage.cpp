#include "probes/session/load_stage.hpp"

#include <algorithm>

#include "probes/session/peer_list.hpp"
#include "probes/wire/flow_words.hpp"

namespace weft {
namespace {

constexpr auto kSlack = std::chrono::seconds(5);
constexpr Bytes kPacket(4096);  // of IP: a RoCE packet of a 4096-byte MTU, nearly
/// Below this share of what was wanted, or with a pause above this share of the round, it was the sender that
/// held the flow back. A sender that is scheduled stays within a few per cent.
constexpr double kLeastOffered = 0.9;
constexpr double kLongestPause = 0.2;

}  // namespace

std::vector<WorkItem> LoadStage::next_wave() {
  const std::size_t round = wave_ / 2;
  if (wave_ % 2 == 1) {
    ++wave_;
    return receipt_work(rounds_[round]);
  }
  if (round > 0) conclude(rounds_[round - 1]);
  if (round >= rounds_.size()) return {};
  ++wave_;
  return flow_work(rounds_[round]);
}

std::vector<WorkItem> LoadStage::flow_work(const LoadRound& round) {
  SweepState& s = *state_;
  batch_ = s.next_batch();
  by_nic_.clear();
  for (std::size_t i = 0; i < round.size(); ++i)
    if (s.takes_part(round[i].pair.src) && s.takes_part(round[i].pair.dst))
      by_nic_[round[i].pair.src].push_back(i);
  std::vector<WorkItem> work;
  for (const auto& [nic, indices] : by_nic_) {
    FlowRequest request{.run = s.run, .batch = batch_, .duration = s.options.load_round};
    PeerList peers;
    for (const std::size_t i : indices)
      request.specs.push_back(
          {peers.index_of(round[i].pair.dst, s.addresses), round[i].label, round[i].rate * share_, kPacket});
    request.peers = std::move(peers).take();
    work.push_back({nic, s.options.load_round + kSlack, std::move(request)});
  }
  return work;
}

std::vector<WorkItem> LoadStage::receipt_work(const LoadRound& round) {
  std::set<PortId> receivers;
  for (const auto& [nic, tallies] : tallies_)
    for (const std::size_t i : by_nic_[nic]) receivers.insert(round[i].pair.dst);
  std::vector<WorkItem> work;
  for (const PortId nic : receivers)
    if (state_->takes_part(nic)) work.push_back({nic, kSlack, ReceivedQuery{batch_}});
  return work;
}

void LoadStage::take(const WorkItem& item, const TaskAnswer* answer) {
  if (!answer) return;
  if (const auto* tallies = std::get_if<std::vector<FlowTally>>(answer)) tallies_[item.nic] = *tallies;
  if (const auto* receipts = std::get_if<std::vector<ReceivedTally>>(answer)) receipts_[item.nic] = *receipts;
}

void LoadStage::conclude(const LoadRound& round) {
  SweepState& s = *state_;
  const auto number = first_round_ + static_cast<std::uint32_t>((wave_ / 2) - 1);
  for (const auto& [nic, tallies] : tallies_)
    for (const FlowTally& tally : tallies) {
      if (tally.spec >= by_nic_[nic].size()) continue;
      const PlannedFlow& flow = round[by_nic_[nic][tally.spec]];
      const auto receiver = receipts_.find(flow.pair.dst);
      if (receiver == receipts_.end()) continue;
      const auto mine = [&](const ReceivedTally& t) {
        return t.batch == batch_ && t.from == nic && t.spec == tally.spec;
      };
      const auto received = std::ranges::find_if(receiver->second, mine);
      const Nanoseconds span = s.options.load_round;
      LoadObservation seen{.path = flow.path, .round = number, .wanted = flow.rate * share_};
      seen.offered =
          Bandwidth::over(Bytes(static_cast<std::int64_t>(tally.bytes)), std::max(span, tally.elapsed));
      if (received != receiver->second.end()) {
        const Nanoseconds arriving = std::max({span, tally.elapsed, received->last - received->first});
        seen.delivered = Bandwidth::over(Bytes(static_cast<std::int64_t>(received->bytes)), arriving);
      }
      seen.sender_stalled = seen.offered < seen.wanted * kLeastOffered ||
                            tally.longest_gap > std::chrono::duration<double>(span) * kLongestPause;
      s.observations.loads.push_back(seen);
      if (tally.error && tally.error->starts_with(kSilentCorruption))
        note_corruption(nic, flow, *tally.error);
      else if (tally.error)
        note_death(nic, flow, *tally.error);
    }
  tallies_.clear();
  receipts_.clear();
}

/// The network's checksums passed it: the bytes changed in a host, most likely where they were received.
void LoadStage::note_corruption(PortId nic, const PlannedFlow& flow, const std::string& what) {
  SweepState& s = *state_;
  s.observations.hosts.push_back(
      {s.fabric.port(flow.pair.dst).node, flow.pair.dst, Verdict::failed, Cause::corruption,
       fmt::format("{} (written by {})", what, s.fabric.name_of(s.fabric.port(nic).node))});
}

/// A queue pair that died says that its path is bad, not which channel of it: the diagnosis decides that.
void LoadStage::note_death(PortId nic, const PlannedFlow& flow, const std::string& why) {
  SweepState& s = *state_;
  std::string path;
  for (const PathId each : s.learner.table().paths(flow.path)) {
    path += path.empty() ? "" : " or ";
    const auto channels = s.learner.table().channels(each);
    for (std::size_t i = 0; i < channels.size(); ++i)
      path += (i == 0 ? "" : ", ") + s.fabric.name_of(channels[i]);
  }
  s.observations.hosts.push_back(
      {s.fabric.port(nic).node, nic, Verdict::unknown, std::nullopt,
       fmt::format("its queue pair to {} with label {} (by {}) ended: {}",
                   s.fabric.name_of(s.fabric.port(flow.pair.dst).node), flow.label.value(), path, why)});
}

}  // namespace weft
