#include "probes/watch/standing_keys.hpp"

#include <algorithm>
#include <utility>

#include "topology/base/splitmix.hpp"

namespace weft::watch {
namespace {

/// Watchers that take over from one another each bring their own epochs: more than that are not kept.
constexpr std::size_t kMaxEpochs = 8;

}  // namespace

std::size_t StandingKeys::Hash::operator()(const Asking& pair) const {
  return mix_bits(std::hash<IpAddress>()(pair.peer) + pair.nic.value());
}

std::size_t StandingKeys::Hash::operator()(const Asker& pair) const {
  return mix_bits(mix_bits(std::hash<IpAddress>()(pair.from)) + std::hash<IpAddress>()(pair.local));
}

void StandingKeys::renew(const Assignment& assignment, Nanoseconds now) {
  if (plan_ != assignment.plan) asked_before_ = std::move(asked_);
  plan_ = assignment.plan;
  asked_ = datapath::RunNics(assignment.asked);
  std::deque<Epoch> epochs;
  const auto pairs = asked_pairs(assignment.nics);
  for (const EpochKeys& keys : assignment.epochs) {
    Epoch epoch{.name = keys.name, .until = now + keys.ends_in, .own = keys.own, .asking = {}, .askers = {}};
    WEFT_CHECK(keys.pairs.size() == pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i)
      epoch.asking[{assignment.nics[pairs[i].nic].nic, assignment.peers[pairs[i].peer].address}] =
          keys.pairs[i];
    epochs.push_back(std::move(epoch));
  }
  assigned_ = epochs.size();
  for (Epoch& earlier : epochs_) {
    const bool is_known = std::ranges::find(epochs, earlier.name, &Epoch::name) != epochs.end();
    if (is_known || earlier.until + kEpochOverlap <= now || epochs.size() == kMaxEpochs) continue;
    earlier.askers.clear();
    epochs.push_back(std::move(earlier));
  }
  epochs_ = std::move(epochs);
}

packet::RunSecrets StandingKeys::sending(PortId nic, const IpAddress& peer, Nanoseconds now) const {
  WEFT_CHECK(assigned_ > 0);
  // The last one for as long as no other comes: where all are without a watcher, all of them are there.
  std::size_t at = 0;
  while (at + 1 < assigned_ && epochs_[at].until <= now) ++at;
  return {epochs_[at].name, epochs_[at].asking.at({nic, peer})};
}

const packet::RunKey* StandingKeys::key_of(const CarriedProbe& packet) {
  const auto epoch = std::ranges::find(epochs_, packet.header.run, &Epoch::name);
  if (epoch == epochs_.end()) return nullptr;
  const auto nic = packet.header.nic;
  if (packet.header.kind == packet::ProbeKind::echo) {
    const auto found = epoch->asking.find({nic, packet.from});
    return found == epoch->asking.end() ? nullptr : &found->second;
  }
  if (!asked_.is_at(nic, packet.from) && !asked_before_.is_at(nic, packet.from)) return nullptr;
  const auto [asker, is_new] = epoch->askers.try_emplace({packet.from, packet.to});
  if (is_new) asker->second = packet::pair_key(epoch->own, packet.from, packet.to);
  return &asker->second;
}

std::optional<StandingKeys::Read> StandingKeys::read(ByteSpan frame, const IpAddress& local,
                                                     const ProbeCodec& codec) {
  const packet::RunKey* key = nullptr;
  const auto packet = codec.read(frame, [&](const CarriedProbe& claimed) {
    return key = claimed.to == local ? key_of(claimed) : nullptr;
  });
  return packet ? std::optional(Read{*packet, *key}) : std::nullopt;
}

}  // namespace weft::watch
