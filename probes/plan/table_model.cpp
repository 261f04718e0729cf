#include "probes/plan/table_model.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "topology/base/check.hpp"

namespace weft::plan {
namespace {

using routing::FlowBits;
using routing::HashColumns;

constexpr unsigned kWindowBits = 10;
/// 64 CRCs of 16 bits, 8 of 32 and the XOR, each with as many offsets as bits: 1,288.
constexpr double kHypothesisBits = 11;
constexpr std::size_t kFirstSearch = 96;  // flows
/// Values met that differ in their lowest bit alone, before it is known whether that decides.
constexpr std::size_t kMinNeighbours = 12;
/// Two members, the slowest, take some 320.
constexpr std::size_t kMaxFlows = 1024;

struct WideHash {
  const HashColumns* columns;
  unsigned width;
};

std::vector<WideHash> known_hashes(bool is_v6) {
  static const HashColumns fold = routing::fold_columns();
  std::vector<WideHash> hashes{{&fold, routing::kFoldBits}};
  for (const unsigned width : {16U, 32U})
    for (const HashColumns& crc : routing::known_crcs(width, is_v6)) hashes.push_back({&crc, width});
  return hashes;
}

std::size_t window_of(std::uint32_t hash, unsigned offset, unsigned width) {
  return routing::turned(hash, offset, width) & ((1U << kWindowBits) - 1);
}

}  // namespace

TableModel::TableModel(std::uint32_t members, double needed)
    : needed_(needed), next_search_(kFirstSearch), times_seen_(members, 0) {
  WEFT_CHECK(members > 1);
}

std::int32_t& TableModel::Window::at(const FlowBits& flow) {
  return member_of[window_of(routing::hash_of(*columns, flow), offset, width)];
}
std::int32_t TableModel::Window::at(const FlowBits& flow) const {
  return member_of[window_of(routing::hash_of(*columns, flow), offset, width)];
}

bool TableModel::goes_by(Window& window, const Seen& seen) {
  std::int32_t& member = window.at(seen.flow);
  if (member == -1) {
    member = static_cast<std::int32_t>(seen.member);
    ++window.met;
  }
  return member == static_cast<std::int32_t>(seen.member);
}

bool TableModel::learn(const FlowBits& flow, std::uint32_t member) {
  const Seen seen{flow, member};
  std::erase_if(left_, [&](Window& window) { return !goes_by(window, seen); });
  if (is_found_) return is_found_ = !left_.empty();
  seen_.push_back(seen);
  ++times_seen_[member];
  if (seen_.size() < next_search_) return true;
  next_search_ = seen_.size() * 5 / 4;
  search();
  if (is_found_) seen_ = {};
  return !left_.empty() && seen_.size() < kMaxFlows;
}

void TableModel::search() {
  if (left_.empty()) {
    std::set<std::vector<std::uint32_t>> tried;  // hashes that differ in bits which never varied are one
    for (const WideHash& hash : known_hashes(seen_.front().flow.is_v6())) {
      std::vector<std::uint32_t> differences;
      const auto first = routing::hash_of(*hash.columns, seen_.front().flow);
      for (const Seen& one : seen_) differences.push_back(routing::hash_of(*hash.columns, one.flow) ^ first);
      if (!tried.insert(std::move(differences)).second) continue;
      for (unsigned offset = 0; offset < hash.width; ++offset) {
        Window window{hash.columns, hash.width, offset, std::vector<std::int32_t>(1U << kWindowBits, -1)};
        if (std::ranges::all_of(seen_, [&](const Seen& one) { return goes_by(window, one); }))
          left_.push_back(std::move(window));
      }
    }
  }
  if (left_.empty()) return;
  double chance = 0;  // that two flows have one member
  for (const auto times : times_seen_)
    chance += std::pow(static_cast<double>(times) / static_cast<double>(seen_.size()), 2);
  // A window that lacks one of the table's bits is contradicted by half of the flows that meet in it alone:
  // more than that a flow does not say for a window.
  const double each = -std::log2((1 + chance) / 2);
  const std::size_t most_met = std::ranges::max(left_, {}, &Window::met).met;
  evidence_ = each * static_cast<double>(seen_.size() - most_met) - kHypothesisBits;
  if (evidence_ < needed_) return;
  std::erase_if(left_, [&](const Window& window) { return seems_a_share(window, chance); });
  is_found_ = !left_.empty();
}

/// `chance`: that two flows have one member, and two values of a table filled otherwise.
bool TableModel::seems_a_share(const Window& window, double chance) const {
  std::size_t met = 0, same = 0;
  for (std::size_t value = 0; value < window.member_of.size(); value += 2) {
    const auto one = window.member_of[value], other = window.member_of[value + 1];
    if (one == -1 || other == -1) continue;
    ++met;
    same += one == other ? 1 : 0;
  }
  return met < kMinNeighbours || static_cast<double>(same) > static_cast<double>(met) * (1 + chance) / 2;
}

std::optional<std::uint32_t> TableModel::predict(const FlowBits& flow) const {
  if (!is_found_) return std::nullopt;
  const auto told = left_.front().at(flow);
  const bool all_agree =
      std::ranges::all_of(left_, [&](const Window& window) { return window.at(flow) == told; });
  return all_agree && told != -1 ? std::optional(static_cast<std::uint32_t>(told)) : std::nullopt;
}

}  // namespace weft::plan
