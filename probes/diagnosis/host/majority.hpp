// Majority: what most of many have, and who differs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace weft {

class Majority {
 public:
  void count(const std::string& value) {
    ++counts_[value];
    ++all_;
  }
  bool differs() const { return counts_.size() > 1; }
  /// What more than half have; absent where no value has that.
  std::optional<std::string> value() const {
    for (const auto& [value, count] : counts_)
      if (count * 2 > all_) return value;
    return std::nullopt;
  }
  /// True where all are not alike and this is not what most have: with no majority, all are odd.
  bool is_odd(const std::string& value) const { return differs() && this->value() != value; }
  std::size_t count_of(const std::string& value) const {
    const auto found = counts_.find(value);
    return found == counts_.end() ? 0 : found->second;
  }
  std::size_t all() const { return all_; }

 private:
  std::map<std::string, std::size_t> counts_;
  std::size_t all_ = 0;
};

}  // namespace weft
