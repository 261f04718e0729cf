#include "probes/datapath/ping_book.hpp"

#include <algorithm>

#include "probes/packet/address_words.hpp"
#include "topology/findings/loss_runs.hpp"

namespace weft::datapath {

PingBook::PingBook(const PingRequest& request, bool waits_for_silent)
    : request_(request),
      silent_(request.peers.size()),
      waits_for_silent_(waits_for_silent),
      rtts_(request.specs.size()) {
  std::size_t total = 0;
  for (std::uint32_t spec = 0; spec < request.specs.size(); ++spec) {
    first_attempt_.push_back(total);
    total += request.specs[spec].count;
    most_ = std::max(most_, request.specs[spec].count);
    tallies_.push_back({.spec = spec});
    rtts_[spec].reserve(request.specs[spec].count);
  }
  attempts_.resize(total);
  given_.resize(request.specs.size());
}

std::optional<Outgoing> PingBook::next() {
  for (; turn_ < most_; ++turn_, spec_ = 0) {
    while (spec_ < request_.specs.size()) {
      const auto index = spec_++;
      const auto& spec = request_.specs[index];
      std::uint32_t& given = given_[index];
      if (due_before(turn_ + 1, index) == given) continue;
      return Outgoing{.peer = spec.peer,
                      .label = UdpPort(static_cast<std::uint16_t>(spec.label.value())),
                      .back_label = UdpPort(static_cast<std::uint16_t>(spec.back_label.value())),
                      .spec = index,
                      .sequence = given++,
                      .size = static_cast<std::size_t>(spec.size.count())};
    }
  }
  return std::nullopt;
}

std::uint32_t PingBook::due_before(std::uint32_t turn, std::uint32_t spec) const {
  if (request_.specs[spec].count == most_) return turn;
  const std::uint64_t specs = request_.specs.size();
  const std::uint64_t all = most_ * specs;
  return static_cast<std::uint32_t>((turn * specs * request_.specs[spec].count + most_ * (specs - 1 - spec)) /
                                    all);
}

void PingBook::sent(const Outgoing& probe, std::uint16_t, Nanoseconds at) {
  attempts_[first_attempt_[probe.spec] + probe.sequence] = {at, Attempt::State::waiting};
  ++tallies_[probe.spec].sent;
  silent_.note_sent(probe.peer);
  ++waiting_;
}

void PingBook::answered(const Answer& answer, Nanoseconds at) {
  const auto* echo = std::get_if<Echo>(&answer);
  if (!echo || echo->header.batch != request_.batch || echo->header.spec >= request_.specs.size()) return;
  const auto index = echo->header.spec;
  const auto& spec = request_.specs[index];
  if (echo->header.sequence >= spec.count || !packet::is_same(echo->from, request_.peers[spec.peer].address))
    return;
  auto& attempt = attempts_[first_attempt_[index] + echo->header.sequence];
  if (attempt.state != Attempt::State::waiting) return;
  attempt.state = Attempt::State::settled;
  --waiting_;
  silent_.note_answer(spec.peer);
  if (!echo->intact) {
    ++tallies_[index].corrupt;
    return;
  }
  ++tallies_[index].answered;
  if (at - attempt.sent_at >= kLateEcho) ++tallies_[index].late;
  // Stamps of sending and receiving come from two places of one host: a very short way may look shorter than
  // nothing.
  rtts_[index].push_back(std::max(Nanoseconds(0), at - attempt.sent_at - echo->header.turnaround));
}

std::vector<PingTally> PingBook::tallies() const {
  auto result = tallies_;
  for (std::uint32_t spec = 0; spec < result.size(); ++spec) {
    result[spec].rtt = quantiles_of(rtts_[spec]);
    record_order(result[spec]);
  }
  return result;
}

void PingBook::record_order(PingTally& tally) const {
  if (tally.sent == 0) return;
  const Attempt* const attempts = &attempts_[first_attempt_[tally.spec]];
  // A spec's packets go in order: none after one that was never sent.
  tally.window = TimeWindow{attempts[0].sent_at, attempts[tally.sent - 1].sent_at - attempts[0].sent_at};
  auto unanswered = loss_runs(tally.sent, [attempts](std::uint32_t packet) {
    return attempts[packet].state == Attempt::State::waiting;
  });
  if (unanswered) tally.unanswered = std::move(*unanswered);
}

std::optional<RttQuantiles> quantiles_of(std::vector<Nanoseconds> rtts) {
  if (rtts.empty()) return std::nullopt;
  const auto nth = [&](std::size_t percent) {
    return rtts.begin() + static_cast<std::ptrdiff_t>((rtts.size() * percent + 99) / 100 - 1);
  };
  const auto p50 = nth(50), p99 = nth(99);
  std::nth_element(rtts.begin(), p50, rtts.end());
  RttQuantiles quantiles{.p50 = *p50};
  std::nth_element(p50, p99, rtts.end());  // none of these is below the median
  quantiles.p99 = *p99;
  return quantiles;
}

}  // namespace weft::datapath
