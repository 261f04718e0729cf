#include "balancer/flowsim/sending.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "balancer/flowsim/fair_share.hpp"
#include "topology/model/fabric.hpp"

namespace weft::flowsim {
namespace {

std::uint64_t key(PortId src, PortId dst) { return std::uint64_t{src.value()} << 32 | dst.value(); }

std::uint32_t packets_for(double bytes, Bytes payload) {
  return static_cast<std::uint32_t>(std::max(1.0, std::ceil(bytes / static_cast<double>(payload.count()))));
}

Sending make_sending(const demand::Flow& flow, const LabelledPaths::Entry& there,
                     const LabelledPaths::Entry& back, std::uint32_t packets) {
  return {flow.src, flow.dst, there.label, back.label, packets, there.path, back.path, flow.turn};
}

/// The entry of this label; of any where none was chosen; null where there is no such.
const LabelledPaths::Entry* entry_for(const LabelledPaths& paths, PortId src, PortId dst,
                                      std::optional<PathLabel> label, std::uint32_t qp) {
  if (label) return paths.find(src, dst, *label);
  const auto all = paths.of(src, dst);
  return all.empty() ? nullptr : &all[qp % all.size()];
}

}  // namespace

LabelledPaths::LabelledPaths(const PathMap& map) {
  for (const PairPaths& pair : map.pairs) {
    std::map<PathLabel, std::vector<PathId>> by_label;
    for (const LabelledPath& path : pair.paths)
      for (const PathLabel label : path.labels) by_label[label].push_back(path.path);
    auto& entries = pairs_[key(pair.src, pair.dst)];
    for (const auto& [label, taken] : by_label) {
      if (taken.size() != 1) continue;
      const auto channels = map.table.channels(taken.front());
      entries.push_back({label, {channels.begin(), channels.end()}});
    }
  }
}

std::span<const LabelledPaths::Entry> LabelledPaths::of(PortId src, PortId dst) const {
  const auto at = pairs_.find(key(src, dst));
  return at == pairs_.end() ? std::span<const Entry>() : std::span<const Entry>(at->second);
}

const LabelledPaths::Entry* LabelledPaths::find(PortId src, PortId dst, PathLabel label) const {
  const auto all = of(src, dst);
  const auto at = std::ranges::lower_bound(all, label, {}, &Entry::label);
  return at != all.end() && at->label == label ? &*at : nullptr;
}

std::vector<Sending> steered_sendings(const LabelledPaths& paths, const demand::Phase& phase,
                                      const assign::PhaseAssignment& answer, Bytes payload) {
  std::vector<Sending> sendings;
  for (const assign::SteeredQp& qp : answer.qps) {
    const demand::Flow& flow = phase.flows[qp.flow];
    const auto* there = entry_for(paths, flow.src, flow.dst, qp.label, qp.qp);
    const auto* back =
        entry_for(paths, flow.dst, flow.src, qp.reverse ? qp.reverse->label : std::nullopt, qp.qp);
    if (there && back) sendings.push_back(make_sending(flow, *there, *back, packets_for(qp.bytes, payload)));
  }
  return sendings;
}

std::vector<Sending> routed_sendings(const Fabric& fabric, const demand::Phase& phase,
                                     std::span<const assign::SteeredQp> qps, Bytes payload) {
  std::vector<Sending> sendings;
  for (const assign::SteeredQp& qp : qps) {
    const demand::Flow& flow = phase.flows[qp.flow];
    Sending& sending = sendings.emplace_back();
    sending.src = flow.src;
    sending.dst = flow.dst;
    sending.packets = packets_for(qp.bytes, payload);
    sending.turn = flow.turn;
    const auto join = [&](PortId from, PortId to, std::span<const ChannelId> through) {
      std::vector<ChannelId> path{*fabric.channel_from(from)};
      path.insert(path.end(), through.begin(), through.end());
      path.push_back(*fabric.channel_into(to));
      return path;
    };
    sending.path = join(flow.src, flow.dst, qp.route.channels());
    if (qp.reverse) {
      sending.back = join(flow.dst, flow.src, qp.reverse->route.channels());
    } else {
      for (const ChannelId channel : sending.path) sending.back.push_back(Fabric::reverse(channel));
      std::ranges::reverse(sending.back);
    }
  }
  return sendings;
}

std::vector<Sending> hashed_sendings(const LabelledPaths& paths, const demand::Phase& phase,
                                     std::uint32_t qps, Bytes payload, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Sending> sendings;
  for (const demand::Flow& flow : phase.flows) {
    const auto there = paths.of(flow.src, flow.dst);
    const auto back = paths.of(flow.dst, flow.src);
    if (there.empty() || back.empty()) continue;
    const auto packets = packets_for(static_cast<double>(flow.bytes.count()) / qps, payload);
    for (std::uint32_t qp = 0; qp < qps; ++qp)
      sendings.push_back(
          make_sending(flow, there[random() % there.size()], back[random() % back.size()], packets));
  }
  return sendings;
}

std::vector<double> wire_bytes(std::span<const Sending> sendings, const FrameSizes& frames,
                               std::size_t channels) {
  std::vector<double> bytes(channels);
  for (const Sending& sending : sendings) {
    for (const ChannelId channel : sending.path)
      bytes[channel.value()] +=
          static_cast<double>(sending.packets) * static_cast<double>(frames.data.count());
    for (const ChannelId channel : sending.back)
      bytes[channel.value()] +=
          static_cast<double>(sending.packets) * static_cast<double>(frames.ack.count());
  }
  return bytes;
}

std::vector<double> line_rates(const Fabric& fabric) {
  std::vector<double> rates;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
    rates.push_back(fabric.rate(ChannelId(c)).bits_per_second() / 8);
  return rates;
}

std::vector<double> sending_times(std::span<const double> capacity, std::span<const Sending> sendings,
                                  const FrameSizes& frames) {
  const double ack_share = static_cast<double>(frames.ack.count()) / static_cast<double>(frames.data.count());
  std::vector<Stream> streams;
  for (const Sending& sending : sendings) {
    Stream& stream = streams.emplace_back(
        Stream{static_cast<double>(sending.packets) * static_cast<double>(frames.data.count()), {}});
    for (const ChannelId channel : sending.path) stream.uses.push_back({channel, 1});
    for (const ChannelId channel : sending.back) stream.uses.push_back({channel, ack_share});
  }
  return completion_times(streams, capacity);
}

double predicted_seconds(std::span<const double> capacity, std::span<const Sending> sendings,
                         const FrameSizes& frames) {
  const auto times = sending_times(capacity, sendings, frames);
  return times.empty() ? 0 : *std::ranges::max_element(times);
}

}  // namespace weft::flowsim
