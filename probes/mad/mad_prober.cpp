#include "probes/mad/mad_prober.hpp"

#include <algorithm>

#include "topology/findings/loss_runs.hpp"

namespace weft::mad {
namespace {

constexpr std::uint32_t kMaxSequence = 1'000'000;  // a number beyond it is not of our making
constexpr Nanoseconds kMaxWait = std::chrono::milliseconds(20);

/// The first `count` that are not marked; absent: too many to say which.
std::optional<std::vector<LossRun>> not_marked(const std::vector<bool>& marks, std::uint32_t count) {
  return loss_runs(count, [&](std::uint32_t i) { return i >= marks.size() || !marks[i]; });
}

/// True when it was not marked before.
bool mark(std::vector<bool>& seen, std::uint32_t sequence) {
  if (seen.size() <= sequence) seen.resize(sequence + std::size_t{1});
  if (seen[sequence]) return false;
  seen[sequence] = true;
  return true;
}

}  // namespace

Result<void> MadProber::send(const MadProbe& probe, Lid to) {
  return mads_->send({.to = to, .bytes = encode_mad_probe(probe, secrets_.key)});
}

Result<std::optional<MadArrival>> MadProber::look(Nanoseconds at_most) {
  WEFT_TRY(auto arrival, mads_->receive(at_most));
  const auto now = mads_->now();
  const bool slept = looked_ && now - *looked_ >= at_most + datapath::kLateEcho;
  is_behind_ = arrival && (is_behind_ || slept);
  looked_ = now;
  return arrival;
}

Result<void> MadProber::serve(Nanoseconds at_most) {
  WEFT_TRY(const auto arrival, look(at_most));
  if (arrival) take(*arrival);
  return {};
}

Result<void> MadProber::take_waiting() {
  const auto end = mads_->now() + datapath::kMaxLate;  // more comes all the time
  while (mads_->now() < end) {
    WEFT_TRY(const auto arrival, look(Nanoseconds(0)));
    if (!arrival) break;
    take(*arrival);
  }
  return {};
}

void MadProber::take(const MadArrival& arrival) {
  if (arrival.undelivered) return;  // ibsim tells the sender; a real fabric does not
  if (load_u8(arrival.bytes, 1) == static_cast<std::uint8_t>(MadClass::performance))
    return take_answer(arrival);
  const auto probe = decode_mad_probe(arrival.bytes, secrets_.run, secrets_.key);
  if (!probe || probe->sequence > kMaxSequence) return;
  if (probe->is_echo)
    take_echo(*probe);
  else
    take_probe(*probe);
}

/// Any answer is one, a refusal, too: the question and it came through.
void MadProber::take_answer(const MadArrival& arrival) {
  const auto header = decode_mad_header(arrival.bytes);
  if (!header || !header->is_response() || header->attribute != MadAttribute::class_port_info) return;
  const std::uint32_t number = header->transaction.value() - first_question_;
  if (number >= questions_) return;
  const auto specs = static_cast<std::uint32_t>(pending_.size());
  Pending& pending = pending_[number % specs];
  if (number / specs <= kMaxSequence && mark(pending.echoed, number / specs)) ++pending.answered;
}

void MadProber::take_probe(const MadProbe& probe) {
  const auto now = mads_->now();
  auto& [seen, tally] = counts_[probe.batch][{probe.from, probe.spec}];
  const bool is_new = mark(seen, probe.sequence);
  if (is_new) {
    if (tally.packets == 0)
      tally = {.batch = probe.batch, .from = probe.from, .spec = probe.spec, .first = now};
    ++tally.packets;
    tally.bytes += static_cast<std::uint64_t>(kMadProbeSize.count());
    tally.last = now;
  }
  if (is_over_) {
    tally.unsent += is_new ? 1 : 0;
    return;
  }
  MadProbe echo = probe;
  echo.is_echo = true;
  // An echo that cannot be sent is one that does not arrive: the prober sees that.
  if (send(echo, probe.back) && is_new && is_behind_) ++tally.late;
}

void MadProber::take_echo(const MadProbe& echo) {
  if (echo.from != own_ || echo.batch != batch_ || echo.spec >= pending_.size()) return;
  Pending& pending = pending_[echo.spec];
  if (!mark(pending.echoed, echo.sequence)) return;
  ++pending.answered;
  silent_.note_answer(pending.peer);
  const auto round_trip = mads_->now() - echo.sent;
  pending.late += round_trip >= datapath::kLateEcho ? 1 : 0;
  pending.round_trips.push_back(round_trip);
}

Result<void> MadProber::send_next(const datapath::PingRequest& request, std::uint32_t spec,
                                  std::uint32_t sequence) {
  const datapath::PingSpec& asked = request.specs[spec];
  const Lid to(static_cast<std::uint16_t>(asked.label.value()));
  const auto specs = static_cast<std::uint32_t>(request.specs.size());
  const std::uint32_t number = first_question_ + sequence * specs + spec;
  if (request.by_management)
    return mads_->send(
        {.to = to,
         .bytes = encode_mad(
             {.to = to, .mad_class = MadClass::performance, .attribute = MadAttribute::class_port_info},
             MadTransaction(number)),
         .answer_wait = request.pace.answer_wait,
         .is_urgent = false});
  return send({.run = secrets_.run,
               .batch = request.batch,
               .from = own_,
               .spec = spec,
               .sequence = sequence,
               .back = Lid(static_cast<std::uint16_t>(asked.back_label.value())),
               .sent = mads_->now()},
              to);
}

Result<std::vector<datapath::PingTally>> MadProber::ping(const datapath::PingRequest& request,
                                                         std::stop_token stop) {
  batch_ = request.batch;
  pending_.assign(request.specs.size(), {});
  for (std::size_t s = 0; s < request.specs.size(); ++s) pending_[s].peer = request.specs[s].peer;
  silent_ = datapath::SilentPeers(request.peers.size());
  std::vector<datapath::PingTally> tallies(request.specs.size());
  std::uint32_t rounds = 0;
  for (const datapath::PingSpec& spec : request.specs) rounds = std::max(rounds, spec.count);
  first_question_ += questions_;
  questions_ = request.by_management ? rounds * static_cast<std::uint32_t>(request.specs.size()) : 0;
  const Nanoseconds gap(static_cast<std::int64_t>(1e9 / std::max(request.pace.packets_per_second, 1.0)));
  auto due = mads_->now();
  // Spec after spec, then the next packet of each: what happens for a moment happens to all.
  for (std::uint32_t round = 0; round < rounds && !stop.stop_requested(); ++round)
    for (std::uint32_t s = 0; s < request.specs.size() && !stop.stop_requested(); ++s) {
      const datapath::PingSpec& spec = request.specs[s];
      if (round >= spec.count) continue;
      for (auto now = mads_->now(); now < due && !stop.stop_requested(); now = mads_->now())
        WEFT_TRY_VOID(serve(std::min(due - now, kMaxWait)));
      // Who waits for the tallies allows for some seconds, and fewer probes are worth more than none.
      if (mads_->now() > due + datapath::kMaxLate) return finish(request, std::move(tallies), stop);
      due += gap;
      const auto sent_at = mads_->now();
      WEFT_TRY_VOID(send_next(request, s, round));
      if (!tallies[s].window) tallies[s].window = TimeWindow{.start = sent_at};
      tallies[s].window->length = sent_at - tallies[s].window->start;
      ++tallies[s].sent;
      if (!request.by_management) silent_.note_sent(spec.peer);
    }
  return finish(request, std::move(tallies), stop);
}

Result<std::vector<datapath::PingTally>> MadProber::finish(const datapath::PingRequest& request,
                                                           std::vector<datapath::PingTally> tallies,
                                                           const std::stop_token& stop) {
  // Of a peer that is late the echoes come one after the other: as long as they do, more may come.
  const auto wait = request.pace.answer_wait;
  const auto latest = mads_->now() + wait + datapath::kMaxLate;
  const auto echoes = [this] {
    std::uint64_t all = 0;
    for (const Pending& pending : pending_) all += pending.answered;
    return all;
  };
  auto end = mads_->now() + wait;
  const auto until = [&] { return silent_.any() ? latest : end; };
  for (auto now = mads_->now(); now < until() && !stop.stop_requested(); now = mads_->now()) {
    const auto before = echoes();
    WEFT_TRY_VOID(serve(std::min(until() - now, kMaxWait)));
    if (echoes() > before) end = std::min(latest, mads_->now() + wait);
  }
  WEFT_TRY_VOID(take_waiting());
  for (std::uint32_t s = 0; s < tallies.size(); ++s) {
    tallies[s].spec = s;
    tallies[s].answered = pending_[s].answered;
    tallies[s].late = pending_[s].late;
    tallies[s].unanswered = not_marked(pending_[s].echoed, tallies[s].sent).value_or(std::vector<LossRun>());
    tallies[s].rtt = datapath::quantiles_of(pending_[s].round_trips);
  }
  return tallies;
}

Result<std::vector<datapath::ReceivedTally>> MadProber::received(BatchId batch) {
  is_over_ = true;  // who asks what came waits for no more echoes
  const auto taken = take_waiting();
  is_over_ = false;
  if (!taken) return pass_on(taken);
  std::vector<datapath::ReceivedTally> tallies;
  if (const auto found = counts_.find(batch); found != counts_.end())
    for (const auto& [key, count] : found->second) {
      tallies.push_back(count.tally);
      tallies.back().missing = not_marked(count.seen, static_cast<std::uint32_t>(count.seen.size()));
    }
  return tallies;
}

}  // namespace weft::mad
