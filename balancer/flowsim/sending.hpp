// Sending: the QPs of a phase as packets on known paths: what a trial puts on the wire, how many bytes that
// makes on every channel, and how long it takes in the fluid model. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "balancer/assign/assign.hpp"

namespace weft::flowsim {

/// One QP: data packets by `label`, one acknowledgement each by `back_label`.
struct Sending {
  PortId src;
  PortId dst;
  PathLabel label;
  PathLabel back_label;
  std::uint32_t packets = 0;
  std::vector<ChannelId> path;  // host cables included
  std::vector<ChannelId> back;
  std::uint32_t turn = 0;  // of the flow; send_packets() alone heeds it
};

/// Bytes of a frame as the links' counters and shapers see it: with its Ethernet header.
struct FrameSizes {
  Bytes data;
  Bytes ack;
};

/// The labels of a path map by pair, each with the one path it takes; labels that take several are left out.
class LabelledPaths {
 public:
  explicit LabelledPaths(const PathMap& map);
  struct Entry {
    PathLabel label;
    std::vector<ChannelId> path;
  };
  /// Ascending by label.
  std::span<const Entry> of(PortId src, PortId dst) const;
  const Entry* find(PortId src, PortId dst, PathLabel label) const;

 private:
  std::unordered_map<std::uint64_t, std::vector<Entry>> pairs_;
};

/// The QPs of `answer` with the labels assigned to them, packets of `payload` bytes each. What stays within a
/// leaf, or has no label for its way back, takes any label. A QP without a known path is left out.
std::vector<Sending> steered_sendings(const LabelledPaths& paths, const demand::Phase& phase,
                                      const assign::PhaseAssignment& answer, Bytes payload);
/// The same by the routes themselves, without labels: what comes back takes the way there turned round,
/// unless the QP has one of its own.
std::vector<Sending> routed_sendings(const Fabric& fabric, const demand::Phase& phase,
                                     std::span<const assign::SteeredQp> qps, Bytes payload);
/// The same QPs with labels drawn at random, both ways: what hashing does.
std::vector<Sending> hashed_sendings(const LabelledPaths& paths, const demand::Phase& phase,
                                     std::uint32_t qps, Bytes payload, std::uint64_t seed);

/// Bytes that each channel carries, acknowledgements included, when nothing is lost; indexed by channel.
std::vector<double> wire_bytes(std::span<const Sending> sendings, const FrameSizes& frames,
                               std::size_t channels);

/// Bytes per second of every channel, as designed.
std::vector<double> line_rates(const Fabric& fabric);

/// Seconds until each QP is through, all starting at once, by max-min fair shares of `capacity` (bytes per
/// second, by channel); the acknowledgements take their part.
std::vector<double> sending_times(std::span<const double> capacity, std::span<const Sending> sendings,
                                  const FrameSizes& frames);
/// Until the last one is; 0 where there is none.
double predicted_seconds(std::span<const double> capacity, std::span<const Sending> sendings,
                         const FrameSizes& frames);

}  // namespace weft::flowsim
