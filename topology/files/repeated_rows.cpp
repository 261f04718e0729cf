#include "topology/files/repeated_rows.hpp"

#include <functional>

namespace weft::files {

bool RepeatedRows::is_read(std::uint64_t number, std::uint64_t hash) {
  const bool rises = rising_.empty() ? first_.empty() : number > highest_;
  if (rises) {
    rising_.push_back(hash);
    highest_ = number;
    return false;
  }
  for (const std::uint64_t before : rising_) first_.try_emplace(before, 0);
  rising_.clear();
  return !first_.try_emplace(hash, 0).second;
}

RepeatedRows::Answer RepeatedRows::next(const Row& row) {
  const std::uint64_t hash = std::hash<std::string_view>()(row.text);
  if (row.number) {
    alike_ = 0;
    return {is_read(*row.number, hash), 0};
  }
  if (alike_ > 0 && like_ < rows_.size() && rows_[like_] == hash && (row.has_time || alike_ >= kMinRow)) {
    ++like_;
    if (++alike_ > kMinRow) return {true, 0};
  } else {
    const auto found = row.has_time ? first_.find(hash) : first_.end();
    alike_ = found == first_.end() ? 0 : 1;
    if (alike_ > 0) like_ = found->second + 1;
  }
  if (alike_ == kMinRow) {
    rows_.resize(rows_.size() - (kMinRow - 1));
    return {true, kMinRow - 1};
  }
  if (row.has_time) first_.try_emplace(hash, static_cast<Index>(rows_.size()));
  rows_.push_back(hash);
  return {};
}

}  // namespace weft::files
