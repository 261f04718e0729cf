#include "probes/datapath/trace_book.hpp"

#include <algorithm>

namespace weft {

TraceBook::TraceBook(const TraceRequest& request) : request_(request), by_identification_(0x10000) {
  std::size_t total = 0;
  for (std::uint32_t spec = 0; spec < request.specs.size(); ++spec) {
    first_hop_.push_back(total);
    total += request.specs[spec].max_hops;
    for (std::uint8_t hop = 1; hop <= request.specs[spec].max_hops; ++hop)
      hops_.push_back({.answer = {.spec = spec, .hop = hop}});
  }
  sent_at_.resize(total * request.attempts);
}

std::uint8_t TraceBook::hop_of(const Attempt& attempt) const {
  return static_cast<std::uint8_t>(attempt.sequence % request_.specs[attempt.spec].max_hops + 1);
}

Nanoseconds& TraceBook::sent_at(const Attempt& attempt) {
  return sent_at_[first_hop_[attempt.spec] * request_.attempts + attempt.sequence];
}

std::optional<Outgoing> TraceBook::next() {
  const auto wanted = attempt_ == 0 ? State::unsent : State::waiting;
  for (; spec_ < request_.specs.size(); ++spec_, hop_ = 1) {
    const auto& spec = request_.specs[spec_];
    while (hop_ <= spec.max_hops) {
      const auto hop = hop_++;
      if (hop_at(spec_, hop).state != wanted) continue;
      const auto label = UdpPort(static_cast<std::uint16_t>(spec.label.value()));
      return Outgoing{.peer = spec.peer,
                      .label = label,
                      .back_label = label,
                      .hop_limit = hop,
                      .spec = spec_,
                      .sequence = static_cast<std::uint32_t>(attempt_ * spec.max_hops + hop - 1)};
    }
  }
  return std::nullopt;
}

void TraceBook::sent(const Outgoing& probe, std::uint16_t identification, Nanoseconds at) {
  const Attempt attempt{probe.spec, probe.sequence};
  sent_at(attempt) = at;
  by_identification_[identification] = attempt;
  auto& hop = hop_at(probe.spec, probe.hop_limit);
  if (hop.state != State::unsent) return;
  hop.state = State::waiting;
  ++waiting_;
}

void TraceBook::refused(const Outgoing& probe) { settle(hop_at(probe.spec, probe.hop_limit), State::moot); }

void TraceBook::settle(Hop& hop, State state) {
  if (hop.state == State::answered) return;
  if (hop.state == State::waiting) --waiting_;
  hop.state = state;
}

/// The attempt a header names, if this request sent it.
std::optional<TraceBook::Attempt> TraceBook::checked(const ProbeHeader& header) const {
  if (header.batch != request_.batch || header.spec >= request_.specs.size()) return std::nullopt;
  if (header.sequence >= request_.specs[header.spec].max_hops * std::uint32_t{request_.attempts})
    return std::nullopt;
  return Attempt{header.spec, header.sequence};
}

std::optional<TraceBook::Attempt> TraceBook::attempt_of(const Answer& answer) const {
  if (const auto* echo = std::get_if<Echo>(&answer)) {
    const auto attempt = echo->intact ? checked(echo->header) : std::nullopt;
    const bool from_peer =
        attempt && request_.peers[request_.specs[attempt->spec].peer].address == echo->from;
    return from_peer ? attempt : std::nullopt;
  }
  const auto& ran_out = std::get<HopsRanOut>(answer);
  std::optional<Attempt> attempt;
  if (ran_out.header)
    attempt = checked(*ran_out.header);
  else if (ran_out.identification)
    attempt = by_identification_[*ran_out.identification];
  if (!attempt) return std::nullopt;
  const auto& spec = request_.specs[attempt->spec];
  const bool same_flow =
      request_.peers[spec.peer].address == ran_out.destination && spec.label.value() == ran_out.label.value();
  return same_flow ? attempt : std::nullopt;
}

void TraceBook::answered(const Answer& answer, Nanoseconds at) {
  const auto attempt = attempt_of(answer);
  if (!attempt || sent_at(*attempt) == Nanoseconds(0)) return;
  auto& hop = hop_at(attempt->spec, hop_of(*attempt));
  if (hop.state != State::waiting) return;
  settle(hop, State::answered);
  // The two stamps come from two places of one host; the shorter way may look shorter than nothing.
  hop.answer.rtt = std::max(Nanoseconds(0), at - sent_at(*attempt));
  if (const auto* ran_out = std::get_if<HopsRanOut>(&answer)) {
    hop.answer.from = ran_out->from;
    return;
  }
  const auto& echo = std::get<Echo>(answer);
  hop.answer.is_peer = true;
  hop.answer.from = echo.from;
  hop.answer.rtt = std::max(Nanoseconds(0), hop.answer.rtt - echo.header.turnaround);
  for (unsigned beyond = hop.answer.hop + 1u; beyond <= request_.specs[attempt->spec].max_hops; ++beyond)
    settle(hop_at(attempt->spec, static_cast<std::uint8_t>(beyond)), State::moot);
}

bool TraceBook::again() {
  if (waiting_ == 0 || attempt_ + 1 >= request_.attempts) return false;
  ++attempt_;
  spec_ = 0;
  hop_ = 1;
  return true;
}

std::vector<HopAnswer> TraceBook::answers() const {
  std::vector<HopAnswer> result;
  std::optional<std::uint32_t> reached;  // the spec whose peer has answered already
  for (const auto& hop : hops_) {
    if (hop.state != State::answered || reached == hop.answer.spec) continue;
    result.push_back(hop.answer);
    if (hop.answer.is_peer) reached = hop.answer.spec;
  }
  return result;
}

}  // namespace weft
