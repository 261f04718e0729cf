// DisjointSets: which of 0 ... count - 1 were joined, directly or by way of others (union-find with path
// halving; Tarjan and van Leeuwen 1984).
#pragma once

#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

namespace weft {

class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0U); }
  /// The same for all members of a set, until sets are joined.
  std::uint32_t root(std::uint32_t member) {
    while (parent_[member] != member) member = parent_[member] = parent_[parent_[member]];
    return member;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[root(a)] = root(b); }
  /// Each set, its members ascending.
  std::vector<std::vector<std::uint32_t>> sets() {
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_root;
    for (std::uint32_t i = 0; i < parent_.size(); ++i) by_root[root(i)].push_back(i);
    std::vector<std::vector<std::uint32_t>> all;
    for (auto& [at, members] : by_root) all.push_back(std::move(members));
    return all;
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace weft
