#include "topology/routing/ecmp_routing.hpp"

#include <bit>
#include <limits>

#include "topology/base/check.hpp"

namespace weft::routing {
namespace {

constexpr std::uint32_t kBits = 64;
constexpr QpNum kUsualQueuePair(0xFFFFFE);  // of probes (docs/wire.md)

std::uint32_t count_bits(std::span<const std::uint64_t> words) {
  int count = 0;
  for (const auto word : words) count += std::popcount(word);
  return static_cast<std::uint32_t>(count);
}

/// The place of the set bit that `rank` set bits precede.
std::size_t nth_bit(std::span<const std::uint64_t> words, std::uint32_t rank) {
  for (std::size_t w = 0; w < words.size(); ++w) {
    std::uint64_t word = words[w];
    const auto here = static_cast<std::uint32_t>(std::popcount(word));
    if (rank >= here) {
      rank -= here;
      continue;
    }
    for (; rank > 0; --rank) word &= word - 1;
    return w * kBits + static_cast<std::size_t>(std::countr_zero(word));
  }
  WEFT_CHECK(false);
  return 0;
}

template <class Visit>
void for_each_bit(std::span<const std::uint64_t> words, Visit visit) {
  for (std::size_t w = 0; w < words.size(); ++w)
    for (std::uint64_t word = words[w]; word != 0; word &= word - 1)
      visit(w * kBits + static_cast<std::size_t>(std::countr_zero(word)));
}

}  // namespace

SwitchGraph::SwitchGraph(const Fabric& fabric) : index_(fabric.node_count()) {
  std::uint32_t next = 0;
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
    if (!fabric.is_host(NodeId(n))) index_[n] = SwitchIndex(next++);
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    if (!index_[n]) continue;
    for (const ChannelId channel : fabric.channels_from(NodeId(n)))
      if (const auto to = index_[fabric.target_node(channel).value()]) edges_.push_back({channel, *to});
    offsets_.push_back(static_cast<std::uint32_t>(edges_.size()));
  }
}

EcmpRouting::EcmpRouting(const Fabric& fabric, const RoutingOptions& options)
    : fabric_(&fabric),
      graph_(fabric),
      convergence_(options.convergence),
      options_(options.hash),
      dead_(fabric.link_count(), false),
      sprays_(graph_.switch_count(), false),
      addresses_(options.addresses),
      owned_(graph_.switch_count()),
      columns_(std::make_unique<std::atomic<const std::uint64_t*>[]>(graph_.switch_count())) {
  for (const LinkId link : options.dead) dead_[link.value()] = true;
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
    if (graph_.index_of(NodeId(n)))
      seeds_.push_back(device_seed(options.seed, NodeId(options_.polarised && !addresses_ ? 0 : n)));
  for (const NodeId node : options.spraying) sprays_[graph_.index_of(node)->value()] = true;
  hashes_.resize(seeds_.size());
  if (options.hash.family != HashFamily::structureless) make_hashes(options);
  words_before_.push_back(0);
  for (std::uint32_t s = 0; s < graph_.switch_count(); ++s) {
    const auto words = (graph_.edges(SwitchIndex(s)).size() + kBits - 1) / kBits;
    words_before_.push_back(words_before_.back() + static_cast<std::uint32_t>(words));
  }
}

void EcmpRouting::make_hashes(const RoutingOptions& options) {
  WEFT_CHECK(addresses_ != nullptr);
  const auto nics = fabric_->nics();
  const auto address = nics.empty() ? std::nullopt : addresses_->address_of(nics.front());
  for (std::size_t s = 0; s < seeds_.size(); ++s)
    hashes_[s].emplace(options.hash, seeds_[s], address && address->is_v6());
  for (const NodeId node : options.structureless) hashes_[graph_.index_of(node)->value()].reset();
}

const std::uint64_t* EcmpRouting::column(SwitchIndex towards) const {
  auto& place = columns_[towards.value()];
  if (const auto* ready = place.load(std::memory_order_acquire)) return ready;
  const std::lock_guard lock(computing_);
  auto& owned = owned_[towards.value()];
  if (!owned) owned = compute(towards);
  place.store(owned.get(), std::memory_order_release);
  return owned.get();
}

EcmpRouting::Column EcmpRouting::compute(SwitchIndex towards) const {
  constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();
  const auto counts = [this](ChannelId channel) {
    return convergence_ == Convergence::local || is_live(channel);
  };
  std::vector<std::uint32_t> distance(graph_.switch_count(), kFar);
  std::vector<SwitchIndex> queue{towards};
  distance[towards.value()] = 0;
  // Cables are dead in both directions or in none, so walking away from `towards` finds the way to it.
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const auto& edge : graph_.edges(queue[i]))
      if (counts(edge.channel) && distance[edge.to.value()] == kFar) {
        distance[edge.to.value()] = distance[queue[i].value()] + 1;
        queue.push_back(edge.to);
      }
  auto column = std::make_unique<std::uint64_t[]>(words_before_.back() + 1);  // never of size zero
  for (const SwitchIndex at : queue) {
    const auto edges = graph_.edges(at);
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const auto beyond = distance[edges[e].to.value()];
      if (beyond != kFar && beyond + 1 == distance[at.value()] && is_live(edges[e].channel))
        column[words_before_[at.value()] + e / kBits] |= std::uint64_t{1} << e % kBits;
    }
  }
  return column;
}

std::span<const std::uint64_t> EcmpRouting::hops(const std::uint64_t* column, SwitchIndex at) const {
  const auto first = words_before_[at.value()];
  return {column + first, words_before_[at.value() + 1] - first};
}

EcmpRouting::Hashed EcmpRouting::hashed(PortId src, PortId dst, PathLabel label,
                                        const OnePacket& packet) const {
  Hashed hashed{FlowKey::of(src, dst, label), {}, packet.number};
  if (addresses_ != nullptr)
    hashed.bits = FlowBits::of(addresses_->address_of(src).value_or(IpAddress()),
                               addresses_->address_of(dst).value_or(IpAddress()), label);
  if (options_.queue_pair) hashed.bits.add(packet.fields.queue_pair.value_or(kUsualQueuePair));
  if (options_.traffic_class) hashed.bits.add_traffic_class(packet.fields.traffic_class.value_or(0));
  return hashed;
}

/// Which of `count` equal next hops a device takes for a packet that came `in`.
std::uint32_t EcmpRouting::choice(SwitchIndex at, std::optional<ChannelId> in, const Hashed& packet,
                                  std::uint32_t count) const {
  const std::uint64_t seed = seeds_[at.value()];
  if (sprays_[at.value()]) return choose(mix_bits(seed ^ packet.number), packet.key, count);
  FlowBits bits = packet.bits;
  if (options_.ingress_port && in) bits.add_ingress(fabric_->target(*in));
  if (const auto& own = hashes_[at.value()]) return own->choose(bits, count);
  // Without structure addresses go in as ports; the source port is in the label.
  const std::uint64_t others = bits.words[4] >> 16;
  return choose(others == 0 ? seed : seed ^ mix_bits(others), packet.key, count);
}

bool EcmpRouting::walk(SwitchIndex at, PortId dst, const Hashed& packet, std::vector<ChannelId>& path) const {
  const auto last = fabric_->channel_into(dst);
  WEFT_CHECK(last.has_value());
  const auto towards = graph_.index_of(fabric_->source_node(*last));
  if (!towards) return false;  // the NIC hangs on a host, and hosts do not forward
  const auto* const table = column(*towards);
  while (at != *towards) {
    const auto choices = hops(table, at);
    const auto count = count_bits(choices);
    if (count == 0) return false;
    const auto in = path.empty() ? std::nullopt : std::optional(path.back());
    const auto& edge = graph_.edges(at)[nth_bit(choices, choice(at, in, packet, count))];
    path.push_back(edge.channel);
    at = edge.to;  // one nearer each time, so this ends
  }
  if (!is_live(*last)) return false;
  path.push_back(*last);
  return true;
}

bool EcmpRouting::path_of(PortId src, PortId dst, PathLabel label, std::vector<ChannelId>& path,
                          const OnePacket& packet) const {
  path.clear();
  if (src == dst) return true;
  const auto first = fabric_->channel_from(src);
  WEFT_CHECK(first.has_value());
  if (!is_live(*first)) return false;
  path.push_back(*first);
  if (fabric_->target(*first) == dst) return true;  // a cable from NIC to NIC
  const auto at = graph_.index_of(fabric_->target_node(*first));
  return at && walk(*at, dst, hashed(src, dst, label, packet), path);
}

bool EcmpRouting::path_from(NodeId device, PortId dst, PathLabel label, std::vector<ChannelId>& path) const {
  path.clear();
  const auto at = graph_.index_of(device);
  WEFT_CHECK(at.has_value());
  return walk(*at, dst, hashed(fabric_->ports_of(device).front(), dst, label, {}), path);
}

std::vector<ChannelId> EcmpRouting::next_hops(NodeId device, PortId dst) const {
  const auto at = graph_.index_of(device);
  const auto last = fabric_->channel_into(dst);
  WEFT_CHECK(at.has_value() && last.has_value());
  const auto towards = graph_.index_of(fabric_->source_node(*last));
  if (!towards) return {};
  if (at == towards) return is_live(*last) ? std::vector{*last} : std::vector<ChannelId>{};
  std::vector<ChannelId> found;
  for_each_bit(hops(column(*towards), *at),
               [&](std::size_t bit) { found.push_back(graph_.edges(*at)[bit].channel); });
  return found;
}

double EcmpRouting::path_count(PortId src, PortId dst) const {
  if (src == dst) return 1;
  const auto first = fabric_->channel_from(src);
  const auto last = fabric_->channel_into(dst);
  WEFT_CHECK(first.has_value() && last.has_value());
  if (!is_live(*first) || !is_live(*last)) return 0;
  if (first == last) return 1;
  const auto from = graph_.index_of(fabric_->target_node(*first));
  const auto towards = graph_.index_of(fabric_->source_node(*last));
  if (!from || !towards) return 0;
  // Breadth first along next hops: a switch is reached by all its ways before it is left, since each step is
  // one nearer to the destination.
  const auto* const table = column(*towards);
  std::vector<double> ways(graph_.switch_count(), 0);
  std::vector<SwitchIndex> queue{*from};
  ways[from->value()] = 1;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for_each_bit(hops(table, queue[i]), [&](std::size_t bit) {
      const auto next = graph_.edges(queue[i])[bit].to;
      if (ways[next.value()] == 0) queue.push_back(next);
      ways[next.value()] += ways[queue[i].value()];
    });
  return ways[towards->value()];
}

}  // namespace weft::routing
