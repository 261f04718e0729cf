#include "probes/diagnosis/delay/delay.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <set>

#include "probes/diagnosis/concentration.hpp"
#include "probes/diagnosis/delay/delay_causes.hpp"
#include "probes/diagnosis/delay/delay_fit.hpp"
#include "probes/diagnosis/delay/delay_rivals.hpp"
#include "probes/diagnosis/delay/delay_rows.hpp"
#include "probes/diagnosis/delay/delay_tails.hpp"
#include "topology/base/disjoint_sets.hpp"
#include "topology/base/statistics.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMaxOptions = 6;    // alternatives of a set that are worth listing
constexpr std::size_t kMaxFitted = 4000;  // round trips of one fit: more say no more
constexpr std::size_t kMaxJoint = 4000;   // round trips, and channels, of which bases are fitted with shifts
constexpr std::size_t kMaxJointChannels = 200;
constexpr int kTurns = 3;            // what a base is decides how finely the next one is fitted
constexpr std::uint32_t kMin = 3;    // round trips over a channel, to speak of a shift
constexpr double kMinStrays = 0.01;  // share of round trips that are late by a host's whim, on any channel
constexpr double kMaxStrays = 0.25;  // share of all round trips: more are no strays
constexpr double kOneInAMillion = -13.8;  // nats, over the whole run
constexpr double kSpread = 1.0;           // microseconds: clocks and queues are no finer
constexpr double kMargin = 1.15;          // of the delay shown: the noise is an estimate (`bench verdicts`)
constexpr double kShownNats = 22.0;       // what a fault costs (delay_fit.cpp), and 99 to 1 beyond it

class DelaySearch {
 public:
  DelaySearch(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance,
              Report& report)
      : fabric_(fabric),
        rows_(observations),
        ceiling_(std::chrono::duration<double, std::micro>(tolerance.delay).count()),
        report_(report),
        seen_(fabric.channel_count(), 0),
        late_(fabric.channel_count(), 0),
        shift_(fabric.channel_count(), 0.0),
        open_(fabric.channel_count(), false) {
    for (std::size_t i = 0; i < rows_.rows().size(); ++i)
      for (const ChannelId channel : rows_.channels_of(i)) ++seen_[channel.value()];
    count_late();
  }

  bool empty() const { return rows_.rows().empty(); }

  void run() {
    if (any_late_) find();
    report_slow_fabric();
    settle_account();
    std::vector<double> left;
    for (std::size_t i = 0; i < rows_.rows().size(); ++i) left.push_back(left_of(i));
    report_tails(fabric_, rows_, left, ceiling_, report_);
    note_sensitivity();
  }

  DelayShifts shifts() const {
    std::vector<double> sum(fabric_.channel_count(), 0.0);
    for (std::size_t i = 0; i < rows_.rows().size(); ++i) {
      const double most = 3 * rows_.kind_of(i).noise;
      const double left = std::clamp(left_of(i), -most, most);
      for (const ChannelId channel : rows_.channels_of(i)) sum[channel.value()] += left;
    }
    DelayShifts shifts;
    std::vector<double> healthy;
    for (std::size_t c = 0; c < sum.size(); ++c) {
      const double own = sum[c] / seen_[c];
      shifts.of_channel.push_back(seen_[c] < kMin ? kNone : shift_[c] + own);
      if (seen_[c] >= kMin) healthy.push_back(own);
    }
    if (healthy.empty()) return shifts;
    auto sorted = healthy;
    shifts.spread = std::max(spread_about(healthy, median(sorted)), kSpread);
    return shifts;
  }

 private:
  void count_late() {
    std::ranges::fill(late_, 0);
    any_late_ = false;
    for (std::size_t i = 0; i < rows_.rows().size(); ++i) {
      const DelayRow& row = rows_.rows()[i];
      const bool is_late = rows_.is_late(row, row.late);
      any_late_ |= is_late;
      for (const ChannelId channel : rows_.channels_of(i)) late_[channel.value()] += is_late;
    }
  }

  void find() {
    auto parts = fit_all();
    // Where all round trips of a length cross a fault, the fastest of them are no base.
    if (are_bases_doubtful(parts)) {
      for (int turn = 0; turn + 1 < kTurns; ++turn) rows_ = rows_.with_bases(rows_.joint_bases());
      parts = fit_with(rows_.joint_bases());
    }
    weigh_bases(parts);
    for (Part& part : parts) {
      std::vector<std::uint32_t> at_work;
      for (const DelayFit::Active& active : part.actives) at_work.push_back(active.column);
      list_sides(part.causes, at_work);
      std::set<ChannelId> blamed;
      for (const DelayFit::Active& active : part.actives)
        for (const auto& option : part.causes[active.column].options)
          blamed.insert(option.begin(), option.end());
      for (const DelayFit::Active& active : part.actives) add_blame(part.causes, active, blamed);
    }
  }

  /// Causes that share round trips, directly or through others, and which of them are at work.
  struct Part {
    std::vector<DelayCause> causes;
    std::vector<DelayFit::Active> actives;
  };

  std::vector<Part> fit_with(const std::vector<double>& bases) {
    rows_ = rows_.with_bases(bases);
    count_late();
    return fit_all();
  }

  std::vector<Part> fit_all() const {
    auto causes = delay_causes(fabric_, rows_, seen_, late_);
    DisjointSets linked(causes.size());
    std::vector<std::uint32_t> first(rows_.rows().size(), static_cast<std::uint32_t>(causes.size()));
    for (std::uint32_t c = 0; c < causes.size(); ++c)
      for (const auto& entry : causes[c].column.entries) {
        if (first[entry.row] == causes.size()) first[entry.row] = c;
        linked.join(c, first[entry.row]);
      }
    std::vector<Part> parts;
    for (const auto& members : linked.sets()) {
      parts.emplace_back();
      for (const std::uint32_t c : members) parts.back().causes.push_back(std::move(causes[c]));
      parts.back().actives = fit(parts.back().causes);
      std::erase_if(parts.back().actives, [&](const DelayFit::Active& active) {
        return is_usual(active.shift, parts.back().causes[active.column]);
      });
    }
    return parts;
  }

  /// What may be late in the place of what was found, were the bases others.
  void weigh_bases(std::vector<Part>& parts) {
    if (rows_.rows().size() > kMaxJoint || seen_.size() > kMaxJointChannels) return;
    const auto other = explained_from_hosts(fabric_, rows_, seen_, causes_of(parts));
    if (!other) return;
    std::vector<DelayCause> before;
    for (const DelayCause* cause : causes_of(parts)) before.push_back(*cause);
    if (other->is_likelier) parts = fit_with(other->bases);
    for (const auto& others : {other->causes, before}) add_instead(others, causes_of(parts));
  }

  static std::vector<DelayCause*> causes_of(std::vector<Part>& parts) {
    std::vector<DelayCause*> causes;
    for (Part& part : parts)
      for (const DelayFit::Active& active : part.actives) causes.push_back(&part.causes[active.column]);
    return causes;
  }

  /// No round trip would be late by it: healthy cables and hosts differ so.
  bool is_usual(double shift, const DelayCause& cause) const {
    return std::ranges::none_of(cause.column.entries, [&](const auto& entry) {
      return rows_.is_late(rows_.rows()[entry.row], entry.weight * shift);
    });
  }

  /// Of few round trips those of a length take longer than shorter ones let expect, or too many for strays
  /// are earlier or later than what was found lets expect.
  bool are_bases_doubtful(const std::vector<Part>& parts) const {
    if (rows_.rows().size() > kMaxJoint || seen_.size() > kMaxJointChannels) return false;
    if (std::ranges::any_of(rows_.kinds(), [](const DelayKind& kind) { return kind.shared > 0; }))
      return true;
    std::vector<double> left;
    for (const DelayRow& row : rows_.rows()) left.push_back(row.late);
    for (const Part& part : parts)
      for (const DelayFit::Active& active : part.actives)
        for (const auto& entry : part.causes[active.column].column.entries)
          left[entry.row] -= entry.weight * active.shift;
    std::size_t astray = 0;
    for (std::size_t i = 0; i < left.size(); ++i)
      astray += rows_.rows()[i].halves == 0 && rows_.is_late(rows_.rows()[i], std::abs(left[i])) ? 1 : 0;
    return static_cast<double>(astray) > kMinStrays * static_cast<double>(left.size());
  }

  std::vector<DelayFit::Active> fit(const std::vector<DelayCause>& causes) const {
    std::vector<std::uint32_t> used;
    for (const DelayCause& cause : causes)
      for (const auto& entry : cause.column.entries) used.push_back(entry.row);
    std::ranges::sort(used);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    const std::size_t step = used.size() / kMaxFitted + 1;
    std::map<std::uint32_t, std::uint32_t> place;
    std::vector<double> late, noise;
    for (std::size_t i = 0; i < used.size(); i += step) {
      place.emplace(used[i], static_cast<std::uint32_t>(late.size()));
      late.push_back(rows_.rows()[used[i]].late);
      noise.push_back(rows_.kind_of(used[i]).noise);
    }
    std::vector<DelayFit::Column> columns;
    for (const DelayCause& cause : causes) {
      columns.push_back({.cost = cause.column.cost});
      for (const auto& entry : cause.column.entries)
        if (const auto at = place.find(entry.row); at != place.end())
          columns.back().entries.push_back({at->second, entry.weight});
    }
    return DelayFit(std::move(late), std::move(noise), std::move(columns)).solve();
  }

  void add_blame(const std::vector<DelayCause>& causes, const DelayFit::Active& active,
                 const std::set<ChannelId>& blamed) {
    const DelayCause& cause = causes[active.column];
    const double probability = 1.0 / (1.0 + active.against);
    if (cause.shared && cause.options.empty()) {
      const auto hops = rows_.kind_of(cause.column.entries.front().row).hops;
      shared_[hops] += active.shift;
      return;
    }
    if (probability < kSuspected) return;
    auto options = cause.options;
    for (const std::uint32_t other : active.alternatives)
      for (const auto& option : causes[other].options)
        if (!is_known(option, blamed) && std::ranges::find(options, option) == options.end())
          options.push_back(option);
    Found found{.cause = Cause::delay, .probability = probability};
    found.estimate = Estimate{active.shift * 1e-6, std::max(active.shift - 2 * active.error, 0.0) * 1e-6,
                              (active.shift + 2 * active.error) * 1e-6};
    found.evidence.push_back(
        fmt::format("round trips over it take {} longer{} than healthy ones of their length ({} round trips)",
                    in_words(active.shift), holds_both_ways(options) ? ", both ways together," : "",
                    cause.column.entries.size()));
    for (const ChannelId channel : cause.options.front()) {  // of the column that was fitted
      shift_[channel.value()] += active.shift;
      open_[channel.value()] = options.size() > 1 || probability < named_from(Cause::delay);
    }
    if (options.size() > 1 || !are_one_cable(options.front())) {
      put(std::move(options), found);
      return report_.add(std::move(found));
    }
    for (const ChannelId channel : options.front()) {  // both ways are late, each by as much
      found.channels = {channel};
      report_.add(found);
    }
  }

  /// Every round trip over one of these channels crosses the other direction of its cable too.
  static bool holds_both_ways(const std::vector<std::vector<ChannelId>>& options) {
    return std::ranges::any_of(options, [&](const auto& option) {
      return option.size() == 1 &&
             std::ranges::find(options, std::vector{Fabric::reverse(option.front())}) != options.end();
    });
  }

  /// All of its channels are blamed anyhow: not another explanation but the same, put differently.
  static bool is_known(const std::vector<ChannelId>& option, const std::set<ChannelId>& blamed) {
    return std::ranges::all_of(option, [&](ChannelId c) { return blamed.contains(c); });
  }

  /// Options as channels of which one is at fault, where they are that, else as alternatives.
  static void put(std::vector<std::vector<ChannelId>> options, Found& found) {
    const bool singles = std::ranges::all_of(options, [](const auto& option) { return option.size() == 1; });
    const bool one_cable = singles && std::ranges::all_of(options, [&](const auto& option) {
                             return Fabric::link_of(option[0]) == Fabric::link_of(options[0][0]);
                           });
    if (options.size() == 1 || one_cable || (singles && options.size() > kMaxOptions)) {
      for (const auto& option : options)
        found.channels.insert(found.channels.end(), option.begin(), option.end());
      std::ranges::sort(found.channels);
      return;
    }
    if (options.size() > kMaxOptions) options.resize(kMaxOptions);
    found.alternatives = std::move(options);
  }

  /// What all paths of a length share: beyond what shorter ones let expect, or beyond any fabric.
  void report_slow_fabric() {
    std::map<std::size_t, double> base;
    for (const DelayKind& kind : rows_.kinds()) {
      const auto [at, is_new] = base.try_emplace(kind.hops, kind.base);
      at->second = std::min(at->second, kind.base);
    }
    auto slow = shared_;
    for (const auto& [hops, usual] : base)
      if (usual > ceiling_) slow[hops] += usual;
    for (const auto& [hops, shift] : slow) {
      const bool above = shift > ceiling_;
      FabricFinding finding{.cause = Cause::delay, .verdict = above ? Verdict::degraded : Verdict::healthy};
      finding.estimate = Estimate{shift * 1e-6, 0.0, shift * 1e-6};
      finding.confidence = 1.0;
      finding.evidence.push_back(
          fmt::format("every round trip over {} channels takes {} that no shorter path and no single channel "
                      "explains; {} "
                      "is tolerated",
                      hops, in_words(shift), in_words(ceiling_)));
      report_.add(std::move(finding));
    }
  }

  double shared_of(std::size_t row) const {
    const DelayKind& kind = rows_.kind_of(row);
    const auto at = shared_.find(kind.hops);
    return at == shared_.end() || kind.shared == 0 ? 0.0 : at->second;
  }
  /// What no finding explains of it, wherever the median of its possible paths lies.
  double left_of(std::size_t row) const {
    double left = rows_.rows()[row].late - shared_of(row);
    for (const ChannelId channel : rows_.possible_of(row)) left -= shift_[channel.value()];
    return left;
  }

  void settle_account() {
    AccountLine line;
    std::vector<std::uint32_t> strays;
    std::vector<std::uint32_t> astray(fabric_.channel_count(), 0);
    for (std::uint32_t i = 0; i < rows_.rows().size(); ++i) {
      const DelayRow& row = rows_.rows()[i];
      if (!rows_.is_late(row, row.late)) continue;
      ++line.all;
      if (rows_.is_late(row, left_of(i))) {
        strays.push_back(i);
        for (const ChannelId channel : rows_.channels_of(i)) ++astray[channel.value()];
        continue;
      }
      const auto is_open = [&](ChannelId c) { return open_[c.value()]; };
      const auto is_found = [&](ChannelId c) { return shift_[c.value()] > 0; };
      const auto channels = rows_.possible_of(i);
      if (std::ranges::any_of(channels, is_open))
        ++line.open;
      else if (std::ranges::any_of(channels, is_found) || shared_of(i) > ceiling_)
        ++line.found;
      else
        ++line.tolerated;
    }
    line.unexplained = unexplained(strays, astray);
    line.tolerated += strays.size() - line.unexplained;
    report_.account().late = line;
  }

  /// Late rows that lie on some channels, or are so many, that they are no whims of hosts.
  std::size_t unexplained(const std::vector<std::uint32_t>& strays,
                          const std::vector<std::uint32_t>& astray) const {
    const double share = static_cast<double>(strays.size()) / static_cast<double>(rows_.rows().size());
    if (share > kMaxStrays) return strays.size();
    const double odds = kOneInAMillion - std::log(static_cast<double>(fabric_.channel_count()));
    std::vector<bool> gathers(fabric_.channel_count(), false);
    for (std::size_t c = 0; c < astray.size(); ++c) {
      const double elsewhere = static_cast<double>(strays.size() - astray[c]) /
                               std::max(static_cast<double>(rows_.rows().size() - seen_[c]), 1.0);
      gathers[c] = astray[c] > 0 && log_tail(astray[c], seen_[c], std::max(elsewhere, kMinStrays)) < odds;
    }
    return static_cast<std::size_t>(std::ranges::count_if(strays, [&](std::uint32_t i) {
      return std::ranges::any_of(rows_.channels_of(i), [&](ChannelId c) { return gathers[c.value()]; });
    }));
  }

  /// On the channel that the fewest round trips crossed: as many nats as a fault costs. What a channel adds
  /// to all round trips is told from the tolerated delay on.
  void note_sensitivity() {
    std::uint32_t fewest = std::numeric_limits<std::uint32_t>::max();
    for (const std::uint32_t seen : seen_)
      if (seen > 0) fewest = std::min(fewest, seen);
    if (fewest < kMin) return;
    double noise = 0;
    for (const DelayKind& kind : rows_.kinds()) noise = std::max(noise, kind.noise);
    const double each = kShownNats / (2.0 * fewest);  // 2 ln(1 + z^2 / 3), Student's t
    const double z = kMargin * (std::max(std::sqrt(3.0 * std::expm1(each)), DelayRows::kLate) + 2.33);
    const double shown = has_shared_channel(rows_, seen_) ? std::max(z * noise, ceiling_) : z * noise;
    report_.sensitivity().delay = Nanoseconds(static_cast<std::int64_t>(std::ceil(shown * 1e3)));
  }

  const Fabric& fabric_;
  DelayRows rows_;
  double ceiling_ = 0;  // microseconds
  Report& report_;
  std::vector<std::uint32_t> seen_;  // by channel
  std::vector<std::uint32_t> late_;
  std::vector<double> shift_;             // as found, microseconds
  std::vector<bool> open_;                // found as one of several, or suspected
  std::map<std::size_t, double> shared_;  // by channels there and back
  bool any_late_ = false;
};

}  // namespace

DelayShifts report_delays(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance,
                          Report& report) {
  DelaySearch search(fabric, observations, tolerance, report);
  if (search.empty()) return {};
  search.run();
  return search.shifts();
}

}  // namespace weft::diagnosis
