#include "probes/plan/hash_learner.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>
#include <utility>

#include "topology/base/check.hpp"

namespace weft::plan {
namespace {

using routing::FlowBits;

constexpr unsigned kCrcBits = 16;
/// How many of the highest bits a share is of; fewer than all: a table of so many entries, filled in blocks.
constexpr std::array<std::uint8_t, 6> kThresholdBits{16, 10, 9, 8, 7, 6};
/// Of hypotheses, of which a search keeps about the chance of passing: 64 forms, seven reductions, 16 offsets
/// and 65,536 constants are 28.8 bits.
constexpr double kHypothesisBits = 29;
/// A search before there is that much evidence leaves more hypotheses than can be kept.
constexpr double kMinSearchBits = 24;
constexpr double kMoreBits = 4;
constexpr std::size_t kMaxLeft = 4096;
/// Flows that confirm a model since it grew last. One answer that was wrong gives the kernel one vector that
/// is none: it takes part in half of all flows' choices, so four pass it with 1/16, and half of what comes
/// after it contradicts it.
constexpr std::uint32_t kMinChecks = 4;
/// More members than a table of hypotheses holds in a byte each; no switch has so many ports.
constexpr std::uint32_t kMaxCrcMembers = 1024;

}  // namespace

// LinearModel

FlowBits LinearModel::reduced(FlowBits flow) const {
  for (const FlowBits& each : kernel_)
    if (flow.test(*each.top())) flow ^= each;
  return flow;
}

/// False where two cosets with different members become one.
bool LinearModel::extend_kernel(FlowBits difference) {
  const auto at =
      std::ranges::find_if(kernel_, [&](const FlowBits& each) { return each.top() < difference.top(); });
  kernel_.insert(at, difference);
  std::map<FlowBits, std::uint32_t> merged;
  for (const auto& [coset, member] : cosets_)
    if (merged.try_emplace(reduced(coset), member).first->second != member) return false;
  cosets_ = std::move(merged);
  return true;
}

/// By how many of its members a flow of a new coset can be explained: by all that were not seen, and by those
/// seen that do not make two cosets one.
std::uint32_t LinearModel::members_that_fit(const FlowBits& coset) const {
  auto fit = members_ - static_cast<std::uint32_t>(cosets_.size());
  for (const auto& [own, member] : cosets_) {
    const FlowBits difference = coset ^ own;
    // Both differ from their sum by the same vector, so a pair is met from both of its ends.
    fit += std::ranges::none_of(
        cosets_, [&](const auto& other) { return cosets_.contains(reduced(other.first ^ difference)); });
  }
  return fit;
}

Lesson LinearModel::learn(const FlowBits& flow, std::uint32_t member) {
  const FlowBits coset = reduced(flow);
  if (const auto known = predict(flow)) {
    if (*known != member) return Lesson::contradicted;
    cosets_.try_emplace(coset, member);  // or it was the last one left
    evidence_ += std::log2(members_);
    return Lesson::confirmed;
  }
  evidence_ += std::log2(members_) - std::log2(std::max(members_that_fit(coset), 1U));
  const auto same = std::ranges::find(cosets_, member, [](const auto& each) { return each.second; });
  if (same == cosets_.end()) {
    if (cosets_.size() == members_) return Lesson::contradicted;
    cosets_.emplace(coset, member);
    return Lesson::news;
  }
  return extend_kernel(coset ^ same->first) ? Lesson::news : Lesson::contradicted;
}

/// Where the cosets seen span as many as there are members, and one of these is not seen, it is that of the
/// coset which is left.
std::optional<std::uint32_t> LinearModel::last_member(const FlowBits& coset) const {
  if (cosets_.size() + 1 != members_ || cosets_.empty()) return std::nullopt;
  LinearModel span(members_);
  const FlowBits base = cosets_.begin()->first;
  for (const auto& [other, member] : cosets_)
    if (const auto rest = span.reduced(other ^ base); rest.top()) span.extend_kernel(rest);
  if (std::size_t{1} << span.kernel_.size() != members_ || span.reduced(coset ^ base).top())
    return std::nullopt;
  std::vector<bool> seen(members_, false);
  for (const auto& [other, member] : cosets_) seen[member] = true;
  return static_cast<std::uint32_t>(std::ranges::find(seen, false) - seen.begin());
}

std::optional<std::uint32_t> LinearModel::predict(const FlowBits& flow) const {
  const FlowBits coset = reduced(flow);
  const auto known = cosets_.find(coset);
  return known != cosets_.end() ? std::optional(known->second) : last_member(coset);
}

std::optional<FlowBits> LinearModel::flow_to(std::uint32_t member) const {
  const auto known = std::ranges::find(cosets_, member, [](const auto& each) { return each.second; });
  return known == cosets_.end() ? std::nullopt : std::optional(known->first);
}

// LinearByIngress

/// With A x + b + c the sum of a flow x from a port whose constant is c, and A y + b that of a known flow y
/// with the same next hop, c = A (x + y).
Lesson LinearByIngress::learn(const FlowBits& flow, std::uint32_t member, std::uint32_t ingress) {
  if (offsets_.empty()) offsets_.try_emplace(ingress);
  const auto offset = offsets_.find(ingress);
  if (offset != offsets_.end()) return linear_.learn(flow ^ offset->second, member);
  if (const auto known = linear_.flow_to(member)) offsets_.try_emplace(ingress, flow ^ *known);
  return Lesson::news;
}

std::optional<std::uint32_t> LinearByIngress::predict(const FlowBits& flow, std::uint32_t ingress) const {
  const auto offset = offsets_.find(ingress);
  return offset == offsets_.end() ? std::nullopt : linear_.predict(flow ^ offset->second);
}

// CrcModel

CrcModel::CrcModel(std::uint32_t members)
    : members_(members), times_seen_(members, 0), next_search_(kMinSearchBits) {
  WEFT_CHECK(members > 1);
}

std::uint32_t CrcModel::Hypothesis::bucket(std::uint32_t hash, std::uint32_t members) const {
  const auto at = routing::turned(hash, offset, kCrcBits) ^ constant;
  if (threshold_bits == 0) return routing::bucket_of(at, members, false, kCrcBits);
  return routing::bucket_of(at >> (kCrcBits - threshold_bits), members, true, threshold_bits);
}

/// What same members say of a hypothesis that is wrong: each repeat is a chance of one in so many.
Bits CrcModel::evidence() const {
  const auto repeats = static_cast<double>(seen_.size() - members_seen_);
  return searched_ ? repeats * std::log2(members_) - kHypothesisBits : 0;
}

bool CrcModel::fits(Hypothesis& hypothesis, const FlowBits& flow, std::uint32_t member) const {
  const auto& form = routing::known_crcs(kCrcBits, flow.is_v6())[hypothesis.form];
  const auto bucket = hypothesis.bucket(routing::hash_of(form, flow), members_);
  auto& known = hypothesis.member_of[bucket];
  if (known >= 0) return known == static_cast<std::int16_t>(member);
  if (std::ranges::find(hypothesis.member_of, static_cast<std::int16_t>(member)) !=
      hypothesis.member_of.end())
    return false;
  known = static_cast<std::int16_t>(member);
  return true;
}

Lesson CrcModel::learn(const FlowBits& flow, std::uint32_t member) {
  if (members_ > kMaxCrcMembers) return Lesson::contradicted;
  const auto known = predict(flow);
  if (known && *known != member) return Lesson::contradicted;
  seen_.push_back({flow, member});
  if (times_seen_[member]++ == 0) ++members_seen_;
  if (searched_) {
    std::erase_if(left_, [&](Hypothesis& each) { return !fits(each, flow, member); });
  } else {
    const auto repeats = static_cast<double>(seen_.size() - members_seen_);
    if (repeats * std::log2(members_) < next_search_) return Lesson::news;
    search();
    if (!searched_) next_search_ += kMoreBits;
  }
  if (searched_ && left_.empty()) return Lesson::contradicted;
  return known ? Lesson::confirmed : Lesson::news;
}

void CrcModel::search() {
  left_.clear();
  searched_ = true;
  // Flows of one member first, next to each other: a wrong hypothesis seldom passes two of them.
  std::ranges::stable_sort(seen_, [&](const Seen& a, const Seen& b) {
    return std::pair(times_seen_[b.member], a.member) < std::pair(times_seen_[a.member], b.member);
  });
  const auto& forms = routing::known_crcs(kCrcBits, seen_.front().flow.is_v6());
  std::set<std::vector<std::uint32_t>> tried;  // forms that differ in bits which never varied are one
  for (std::size_t form = 0; form < forms.size() && searched_; ++form) {
    std::vector<std::uint32_t> hashes;
    for (const Seen& each : seen_) hashes.push_back(routing::hash_of(forms[form], each.flow));
    std::vector<std::uint32_t> differences;
    for (const auto hash : hashes) differences.push_back(hash ^ hashes.front());
    if (tried.insert(std::move(differences)).second) search_form(static_cast<std::uint16_t>(form), hashes);
  }
}

/// More than can be kept: the search is of no use yet.
void CrcModel::keep_if_it_fits(Hypothesis found) {
  if (!std::ranges::all_of(seen_, [&](const Seen& each) { return fits(found, each.flow, each.member); }))
    return;
  left_.push_back(std::move(found));
  if (left_.size() <= kMaxLeft) return;
  searched_ = false;
  left_.clear();
}

/// Where the group's size is 2^k times an odd number, k bits of the constant only rename members: they are
/// left zero.
void CrcModel::search_form(std::uint16_t form, const std::vector<std::uint32_t>& hashes) {
  const auto free_bits = static_cast<unsigned>(std::countr_zero(members_));
  std::vector<std::uint32_t> at(hashes.size());
  std::vector<std::uint16_t> bucket_by_hash(std::size_t{1} << kCrcBits);
  for (const bool by_threshold : {false, true}) {
    for (std::uint32_t hash = 0; hash < bucket_by_hash.size(); ++hash)
      bucket_by_hash[hash] =
          static_cast<std::uint16_t>(routing::bucket_of(hash, members_, by_threshold, kCrcBits));
    for (std::uint8_t offset = 0; offset < kCrcBits; ++offset) {
      for (std::size_t i = 0; i < hashes.size(); ++i) at[i] = routing::turned(hashes[i], offset, kCrcBits);
      for (std::uint32_t k = 0; k < std::uint32_t{1} << (kCrcBits - free_bits); ++k) {
        const auto constant = static_cast<std::uint16_t>(by_threshold ? k : k << free_bits);
        bool fits_all = true;
        for (std::size_t i = 1; i < at.size() && fits_all; ++i)
          fits_all = (bucket_by_hash[at[i] ^ constant] == bucket_by_hash[at[i - 1] ^ constant]) ==
                     (seen_[i].member == seen_[i - 1].member);
        if (!fits_all) continue;
        for (const auto bits : kThresholdBits) {
          if (!by_threshold && bits != kCrcBits) break;
          if ((constant & ((1U << (kCrcBits - bits)) - 1)) != 0) continue;  // below what the share is of
          keep_if_it_fits({form, offset, by_threshold ? bits : std::uint8_t{0}, constant,
                           std::vector<std::int16_t>(members_, -1)});
        }
        if (!searched_) return;
      }
    }
  }
}

std::optional<std::uint32_t> CrcModel::told_by(const Hypothesis& hypothesis, const FlowBits& flow) const {
  const auto& form = routing::known_crcs(kCrcBits, flow.is_v6())[hypothesis.form];
  const auto member = hypothesis.member_of[hypothesis.bucket(routing::hash_of(form, flow), members_)];
  if (member >= 0) return static_cast<std::uint32_t>(member);
  if (members_seen_ + 1 != members_) return std::nullopt;
  return static_cast<std::uint32_t>(std::ranges::find(times_seen_, 0U) - times_seen_.begin());
}

std::optional<std::uint32_t> CrcModel::predict(const FlowBits& flow) const {
  if (!searched_ || left_.empty()) return std::nullopt;
  const auto told = told_by(left_.front(), flow);
  const bool all_agree =
      std::ranges::all_of(left_, [&](const Hypothesis& each) { return told_by(each, flow) == told; });
  return all_agree ? told : std::nullopt;
}

// HashLearner

HashLearner::Model HashLearner::model_for(std::uint32_t members) {
  if (std::has_single_bit(members)) return LinearModel(members);
  return CrcModel(members);
}

HashLearner::HashLearner(std::uint32_t members, Fraction confidence)
    : members_(members),
      needed_(-std::log2(1 - confidence.value())),
      current_(model_for(members)),
      has_seen_(members, false) {
  WEFT_CHECK(members >= 2 && confidence.value() > 0 && confidence.value() < 1);
}

void HashLearner::give_up() {
  taken_back_ |= accepted_.has_value() || had_predicted_ || is_table();
  given_up_ = true;
  accepted_.reset();
  table_.reset();
}

Lesson HashLearner::teach(Model& model, const FlowBits& flow, const Met& met) {
  if (auto* by_ingress = std::get_if<LinearByIngress>(&model))
    return by_ingress->learn(flow, met.member, met.ingress);
  if (auto* linear = std::get_if<LinearModel>(&model)) return linear->learn(flow, met.member);
  return std::get<CrcModel>(model).learn(flow, met.member);
}

std::optional<std::uint32_t> HashLearner::ask(const Model& model, const FlowBits& flow,
                                              std::uint32_t ingress) {
  if (const auto* by_ingress = std::get_if<LinearByIngress>(&model))
    return by_ingress->predict(flow, ingress);
  if (const auto* linear = std::get_if<LinearModel>(&model)) return linear->predict(flow);
  return std::get<CrcModel>(model).predict(flow);
}

void HashLearner::contradicted() {
  if (!explained_by_ingress()) look_for_table();
}

/// What was told of flows by other ports is not told any more until the new model has passed its checks.
bool HashLearner::explained_by_ingress() {
  if (!std::holds_alternative<LinearModel>(current_)) return false;
  const auto first = flows_.begin()->second.ingress;
  if (std::ranges::all_of(flows_, [&](const auto& each) { return each.second.ingress == first; }))
    return false;
  Model model = LinearByIngress(members_);
  for (const auto& [flow, met] : flows_)
    if (teach(model, flow, met) == Lesson::contradicted) return false;
  current_ = std::move(model);
  had_predicted_ |= accepted_.has_value();
  accepted_.reset();
  unchecked_ = true;
  checks_ = 0;
  return true;
}

/// In the flows so far, of which none was predicted.
void HashLearner::look_for_table() {
  if (accepted_ || had_predicted_) return give_up();
  table_.emplace(members_, needed_);
  for (const auto& [flow, met] : flows_)
    if (!table_->learn(flow, met.member)) return give_up();
}

void HashLearner::learn(const FlowBits& flow, std::uint32_t member, std::uint32_t ingress) {
  WEFT_CHECK(member < members_);
  if (given_up_) return;
  const Met met{member, ingress};
  const auto [known, is_new] = flows_.try_emplace(flow, met);
  if (!is_new) {
    if (known->second.member != member) give_up();
    return;
  }
  has_seen_[member] = true;
  if (table_) {
    const bool was_known = is_table();
    if (table_->learn(flow, member)) return;
    taken_back_ |= was_known;
    return give_up();
  }
  if (const auto told = predict(flow, ingress); told && *told != member) return contradicted();
  switch (teach(current_, flow, met)) {
    case Lesson::contradicted:
      return contradicted();
    case Lesson::news:
      checks_ = 0;
      unchecked_ = true;
      return;
    case Lesson::confirmed:
      ++checks_;
  }
  const Bits evidence = std::visit([](const auto& model) { return model.evidence(); }, current_);
  if (unchecked_ && evidence >= needed_ && checks_ >= kMinChecks) {
    accepted_ = current_;
    unchecked_ = false;
  }
}

std::optional<std::uint32_t> HashLearner::predict(const FlowBits& flow, std::uint32_t ingress) const {
  if (table_) return table_->predict(flow);
  return accepted_ ? ask(*accepted_, flow, ingress) : std::nullopt;
}

std::optional<std::uint32_t> HashLearner::suppose(const FlowBits& flow, std::uint32_t ingress) const {
  if (given_up_) return std::nullopt;
  return table_ ? table_->predict(flow) : ask(current_, flow, ingress);
}

std::size_t HashLearner::members_seen() const {
  return static_cast<std::size_t>(std::ranges::count(has_seen_, true));
}

double HashLearner::confidence() const {
  if (table_) return 1 - std::exp2(-table_->evidence());
  if (!accepted_) return 0;
  return 1 - std::exp2(-std::visit([](const auto& model) { return model.evidence(); }, *accepted_));
}

}  // namespace weft::plan
