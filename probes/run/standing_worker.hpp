// StandingWorker: the thread of a standing agent that touches packets: sends the probes of all its NICs in
// bursts, answers those of others, and makes windows of what became of them. It wakes fifty times a second or
// as often as bursts are due, not with each packet: kernels stamp what arrives, so that a late look changes
// no round trip and an echo says how long it waited. Any thread calls.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "probes/run/standing_nics.hpp"
#include "probes/watch/standing_responder.hpp"
#include "probes/watch/standing_windows.hpp"

namespace weft::run {

class StandingWorker {
 public:
  /// `boot`: as in the agent's windows; `seed`: as StandingCounts has it; `nics` outlives it.
  StandingWorker(std::uint64_t boot, std::uint64_t seed, StandingNics& nics);

  /// Probes by it from now on; the window at hand ends.
  void assign(std::shared_ptr<const watch::Assignment> assignment);
  /// The keys of this one, whose work is the same: nothing begins anew.
  void renew_keys(std::shared_ptr<const watch::Assignment> assignment);
  /// While it is paused it sends no probes, and answers.
  void pause(bool paused) { paused_ = paused; }
  /// Windows that have ended since this was asked last, without boot and number.
  std::vector<watch::Window> windows();
  /// How often its thread has gone round: it grows as long as that works.
  std::uint64_t rounds() const { return rounds_; }

 private:
  /// A NIC that was opened, by its interface; it stays from one assignment to the next.
  struct Nic {
    OpenedNic opened;
    std::unique_ptr<watch::StandingResponder> responder;
    std::unique_ptr<watch::StandingProber> probes;  // of the assignment; absent: not of it
    PeerHops hops;
    std::optional<Nanoseconds> refused_since = std::nullopt;  // the interface takes nothing
  };

  void work(const std::stop_token& stop);
  void take_orders();
  void begin(std::shared_ptr<const watch::Assignment> assignment, Nanoseconds now);
  void take_pairs(const packet::UdPairs& pairs);
  void take_news(Nanoseconds now);
  void open(std::uint32_t index, OpenedNic opened, Nanoseconds now);
  bool note_stall(Nanoseconds began);
  bool look_at_all();
  bool receive(Nic& nic);
  void answer(Nic& nic, std::span<const datapath::Arrival> arrivals);
  void send_due(std::uint32_t index, Nic& nic);
  static void send_trace(Nic& nic);
  void note_refused(std::uint32_t index, const Nic& nic, bool all_were_taken);
  watch::StandingWindows::Nics probing();
  watch::StandingWindows::DroppedOf dropped_of();
  void add_window(std::optional<watch::Window> window);
  Nanoseconds next_look(Nanoseconds now);
  Nic* nic_of(std::uint32_t index);

  std::uint64_t seed_;
  StandingNics& source_;
  Nanoseconds epoch_;
  std::atomic<bool> paused_ = false;
  std::atomic<std::uint64_t> rounds_ = 0;

  // Of the thread alone.
  Nanoseconds read_;  // what came in before it has been taken
  std::shared_ptr<const watch::Assignment> assignment_;
  watch::StandingRun run_;
  watch::StandingKeys keys_;
  std::map<std::string, Nic> nics_;
  std::optional<watch::StandingWindows> windows_;
  packet::UdPairs pairs_;  // of the assignment
  std::vector<std::vector<std::byte>> replies_;
  std::vector<ByteSpan> outgoing_;

  std::mutex mutex_;  // of all below
  std::shared_ptr<const watch::Assignment> next_assignment_;
  std::shared_ptr<const watch::Assignment> next_keys_;  // of the assignment, or of the next one
  std::vector<watch::Window> told_;
  std::jthread thread_;
};

}  // namespace weft::run
