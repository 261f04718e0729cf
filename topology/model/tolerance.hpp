// Tolerance: what is put up with on every link of a fabric. Its file says so (`tolerate:`), and `--tolerate`
// of the commands.
#pragma once

#include <optional>
#include <string_view>

#include "topology/base/units.hpp"

namespace weft {

/// Loss: 1e-4 is a tenth of the 1e-3 from which RoCE and InfiniBand transports with go-back-N lose goodput
/// (Mittal et al., SIGCOMM 2018, figure 9) and the least that 100,000 packets show. Delay: a shift that all
/// paths of a length share cannot be localised; below this it is told of no one.
struct Tolerance {
  Fraction loss{1e-4};
  Nanoseconds delay = std::chrono::milliseconds(1);
};

/// What somebody said of it; absent: nothing.
struct StatedTolerance {
  std::optional<Fraction> loss = std::nullopt;
  std::optional<Nanoseconds> delay = std::nullopt;

  bool empty() const { return !loss && !delay; }
  /// `usual` where nothing is said.
  Tolerance over(Tolerance usual) const { return {loss.value_or(usual.loss), delay.value_or(usual.delay)}; }
};

/// "0.02%": above zero and below 5 %, which is `failed`.
Result<Fraction> parse_tolerated_loss(std::string_view text);
/// "2ms": a second at most.
Result<Nanoseconds> parse_tolerated_delay(std::string_view text);

}  // namespace weft
