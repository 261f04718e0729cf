// Plan: what has to change at a target so that what the ledger demands stands there, and nothing else of
// ours. Pure: the ledger, its translation and what stands there in, changes out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "balancer/export/translate.hpp"
#include "topology/files/document.hpp"

namespace weft::exports {

struct Plan {
  std::vector<Change> changes;
  /// Marks of the ledger of which the target shows what became of them.
  /// missing: for the first time, it may be back. found: the ledger forgot it, and it names an entry of it.
  enum class Seen : std::uint8_t { standing, gone, missing, found };
  struct Settled {
    EntryId entry{};
    std::string object;
    Seen seen = Seen::gone;
    std::string text;  // what it means, for people; found: the mark
    friend bool operator==(const Settled&, const Settled&) = default;
  };
  std::vector<Settled> settled;
  /// Entries of which somebody took a mark off at the target: to be held.
  struct Undone {
    EntryId entry{};
    std::string object;
    friend bool operator==(const Undone&, const Undone&) = default;
  };
  std::vector<Undone> undone;
  std::vector<std::string> left_alone;  // what is others', absent, or stopped by a cap, in words
  std::size_t refused = 0;              // of these, changes that the target itself cannot make
  std::vector<std::string> orphans;     // objects with a mark of ours that the ledger does not know

  bool would_change() const { return !changes.empty() || !settled.empty() || !undone.empty(); }
};

/// `standings`: of all that is demanded or marked, and of all hosts of the fabric, which count for the caps.
/// Marks of entries whose subject the fabric has no more stay as they are.
Plan plan_changes(const Target& target, const blacklist::Ledger& ledger, const Fabric& fabric,
                  const Translation& translation, std::span<const Standing> standings,
                  const blacklist::Caps& caps, UtcTime now);

/// Of which a plan concludes from one answer that a mark stands there no more: a second answer has to say so.
std::vector<std::string> objects_in_doubt(const Plan& plan);

/// What would be asked of read(), each once: all that an entry marks, or would mark if it were active, for an
/// answer that was wrong once may have made the ledger forget a mark.
std::vector<std::string> objects_to_read(std::string_view target, const blacklist::Ledger& ledger,
                                         const Fabric& fabric, const Translation& translation);

/// As a person reads it, and `weft.changes/1` (docs/schema/changes.schema.json).
std::string diff_of(const Plan& plan);
std::string changes_json(const blacklist::Ledger& ledger, std::string_view target, const Plan& plan,
                         const Translation& translation, const files::DocumentStamp& stamp);

}  // namespace weft::exports
