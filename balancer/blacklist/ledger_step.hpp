// A step of a ledger while it is made (policy.hpp): its entries, the events so far, and what the ledger's own
// time, clean evidence and the caps make of the entries. Pure. Internal to blacklist/.
#pragma once

#include "balancer/blacklist/entry_book.hpp"
#include "balancer/blacklist/policy.hpp"

namespace weft::blacklist {

inline constexpr auto kClocksApart = std::chrono::minutes(5);  // of the machine that swept and this one
inline constexpr std::string_view kAuthor = "weft";

/// Where only the time of a ledger is told, nothing but what was added for a time ends.
enum class Ends : std::uint8_t { by_time, by_evidence };

/// "link leaf1--spine2".
std::string words(const Entry& entry);

struct LedgerStep {
  /// Takes back what a clock that was ahead has told, and counts the time. All but the ledger must outlive
  /// it.
  LedgerStep(Ledger before, const Fabric& its_fabric, const Policy& its_policy, const Now& its_now);
  LedgerStep(const LedgerStep&) = delete;

  void add_event(EventKind kind, std::optional<EntryId> entry, std::string text,
                 std::string author = std::string(kAuthor));
  void change(Entry& entry, EntryState to, EventKind kind, std::string_view why,
              std::string author = std::string(kAuthor));
  /// By the policy such an entry needs no approval.
  bool is_automatic(const Entry& entry) const;

  /// What time, and clean evidence, make of live entries.
  void let_all_pass(Ends ends);
  /// Of links that no probe crosses: one at a time is put back, and swept.
  void try_one();
  /// Entries become active as far as the caps let them. `may_trip`: as in admit().
  void activate(bool may_trip);
  /// Without what counts no more.
  Stepped end() &&;

  Ledger ledger;
  const Fabric& fabric;
  const Policy& policy;
  const Now& now;
  std::optional<UtcTime> ahead;  // up to when a clock was
  EntryBook book;                // of `ledger`
  std::vector<LedgerEvent> events;

 private:
  Capacity capacity_now() const;
  std::vector<Entry*> candidates();
  void hold_back(Entry& entry, const std::string& why);
};

}  // namespace weft::blacklist
