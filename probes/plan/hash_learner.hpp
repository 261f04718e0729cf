// HashLearner: learns how one switch chooses among one group of equal next hops, from which of them flows
// took. Where the group's size is a power of two the choice is taken to be T[A x + b] over GF(2), x the bits
// of the flow, T any bijection (CRC, Toeplitz and XOR hashes; member order is not known). Two flows with one
// next hop then differ by a vector of A's kernel, so such differences span it, and a flow's coset tells its
// next hop (after RePaC, USENIX ATC 2021). Where that is contradicted by flows that came in by several ports,
// the port may be hashed too: it adds a constant of its own to b. Other sizes are the remainder, or the
// share, of a 16-bit CRC (the share of its highest bits alone is a table filled in blocks): of the known
// polynomials, fields, offsets and constants those are kept that explain all flows. A group that contradicts
// its model before anything was told may choose by a table (table_model): that is looked for in what flows
// still come. What was learned is told only after checks on fresh flows; a contradiction of what was told
// ends it for good. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "probes/plan/table_model.hpp"
#include "topology/base/units.hpp"
#include "topology/routing/switch_hash.hpp"

namespace weft::plan {

/// What one more flow meant to a model.
enum class Lesson : std::uint8_t {
  news,          // the model did not know
  confirmed,     // it knew, and was right
  contradicted,  // no hash of this kind does that
};

/// Evidence for a model, in bits: how often a group whose choice has no structure had fitted it, as a power
/// of one half.
using Bits = double;

/// Cosets of the kernel, each with its next hop.
class LinearModel {
 public:
  explicit LinearModel(std::uint32_t members) : members_(members) {}
  Lesson learn(const routing::FlowBits& flow, std::uint32_t member);
  std::optional<std::uint32_t> predict(const routing::FlowBits& flow) const;
  Bits evidence() const { return evidence_; }
  /// A flow that takes this member; absent: none is known.
  std::optional<routing::FlowBits> flow_to(std::uint32_t member) const;

 private:
  routing::FlowBits reduced(routing::FlowBits flow) const;
  bool extend_kernel(routing::FlowBits difference);
  std::uint32_t members_that_fit(const routing::FlowBits& coset) const;
  std::optional<std::uint32_t> last_member(const routing::FlowBits& coset) const;

  std::uint32_t members_;
  Bits evidence_ = 0;
  std::vector<routing::FlowBits> kernel_;  // a basis in echelon form, highest bits first
  std::map<routing::FlowBits, std::uint32_t> cosets_;
};

/// The same where the port is hashed by which a flow comes in: one flow that takes a known next hop tells by
/// which vector flows that come in there differ from those of the first port.
class LinearByIngress {
 public:
  explicit LinearByIngress(std::uint32_t members) : linear_(members) {}
  Lesson learn(const routing::FlowBits& flow, std::uint32_t member, std::uint32_t ingress);
  std::optional<std::uint32_t> predict(const routing::FlowBits& flow, std::uint32_t ingress) const;
  /// It is the second model that is tried: by chance one of two fits twice as often.
  Bits evidence() const { return linear_.evidence() - 1; }

 private:
  LinearModel linear_;
  std::map<std::uint32_t, routing::FlowBits> offsets_;  // by ingress
};

/// All known 16-bit CRCs that explain the flows seen.
class CrcModel {
 public:
  /// Precondition: members > 1.
  explicit CrcModel(std::uint32_t members);
  Lesson learn(const routing::FlowBits& flow, std::uint32_t member);
  std::optional<std::uint32_t> predict(const routing::FlowBits& flow) const;
  /// Beyond what so many hypotheses owe to chance.
  Bits evidence() const;

 private:
  struct Hypothesis {
    std::uint16_t form;  // into forms()
    std::uint8_t offset;
    std::uint8_t threshold_bits;  // the highest so many say the share; 0: the remainder
    std::uint16_t constant;
    std::vector<std::int16_t> member_of = {};  // by bucket; -1: not seen
    std::uint32_t bucket(std::uint32_t hash, std::uint32_t members) const;
  };
  struct Seen {
    routing::FlowBits flow;
    std::uint32_t member;
  };
  void search();
  void keep_if_it_fits(Hypothesis found);
  void search_form(std::uint16_t form, const std::vector<std::uint32_t>& hashes);
  bool fits(Hypothesis& hypothesis, const routing::FlowBits& flow, std::uint32_t member) const;
  std::optional<std::uint32_t> told_by(const Hypothesis& hypothesis, const routing::FlowBits& flow) const;

  std::uint32_t members_;
  std::vector<Seen> seen_;
  std::vector<std::uint32_t> times_seen_;  // by member
  std::size_t members_seen_ = 0;
  double next_search_;  // bits of evidence
  bool searched_ = false;
  std::vector<Hypothesis> left_;
};

class HashLearner {
 public:
  /// `members`: of the group, at least 2. A prediction is told once a group without structure had fitted the
  /// model with a probability of less than 1 - `confidence`, and kMinChecks fresh flows confirmed it since it
  /// grew last.
  HashLearner(std::uint32_t members, Fraction confidence);

  /// A flow took this member, 0 ... members - 1. A flow that is told again counts once; told otherwise it is
  /// a contradiction. `ingress`: the port by which it came to the switch, any number of its own.
  void learn(const routing::FlowBits& flow, std::uint32_t member, std::uint32_t ingress = 0);
  /// Flows take what is no member, or several: nothing is predicted from now on.
  void give_up();

  /// The member that a flow takes, by a model that passed its checks; absent: open.
  std::optional<std::uint32_t> predict(const routing::FlowBits& flow, std::uint32_t ingress = 0) const;
  /// The same by what is supposed so far; for the choice of what to ask next.
  std::optional<std::uint32_t> suppose(const routing::FlowBits& flow, std::uint32_t ingress = 0) const;

  /// Whether a flow was seen to take this member. What is supposed of one that was not is by exclusion.
  bool has_seen(std::uint32_t member) const { return has_seen_[member]; }

  /// Nothing is predicted, and more flows are not worth asking for: should they come all the same, a table
  /// may be found, and it is given up no more.
  bool given_up() const { return given_up_ || (table_ && !table_->is_found()); }
  /// It chooses by a table of entries, each of which must be met to be known.
  bool is_table() const { return table_ && table_->is_found(); }
  /// All that is supposed has passed its checks.
  bool is_checked() const { return is_table() || (accepted_.has_value() && !unchecked_); }
  /// Was given up after it had predicted.
  bool taken_back() const { return taken_back_; }
  /// 1 - the chance that a group without any structure had fitted the model.
  double confidence() const;
  std::size_t flows() const { return flows_.size(); }
  std::size_t members_seen() const;
  std::uint32_t members() const { return members_; }

 private:
  using Model = std::variant<LinearModel, LinearByIngress, CrcModel>;
  struct Met {
    std::uint32_t member;
    std::uint32_t ingress;
  };
  static Model model_for(std::uint32_t members);
  static Lesson teach(Model& model, const routing::FlowBits& flow, const Met& met);
  static std::optional<std::uint32_t> ask(const Model& model, const routing::FlowBits& flow,
                                          std::uint32_t ingress);
  void contradicted();
  bool explained_by_ingress();
  void look_for_table();

  std::uint32_t members_;
  Bits needed_;
  Model current_;
  std::optional<Model> accepted_;
  std::optional<TableModel> table_;  // since current_ was contradicted
  bool unchecked_ = true;            // current_ knows more than accepted_
  bool given_up_ = false;
  bool taken_back_ = false;
  bool had_predicted_ = false;  // by a model that the port of ingress has replaced
  std::uint32_t checks_ = 0;    // since current_ grew
  std::map<routing::FlowBits, Met> flows_;
  std::vector<bool> has_seen_;
};

}  // namespace weft::plan
