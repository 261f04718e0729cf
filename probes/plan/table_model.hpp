// TableModel: a switch that chooses by a table of 2^b entries, b at most 10 (resilient hashing): b bits of a
// known linear hash say which entry, and the next hop in it is any. A window is ten bits of a known hash from
// some offset on; one that has the table's bits within never has two next hops for one value. A window whose
// lowest bit hardly ever changes the next hop is not taken, for bits below it may decide as well: it would be
// a share of the hash, or a table filled in blocks. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/routing/switch_hash.hpp"

namespace weft::plan {

class TableModel {
 public:
  /// `members`: of the group, at least 2. `needed`: bits of evidence by which a table is told (hash_learner).
  TableModel(std::uint32_t members, double needed);

  /// A flow that is told for the first time took this member. False: no table of a known hash does that, or
  /// none was found in all these flows; then it is of no use any more.
  bool learn(const routing::FlowBits& flow, std::uint32_t member);
  /// Some windows are left, and for each of them the evidence suffices.
  bool is_found() const { return is_found_; }
  /// The member that flows took whose bits are the same, in every window; absent where one has seen none.
  std::optional<std::uint32_t> predict(const routing::FlowBits& flow) const;
  /// In bits, beyond what so many hypotheses owe to chance; 0: none is found.
  double evidence() const { return is_found_ ? evidence_ : 0; }

 private:
  struct Window {
    const routing::HashColumns* columns;
    unsigned width;  // bits of the hash
    unsigned offset;
    std::vector<std::int32_t> member_of;  // by the window's bits; -1: not met
    std::size_t met = 0;                  // of member_of
    std::int32_t& at(const routing::FlowBits& flow);
    std::int32_t at(const routing::FlowBits& flow) const;
  };
  struct Seen {
    routing::FlowBits flow;
    std::uint32_t member;
  };

  void search();
  bool seems_a_share(const Window& window, double chance) const;
  static bool goes_by(Window& window, const Seen& seen);

  double needed_;
  double evidence_ = 0;
  bool is_found_ = false;
  std::size_t next_search_;                // flows
  std::vector<std::uint32_t> times_seen_;  // by member
  std::vector<Seen> seen_;                 // until windows are found
  std::vector<Window> left_;
};

}  // namespace weft::plan
