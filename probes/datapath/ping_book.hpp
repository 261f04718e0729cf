// PingBook: what a ping request has sent and what came back. Specs take turns, so that a burst of loss hits
// all of them alike; one of fewer packets passes turns over, so that it sees the whole time too. Pure.
#pragma once

#include <algorithm>
#include <vector>

#include "probes/datapath/exchange.hpp"

namespace weft::datapath {

/// Which peers of a request fell silent: each answered, and then none of its last few probes, as one does
/// whose host does not run. That a lossy way loses as many in a row is rare. Peers beyond `peers` never do.
class SilentPeers {
 public:
  explicit SilentPeers(std::size_t peers) : peers_(peers) {}
  void note_sent(std::uint32_t peer) {
    if (peer < peers_.size()) ++peers_[peer].since_answer;
  }
  void note_answer(std::uint32_t peer) {
    if (peer < peers_.size()) peers_[peer] = {.has_answered = true};
  }
  bool any() const {
    constexpr std::uint32_t kFew = 5;  // of a way that loses a tenth each way: once in 4,000 times
    return std::ranges::any_of(peers_,
                               [](const State& p) { return p.has_answered && p.since_answer >= kFew; });
  }

 private:
  struct State {
    bool has_answered = false;
    std::uint32_t since_answer = 0;  // probes
  };
  std::vector<State> peers_;
};

class PingBook : public ProbeBook {
 public:
  /// `request` outlives the book; its specs are valid (see Prober).
  explicit PingBook(const PingRequest& request, bool waits_for_silent = true);

  std::optional<Outgoing> next() override;
  void sent(const Outgoing& probe, std::uint16_t identification, Nanoseconds at) override;
  void refused(const Outgoing&) override {}
  void answered(const Answer& answer, Nanoseconds at) override;
  bool awaits_silent_peer() const override { return waits_for_silent_ && silent_.any(); }
  bool settled() const override { return waiting_ == 0; }
  bool again() override { return false; }  // a lost echo is a fact, not a question

  /// One for each spec, in their order.
  std::vector<PingTally> tallies() const;

 private:
  struct Attempt {
    Nanoseconds sent_at{};
    enum class State : std::uint8_t { unsent, waiting, settled } state = State::unsent;
  };

  /// Packets of a spec in the turns before this one: as many as its share of them, specs with as few as
  /// others in other turns than these.
  std::uint32_t due_before(std::uint32_t turn, std::uint32_t spec) const;
  void record_order(PingTally& tally) const;

  const PingRequest& request_;
  std::vector<std::size_t> first_attempt_;  // of each spec, into attempts_
  std::vector<Attempt> attempts_;
  std::vector<PingTally> tallies_;
  SilentPeers silent_;
  bool waits_for_silent_;
  std::vector<std::vector<Nanoseconds>> rtts_;  // per spec
  std::vector<std::uint32_t> given_;            // by next(), per spec
  std::uint32_t spec_ = 0;                      // the next to send
  std::uint32_t turn_ = 0;
  std::uint32_t most_ = 0;  // turns: the largest count of a spec
  std::size_t waiting_ = 0;
};

/// The median and the 99th percentile (nearest rank); nothing of nothing.
std::optional<RttQuantiles> quantiles_of(std::vector<Nanoseconds> rtts);

}  // namespace weft::datapath
