#include "probes/datapath/prober.hpp"

#include <algorithm>
#include <vector>

#include "probes/datapath/exchange.hpp"
#include "probes/datapath/peer_routes.hpp"
#include "probes/datapath/ping_book.hpp"

namespace weft::datapath {
namespace {

/// TraceBook: what a trace has sent and learnt. Hops 1..max_hops of each spec are asked at once; one that
/// stays silent is asked again, up to the number of attempts; hops beyond the peer's own echo do not count.
/// Pure.
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
    std::uint32_t sequence;  // attempt * hops() + hop - first_hop
  };

  std::uint8_t hop_of(const Attempt& attempt) const;
  Hop& hop_at(std::uint32_t spec, std::uint8_t hop) {
    return hops_[begin_of_[spec] + hop - request_.specs[spec].first_hop];
  }
  Nanoseconds& sent_at(const Attempt& attempt);
  std::optional<Attempt> attempt_of(const Answer& answer) const;
  std::optional<Attempt> checked(const packet::ProbeHeader& header) const;
  void settle(Hop& hop, State state);

  const TraceRequest& request_;
  std::vector<std::size_t> begin_of_;  // of each spec, into hops_
  std::vector<Hop> hops_;
  std::vector<Nanoseconds> sent_at_;  // per hop and attempt; zero: not sent
  std::vector<std::optional<Attempt>> by_identification_;
  std::uint32_t spec_ = 0;    // the next to send
  std::uint32_t passed_ = 0;  // of its hops
  std::uint8_t attempt_ = 0;
  std::size_t waiting_ = 0;
};

TraceBook::TraceBook(const TraceRequest& request) : request_(request), by_identification_(0x10000) {
  std::size_t total = 0;
  for (std::uint32_t spec = 0; spec < request.specs.size(); ++spec) {
    begin_of_.push_back(total);
    total += request.specs[spec].hops();
    for (std::uint8_t hop = request.specs[spec].first_hop; hop <= request.specs[spec].max_hops; ++hop)
      hops_.push_back({.answer = {.spec = spec, .hop = hop}});
  }
  sent_at_.resize(total * request.attempts);
}

std::uint8_t TraceBook::hop_of(const Attempt& attempt) const {
  const TraceSpec& spec = request_.specs[attempt.spec];
  return static_cast<std::uint8_t>(attempt.sequence % spec.hops() + spec.first_hop);
}

Nanoseconds& TraceBook::sent_at(const Attempt& attempt) {
  return sent_at_[begin_of_[attempt.spec] * request_.attempts + attempt.sequence];
}

std::optional<Outgoing> TraceBook::next() {
  const auto wanted = attempt_ == 0 ? State::unsent : State::waiting;
  for (; spec_ < request_.specs.size(); ++spec_, passed_ = 0) {
    const auto& spec = request_.specs[spec_];
    while (passed_ < spec.hops()) {
      const auto hop = static_cast<std::uint8_t>(spec.first_hop + passed_++);
      if (hop_at(spec_, hop).state != wanted) continue;
      const auto label = UdpPort(static_cast<std::uint16_t>(spec.label.value()));
      return Outgoing{.peer = spec.peer,
                      .label = label,
                      .back_label = label,
                      .hop_limit = hop,
                      .spec = spec_,
                      .sequence = attempt_ * spec.hops() + hop - spec.first_hop,
                      .size = static_cast<std::size_t>(spec.fields.size.value_or(Bytes(0)).count()),
                      .fields = &spec.fields};
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
std::optional<TraceBook::Attempt> TraceBook::checked(const packet::ProbeHeader& header) const {
  if (header.batch != request_.batch || header.spec >= request_.specs.size()) return std::nullopt;
  if (header.sequence >= request_.specs[header.spec].hops() * std::uint32_t{request_.attempts})
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
  passed_ = 0;
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

constexpr std::size_t kMaxProbes = std::size_t{1} << 24;  // of one request: its bookkeeping stays below 1 GB
constexpr Nanoseconds kSlack = std::chrono::seconds(5);   // for a host that is slow to schedule us

Result<std::size_t> count_probes(const TraceRequest& request) {
  if (request.attempts == 0) return fail(ErrorKind::usage, "a trace of no attempts");
  std::size_t total = 0;
  for (std::size_t i = 0; i < request.specs.size(); ++i) {
    const auto& spec = request.specs[i];
    if (auto ok = check_spec(i, spec.peer, request.peers.size(), spec.label); !ok) return pass_on(ok);
    if (spec.max_hops == 0 || spec.max_hops == 255)
      return fail(ErrorKind::usage, "spec {}: {} hops: expected 1 to 254", i, spec.max_hops);
    if (spec.first_hop == 0 || spec.first_hop > spec.max_hops)
      return fail(ErrorKind::usage, "spec {}: from hop {}: expected 1 to {}", i, spec.first_hop,
                  spec.max_hops);
    if (!are_possible(spec.fields))
      return fail(ErrorKind::usage,
                  "spec {}: fields that no packet has: a queue pair of 24 bits and a flow "
                  "label of 20 are the most",
                  i);
    total += std::size_t{spec.hops()} * request.attempts;
  }
  return total;
}

Result<std::size_t> count_probes(const PingRequest& request) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < request.specs.size(); ++i) {
    const auto& spec = request.specs[i];
    if (auto ok = check_spec(i, spec.peer, request.peers.size(), spec.label); !ok) return pass_on(ok);
    if (auto ok = check_spec(i, spec.peer, request.peers.size(), spec.back_label); !ok) return pass_on(ok);
    if (spec.size.count() < 0 || spec.size.count() > 0xFFFF)
      return fail(ErrorKind::usage, "spec {}: {} bytes: expected at most 65535", i, spec.size.count());
    total += spec.count;
  }
  return total;
}

template <class Request>
Result<void> converse(const ExchangeContext& context, NextHops& next_hops, const Request& request,
                      unsigned attempts, ProbeBook& book, std::size_t probes, const std::stop_token& stop) {
  WEFT_TRY(const auto macs, find_next_hops(next_hops, request.peers));
  const auto pace = request.pace.packets_per_second;
  const auto sending = pace > 0 ? static_cast<double>(probes) / pace : 0.0;
  const auto limit =
      Nanoseconds(static_cast<std::int64_t>(sending * 1.5e9)) + request.pace.answer_wait * attempts + kSlack;
  return exchange(context, {request.batch, request.peers, macs, request.pace, limit}, book, stop);
}

/// What is wrong with a request, whichever it is; nothing where it may go.
template <class Request>
Result<std::size_t> check(const Request& request, const ExchangeContext& context) {
  if (auto ok = check_peers(request.run, context.secrets, request.peers, context.nic); !ok)
    return pass_on(ok);
  const auto probes = count_probes(request);
  if (probes && *probes > kMaxProbes)
    return fail(ErrorKind::usage, "{} probes in one request: split it, at most {} go at once", *probes,
                kMaxProbes);
  return probes;
}

}  // namespace

Result<std::vector<HopAnswer>> Prober::trace(const TraceRequest& request, std::stop_token stop) {
  WEFT_TRY(const auto probes, check(request, context_));
  TraceBook book(request);
  if (auto ok = converse(context_, next_hops_, request, request.attempts, book, probes, stop); !ok)
    return pass_on(ok);
  return book.answers();
}

Result<std::vector<PingTally>> Prober::ping(const PingRequest& request, std::stop_token stop,
                                            bool waits_for_silent) {
  WEFT_TRY(const auto probes, check(request, context_));
  PingBook book(request, waits_for_silent);
  static_cast<void>(context_.port.overruns());  // of what came before
  if (auto ok = converse(context_, next_hops_, request, 1, book, probes, stop); !ok) return pass_on(ok);
  auto tallies = book.tallies();
  const auto dropped = context_.port.overruns();
  for (PingTally& tally : tallies) tally.dropped = dropped;
  return tallies;
}

}  // namespace weft::datapath
