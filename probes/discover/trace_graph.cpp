#include "probes/discover/trace_graph.hpp"

#include <algorithm>

namespace weft::discover {
namespace {

/// One in so many of those that enter a port may be a route that changed in the midst of a trace.
constexpr std::uint32_t kRare = 10;

class GraphBuilder {
 public:
  GraphBuilder(std::span<const TracedNic> nics, std::span<const Trace> traces) {
    std::set<IpAddress> all;
    for (const Trace& trace : traces)
      for (const auto& hop : trace.hops)
        if (hop) all.insert(*hop);
    graph_.addresses.assign(all.begin(), all.end());
    graph_.before.resize(all.size());
    graph_.at_first_hop.resize(all.size());
    graph_.at_later_hop.resize(all.size());
    graph_.behind_silent_first.resize(all.size());
    graph_.behind_silent.resize(all.size());
    graph_.first.resize(nics.size());
    graph_.last.resize(nics.size());
  }

  void add(const Trace& trace) {
    if (trace.src >= graph_.first.size() || trace.dst >= graph_.first.size()) return;
    note_repeat(trace);
    std::vector<std::optional<AddressIndex>> hops;
    for (const auto& hop : trace.hops) hops.push_back(hop ? std::optional(index_of(*hop)) : std::nullopt);
    for (std::size_t i = 0; i < hops.size(); ++i) note_hop(trace, hops, i);
    if (!trace.reached) return;
    if (hops.size() == 1) graph_.one_switch.insert({trace.src, trace.dst});
    if (!hops.empty() && hops.back()) graph_.last[trace.dst].insert(*hops.back());
  }

  TraceGraph take() && {
    for (auto& before : graph_.before) {
      std::uint32_t most = 0;
      for (const auto& [address, count] : before) most = std::max(most, count);
      std::erase_if(before, [&](const auto& entry) { return entry.second * kRare < most; });
    }
    return std::move(graph_);
  }

 private:
  AddressIndex index_of(const IpAddress& address) const {
    const auto at = std::ranges::lower_bound(graph_.addresses, address);
    return static_cast<AddressIndex>(at - graph_.addresses.begin());
  }

  void note_hop(const Trace& trace, const std::vector<std::optional<AddressIndex>>& hops, std::size_t i) {
    const auto here = hops[i];
    if (!here) return;
    (i == 0 ? graph_.at_first_hop : graph_.at_later_hop)[*here] = true;
    if (i == 0) graph_.first[trace.src].insert(*here);
    for (std::size_t k = 0; k < i; ++k)
      if (hops[k] && *hops[k] != *here) graph_.together.insert(std::minmax(*hops[k], *here));
    if (i == 0) return;
    if (hops[i - 1] && *hops[i - 1] != *here) ++graph_.before[*here][*hops[i - 1]];
    if (!hops[i - 1]) (i == 1 ? graph_.behind_silent_first : graph_.behind_silent)[*here].insert(trace.src);
  }

  /// The same flow twice, by other switches.
  void note_repeat(const Trace& trace) {
    const auto [at, is_new] = seen_.try_emplace({trace.src, trace.dst, trace.label}, &trace);
    if (is_new) return;
    const Trace& earlier = *at->second;
    for (std::size_t i = 0; i < std::min(trace.hops.size(), earlier.hops.size()); ++i)
      if (trace.hops[i] && earlier.hops[i] && trace.hops[i] != earlier.hops[i]) ++changed_;
    if (++repeated_ >= 4 && changed_ * 4 > repeated_) graph_.sprays = true;
  }

  TraceGraph graph_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, PathLabel>, const Trace*> seen_;
  std::size_t repeated_ = 0;
  std::size_t changed_ = 0;
};

IpAddress with_last_byte(const IpAddress& address, std::uint8_t byte) {
  auto bytes = address.bytes();
  bytes[address.is_v6() ? 15 : 3] = byte;
  return address.is_v6() ? IpAddress(bytes)
                         : IpAddress(IpAddress::V4{bytes[0], bytes[1], bytes[2], bytes[3]});
}

std::uint8_t last_byte(const IpAddress& address) { return address.bytes()[address.is_v6() ? 15 : 3]; }

/// The other address of a /31 (RFC 3021), or /127.
IpAddress other_of_31(const IpAddress& address) { return with_last_byte(address, last_byte(address) ^ 1U); }

/// The other address of a /30, or /126; none where this one would be its network's or for broadcasts.
std::optional<IpAddress> other_of_30(const IpAddress& address) {
  const std::uint8_t own = last_byte(address);
  if ((own & 3U) == 1) return with_last_byte(address, static_cast<std::uint8_t>(own + 1));
  if ((own & 3U) == 2) return with_last_byte(address, static_cast<std::uint8_t>(own - 1));
  return std::nullopt;
}

std::optional<AddressIndex> index_of(const TraceGraph& graph, const IpAddress& address) {
  const auto at = std::ranges::lower_bound(graph.addresses, address);
  if (at == graph.addresses.end() || *at != address) return std::nullopt;
  return static_cast<AddressIndex>(at - graph.addresses.begin());
}

}  // namespace

TraceGraph graph_of(std::span<const TracedNic> nics, std::span<const Trace> traces) {
  GraphBuilder builder(nics, traces);
  for (const Trace& trace : traces) builder.add(trace);
  return std::move(builder).take();
}

std::optional<AddressIndex> sibling(const TraceGraph& graph, AddressIndex of,
                                    const std::set<AddressIndex>& among) {
  const IpAddress& own = graph.addresses[of];
  const auto beside = index_of(graph, other_of_31(own));
  if (beside) return among.contains(*beside) ? beside : std::nullopt;
  const auto far = other_of_30(own);
  if (!far || index_of(graph, other_of_31(*far))) return std::nullopt;
  const auto index = index_of(graph, *far);
  return index && among.contains(*index) ? index : std::nullopt;
}

}  // namespace weft::discover
