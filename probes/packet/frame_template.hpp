// FrameTemplate: one probe's frame, kept to make the next one of it. Of a frame that goes the same way with
// the same size, only the label, the hops, the numbers, the times and what follows from them are written, and
// the checksums are made from parts that are known. What goes another way is written anew. Pure; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "probes/packet/authenticator.hpp"
#include "probes/packet/icrc.hpp"
#include "probes/packet/probe_frame.hpp"

namespace weft::packet {

class FrameTemplate {
 public:
  /// The frame as encode_probe_frame() writes it, with zeros as padding; it holds until the next call.
  /// `first` is first_psn() of the header: who sends a stream asks for it once. `ip_size` is one that
  /// probe_size() gives.
  ByteSpan write(const ProbeRoute& route, const ProbeHeader& header, Authenticator& authenticator,
                 std::uint32_t first, std::size_t ip_size);

 private:
  /// All of a route that the frames of a flow share, in words that compare quickly.
  using Way = std::array<std::uint64_t, 7>;
  static Way way_of(const ProbeRoute& route);
  bool is_of(const ProbeRoute& route, std::size_t ip_size) const;
  void prepare(const ProbeRoute& route, std::size_t ip_size);
  template <bool v6>
  void fill(const ProbeRoute& route, const ProbeHeader& header, Authenticator& authenticator,
            std::uint32_t psn);

  std::vector<std::byte> frame_;
  std::vector<std::byte> masked_;  // what the ICRC is of: headers as it takes them, and a short padding
  std::uint64_t ip_sum_ = 0;       // of the IPv4 header without hops, identification and checksum
  Way way_{};
  std::optional<ZeroTail> tail_;  // the padding that is not in masked_
};

}  // namespace weft::packet
