// look: from the sums of a span of time to what is wrong, in the words of incidents. Pure.
//
// The odds of a fault before a look are a rate. A batch of probes asks a fabric of which nothing is known:
// some share of its channels is bad. A watcher looks again and again at channels that were healthy a moment
// ago, so what it asks is whether a fault began since its last look at this scale: kFaultsADay (a channel) x
// the time between two looks. The log odds of the batch's model are lowered by the ratio of the two. Summed
// over all looks of a day this expects, of each scale, as many faults as a day has, and by Bayes' rule the
// share of wrong ones among those opened stays below one less their confidence, however often it looks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/diagnosis/diagnose.hpp"
#include "probes/watch/channel_sums.hpp"
#include "probes/watch/look_finding.hpp"
#include "probes/watch/path_sums.hpp"

namespace weft::watch {

/// New faults of a channel and day: 0.057 % of the cables between NICs and leaves fail in a month (Qian et
/// al., "Alibaba HPN", SIGCOMM 2024, section 2), and more of them flap or lose packets for a while: five
/// times that.
inline constexpr double kFaultsADay = 1e-4;

/// What is known of a host besides windows.
enum class HostNews : std::uint8_t {
  heard,   // windows come
  late,    // none came since the span began to end: it may be down
  silent,  // none for long
  gone,    // it said that it goes: its NICs are not probed for certain
};

/// Rows that are looked at in some 50 ms.
inline constexpr std::size_t kWholeRows = 50'000;

/// What a look knows besides the sums.
struct LookContext {
  std::vector<HostNews> news;           // by node
  std::vector<Nanoseconds> told_until;  // by node: the latest end of what each told
  std::vector<bool> out{};              // by row: says nothing (Looker::leave_out); empty: all do
};

struct LookAnswer {
  std::vector<LookFinding> findings;
  Account account;
  bool everywhere = false;          // the fabric as a whole loses, at no place of its own
  std::vector<NodeId> disbelieved;  // hosts whose losses nobody else saw, ascending
  std::vector<NodeId> unreachable;  // hosts that tell nothing and answer nobody, ascending: left out
};

class Looker {
 public:
  /// All must outlive it.
  /// Of plans of up to `whole` rows all are looked at. Of larger ones those that share a channel with a row
  /// that lost something: all others say that channels are healthy of which nobody says anything else. Where
  /// that leaves more than single channels to blame, all are.
  Looker(const Fabric& fabric, const StandingPlan& plan, const Tolerance& tolerance,
         std::size_t whole = kWholeRows);

  /// The rows that may cross any of `channels`, by row: a look that has them in its context says nothing of
  /// them, nor by them. Takes their losses out of `sums`. Empty where there are no such channels.
  std::vector<bool> leave_out(const std::vector<ChannelId>& channels, ScaleSums& sums) const;

  /// `sums` of some span; `between`: the time between two looks at this scale. With `delays`: also at round
  /// trips told after sums.from.
  LookAnswer look(const ScaleSums& sums, Nanoseconds between, const LookContext& context,
                  const PathSums* delays = nullptr);

  /// The last look found so many faults that what else explains them was not asked.
  bool many() const { return many_; }

  /// The rows that may cross any channel of a place, ascending.
  std::vector<std::uint32_t> rows_over(const IncidentPlace& place) const;

  /// ln of (kFaultsADay x `between`) over the batch's prior odds; at most 0.
  double log_prior(Nanoseconds between) const;

 private:
  struct Left;
  void find_down(const ScaleSums& sums, const std::vector<HostNews>& news, Left& left,
                 LookAnswer& answer) const;
  std::vector<bool> suspects(const ScaleSums& sums) const;
  void fill(const ScaleSums& sums, const Left& left, const PathSums* delays,
            const std::vector<bool>& suspects);
  diagnosis::Assessment assess(const ScaleSums& sums, const Left& left, const PathSums* delays,
                               Nanoseconds between);
  bool is_heard(std::uint32_t row, const Left& left) const;
  bool passes_nothing(const ScaleSums& sums, const Left& left, const LookFinding& finding) const;
  double share_of(const ScaleSums& sums, const Left& left, const LookFinding& finding,
                  const std::vector<LookFinding>& all) const;
  void judge(const ScaleSums& sums, const Left& left, const LookContext& context,
             const std::vector<std::uint16_t>& places, LookFinding& finding) const;
  void settle_on_cable(LookFinding& finding) const;
  std::optional<NodeId> reported_alone(const ScaleSums& sums, const Left& left,
                                       const LookFinding& finding) const;

  const Fabric* fabric_;
  const StandingPlan* plan_;
  Tolerance tolerance_;
  std::size_t whole_;
  double odds_of_batch_ = 0;  // of a fault of a channel between switches
  RowsByChannel rows_;
  bool many_ = false;  // findings in the last look
  Observations observations_;
};

}  // namespace weft::watch
