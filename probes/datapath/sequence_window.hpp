// SequenceWindow: which sequence numbers have come, as in IPsec's anti-replay (RFC 4303, 3.4.3): a bitmap
// over the last 1,024 up to the highest. A number below it counts as come, so memory is fixed and a replay is
// never new; a packet that 1,024 younger ones of its own stream overtook is taken for one (0.7 s at 50 Mbit/s
// of 4 KB). Pure.
#pragma once

#include <array>
#include <cstdint>

namespace weft {

class SequenceWindow {
 public:
  static constexpr std::uint32_t kWidth = 1024;

  /// Notes `sequence`; true when it had not come before.
  bool insert(std::uint32_t sequence) {
    if (sequence >= next_) slide(sequence);
    if (next_ - sequence > kWidth) return false;
    auto& word = words_[sequence / 64 % words_.size()];
    const auto bit = std::uint64_t{1} << sequence % 64;
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

 private:
  /// Makes `highest` the last of the window: what falls out is forgotten.
  void slide(std::uint32_t highest) {
    if (highest - next_ >= kWidth)
      words_.fill(0);
    else
      for (auto at = next_; at <= highest; ++at)
        words_[at / 64 % words_.size()] &= ~(std::uint64_t{1} << at % 64);
    next_ = std::uint64_t{highest} + 1;
  }

  std::array<std::uint64_t, kWidth / 64> words_{};
  std::uint64_t next_ = 0;  // one beyond the highest that came
};

}  // namespace weft
