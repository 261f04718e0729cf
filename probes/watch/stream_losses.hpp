// StreamLosses: on which way the lost probes of one stream were lost, by what its echoes say that the
// responder had counted. Between two echoes the count grew by those probes that came there and whose echo
// did not come back; the others did not come there. Which of several is which is not known: the first ones
// are taken for those that did not come there. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probes/watch/window.hpp"

namespace weft::watch {

class StreamLosses {
 public:
  /// Losses between two echoes of which this many are kept: 25 s of ten probes a second. Of more nobody can
  /// say more than that they are open.
  static constexpr std::size_t kMaxUnsettled = 256;

  /// Probes in the order of the stream. A lost one is open until an echo tells.
  void lost(std::uint64_t number);
  /// An echo says `count`; `later`: what echoes of later probes that came already say (a probe that was
  /// overtaken is counted after them). Adds the losses that are settled now, ascending.
  void answered(std::uint16_t count, std::span<const std::uint16_t> later,
                std::vector<SettledProbe>& settled);

 private:
  std::vector<std::uint64_t> unsettled_;  // behind the last echo
  bool known_ = false;                    // last_ is what an echo said
  bool too_many_ = false;                 // unsettled_ does not hold all
  std::uint16_t last_ = 0;
};

}  // namespace weft::watch
