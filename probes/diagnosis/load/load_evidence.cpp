#include "probes/diagnosis/load/load_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

constexpr double kAlike = 1.1;  // offers up to so many times the least of a group belong to it

/// The means of the rounds of one offer.
struct Group {
  double least = 0;
  double offered = 0;
  double got = 0;
  double rounds = 0;
};

std::vector<Group> by_offer(std::vector<PressedRound> rounds) {
  std::ranges::sort(rounds, {}, &PressedRound::offered);
  std::vector<Group> groups;
  for (const PressedRound& round : rounds) {
    if (groups.empty() || round.offered > kAlike * groups.back().least)
      groups.push_back({.least = round.offered});
    Group& group = groups.back();
    group.rounds += 1;
    group.offered += (round.offered - group.offered) / group.rounds;
    group.got += (round.got - group.got) / group.rounds;
  }
  return groups;
}

/// Three digits: more are noise.
std::string in_three_digits(Bandwidth rate) {
  const double bits = rate.bits_per_second();
  if (bits <= 0) return to_string(rate);
  const double unit = std::pow(10.0, std::floor(std::log10(bits)) - 2);
  return to_string(Bandwidth::bit(std::round(bits / unit) * unit));
}

}  // namespace

std::string offers_in_words(std::vector<PressedRound> rounds, Bandwidth capacity) {
  auto groups = by_offer(std::move(rounds));
  if (groups.size() > 3) groups = {groups.front(), groups[groups.size() / 2], groups.back()};
  std::string text;
  for (const Group& group : groups)
    text += fmt::format("{}of {}{} {}{}", text.empty() ? "" : ", ", in_three_digits(capacity * group.offered),
                        text.empty() ? " offered" : "", in_three_digits(capacity * group.got),
                        text.empty() ? " arrived" : "");
  return text;
}

}  // namespace weft
