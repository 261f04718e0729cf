#include "balancer/tune/timed_choices.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace weft::tune {
namespace {

using Choices = std::vector<const TimedChoice*>;

/// Of the smallest size: below it what counts are steps, not bytes. nccl-tests rounds down to bytes of all
/// ranks.
constexpr std::uint64_t kMaxFirst = 1024;
constexpr std::uint64_t kMaxFirstOfRank = 16;

auto choice_of(const TimedChoice& timed) {
  return std::tuple(timed.function, timed.algorithm, timed.protocol, timed.channels);
}

std::optional<double> seconds_at(const TimedChoice& timed, std::uint64_t bytes) {
  const auto after = timed.seconds.lower_bound(bytes);
  if (after == timed.seconds.end()) return std::nullopt;
  if (after->first == bytes) return after->second;
  if (after == timed.seconds.begin()) return std::nullopt;
  const auto before = std::prev(after);
  const double share =
      static_cast<double>(bytes - before->first) / static_cast<double>(after->first - before->first);
  return before->second + share * (after->second - before->second);
}

/// Of those that were measured there; of equals the first.
const TimedChoice& quickest_at(const Choices& choices, std::uint64_t bytes) {
  const TimedChoice* best = nullptr;
  std::optional<double> least;
  for (const TimedChoice* one : choices)
    if (const auto seconds = seconds_at(*one, bytes); seconds && (!least || *seconds < *least)) {
      best = one;
      least = seconds;
    }
  return *best;
}

/// The last size of `from`, which is quickest at `low`, where `to` is at `high`, the next size measured.
std::uint64_t last_of(const TimedChoice& from, const TimedChoice& to, std::uint64_t low, std::uint64_t high) {
  const auto to_low = seconds_at(to, low);
  if (!to_low) return high - 1;
  const auto from_high = seconds_at(from, high);
  if (!from_high) return low;
  const double ahead = *to_low - *seconds_at(from, low);
  const double behind = *from_high - *seconds_at(to, high);
  const double share = ahead + behind > 0 ? ahead / (ahead + behind) : 0;
  const auto crossing = static_cast<std::uint64_t>(share * static_cast<double>(high - low));
  return low + std::min(crossing, high - low - 1);
}

Result<Choices> choices_of(std::span<const TimedChoice> timed, steer::NcclFunction function) {
  Choices choices;
  for (const TimedChoice& one : timed)
    if (one.function == function && !one.seconds.empty()) choices.push_back(&one);
  const auto by_choice = [](const TimedChoice* one) { return choice_of(*one); };
  std::ranges::sort(choices, {}, by_choice);
  if (const auto twice = std::ranges::adjacent_find(choices, {}, by_choice); twice != choices.end())
    return fail(ErrorKind::invalid_input, "{} by {}/{} is timed twice", to_string(function),
                to_string((*twice)->algorithm), to_string((*twice)->protocol));
  if (choices.size() == 1)
    return fail(ErrorKind::invalid_input,
                "{} is timed by {}/{} alone: time another choice, for this one to be quicker than",
                to_string(function), to_string(choices.front()->algorithm),
                to_string(choices.front()->protocol));
  return choices;
}

}  // namespace

Result<std::vector<steer::TunerRow>> timed_rows(std::span<const TimedChoice> timed, CommunicatorSize of) {
  std::set<steer::NcclFunction> functions;
  for (const TimedChoice& one : timed) functions.insert(one.function);
  std::vector<steer::TunerRow> rows;
  for (const steer::NcclFunction function : functions) {
    WEFT_TRY(const auto choices, choices_of(timed, function));
    std::set<std::uint64_t> sizes;
    for (const TimedChoice* one : choices)
      for (const auto& [bytes, seconds] : one->seconds) sizes.insert(bytes);
    if (sizes.empty()) continue;
    if (const auto most = std::max(kMaxFirst, kMaxFirstOfRank * of.ranks); *sizes.begin() > most)
      return fail(
          ErrorKind::invalid_input,
          "{} is timed from {} bytes on: what is quickest there would be taken for all smaller sizes; "
          "begin at {} or below (nccl-tests: -b 8)",
          to_string(function), *sizes.begin(), most);
    const auto add = [&](const TimedChoice& choice, std::uint64_t up_to) {
      rows.push_back(
          {function, of.ranks, of.nodes, up_to, choice.algorithm, choice.protocol, choice.channels});
    };
    const TimedChoice* now = &quickest_at(choices, *sizes.begin());
    for (auto low = sizes.begin(), high = std::next(low); high != sizes.end(); low = high++) {
      const TimedChoice* const next = &quickest_at(choices, *high);
      if (next == now) continue;
      add(*now, last_of(*now, *next, *low, *high));
      now = next;
    }
    add(*now, *sizes.rbegin());
  }
  return rows;
}

}  // namespace weft::tune
