#include "probes/diagnosis/load/load_elimination.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kFault = 4.0;  // nats: of a hundred channels two hold flows back, before anything is seen
/// A flow that is held back once, by nothing that lasts (a host that was not scheduled), is as rare; a dip is
/// less so.
constexpr double kDisturbed = 5.0;
constexpr double kDip = 2.5;
constexpr double kDipShare = 0.85;
/// Traffic of others whose queue is too whimsical for one curve: rarer than a channel that keeps to one.
constexpr double kWhimsical = 3.0;
constexpr double kMatch = 4.0;       // noises: what two rounds over one culprit may differ by
constexpr double kFairShare = 0.95;  // of a full channel, what a flow gets of it by what it offers
constexpr double kMinOther = 0.1;    // traffic, as a share of the capacity, that holds anything back
constexpr double kPlanned = 0.95;    // of its capacity, what a plan offers a channel
constexpr double kSureEnough = 6.0;  // nats
constexpr double kNamed = 0.95;
constexpr double kAlike = 0.05;   // of the likeliest: three nats; such an alternative is not told from it
constexpr double kAtTimes = 2.0;  // nats: of seven slow channels one is slow at times
constexpr double kOtherDirection = 1.5;  // nats, beside the first one's: one cable both ways
constexpr std::size_t kMaxAlternatives = 12;
constexpr std::size_t kMaxInSeries = 10;  // channels of a path that may carry traffic of others

double posterior(double nats) { return 1.0 / (1.0 + std::exp(-nats)); }

}  // namespace

LoadElimination::LoadElimination(const Fabric& fabric, const LoadRounds& rounds)
    : rounds_(rounds), seen_(fabric.channel_count()) {
  for (std::uint32_t c = 0; c < seen_.size(); ++c) look_at(ChannelId(c));
  add_needs();
  for (Need& need : needs_)
    for (const ChannelId channel : need.channels)
      if (could_hold(channel, need.round)) need.candidates.push_back(channel);
  for (Need& need : needs_) {
    const auto more = could_hold_together(rounds_.flows()[need.flow]);
    need.candidates.insert(need.candidates.end(), more.begin(), more.end());
    std::ranges::sort(need.candidates);
    const auto again = std::ranges::unique(need.candidates);
    need.candidates.erase(again.begin(), again.end());
  }
  suspect(kFault);
  explain_the_rest();
  for (Need& need : needs_)
    for (const ChannelId channel : need.candidates.empty() ? need.channels : std::vector<ChannelId>())
      if (could_scatter(channel, need.round)) need.candidates.push_back(channel);
  suspect(kFault + kWhimsical);
  explain_the_rest();
  while (prefer_one_at_times()) {
  }
  for (const Need& need : needs_) unexplained_.push_back(need.flow);
}

void LoadElimination::look_at(ChannelId channel) {
  Seen& seen = seen_[channel.value()];
  const double capacity = rounds_.capacity(channel);
  seen.other = 1e300;
  for (const ChannelRound& round : rounds_.rounds_of(channel)) {
    seen.most = std::max(seen.most, round.got);
    seen.asked = std::max(seen.asked, std::min(round.offered, kPlanned * capacity));
    if (round.got > 0)
      seen.other = std::min(seen.other, capacity * round.reached / round.got - round.reached);
  }
}

double LoadElimination::disturbed(double share, bool one_path) const {
  // Of a set of paths the culprit may stand where not all of them go.
  return share > kDipShare ? kDip : one_path ? kDisturbed : kFault;
}

void LoadElimination::add_needs() {
  for (std::uint32_t i = 0; i < rounds_.flows().size(); ++i) {
    const LoadFlow& flow = rounds_.flows()[i];
    if (flow.stalled || flow.met_full || !rounds_.held_back(flow) || had_its_share(flow)) continue;
    needs_.push_back({flow.channels, flow.round, i, disturbed(flow.got / flow.offered, flow.one_path), {}});
    std::ranges::sort(needs_.back().channels);
  }
}

/// Of a channel that others filled with it, whose packets got no further than that: they lost them behind it,
/// at what passes no more.
bool LoadElimination::had_its_share(const LoadFlow& flow) const {
  const double fair = std::min(kFairShare, rounds_.whole_share());
  return std::ranges::any_of(flow.channels, [&](ChannelId channel) {
    const ChannelRound& round = *rounds_.round_of(channel, flow.round);
    const double capacity = rounds_.capacity(channel);
    if (round.flows < 2 || flow.got < fair * capacity * flow.offered / round.offered) return false;
    double carried = 0;
    for (const std::uint32_t i : rounds_.flows_over(channel)) {
      const LoadFlow& other = rounds_.flows()[i];
      if (other.round == flow.round) carried += loses_behind(other, channel) ? other.offered : other.got;
    }
    return carried > kFairShare * capacity;
  });
}

bool LoadElimination::loses_behind(const LoadFlow& flow, ChannelId channel) const {
  const auto at = std::ranges::find(flow.channels, channel);
  return flow.one_path && rounds_.held_back(flow) &&
         std::any_of(at + 1, flow.channels.end(), [&](ChannelId c) { return could_hold(c, flow.round); });
}

/// Either way of holding back predicts what the channel passed in this round from what it passed in others.
bool LoadElimination::could_hold(ChannelId channel, std::uint32_t number) const {
  const ChannelRound* round = rounds_.round_of(channel, number);
  if (round == nullptr || !round->whole) return false;
  const Seen& seen = seen_[channel.value()];
  const double capacity = rounds_.capacity(channel);
  const double match = kMatch * rounds_.noise();
  const bool slow = round->reached * rounds_.whole_share() > seen.most;
  if (slow && round->got >= seen.most * (1 - match)) return true;
  const double passed = capacity * round->reached / (round->reached + seen.other);
  const bool shared = seen.other > kMinOther * capacity && passed < round->reached * rounds_.whole_share();
  return shared && round->got >= passed * (1 - match);
}

/// What the flow gets where each of these, in the order of its path, passes what the one before let through
/// as it passes flows that it alone holds back.
double LoadElimination::pass_together(const LoadFlow& flow, const std::vector<ChannelId>& channels) const {
  double passed = flow.offered;
  for (const ChannelId channel : channels) {
    const double beside = rounds_.round_of(channel, flow.round)->offered - flow.offered;
    const double full = passed + beside + seen_[channel.value()].other;
    passed *= std::min(rounds_.capacity(channel) / full, 1.0);
  }
  return passed;
}

/// Channels of its path none of which would hold it back so far alone, but several in series would, and to
/// just what it got.
std::vector<ChannelId> LoadElimination::could_hold_together(const LoadFlow& flow) const {
  auto shared = flow.channels;
  std::erase_if(shared,
                [&](ChannelId c) { return !could_scatter(c, flow.round) || could_hold(c, flow.round); });
  if (!flow.one_path || shared.size() < 2 || shared.size() > kMaxInSeries) return {};
  std::set<ChannelId> found;
  for (std::uint32_t chosen = 1; chosen < (1u << shared.size()); ++chosen) {
    std::vector<ChannelId> some;
    for (std::size_t i = 0; i < shared.size(); ++i)
      if ((chosen >> i & 1) != 0) some.push_back(shared[i]);
    const double passed = pass_together(flow, some);
    if (some.size() > 1 && std::abs(flow.got - passed) <= kMatch * rounds_.noise() * passed)
      found.insert(some.begin(), some.end());
  }
  return {found.begin(), found.end()};
}

bool LoadElimination::could_be_in_series_beside(ChannelId channel, const LoadSuspicion& suspicion) const {
  return !suspicion.flows.empty() && std::ranges::all_of(suspicion.flows, [&](std::uint32_t i) {
    const LoadFlow& flow = rounds_.flows()[i];
    auto others = flow.channels;
    std::erase_if(others, [&](ChannelId c) { return c == channel || !could_scatter(c, flow.round); });
    const double match = kMatch * rounds_.noise();
    return others.size() > 1 && pass_together(flow, others) <= flow.got * (1 + match);
  });
}

/// Nothing arrived whole of so much.
bool LoadElimination::could_scatter(ChannelId channel, std::uint32_t number) const {
  const ChannelRound* round = rounds_.round_of(channel, number);
  const Seen& seen = seen_[channel.value()];
  return round != nullptr && round->whole && seen.other > kMinOther * rounds_.capacity(channel) &&
         seen.most < rounds_.whole_share() * seen.asked;
}

void LoadElimination::suspect(double fault) {
  while (take_the_sure(fault)) explain_the_rest();
  for (auto& question : open_questions()) settle(std::move(question), fault);
}

/// Takes all channels that are the one candidate of so many flows that these are no disturbances.
bool LoadElimination::take_the_sure(double fault) {
  std::map<ChannelId, double> alone;
  for (const Need& need : needs_)
    if (need.candidates.size() == 1) alone[need.candidates.front()] += need.disturbed;
  std::map<ChannelId, double> sure;
  for (const auto& [channel, nats] : alone)
    if (nats > fault + kSureEnough) sure.emplace(channel, posterior(nats - fault));
  blame(sure);
  return !sure.empty();
}

std::vector<std::vector<LoadElimination::Need>> LoadElimination::open_questions() const {
  std::vector<HeldBack> held;
  std::vector<const Need*> of;
  for (const Need& need : needs_)
    if (!need.candidates.empty()) {
      held.push_back({need.candidates, need.disturbed});
      of.push_back(&need);
    }
  std::vector<std::vector<Need>> open;
  for (const auto& members : questions(held)) {
    open.emplace_back();
    for (const std::uint32_t i : members) open.back().push_back(*of[i]);
  }
  return open;
}

void LoadElimination::settle(std::vector<Need> needs, double fault) {
  std::map<std::vector<ChannelId>, double> alike;
  for (const Need& need : needs) alike[need.candidates] += need.disturbed;
  std::vector<HeldBack> held;
  for (const auto& [candidates, nats] : alike) held.push_back({candidates, nats});
  const auto all = explanations(held, fault);
  std::map<ChannelId, double> probability;
  for (const Explanation& one : all)
    for (const ChannelId channel : one.culprits) probability[channel] += one.probability;
  std::erase_if(probability, [](const auto& entry) { return entry.second < kNamed; });
  if (!probability.empty()) {  // what they leave falls apart into smaller questions
    blame(probability);
    std::erase_if(needs, [&](const Need& need) {
      return std::ranges::any_of(need.candidates, [&](ChannelId c) { return probability.contains(c); });
    });
    std::vector<HeldBack> left;
    for (const Need& need : needs) left.push_back({need.candidates, need.disturbed});
    for (const auto& members : questions(left)) {
      std::vector<Need> part;
      for (const std::uint32_t i : members) part.push_back(needs[i]);
      settle(std::move(part), fault);
    }
    return;
  }
  for (const auto& part : independent_parts(all)) leave_open(part, needs);
}

/// What cannot be told apart: one question of its own.
void LoadElimination::leave_open(const std::vector<Explanation>& all, const std::vector<Need>& needs) {
  LoadSuspicion suspicion{.probability = 1.0};
  for (const Explanation& one : all) {
    if (one.culprits.empty()) suspicion.probability -= one.probability;
    if (one.culprits.empty() || one.probability < kAlike * all.front().probability) continue;
    if (suspicion.alternatives.size() < kMaxAlternatives) suspicion.alternatives.push_back(one.culprits);
  }
  if (suspicion.alternatives.empty() || suspicion.probability < 0.5) return;
  const auto explained = [&](const Need& need) {
    return std::ranges::any_of(suspicion.alternatives.front(),
                               [&](ChannelId c) { return std::ranges::binary_search(need.candidates, c); });
  };
  for (const Need& need : needs)
    if (explained(need)) suspicion.flows.push_back(need.flow);
  std::erase_if(needs_, [&](const Need& need) {
    return std::ranges::find(suspicion.flows, need.flow) != suspicion.flows.end();
  });
  suspicions_.push_back(std::move(suspicion));
}

/// Culprits, each of its own; they take the flows that they could have held back.
void LoadElimination::blame(const std::map<ChannelId, double>& probability) {
  for (const auto& [channel, value] : probability) {
    const auto [at, is_new] = culprits_.try_emplace(channel, suspicions_.size());
    if (is_new) suspicions_.push_back({{{channel}}, value, {}});
  }
  std::erase_if(needs_, [&](const Need& need) {
    const auto at =
        std::ranges::find_if(need.candidates, [&](ChannelId c) { return probability.contains(c); });
    if (at == need.candidates.end()) return false;
    suspicions_[culprits_.at(*at)].flows.push_back(need.flow);
    return true;
  });
}

/// Flows that nothing explains to within the noise, and that cross a culprit which was offered more than it
/// ever passed: whose packets a full queue drops is a matter of phase.
void LoadElimination::explain_the_rest() {
  std::erase_if(needs_, [&](const Need& need) {
    if (!need.candidates.empty()) return false;
    for (const ChannelId channel : need.channels) {
      const auto at = culprits_.find(channel);
      const ChannelRound* round = rounds_.round_of(channel, need.round);
      if (at == culprits_.end() || round == nullptr ||
          round->offered * rounds_.whole_share() <= passes(channel))
        continue;
      suspicions_[at->second].flows.push_back(need.flow);
      return true;
    }
    return false;
  });
}

/// Cables that all flows of a suspicion cross and that are none of its alternatives, with those suspicions.
std::map<LinkId, std::vector<std::size_t>> LoadElimination::cables_of_all_flows() const {
  std::map<LinkId, std::vector<std::size_t>> over;
  for (std::size_t s = 0; s < suspicions_.size(); ++s) {
    const LoadSuspicion& suspicion = suspicions_[s];
    if (suspicion.flows.empty() || suspicion.comes_and_goes) continue;
    std::map<LinkId, std::size_t> crossed;
    for (const std::uint32_t i : suspicion.flows)
      for (const ChannelId channel : rounds_.flows()[i].channels) ++crossed[Fabric::link_of(channel)];
    for (const auto& alternative : suspicion.alternatives)
      for (const ChannelId channel : alternative) crossed.erase(Fabric::link_of(channel));
    for (const auto& [link, flows] : crossed)
      if (flows == suspicion.flows.size()) over[link].push_back(s);
  }
  return over;
}

/// Nats by which one cable that is slow at times explains better what these suspicions do, and what nothing
/// explains. That it was slow in just these of its rounds has the odds of any other choice of as many (its
/// share of the time is unknown: uniform).
double LoadElimination::worth_of_one_at_times(LinkId cable,
                                              const std::vector<std::size_t>& instead_of) const {
  std::set<std::uint32_t> held;
  std::set<ChannelId> ways;
  double least = 1e300, others = 0;
  const auto is_over = [cable](ChannelId channel) { return Fabric::link_of(channel) == cable; };
  const auto add = [&](std::uint32_t i) {
    const LoadFlow& flow = rounds_.flows()[i];
    held.insert(flow.round);
    least = std::min(least, flow.got);
    std::ranges::copy_if(flow.channels, std::inserter(ways, ways.end()), is_over);
  };
  // Where many cables are slow, one more is nothing rare.
  const auto elsewhere = static_cast<double>(suspicions_.size() - instead_of.size());
  const double fault = std::max(kFault - std::log1p(elsewhere), 0.0);
  std::set<LinkId> links;
  for (const std::size_t s : instead_of) {
    std::ranges::for_each(suspicions_[s].flows, add);
    for (const ChannelId channel : suspicions_[s].alternatives.front())
      others += links.insert(Fabric::link_of(channel)).second ? fault : std::min(fault, kOtherDirection);
  }
  for (const Need& need : needs_)
    if (std::ranges::any_of(need.channels, is_over)) add(need.flow), others += need.disturbed;
  std::set<std::uint32_t> whole;
  for (const ChannelId channel : ways)
    for (const std::uint32_t i : rounds_.flows_over(channel)) {
      const LoadFlow& flow = rounds_.flows()[i];
      if (!rounds_.held_back(flow) && flow.offered * rounds_.whole_share() > least) whole.insert(flow.round);
    }
  for (const std::uint32_t round : held) whole.erase(round);
  const auto k = static_cast<double>(held.size()), n = k + static_cast<double>(whole.size());
  const double choices = std::lgamma(n + 2) - std::lgamma(k + 1) - std::lgamma(n - k + 1);  // (n + 1) C(n, k)
  const double its = kFault + kAtTimes + (ways.size() > 1 ? kOtherDirection : 0.0) + choices;
  return others - its;
}

/// What one cable explains that is slow at times is not several that stay slow; where it is nearly as likely,
/// these are no more than likely. False when nothing was replaced.
bool LoadElimination::prefer_one_at_times() {
  LinkId best;
  double worth = 0;
  const auto over = cables_of_all_flows();
  for (const auto& [cable, suspicions] : over) {
    const double its = worth_of_one_at_times(cable, suspicions);
    if (its > worth) worth = its, best = cable;
    for (const std::size_t s : suspicions)
      if (posterior(-its) < suspicions_[s].probability)
        suspicions_[s].probability = posterior(-its), suspicions_[s].beside = cable;
  }
  if (worth <= 0) return false;
  const auto is_over = [best](ChannelId channel) { return Fabric::link_of(channel) == best; };
  LoadSuspicion one{.probability = posterior(worth), .comes_and_goes = true};
  for (const std::size_t s : over.at(best))
    one.flows.insert(one.flows.end(), suspicions_[s].flows.begin(), suspicions_[s].flows.end());
  std::erase_if(needs_, [&](const Need& need) {
    const bool its = std::ranges::any_of(need.channels, is_over);
    if (its) one.flows.push_back(need.flow);
    return its;
  });
  std::set<ChannelId> ways;
  for (const std::uint32_t i : one.flows)
    std::ranges::copy_if(rounds_.flows()[i].channels, std::inserter(ways, ways.end()), is_over);
  one.alternatives.emplace_back(ways.begin(), ways.end());
  for (auto at = over.at(best).rbegin(); at != over.at(best).rend(); ++at)
    suspicions_.erase(suspicions_.begin() + static_cast<std::ptrdiff_t>(*at));
  suspicions_.push_back(std::move(one));
  return true;
}

bool LoadElimination::is_tested(ChannelId channel) const {
  const Seen& seen = seen_[channel.value()];
  return seen.asked > 0 && seen.most >= rounds_.whole_share() * seen.asked;
}

std::vector<ChannelId> LoadElimination::untested() const {
  std::vector<bool> suspected(seen_.size(), false);
  for (const LoadSuspicion& suspicion : suspicions_)
    for (const auto& alternative : suspicion.alternatives)
      for (const ChannelId channel : alternative) suspected[channel.value()] = true;
  std::vector<ChannelId> all;
  for (std::uint32_t c = 0; c < seen_.size(); ++c)
    if (seen_[c].asked > 0 && !is_tested(ChannelId(c)) && !suspected[c]) all.emplace_back(c);
  return all;
}

}  // namespace weft::diagnosis
