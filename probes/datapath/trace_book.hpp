// TraceBook: what a trace has sent and learnt. Hops 1..max_hops of each spec are asked at once; one that
// stays silent is asked again, up to the number of attempts; hops beyond the peer's own echo do not count.
// Pure.
#pragma once

#include <vector>

#include "probes/datapath/exchange.hpp"

namespace weft {

class TraceBook : public ProbeBook {
 public:
  /// `request` outlives the book; its specs are valid (see Prober).
  explicit TraceBook(const TraceRequest& request);

  std::optional<Outgoing> next() override;
  void sent(const Outgoing& probe, std::uint16_t identification, Nanoseconds at) override;
  void refused(const Outgoing& probe) override;
  void answered(const Answer& answer, Nanoseconds at) override;
  bool settled() const override { return waiting_ == 0; }
  bool again() override;

  /// In the order of specs, then hops: one for each hop that answered, up to the peer's echo.
  std::vector<HopAnswer> answers() const;

 private:
  enum class State : std::uint8_t { unsent, waiting, answered, moot };
  struct Hop {
    State state = State::unsent;
    HopAnswer answer;
  };
  /// One attempt at one hop of one spec.
  struct Attempt {
    std::uint32_t spec;
    std::uint32_t sequence;  // attempt * max_hops + hop - 1
  };

  std::uint8_t hop_of(const Attempt& attempt) const;
  Hop& hop_at(std::uint32_t spec, std::uint8_t hop) { return hops_[first_hop_[spec] + hop - 1u]; }
  Nanoseconds& sent_at(const Attempt& attempt);
  std::optional<Attempt> attempt_of(const Answer& answer) const;
  std::optional<Attempt> checked(const ProbeHeader& header) const;
  void settle(Hop& hop, State state);

  const TraceRequest& request_;
  std::vector<std::size_t> first_hop_;  // of each spec, into hops_
  std::vector<Hop> hops_;
  std::vector<Nanoseconds> sent_at_;  // per hop and attempt; zero: not sent
  std::vector<std::optional<Attempt>> by_identification_;
  std::uint32_t spec_ = 0;  // the next to send
  std::uint8_t hop_ = 1;
  std::uint8_t attempt_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace weft
