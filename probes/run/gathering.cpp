#include "probes/run/gathering.hpp"

#include <algorithm>

namespace weft::run {

Gathering::Gathering(std::size_t hosts, const GatherLimits& limits)
    : limits_(limits), states_(hosts, State::open) {
  for (std::size_t host = 0; host < hosts; ++host) {
    if (host % limits.branch == 0) waiting_.emplace_back();
    waiting_.back().push_back(host);
  }
}

std::optional<std::size_t> Gathering::next(Nanoseconds now) {
  if (waiting_.empty() || under_way_.size() >= limits_.at_most) return std::nullopt;
  const auto fresh = std::ranges::count_if(
      under_way_, [&](const Asked& one) { return !one.heard && now - one.since < limits_.patience; });
  if (static_cast<std::size_t>(fresh) >= limits_.at_once) return std::nullopt;
  calls_.push_back(std::move(waiting_.front()));
  waiting_.pop_front();
  under_way_.push_back({calls_.size() - 1, now, now});
  return calls_.size() - 1;
}

Nanoseconds Gathering::end_of(const Asked& one) const {
  if (!relays(one.call)) return one.begin + limits_.each;
  return std::min(one.since + limits_.silence, one.begin + limits_.silence + 2 * limits_.each);
}

void Gathering::heard(std::size_t call, Nanoseconds now) {
  if (!relays(call)) return;
  for (Asked& one : under_way_)
    if (one.call == call) one.since = now, one.heard = true;
}

void Gathering::ended(std::size_t call) {
  if (std::erase_if(under_way_, [&](const Asked& one) { return one.call == call; }) == 0) return;
  for (const std::size_t host : calls_[call]) {
    if (!relays(call))
      states_[host] = State::done;
    else if (states_[host] == State::open)
      ask_directly(host);
  }
}

void Gathering::ask_directly(std::size_t host) {
  states_[host] = State::direct;
  waiting_.push_back({host});
}

std::vector<std::size_t> Gathering::overdue(Nanoseconds now) {
  std::vector<std::size_t> late;
  for (const Asked& one : under_way_)
    if (now >= end_of(one)) late.push_back(one.call);
  for (const std::size_t call : late) ended(call);
  return late;
}

Nanoseconds Gathering::wakes_at(Nanoseconds now) const {
  Nanoseconds first = Nanoseconds::max();
  for (const Asked& one : under_way_) {
    first = std::min(first, end_of(one));
    const Nanoseconds outwaited = one.since + limits_.patience;
    if (!waiting_.empty() && outwaited > now) first = std::min(first, outwaited);
  }
  return first;
}

std::size_t Gathering::done_count() const {
  return static_cast<std::size_t>(std::ranges::count(states_, State::done));
}

}  // namespace weft::run
