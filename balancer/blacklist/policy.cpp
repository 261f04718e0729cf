#include "balancer/blacklist/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "balancer/blacklist/ledger_step.hpp"

namespace weft::blacklist {
namespace {

constexpr double kMinToPropose = 0.5;    // likelier at fault than not
constexpr std::size_t kMaxTaken = 4096;  // runs: one each 42 s of the two days in which they count
constexpr std::size_t kMaxLines = 20;    // of evidence: whoever reads a reason wants its first lines

/// As an entry keeps them, the first and not too long: a ledger is read as a whole.
std::vector<std::string> kept_lines(std::vector<std::string> lines) {
  if (lines.size() > kMaxLines) lines.resize(kMaxLines);
  for (std::string& line : lines) {
    if (line.size() <= kMaxText) continue;
    std::size_t most = kMaxText;  // no character of UTF-8 is cut
    while (most > 0 && (static_cast<unsigned char>(line[most]) & 0xC0) == 0x80) --most;
    line.resize(most);
  }
  return lines;
}

/// What one run tells of the entries.
class Taking {
 public:
  Taking(LedgerStep& step, const Mutes& mutes, const Evidence& evidence)
      : step_(step), mutes_(mutes), evidence_(evidence) {}

  void take() {
    if (evidence_.until > step_.now.wall + kClocksApart)
      return step_.add_event(
          EventKind::refused, std::nullopt,
          fmt::format("{} ended at {} as it says, and it is {}: one of the clocks is wrong", evidence_.run,
                      weft::to_string(evidence_.until), weft::to_string(step_.now.wall)));
    if (evidence_.until < step_.now.wall - step_.policy.oldest)
      return step_.add_event(
          EventKind::refused, std::nullopt,
          fmt::format("{} ended too long ago to tell what is so at {}, or one of the clocks is wrong",
                      evidence_.run, weft::to_string(step_.now.wall)));
    const bool is_new = take_note();
    std::set<EntryId> seen;
    for (const Fault& fault : evidence_.faults)
      if (const auto id = entry_for(fault)) {
        seen.insert(*id);
        sight(*step_.book.entry(*id), fault);
      }
    if (is_new && old_faults_ + unconfirmed_ + marked_ > 0)
      step_.add_event(
          EventKind::passed_over, std::nullopt,
          fmt::format("{} ended at {}: of its faults {} are of before newer runs or a put-back, {} need "
                      "another run, {} are of links whose marks have to come off first",
                      evidence_.run, weft::to_string(evidence_.until), old_faults_, unconfirmed_, marked_));
    for (Entry& entry : step_.ledger.entries)
      if (EntryBook::is_live(entry) && !seen.contains(entry.id) && evidence_.until > entry.told_until &&
          (!entry.put_back || evidence_.from > *entry.put_back) &&
          is_clean_over(evidence_, step_.book.channels(entry), entry.cause, entry.size))
        count_clean(entry);
    if (!evidence_.of_incident) step_.ledger.told_until = std::max(step_.ledger.told_until, evidence_.until);
  }

 private:
  /// False: the run was taken before, so that it is no news what is passed over of it.
  bool take_note() {
    auto& taken = step_.ledger.taken;
    const auto too_old = std::ranges::lower_bound(taken, step_.now.wall - step_.policy.oldest);
    taken.erase(taken.begin(), too_old);
    const auto at = std::ranges::lower_bound(taken, evidence_.until);
    if (at != taken.end() && *at == evidence_.until) return false;
    taken.insert(at, evidence_.until);
    if (taken.size() > kMaxTaken) taken.erase(taken.begin());
    return true;
  }

  static std::optional<EntryId> pass_over(std::size_t& faults) {
    ++faults;
    return std::nullopt;
  }

  /// The entry that this fault is a sign of, a new one where there is none. Absent: it says nothing new, our
  /// own marks caused it, or nobody wants to hear of it.
  std::optional<EntryId> entry_for(const Fault& fault) {
    if (!(fault.confidence >= kMinToPropose) || fault.verdict < Verdict::degraded ||
        indicates_miswiring(fault))
      return std::nullopt;
    const auto channels = channels_of(step_.fabric, fault.subject);
    const auto all = [&](auto is_so) {
      return std::ranges::all_of(channels, [&](ChannelId at) { return is_so(Fabric::link_of(at)); });
    };
    if (all([&](LinkId link) { return step_.book.is_taken_out(link); })) return std::nullopt;
    if (muting(step_.fabric, mutes_, {.channels = channels, .nodes = {}}, step_.now.wall.time_since_epoch()))
      return std::nullopt;
    if (all([&](LinkId link) { return step_.book.is_taken_out(link) || step_.book.is_left_marked(link); }))
      return pass_over(marked_);
    if (all([&](LinkId link) { return evidence_.from <= step_.book.put_back(link); }))
      return pass_over(old_faults_);
    if (const Entry* entry = step_.book.covering(fault.subject))
      return evidence_.until > entry->told_until ? entry->id : pass_over(old_faults_);
    const auto& same = step_.book.named(name_of(step_.fabric, fault.subject));
    if (std::ranges::any_of(same,
                            [&](EntryId id) { return evidence_.until <= step_.book.entry(id)->told_until; }))
      return pass_over(old_faults_);  // of before its release
    Entry& made = step_.book.add({.cause = fault.cause,
                                  .verdict = fault.verdict,
                                  .author = std::string(kAuthor),
                                  .first_seen = evidence_.until},
                                 fault.subject);
    step_.add_event(EventKind::proposed, made.id,
                    fmt::format("{}: {}, confidence {:.3f}", words(made), weft::to_string(fault.cause),
                                fault.confidence));
    return made.id;
  }

  void sight(Entry& entry, const Fault& fault) {
    entry.last_seen = entry.told_until = evidence_.until;
    entry.clean = Seconds(0), entry.clean_at.reset();
    // Of a part of what is out of use as a whole: that is not well, and no more.
    if (effect_of(step_.fabric, fault.subject, step_.policy.nic_action) != step_.book.effect(entry)) return;
    entry.cause = fault.cause, entry.verdict = fault.verdict;
    entry.confidence = fault.confidence, entry.size = fault.size;
    entry.evidence = kept_lines(fault.evidence);
    if (!step_.is_automatic(entry)) entry.needs_approval = true;
    const bool suffices = confirms(entry, fault);
    if (suffices) entry.supported = true;
    // Of work that was planned no run has shown that anything was at fault.
    if (entry.state == EntryState::probation && (!entry.by_hand || suffices)) entry.relapsed = true;
  }

  /// Whether the evidence suffices with this run. One that is older than others which were taken does not by
  /// itself: they told nothing of it.
  bool confirms(Entry& entry, const Fault& fault) {
    if (fault.confidence >= step_.policy.confirmed) {
      const auto& first = entry.first_sure;
      if (!first)
        entry.first_sure = Sighting{evidence_.run, evidence_.from, evidence_.until};
      else if (first->run != evidence_.run && first->until < evidence_.from)
        return true;
    }
    if (fault.confidence < step_.policy.sure) return false;
    const bool is_late = evidence_.until < step_.ledger.told_until;
    unconfirmed_ += is_late && !entry.supported ? 1 : 0;
    return !is_late;
  }

  /// Between two clean runs it was clean.
  void count_clean(Entry& entry) {
    if (entry.clean_at)
      entry.clean += std::min(step_.ledger.time - *entry.clean_at, step_.policy.longest_gap);
    entry.clean_at = step_.ledger.time;
    entry.told_until = evidence_.until;
  }

  LedgerStep& step_;
  const Mutes& mutes_;
  const Evidence& evidence_;
  std::size_t old_faults_ = 0, unconfirmed_ = 0, marked_ = 0;
};

/// What an operator says.
class Obeying {
 public:
  explicit Obeying(LedgerStep& step) : step_(step) {}

  void operator()(const Add& given) {
    const auto name = name_of(step_.fabric, given.subject);
    for (const EntryId id : step_.book.named(name))
      if (Entry* entry = step_.book.entry(id); EntryBook::is_live(*entry) && entry->by_hand) {
        entry->ends = step_.ledger.time + given.length;
        entry->reason = given.reason, entry->author = given.author;
        entry->approved = entry->supported = true, entry->held = false;
        if (entry->state == EntryState::probation) entry->state = EntryState::proposed;
        return step_.add_event(EventKind::approved, id, words(*entry) + ": for another time", given.author);
      }
    Entry& made = step_.book.add({.author = given.author,
                                  .reason = given.reason,
                                  .by_hand = true,
                                  .approved = true,
                                  .supported = true,
                                  .first_seen = step_.now.wall,
                                  .last_seen = step_.now.wall,
                                  .ends = step_.ledger.time + given.length},
                                 given.subject);
    step_.add_event(EventKind::proposed, made.id, fmt::format("{}: {}", words(made), given.reason),
                    given.author);
  }
  void operator()(const Release& given) {
    Entry* entry = open_entry(given.id, given.author);
    if (!entry) return;
    step_.change(*entry, EntryState::released, EventKind::released, "by hand", given.author);
    entry->put_back = step_.now.wall;
  }
  void operator()(const Approve& given) {
    Entry* entry = open_entry(given.id, given.author);
    if (!entry) return;
    entry->approved = entry->supported = true, entry->held = false;
    step_.add_event(EventKind::approved, entry->id, words(*entry), given.author);
  }
  void operator()(const Hold& given) {
    Entry* entry = open_entry(given.id, given.author);
    if (!entry) return;
    entry->held = true, entry->approved = false;
    step_.change(*entry, EntryState::proposed, EventKind::held, given.reason, given.author);
  }
  /// What the newest run says holds; the rest has to be seen again.
  void operator()(const Resume& given) {
    step_.ledger.breaker.reset();
    for (Entry& entry : step_.ledger.entries)
      if (entry.state == EntryState::proposed && !entry.approved && entry.last_seen < step_.ledger.told_until)
        entry.supported = false, entry.first_sure.reset();
    step_.add_event(EventKind::resumed, std::nullopt, "entries may become active again", given.author);
  }

 private:
  Entry* open_entry(EntryId id, const std::string& author) {
    Entry* entry = step_.book.entry(id);
    if (entry && entry->state != EntryState::released) return entry;
    step_.add_event(EventKind::refused, id, entry ? "it is released" : "there is no such entry", author);
    return nullptr;
  }

  LedgerStep& step_;
};

}  // namespace

Stepped step(Ledger ledger, const Fabric& fabric, const Policy& policy, std::span<const Evidence> evidence,
             std::span<const Command> commands, const Mutes& mutes, const Now& now) {
  std::vector<const Evidence*> ordered;
  for (const Evidence& one : evidence) ordered.push_back(&one);
  std::ranges::stable_sort(ordered, {}, &Evidence::until);
  LedgerStep step(std::move(ledger), fabric, policy, now);
  for (const Evidence* one : ordered) Taking(step, mutes, *one).take();
  for (const Command& command : commands) std::visit(Obeying(step), command);
  const bool is_command = evidence.empty() && !commands.empty();
  step.let_all_pass(is_command ? Ends::by_time : Ends::by_evidence);
  if (!is_command) step.try_one();
  const auto resumes = [](const Command& one) { return std::holds_alternative<Resume>(one); };
  step.activate(std::ranges::none_of(commands, resumes));
  return std::move(step).end();
}

Stepped let_time_pass(Ledger ledger, const Fabric& fabric, const Policy& policy, const Now& now) {
  LedgerStep step(std::move(ledger), fabric, policy, now);
  step.let_all_pass(Ends::by_time);
  return std::move(step).end();
}

}  // namespace weft::blacklist
