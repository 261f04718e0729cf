// MadeUpRun: observations of a two-tier Clos in which the test knows what is broken. Paths go
// host -> leaf -> spine -> leaf -> host between random hosts; losses, delays and shares are drawn by seed.
#pragma once

#include <map>
#include <random>

#include "probes/diagnosis/diagnose.hpp"
#include "topology/model/clos.hpp"

namespace weft::diagnosis {

struct MadeUpFault {
  double loss = 0;
  std::uint64_t run = 1;  // packets that it loses at a time
  double corrupt = 0;
  Bytes largest = Bytes(1 << 30);  // larger packets are lost
  double delay_us = 0;
  double rate = 1;     // share of the link's rate it is held to
  double traffic = 0;  // other traffic over it, as a share of the link's rate
};

class MadeUpRun {
 public:
  explicit MadeUpRun(std::uint64_t seed, ClosSpec spec = {.leaves = 4, .spines = 4, .hosts_per_leaf = 4})
      : fabric(*make_clos(spec)), spec_(spec), random_(seed) {}

  Fabric fabric;
  Observations seen;
  double background = 0;

  MadeUpFault& fault(std::string_view channel) { return faults_[fabric.find_channel(channel)->value()]; }
  ChannelId channel(std::string_view name) const { return *fabric.find_channel(name); }

  std::vector<ChannelId> path(std::uint32_t from, std::uint32_t to, std::uint32_t spine) const {
    const std::string source = fmt::format("leaf{}", from / spec_.hosts_per_leaf + 1);
    const std::string target = fmt::format("leaf{}", to / spec_.hosts_per_leaf + 1);
    const std::string top = fmt::format("spine{}", spine + 1);
    return {channel(fmt::format("host{}->{}", from + 1, source)), channel(source + "->" + top),
            channel(top + "->" + target), channel(fmt::format("{}->host{}", target, to + 1))};
  }
  std::vector<ChannelId> random_path() {
    const std::uint32_t hosts = spec_.leaves * spec_.hosts_per_leaf;
    const auto from = static_cast<std::uint32_t>(random_() % hosts);
    auto to = static_cast<std::uint32_t>(random_() % hosts);
    while (to / spec_.hosts_per_leaf == from / spec_.hosts_per_leaf)
      to = static_cast<std::uint32_t>(random_() % hosts);
    return path(from, to, static_cast<std::uint32_t>(random_() % spec_.spines));
  }

  /// `count` observations of `packets` each, one way; with `rtt`, their round-trip times too.
  void probe(std::size_t count, std::uint64_t packets, Bytes size = Bytes(128), bool rtt = false) {
    for (std::size_t i = 0; i < count; ++i) probe_over(random_path(), packets, size, rtt);
  }
  void probe_over(const std::vector<ChannelId>& forward, std::uint64_t packets, Bytes size = Bytes(128),
                  bool rtt = false) {
    Observation it{.path = seen.paths.only(seen.paths.intern(forward)), .sent = packets, .size = size};
    double pass = 1, clean = 1;
    for (const ChannelId c : forward) {
      const MadeUpFault& f = faults_[c.value()];
      pass *= size > f.largest ? 0.0 : (f.run > 1 ? 1.0 : 1 - f.loss) * (1 - background);
      clean *= 1 - f.corrupt;
    }
    it.lost = draw(packets, 1 - pass);
    for (const ChannelId c : forward)
      if (const MadeUpFault& f = faults_[c.value()]; f.run > 1)
        it.lost += f.run * draw((packets - it.lost) / f.run, f.loss);
    it.corrupt = draw(packets - it.lost, 1 - clean);
    if (rtt && it.lost < it.sent) it.rtt = round_trip(forward);
    seen.probes.push_back(it);
  }

  /// One load round: each path's flow offers this share of the link rate; FIFO sharing on every channel.
  void load(std::uint32_t round, const std::vector<std::vector<ChannelId>>& paths, double offered) {
    std::map<std::uint32_t, double> on;
    for (const auto& p : paths)
      for (const ChannelId c : p) on[c.value()] += offered;
    for (const auto& p : paths) {
      double share = 1;
      for (const ChannelId c : p) {
        const MadeUpFault& f = faults_[c.value()];
        share = std::min(share, std::min(1.0, f.rate) / (on[c.value()] + f.traffic));
      }
      const double noisy = share * std::normal_distribution(1.0, 0.01)(random_);
      const Bandwidth rate = fabric.rate(p.front());
      seen.loads.push_back({.path = seen.paths.only(seen.paths.intern(p)),
                            .round = round,
                            .wanted = rate * offered,
                            .offered = rate * offered,
                            .delivered = rate * (offered * std::min(noisy, 1.0))});
    }
  }

  Diagnosis diagnosed() const { return diagnose(fabric, seen); }
  /// Of the finding of a channel; 0: it has none.
  double confidence_of(std::string_view name) const {
    for (const LinkFinding& finding : diagnosed().links)
      if (finding.channel == channel(name)) return finding.confidence;
    return 0.0;
  }

 private:
  std::uint64_t draw(std::uint64_t n, double p) {
    return std::binomial_distribution<std::uint64_t>(n, std::clamp(p, 0.0, 1.0))(random_);
  }
  RttQuantiles round_trip(const std::vector<ChannelId>& forward) {
    double us = 150 + 80 * std::abs(std::cauchy_distribution(0.0, 1.0)(random_));
    for (const ChannelId c : forward) us += faults_[c.value()].delay_us;
    const auto ns = static_cast<std::int64_t>(std::min(us, 1e7) * 1e3);
    return {Nanoseconds(ns), Nanoseconds(3 * ns)};
  }

  ClosSpec spec_;
  std::mt19937_64 random_;
  std::map<std::uint32_t, MadeUpFault> faults_;
};

}  // namespace weft::diagnosis
