#include "probes/diagnosis/counts/count_account.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "probes/diagnosis/counts/likeliest_hazards.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kOdds = 1e-3;       // of one false alarm in a healthy run
constexpr double kDeviations = 3.0;  // of what a host dropped itself, a row's share of it is not off by more

/// ln P(X >= k) of a Poisson variable, from above (Chernoff).
double log_tail(double k, double mean) {
  if (k <= mean) return 0.0;
  return k - mean - k * std::log(k / std::max(mean, 1e-12));
}

constexpr std::uint32_t kNone = ~0u;

/// The likeliest hazards of channels for the losses of rows (Poisson), with a ceiling on each or without.
struct HazardFit {
  struct Channel {
    double exposure = 1;                                       // packets
    double ceiling = std::numeric_limits<double>::infinity();  // of the hazard
  };
  std::vector<Channel> channels;
  HazardRows table;

  void begin(double start) {
    hazard_.assign(channels.size(), start);
    share_out();
    reached_ = -std::numeric_limits<double>::infinity();
  }

  /// Expectation maximisation; a ceiling cuts each step, for the steps are separate and concave. Each raises
  /// the log-likelihood. False: it is all but settled.
  bool go_on() {
    constexpr int kStepsBetweenLooks = 10;  // a look costs more than a step
    constexpr double kSettled = 0.01;       // nats from look to look
    for (int step = 0; step < kStepsBetweenLooks; ++step) {
      for (std::size_t c = 0; c < channels.size(); ++c)
        hazard_[c] = std::min(hazard_[c] * explained_[c] / channels[c].exposure, channels[c].ceiling);
      share_out();
    }
    const double last = std::exchange(reached_, log_likelihood());
    return reached_ - last >= kSettled;
  }

  /// By the hazards after the last go_on(), but for what does not depend on them.
  double reached() const { return reached_; }

  /// No hazards whatever are worth more: see LikeliestHazards::look. A row that lost k gains k ln d by its
  /// path's hazard d, and is at its best where that is k / y.
  double most() const {
    double sum = 0;
    std::uint32_t first = 0;
    for (const HazardRows::Row& row : table.rows) {
      const double d = table.path_hazard(row, first, hazard_);
      double steepest = 0;
      for (; first < row.end; ++first) {
        const std::uint32_t c = table.cells[first].suspect;
        steepest = std::max(steepest, explained_[c] / channels[c].exposure);
      }
      const double y = std::min(row.lost / d / steepest, row.lost / row.hazard);
      sum += row.lost * (std::log(row.lost / y) - 1.0) + y * row.hazard;
    }
    return sum;
  }

  /// Packets that the channels lose beyond their ceilings.
  double beyond_ceilings() const {
    double beyond = 0;
    for (std::size_t c = 0; c < channels.size(); ++c)
      beyond += std::max(explained_[c] * hazard_[c] - channels[c].exposure * channels[c].ceiling, 0.0);
    return beyond;
  }

 private:
  /// The losses among the channels, by the hazards as they are.
  void share_out() {
    explained_.assign(channels.size(), 0.0);
    std::uint32_t c = 0;
    for (const HazardRows::Row& row : table.rows) {
      const double by_hazard = row.lost / table.path_hazard(row, c, hazard_);
      for (; c < row.end; ++c) explained_[table.cells[c].suspect] += by_hazard * table.cells[c].share;
    }
  }

  double log_likelihood() const {
    double sum = 0;
    for (std::size_t c = 0; c < channels.size(); ++c) sum -= channels[c].exposure * hazard_[c];
    std::uint32_t first = 0;
    for (const HazardRows::Row& row : table.rows) {
      sum += row.lost * std::log(table.path_hazard(row, first, hazard_));
      first = row.end;
    }
    return sum;
  }

  std::vector<double> hazard_;
  std::vector<double> explained_;  // of the losses, by these hazards and in units of them
  double reached_ = 0;
};

/// Packets of the channels that must lose more than their ceilings: none where these fit the losses worse by
/// no more than `enough` nats.
double beyond_ceilings(HazardFit capped, double start, double enough) {
  constexpr int kLooks = 20;
  HazardFit free = capped;
  for (HazardFit::Channel& channel : free.channels) channel.ceiling = std::numeric_limits<double>::infinity();
  capped.begin(start), free.begin(start);
  for (int look = 0; look < kLooks && capped.go_on(); ++look) {
  }
  const double as_good = capped.reached() + enough;
  for (int look = 0; look < kLooks && free.reached() <= as_good; ++look)
    if (!free.go_on() || free.most() <= as_good) break;
  return free.reached() <= as_good ? 0.0 : capped.beyond_ceilings();
}

class Accounting {
 public:
  Accounting(const CountState& state, const CountResult& result, double tolerated, double named_from)
      : model_(state.model()), problem_(state.problem()), tolerated_(tolerated) {
    const std::uint32_t suspects = model_.suspects();
    standing_.assign(suspects, Standing::healthy);
    for (const auto& rivals : result.rivals) {
      double total = 0;
      for (const std::uint32_t i : rivals) total += result.suspicions[i].probability;
      for (const std::uint32_t i : rivals) {
        const Suspicion& it = result.suspicions[i];
        if (it.probability >= named_from)
          standing_[it.suspect] = Standing::found;
        else if (total >= kOpen)
          standing_[it.suspect] = total >= named_from ? Standing::open : Standing::suspected;
      }
    }
    for (const auto& rivals : result.doubted)
      doubted_.push_back(result.suspicions[std::ranges::min(rivals)].suspect);
    if (result.even_loss > 0)
      for (std::uint32_t s = 0; s < suspects; ++s)
        if (standing_[s] == Standing::healthy && problem_.suspects[s].is_channel())
          standing_[s] = Standing::found;
    for (std::uint32_t s = 0; s < suspects; ++s)
      if (problem_.suspects[s].is_channel())
        crossings_ += problem_.exposure(s) * static_cast<double>(problem_.suspects[s].channels.size());
  }

  AccountLine line() {
    std::vector<double> left(problem_.row_count());  // what no fault explains
    double found = 0, open = 0;
    for (std::uint32_t row = 0; row < problem_.row_count(); ++row) {
      const Parts parts = parts_of(row);
      found += parts.found;
      open += parts.open;
      left[row] = std::max(problem_.packets[row] - parts.found - parts.open, 0.0);
    }
    AccountLine line{.all = problem_.lost};
    const double unexplained = above_tolerated(left);
    line.found = std::min<std::uint64_t>(std::llround(found), line.all);
    line.open = std::min<std::uint64_t>(std::llround(open), line.all - line.found);
    line.unexplained =
        std::min<std::uint64_t>(std::llround(std::ceil(unexplained)), line.all - line.found - line.open);
    line.tolerated = line.all - line.found - line.open - line.unexplained;
    return line;
  }

 private:
  enum class Standing : std::uint8_t { healthy, suspected, open, found };
  struct Parts {
    double found = 0, open = 0;
  };

  /// The loss of a healthy channel, or of a class of as many.
  double tolerated_of(std::uint32_t s) const {
    return tolerated_ * static_cast<double>(std::max<std::size_t>(problem_.suspects[s].channels.size(), 1));
  }

  Parts parts_of(std::uint32_t row) const {
    const double k = problem_.packets[row];
    const double bursts = k * model_.burst_weight(row);
    const double by_channels = bursts * (1 - model_.stray_weight(row));
    Parts parts;
    for (const auto& cell : problem_.suspects_of(row)) {
      const Standing standing = standing_[cell.index];
      if (standing == Standing::healthy) continue;
      const double share = problem_.shares[cell.share];
      const double singles = (k - bursts) * share * model_.hazard(cell.index) /
                             std::max(model_.row_hazard(row) - problem_.drop_hazard(row), kMinHazard);
      const double events =
          model_.row_burst(row) > 0
              ? by_channels * share * model_.hazard(cell.index + model_.suspects()) / model_.row_burst(row)
              : 0.0;
      (standing == Standing::found ? parts.found : parts.open) += singles + events;
    }
    const double all = parts.found + parts.open;
    if (all > k) parts.found *= k / all, parts.open *= k / all;
    return parts;
  }

  /// Packets that a loss of `tolerated_` on every channel does not make likely.
  double above_tolerated(std::vector<double>& left) const {
    const double sent = static_cast<double>(std::max<std::uint64_t>(problem_.sent, 1));
    const double a_path = tolerated_ * std::max(crossings_ / sent, 1.0);
    double unexplained = 0, spread = 0;
    const double rows = static_cast<double>(std::max<std::size_t>(problem_.observations, 1));
    for (std::uint32_t row = 0; row < left.size(); ++row) {
      spread += spread_of_drops(row);
      const double k = std::round(left[row] - kDeviations * std::sqrt(spread_of_drops(row)));
      if (k < 2 || log_tail(k, a_path * problem_.n[row]) > std::log(kOdds / rows)) continue;
      unexplained += left[row];
      left[row] = 0;
    }
    double worst = 0, all = 0;
    for (const double packets : left) all += packets;
    const double most = a_path * sent + kDeviations * std::sqrt(spread);
    if (log_tail(std::floor(all), most) < std::log(kOdds)) worst = all - most;
    for (std::uint32_t s = 0; s < model_.suspects(); ++s) {
      double own = 0, its_spread = 0;
      for (const auto& cell : problem_.rows_of(s)) {
        own += problem_.shares[cell.share] * left[cell.index];
        its_spread += spread_of_drops(cell.index);
      }
      const double mean = a_path * problem_.exposure(s) + kDeviations * std::sqrt(its_spread);
      if (own > worst && log_tail(std::floor(own), mean) < std::log(kOdds / model_.suspects()))
        worst = std::max(worst, own - mean);
    }
    for (const std::uint32_t s : doubted_) {
      double own = 0;
      for (const auto& cell : problem_.rows_of(s)) own += problem_.shares[cell.share] * left[cell.index];
      worst = std::max(worst, std::max(own - tolerated_of(s) * problem_.exposure(s), 1.0));
    }
    return unexplained + std::max(worst, above_ceilings(left));
  }

  /// The variance of what a host dropped of this row itself.
  double spread_of_drops(std::uint32_t row) const {
    return problem_.excused[row] * (1 - problem_.excused[row] / problem_.n[row]);
  }

  /// Packets of the channels that must lose more than is tolerated. What is tolerated of all channels of a
  /// path may hide what one of them loses; so the hazards are fitted twice, with a ceiling on each and
  /// without. Where the ceilings fit the losses worse by the odds, what is beyond them is not tolerated.
  double above_ceilings(const std::vector<double>& left) const {
    HazardFit fit;
    std::vector<std::uint32_t> place(model_.suspects(), kNone);
    for (std::uint32_t row = 0; row < left.size(); ++row) {
      if (left[row] < 0.5) continue;
      const double dropped = problem_.excused[row] / problem_.n[row];
      for (const auto& cell : problem_.suspects_of(row)) {
        const Suspect& suspect = problem_.suspects[cell.index];
        if (!suspect.is_channel()) continue;
        if (place[cell.index] == kNone) {
          place[cell.index] = static_cast<std::uint32_t>(fit.channels.size());
          HazardFit::Channel& channel = fit.channels.emplace_back();
          channel.exposure = std::max(problem_.exposure(cell.index), 1.0);
          if (standing_[cell.index] == Standing::healthy) channel.ceiling = tolerated_of(cell.index);
        }
        fit.table.add_cell(place[cell.index], problem_.shares[cell.share]);
      }
      fit.table.add_row(left[row] + problem_.excused[row], kMinHazard + dropped);
    }
    return beyond_ceilings(std::move(fit), tolerated_,
                           std::log(static_cast<double>(model_.suspects()) / kOdds));
  }

  const CountModel& model_;
  const CountProblem& problem_;
  double tolerated_;
  double crossings_ = 0;
  std::vector<Standing> standing_;
  std::vector<std::uint32_t> doubted_;  // see CountResult::doubted
};

}  // namespace

AccountLine account_of(const CountState& state, const CountResult& result, double tolerated,
                       double named_from) {
  return Accounting(state, result, tolerated, named_from).line();
}

}  // namespace weft::diagnosis
