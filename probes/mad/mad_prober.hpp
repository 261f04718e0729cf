// MadProber: sends probes over one Mads, answers those of others, and counts. Used by one thread, which calls
// serve() whenever nothing else is to do; ping() serves the others' probes while its own are on their way.
#pragma once

#include <map>
#include <stop_token>
#include <vector>

#include "probes/datapath/ping_book.hpp"
#include "probes/mad/mad_probe.hpp"
#include "probes/mad/mads.hpp"

namespace weft::mad {

class MadProber {
 public:
  MadProber(Mads& mads, const packet::RunSecrets& secrets, PortId own)
      : mads_(&mads), secrets_(secrets), own_(own) {}

  /// Takes what arrives for up to `at_most`; returns after each arrival.
  Result<void> serve(Nanoseconds at_most);
  /// Where sending falls seconds behind its pace (a starved machine), the last rounds are left out: the
  /// tallies say how many were sent.
  Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest& request, std::stop_token stop);
  /// Counts what came up to now, also what nobody took yet: a busy host is late, and has lost nothing.
  Result<std::vector<datapath::ReceivedTally>> received(BatchId batch);

 private:
  struct Pending {  // of the ping at hand, by spec
    std::uint32_t peer = 0;
    std::vector<bool> echoed;
    std::uint32_t late = 0;
    std::uint32_t answered = 0;
    std::vector<Nanoseconds> round_trips;
  };
  struct Count {
    std::vector<bool> seen;  // by sequence number: a repeat counts once
    datapath::ReceivedTally tally;
  };
  /// The next arrival, if there is one; notes whether it may have waited for this host.
  Result<std::optional<MadArrival>> look(Nanoseconds at_most);
  void take(const MadArrival& arrival);
  /// Takes all that is there.
  Result<void> take_waiting();
  /// The management agent of a port answered.
  void take_answer(const MadArrival& arrival);
  void take_probe(const MadProbe& probe);
  void take_echo(const MadProbe& probe);
  Result<void> send(const MadProbe& probe, Lid to);
  /// The next packet of one spec: a probe for the peer's agent, or a question to its port.
  Result<void> send_next(const datapath::PingRequest& request, std::uint32_t spec, std::uint32_t sequence);
  /// Waits for the last echoes and counts them.
  Result<std::vector<datapath::PingTally>> finish(const datapath::PingRequest& request,
                                                  std::vector<datapath::PingTally> tallies,
                                                  const std::stop_token& stop);

  Mads* mads_;
  packet::RunSecrets secrets_;
  PortId own_;
  BatchId batch_;
  std::optional<Nanoseconds> looked_;  // when this host looked last what came
  bool is_behind_ = false;             // it had not looked for a while, and has not taken all since
  datapath::SilentPeers silent_{0};    // of the ping at hand
  bool is_over_ = false;               // nobody waits for echoes of what is taken now
  std::uint32_t first_question_ = 0;   // the transaction of the first question of the ping at hand
  std::uint32_t questions_ = 0;        // how many transactions it has
  std::vector<Pending> pending_;
  std::map<BatchId, std::map<std::pair<PortId, std::uint32_t>, Count>> counts_;
};

}  // namespace weft::mad
