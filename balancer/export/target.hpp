// Target: a scheduler or a fabric manager that acts on a blacklist. What stands there, what is to change, and
// the seam behind which each target has its adapter. One thread; every call is bounded in time.
//
// A mark is ours only where it carries our prefix and an id that the ledger knows: all else is left alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/blacklist/policy.hpp"

namespace weft::exports {

using blacklist::EntryId;

enum class Whose : std::uint8_t { nobody, weft, others };

/// What stands at an object of a target.
struct Standing {
  std::string object;
  Whose whose = Whose::nobody;
  std::string text{};                              // nobody's: as it is in service; else the mark
  std::optional<std::string> mark = std::nullopt;  // the mark_id that it names
  /// A restart of the target keeps a mark. Where not, one that is gone was taken off by nobody.
  bool lasts = true;
  /// What stands there can be told. Where not, `text` says why, and nothing is concluded or changed.
  bool is_known = true;
  /// The mark does what it says. Where not (what should set it failed, or was killed), it is set again while
  /// it is wanted, and else taken off.
  bool in_effect = true;
  friend bool operator==(const Standing&, const Standing&) = default;
};

/// put: a mark where nobody has one. take: off again. pass: ours goes to another entry.
enum class Act : std::uint8_t { put, take, pass };
std::string_view to_string(Act act);

struct Change {
  Act act = Act::put;
  std::string target, object;
  std::string before;  // what must stand there now
  std::string set;     // what is to stand there
  EntryId entry{};     // whose mark it is then; take: was
  std::string undo{};  // what an operator types to take it back
  friend bool operator==(const Change&, const Change&) = default;
};

/// Of this very change, in every run: 16 hexadecimal digits.
std::string id_of(const Change& change);
/// The change that takes it back.
Change reversed(const Change& change);

/// Text as a mark may hold it: what is not printable ASCII becomes `?`, and a double quote, which scontrol
/// takes off the ends, a single one.
std::string printable(std::string_view text);

/// A word as an operator types it in a shell.
std::string shell_word(const std::string& word);

/// How an entry is named in a mark: `FABRIC:3`, of letters, digits and `._-:` alone.
std::string mark_id(std::string_view fabric, EntryId entry);
/// Absent: it is of the blacklist of another fabric, or none.
std::optional<EntryId> entry_of(std::string_view fabric, std::string_view mark);

/// `pod7:3` as a word of letters, digits and `._-` (a label, a taint, the name of a reservation):
/// `weft.pod7.3`; and back, absent: it is somebody else's.
std::string mark_value(std::string_view mark);
std::optional<std::string> mark_in_value(std::string_view value);

/// An entry wants this to stand.
struct Demand {
  EntryId entry{};
  std::string object, set;
  blacklist::Effect effect{};  // what it takes out of use
  friend bool operator==(const Demand&, const Demand&) = default;
};

/// What stands where nothing of anybody's does, as a mark has it that says no more.
inline constexpr std::string_view kInService = "in service";

struct Translation {
  std::vector<Demand> demands;
  std::vector<std::string> advice;  // what the target cannot express, for people
};

/// It may have been made, or come yet.
bool leaves_open(const Error& error);

/// Errors of changes, of which each had its turn.
class Failures {
 public:
  void add(Error error);
  /// What was refused, which somebody has to see to, before what may come yet, each kind once; of a kind that
  /// leaves open what became of a change where one of them does.
  Result<void> result() const;

 private:
  std::vector<Error> errors_;  // the first of each kind
};

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;
  /// What the active entries of a ledger demand of it. Pure.
  virtual Translation translate(const blacklist::Ledger& ledger, const Fabric& fabric,
                                const blacklist::Policy& policy) const = 0;
  /// Whether this user may change it, as far as can be known without a change. Error: permission.
  virtual Result<void> check_rights() = 0;
  /// Objects that the target does not have are left out.
  virtual Result<std::vector<Standing>> read(std::span<const std::string> objects) = 0;
  /// Changes of one act, of which a target may have done a part when it returns an Error: read() tells what
  /// stands then.
  virtual Result<void> apply(std::span<const Change> changes) = 0;
  /// Completes changes that are to be made one after the other, where what is set and how it is undone
  /// depends on what read() saw; and why each would be refused, as far as can be known; empty: it would not.
  virtual std::vector<std::string> prepare(std::span<Change> changes) {
    return std::vector<std::string>(changes.size());
  }
  /// A change may take the target out of reach: how it is undone by hand is told before it is made.
  virtual bool may_cut_off() const { return false; }
  /// How long what it shows may lag behind what it does: a mark that it does not show may come yet, or stand
  /// there all the same. Zero: what it shows is so.
  virtual std::chrono::seconds lag() const { return {}; }
  /// Where a mark that was set at an object stands though that object is elsewhere by now, in words; absent:
  /// it does not.
  virtual std::optional<std::string> left_behind(const std::string& object, const std::string& set) const {
    static_cast<void>(object), static_cast<void>(set);
    return std::nullopt;
  }
  /// What the fabric calls what an object is about, for an entry that adopts its mark.
  virtual std::string subject_of(const std::string& object) const { return object; }
  /// What an operator types to do it.
  virtual std::string by_hand(const Change& change) const = 0;
};

}  // namespace weft::exports
