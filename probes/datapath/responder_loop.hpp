// ResponderLoop: a Responder at work on a port, in one thread, while others ask what it received.
#pragma once

#include <mutex>
#include <optional>
#include <stop_token>

#include "probes/datapath/responder.hpp"

namespace weft {

class ResponderLoop {
 public:
  /// All references outlive the loop.
  ResponderLoop(PacketPort& port, const LocalNic& nic, const RunSecrets& secrets, const RunNics& nics,
                const ResponderLimits& limits = {})
      : port_(port), responder_(nic, secrets, nics, limits) {}

  /// Answers until a stop is asked (seen within 100 ms). A port in trouble (its interface is down) is tried
  /// again ten times a second.
  void run(std::stop_token stop);
  /// Any thread. What the port dropped since another batch was asked for counts as this one's: batches are
  /// asked for one after the other, when they are over.
  std::vector<ReceivedTally> received(BatchId batch);
  ResponderRejects rejects() const;

 private:
  void serve(std::span<const Arrival> arrivals);

  PacketPort& port_;
  std::vector<std::vector<std::byte>> replies_;
  std::vector<ByteSpan> outgoing_;
  mutable std::mutex mutex_;  // over responder_
  Responder responder_;
  std::optional<BatchId> asked_;  // the batch last asked for
  std::uint64_t dropped_ = 0;     // of its frames
};

}  // namespace weft
