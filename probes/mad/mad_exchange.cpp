#include "probes/mad/mad_exchange.hpp"

#include <algorithm>

namespace weft::mad {
namespace {

// A transaction id: generation 22 bits, attempt 3, slot 7.
constexpr std::uint32_t kSlotBits = 7;
constexpr std::uint32_t kAttemptBits = 3;
constexpr std::uint32_t kGenerationMask = (1U << 22) - 1;
constexpr std::uint32_t kMaxWindow = 1U << kSlotBits;

constexpr std::uint16_t kBusy = 0x0001;  // 13.4.7: "busy, MAD discarded"

constexpr unsigned kMaxMoments = 4;             // without an arrival, before more is asked
constexpr unsigned kMaxLooks = 4 * kMaxWindow;  // at a time: strays must not keep questions from leaving

constexpr Nanoseconds kMaxWait = std::chrono::milliseconds(100);  // so that a stop request is seen

}  // namespace

MadExchange::MadExchange(MadDialogue& dialogue, MadLimits limits)
    : dialogue_(&dialogue), limits_(limits), slots_(limits.window) {
  WEFT_CHECK(limits.window >= 1 && limits.window <= kMaxWindow);
  WEFT_CHECK(limits.attempts >= 1 && limits.attempts < (1U << kAttemptBits));
  for (std::uint32_t i = limits.window; i > 0; --i) free_.push_back(i - 1);
}

MadPacket MadExchange::attempt(std::uint32_t index, Nanoseconds now) {
  Slot& slot = slots_[index];
  const auto spacing = limits_.timeout / limits_.attempts;
  slot.resend = false;
  slot.retry_at = now + spacing;
  wake_at_ = std::min(wake_at_.value_or(slot.retry_at), slot.retry_at);
  const std::uint32_t id =
      slot.generation << (kAttemptBits + kSlotBits) | std::uint32_t{slot.attempts} << kSlotBits | index;
  ++slot.attempts;
  ++tally_.sent;
  return MadPacket{
      .to = slot.question.to, .bytes = encode_mad(slot.question, MadTransaction(id)), .answer_wait = spacing};
}

std::optional<MadPacket> MadExchange::fill(Nanoseconds now) {
  while (!resend_.empty()) {
    const std::uint32_t index = resend_.back();
    resend_.pop_back();
    if (slots_[index].in_use && slots_[index].resend) return attempt(index, now);
  }
  if (free_.empty()) return std::nullopt;
  auto question = dialogue_->next();
  exhausted_ = !question;
  if (!question) return std::nullopt;
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot = Slot{.question = *question,
              .generation = (slot.generation + 1) & kGenerationMask,
              .in_use = true,
              .give_up_at = now + limits_.timeout};
  ++in_flight_;
  ++tally_.questions;
  return attempt(index, now);
}

MadExchange::Slot* MadExchange::find(MadTransaction transaction) {
  const std::uint32_t index = transaction.value() & (kMaxWindow - 1);
  if (index >= slots_.size() || !slots_[index].in_use) return nullptr;
  const std::uint32_t generation = transaction.value() >> (kAttemptBits + kSlotBits);
  return slots_[index].generation == generation ? &slots_[index] : nullptr;
}

void MadExchange::arrived(const MadArrival& arrival) {
  const auto header = decode_mad_header(arrival.bytes);
  Slot* slot = header ? find(header->transaction) : nullptr;
  const bool fits = slot != nullptr && header->mad_class == slot->question.mad_class &&
                    header->attribute == slot->question.attribute &&
                    (arrival.undelivered || header->is_response());
  if (!fits) {
    ++tally_.stray;
    return;
  }
  const auto index = static_cast<std::uint32_t>(slot - slots_.data());
  if (arrival.undelivered) return missed(index);
  if ((header->status & kBusy) != 0) return missed(index);
  if (header->status != 0)
    return conclude(index, MadAnswer{.outcome = MadOutcome::refused, .status = header->status});
  const auto data = ByteSpan(arrival.bytes).subspan(mad_data_offset(header->mad_class));
  conclude(index, MadAnswer{.outcome = MadOutcome::answered, .data = data});
}

void MadExchange::missed(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.attempts >= limits_.attempts) return conclude(index, MadAnswer{});
  if (slot.resend) return;
  slot.resend = true;
  resend_.push_back(index);
}

void MadExchange::conclude(std::uint32_t index, const MadAnswer& answer) {
  tally_.silent += answer.outcome == MadOutcome::silent ? 1 : 0;
  tally_.refused += answer.outcome == MadOutcome::refused ? 1 : 0;
  const MadQuestion question = slots_[index].question;
  slots_[index].in_use = false;
  free_.push_back(index);
  --in_flight_;
  exhausted_ = false;  // the answer may have given rise to questions
  dialogue_->answered(question, answer);
}

void MadExchange::elapsed(Nanoseconds now) {
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (!slot.in_use) continue;
    if (now >= slot.give_up_at)
      conclude(i, MadAnswer{});
    else if (now >= slot.retry_at && slot.attempts < limits_.attempts)
      missed(i);
  }
  wake_at_ = soonest();
}

std::optional<Nanoseconds> MadExchange::soonest() const {
  std::optional<Nanoseconds> soonest;
  for (const Slot& slot : slots_) {
    if (!slot.in_use) continue;
    const auto due =
        slot.attempts < limits_.attempts ? std::min(slot.retry_at, slot.give_up_at) : slot.give_up_at;
    if (!soonest || due < *soonest) soonest = due;
  }
  return soonest;
}

namespace {

/// Takes what arrives within `wait` and, while more than half of the window is out, what follows it within a
/// few moments: a full round of questions and answers costs far less in bunches than one by one.
Result<void> take_bunch(Mads& mads, MadExchange& exchange, Nanoseconds wait) {
  if (exchange.busy()) mads.gather();
  auto arrival = mads.receive(wait);
  unsigned moments = 0;
  for (unsigned looks = 0; arrival; ++looks) {
    if (*arrival) {
      exchange.arrived(**arrival);
      moments = 0;
    } else if (exchange.busy() && moments++ < kMaxMoments) {
      mads.gather();
    } else {
      break;
    }
    if (looks == kMaxLooks) break;
    arrival = mads.receive(Nanoseconds(0));
  }
  if (!arrival) return pass_on(arrival);
  return {};
}

}  // namespace

Result<MadTally> converse(Mads& mads, MadDialogue& dialogue, const MadLimits& limits, std::stop_token stop) {
  MadExchange exchange(dialogue, limits);
  while (!stop.stop_requested()) {
    const auto now = mads.now();
    if (const auto due = exchange.wake_at(); due && now >= *due) exchange.elapsed(now);
    while (const auto packet = exchange.fill(now))
      if (const auto sent = mads.send(*packet); !sent) return pass_on(sent, "sending a MAD");
    if (exchange.done()) return exchange.tally();
    const auto wait = std::clamp(exchange.wake_at().value_or(now) - now, Nanoseconds(0), kMaxWait);
    if (const auto taken = take_bunch(mads, exchange, wait); !taken) return pass_on(taken, "receiving a MAD");
  }
  return exchange.tally();
}

}  // namespace weft::mad
