// Majority: what most of many have, and who differs. Pure.
#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weft::diagnosis {

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

/// "the firmware is 28.36; on 7 of 8 NICs of the run it is 28.39": of a value that is odd among `group`.
inline std::string unlike_most(std::string_view what, const std::string& value, const Majority& group,
                               std::string_view members) {
  const auto shown = [](const std::string& text) { return text.empty() ? std::string("none") : text; };
  const auto usual = group.value();
  if (!usual)
    return fmt::format("{} is {} on {} of {} {}, and no value is on most of them", what, shown(value),
                       group.count_of(value), group.all(), members);
  return fmt::format("{} is {}; on {} of {} {} it is {}", what, shown(value), group.count_of(*usual),
                     group.all(), members, shown(*usual));
}

}  // namespace weft::diagnosis
