// PingBook: what a ping request has sent and what came back. Specs take turns, so that a burst of loss hits
// all of them alike; one of fewer packets passes turns over, so that it sees the whole time too. Pure.
#pragma once

#include <vector>

#include "probes/datapath/exchange.hpp"

namespace weft::datapath {

class PingBook : public ProbeBook {
 public:
  /// `request` outlives the book; its specs are valid (see Prober).
  explicit PingBook(const PingRequest& request);

  std::optional<Outgoing> next() override;
  void sent(const Outgoing& probe, std::uint16_t identification, Nanoseconds at) override;
  void refused(const Outgoing&) override {}
  void answered(const Answer& answer, Nanoseconds at) override;
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
