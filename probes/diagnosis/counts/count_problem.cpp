#include "probes/diagnosis/counts/count_problem.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "probes/diagnosis/counts/crossings.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/findings/loss_runs.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

/// Equal sums of it over observations mean equal sets of observations, but for a chance of 2^-64.
std::uint64_t mix(std::uint64_t x) { return mix_bits(x + kSplitMixStep); }

/// What is summed per raw suspect while the observations stream by.
struct Sum {
  std::uint64_t fingerprint = 0;
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::uint32_t observations = 0;
};

struct RawRow {
  std::uint32_t observation;
  Counts counts;
  std::uint64_t excused;
};

template <class Id>
void add_once(Id id, std::vector<Id>& ids) {
  if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
}

constexpr std::uint32_t kNone = ~0u;
constexpr std::uint64_t kWholeFlow = 10;  // packets: so many do not all get lost by chance

/// Raw suspects are numbered as in Crossings.
class Builder {
 public:
  Builder(const Fabric& fabric, const Observations& observations, const Counting& counting)
      : fabric_(fabric), observations_(observations), counting_(counting), crossings_(fabric, observations) {
    base_ = crossings_.of_all_sizes();
    sums_.resize(base_ * (1 + crossings_.extra_sizes()));
    find_flows_of_one_path();
  }

  CountProblem build() {
    for (std::uint32_t i = 0; i < observations_.probes.size(); ++i) add(i);
    make_suspects();
    make_tables();
    return std::move(problem_);
  }

 private:
  /// Sets of paths with a channel on which some flow lost all its packets: were their packets spread over all
  /// of the paths, each flow would have lost some.
  void find_flows_of_one_path() {
    const PathTable& table = observations_.paths;
    takes_one_.assign(table.set_count(), false);
    std::vector<bool> loses_a_flow(fabric_.channel_count(), false);
    for (std::uint32_t i = 0; i < observations_.probes.size(); ++i) {
      const Observation& seen = observations_.probes[i];
      const Counts all = all_of(i);
      if (all.n < kWholeFlow || all.k < all.n || seen.back) continue;
      for (const PathId path : table.paths(seen.path))
        for (const ChannelId channel : table.channels(path)) loses_a_flow[channel.value()] = true;
    }
    for (std::uint32_t set = 0; set < takes_one_.size(); ++set) {
      const auto paths = table.paths(PathSetId(set));
      takes_one_[set] = paths.size() > 1 && std::ranges::any_of(paths, [&](PathId path) {
                          const auto loses_a_flow_at = [&](ChannelId c) { return loses_a_flow[c.value()]; };
                          return std::ranges::any_of(table.channels(path), loses_a_flow_at);
                        });
    }
  }

  bool is_one_of_several(std::uint32_t i) const {
    const Observation& seen = observations_.probes[i];
    return !seen.back && observations_.paths.paths(seen.path).size() > 1;
  }
  Counts all_of(std::uint32_t i) const {
    return counting_.leaves_out(i) ? Counts{} : counts_of(observations_.probes[i], counting_.what);
  }
  /// `all`: all_of(i).
  Counts counts(std::uint32_t i, const Counts& all) const {
    const bool one = is_one_of_several(i) && counting_.whole_flows;
    const bool as_one = takes_one_[observations_.probes[i].path.value()] && (all.k == 0 || all.k == all.n);
    return all.n > 0 && (one || as_one) ? Counts{1, all.k == all.n ? 1u : 0u} : all;
  }

  void add(std::uint32_t i) {
    const Counts all = all_of(i);
    const Counts counts = this->counts(i, all);
    if (counts.n == 0) return;
    ++problem_.observations;
    problem_.sent += all.n;
    problem_.lost += all.k;
    problem_.has_lossy_sets |= all.k > 0 && is_one_of_several(i);
    const bool estimated = counts.n == all.n && counting_.estimates_drops(i);
    const std::uint64_t excused = estimated ? excused_of(observations_.probes[i]) : 0;
    if (counts.k + excused > 0) rows_.push_back({i, counts, excused});
    const std::uint64_t tag = mix(i);
    for (const Crossing& crossing : crossings_.of(i)) {
      Sum& sum = sums_[crossing.suspect];
      sum.fingerprint += crossing.share == 0 ? tag : mix(tag + crossing.share);
      sum.sent += counts.n;
      sum.lost += counts.k;
      ++sum.observations;
    }
  }

  /// Groups raw suspects with equal fingerprints; a size class that adds nothing to its channel, and a class
  /// of sizes that repeats another, fall together with it.
  void make_suspects() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t raw = 0; raw < sums_.size(); ++raw)
      if (sums_[raw].observations > 0) order.push_back(raw);
    const auto before = [this](std::uint32_t a, std::uint32_t b) {
      return std::pair(sums_[a].fingerprint, a) < std::pair(sums_[b].fingerprint, b);
    };
    std::ranges::sort(order, before);
    suspect_of_.assign(sums_.size(), kNone);
    std::vector<std::uint32_t> firsts;
    for (std::size_t at = 0; at < order.size(); ++at)
      if (at == 0 || sums_[order[at]].fingerprint != sums_[order[at - 1]].fingerprint)
        firsts.push_back(static_cast<std::uint32_t>(at));
    // In the order of the first member, so that answers do not depend on the fingerprints.
    std::vector<std::uint32_t> classes(firsts.size());
    std::iota(classes.begin(), classes.end(), 0u);
    std::ranges::sort(classes, {}, [&](std::uint32_t c) { return order[firsts[c]]; });
    for (const std::uint32_t c : classes) {
      const std::size_t end = c + 1 < firsts.size() ? firsts[c + 1] : order.size();
      make_suspect(std::span(order).subspan(firsts[c], end - firsts[c]));
    }
  }

  void make_suspect(std::span<const std::uint32_t> raws) {
    const auto index = static_cast<std::uint32_t>(problem_.suspects.size());
    const Sum& sum = sums_[raws.front()];
    Suspect suspect{.sent = sum.sent, .lost = sum.lost, .observations = sum.observations};
    const bool plain = raws.front() < base_;
    for (const std::uint32_t raw : raws) {
      suspect_of_[raw] = index;
      const std::size_t size_class = raw / base_;
      if (plain && size_class > 0) continue;
      const auto place = static_cast<std::uint32_t>(raw % base_);
      if (place < fabric_.channel_count())
        add_once(ChannelId(place), suspect.channels);
      else
        add_once(NodeId(place - static_cast<std::uint32_t>(fabric_.channel_count())), suspect.nodes);
      if (plain) continue;
      suspect.from_size = crossings_.size_of(size_class);  // classes ascend
      if (suspect.least_size) continue;
      suspect.least_size = suspect.from_size;
      suspect.below_size = crossings_.size_below(size_class);
    }
    std::ranges::sort(suspect.channels);
    problem_.suspects.push_back(std::move(suspect));
  }

  /// The suspects an observation crosses, each once.
  std::span<const Crossing> merged(std::uint32_t i) {
    scratch_.clear();
    for (Crossing crossing : crossings_.of(i)) {
      crossing.suspect = suspect_of_[crossing.suspect];
      scratch_.push_back(crossing);
    }
    std::ranges::sort(scratch_, {}, &Crossing::suspect);
    const auto same = [](const Crossing& a, const Crossing& b) { return a.suspect == b.suspect; };
    scratch_.erase(std::unique(scratch_.begin(), scratch_.end(), same), scratch_.end());
    return scratch_;
  }

  void make_tables() {
    const std::size_t suspects = problem_.suspects.size();
    for (const RawRow& row : rows_) {
      problem_.n.push_back(static_cast<double>(row.counts.n + row.excused));
      const std::uint64_t gone = row.counts.k + row.excused;
      problem_.k.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(gone, ~0u)));
      problem_.excused.push_back(static_cast<double>(row.excused));
      problem_.packets.push_back(static_cast<double>(all_of(row.observation).k));
      const Observation& seen = observations_.probes[row.observation];
      const bool ordered = counting_.what == Counted::loss && packets_in(seen.runs) == seen.lost;
      problem_.runs.push_back(ordered ? static_cast<double>(runs_apart(seen.runs)) : 0);
      for (const Crossing& crossing : merged(row.observation))
        problem_.row_cells.push_back({crossing.suspect, crossing.share});
      problem_.row_offsets.push_back(static_cast<std::uint32_t>(problem_.row_cells.size()));
    }
    note_reach();
    problem_.shares = crossings_.shares();
    sum_survivors();
    std::vector<std::uint32_t>& offsets = problem_.suspect_offsets;
    offsets.assign(suspects + 1, 0);
    for (const auto& cell : problem_.row_cells) ++offsets[cell.index + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    problem_.suspect_cells.resize(problem_.row_cells.size());
    std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
    for (std::uint32_t row = 0; row < problem_.row_count(); ++row)
      for (const auto& cell : problem_.suspects_of(row))
        problem_.suspect_cells[next[cell.index]++] = {row, cell.share};
  }

  /// By how many packets the run is longer in which a packet was lost, on average: by all rows that tell of
  /// runs, but for those of which nothing came. They are of something dead, which loses in no bursts.
  void note_reach() {
    double lost = 0, sum = 0;
    for (std::size_t row = 0; row < problem_.row_count(); ++row) {
      if (problem_.runs[row] == 0 || problem_.k[row] >= problem_.n[row]) continue;
      const double k = problem_.k[row];
      lost += k;
      sum += k * (k / problem_.runs[row] - 1.0);
    }
    problem_.reach = lost > 0 ? std::max(sum / lost, 0.0) : 0.0;
  }

  void sum_survivors() {
    const std::size_t shares = problem_.shares.size();
    problem_.survived.assign(problem_.suspects.size() * shares, 0.0);
    problem_.times.assign(problem_.suspects.size(), 0.0);
    if (shares == 1) {
      for (std::size_t s = 0; s < problem_.suspects.size(); ++s) {
        problem_.survived[s] = static_cast<double>(problem_.suspects[s].sent - problem_.suspects[s].lost);
        problem_.times[s] = problem_.suspects[s].observations;
      }
      return;
    }
    for (std::uint32_t i = 0; i < observations_.probes.size(); ++i) {
      const Counts counts = this->counts(i, all_of(i));
      if (counts.n == 0) continue;
      for (const Crossing& crossing : merged(i)) {
        problem_.survived[crossing.suspect * shares + crossing.share] +=
            static_cast<double>(counts.n - counts.k);
        problem_.times[crossing.suspect] += problem_.shares[crossing.share];
      }
    }
  }

  const Fabric& fabric_;
  const Observations& observations_;
  const Counting& counting_;
  Crossings crossings_;
  std::size_t base_ = 0;
  std::vector<bool> takes_one_;  // by set of paths: its flows take one of them each
  std::vector<Sum> sums_;
  std::vector<RawRow> rows_;
  std::vector<std::uint32_t> suspect_of_;
  std::vector<Crossing> scratch_;
  CountProblem problem_;
};

}  // namespace

std::uint64_t excused_of(const Observation& observation) {
  const std::uint64_t lost = std::min(observation.lost, observation.sent);
  const std::uint64_t excused = std::min(observation.excused, lost);
  constexpr std::uint64_t kPart = 10;
  return lost == observation.sent && kPart * excused > lost ? lost : excused;
}

Counts counts_of(const Observation& observation, Counted counted) {
  const std::uint64_t lost = std::min(observation.lost, observation.sent);
  const std::uint64_t excused = excused_of(observation);
  if (counted == Counted::loss) return {observation.sent - excused, lost - excused};
  const std::uint64_t received = observation.sent - lost;
  return {received, std::min(observation.corrupt, received)};
}

CountProblem count_problem(const Fabric& fabric, const Observations& observations, const Counting& counting) {
  return Builder(fabric, observations, counting).build();
}

}  // namespace weft::diagnosis
