// Capacities: what the balancer counts on from every channel, in bits per second: its rate, less where a
// diagnosis or a blacklist says so, zero where it must not be used. Indexed by channel.
#pragma once

#include <span>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"

namespace weft {
class Fabric;
}

namespace weft::assign {

/// A channel to avoid (share 0) or to load less (the share of its rate that still counts, 0 to 1).
struct Avoided {
  ChannelId channel;
  double share = 0.0;
  friend bool operator==(const Avoided&, const Avoided&) = default;
};

class Capacities {
 public:
  explicit Capacities(const Fabric& fabric);
  Capacities(const Fabric& fabric, std::span<const Avoided> avoided);

  double operator[](ChannelId channel) const { return bits_per_second_[channel.value()]; }
  bool usable(ChannelId channel) const { return bits_per_second_[channel.value()] > 0; }
  /// The greatest rate of a channel between switches (of any channel where there is none): loads are stated
  /// in bytes on a channel of this rate.
  Bandwidth reference() const { return reference_; }

 private:
  std::vector<double> bits_per_second_;
  Bandwidth reference_;
};

/// Both channels of a link, as a cable that is down.
std::vector<Avoided> without(std::span<const LinkId> links);

}  // namespace weft::assign
