#include "probes/run/gathering.hpp"

#include <algorithm>

namespace weft::run {

std::optional<std::size_t> Gathering::next(Nanoseconds now) {
  if (asked_ == hosts_ || under_way_.size() >= limits_.at_most) return std::nullopt;
  const auto fresh =
      std::ranges::count_if(under_way_, [&](const Asked& one) { return now - one.since < limits_.patience; });
  if (static_cast<std::size_t>(fresh) >= limits_.at_once) return std::nullopt;
  under_way_.push_back({asked_, now});
  return asked_++;
}

void Gathering::ended(std::size_t host) {
  std::erase_if(under_way_, [&](const Asked& one) { return one.host == host; });
}

std::vector<std::size_t> Gathering::overdue(Nanoseconds now) {
  std::vector<std::size_t> late;
  for (const Asked& one : under_way_)
    if (now - one.since >= limits_.each) late.push_back(one.host);
  for (const std::size_t host : late) ended(host);
  return late;
}

Nanoseconds Gathering::wakes_at(Nanoseconds now) const {
  Nanoseconds first = Nanoseconds::max();
  for (const Asked& one : under_way_) {
    first = std::min(first, one.since + limits_.each);
    const Nanoseconds outwaited = one.since + limits_.patience;
    if (asked_ < hosts_ && outwaited > now) first = std::min(first, outwaited);
  }
  return first;
}

}  // namespace weft::run
