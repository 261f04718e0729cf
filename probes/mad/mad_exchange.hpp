// MadExchange: many questions in flight over one Mads. A MadDialogue says what to ask next and takes the
// answers; new questions may follow from an answer. Each question is answered exactly once: by its data, by
// a refusal, or by silence after all attempts. Replies may come in any order, late or twice.
// Legal order: fill() and send what it gives, arrived() and elapsed() as time goes, until done().
#pragma once

#include <algorithm>
#include <stop_token>
#include <vector>

#include "probes/mad/mads.hpp"

namespace weft::mad {

enum class MadOutcome : std::uint8_t { answered, refused, silent };

struct MadAnswer {
  MadOutcome outcome = MadOutcome::silent;
  std::uint16_t status = 0;  // of a refusal
  ByteSpan data;             // of an answer: the attribute's data; valid during the call only
};

class MadDialogue {
 public:
  virtual ~MadDialogue() = default;
  /// What to ask next; nothing when there is nothing to ask before another answer.
  virtual std::optional<MadQuestion> next() = 0;
  virtual void answered(const MadQuestion& question, const MadAnswer& answer) = 0;
};

struct MadLimits {
  std::uint32_t window = 64;  // in flight at once; at most 128: more deadlocks ibsim's preload library
  /// For one question in all: its attempts are spread over it, so that a node that is silent costs one such
  /// time however often it is asked.
  Nanoseconds timeout = std::chrono::milliseconds(600);
  std::uint8_t attempts = 3;  // at most 7
};

struct MadTally {
  std::uint64_t questions = 0;
  std::uint64_t sent = 0;  // attempts
  std::uint64_t silent = 0;
  std::uint64_t refused = 0;
  std::uint64_t stray = 0;  // arrivals that answered nothing in flight: late, double, not ours
};

class MadExchange {
 public:
  MadExchange(MadDialogue& dialogue, MadLimits limits);

  /// The next packet to send now; nothing when the window is full or there is nothing to ask.
  std::optional<MadPacket> fill(Nanoseconds now);
  void arrived(const MadArrival& arrival);
  /// Gives up on, or asks again, what has waited too long.
  void elapsed(Nanoseconds now);
  /// When elapsed() may have something to do next, not later than it has; absent: never yet. An answer does
  /// not move it: that would mean a look at all questions for each.
  std::optional<Nanoseconds> wake_at() const { return in_flight_ == 0 ? std::nullopt : wake_at_; }
  bool done() const { return in_flight_ == 0 && exhausted_; }
  /// More than half of the window is in flight: there are answers enough to take them in one go.
  bool busy() const { return in_flight_ > std::max(limits_.window / 2, kMin); }
  const MadTally& tally() const { return tally_; }

 private:
  struct Slot {
    MadQuestion question;
    std::uint32_t generation = 0;  // of the question that holds this slot; 22 bits
    std::uint8_t attempts = 0;     // sent so far
    bool in_use = false;
    bool resend = false;
    Nanoseconds retry_at{};
    Nanoseconds give_up_at{};
  };
  MadPacket attempt(std::uint32_t index, Nanoseconds now);
  void conclude(std::uint32_t index, const MadAnswer& answer);
  static constexpr std::uint32_t kMin = 4;  // a bunch that is worth a pause
  Slot* find(MadTransaction transaction);
  void missed(std::uint32_t index);
  std::optional<Nanoseconds> soonest() const;

  MadDialogue* dialogue_;
  MadLimits limits_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> resend_;
  std::uint32_t in_flight_ = 0;
  bool exhausted_ = false;
  std::optional<Nanoseconds> wake_at_;
  MadTally tally_;
};

/// Runs `dialogue` over `mads` to its end. An error is the carrier's own; a stop request ends it early with
/// the questions in flight unanswered.
Result<MadTally> converse(Mads& mads, MadDialogue& dialogue, const MadLimits& limits = {},
                          std::stop_token stop = {});

}  // namespace weft::mad
