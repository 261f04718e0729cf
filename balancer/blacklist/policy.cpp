#include "balancer/blacklist/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "balancer/blacklist/admission.hpp"
#include "balancer/blacklist/entry_book.hpp"
#include "balancer/blacklist/entry_turn.hpp"

namespace weft::blacklist {
namespace {

constexpr double kMinToPropose = 0.5;                   // likelier at fault than not
constexpr auto kClocksApart = std::chrono::minutes(5);  // of the machine that swept and this one
constexpr std::string_view kAuthor = "weft";
constexpr std::size_t kMaxTaken = 4096;  // runs: one each 42 s of the two days in which they count
constexpr std::size_t kMaxLines = 20;    // of evidence: whoever reads a reason wants its first lines

std::string words(const Entry& entry) {
  return fmt::format("{} {}", to_string(entry.subject.kind), entry.subject.name);
}

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

/// One step: evidence, commands, then finish().
class Stepper {
 public:
  Stepper(Ledger ledger, const Fabric& fabric, const Policy& policy, const Mutes& mutes, const Now& now)
      : ledger_(std::move(ledger)),
        fabric_(fabric),
        policy_(policy),
        mutes_(mutes),
        now_(now),
        ahead_(set_back(ledger_, now.wall + kClocksApart, now.wall)),
        book_(ledger_, fabric, policy.nic_action) {
    count_time(ledger_, now);
    ledger_.nic_action = policy.nic_action;
    for (const auto& [id, why] : book_.newly_lost())
      tell(EventKind::refused, id, why + "; it stays as it is until it is released");
    if (ahead_)
      tell(EventKind::clock_set, std::nullopt,
           fmt::format("the ledger told of up to {}, and it is {}: a clock was ahead; runs from now on count",
                       weft::to_string(*ahead_), weft::to_string(now_.wall)));
  }

  void take(const Evidence& evidence) {
    if (evidence.until > now_.wall + kClocksApart)
      return tell(EventKind::refused, std::nullopt,
                  fmt::format("{} ended at {} as it says, and it is {}: one of the clocks is wrong",
                              evidence.run, weft::to_string(evidence.until), weft::to_string(now_.wall)));
    if (evidence.until < now_.wall - policy_.oldest)
      return tell(EventKind::refused, std::nullopt,
                  fmt::format("{} ended too long ago to tell what is so at {}, or one of the clocks is wrong",
                              evidence.run, weft::to_string(now_.wall)));
    const bool is_new = take_note(evidence.until);
    std::set<EntryId> seen;
    old_faults_ = unconfirmed_ = marked_ = 0;
    for (const Fault& fault : evidence.faults)
      if (const auto id = entry_for(fault, evidence)) {
        seen.insert(*id);
        sight(*book_.entry(*id), fault, evidence);
      }
    if (is_new && old_faults_ + unconfirmed_ + marked_ > 0)
      tell(EventKind::passed_over, std::nullopt,
           fmt::format("{} ended at {}: of its faults {} are of before newer runs or a put-back, {} need "
                       "another run, {} are of links whose marks have to come off first",
                       evidence.run, weft::to_string(evidence.until), old_faults_, unconfirmed_, marked_));
    for (Entry& entry : ledger_.entries)
      if (EntryBook::is_live(entry) && !seen.contains(entry.id) && evidence.until > entry.told_until &&
          (!entry.put_back || evidence.from > *entry.put_back) &&
          is_clean_over(evidence, book_.channels(entry), entry.cause, entry.size))
        count_clean(entry, evidence);
    if (!evidence.of_incident) ledger_.told_until = std::max(ledger_.told_until, evidence.until);
  }

  void obey(const Command& command) {
    std::visit([this](const auto& given) { on(given); }, command);
  }

  void let_all_pass(Ends ends) {
    for (Entry& entry : ledger_.entries)
      if (EntryBook::is_live(entry)) let_pass(entry, ends);
  }
  Stepped finish(Ends ends) {
    let_all_pass(ends);
    if (ends == Ends::by_evidence) try_one();
    activate();
    return end();
  }
  Stepped end() {
    std::erase_if(ledger_.drained, [&](Seconds at) { return at + std::chrono::hours(1) <= ledger_.time; });
    std::erase_if(ledger_.entries, [&](const Entry& entry) {
      return entry.state == EntryState::released && entry.marks.empty() &&
             entry.last_seen + kOffencesCount < now_.wall && entry.since + kOffencesCount < ledger_.time;
    });
    return {std::move(ledger_), std::move(events_)};
  }

 private:
  void tell(EventKind kind, std::optional<EntryId> entry, std::string text,
            std::string author = std::string(kAuthor)) {
    events_.push_back({kind, entry, std::move(text), std::move(author)});
  }

  /// Of a run that ended then; false: it was taken before, so that it is no news what is passed over of it.
  bool take_note(UtcTime until) {
    auto& taken = ledger_.taken;
    const auto too_old = std::ranges::lower_bound(taken, now_.wall - policy_.oldest);
    taken.erase(taken.begin(), too_old);
    const auto at = std::ranges::lower_bound(taken, until);
    if (at != taken.end() && *at == until) return false;
    taken.insert(at, until);
    if (taken.size() > kMaxTaken) taken.erase(taken.begin());
    return true;
  }

  static std::optional<EntryId> pass_over(std::size_t& faults) {
    ++faults;
    return std::nullopt;
  }

  /// The entry that this fault is a sign of, a new one where there is none. Absent: it says nothing new, our
  /// own marks caused it, or nobody wants to hear of it.
  std::optional<EntryId> entry_for(const Fault& fault, const Evidence& evidence) {
    if (!(fault.confidence >= kMinToPropose) || fault.verdict < Verdict::degraded ||
        tells_of_miswiring(fault))
      return std::nullopt;
    const auto channels = channels_of(fabric_, fault.subject);
    const auto all = [&](auto is_so) {
      return std::ranges::all_of(channels, [&](ChannelId at) { return is_so(Fabric::link_of(at)); });
    };
    if (all([&](LinkId link) { return book_.is_taken_out(link); })) return std::nullopt;
    if (muting(fabric_, mutes_, {.channels = channels, .nodes = {}}, now_.wall.time_since_epoch()))
      return std::nullopt;
    if (all([&](LinkId link) { return book_.is_taken_out(link) || book_.is_left_marked(link); }))
      return pass_over(marked_);
    if (all([&](LinkId link) { return evidence.from <= book_.put_back(link); }))
      return pass_over(old_faults_);
    if (const Entry* entry = book_.covering(fault.subject))
      return evidence.until > entry->told_until ? entry->id : pass_over(old_faults_);
    const auto& same = book_.named(name_of(fabric_, fault.subject));
    if (std::ranges::any_of(same, [&](EntryId id) { return evidence.until <= book_.entry(id)->told_until; }))
      return pass_over(old_faults_);  // of before its release
    Entry& made = book_.add({.cause = fault.cause,
                             .verdict = fault.verdict,
                             .author = std::string(kAuthor),
                             .first_seen = evidence.until},
                            fault.subject);
    tell(EventKind::proposed, made.id,
         fmt::format("{}: {}, confidence {:.3f}", words(made), weft::to_string(fault.cause),
                     fault.confidence));
    return made.id;
  }

  void sight(Entry& entry, const Fault& fault, const Evidence& evidence) {
    entry.last_seen = entry.told_until = evidence.until;
    entry.clean = Seconds(0), entry.clean_at.reset();
    // Of a part of what is out of use as a whole: that is not well, and no more.
    if (effect_of(fabric_, fault.subject, policy_.nic_action) != book_.effect(entry)) return;
    entry.cause = fault.cause, entry.verdict = fault.verdict;
    entry.confidence = fault.confidence, entry.size = fault.size;
    entry.evidence = kept_lines(fault.evidence);
    if (!is_automatic(entry)) entry.needs_approval = true;
    const bool suffices = confirms(entry, fault, evidence);
    if (suffices) entry.supported = true;
    // Of work that was planned no run has shown that anything was at fault.
    if (entry.state == EntryState::probation && (!entry.by_hand || suffices)) entry.relapsed = true;
  }

  /// Whether the evidence suffices with this run. One that is older than others which were taken does not by
  /// itself: they told nothing of it.
  bool confirms(Entry& entry, const Fault& fault, const Evidence& evidence) {
    if (fault.confidence >= policy_.confirmed) {
      const auto& first = entry.first_sure;
      if (!first)
        entry.first_sure = Sighting{evidence.run, evidence.from, evidence.until};
      else if (first->run != evidence.run && first->until < evidence.from)
        return true;
    }
    if (fault.confidence < policy_.sure) return false;
    const bool is_late = evidence.until < ledger_.told_until;
    unconfirmed_ += is_late && !entry.supported ? 1 : 0;
    return !is_late;
  }

  /// Between two clean runs it was clean.
  void count_clean(Entry& entry, const Evidence& evidence) {
    if (entry.clean_at) entry.clean += std::min(ledger_.time - *entry.clean_at, policy_.longest_gap);
    entry.clean_at = ledger_.time;
    entry.told_until = evidence.until;
  }

  void on(const Add& given) {
    const auto name = name_of(fabric_, given.subject);
    for (const EntryId id : book_.named(name))
      if (Entry* entry = book_.entry(id); EntryBook::is_live(*entry) && entry->by_hand) {
        entry->ends = ledger_.time + given.length;
        entry->reason = given.reason, entry->author = given.author;
        entry->approved = entry->supported = true, entry->held = false;
        if (entry->state == EntryState::probation) entry->state = EntryState::proposed;
        return tell(EventKind::approved, id, words(*entry) + ": for another time", given.author);
      }
    Entry& made = book_.add({.author = given.author,
                             .reason = given.reason,
                             .by_hand = true,
                             .approved = true,
                             .supported = true,
                             .first_seen = now_.wall,
                             .last_seen = now_.wall,
                             .ends = ledger_.time + given.length},
                            given.subject);
    tell(EventKind::proposed, made.id, fmt::format("{}: {}", words(made), given.reason), given.author);
  }
  void on(const Release& given) {
    Entry* entry = open_entry(given.id, given.author);
    if (!entry) return;
    change(*entry, EntryState::released, EventKind::released, "by hand", given.author);
    entry->put_back = now_.wall;
  }
  void on(const Approve& given) {
    Entry* entry = open_entry(given.id, given.author);
    if (!entry) return;
    entry->approved = entry->supported = true, entry->held = false;
    tell(EventKind::approved, entry->id, words(*entry), given.author);
  }
  void on(const Hold& given) {
    Entry* entry = open_entry(given.id, given.author);
    if (!entry) return;
    entry->held = true, entry->approved = false;
    change(*entry, EntryState::proposed, EventKind::held, given.reason, given.author);
  }
  /// What the newest run says holds; the rest has to be seen again.
  void on(const Resume& given) {
    ledger_.breaker.reset();
    resumed_ = true;
    for (Entry& entry : ledger_.entries)
      if (entry.state == EntryState::proposed && !entry.approved && entry.last_seen < ledger_.told_until)
        entry.supported = false, entry.first_sure.reset();
    tell(EventKind::resumed, std::nullopt, "entries may become active again", given.author);
  }
  Entry* open_entry(EntryId id, const std::string& author) {
    Entry* entry = book_.entry(id);
    if (entry && entry->state != EntryState::released) return entry;
    tell(EventKind::refused, id, entry ? "it is released" : "there is no such entry", author);
    return nullptr;
  }

  void change(Entry& entry, EntryState to, EventKind kind, std::string_view why,
              std::string author = std::string(kAuthor)) {
    entry.state = to;
    entry.since = ledger_.time;
    entry.clean = Seconds(0), entry.clean_at.reset();
    entry.held_back.reset();
    entry.relapsed = false;
    if (to == EntryState::probation || to == EntryState::released) entry.ends.reset();
    if (to == EntryState::probation) entry.first_sure.reset();
    tell(kind, entry.id, fmt::format("{}: {}", words(entry), why), std::move(author));
  }

  void let_pass(Entry& entry, Ends ends) {
    const auto turn = turn_of(policy_, entry, ledger_.time, ends);
    if (!turn) return;
    if (turn->is_put_back) entry.put_back = now_.wall;
    change(entry, turn->to, turn->kind, turn->why);
  }

  /// Of links that no probe crosses: one at a time is put back, and swept.
  void try_one() {
    Entry* longest = nullptr;
    for (Entry& entry : ledger_.entries) {
      if (!EntryBook::is_live(entry) || entry.by_hand || !book_.takes_probes_off(entry)) continue;
      if (entry.state == EntryState::probation) return;  // one is on trial
      if (!may_be_tried(policy_, entry, ledger_.time)) continue;
      if (!longest || entry.since < longest->since) longest = &entry;
    }
    if (!longest) return;
    longest->put_back = now_.wall;
    change(*longest, EntryState::probation, EventKind::probation,
           "put back on trial: it has to be swept now");
  }

  bool is_automatic(const Entry& entry) const {
    const auto at = policy_.automatic.find(entry.subject.kind);
    return at == policy_.automatic.end() || at->second;
  }

  /// What is out of use by us, and by faults that let nothing through.
  Capacity capacity_now() const {
    Capacity capacity(fabric_, policy_.caps);
    for (const Entry& entry : ledger_.entries)
      if (EntryBook::is_live(entry) &&
          (entry.state == EntryState::active || (entry.verdict == Verdict::failed && !entry.by_hand)))
        capacity.take_out(book_.effect(entry));
    return capacity;
  }

  /// Those that may become active, the worst first; those that are back from probation before all.
  std::vector<Entry*> candidates() {
    std::vector<Entry*> all;
    for (Entry& entry : ledger_.entries) {
      if (!EntryBook::is_live(entry) || entry.held) continue;
      const bool is_new = entry.state == EntryState::proposed && entry.supported;
      if (!is_new && !entry.relapsed) continue;
      if (entry.relapsed || entry.approved || (is_automatic(entry) && !entry.needs_approval))
        all.push_back(&entry);
      else
        hold_back(entry, fmt::format("entries of a {} need approval", to_string(entry.subject.kind)));
    }
    std::ranges::stable_sort(all, std::ranges::greater(), [](const Entry* entry) {
      return std::tuple(entry->relapsed, entry->verdict, entry->confidence);
    });
    return all;
  }

  void hold_back(Entry& entry, const std::string& why) {
    if (entry.held_back == why) return;
    entry.held_back = why;
    tell(EventKind::held_back, entry.id, fmt::format("{}: {}", words(entry), why));
  }

  void activate() {
    const auto all = candidates();
    std::vector<Candidate> asked;
    for (const Entry* entry : all)
      asked.push_back({book_.effect(*entry), !entry->relapsed, entry->by_hand, !entry->held_back});
    const Admission admitted =
        admit(asked, capacity_now(), ledger_.drained.size(),
              hosts_allowed(policy_.caps, fabric_.hosts().size()), ledger_.breaker, !resumed_);
    if (admitted.breaker && !ledger_.breaker)
      tell(EventKind::breaker, std::nullopt,
           *admitted.breaker + ": nothing new is applied until `weft blacklist resume`");
    ledger_.breaker = admitted.breaker;
    ledger_.drained.insert(ledger_.drained.end(), admitted.drained, ledger_.time);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (admitted.held_back[i]) {
        hold_back(*all[i], *admitted.held_back[i]);
      } else if (all[i]->relapsed) {
        ++all[i]->offences;
        all[i]->by_hand = false;  // what put it there is over: evidence keeps it now
        change(*all[i], EntryState::active, EventKind::relapsed, "seen again while on probation");
      } else {
        change(*all[i], EntryState::active, EventKind::activated, "is to be kept out of use");
      }
    }
  }

  Ledger ledger_;
  const Fabric& fabric_;
  const Policy& policy_;
  const Mutes& mutes_;
  const Now& now_;
  std::optional<UtcTime> ahead_;  // up to when a clock was
  EntryBook book_;                // of ledger_
  std::vector<LedgerEvent> events_;
  std::size_t old_faults_ = 0, unconfirmed_ = 0, marked_ = 0;  // of the run that is taken
  bool resumed_ = false;
};

}  // namespace

Stepped step(Ledger ledger, const Fabric& fabric, const Policy& policy, std::span<const Evidence> evidence,
             std::span<const Command> commands, const Mutes& mutes, const Now& now) {
  std::vector<const Evidence*> ordered;
  for (const Evidence& one : evidence) ordered.push_back(&one);
  std::ranges::stable_sort(ordered, {}, &Evidence::until);
  Stepper stepper(std::move(ledger), fabric, policy, mutes, now);
  for (const Evidence* one : ordered) stepper.take(*one);
  for (const Command& command : commands) stepper.obey(command);
  const bool is_command = evidence.empty() && !commands.empty();
  return stepper.finish(is_command ? Ends::by_time : Ends::by_evidence);
}

Stepped let_time_pass(Ledger ledger, const Fabric& fabric, const Policy& policy, const Now& now) {
  const Mutes none;  // the stepper keeps a reference
  Stepper stepper(std::move(ledger), fabric, policy, none, now);
  stepper.let_all_pass(Ends::by_time);
  return stepper.end();
}

}  // namespace weft::blacklist
