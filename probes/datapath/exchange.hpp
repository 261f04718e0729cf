// exchange: sends the probes that a ProbeBook asks for at their pace and hands it what comes back, until the
// book is settled, a wait ends or a stop is asked. The loop that trace and ping share; it runs in the
// caller's thread.
#pragma once

#include <span>
#include <stop_token>

#include "probes/datapath/answer.hpp"
#include "probes/datapath/probe_engine.hpp"

namespace weft::datapath {

/// One probe to send.
struct Outgoing {
  std::uint32_t peer = 0;  // index into the request's peers
  UdpPort label;
  UdpPort back_label;
  std::uint8_t hop_limit = 64;
  std::uint32_t spec = 0;
  std::uint32_t sequence = 0;
  std::size_t size = 0;                  // of the IP packet
  const PacketFields* fields = nullptr;  // but for their size; null: as usual. It outlives the exchange
};

/// What to send and what became of it. `exchange` calls: next until it gives nothing; sent or refused once
/// for each probe it gave, in that order; answered at any time; and, when all is quiet, again.
class ProbeBook {
 public:
  virtual ~ProbeBook() = default;
  /// The next probe of this attempt.
  virtual std::optional<Outgoing> next() = 0;
  virtual void sent(const Outgoing& probe, std::uint16_t identification, Nanoseconds at) = 0;
  /// It cannot go: the NIC does not take a packet of that size, or the peer has no next hop.
  virtual void refused(const Outgoing& probe) = 0;
  virtual void answered(const Answer& answer, Nanoseconds at) = 0;
  /// A peer answered, and then none of its last few probes: its host may not run.
  virtual bool awaits_silent_peer() const { return false; }
  /// Every probe sent has its answer.
  virtual bool settled() const = 0;
  /// Starts another attempt at what has no answer; false where there is none to make.
  virtual bool again() = 0;
};

/// Everything an exchange needs beside the book.
struct ExchangeContext {
  PacketPort& port;
  const LocalNic& nic;
  const packet::RunSecrets& secrets;
  PortId self;
};
struct ExchangeRequest {
  BatchId batch;
  std::span<const Peer> peers;
  std::span<const std::optional<packet::MacAddress>> next_hops;  // of each peer; absent: it cannot be reached
  Pace pace;
  Nanoseconds limit{};  // on the whole exchange, beside what the pace asks for
};

/// Ends early, without an error, at a stop or at its time limit; what the book then holds is what is known.
Result<void> exchange(const ExchangeContext& context, const ExchangeRequest& request, ProbeBook& book,
                      std::stop_token stop);

}  // namespace weft::datapath
