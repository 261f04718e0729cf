// ResponderLoop: a Responder at work on a port, in one thread, while others ask what it received.
#pragma once

#include <mutex>
#include <stop_token>

#include "probes/wire/responder.hpp"

namespace weft {

class ResponderLoop {
 public:
  /// All references outlive the loop.
  ResponderLoop(PacketPort& port, const LocalNic& nic, const RunSecrets& secrets,
                const ResponderLimits& limits = {})
      : port_(port), responder_(nic, secrets, limits) {}

  /// Answers until a stop is asked (seen within 100 ms). A port in trouble (its interface is down) is tried
  /// again ten times a second.
  void run(std::stop_token stop);
  /// Any thread.
  std::vector<ReceivedTally> received(BatchId batch) const;
  ResponderRejects rejects() const;

 private:
  void serve(std::span<const Arrival> arrivals);

  PacketPort& port_;
  std::vector<std::vector<std::byte>> replies_;
  std::vector<ByteSpan> outgoing_;
  mutable std::mutex mutex_;  // over responder_
  Responder responder_;
};

}  // namespace weft
