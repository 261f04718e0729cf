// SharedPlan: the plan of the active watcher, kept on the bus in parts for the one that takes over.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "probes/watch/seams.hpp"

namespace weft::run {

/// What a bucket of 64 MB holds beside the rest: the plan of 24,576 NICs has some 45 MB.
inline constexpr std::size_t kMaxSharedPlan = 48'000'000;

class SharedPlan {
 public:
  /// `values` outlives it.
  explicit SharedPlan(watch::SharedValue& values) : values_(values) {}

  /// What is to be kept from now on. Error: not_supported (longer than kMaxSharedPlan).
  Result<void> set(std::string bytes);
  /// Writes the next part of it, where one is left; what failed is tried again by the next call. Errors:
  /// those of SharedValue.
  Result<void> write_some();
  /// What is kept. Errors: those of SharedValue, not_found (there is none, or somebody is writing it).
  Result<std::string> read();

 private:
  watch::SharedValue& values_;
  std::string bytes_, head_;
  std::size_t written_ = 0, parts_ = 0;
  std::map<std::string, std::uint64_t> revisions_;  // by key, of what this watcher wrote or read
};

}  // namespace weft::run
