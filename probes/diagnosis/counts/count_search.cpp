#include "probes/diagnosis/counts/count_search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "probes/diagnosis/counts/count_account.hpp"
#include "probes/diagnosis/counts/count_answer.hpp"
#include "probes/diagnosis/counts/exchanges.hpp"

namespace weft::diagnosis {
namespace {

/// The likeliest hazards of all are a start for small fabrics, whose channels may be bad by the half, and up
/// to kMaxLikeliest suspects where one in twenty was found to be; in others what is found one by one is
/// found.
constexpr std::size_t kSmallProblem = 1000;
constexpr std::size_t kMaxLikeliest = 6000;

/// Losses that are expected of a host's packets if it is to tell anything: with .99 some are seen.
constexpr double kTells = 4.6;

/// Of a loss above what is tolerated: less likely it is none. A few packets lost elsewhere make what was
/// found likelier to be one of many backgrounds; it must stay above this.
constexpr double kDoubted = 0.02;

/// The most that is said of a suspect of which there was no time to ask what else explains the same, or whose
/// loss is no more than that of a healthy channel: it is there for losses that the model does not know.
constexpr double kOpenAtMost = 0.5;

/// Of two hosts that have no fault of their own, nothing tells an even loss of all channels from one of a
/// host's cable; nor does a third with so few packets that they would hardly lose any.
bool shows_even(const CountState& state) {
  const CountProblem& problem = state.problem();
  double crossings = 0;
  for (const Suspect& suspect : problem.suspects)
    if (suspect.is_channel()) crossings += static_cast<double>(suspect.sent * suspect.channels.size());
  const double loss_of_path = state.model().learned().mean * crossings /
                              static_cast<double>(std::max<std::uint64_t>(problem.sent, 1));
  std::set<NodeId> sound, faulty;
  for (std::uint32_t s = 0; s < problem.suspects.size(); ++s) {
    const bool bad = state.is_faulty(s) || state.is_faulty(s + state.model().suspects());
    const bool tells = static_cast<double>(problem.suspects[s].sent) * loss_of_path > kTells;
    for (const NodeId host : state.priors().hosts[s])
      if (bad || tells) (bad ? faulty : sound).insert(host);
  }
  std::erase_if(sound, [&](NodeId host) { return faulty.contains(host); });
  return sound.size() >= 3;
}

/// Rows that lose in bursts on one channel lose as much whichever way they go on: by more deviations than
/// these, and by more than a factor of two of the odds, they do not.
constexpr double kDeviations = 5.0;
constexpr double kUnlike = 0.7;  // ln 2
constexpr std::size_t kMinRows = 3;

/// Of log odds of a loss, row by row; a row of r runs tells them no better than r events do.
struct Spread {
  double n = 0, sum = 0, squares = 0, least = 0;
  void add(double x, double runs) { ++n, sum += x, squares += x * x, least += 1 / std::max(runs, 1.0); }
  Spread without(const Spread& some) const {
    return {n - some.n, sum - some.sum, squares - some.squares, least - some.least};
  }
  double mean() const { return sum / n; }
  double of_mean() const { return std::max(squares / n - mean() * mean(), least / n) / (n - 1); }
};

/// The rows that a suspect is said to lose in bursts lose unlike shares over another suspect and elsewhere:
/// then these losses are of what lies behind it rather than its own.
bool loses_unevenly(const CountState& state, std::uint32_t suspect) {
  const CountProblem& problem = state.problem();
  const auto is_shared = [&](std::uint32_t row) {
    return std::ranges::any_of(problem.suspects_of(row), [&](const auto& other) {
      return other.index != suspect &&
             (state.is_faulty(other.index) || state.is_faulty(other.index + state.model().suspects()));
    });
  };
  std::map<std::uint32_t, Spread> over;
  Spread all;
  for (const auto& cell : problem.rows_of(suspect)) {
    if (state.model().burst_weight(cell.index) < 0.5 || is_shared(cell.index)) continue;
    const double k = problem.beyond_drops(cell.index), n = problem.n[cell.index];
    const double share = std::log((k + 0.5) / (n - k + 0.5));
    all.add(share, problem.runs[cell.index]);
    for (const auto& other : problem.suspects_of(cell.index))
      if (problem.suspects[other.index].is_channel()) over[other.index].add(share, problem.runs[cell.index]);
  }
  return std::ranges::any_of(over, [&](const auto& at) {
    const Spread& its = at.second;
    const Spread rest = all.without(its);
    if (its.n < kMinRows || rest.n < kMinRows) return false;
    const double apart = std::abs(its.mean() - rest.mean());
    return apart > kUnlike && apart > kDeviations * std::sqrt(its.of_mean() + rest.of_mean());
  });
}

bool is_open(const CountResult& result) {
  return std::ranges::any_of(result.rivals,
                             [&](const auto& rivals) { return result.with_rivals(rivals.front()) >= kOpen; });
}

/// Where nothing is found: what may lose more than is tolerated though it be no ten times the usual. It is
/// not named.
void doubt(CountState& state, double tolerated, double named_from, CountResult& result) {
  state.expect_faults_above_tolerated();
  CountResult doubts = weigh_answer(state);
  result.suspicions = std::move(doubts.suspicions);
  result.rivals = std::move(doubts.rivals);
  for (Suspicion& suspicion : result.suspicions)
    suspicion.probability = std::min(suspicion.probability, named_from - kDoubted);
  for (const auto& rivals : result.rivals) {
    const Suspicion& likeliest = result.suspicions[std::ranges::min(rivals)];
    const std::size_t channels = state.problem().suspects[likeliest.suspect].channels.size();
    const double most = tolerated * static_cast<double>(std::max<std::size_t>(channels, 1));
    if (result.with_rivals(rivals.front()) >= kDoubted && likeliest.loss > most)
      result.doubted.push_back(rivals);
  }
}

}  // namespace

CountResult search_counts(const CountProblem& problem, const CountPriors& priors, double tolerated,
                          double named_from, bool with_exchanges, const std::function<bool()>& is_over) {
  std::unique_ptr<CountClimb> best;
  double worth = -1e300;
  bool best_is_even = false;
  const auto consider = [&](bool even, bool likeliest) {
    auto search = std::make_unique<CountClimb>(problem, priors, BackgroundPrior{tolerated, even}, is_over);
    const double its = likeliest ? search->from_likeliest() : search->from_here();
    if (best && (its <= worth || (even && !shows_even(search->state())))) return;
    best = std::move(search), worth = its, best_is_even = even;
  };
  consider(false, false);
  const bool crowded = 20 * best->state().faults().size() > problem.suspects.size();
  const bool at_most = best->state().model().learned().mean > 0.9 * tolerated;
  const std::size_t most = crowded ? kMaxLikeliest : kSmallProblem;
  if (problem.suspects.size() < most && problem.row_count() > 0 && !best->is_over()) consider(false, true);
  if ((crowded || at_most) && !best->is_over()) consider(true, false);
  const auto exchanges = find_exchanges(*best, with_exchanges);
  CountState& state = best->state();
  CountResult result = weigh_answer(state);
  leave_open(exchanges.groups, problem, result);
  for (Suspicion& suspicion : result.suspicions) {
    if (const auto at = exchanges.spared.find(suspicion.suspect); at != exchanges.spared.end())
      suspicion.probability = std::min(suspicion.probability, 1.0 / (1.0 + std::exp(-at->second)));
    const bool unchallenged = exchanges.challenged && !exchanges.challenged->contains(suspicion.suspect);
    if (unchallenged || suspicion.high <= result.background.mean)
      suspicion.probability = std::min(suspicion.probability, kOpenAtMost);
    if (suspicion.in_bursts > 0.5 && loses_unevenly(state, suspicion.suspect))
      suspicion.probability = std::min(suspicion.probability, kOpenAtMost);
  }
  if (best_is_even && result.background.mean > tolerated)
    result.even_loss = -std::expm1(-result.background.mean);
  if (result.even_loss == 0 && !is_open(result)) doubt(state, tolerated, named_from, result);
  result.account = account_of(state, result, tolerated, named_from);
  return result;
}

}  // namespace weft::diagnosis
