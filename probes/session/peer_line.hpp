// PeerLine: how the engine of one NIC asks those of others: questions go out over the bus, by way of the
// coordinator, and whoever reads the bus hands the replies in.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>

#include "probes/datapath/peer_exchange.hpp"
#include "probes/session/bus.hpp"
#include "probes/session/messages.hpp"

namespace weft::session {

class PeerLine final : public datapath::PeerExchange {
 public:
  /// `bus` outlives it.
  PeerLine(RunId run, PortId self, Bus& bus) : run_(run), self_(self), bus_(bus) {}

  Result<std::string> ask(PortId to, std::string_view question, Nanoseconds limit) override;
  void take(const PeerReply& reply);
  /// Nobody will answer any more: ends all waiting.
  void close();

 private:
  RunId run_;
  PortId self_;
  Bus& bus_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::uint32_t last_ = 0;
  bool closed_ = false;
  std::map<std::uint32_t, std::optional<PeerReply>> open_;  // by the id of the question
};

}  // namespace weft::session
